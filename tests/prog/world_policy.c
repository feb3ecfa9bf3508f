// SPDX-License-Identifier: GPL-2.0-or-later
/* Policy straight into the maps, as an operator's command would compile it. */
#include "tests/prog/world.h"

#include <arpa/inet.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t ports_used[256];
static unsigned int ports_count;

struct synhold_policy world_policy(void)
{
	struct synhold_policy pol = {
		.name = "web",
		.window_mode = SYNHOLD_WINDOW_NONE,
		.source_prefix4 = 32,
		.source_prefix6 = 64,
		.settle_bytes = 1,
		.share_ppm = 1000000,
		.share_threshold = 1ULL << 32,
	};

	return pol;
}

void world_set_rate(struct synhold_policy *pol, uint64_t interval_ns, uint64_t burst)
{
	pol->rate_interval_ns = interval_ns;
	pol->rate_limit_ns = interval_ns * burst;
}

void world_set_source_rate(struct synhold_policy *pol, uint64_t interval_ns, uint64_t burst)
{
	world.sources_used = true;
	pol->source_interval = (interval_ns + 255) >> SYNHOLD_SOURCE_TICK_SHIFT;
	pol->source_limit = pol->source_interval * burst;
}

void world_set_share(struct synhold_policy *pol, uint32_t ppm)
{
	pol->share_ppm = ppm;
	pol->share_threshold = ((uint64_t)ppm << 32) / 1000000;
}

void world_set_window(struct synhold_policy *pol, uint32_t window)
{
	pol->window_mode = SYNHOLD_WINDOW_FIXED;
	pol->window = window;
}

void world_put_policy(uint32_t bank, uint32_t service, const struct synhold_policy *pol)
{
	uint32_t key = bank * SYNHOLD_SERVICES + service;

	world_ok(bpf_map_update_elem(world.policy, &key, pol, BPF_ANY));
}

void world_put_global_rate(uint32_t bank, uint64_t interval_ns, uint64_t burst)
{
	struct synhold_global_policy all = {.rate_interval_ns = interval_ns, .rate_limit_ns = interval_ns * burst};

	world_ok(bpf_map_update_elem(world.globals, &bank, &all, BPF_ANY));
}

void world_put_port(uint32_t bank, uint16_t port, uint32_t entry)
{
	uint32_t key = bank * SYNHOLD_PORTS + port;

	assert_true(ports_count < sizeof(ports_used) / sizeof(ports_used[0]));
	ports_used[ports_count++] = key;
	world_ok(bpf_map_update_elem(world.ports, &key, &entry, BPF_ANY));
}

void world_clear_ports(void)
{
	uint32_t zero = 0;

	while (ports_count)
		world_ok(bpf_map_update_elem(world.ports, &ports_used[--ports_count], &zero, BPF_ANY));
}

void world_put_addr(uint32_t bank, uint16_t port, const char *addr, uint32_t prefixlen, uint32_t service)
{
	struct synhold_addr_key key = {
		.prefixlen = 32 + prefixlen + (strchr(addr, ':') ? 0 : 96),
		.bank = htons((uint16_t)bank),
		.port = htons(port),
	};

	frames_address(addr, key.addr);
	world_ok(bpf_map_update_elem(world.addrs, &key, &service, BPF_ANY));
}

/* Every allow entry gets the rate that the test has asked for, or its own a thousand times slower. */
static void set_allow_rate(struct synhold_list_row *rows)
{
	const struct synhold_list_head *head = (const void *)rows;
	struct synhold_list_step *step = (void *)(rows + head->steps_row);

	for (uint32_t i = 0; i < head->index_row[0] - head->steps_row; i++) {
		step[i].interval = world.allow_interval ? world.allow_interval : step[i].interval * 1000;
		step[i].limit = world.allow_interval ? world.allow_limit : step[i].limit * 1000;
	}
}

void world_set_lists(uint32_t bank, const struct config_lists *lists)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	struct synhold_list_row *rows;
	uint32_t count;
	void *at;
	int fd;

	world.sources_used = true; /* entries have rates of their own */
	assert_int_equal(lists_image(lists, &rows, &count), 0);
	set_allow_rate(rows);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "image", sizeof(uint32_t), sizeof(*rows), count, &opts);
	world_ok(fd);
	at = mmap(NULL, count * sizeof(*rows), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	memcpy(at, rows, count * sizeof(*rows));
	munmap(at, count * sizeof(*rows));
	world_ok(bpf_map_update_elem(world.lists, &bank, &fd, BPF_ANY));
	close(fd);
	free(rows);
	world.control->listed[bank] = lists->count[LIST_ALLOW] + lists->count[LIST_DENY];
}

void world_put_list(enum list_kind kind, const char *addr, uint32_t prefixlen, uint64_t until_ns, uint64_t interval_ns,
		    uint64_t burst)
{
	struct list_entry entry = {.prefixlen = (uint8_t)(prefixlen + (strchr(addr, ':') ? 0 : 96)),
				   .value = {.until_ns = until_ns}};

	if (interval_ns) {
		world.allow_interval = (interval_ns + 255) >> SYNHOLD_SOURCE_TICK_SHIFT;
		world.allow_limit = world.allow_interval * burst;
	}
	frames_address(addr, entry.addr);
	assert_int_equal(config_lists_add(&world.listed, kind, &entry), 0);
	assert_int_equal(lists_sort(&world.listed, kind), 0);
	world_set_lists(0, &world.listed);
}
