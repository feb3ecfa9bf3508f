// SPDX-License-Identifier: GPL-2.0-or-later
/* The hold queue, law by law. Everything together against a model: test_holdq_model.c. */
#include <stdlib.h>
#include <time.h>

#include "holdq_help.h"

struct fixture {
	struct holdq_memory *mem;
	struct holdq *q;
	struct holdq_config cfg;
	uint64_t callbacks[SYNHOLD_DISCARD_COUNT];
	uint32_t last_id;
	uint64_t last_ns;
};

static void on_discard(void *ctx, const struct holdq_entry *e, unsigned int reason, uint64_t now_ns)
{
	struct fixture *f = ctx;

	f->callbacks[reason]++;
	f->last_id = help_id(e);
	f->last_ns = now_ns;
	help_check_invariant(f->q);
}

static int setup(void **state)
{
	static const struct holdq_ops ops = {.discarded = on_discard};
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->cfg = (struct holdq_config)HOLDQ_CONFIG_DEFAULT;
	f->mem = holdq_memory_new(HOLDQ_MEMORY_DEFAULT_BYTES);
	assert_non_null(f->mem);
	f->q = holdq_new(f->mem, &f->cfg, help_seed, &ops, f);
	assert_non_null(f->q);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	help_check_invariant(f->q);
	holdq_free(f->q);
	assert_int_equal(holdq_memory_used(f->mem), 0);
	holdq_memory_free(f->mem);
	free(f);
	return 0;
}

static void configure(struct fixture *f)
{
	assert_int_equal(holdq_configure(f->q, &f->cfg), 0);
}

/* Next entry of the main queue, released; its id. */
static uint32_t release_next(struct fixture *f, uint64_t now_ns)
{
	struct holdq_entry *e = holdq_next(f->q, now_ns, HOLDQ_PICK_WINDOW);
	uint32_t id;

	assert_non_null(e);
	id = help_id(e);
	holdq_release(f->q, e, now_ns);
	return id;
}

/*
 * Clients first..first+n-1, spaced out, each a source of its own, whose copies make them live for 5 s from
 * start_ns.
 */
static void fill(struct fixture *f, uint32_t first, uint32_t n, uint64_t start_ns, uint64_t spacing_ns, uint16_t weight)
{
	uint32_t id;

	for (id = first; id < first + n; id++) {
		struct help_syn s = {.id = id, .source = id, .weight = weight};
		uint64_t at = start_ns + (id - first) * spacing_ns;

		assert_int_equal(help_send(f->q, s, at), HOLDQ_ENTERED);
		assert_int_equal(help_send(f->q, s, at + 2200 * MS), HOLDQ_REFRESHED);
	}
}

static void test_dedup_and_refresh(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {.id = 1, .source = 9, .seq = 77, .tsval = 1000};
	const struct holdq_entry *e;

	assert_int_equal(help_send(f->q, s, START), HOLDQ_ENTERED);
	s.tsval = 2000;
	assert_int_equal(help_send(f->q, s, START + SECOND), HOLDQ_REFRESHED);
	s.tsval = 4000;
	assert_int_equal(help_send(f->q, s, START + 3 * SECOND), HOLDQ_REFRESHED);
	/* Doubled on the way: counts as a copy, but does not shorten the client's patience. */
	assert_int_equal(help_send(f->q, s, START + 3 * SECOND + MS), HOLDQ_REFRESHED);

	e = help_find(f->q, 1);
	assert_non_null(e);
	assert_int_equal(e->attempts, 4);
	assert_int_equal(e->first_ns, START);
	assert_int_equal(e->last_ns, START + 3 * SECOND + MS);
	assert_int_equal(e->gap_ns, 2 * SECOND);
	assert_int_equal(e->ts_first, 1000);
	assert_int_equal(e->ts_ns, START);
	assert_int_equal(e->ts_last, 4000);
	assert_int_equal(e->ifindex, 3);
	/* The frame is the newest one. */
	assert_int_equal(e->frame[HELP_L4 + 26], 4000 >> 8);
	/* 1 kHz learned, 2 s since the newest copy: one tick less than the clock. */
	assert_int_equal(holdq_entry_ticks(e, e->last_ns + 2 * SECOND), 1999);
	assert_int_equal(holdq_counters(f->q)->held, 1);
	assert_int_equal(holdq_counters(f->q)->entered, 1);
	assert_int_equal(holdq_counters(f->q)->refreshed, 3);
	assert_null(help_find(f->q, 2));
}

static void test_older_copy_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {.id = 1, .source = 9, .tsval = 2000};

	assert_int_equal(help_send(f->q, s, START), HOLDQ_ENTERED);
	s.tsval = 1999;
	assert_int_equal(help_send(f->q, s, START - MS), HOLDQ_REFRESHED);
	assert_int_equal(help_find(f->q, 1)->last_ns, START);
	assert_int_equal(help_find(f->q, 1)->ts_last, 2000);
	assert_int_equal(help_find(f->q, 1)->gap_ns, 0);
}

static void test_new_attempt_on_the_same_ports(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {.id = 1, .source = 9, .seq = 1, .tsval = 1000};
	const struct holdq_entry *e;

	help_send(f->q, s, START);
	help_send(f->q, s, START + SECOND);
	s.seq = 2;
	s.tsval = 900000;
	assert_int_equal(help_send(f->q, s, START + 2 * SECOND), HOLDQ_REFRESHED);
	e = help_find(f->q, 1);
	assert_int_equal(e->first_ns, START);
	assert_int_equal(e->gap_ns, 0);
	assert_int_equal(e->ts_first, 900000);
	assert_int_equal(e->ts_ns, START + 2 * SECOND);
	assert_int_equal(holdq_overdue_ns(e), START + 3625 * MS);
}

/* Proof mode saw the first copy: the second one, which enters, tells how long the next may take. */
static void test_a_proved_one_has_come_before(void **state)
{
	struct fixture *f = *state;
	const struct holdq_entry *e;

	help_send(f->q, (struct help_syn){.id = 1, .source = 9, .proved_ns = 3 * SECOND}, START);
	help_send(f->q, (struct help_syn){.id = 2, .source = 9}, START);
	e = help_find(f->q, 1);
	assert_int_equal(e->attempts, 2);
	assert_int_equal(e->first_ns, START);
	/* copies at 0 and 3 s; an old Windows client sends the last one after 9 s */
	assert_true(holdq_overdue_ns(e) > START + 6 * SECOND);
	assert_int_equal(help_find(f->q, 2)->attempts, 1);
	assert_int_equal(holdq_overdue_ns(help_find(f->q, 2)), START + 1625 * MS);
	help_check_invariant(f->q);
}

static void test_nonsense_is_refused(void **state)
{
	struct fixture *f = *state;
	uint8_t frame[SYNHOLD_FRAME_LEN + 1] = {0};
	struct holdq_syn good = {.frame_len = 60, .l3_offset = 14, .l4_offset = 34, .frame = frame}, bad;

	bad = good;
	bad.frame_len = SYNHOLD_FRAME_LEN + 1;
	assert_true(holdq_offer(f->q, &bad, START, NULL) < 0);
	bad = good;
	bad.l4_offset = 61;
	assert_true(holdq_offer(f->q, &bad, START, NULL) < 0);
	bad = good;
	bad.l3_offset = 35;
	assert_true(holdq_offer(f->q, &bad, START, NULL) < 0);
	bad = good;
	bad.wait = HOLDQ_WAIT_COUNT;
	assert_true(holdq_offer(f->q, &bad, START, NULL) < 0);
	assert_int_equal(holdq_counters(f->q)->entered, 0);
	/* Cut off right behind the IP header: can be held, there is just nothing to learn from it. */
	good.frame_len = 34;
	assert_int_equal(holdq_offer(f->q, &good, START, NULL), HOLDQ_ENTERED);
	f->cfg.newest_percent = 101;
	assert_true(holdq_configure(f->q, &f->cfg) < 0);
}

/*
 * SYN times in ms. The last is what Linux 6.18 with HZ=250 really sent: its timers fire up to an eighth late.
 */
static const struct schedule {
	unsigned int n;
	uint32_t at_ms[12];
} schedules[] = {
	{11, {0, 1000, 2000, 3000, 4000, 5000, 7000, 11000, 19000, 35000, 67000}},
	{7, {0, 1000, 3000, 7000, 15000, 31000, 63000}},
	{11, {0, 1018, 2042, 3066, 4090, 5114, 7130, 11290, 19482, 35610, 69658}},
};

/*
 * Play the first n copies, sweeping every 10 ms; the time at which the entry went, 0 if it lived on to the
 * last copy.
 */
static uint64_t play(struct fixture *f, const struct schedule *s, unsigned int n, uint64_t until_ns)
{
	struct help_syn syn = {.id = 5, .source = 5};
	uint64_t now, next = START;
	unsigned int sent = 0;

	for (now = START; now <= until_ns; now += 10 * MS) {
		for (; sent < n && next <= now; next = START + s->at_ms[sent] * MS) {
			assert_int_equal(help_send(f->q, syn, next), sent ? HOLDQ_REFRESHED : HOLDQ_ENTERED);
			if (++sent == n)
				break;
		}
		if (holdq_sweep(f->q, now, 16))
			return now;
	}
	return 0;
}

static void test_live_client_stays(void **state)
{
	struct fixture *f = *state;
	unsigned int i;

	for (i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
		const struct schedule *s = &schedules[i];

		assert_int_equal(play(f, s, s->n, START + s->at_ms[s->n - 1] * MS + 10 * MS), 0);
		assert_int_equal(help_find(f->q, 5)->attempts, s->n);
		holdq_flush(f->q, SYNHOLD_DISCARD_DETACHED, START);
	}
	assert_int_equal(f->callbacks[SYNHOLD_DISCARD_GONE], 0);
}

/* On a busy machine each timer fires 0.4 s late. */
static void test_late_client_stays(void **state)
{
	static const struct schedule late = {7, {0, 1400, 2800, 4200, 5600, 7000, 9400}};
	struct fixture *f = *state;

	assert_int_equal(play(f, &late, late.n, START + 9410 * MS), 0);
	assert_int_equal(help_find(f->q, 5)->attempts, late.n);
}

/* After a time in which copies were missed: one that is held already and one that comes both stay until it is over, and
 * no longer. */
static void test_grace(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(help_send(f->q, (struct help_syn){.id = 5, .source = 5}, START), HOLDQ_ENTERED);
	holdq_grace(f->q, START + 10 * SECOND);
	assert_int_equal(help_send(f->q, (struct help_syn){.id = 6, .source = 6}, START + SECOND), HOLDQ_ENTERED);
	assert_int_equal(holdq_sweep(f->q, START + 10 * SECOND - 1, 16), 0);
	assert_non_null(holdq_next(f->q, START + 10 * SECOND - 1, HOLDQ_PICK_WINDOW));
	/* a copy late in it is judged by its own gap again */
	assert_int_equal(help_send(f->q, (struct help_syn){.id = 6, .source = 6}, START + 9 * SECOND), HOLDQ_REFRESHED);
	assert_int_equal(holdq_sweep(f->q, START + 10 * SECOND, 16), 1);
	assert_null(help_find(f->q, 5));
	assert_non_null(help_find(f->q, 6));
	assert_int_equal(f->callbacks[SYNHOLD_DISCARD_GONE], 1);
}

static void test_client_that_left_goes(void **state)
{
	struct fixture *f = *state;
	unsigned int i, n;

	for (i = 0; i < sizeof(schedules) / sizeof(schedules[0]); i++) {
		for (n = 1; n < schedules[i].n - 1; n++) {
			uint64_t last = START + schedules[i].at_ms[n - 1] * MS;
			uint64_t next = START + schedules[i].at_ms[n] * MS;
			uint64_t gone = play(f, &schedules[i], n, START + 200 * SECOND);

			/*
			 * Not before its next copy was due, and at most twice the longest gap (and slack)
			 * later.
			 */
			assert_true(gone > next);
			assert_true(gone <= last + (next - last) * 9 / 4 + 520 * MS);
			assert_null(help_find(f->q, 5));
		}
	}
	assert_int_equal(f->callbacks[SYNHOLD_DISCARD_GONE], 9 + 5 + 9);
	assert_int_equal(holdq_gone_ages(f->q)[0], 3);
	assert_int_equal(holdq_gone_ages(f->q)[7], 3);
	assert_int_equal(holdq_gone_ages(f->q)[31], 0); /* no schedule was cut there */
	assert_int_equal(holdq_gone_ages(f->q)[15], 1);
}

static void test_next_skips_the_gone(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {.id = 1, .source = 1};

	help_send(f->q, s, START);
	s.id = 2;
	help_send(f->q, s, START + 500 * MS);
	assert_int_equal(release_next(f, START + 1700 * MS), 2);
	assert_int_equal(f->callbacks[SYNHOLD_DISCARD_GONE], 1);
	assert_int_equal(f->last_id, 1);
	assert_int_equal(f->last_ns, START + 1700 * MS);
	assert_null(holdq_next(f->q, START + 1700 * MS, HOLDQ_PICK_WINDOW));
}

static void test_hold_time(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {.id = 1, .source = 1};

	help_send(f->q, s, START);
	help_send(f->q, s, START + SECOND);
	assert_int_equal(holdq_next_deadline(f->q), START + 3750 * MS);
	f->cfg.hold_time_ns = 2 * SECOND;
	configure(f);
	assert_int_equal(holdq_next_deadline(f->q), START + 2 * SECOND);
	assert_int_equal(holdq_sweep(f->q, START + 2 * SECOND - 1, 8), 0);
	assert_int_equal(holdq_sweep(f->q, START + 2 * SECOND, 8), 1);
	assert_int_equal(f->callbacks[SYNHOLD_DISCARD_HOLD_TIME], 1);
	assert_int_equal(holdq_next_deadline(f->q), UINT64_MAX);
}

static void test_oldest_first_while_waits_are_short(void **state)
{
	struct fixture *f = *state;
	uint32_t i;

	fill(f, 0, 100, START, MS, 1);
	for (i = 0; i < 100; i++)
		assert_int_equal(release_next(f, START + 1999 * MS), i);
}

static void test_newest_share_beyond(void **state)
{
	struct fixture *f = *state;
	uint64_t now = START + 4 * SECOND;
	uint32_t low = 0, high = 3000, newest = 0, since_oldest = 0, i, id;

	f->cfg.source_max = 3000;
	configure(f);
	fill(f, 0, 3000, START, 100000, 1);
	for (i = 0; i < 1000; i++) {
		id = release_next(f, now);
		if (id == low) {
			low++;
			since_oldest = 0;
			continue;
		}
		assert_int_equal(id, --high);
		newest++;
		/* The starvation bound: the head of the line moves with every 7th release at the latest. */
		assert_true(++since_oldest < 7);
	}
	assert_int_equal(newest, 850);
}

static void test_shares_of_the_order_law(void **state)
{
	static const uint8_t percent[] = {0, 1, 50, 99, 100};
	struct fixture *f = *state;
	unsigned int i, k, newest;

	for (i = 0; i < sizeof(percent); i++) {
		uint32_t low = 0;

		f->cfg.newest_percent = percent[i];
		configure(f);
		fill(f, 0, 400, START, MS, 1);
		for (k = 0, newest = 0; k < 200; k++) {
			if (release_next(f, START + 3 * SECOND) == low)
				low++;
			else
				newest++;
		}
		assert_int_equal(newest, 2 * percent[i]);
		holdq_flush(f->q, SYNHOLD_DISCARD_DETACHED, START);
	}
}

static void test_order_newest(void **state)
{
	struct fixture *f = *state;
	uint32_t i;

	f->cfg.order = HOLDQ_NEWEST;
	configure(f);
	fill(f, 0, 50, START, MS, 1);
	for (i = 50; i-- > 0;)
		assert_int_equal(release_next(f, START + 100 * MS), i);
}

static void test_refusal_repeats_the_choice(void **state)
{
	struct fixture *f = *state;
	uint64_t now = START + 3 * SECOND;
	struct holdq_entry *e;
	uint32_t first, i;

	fill(f, 0, 100, START, MS, 1);
	first = help_id(holdq_next(f->q, now, HOLDQ_PICK_WINDOW));
	for (i = 0; i < 50; i++)
		assert_int_equal(help_id(holdq_next(f->q, now, HOLDQ_PICK_WINDOW)), first);
	/* What cannot be injected does not use up the turn either. */
	e = holdq_next(f->q, now, HOLDQ_PICK_WINDOW);
	holdq_discard(f->q, e, SYNHOLD_DISCARD_INJECT_FAILED, now);
	assert_int_equal(f->callbacks[SYNHOLD_DISCARD_INJECT_FAILED], 1);
	assert_int_equal(release_next(f, now), first + 1);
}

static void test_wait_is_reported(void **state)
{
	struct fixture *f = *state;

	fill(f, 0, 1, START, 0, 1);
	assert_int_equal(holdq_release(f->q, help_find(f->q, 0), START + 1234 * MS), 1234 * MS);
	assert_int_equal(holdq_counters(f->q)->released, 1);
}

static void test_source_cap(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {.source = 1};

	f->cfg.source_max = 3;
	configure(f);
	for (s.id = 0; s.id < 3; s.id++)
		assert_int_equal(help_send(f->q, s, START), HOLDQ_ENTERED);
	assert_int_equal(help_send(f->q, s, START), HOLDQ_SOURCE_CAP);
	assert_int_equal(holdq_counters(f->q)->discarded[SYNHOLD_DISCARD_SOURCE_CAP], 1);
	help_check_invariant(f->q);
	/* Others are not concerned, nor are retransmissions. */
	assert_int_equal(help_send(f->q, (struct help_syn){.id = 9, .source = 2}, START), HOLDQ_ENTERED);
	assert_int_equal(help_send(f->q, (struct help_syn){.id = 2, .source = 1}, START + MS), HOLDQ_REFRESHED);
	/* A client that left holds no place against its neighbours. */
	assert_int_equal(help_send(f->q, s, START + 1626 * MS), HOLDQ_ENTERED);
	assert_null(help_find(f->q, 0));
	/* Default: a sixteenth of the queue. */
	f->cfg.source_max = 0;
	f->cfg.max = 64;
	configure(f);
	s.id = 20;
	assert_int_equal(help_send(f->q, s, START), HOLDQ_ENTERED);
	s.id = 21;
	assert_int_equal(help_send(f->q, s, START), HOLDQ_SOURCE_CAP);
}

static void test_full(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {0};

	f->cfg.max = 10;
	f->cfg.source_max = 10;
	configure(f);
	for (s.id = 0; s.id < 10; s.id++)
		assert_int_equal(help_send(f->q, s, START + s.id * 10 * MS), HOLDQ_ENTERED);
	assert_true(holdq_full(f->q));
	s.source = 2;
	assert_int_equal(help_send(f->q, s, START + 200 * MS), HOLDQ_FULL);
	assert_int_equal(holdq_counters(f->q)->refused_full, 1);
	assert_int_equal(help_send(f->q, s, START + 1630 * MS), HOLDQ_ENTERED);
	assert_int_equal(f->callbacks[SYNHOLD_DISCARD_EVICTED], 1);
	assert_int_equal(f->last_id, 0);
}

static void test_memory_bound_and_give_back(void **state)
{
	struct fixture *f = *state;
	struct holdq *other = holdq_new(f->mem, &f->cfg, help_seed, NULL, NULL);
	struct help_syn s = {0};
	uint64_t full;
	uint32_t n;

	assert_non_null(other);
	holdq_memory_set_limit(f->mem, 2 << 20);
	for (s.id = 0; s.id < 65536; s.id++) {
		s.source = s.id;
		if (help_send(s.id & 1 ? f->q : other, s, START) != HOLDQ_ENTERED)
			break;
		assert_true(holdq_memory_used(f->mem) <= 2 << 20);
	}
	assert_int_equal(help_send(f->q, s, START), HOLDQ_FULL);
	assert_true(holdq_full(f->q));
	n = holdq_counters(f->q)->held + holdq_counters(other)->held;
	full = holdq_memory_used(f->mem);
	assert_in_range(n, 2000, 6000);
	/* 65,536 entries, each of a source of its own, fit in the default budget. */
	assert_true(full / n * 65536 < HOLDQ_MEMORY_DEFAULT_BYTES);
	/* In a full budget, too, a client that left makes room. */
	assert_int_equal(help_send(f->q, s, START + 1700 * MS), HOLDQ_ENTERED);
	assert_int_equal(f->callbacks[SYNHOLD_DISCARD_EVICTED], 1);

	while (holdq_sweep(f->q, START + 5 * SECOND, 64) == 64)
		;
	assert_int_equal(holdq_counters(f->q)->held, 0);
	assert_true(holdq_memory_used(f->mem) < full);
	while (holdq_sweep(other, START + 5 * SECOND, 64) == 64)
		;
	assert_int_equal(holdq_memory_used(f->mem), 0);
	holdq_free(other);
}

static void test_default_budget_holds_a_full_queue(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {0};

	for (s.id = 0; s.id < 65536; s.id++) {
		s.source = s.id;
		assert_int_equal(help_send(f->q, s, START), HOLDQ_ENTERED);
	}
	assert_int_equal(help_send(f->q, s, START), HOLDQ_FULL);
	print_message("memory of 65,536 entries of as many sources: %.1f MiB\n",
		      (double)holdq_memory_used(f->mem) / (1 << 20));
	assert_int_equal(holdq_flush(f->q, SYNHOLD_DISCARD_DETACHED, START), 65536);
	assert_int_equal(f->callbacks[SYNHOLD_DISCARD_DETACHED], 65536);
	assert_int_equal(holdq_memory_used(f->mem), 0);
}

static void test_weights(void **state)
{
	struct fixture *f = *state;
	uint64_t now = START + 1500 * MS;
	unsigned int preferred = 0, i;

	fill(f, 0, 1000, START, 0, 1);
	fill(f, 1000, 1000, START + MS, 0, 4);
	for (i = 0; i < 500; i++)
		preferred += release_next(f, now) >= 1000;
	assert_in_range(preferred, 399, 401);
	/* With nobody preferred left, the rest gets everything. */
	for (; preferred < 1000; i++)
		preferred += release_next(f, now) >= 1000;
	assert_in_range(i, 1248, 1252);
	for (; i < 2000; i++)
		assert_true(release_next(f, now) < 1000);
}

static void test_idle_weight_class_saves_nothing_up(void **state)
{
	struct fixture *f = *state;
	uint64_t now = START + 1500 * MS;
	unsigned int normal = 0, i;

	/*
	 * 900 releases of the heavy class alone, then a normal one comes in: it must not be owed 900 turns.
	 */
	fill(f, 10000, 2000, START, 0, 200);
	for (i = 0; i < 900; i++)
		assert_true(release_next(f, now) >= 10000);
	fill(f, 0, 900, START, 0, 1);
	for (i = 0; i < 645; i++)
		normal += release_next(f, now) < 10000;
	assert_in_range(normal, 5, 6); /* 1 in 129 */
}

static void test_weight_follows_the_retransmission(void **state)
{
	struct fixture *f = *state;
	struct help_syn s;

	fill(f, 0, 10, START, MS, 1);
	s = (struct help_syn){.id = 7, .source = 7, .weight = 128};
	assert_int_equal(help_send(f->q, s, START + 2500 * MS), HOLDQ_REFRESHED);
	assert_int_equal(help_find(f->q, 7)->weight, 128);
	f->cfg.oldest_until_ns = 10 * SECOND;
	configure(f);
	assert_int_equal(release_next(f, START + 2500 * MS), 7);
}

static void test_defer(void **state)
{
	struct fixture *f = *state;
	struct holdq_entry *e;
	struct help_syn s = {.wait = HOLDQ_WAIT_SOURCE};

	/* Three of source 1, two of source 2, arriving alternately. */
	for (s.id = 0; s.id < 5; s.id++) {
		s.source = 1 + s.id % 2;
		help_send(f->q, s, START + s.id * MS);
	}
	assert_int_equal(holdq_held(f->q, HOLDQ_WAIT_SOURCE), 5);
	assert_null(holdq_next(f->q, START + 10 * MS, HOLDQ_PICK_WINDOW));

	e = holdq_next(f->q, START + 10 * MS, HOLDQ_PICK_SOURCE);
	assert_int_equal(help_id(e), 0);
	holdq_defer(f->q, e, START + 10 * MS, START + 500 * MS);
	e = holdq_next(f->q, START + 10 * MS, HOLDQ_PICK_SOURCE);
	assert_int_equal(help_id(e), 1);
	holdq_defer(f->q, e, START + 10 * MS, START + 400 * MS);
	assert_null(holdq_next(f->q, START + 399 * MS, HOLDQ_PICK_SOURCE));
	assert_int_equal(holdq_next_source_ns(f->q), START + 400 * MS);

	e = holdq_next(f->q, START + 600 * MS, HOLDQ_PICK_SOURCE);
	assert_int_equal(help_id(e), 1);
	holdq_release(f->q, e, START + 600 * MS);
	/* Source 1 has been due since 500 ms, source 2 has just had its turn. */
	e = holdq_next(f->q, START + 600 * MS, HOLDQ_PICK_SOURCE);
	assert_int_equal(help_id(e), 0);
	holdq_release(f->q, e, START + 601 * MS);
	assert_int_equal(help_id(holdq_next(f->q, START + 601 * MS, HOLDQ_PICK_SOURCE)), 3);
}

static void test_defer_takes_out_of_the_main_queue(void **state)
{
	struct fixture *f = *state;
	struct holdq_entry *e;

	fill(f, 0, 2, START, MS, 1);
	e = holdq_next(f->q, START + MS, HOLDQ_PICK_WINDOW);
	assert_int_equal(help_id(e), 0);
	holdq_defer(f->q, e, START + MS, 0);
	assert_int_equal(e->wait, HOLDQ_WAIT_SOURCE);
	assert_int_equal(holdq_next_source_ns(f->q), START + 2 * MS);
	assert_int_equal(help_id(holdq_next(f->q, START + MS, HOLDQ_PICK_WINDOW | HOLDQ_PICK_SOURCE)), 1);
	assert_int_equal(holdq_held(f->q, HOLDQ_WAIT_WINDOW), 1);
}

static void test_source_class_and_main_queue_share(void **state)
{
	struct fixture *f = *state;
	uint64_t now = START + 1500 * MS;
	struct holdq_entry *e;
	unsigned int from_source = 0, i;
	struct help_syn s = {.wait = HOLDQ_WAIT_SOURCE};

	fill(f, 0, 900, START, 0, 1);
	for (s.id = 1000; s.id < 1100; s.id++) {
		s.source = s.id;
		help_send(f->q, s, START);
		help_send(f->q, s, START + SECOND);
	}
	for (i = 0; i < 500; i++) {
		e = holdq_next(f->q, now, HOLDQ_PICK_WINDOW | HOLDQ_PICK_SOURCE);
		from_source += e->wait == HOLDQ_WAIT_SOURCE;
		holdq_release(f->q, e, now);
	}
	assert_in_range(from_source, 49, 51);
}

static void test_share(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {.wait = HOLDQ_WAIT_SHARE};

	for (s.id = 0; s.id < 16; s.id++) {
		s.source = s.id;
		s.share_hash = (s.id * 7 % 16) << 28;
		help_send(f->q, s, START + s.id * MS);
	}
	assert_null(holdq_next(f->q, START + 20 * MS, HOLDQ_PICK_WINDOW | HOLDQ_PICK_SOURCE));
	assert_int_equal(holdq_open_share(f->q, 0, 100), 0);
	assert_int_equal(holdq_open_share(f->q, 4ULL << 28, 100), 4);
	assert_int_equal(holdq_held(f->q, HOLDQ_WAIT_WINDOW), 4);
	assert_int_equal(holdq_oldest_ns(f->q), START);
	/* By age, not by hash: hashes 0, 3, 2, 1 belong to 0, 5, 14, 7. */
	assert_int_equal(release_next(f, START + 20 * MS), 0);
	assert_int_equal(release_next(f, START + 20 * MS), 5);
	assert_int_equal(release_next(f, START + 20 * MS), 7);
	assert_int_equal(release_next(f, START + 20 * MS), 14);
	assert_int_equal(holdq_open_share(f->q, 1ULL << 32, 5), 5);
	assert_int_equal(holdq_open_share(f->q, 1ULL << 32, 100), 7);
	assert_int_equal(holdq_held(f->q, HOLDQ_WAIT_SHARE), 0);
}

static void test_reclass_closed(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {.wait = HOLDQ_WAIT_CLOSED};

	for (s.id = 0; s.id < 10; s.id++)
		help_send(f->q, s, START + s.id * MS);
	/* Younger ones are in the main queue already: the closed ones go in front of them. */
	fill(f, 100, 2, START + 20 * MS, MS, 1);
	assert_int_equal(holdq_reclass(f->q, HOLDQ_WAIT_CLOSED, HOLDQ_WAIT_WINDOW, 4), 4);
	assert_int_equal(holdq_held(f->q, HOLDQ_WAIT_CLOSED), 6);
	assert_int_equal(holdq_reclass(f->q, HOLDQ_WAIT_CLOSED, HOLDQ_WAIT_WINDOW, 100), 6);
	for (s.id = 0; s.id < 10; s.id++)
		assert_int_equal(release_next(f, START + 30 * MS), s.id);
	assert_int_equal(release_next(f, START + 30 * MS), 100);
	/* And back. */
	assert_int_equal(holdq_reclass(f->q, HOLDQ_WAIT_WINDOW, HOLDQ_WAIT_CLOSED, 100), 1);
	assert_null(holdq_next(f->q, START + 30 * MS, HOLDQ_PICK_WINDOW));
}

static void test_sweep_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {0};

	for (s.id = 0; s.id < 1000; s.id++)
		help_send(f->q, s, START + s.id * MS);
	assert_int_equal(holdq_next_deadline(f->q), START + 1625 * MS);
	assert_int_equal(holdq_sweep(f->q, START + 1625 * MS - 1, 100), 0);
	assert_int_equal(holdq_sweep(f->q, START + 2125 * MS, 100), 100);
	assert_null(help_find(f->q, 99));
	assert_non_null(help_find(f->q, 100));
	assert_int_equal(holdq_sweep(f->q, START + 2125 * MS, 10000), 401);
}

static int count_source(void *ctx, const struct holdq_source_info *info)
{
	struct holdq_source_info *seen = ctx;

	seen[info->source] = *info;
	return info->source == 99;
}

static int count_entry(void *ctx, const struct holdq_entry *e)
{
	uint32_t *expected = ctx;

	assert_int_equal(help_id(e), *expected);
	*expected += 3;
	return 0;
}

static void test_listing(void **state)
{
	struct fixture *f = *state;
	struct holdq_source_info seen[3] = {0};
	struct help_syn s = {0};
	uint32_t expected = 1;

	for (s.id = 0; s.id < 30; s.id++) {
		s.source = s.id % 3;
		help_send(f->q, s, START + s.id * MS);
	}
	help_send(f->q, (struct help_syn){.id = 4, .source = 1}, START + 100 * MS);
	holdq_release(f->q, help_find(f->q, 0), START + 100 * MS);
	assert_int_equal(holdq_counters(f->q)->sources, 3);
	assert_int_equal(holdq_each_source(f->q, count_source, seen), 0);
	assert_int_equal(seen[0].count, 9);
	assert_int_equal(seen[0].attempts, 9);
	assert_int_equal(seen[0].oldest_ns, START + 3 * MS);
	assert_int_equal(seen[1].count, 10);
	assert_int_equal(seen[1].attempts, 11);
	assert_int_equal(help_id(seen[1].oldest), 1);
	assert_int_equal(holdq_each_entry(f->q, 1, count_entry, &expected), 0);
	assert_int_equal(expected, 31);
	assert_int_equal(holdq_each_entry(f->q, 77, count_entry, &expected), 0);
}

/*
 * Half of the clients behind ten addresses, one slot at a time: nobody may wait longer for being behind a
 * NAT.
 */
static void test_nat_neutral(void **state)
{
	struct fixture *f = *state;
	uint64_t waits[2] = {0}, now = START + SECOND;
	struct help_syn s = {0};
	struct holdq_entry *e;
	unsigned int nat;

	for (s.id = 0; s.id < 4000; s.id++) {
		s.source = s.id & 1 ? s.id : s.id / 2 % 10 * 2;
		help_send(f->q, s, START + s.id * 100000);
		help_send(f->q, s, START + s.id * 100000 + 6 * SECOND);
	}
	while ((e = holdq_next(f->q, now, HOLDQ_PICK_WINDOW))) {
		nat = !(help_id(e) & 1);
		waits[nat] += holdq_release(f->q, e, now) / MS;
		now += 2 * MS;
	}
	assert_int_equal(holdq_counters(f->q)->released, 4000);
	assert_in_range(waits[1] * 100 / waits[0], 98, 102);
}

/*
 * A storm of 60,000, all retransmitting, one released for each that comes: bounded time, nothing quadratic.
 */
static void test_a_million_operations(void **state)
{
	struct fixture *f = *state;
	struct help_syn s = {0};
	struct timespec before, after;
	struct holdq_entry *e;
	uint64_t now = START;
	double ns;
	uint32_t i;

	clock_gettime(CLOCK_MONOTONIC, &before);
	for (i = 0; i < 1000000; i++) {
		now += 10000;
		s.id = i < 60000 ? i : (i / 8) * 13 % 60000 + (i % 16 == 0) * i;
		s.source = s.id % 20000;
		s.wait = s.id % 4 ? HOLDQ_WAIT_WINDOW : HOLDQ_WAIT_SOURCE;
		help_send(f->q, s, now);
		if (i % 4 == 0 && i > 60000) {
			e = holdq_next(f->q, now, HOLDQ_PICK_WINDOW | HOLDQ_PICK_SOURCE);
			if (e && i % 8)
				holdq_defer(f->q, e, now, now + SECOND);
			else if (e)
				holdq_release(f->q, e, now);
			holdq_sweep(f->q, now, 4);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	ns = (after.tv_sec - before.tv_sec) * 1e9 + (after.tv_nsec - before.tv_nsec);
	print_message("%.0f ns an operation, %u held at the end\n", ns / i, holdq_counters(f->q)->held);
	assert_true(ns / i < 50000);
	assert_true(holdq_counters(f->q)->released > 10000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_dedup_and_refresh),
		TEST(test_older_copy_changes_nothing),
		TEST(test_new_attempt_on_the_same_ports),
		TEST(test_a_proved_one_has_come_before),
		TEST(test_nonsense_is_refused),
		TEST(test_live_client_stays),
		TEST(test_late_client_stays),
		TEST(test_grace),
		TEST(test_client_that_left_goes),
		TEST(test_next_skips_the_gone),
		TEST(test_hold_time),
		TEST(test_oldest_first_while_waits_are_short),
		TEST(test_newest_share_beyond),
		TEST(test_shares_of_the_order_law),
		TEST(test_order_newest),
		TEST(test_refusal_repeats_the_choice),
		TEST(test_wait_is_reported),
		TEST(test_source_cap),
		TEST(test_full),
		TEST(test_memory_bound_and_give_back),
		TEST(test_default_budget_holds_a_full_queue),
		TEST(test_weights),
		TEST(test_idle_weight_class_saves_nothing_up),
		TEST(test_weight_follows_the_retransmission),
		TEST(test_defer),
		TEST(test_defer_takes_out_of_the_main_queue),
		TEST(test_source_class_and_main_queue_share),
		TEST(test_share),
		TEST(test_reclass_closed),
		TEST(test_sweep_is_bounded),
		TEST(test_listing),
		TEST(test_nat_neutral),
		TEST(test_a_million_operations),
	};

	return cmocka_run_group_tests_name("holdq", tests, NULL, NULL);
}
