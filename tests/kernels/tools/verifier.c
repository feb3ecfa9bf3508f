// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verifier OBJECT: loads each program of the object into this kernel and prints how many instructions its verifier
 * looked at; nothing is pinned or attached. Exit status 1 when one does not load, with the end of the verifier's log.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAMS_MAX 16
#define LOG_BYTES (16 << 20)
#define LOG_STATS 4 /* BPF_LOG_STATS of the kernel: the totals, not the way there */
#define TAIL_BYTES 2000

static char logs[PROGRAMS_MAX][LOG_BYTES];

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, args) : 0;
}

static unsigned int verified(const char *log)
{
	const char *at = strstr(log, "processed ");
	unsigned int count = 0;

	if (at)
		sscanf(at, "processed %u insns", &count);
	return count;
}

/* As deploy_load() does: without live frames the helpers of holding must not be looked at. */
static int without_hold(struct bpf_object *object)
{
	struct bpf_program *release = bpf_object__find_program_by_name(object, "synhold_release");
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.hold");
	static const uint32_t no;

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, BPF_FUNC_xdp_load_bytes, NULL) == 1)
		return 0;
	bpf_program__set_autoload(release, false);
	return map ? bpf_map__set_initial_value(map, &no, sizeof(no)) : -ENOENT;
}

int main(int argc, char **argv)
{
	struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *prog;
	unsigned int i = 0;
	int ret;

	if (!object) {
		fprintf(stderr, argc == 2 ? "%s: %s\n" : "usage: verifier OBJECT\n", argv[1], strerror(errno));
		return 2;
	}
	libbpf_set_print(quiet);
	bpf_object__for_each_program(prog, object)
	{
		const char *level = getenv("VERIFIER_LOG");

		if (i == PROGRAMS_MAX)
			return 2;
		bpf_program__set_log_level(prog, level ? (unsigned int)atoi(level) : LOG_STATS);
		bpf_program__set_log_buf(prog, logs[i++], LOG_BYTES);
	}
	ret = without_hold(object);
	if (!ret)
		ret = bpf_object__load(object);
	i = 0;
	bpf_object__for_each_program(prog, object)
	{
		const char *log = logs[i++];
		size_t length = strlen(log);

		if (!bpf_program__autoload(prog))
			printf("%-18s not for this kernel\n", bpf_program__name(prog));
		else if (bpf_program__fd(prog) >= 0)
			printf("%-18s %7u instructions\n", bpf_program__name(prog), verified(log));
		else if (length)
			printf("%-18s refused:\n%s\n", bpf_program__name(prog),
			       log + (length > TAIL_BYTES ? length - TAIL_BYTES : 0));
	}
	if (ret)
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-ret));
	bpf_object__close(object);
	return ret ? 1 : 0;
}
