/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data plane loaded for a test, without any interface: policy is written straight into the maps, frames go through
 * BPF_PROG_TEST_RUN. Needs root. After each test world_check() holds the laws of counting against every service.
 */
#ifndef TESTS_PROG_WORLD_H
#define TESTS_PROG_WORLD_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <synhold/abi.h>

#include "lib/lists_set.h"
#include "tests/prog/frames.h"

#define WORLD_SECOND 1000000000ULL
#define WORLD_HOUR (3600 * WORLD_SECOND)
#define WORLD_IFINDEX 1 /* what the programs see as their interface: the loopback */
#define WORLD_RECORDS 1024

struct world {
	struct bpf_object *object;
	int shield, egress, reject, release, sweep; /* programs */
	int policy, globals, ports, addrs, lists, interfaces, sources, proofs, offenders, events, tap, tap_state,
		counters, delays, unparsed, marks, admissions;
	/* mapped */
	struct synhold_control *control;
	struct synhold_runtime *runtime;
	struct synhold_daemon *daemon;
	struct synhold_release_io *release_io;
	struct synhold_gate *gates, *owed, *asked;
	struct synhold_global *global;
	struct synhold_tap *tap_word;
	/* what has come through the rings since the test began; the first WORLD_RECORDS are kept */
	uint64_t held_count, wake_count;
	struct synhold_held held[WORLD_RECORDS];
	struct synhold_wake wake[WORLD_RECORDS];
	struct config_lists listed; /* what world_put_list() has put */
	uint64_t allow_interval, allow_limit;
	char row[64];                   /* of a table, for the messages of a failure */
	bool sources_used, proofs_used; /* a test may have written to these maps */
	uint64_t foreign_held;          /* records that a test says no verdict of its own counters stands for */
};
extern struct world world;

/* A run of the shield: the XDP action and the frame as it left, with its metadata in front. */
struct world_out {
	uint32_t action;
	size_t meta_len, len;
	uint8_t bytes[FRAMES_MAX + 64];
};

/* cmocka fixtures: load once for the group; empty maps, service 0 on port 443, a live daemon for each test; laws after
 * it. */
int world_load(void **state);
int world_unload(void **state);
int world_reset(void **state);
int world_check(void **state);
#define world_test(f) cmocka_unit_test_setup_teardown(f, world_reset, world_check)
#define world_run(tests) cmocka_run_group_tests(tests, world_load, world_unload)

uint64_t world_now(void);
/* Fails the test with errno when a call of libbpf or libc gives less than 0. */
#define world_ok(call) ((void)assert_return_code((call), errno))

/* A service that limits nothing: enforce, hold, window none, all of the share. */
struct synhold_policy world_policy(void);
/* Compiled limits as the operator's words would give them. */
void world_set_rate(struct synhold_policy *pol, uint64_t interval_ns, uint64_t burst);
void world_set_source_rate(struct synhold_policy *pol, uint64_t interval_ns, uint64_t burst);
void world_set_share(struct synhold_policy *pol, uint32_t ppm);
void world_set_window(struct synhold_policy *pol, uint32_t window);
void world_put_policy(uint32_t bank, uint32_t service, const struct synhold_policy *pol);
void world_put_global_rate(uint32_t bank, uint64_t interval_ns, uint64_t burst);
void world_put_port(uint32_t bank, uint16_t port, uint32_t entry);
void world_clear_ports(void);
void world_put_addr(uint32_t bank, uint16_t port, const char *addr, uint32_t prefixlen, uint32_t service);
/* Lists as user space compiles them, but for the rates of allow entries: a thousand times slower, so that bursts can be
 * counted on a slow machine. */
void world_set_lists(uint32_t bank, const struct config_lists *lists);
/* Adds one entry to those of bank 0; prefixlen as the text's family counts. interval_ns > 0: the rate of every allow
 * entry from now on, which a test wants slower than an operator can. */
void world_put_list(enum list_kind kind, const char *addr, uint32_t prefixlen, uint64_t until_ns, uint64_t interval_ns,
		    uint64_t burst);

uint32_t world_shield(const struct frame *frame);
uint32_t world_shield_spec(struct frame_spec spec);
#define world_syn(...) world_shield_spec((struct frame_spec){__VA_ARGS__})
void world_shield_out(const struct frame *frame, struct world_out *out);
uint32_t world_shield_repeat(const struct frame *frame, uint32_t repeat);
/* A frame leaving through the egress program; never anything but TC_ACT_UNSPEC. */
void world_egress_spec(struct frame_spec spec);
#define world_reply(...) world_egress_spec((struct frame_spec){.reply = true, __VA_ARGS__})
void world_sweep(void);
/* Releases through live frames; returns the result in release_io. Only inside a private network namespace. */
uint32_t world_release(const struct frame *frame, uint32_t service, uint8_t flags);
uint32_t world_release_on(int ifindex, const struct frame *frame, uint32_t service, uint8_t flags);
void world_private_net(void);

struct synhold_counters world_counters(uint32_t service);
void world_clear_counters(void);
/* Every counter of the service since the last clear, and nothing else. */
void world_expect(uint32_t service, const struct synhold_counters *expected);
#define world_counted(service, ...) world_expect(service, &(struct synhold_counters){__VA_ARGS__})
uint64_t world_unparsed(uint32_t reason);
bool world_mark(const struct synhold_tuple *tuple, struct synhold_mark *mark);
void world_drain(void);

#endif
