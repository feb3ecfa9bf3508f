// SPDX-License-Identifier: GPL-2.0-or-later
/* The same laws from several CPUs at once: exact totals, no slot lost, no tuple charged twice. */
#define _GNU_SOURCE 1
#include "tests/prog/world.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#define RUNS 20000
#define STEPS 2000 /* SYNs in step take their time on a busy machine, and slots live for 10 s only */
#define THREADS_MAX 8

struct runner {
	pthread_t thread;
	int cpu;
	uint32_t source_base, runs;
	bool same_tuples; /* all CPUs send the same SYNs, each in the same moment */
	bool settle;      /* each admitted one ends at once: by payload, RST or not at all */
	bool pinned;
	uint32_t passed, left;
};

static pthread_barrier_t start_line;
static uint32_t runners, arrived; /* of a run in step */
static struct synhold_policy pol;

static void drop_beyond(void)
{
	pol = world_policy();
	pol.action = SYNHOLD_ACTION_DROP;
}

/* In a thread assertions of cmocka must not fire: results are counted and judged by the main one. */
static uint32_t run(int prog, const struct frame *frame)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame->bytes, .data_size_in = (uint32_t)frame->len,
		    .repeat = 1);

	return bpf_prog_test_run_opts(prog, &opts) ? UINT32_MAX : opts.retval;
}

/* Waits until all have come to their SYN number i. */
static void keep_step(uint32_t i)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < (i + 1) * runners)
		sched_yield();
}

static void *runner(void *arg)
{
	struct runner *self = arg;
	cpu_set_t cpus;
	uint32_t i;

	CPU_ZERO(&cpus);
	CPU_SET(self->cpu, &cpus);
	self->pinned = !pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	pthread_barrier_wait(&start_line);
	for (i = 0; i < self->runs; i++) {
		struct frame_spec spec = {.src4 = self->source_base + i / 50000, .sport = (uint16_t)(1024 + i % 50000)};
		struct frame frame;

		frames_build(&frame, &spec);
		if (self->same_tuples)
			keep_step(i);
		if (run(world.shield, &frame) != XDP_PASS)
			continue;
		self->passed++;
		if (!self->settle)
			continue;
		if (i % 3 == 0) {
			spec.reply = true;
			spec.data = 1;
			frames_build(&frame, &spec);
			run(world.egress, &frame);
		} else if (i % 3 == 1) {
			spec.flags = FRAMES_RST;
			frames_build(&frame, &spec);
			run(world.shield, &frame);
		} else {
			self->left++;
		}
	}
	return NULL;
}

/* Runs the same on each CPU, at most THREADS_MAX; returns how many SYNs passed in all. Needs two CPUs to mean anything.
 */
static uint32_t on_all_cpus(const struct runner *pattern, uint32_t *runs, uint32_t *left)
{
	struct runner each[THREADS_MAX];
	unsigned int count = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN), i;
	uint32_t passed = 0;

	count = count > THREADS_MAX ? THREADS_MAX : count;
	assert_true(count >= 2);
	world.runtime[0].expire_ns = SYNHOLD_EXPIRE_MAX_NS; /* a busy machine may take longer than the shortest life */
	runners = count;
	arrived = 0;
	pthread_barrier_init(&start_line, NULL, count);
	for (i = 0; i < count; i++) {
		each[i] = *pattern;
		each[i].cpu = (int)i;
		if (!pattern->same_tuples)
			each[i].source_base += i << 16;
		assert_int_equal(pthread_create(&each[i].thread, NULL, runner, &each[i]), 0);
	}
	*runs = *left = 0;
	for (i = 0; i < count; i++) {
		pthread_join(each[i].thread, NULL);
		assert_true(each[i].pinned);
		passed += each[i].passed;
		*runs += each[i].runs;
		*left += each[i].left;
	}
	pthread_barrier_destroy(&start_line);
	assert_int_equal(*runs, count * pattern->runs);
	return passed;
}

static void every_syn_is_counted(void **state)
{
	uint32_t runs, left, passed;

	(void)state;
	passed = on_all_cpus(&(struct runner){.source_base = 0x0a000000, .runs = RUNS}, &runs, &left);
	assert_int_equal(passed, runs);
	world_counted(0, .seen = runs, .verdict[SYNHOLD_VERDICT_ADMIT] = runs, .started = runs, .offered = runs);
}

static void the_burst_is_exact(void **state)
{
	uint32_t runs, left, passed;

	(void)state;
	drop_beyond();
	world_set_rate(&pol, WORLD_HOUR, 10007);
	world_put_policy(0, 0, &pol);
	passed = on_all_cpus(&(struct runner){.source_base = 0x0a000000, .runs = RUNS}, &runs, &left);
	assert_int_equal(passed, 10007);
	world_counted(0, .seen = runs, .verdict[SYNHOLD_VERDICT_ADMIT] = passed,
		      .verdict[SYNHOLD_VERDICT_DROP] = runs - passed, .started = passed, .offered = runs,
		      .bites = runs - passed, .over_limit[SYNHOLD_REASON_SERVICE_RATE] = runs - passed);
}

static void the_window_is_exact(void **state)
{
	uint32_t runs, left, passed;

	(void)state;
	drop_beyond();
	world_set_window(&pol, 5003);
	world_set_rate(&pol, WORLD_HOUR, 1000000 / 2);
	world_put_policy(0, 0, &pol);
	passed = on_all_cpus(&(struct runner){.source_base = 0x0a000000, .runs = RUNS}, &runs, &left);
	assert_int_equal(passed, 5003);
	assert_int_equal(world.gates[0].inflight, 5003);
	world_counted(0, .seen = runs, .verdict[SYNHOLD_VERDICT_ADMIT] = passed,
		      .verdict[SYNHOLD_VERDICT_DROP] = runs - passed, .started = passed, .offered = runs,
		      .bites = runs - passed, .over_limit[SYNHOLD_REASON_WINDOW] = runs - passed);
	/* and the rate was charged for these only: each refusal has given back what it took */
	assert_in_range(world.gates[0].rate_tat_ns, world_now() - 60 * WORLD_SECOND + 5003 * WORLD_HOUR,
			world_now() + 5003 * WORLD_HOUR);
}

/* One source behind several CPUs, as a large NAT: its burst to the last one. */
static void one_source_is_exact(void **state)
{
	uint32_t runs, left, passed;

	(void)state;
	drop_beyond();
	pol.source_prefix4 = 0;
	world_set_source_rate(&pol, 60 * WORLD_SECOND, 2003);
	world_put_policy(0, 0, &pol);
	passed = on_all_cpus(&(struct runner){.source_base = 0x0a000000, .runs = RUNS}, &runs, &left);
	assert_int_equal(passed, 2003);
	world_counted(0, .seen = runs, .verdict[SYNHOLD_VERDICT_ADMIT] = passed,
		      .verdict[SYNHOLD_VERDICT_DROP] = runs - passed, .started = passed, .offered = runs,
		      .over_limit[SYNHOLD_REASON_SOURCE_RATE] = runs - passed);
}

/* Its debt is given back by whatever refuses later, also when two CPUs charge it in the same moment. */
static void a_refusing_window_leaves_one_source_its_burst(void **state)
{
	uint32_t runs, left, i;

	(void)state;
	drop_beyond();
	pol.source_prefix4 = 0;
	world_set_source_rate(&pol, 60 * WORLD_SECOND, 100);
	pol.action = SYNHOLD_ACTION_HOLD; /* so that "queued" is looked at; hold_full turns it into drop */
	world_put_policy(0, 0, &pol);
	world.runtime[0].queued = 1;
	world.runtime[0].hold_full = 1;
	assert_int_equal(on_all_cpus(&(struct runner){.source_base = 0x0a000000, .runs = RUNS}, &runs, &left), 0);
	world.runtime[0].queued = 0;
	for (i = 0; i < 100; i++)
		assert_int_equal(world_syn(.src4 = 0x0b000000 + i), XDP_PASS);
	assert_int_equal(world_syn(.src4 = 0x0b000000 + i), XDP_DROP);
}

/* The same SYN on two CPUs in the same moment: one handshake, charged once. */
static void copies_race(void **state)
{
	uint32_t runs, left, passed;

	(void)state;
	drop_beyond();
	world_set_rate(&pol, WORLD_HOUR, STEPS + 10);
	world_put_policy(0, 0, &pol);
	passed = on_all_cpus(&(struct runner){.source_base = 0x0a000000, .runs = STEPS, .same_tuples = true}, &runs,
			     &left);
	assert_int_equal(passed, runs);
	assert_int_equal(world_counters(0).started, STEPS);
	/* on a busy machine the first ones have outlived their slots by now */
	assert_int_equal((uint64_t)world.gates[0].inflight + world_counters(0).outcome[SYNHOLD_OUTCOME_EXPIRED], STEPS);
	assert_in_range(world.gates[0].rate_tat_ns, world_now() - 60 * WORLD_SECOND + STEPS * WORLD_HOUR,
			world_now() + STEPS * WORLD_HOUR);
}

/* The same when it is to be held: one place in the queue, and each copy counts as held, none as turned away. */
static void copies_race_into_the_queue(void **state)
{
	uint32_t runs, left, fresh = 0, i;

	(void)state;
	pol = world_policy();
	pol.closed = 1;
	world_put_policy(0, 0, &pol);
	assert_int_equal(
		on_all_cpus(&(struct runner){.source_base = 0x0a000000, .runs = STEPS / 5, .same_tuples = true}, &runs,
			    &left),
		0);
	assert_int_equal(world_counters(0).verdict[SYNHOLD_VERDICT_HOLD], runs);
	assert_int_equal(world_counters(0).over_limit[SYNHOLD_REASON_CLOSED], runs);
	world_drain();
	assert_int_equal(world.held_count, runs);
	assert_true(runs <= WORLD_RECORDS);
	for (i = 0; i < runs; i++)
		fresh += !world.held[i].retransmit;
	assert_int_equal(fresh, STEPS / 5);
}

/* Handshakes ended in every way from every CPU: what was not ended expires, and nothing is left. */
static void every_outcome_is_counted_and_nothing_left(void **state)
{
	uint32_t runs, left, passed;
	struct synhold_counters c;
	uint64_t deadline;

	(void)state;
	drop_beyond();
	world_set_window(&pol, 700);
	world_put_policy(0, 0, &pol);
	passed = on_all_cpus(&(struct runner){.source_base = 0x0a000000, .runs = RUNS, .settle = true}, &runs, &left);
	world.runtime[0].expire_ns = SYNHOLD_EXPIRE_MIN_NS;
	deadline = world_now() + 10 * WORLD_SECOND;
	while (world.gates[0].inflight > 0) {
		assert_true(world_now() < deadline);
		usleep(10000);
		world_sweep();
	}
	c = world_counters(0);
	assert_int_equal(world.gates[0].inflight, 0);
	assert_int_equal(c.started, passed);
	assert_int_equal(c.seen, runs);
	assert_int_equal(c.outcome[SYNHOLD_OUTCOME_EXPIRED] + c.outcome[SYNHOLD_OUTCOME_SETTLED] +
				 c.outcome[SYNHOLD_OUTCOME_ABANDONED],
			 passed);
	assert_true(c.outcome[SYNHOLD_OUTCOME_EXPIRED] >= left);
	assert_true(left > 0 && c.outcome[SYNHOLD_OUTCOME_SETTLED] > 0 && c.outcome[SYNHOLD_OUTCOME_ABANDONED] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		world_test(every_syn_is_counted),
		world_test(the_burst_is_exact),
		world_test(the_window_is_exact),
		world_test(one_source_is_exact),
		world_test(a_refusing_window_leaves_one_source_its_burst),
		world_test(copies_race),
		world_test(copies_race_into_the_queue),
		world_test(every_outcome_is_counted_and_nothing_left),
	};

	return world_run(tests);
}
