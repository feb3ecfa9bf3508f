// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/prog/world.h"

#include <sys/mman.h>
#include <time.h>

struct world world;

static struct ring_buffer *rings;

uint64_t world_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * WORLD_SECOND + (uint64_t)now.tv_nsec;
}

static int on_held(void *ctx, void *data, size_t size)
{
	(void)ctx;
	if (size != sizeof(struct synhold_held))
		return -EINVAL;
	if (world.held_count < WORLD_RECORDS)
		memcpy(&world.held[world.held_count], data, size);
	world.held_count++;
	return 0;
}

static int on_wake(void *ctx, void *data, size_t size)
{
	(void)ctx;
	if (size != sizeof(struct synhold_wake))
		return -EINVAL;
	if (world.wake_count < WORLD_RECORDS)
		memcpy(&world.wake[world.wake_count], data, size);
	world.wake_count++;
	return 0;
}

static int program(const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(world.object, name);

	return prog ? bpf_program__fd(prog) : -1;
}

static int map(const char *name)
{
	return bpf_object__find_map_fd_by_name(world.object, name);
}

static void *mapped(const char *name, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map(name), 0);

	return at == MAP_FAILED ? NULL : at;
}

int world_load(void **state)
{
	const char *path = getenv("SYNHOLD_BPF_OBJECT");
	int err;

	(void)state;
	path = path ? path : "build/synhold.bpf.o";
	world.object = bpf_object__open_file(path, NULL);
	err = world.object ? bpf_object__load(world.object) : -errno;
	if (err) {
		fprintf(stderr, "%s: %s (root?)\n", path, strerror(-err));
		return -1;
	}
	world.shield = program("synhold_shield");
	world.egress = program("synhold_egress");
	world.reject = program("synhold_reject");
	world.release = program("synhold_release");
	world.sweep = program("synhold_sweep");
	world.policy = map("policy");
	world.globals = map("globals");
	world.ports = map("ports");
	world.addrs = map("addrs");
	world.lists = map("lists");
	world.interfaces = map("interfaces");
	world.sources = map("sources");
	world.proofs = map("proofs");
	world.offenders = map("offenders");
	world.events = map("events");
	world.tap = map("tap");
	world.tap_state = map("tap_state");
	world.counters = map("counters");
	world.delays = map("delays");
	world.unparsed = map("unparsed");
	world.marks = map("marks");
	world.admissions = map("admissions");
	world.control = mapped("control", sizeof(*world.control));
	world.runtime = mapped("runtime", sizeof(*world.runtime) * SYNHOLD_SERVICES);
	world.daemon = mapped("daemon", sizeof(*world.daemon));
	world.release_io = mapped("release_io", sizeof(*world.release_io));
	world.gates = mapped("gates", sizeof(*world.gates) * SYNHOLD_SERVICES);
	world.owed = mapped("owed", sizeof(*world.owed) * SYNHOLD_SERVICES);
	world.asked = mapped("asked", sizeof(*world.asked) * SYNHOLD_SERVICES);
	world.global = mapped("global", sizeof(*world.global));
	world.tap_word = mapped("tap", sizeof(*world.tap_word));
	rings = ring_buffer__new(map("held"), on_held, NULL, NULL);
	if (!rings || ring_buffer__add(rings, map("wake"), on_wake, NULL))
		return -1;
	return world.control && world.runtime && world.daemon && world.release_io && world.gates && world.owed &&
			       world.asked && world.global && world.tap_word ?
		       0 :
		       -1;
}

int world_unload(void **state)
{
	(void)state;
	ring_buffer__free(rings);
	bpf_object__close(world.object);
	return 0;
}

void world_drain(void)
{
	world_ok(ring_buffer__consume(rings));
}

static void empty(int fd, size_t key_size)
{
	uint8_t key[64];

	assert_true(key_size <= sizeof(key));
	while (!bpf_map_get_next_key(fd, NULL, key))
		world_ok(bpf_map_delete_elem(fd, key));
}

/* An array of 64-byte sets. */
static void zero_sets(int fd, uint32_t entries)
{
	static struct synhold_source_set sets[4096];
	static uint32_t keys[4096];
	uint32_t base, i;

	for (base = 0; base < entries; base += 4096) {
		uint32_t count = 4096;

		for (i = 0; i < count; i++)
			keys[i] = base + i;
		world_ok(bpf_map_update_batch(fd, keys, sets, &count, NULL));
	}
}

/* Zeroes one element of a per-CPU array. */
static void zero_percpu(int fd, uint32_t key, size_t size)
{
	void *zeros = calloc((size_t)libbpf_num_possible_cpus(), size);

	assert_non_null(zeros);
	world_ok(bpf_map_update_elem(fd, &key, zeros, BPF_ANY));
	free(zeros);
}

void world_clear_counters(void)
{
	uint32_t i;

	for (i = 0; i < SYNHOLD_SERVICES; i++)
		zero_percpu(world.counters, i, sizeof(struct synhold_counters));
}

int world_reset(void **state)
{
	static const struct synhold_policy none;
	static uint64_t key = 0x6b7d2f1d;
	struct synhold_policy pol = world_policy();
	uint32_t i;

	(void)state;
	world_clear_counters();
	for (i = 0; i < SYNHOLD_SERVICES; i++)
		zero_percpu(world.delays, i, sizeof(struct synhold_delays));
	for (i = 0; i < SYNHOLD_UNPARSED_COUNT; i++)
		zero_percpu(world.unparsed, i, sizeof(uint64_t));
	for (i = 0; i < SYNHOLD_OFFENDER_SETS; i++)
		zero_percpu(world.offenders, i, sizeof(struct synhold_offender_set));
	zero_percpu(world.tap_state, 0, sizeof(struct synhold_tap_state));
	for (i = 0; i < SYNHOLD_BANKS * SYNHOLD_SERVICES; i++)
		world_ok(bpf_map_update_elem(world.policy, &i, &none, BPF_ANY));
	world_clear_ports();
	empty(world.addrs, sizeof(struct synhold_addr_key));
	config_lists_free(&world.listed);
	world.allow_interval = 0;
	for (i = 0; i < SYNHOLD_BANKS; i++)
		bpf_map_delete_elem(world.lists, &i); /* there may be none */
	empty(world.interfaces, sizeof(uint32_t));
	empty(world.marks, sizeof(struct synhold_tuple));
	if (world.sources_used) /* clearing these two takes most of a reset */
		zero_sets(world.sources, SYNHOLD_SOURCE_SETS);
	world.sources_used = false;
	if (world.proofs_used)
		zero_sets(world.proofs, SYNHOLD_PROOF_SETS);
	world.proofs_used = false;
	memset(world.control, 0, sizeof(*world.control));
	memset(world.runtime, 0, sizeof(*world.runtime) * SYNHOLD_SERVICES);
	memset(world.gates, 0, sizeof(*world.gates) * SYNHOLD_SERVICES);
	memset(world.owed, 0, sizeof(*world.owed) * SYNHOLD_SERVICES);
	memset(world.asked, 0, sizeof(*world.asked) * SYNHOLD_SERVICES);
	memset(world.daemon, 0, sizeof(*world.daemon));
	memset(world.release_io, 0, sizeof(*world.release_io));
	memset(world.global, 0, sizeof(*world.global));
	for (i = 0; i < SYNHOLD_SERVICES; i++)
		world.runtime[i].expire_ns =
			SYNHOLD_EXPIRE_MAX_NS; /* a slow machine is not to meet expiry where a test does not want it */
	world_put_global_rate(0, 0, 0);
	world_put_global_rate(1, 0, 0);

	world.control->hash_key[0] = key += 0x9e3779b97f4a7c15ULL;
	world.control->hash_key[1] = key ^ 0x5bd1e995;
	world.control->abi_version = SYNHOLD_ABI_VERSION;
	world.daemon->heartbeat_ns = world_now() + WORLD_HOUR;
	world.daemon->hold_ready = 1;
	world_put_policy(0, 0, &pol);
	world_put_port(0, 443, 1);
	world_drain();
	world.row[0] = 0;
	world.held_count = 0;
	world.wake_count = 0;
	world.foreign_held = 0;
	return 0;
}

/* The laws of counting, for each service, once all is quiet. */
int world_check(void **state)
{
	uint64_t held = 0;
	uint32_t i, k;

	(void)state;
	world_drain();
	for (i = 0; i < SYNHOLD_SERVICES; i++) {
		struct synhold_counters c = world_counters(i);
		uint64_t verdicts = 0, over = 0, outcomes = 0, slots = 0, owed = 0, asked = 0;

		for (k = 0; k < SYNHOLD_VERDICT_COUNT; k++)
			verdicts += c.verdict[k];
		for (k = 0; k < SYNHOLD_REASON_COUNT; k++)
			over += c.over_limit[k];
		for (k = 0; k < SYNHOLD_OUTCOME_COUNT; k++)
			outcomes += c.outcome[k];
		for (k = 0; k < SYNHOLD_BUCKETS; k++)
			slots += (uint32_t)world.gates[i].buckets[k];
		for (k = 0; k < SYNHOLD_BUCKETS; k++)
			owed += (uint32_t)world.owed[i].buckets[k];
		for (k = 0; k < SYNHOLD_BUCKETS; k++)
			asked += (uint32_t)world.asked[i].buckets[k];
		assert_int_equal(c.seen, verdicts);
		assert_int_equal(over, verdicts - c.verdict[SYNHOLD_VERDICT_ADMIT]);
		assert_true(world.gates[i].inflight >= 0);
		assert_int_equal(slots, world.gates[i].inflight);
		assert_int_equal(owed, world.owed[i].inflight);
		assert_true(c.answered + owed <= c.left && c.left <= c.outcome[SYNHOLD_OUTCOME_ABANDONED]);
		assert_int_equal(asked, world.asked[i].inflight);
		assert_true(asked <= slots && c.asked_settled + c.asked_expired + asked <= c.asked);
		assert_int_equal(c.started, outcomes + (uint64_t)world.gates[i].inflight);
		held += c.verdict[SYNHOLD_VERDICT_HOLD];
	}
	assert_int_equal(world.held_count, held + world.foreign_held);
	return 0;
}
