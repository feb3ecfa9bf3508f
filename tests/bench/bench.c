// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a packet costs, by BPF_PROG_TEST_RUN: each figure is the least of five runs of two million, and is given beside
 * a bare program measured in the same minute, since absolute nanoseconds are the machine's and not ours. --json for
 * machines.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <jansson.h>
#include <libsmartcols/libsmartcols.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <synhold/abi.h>
#include <synhold/addr.h>

#include "lib/lists_set.h"

#define REPEAT 2000000
#define RUNS 5
#define PORT 8000

struct figure {
	const char *name;
	const char *against; /* NULL: a base line */
	double ns;
	double base_ns;
};

static struct figure figures[32];
static unsigned int figure_count;

static void build_frame(unsigned char *frame, size_t size, unsigned int port, int syn)
{
	struct iphdr *ip = (void *)(frame + 14);
	struct tcphdr *tcp = (void *)(ip + 1);

	memset(frame, 0, size);
	frame[12] = 8;
	ip->version = 4;
	ip->ihl = 5;
	ip->protocol = IPPROTO_TCP;
	ip->tot_len = htons((uint16_t)(size - 14));
	ip->saddr = htonl(0x0a090001);
	ip->daddr = htonl(0x0a090002);
	tcp->source = htons(40000);
	tcp->dest = htons((uint16_t)port);
	tcp->doff = (uint16_t)((size - 34) / 4 & 15);
	tcp->syn = syn != 0;
	tcp->ack = !syn;
}

static double measure(int prog, const unsigned char *frame, size_t size)
{
	unsigned int best = ~0U;

	for (int i = 0; i < RUNS; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)size,
			    .repeat = REPEAT);

		if (bpf_prog_test_run_opts(prog, &opts)) {
			fprintf(stderr, "bench: test run: %s\n", strerror(errno));
			exit(1);
		}
		if (opts.duration < best)
			best = opts.duration;
	}
	return best;
}

static void record(const char *name, double ns, const struct figure *base)
{
	figures[figure_count++] = (struct figure){name, base ? base->name : NULL, ns, base ? base->ns : 0};
}

static struct bpf_object *load(const char *path, uint32_t source_mask)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_map *map;
	size_t size = 0;

	if (!object)
		goto failed;
	bpf_object__for_each_map(map, object)
	{
		bpf_map__initial_value(map, &size);
		if (size == sizeof(source_mask) && strstr(bpf_map__name(map), ".rodata") && strstr(path, "bench.bpf.o"))
			bpf_map__set_initial_value(map, &source_mask, sizeof(source_mask));
	}
	if (!bpf_object__load(object))
		return object;
failed:
	fprintf(stderr, "bench: %s: %s (root?)\n", path, strerror(errno));
	exit(1);
}

static int prog_fd(struct bpf_object *object, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(object, name));
}

static int map_fd(struct bpf_object *object, const char *name)
{
	return bpf_object__find_map_fd_by_name(object, name);
}

static void put_policy(struct bpf_object *object, const struct synhold_policy *pol)
{
	uint32_t id = 0, port = PORT, entry = 1;

	bpf_map_update_elem(map_fd(object, "policy"), &id, pol, BPF_ANY);
	bpf_map_update_elem(map_fd(object, "ports"), &port, &entry, BPF_ANY);
}

static struct synhold_policy base_policy(void)
{
	return (struct synhold_policy){.name = "bench",
				       .window_mode = SYNHOLD_WINDOW_NONE,
				       .action = SYNHOLD_ACTION_DROP,
				       .source_prefix4 = 32,
				       .source_prefix6 = 64,
				       .settle_bytes = 1,
				       .share_threshold = 1ULL << 32};
}

/* One SYN/s of a source, burst 1: all but the first are refused. */
static struct synhold_policy source_policy(void)
{
	struct synhold_policy pol = base_policy();

	pol.source_rate_pps = 1;
	pol.source_interval = 1000000000ULL >> SYNHOLD_SOURCE_TICK_SHIFT;
	pol.source_limit = pol.source_interval;
	return pol;
}

static void measure_shield(const char *plain, const char *few, const char *many, const struct figure *pass,
			   const struct figure *drop)
{
	unsigned char syn[74], data[74], other[74];
	struct synhold_policy pol = base_policy();
	struct bpf_object *object = load(plain, 0);
	int shield = prog_fd(object, "synhold_shield");

	build_frame(syn, sizeof(syn), PORT, 1);
	build_frame(data, sizeof(data), PORT, 0);
	build_frame(other, sizeof(other), PORT + 1, 1);
	put_policy(object, &pol);
	record("data to a protected port", measure(shield, data, sizeof(data)), pass);
	record("SYN to another port", measure(shield, other, sizeof(other)), pass);
	record("SYN admitted (tuple in flight)", measure(shield, syn, sizeof(syn)), drop);
	pol.rate_pps = 1;
	pol.rate_interval_ns = pol.rate_limit_ns = 1000000000ULL;
	put_policy(object, &pol);
	bpf_object__close(object);

	object = load(plain, 0);
	put_policy(object, &pol);
	record("SYN refused, service rate", measure(prog_fd(object, "synhold_shield"), syn, sizeof(syn)), drop);
	bpf_object__close(object);

	pol = source_policy();
	object = load(plain, 0);
	put_policy(object, &pol);
	record("SYN refused, source rate, one source", measure(prog_fd(object, "synhold_shield"), syn, sizeof(syn)),
	       drop);
	bpf_object__close(object);
	object = load(few, 0);
	put_policy(object, &pol);
	record("SYN refused, source rate, 4096 sources", measure(prog_fd(object, "synhold_shield"), syn, sizeof(syn)),
	       drop);
	bpf_object__close(object);

	/* random sources: a service rate of one refuses those that the sources' own rate lets through */
	pol.rate_pps = 1;
	pol.rate_interval_ns = pol.rate_limit_ns = 1000000000ULL;
	object = load(many, 0);
	put_policy(object, &pol);
	record("SYN refused, random sources", measure(prog_fd(object, "synhold_shield"), syn, sizeof(syn)), drop);
	bpf_object__close(object);
}

/* Lists of that many entries each, half of them addresses and half of them prefixes, none of them inside others. */
static void put_lists(struct bpf_object *object, unsigned int count)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	struct synhold_control *control;
	struct config_lists lists = {0};
	struct synhold_list_row *rows;
	uint32_t length, bank = 0, i;
	int fd;

	for (i = 0; i < 2 * count; i++) {
		struct list_entry entry = {.prefixlen = i % 4 < 2 ? 128 : 120, .value.until_ns = SYNHOLD_FOREVER};

		synhold_addr_map(htonl(i * 2654435761U & (i % 4 < 2 ? ~0U : ~0xffU)), entry.addr);
		config_lists_add(&lists, i % 2 ? LIST_DENY : LIST_ALLOW, &entry);
	}
	lists_sort(&lists, LIST_ALLOW);
	lists_sort(&lists, LIST_DENY);
	if (lists_image(&lists, &rows, &length))
		exit(1);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "image", sizeof(uint32_t), sizeof(*rows), length, &opts);
	for (i = 0; i < length; i++)
		bpf_map_update_elem(fd, &i, &rows[i], BPF_ANY);
	if (bpf_map_update_elem(map_fd(object, "lists"), &bank, &fd, BPF_ANY)) {
		fprintf(stderr, "bench: lists: %s\n", strerror(errno));
		exit(1);
	}
	control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(object, "control"), 0);
	control->listed[bank] = 2 * count;
	munmap(control, sizeof(*control));
	config_lists_free(&lists);
	free(rows);
	close(fd);
}

static void measure_lists(const char *many)
{
	static const char *const names[] = {"SYN refused, random sources, no lists", "the same, 2 x 1,000 list entries",
					    "the same, 2 x 100,000 list entries"};
	static const unsigned int counts[] = {0, 1000, 100000};
	struct bpf_object *object = load(many, 0);
	struct synhold_policy pol = base_policy();
	const struct figure *none = &figures[figure_count];
	unsigned char syn[74];

	build_frame(syn, sizeof(syn), PORT, 1);
	pol.closed = 1;
	put_policy(object, &pol);
	for (int i = 0; i < 3; i++) {
		if (counts[i])
			put_lists(object, counts[i]);
		record(names[i], measure(prog_fd(object, "synhold_shield"), syn, sizeof(syn)), i ? none : NULL);
	}
	bpf_object__close(object);
}

static void print_table(void)
{
	struct libscols_table *table = scols_new_table();

	scols_table_new_column(table, "PACKET", 0, 0);
	scols_table_new_column(table, "NS", 0, SCOLS_FL_RIGHT);
	scols_table_new_column(table, "AGAINST", 0, 0);
	scols_table_new_column(table, "NS MORE", 0, SCOLS_FL_RIGHT);
	scols_table_new_column(table, "RATIO", 0, SCOLS_FL_RIGHT);
	for (unsigned int i = 0; i < figure_count; i++) {
		const struct figure *f = &figures[i];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char text[32];

		scols_line_set_data(line, 0, f->name);
		snprintf(text, sizeof(text), "%.0f", f->ns);
		scols_line_set_data(line, 1, text);
		if (!f->against)
			continue;
		scols_line_set_data(line, 2, f->against);
		snprintf(text, sizeof(text), "%+.0f", f->ns - f->base_ns);
		scols_line_set_data(line, 3, text);
		snprintf(text, sizeof(text), "%.2f", f->ns / f->base_ns);
		scols_line_set_data(line, 4, text);
	}
	scols_print_table(table);
	scols_unref_table(table);
}

static void print_json(void)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < figure_count; i++) {
		const struct figure *f = &figures[i];
		json_t *row = json_pack("{s:s,s:f}", "packet", f->name, "ns", f->ns);

		if (f->against) {
			json_object_set_new(row, "against", json_string(f->against));
			json_object_set_new(row, "against_ns", json_real(f->base_ns));
			json_object_set_new(row, "ratio", json_real(f->ns / f->base_ns));
		}
		json_array_append_new(list, row);
	}
	json_dumpf(list, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(list);
}

int main(int argc, char **argv)
{
	unsigned char syn[74], other[74];
	struct figure *pass, *drop;
	struct bpf_object *bare;
	int json = argc == 6 && !strcmp(argv[5], "--json");

	if (argc != 5 && !json) {
		fprintf(stderr,
			"usage: bench BARE.o SHIELD.o SHIELD-4096-SOURCES.o SHIELD-RANDOM-SOURCES.o [--json]\n");
		return 2;
	}
	build_frame(syn, sizeof(syn), PORT, 1);
	build_frame(other, sizeof(other), PORT, 0);
	bare = load(argv[1], 0);
	record("bare parse and pass", measure(prog_fd(bare, "bare_pass"), other, sizeof(other)), NULL);
	record("bare parse and drop, one clock read", measure(prog_fd(bare, "bare_drop_clock"), syn, sizeof(syn)),
	       NULL);
	pass = &figures[0];
	drop = &figures[1];
	record("one clock read", measure(prog_fd(bare, "clock_only"), syn, sizeof(syn)), NULL);
	bpf_object__close(bare);
	bare = load(argv[1], ~0U);
	record("LRU hash of sources, random sources", measure(prog_fd(bare, "lru_source"), syn, sizeof(syn)), drop);
	bpf_object__close(bare);
	measure_shield(argv[2], argv[3], argv[4], pass, drop);
	measure_lists(argv[4]);
	if (json)
		print_json();
	else
		print_table();
	return 0;
}
