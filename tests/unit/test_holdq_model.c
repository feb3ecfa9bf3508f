// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hold queue against a model of it: an array that is searched from end to end for everything. Random
 * operations; after each, result, choice, discards and counters must agree. Usage: test_holdq_model [SEED]
 */
#include <stdio.h>
#include <stdlib.h>

#include "holdq_help.h"

#define OPS 400000
#define MAX 300
#define IDS 2000
#define SOURCES 24
#define NONE UINT32_MAX

struct model_entry {
	uint32_t id;
	uint64_t source;
	uint32_t share_hash;
	uint16_t weight;
	uint8_t wait;
	uint32_t seq;
	uint32_t attempts;
	uint64_t order; /* of entering */
	uint64_t first_ns, last_ns, gap_ns;
};

struct model_source {
	uint32_t count;
	uint32_t waiting;
	uint64_t not_before_ns;
	uint64_t order;
};

struct model {
	struct holdq_config cfg;
	struct model_entry e[MAX];
	uint32_t n;
	struct model_source source[SOURCES];
	uint64_t order;
	uint64_t pass[HOLDQ_WEIGHT_CLASSES], served_pass;
	int newest_sum[HOLDQ_WEIGHT_CLASSES];
	int64_t source_sum;
	uint32_t picked; /* id, or NONE */
	bool beyond, newest, contended;
	uint64_t entered, released, discarded[SYNHOLD_DISCARD_COUNT];
	uint64_t left; /* sum over the discarded of a mix of id and reason */
};

static struct model m;
static uint64_t queue_left;
static uint64_t rng;

static uint32_t rnd(uint32_t below)
{
	rng = rng * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((rng >> 33) % below);
}

static uint64_t left_mark(uint32_t id, unsigned int reason)
{
	return ((uint64_t)id * 2654435761u + 1) * (reason * 2 + 3);
}

static void on_discard(void *ctx, const struct holdq_entry *e, unsigned int reason, uint64_t now_ns)
{
	(void)ctx;
	(void)now_ns;
	queue_left += left_mark(help_id(e), reason);
}

static struct model_entry *model_find(uint32_t id)
{
	uint32_t i;

	for (i = 0; i < m.n; i++) {
		if (m.e[i].id == id)
			return &m.e[i];
	}
	return NULL;
}

static uint64_t model_overdue(const struct model_entry *e)
{
	uint64_t wait = 2 * e->gap_ns;

	if (wait < SECOND)
		wait = SECOND;
	if (wait > 120 * SECOND)
		wait = 120 * SECOND;
	return e->last_ns + wait + wait / 8 + 500 * MS;
}

static uint64_t model_due(const struct model_entry *e)
{
	uint64_t due = model_overdue(e), limit = e->first_ns + m.cfg.hold_time_ns;

	return m.cfg.hold_time_ns && limit < due ? limit : due;
}

static unsigned int model_lane(uint16_t weight)
{
	unsigned int lane = 0;

	for (; weight > 1 && lane < HOLDQ_WEIGHT_CLASSES - 1; weight /= 2)
		lane++;
	return lane;
}

static uint32_t model_count(uint8_t wait)
{
	uint32_t i, count = 0;

	for (i = 0; i < m.n; i++)
		count += m.e[i].wait == wait;
	return count;
}

static uint32_t model_lane_count(unsigned int lane)
{
	uint32_t i, count = 0;

	for (i = 0; i < m.n; i++)
		count += m.e[i].wait == HOLDQ_WAIT_WINDOW && model_lane(m.e[i].weight) == lane;
	return count;
}

/* Before an entry joins a lane; its own wait must not be WINDOW yet. */
static void model_join(uint8_t wait, uint16_t weight)
{
	unsigned int lane = model_lane(weight);

	if (wait == HOLDQ_WAIT_WINDOW && !model_lane_count(lane) && m.pass[lane] < m.served_pass)
		m.pass[lane] = m.served_pass;
}

static void model_set_class(struct model_entry *e, uint8_t wait, uint16_t weight)
{
	if (m.picked == e->id)
		m.picked = NONE;
	if (e->wait == HOLDQ_WAIT_SOURCE)
		m.source[e->source].waiting--;
	e->wait = HOLDQ_WAIT_COUNT;
	model_join(wait, weight);
	e->wait = wait;
	e->weight = weight;
	if (wait == HOLDQ_WAIT_SOURCE)
		m.source[e->source].waiting++;
}

static void model_remove(struct model_entry *e)
{
	struct model_source *s = &m.source[e->source];

	if (m.picked == e->id)
		m.picked = NONE;
	s->waiting -= e->wait == HOLDQ_WAIT_SOURCE;
	if (!--s->count)
		memset(s, 0, sizeof(*s));
	*e = m.e[--m.n];
}

static void model_discard(struct model_entry *e, unsigned int reason)
{
	m.discarded[reason]++;
	m.left += left_mark(e->id, reason);
	model_remove(e);
}

static void model_expire(struct model_entry *e, uint64_t now)
{
	model_discard(e, model_overdue(e) <= now ? SYNHOLD_DISCARD_GONE : SYNHOLD_DISCARD_HOLD_TIME);
}

/* The entry with the least (key, order) among those that `in` takes; largest when last is set. */
static struct model_entry *model_best(bool (*in)(const struct model_entry *, uint64_t), uint64_t arg,
				      uint64_t (*key)(const struct model_entry *), bool last)
{
	struct model_entry *best = NULL, *e;

	for (e = m.e; e < m.e + m.n; e++) {
		bool less;

		if (!in(e, arg))
			continue;
		less = best && (key(e) != key(best) ? key(e) < key(best) : e->order < best->order);
		if (!best || less != last)
			best = e;
	}
	return best;
}

static uint64_t key_age(const struct model_entry *e)
{
	return e->first_ns;
}

static uint64_t key_share(const struct model_entry *e)
{
	return e->share_hash;
}

static bool in_all(const struct model_entry *e, uint64_t arg)
{
	(void)e;
	(void)arg;
	return true;
}

static bool in_lane(const struct model_entry *e, uint64_t lane)
{
	return e->wait == HOLDQ_WAIT_WINDOW && model_lane(e->weight) == lane;
}

static bool in_source(const struct model_entry *e, uint64_t source)
{
	return e->wait == HOLDQ_WAIT_SOURCE && e->source == source;
}

static bool in_class(const struct model_entry *e, uint64_t wait)
{
	return e->wait == wait;
}

static struct model_entry *model_live(unsigned int lane, uint64_t now, bool last)
{
	struct model_entry *e;

	while ((e = model_best(in_lane, lane, key_age, last)) && model_due(e) <= now)
		model_expire(e, now);
	return e;
}

static struct model_entry *model_pick_main(uint64_t now)
{
	struct model_entry *e;
	int lane, best;

	for (;;) {
		for (best = -1, lane = HOLDQ_WEIGHT_CLASSES - 1; lane >= 0; lane--) {
			if (model_lane_count(lane) && (best < 0 || m.pass[lane] < m.pass[best]))
				best = lane;
		}
		if (best < 0)
			return NULL;
		if (m.cfg.order == HOLDQ_NEWEST) {
			e = model_live(best, now, true);
			if (e)
				return e;
			continue;
		}
		e = model_live(best, now, false);
		if (!e)
			continue;
		if (now - e->first_ns < m.cfg.oldest_until_ns)
			return e;
		m.beyond = true;
		m.newest = m.newest_sum[best] + m.cfg.newest_percent >= 100;
		return m.newest ? model_live(best, now, true) : e;
	}
}

static struct model_entry *model_pick_source(uint64_t now)
{
	struct model_entry *e;
	int i, best;

	for (;;) {
		for (i = 0, best = -1; i < SOURCES; i++) {
			struct model_source *s = &m.source[i], *b = &m.source[best < 0 ? 0 : best];

			if (s->waiting && s->not_before_ns <= now &&
			    (best < 0 || s->not_before_ns < b->not_before_ns ||
			     (s->not_before_ns == b->not_before_ns && s->order < b->order)))
				best = i;
		}
		if (best < 0)
			return NULL;
		e = model_best(in_source, best, key_age, false);
		if (model_due(e) > now)
			return e;
		model_expire(e, now);
	}
}

static int64_t model_source_part(void)
{
	uint64_t source = model_count(HOLDQ_WAIT_SOURCE), all = source + model_count(HOLDQ_WAIT_WINDOW);

	return all ? (int64_t)((source << 32) / all) : 0;
}

static struct model_entry *model_next(uint64_t now, unsigned int classes)
{
	struct model_entry *e = NULL;
	bool source_first;

	m.beyond = m.newest = false;
	m.picked = NONE;
	m.contended = classes == (HOLDQ_PICK_WINDOW | HOLDQ_PICK_SOURCE);
	source_first = !m.contended || m.source_sum + model_source_part() >= 1LL << 32;
	if (source_first && (classes & HOLDQ_PICK_SOURCE))
		e = model_pick_source(now);
	if (!e && (classes & HOLDQ_PICK_WINDOW))
		e = model_pick_main(now);
	if (!e && m.contended && !source_first)
		e = model_pick_source(now);
	m.picked = e ? e->id : NONE;
	return e;
}

static void model_release(struct model_entry *e, uint64_t now)
{
	unsigned int lane = model_lane(e->weight);

	if (m.picked == e->id) {
		if (m.contended) {
			m.source_sum += model_source_part() - (e->wait == HOLDQ_WAIT_SOURCE ? 1LL << 32 : 0);
			m.source_sum = m.source_sum > 1LL << 32 ? 1LL << 32 : m.source_sum;
			m.source_sum = m.source_sum < -(1LL << 32) ? -(1LL << 32) : m.source_sum;
		}
		if (e->wait == HOLDQ_WAIT_WINDOW) {
			m.served_pass = m.pass[lane];
			m.pass[lane] += (1 << 20) >> lane;
			if (m.beyond)
				m.newest_sum[lane] += m.cfg.newest_percent - (m.newest ? 100 : 0);
		}
	}
	if (e->wait == HOLDQ_WAIT_SOURCE && m.source[e->source].not_before_ns < now)
		m.source[e->source].not_before_ns = now;
	m.released++;
	model_remove(e);
}

static struct model_entry *model_earliest_due(uint64_t now)
{
	struct model_entry *best = NULL, *e;

	for (e = m.e; e < m.e + m.n; e++) {
		if (model_due(e) <= now && (!best || model_due(e) < model_due(best) ||
					    (model_due(e) == model_due(best) && e->order < best->order)))
			best = e;
	}
	return best;
}

static int model_offer(const struct help_syn *s, uint64_t now)
{
	struct model_entry *e = model_find(s->id);
	struct model_source *source = &m.source[s->source];
	uint16_t weight = s->weight ? s->weight : 1;

	if (e) {
		e->attempts++;
		if (e->seq != s->seq)
			e->gap_ns = 0;
		else if (now - e->last_ns > e->gap_ns)
			e->gap_ns = now - e->last_ns;
		e->seq = s->seq;
		e->last_ns = now;
		if (e->wait != s->wait || e->weight != weight || e->share_hash != s->share_hash) {
			e->share_hash = s->share_hash;
			model_set_class(e, s->wait, weight);
		}
		return HOLDQ_REFRESHED;
	}
	while (source->count >= m.cfg.source_max) {
		struct model_entry *head = NULL;

		for (e = m.e; e < m.e + m.n; e++) {
			if (e->source == s->source && (!head || e->order < head->order))
				head = e;
		}
		if (model_due(head) > now) {
			m.entered++;
			m.discarded[SYNHOLD_DISCARD_SOURCE_CAP]++;
			return HOLDQ_SOURCE_CAP;
		}
		model_expire(head, now);
	}
	while (m.n >= m.cfg.max) {
		e = model_earliest_due(now);
		if (!e)
			return HOLDQ_FULL;
		model_discard(e, SYNHOLD_DISCARD_EVICTED);
	}
	if (!source->count)
		source->order = m.order++;
	source->count++;
	e = &m.e[m.n++];
	*e = (struct model_entry){
		.id = s->id,
		.source = s->source,
		.share_hash = s->share_hash,
		.attempts = 1,
		.wait = HOLDQ_WAIT_COUNT,
		.seq = s->seq,
		.order = m.order++,
		.first_ns = now,
		.last_ns = now,
	};
	model_set_class(e, s->wait, weight);
	m.entered++;
	return HOLDQ_ENTERED;
}

static uint32_t model_sweep(uint64_t now, uint32_t budget)
{
	struct model_entry *e;
	uint32_t n = 0;

	for (; n < budget && (e = model_earliest_due(now)); n++)
		model_expire(e, now);
	return n;
}

static uint32_t model_open_share(uint64_t threshold, uint32_t budget)
{
	struct model_entry *e;
	uint32_t n = 0;

	for (; n < budget && (e = model_best(in_class, HOLDQ_WAIT_SHARE, key_share, false)); n++) {
		if (e->share_hash >= threshold)
			break;
		model_set_class(e, HOLDQ_WAIT_WINDOW, e->weight);
	}
	return n;
}

static uint32_t model_open_closed(uint32_t budget)
{
	struct model_entry *e;
	uint32_t n = 0;

	for (; n < budget && (e = model_best(in_class, HOLDQ_WAIT_CLOSED, key_age, false)); n++)
		model_set_class(e, HOLDQ_WAIT_WINDOW, e->weight);
	return n;
}

static uint8_t random_wait(void)
{
	static const uint8_t waits[] = {
		HOLDQ_WAIT_WINDOW, HOLDQ_WAIT_WINDOW, HOLDQ_WAIT_WINDOW, HOLDQ_WAIT_SOURCE,
		HOLDQ_WAIT_SOURCE, HOLDQ_WAIT_SHARE,  HOLDQ_WAIT_CLOSED,
	};

	return waits[rnd(sizeof(waits))];
}

static struct help_syn random_syn(void)
{
	static const uint16_t weights[] = {0, 1, 1, 1, 1, 1, 2, 7, 128, 65535};
	struct help_syn s;

	/* The youngest ids retransmit most, as in life. */
	s.id = rnd(3) ? rnd(IDS) : rnd(MAX);
	s.source = s.id * 31 % SOURCES * (s.id % 5 != 0);
	s.wait = s.id % 7 ? (uint8_t)(s.id % 4) : random_wait();
	s.weight = weights[rnd(20) ? s.id % 10 : rnd(10)];
	s.share_hash = s.id * 2654435761u;
	s.seq = rnd(50) ? s.id : rnd(1000);
	s.tsval = 0;
	return s;
}

static void compare(const struct holdq *q)
{
	const struct holdq_counters *c = holdq_counters(q);
	unsigned int i;

	assert_int_equal(c->held, m.n);
	assert_int_equal(c->entered, m.entered);
	assert_int_equal(c->released, m.released);
	for (i = 0; i < SYNHOLD_DISCARD_COUNT; i++)
		assert_int_equal(c->discarded[i], m.discarded[i]);
	for (i = 0; i < HOLDQ_WAIT_COUNT; i++)
		assert_int_equal(c->held_class[i], model_count(i));
	assert_true(queue_left == m.left);
	help_check_invariant(q);
}

static void compare_entry(struct holdq *q, const struct model_entry *e)
{
	const struct holdq_entry *held = help_find(q, e->id);

	assert_non_null(held);
	assert_int_equal(held->first_ns, e->first_ns);
	assert_int_equal(held->last_ns, e->last_ns);
	assert_int_equal(held->gap_ns, e->gap_ns);
	assert_int_equal(held->attempts, e->attempts);
	assert_int_equal(held->wait, e->wait);
	assert_int_equal(held->weight, e->weight);
	assert_int_equal(holdq_overdue_ns(held), model_overdue(e));
}

static void do_release(struct holdq *q, uint64_t now)
{
	unsigned int classes = 1 + rnd(3), what = rnd(12);
	struct model_entry *expected = model_next(now, classes);
	struct holdq_entry *e = holdq_next(q, now, classes);
	uint64_t until = now + (rnd(4) ? rnd(2000) * MS : 0);

	assert_int_equal(e ? help_id(e) : NONE, expected ? expected->id : NONE);
	if (!e)
		return;
	if (what < 8) {
		assert_int_equal(holdq_release(q, e, now), now - expected->first_ns);
		model_release(expected, now);
	} else if (what < 10) {
		holdq_defer(q, e, now, until);
		if (expected->wait != HOLDQ_WAIT_SOURCE)
			model_set_class(expected, HOLDQ_WAIT_SOURCE, expected->weight);
		m.source[expected->source].not_before_ns = until > now ? until : now + MS;
	} else if (what < 11) {
		holdq_discard(q, e, SYNHOLD_DISCARD_INJECT_FAILED, now);
		model_discard(expected, SYNHOLD_DISCARD_INJECT_FAILED);
	}
}

/* Some entry, by nobody's choice: its client reset, or it was let in elsewhere. */
static void do_remove_any(struct holdq *q, uint64_t now)
{
	struct model_entry *e;

	if (!m.n)
		return;
	e = &m.e[rnd(m.n)];
	compare_entry(q, e);
	if (rnd(2)) {
		holdq_discard(q, help_find(q, e->id), SYNHOLD_DISCARD_RESET, now);
		model_discard(e, SYNHOLD_DISCARD_RESET);
	} else {
		holdq_release(q, help_find(q, e->id), now);
		model_release(e, now);
	}
}

static void do_configure(struct holdq *q)
{
	static const uint64_t hold_times[] = {0, 0, 0, 700 * MS, 4 * SECOND};

	m.cfg.max = MAX / 2 + rnd(MAX / 2) + 1;
	m.cfg.source_max = 1 + rnd(80);
	m.cfg.order = rnd(5) ? HOLDQ_MIXED : HOLDQ_NEWEST;
	m.cfg.newest_percent = rnd(3) ? 85 : rnd(101);
	m.cfg.oldest_until_ns = rnd(3) * SECOND;
	m.cfg.hold_time_ns = hold_times[rnd(5)];
	assert_int_equal(holdq_configure(q, &m.cfg), 0);
}

static void check_deadline(const struct holdq *q)
{
	uint64_t earliest = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < m.n; i++)
		earliest = model_due(&m.e[i]) < earliest ? model_due(&m.e[i]) : earliest;
	assert_true(holdq_next_deadline(q) == earliest);
}

static void do_anything(struct holdq *q, uint64_t now, uint32_t op)
{
	struct help_syn s;
	uint64_t threshold;
	uint32_t budget;

	if (op < 600) {
		s = random_syn();
		assert_int_equal(help_send(q, s, now), model_offer(&s, now));
	} else if (op < 850) {
		do_release(q, now);
	} else if (op < 900) {
		do_remove_any(q, now);
	} else if (op < 960) {
		budget = rnd(6);
		check_deadline(q);
		assert_int_equal(holdq_sweep(q, now, budget), model_sweep(now, budget));
	} else if (op < 980) {
		threshold = (uint64_t)rnd(17) << 28;
		budget = rnd(20);
		assert_int_equal(holdq_open_share(q, threshold, budget), model_open_share(threshold, budget));
	} else if (op < 995) {
		budget = rnd(20);
		assert_int_equal(holdq_reclass(q, HOLDQ_WAIT_CLOSED, HOLDQ_WAIT_WINDOW, budget),
				 model_open_closed(budget));
	} else if (op < 999) {
		do_configure(q);
	} else if (!rnd(20)) {
		assert_int_equal(holdq_flush(q, SYNHOLD_DISCARD_DETACHED, now), m.n);
		while (m.n)
			model_discard(model_best(in_all, 0, key_age, false), SYNHOLD_DISCARD_DETACHED);
	}
}

static void test_random_operations(void **state)
{
	static const struct holdq_ops ops = {.discarded = on_discard};
	struct holdq_memory *mem = holdq_memory_new(HOLDQ_MEMORY_DEFAULT_BYTES);
	uint64_t now = START;
	struct holdq *q;
	uint32_t i;

	(void)state;
	m.picked = NONE;
	m.cfg = (struct holdq_config)HOLDQ_CONFIG_DEFAULT;
	m.cfg.max = MAX;
	m.cfg.source_max = 40;
	q = holdq_new(mem, &m.cfg, help_seed, &ops, NULL);
	assert_non_null(q);
	for (i = 0; i < OPS; i++) {
		now += rnd(100) ? rnd(3) * MS : rnd(600) * MS;
		do_anything(q, now, rnd(1000));
		compare(q);
	}
	for (i = 0; i < m.n; i++)
		compare_entry(q, &m.e[i]);
	/* The model is worth nothing if the run never came to the interesting places. */
	assert_true(m.released > OPS / 20);
	for (i = 0; i < SYNHOLD_DISCARD_COUNT; i++)
		assert_true(m.discarded[i] > 20 || i == SYNHOLD_DISCARD_DAEMON_LOST);
	holdq_free(q);
	assert_int_equal(holdq_memory_used(mem), 0);
	holdq_memory_free(mem);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations),
	};
	int failed;

	rng = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240917;
	fprintf(stderr, "seed %llu\n", (unsigned long long)rng);
	failed = cmocka_run_group_tests_name("holdq_model", tests, NULL, NULL);
	fprintf(stderr, "entered %llu, released %llu, gone %llu, evicted %llu, source_cap %llu\n",
		(unsigned long long)m.entered, (unsigned long long)m.released,
		(unsigned long long)m.discarded[SYNHOLD_DISCARD_GONE],
		(unsigned long long)m.discarded[SYNHOLD_DISCARD_EVICTED],
		(unsigned long long)m.discarded[SYNHOLD_DISCARD_SOURCE_CAP]);
	return failed;
}
