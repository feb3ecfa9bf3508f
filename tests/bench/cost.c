// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows that a test run can repeat: the same frame again and again, the sources varied by the program where they must
 * be. */
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/mman.h>
#include <unistd.h>

#include <synhold/addr.h>

#include "bench.h"
#include "lib/lists_set.h"

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
	if (bpf_map_update_elem(bench_map(object, "lists"), &bank, &fd, BPF_ANY)) {
	}
	control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, bench_map(object, "control"), 0);
	control->listed[bank] = 2 * count;
	munmap(control, sizeof(*control));
	config_lists_free(&lists);
	free(rows);
	close(fd);
}

static int shield_with(const char *path, const struct synhold_policy *pol)
{
	struct bpf_object *object = bench_load(path);

	bench_put_policy(object, pol);
	return bench_prog(object, "synhold_shield");
}

static void add_lists(const char *many, const unsigned char *syn)
{
	static const char *const names[] = {"SYN refused, random sources, no lists", "the same, 2 x 1,000 list entries",
					    "the same, 2 x 100,000 list entries"};
	static const unsigned int counts[] = {0, 1000, 100000};
	struct synhold_policy pol = bench_policy();
	const struct bench_figure *none = NULL;

	pol.closed = 1;
	for (int i = 0; i < 3; i++) {
		struct bpf_object *object = bench_load(many);
		struct bench_figure *figure;

		bench_put_policy(object, &pol);
		if (counts[i])
			put_lists(object, counts[i]);
		figure = bench_add(names[i], bench_prog(object, "synhold_shield"), syn, none);
		if (!none)
			none = figure;
	}
}

/* What limits of sources and a closed service rate make of random sources: the sources' own rate would let all of them
 * through. */
static void add_random(const struct bench_objects *files, const unsigned char *syn, const struct bench_figure *drop)
{
	struct synhold_policy pol = bench_policy();
	const struct bench_figure *ours;

	bench_close_source_rate(&pol);
	bench_close_rate(&pol);
	ours = bench_add("SYN refused, random sources", shield_with(files->many, &pol), syn, drop);
	bench_add("the same, sources looked up in an LRU hash", shield_with(files->lru, &pol), syn, ours);
	bench_add("the same, sources charged in an LRU hash", shield_with(files->lru_charges, &pol), syn, ours);
	pol = bench_policy();
	pol.window_mode = SYNHOLD_WINDOW_FIXED;
	pol.window = 1;
	bench_add("SYN refused, window full, random sources", shield_with(files->many, &pol), syn, drop);
}

static void add_shield(const struct bench_objects *files, const unsigned char *syn, const struct bench_figure *pass,
		       const struct bench_figure *drop)
{
	unsigned char data[BENCH_FRAME], other[BENCH_FRAME], other_data[BENCH_FRAME];
	struct synhold_policy pol = bench_policy();
	int shield = shield_with(files->plain, &pol);

	bench_frame(data, 0x0a090001, BENCH_PORT, 0);
	bench_frame(other, 0x0a090001, BENCH_PORT + 1, 1);
	bench_frame(other_data, 0x0a090001, BENCH_PORT + 1, 0);
	bench_add("data to a protected port", shield, data, pass);
	bench_add("data to another port", shield, other_data, pass);
	bench_add("SYN to another port", shield, other, pass);
	bench_add("SYN admitted, a copy", shield, syn, drop);
	bench_close_rate(&pol);
	bench_add("SYN refused, service rate", shield_with(files->plain, &pol), syn, drop);
	pol = bench_policy();
	bench_close_source_rate(&pol);
	bench_add("SYN refused, source rate, one source", shield_with(files->plain, &pol), syn, drop);
	bench_add("SYN refused, source rate, 4096 sources", shield_with(files->few, &pol), syn, drop);
}

void cost_add(const struct bench_objects *files)
{
	const struct bench_figure *pass, *drop, *random;
	unsigned char syn[BENCH_FRAME], data[BENCH_FRAME];
	struct bpf_object *bare = bench_load(files->bare);

	bench_frame(syn, 0x0a090001, BENCH_PORT, 1);
	bench_frame(data, 0x0a090001, BENCH_PORT, 0);
	bench_add("test run of an empty program", bench_prog(bare, "bare_nothing"), syn, NULL);
	pass = bench_add("bare parse and pass", bench_prog(bare, "bare_pass"), data, NULL);
	drop = bench_add("bare parse and drop, one clock read", bench_prog(bare, "bare_drop_clock"), syn, NULL);
	random = bench_add("the same, random sources", bench_prog(bare, "bare_drop_random"), syn, NULL);
	bench_add("one clock read", bench_prog(bare, "clock_only"), syn, NULL);
	add_shield(files, syn, pass, drop);
	add_random(files, syn, random);
	add_lists(files->many, syn);
}
