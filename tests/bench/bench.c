// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a packet costs, by BPF_PROG_TEST_RUN: each figure is the least of several runs, and is given beside a bare
 * program measured in the same minute, since absolute nanoseconds are the machine's and not ours. Prints JSON;
 * tests/bench/run.sh makes a table of it.
 *
 * BENCH_REPEAT (2,000,000) and BENCH_RUNS (5) change the size, BENCH_ROUNDS (50,000) that of what one test run cannot
 * repeat.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <jansson.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <sys/mman.h>

#include "bench.h"

#define FIGURES_MAX 48

static struct bench_figure figures[FIGURES_MAX];
static unsigned int figure_count;

void bench_die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

void bench_frame(unsigned char *frame, uint32_t source, unsigned int port, int syn)
{
	struct iphdr *ip = (void *)(frame + 14);
	struct tcphdr *tcp = (void *)(ip + 1);

	memset(frame, 0, BENCH_FRAME);
	frame[12] = 8;
	ip->version = 4;
	ip->ihl = 5;
	ip->protocol = IPPROTO_TCP;
	ip->tot_len = htons(BENCH_FRAME - 14);
	ip->saddr = htonl(source);
	ip->daddr = htonl(0x0a090002);
	tcp->source = htons(40000);
	tcp->dest = htons((uint16_t)port);
	tcp->doff = syn ? 10 : 5; /* options to the end of the frame, or data */
	tcp->syn = syn != 0;
	tcp->ack = !syn;
}

struct bpf_object *bench_load(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);

	if (!object || bpf_object__load(object))
		bench_die(path);
	return object;
}

int bench_prog(struct bpf_object *object, const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(object, name);

	if (!prog)
		bench_die(name);
	return bpf_program__fd(prog);
}

int bench_map(struct bpf_object *object, const char *name)
{
	int fd = bpf_object__find_map_fd_by_name(object, name);

	if (fd < 0)
		bench_die(name);
	return fd;
}

void *bench_mapped(struct bpf_object *object, const char *name, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bench_map(object, name), 0);

	if (at == MAP_FAILED)
		bench_die(name);
	return at;
}

struct synhold_policy bench_policy(void)
{
	return (struct synhold_policy){.name = "bench",
				       .window_mode = SYNHOLD_WINDOW_NONE,
				       .action = SYNHOLD_ACTION_DROP,
				       .source_prefix4 = 32,
				       .source_prefix6 = 64,
				       .settle_bytes = 1,
				       .share_threshold = 1ULL << 32};
}

void bench_close_rate(struct synhold_policy *pol)
{
	pol->rate_pps = 1;
	pol->rate_interval_ns = pol->rate_limit_ns = 3600000000000ULL;
}

void bench_close_source_rate(struct synhold_policy *pol)
{
	pol->source_rate_pps = 1;
	pol->source_interval = pol->source_limit = 3600000000000ULL >> SYNHOLD_SOURCE_TICK_SHIFT;
}

void bench_put_policy(struct bpf_object *object, const struct synhold_policy *pol)
{
	uint32_t id = 0, port = BENCH_PORT, entry = 1;

	if (bpf_map_update_elem(bench_map(object, "policy"), &id, pol, BPF_ANY) ||
	    bpf_map_update_elem(bench_map(object, "ports"), &port, &entry, BPF_ANY))
		bench_die("policy");
}

struct bench_figure *bench_add(const char *name, int prog, const unsigned char *frame,
			       const struct bench_figure *against)
{
	struct bench_figure *figure = &figures[figure_count];

	if (figure_count == FIGURES_MAX) {
		errno = ENOSPC;
		bench_die(name);
	}
	figure_count++;
	*figure = (struct bench_figure){.name = name, .against = against, .prog = prog};
	if (frame)
		memcpy(figure->frame, frame, BENCH_FRAME);
	return figure;
}

struct bench_figure *bench_record(const char *name, double ns, const struct bench_figure *against)
{
	struct bench_figure *figure = bench_add(name, -1, NULL, against);

	figure->ns = ns;
	return figure;
}

void bench_run_all(unsigned int repeat, unsigned int runs)
{
	for (unsigned int run = 0; run < runs; run++) {
		for (unsigned int i = 0; i < figure_count; i++) {
			struct bench_figure *f = &figures[i];
			LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->frame, .data_size_in = BENCH_FRAME,
				    .repeat = (int)repeat);

			if (f->prog < 0)
				continue;
			if (bpf_prog_test_run_opts(f->prog, &opts))
				bench_die(f->name);
			if (f->ns == 0 || opts.duration < f->ns)
				f->ns = opts.duration;
		}
	}
}

void bench_print_json(void)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < figure_count; i++) {
		const struct bench_figure *f = &figures[i];
		json_t *row = json_pack("{s:s,s:f}", "packet", f->name, "ns", f->ns);

		if (f->against) {
			json_object_set_new(row, "against", json_string(f->against->name));
			json_object_set_new(row, "against_ns", json_real(f->against->ns));
			if (f->against->ns > 0)
				json_object_set_new(row, "ratio", json_real(f->ns / f->against->ns));
		}
		json_array_append_new(list, row);
	}
	json_dumpf(list, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(4));
	putchar('\n');
	json_decref(list);
}

static unsigned int size_of(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);
	unsigned long value = text ? strtoul(text, NULL, 10) : otherwise;

	if (!value || value > 100000000) {
		fprintf(stderr, "bench: %s is %s: a whole number from 1 to 100,000,000\n", name, text);
		exit(2);
	}
	return (unsigned int)value;
}

int main(int argc, char **argv)
{
	struct bench_objects files;

	if (argc == 5 && !strcmp(argv[1], "live"))
		return live_measure(argv[2], argv[3], (uint32_t)strtoul(argv[4], NULL, 10),
				    size_of("BENCH_WINDOWS", 12), size_of("BENCH_WINDOW_MS", 250));
	if (argc != 7) {
		fprintf(stderr,
			"usage: bench BARE.o SHIELD.o SHIELD-4096-SOURCES.o SHIELD-RANDOM-SOURCES.o "
			"SHIELD-RANDOM-SOURCES-LRU.o SHIELD-...-LRU-CHARGES.o\n       bench live BARE.o DEVICE PROGRAM-ID\n");
		return 2;
	}
	files = (struct bench_objects){argv[1], argv[2], argv[3], argv[4], argv[5], argv[6]};
	cost_add(&files);
	bench_run_all(size_of("BENCH_REPEAT", 2000000), size_of("BENCH_RUNS", 5));
	steps_measure(&files, size_of("BENCH_ROUNDS", 50000));
	bench_print_json();
	return 0;
}
