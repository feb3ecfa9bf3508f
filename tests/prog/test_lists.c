// SPDX-License-Identifier: GPL-2.0-or-later
/* The look-up of a source in the lists, as the shield does it, against the model; and banks that have lists of their
 * own. */
#include "tests/prog/world.h"

#include <arpa/inet.h>

#include <synhold/addr.h>

#include "tests/unit/lists_model.h"

#define ROUNDS 30
#define LOOKUPS 120

static char text[INET6_ADDRSTRLEN];

static uint32_t syn_from(const uint8_t addr[16])
{
	bool ipv4 = synhold_addr_is_ipv4(addr);

	if (ipv4)
		inet_ntop(AF_INET, addr + 12, text, sizeof(text));
	else
		inet_ntop(AF_INET6, addr, text, sizeof(text));
	return world_syn(.src = text, .v6 = !ipv4);
}

/* A source that no limit lets in: what gets through does so by the allow list. */
static void put_closed(uint32_t bank)
{
	struct synhold_policy pol = world_policy();

	pol.action = SYNHOLD_ACTION_DROP;
	pol.closed = 1;
	pol.source_prefix6 = 128;
	world_put_policy(bank, 0, &pol);
}

static void look_up(const struct config_lists *lists, uint64_t *random, int round, int number)
{
	struct synhold_counters before = world_counters(0), after;
	uint64_t now = world_now(), burst;
	struct lists_answer model;
	uint8_t addr[16];

	lists_model_random_addr(random, lists, addr);
	model = lists_model(lists, addr, now);
	burst = model.allow ? 2 * model.allow->value.rate_pps : 0;
	snprintf(world.row, sizeof(world.row), "round %d, look-up %d:", round, number);
	if (model.denied) {
		assert_int_equal(syn_from(addr), XDP_DROP);
		after = world_counters(0);
		assert_int_equal(after.over_limit[SYNHOLD_REASON_DENY], before.over_limit[SYNHOLD_REASON_DENY] + 1);
		return;
	}
	/* the burst of the longest entry, and not of another */
	for (uint64_t i = 0; i < burst; i++)
		assert_int_equal(syn_from(addr), XDP_PASS);
	assert_int_equal(syn_from(addr), XDP_DROP);
	after = world_counters(0);
	assert_int_equal(after.allowed, before.allowed + burst);
	assert_int_equal(after.over_limit[SYNHOLD_REASON_CLOSED], before.over_limit[SYNHOLD_REASON_CLOSED] + 1);
}

static void random_lists_against_the_model(void **state)
{
	uint64_t random = 7;

	for (int round = 0; round < ROUNDS; round++) {
		struct config_lists lists = {0};

		world_check(state);
		world_reset(state); /* with it every source has its burst again */
		put_closed(0);
		assert_int_equal(lists_model_fill(&random, round % 10 ? 40 : 1000, world_now(), &lists), 0);
		world_set_lists(0, &lists);
		for (int i = 0; i < LOOKUPS; i++) {
			world.control->hash_key[0]++; /* a source that comes again is another one */
			look_up(&lists, &random, round, i);
		}
		config_lists_free(&lists);
	}
}

static void add(struct config_lists *lists, enum list_kind kind, const char *addr, uint8_t prefixlen, uint64_t until_ns)
{
	struct list_entry entry = {.prefixlen = prefixlen, .value = {.until_ns = until_ns}};

	frames_address(addr, entry.addr);
	assert_int_equal(config_lists_add(lists, kind, &entry), 0);
}

/* Each bank has lists of its own, and the word that switches policies switches them: also back, at the deadline. */
static void lists_are_part_of_the_generation(void **state)
{
	struct config_lists old = {0}, fresh = {0};
	uint64_t now = world_now() / 1000000;

	(void)state;
	put_closed(0);
	put_closed(1);
	world_put_port(1, 443, 1);
	add(&old, LIST_DENY, "198.51.100.1", 128, SYNHOLD_FOREVER);
	add(&old, LIST_ALLOW, "198.51.100.2", 128, SYNHOLD_FOREVER);
	add(&fresh, LIST_ALLOW, "198.51.100.1", 128, SYNHOLD_FOREVER);
	add(&fresh, LIST_DENY, "198.51.100.2", 128, SYNHOLD_FOREVER);
	world_set_lists(0, &old);
	world_set_lists(1, &fresh);
	for (int step = 0; step < 4; step++) {
		static const int fresh_rules[] = {0, 1, 1, 0};
		const uint64_t words[] = {0, 1, 1 | 2 | (now + 3600000) << 2, 1 | 2 | (now - 1) << 2};

		world.control->active = words[step];
		snprintf(world.row, sizeof(world.row), "step %d:", step);
		assert_int_equal(world_syn(.src = "198.51.100.1"), fresh_rules[step] ? XDP_PASS : XDP_DROP);
		assert_int_equal(world_syn(.src = "198.51.100.2"), fresh_rules[step] ? XDP_DROP : XDP_PASS);
	}
	world_counted(0, .seen = 8, .verdict[SYNHOLD_VERDICT_ADMIT] = 4, .verdict[SYNHOLD_VERDICT_DROP] = 4,
		      .allowed = 4, .over_limit[SYNHOLD_REASON_DENY] = 4);
	config_lists_free(&old);
	config_lists_free(&fresh);
}

/* As many entries as the lists take, of both families, and the first, the last and one in the middle are found. */
static void full_lists(void **state)
{
	struct config_lists lists = {0};
	uint8_t addr[16] = {0};

	(void)state;
	put_closed(0);
	for (uint32_t i = 0; i < SYNHOLD_LIST_ENTRIES; i++) {
		struct list_entry entry = {.prefixlen = 128, .value = {.until_ns = SYNHOLD_FOREVER}};

		synhold_addr_map(htonl(0x0a000000 + 2 * i), entry.addr);
		assert_int_equal(config_lists_add(&lists, LIST_DENY, &entry), 0);
		memset(entry.addr, 0, sizeof(entry.addr));
		entry.addr[0] = 0x20;
		memcpy(entry.addr + 4, &(uint32_t){htonl(2 * i)}, 4);
		entry.prefixlen = 64;
		assert_int_equal(config_lists_add(&lists, LIST_ALLOW, &entry), 0);
	}
	world_set_lists(0, &lists);
	for (uint32_t i = 0; i < SYNHOLD_LIST_ENTRIES; i += (SYNHOLD_LIST_ENTRIES - 1) / 3) {
		snprintf(world.row, sizeof(world.row), "entry %u:", i);
		for (uint32_t beside = 0; beside < 2; beside++) {
			struct synhold_counters before = world_counters(0), after;

			synhold_addr_map(htonl(0x0a000000 + 2 * i + beside), addr);
			syn_from(addr);
			memset(addr, 0, sizeof(addr));
			addr[0] = 0x20;
			memcpy(addr + 4, &(uint32_t){htonl(2 * i + beside)}, 4);
			addr[15] = 9;
			syn_from(addr);
			after = world_counters(0);
			assert_int_equal(after.over_limit[SYNHOLD_REASON_DENY],
					 before.over_limit[SYNHOLD_REASON_DENY] + !beside);
			assert_int_equal(after.allowed, before.allowed + !beside);
		}
	}
	config_lists_free(&lists);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(random_lists_against_the_model),
		world_test(lists_are_part_of_the_generation),
		world_test(full_lists),
	};

	return world_run(tests);
}
