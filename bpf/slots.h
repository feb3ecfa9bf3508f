/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Handshakes in flight: the mark of the tuple, the slot of the gate, the counters. The shell around gate.h. */
#ifndef SYNHOLD_BPF_SLOTS_H
#define SYNHOLD_BPF_SLOTS_H

#include "filter.h"
#include "gate.h"
#include "maps.h"

#define SLOTS_KNOWN 0x100 /* flag of slots_start(): the tuple has a mark */

/* Whose handshake: the tuple and the sequence number of its SYN. */
struct slots_syn {
	struct synhold_tuple tuple;
	__u32 isn; /* host order */
};

#define SLOTS_MARK_LIFE_NS (2 * SYNHOLD_EXPIRE_MAX_NS) /* of the mark of an admission: then its slot is long over */

static __always_inline struct synhold_counters *slots_counters(__u32 service)
{
	return bpf_map_lookup_elem(&counters, &service);
}

static __always_inline __u32 *slots_filter_word(__u64 hash)
{
	__u32 place = filter_place(hash), line = place / SYNHOLD_FILTER_WORDS;
	struct synhold_filter *words = bpf_map_lookup_elem(&mark_filter, &line);

	return words ? &words->word[place % SYNHOLD_FILTER_WORDS] : NULL;
}

/* The tuple's mark, if it has one that is not over; now = 0: or one that is. NULL when it has none. */
static __always_inline struct synhold_mark *slots_mark(const struct synhold_tuple *tuple, __u64 now)
{
	__u64 hash = filter_hash(tuple);
	__u32 *word = slots_filter_word(hash);

	if (!word || !filter_may_mark(*(volatile __u32 *)word, filter_tag(hash), now))
		return NULL;
	return bpf_map_lookup_elem(&marks, tuple);
}

/* Says so, before the mark is put there. Global: verified once. */
COMPAT_GLOBAL int slots_note(const struct slots_syn *syn, __u64 now, __u64 until)
{
	__u64 hash;
	__u32 *word;

	if (!syn)
		return 0;
	hash = filter_hash(&syn->tuple);
	word = slots_filter_word(hash);
	if (word)
		filter_note_mark(word, filter_tag(hash), now, until);
	return 0;
}

/* Takes the mark away, and what says that it may be there. As bpf_map_delete_elem(). */
static __always_inline long slots_unmark(const struct synhold_tuple *tuple)
{
	__u64 hash = filter_hash(tuple);
	__u32 *word = slots_filter_word(hash), seen = 0;
	long failed;

	if (word)
		seen = *(volatile __u32 *)word;
	failed = bpf_map_delete_elem(&marks, tuple);
	if (word && !failed)
		filter_clear_mark(word, filter_tag(hash), seen);
	return failed;
}

/* How long a slot of the service lives. */
static __always_inline __u64 slots_life(const struct synhold_runtime *run)
{
	__u64 life = *(volatile const __u64 *)&run->expire_ns;

	if (life < SYNHOLD_EXPIRE_MIN_NS)
		return SYNHOLD_EXPIRE_MIN_NS;
	return life > SYNHOLD_EXPIRE_MAX_NS ? SYNHOLD_EXPIRE_MAX_NS : life;
}

static __always_inline void slots_expired(struct synhold_gate *gate, struct synhold_counters *count, __u32 expired)
{
	count->outcome[SYNHOLD_OUTCOME_EXPIRED] += expired;
	if (!gate->egress_seen)
		COMPAT_FETCH_ADD(&gate->blind, expired);
}

/* Retires one epoch. Global, as what follows: verified once, not once for each turn of a loop that calls it. */
__noinline int slots_retire_epoch(__u32 service, __u32 epoch)
{
	struct synhold_gate *gate = bpf_map_lookup_elem(&gates, &service);
	struct synhold_counters *count = slots_counters(service);
	__u32 expired;

	if (!gate || !count)
		return 0;
	expired = gate_retire_epoch(gate, epoch);
	if (expired)
		slots_expired(gate, count, expired);
	return 0;
}

/* The gates beside that one: what is owed to clients that left, and who of those in flight has asked. */
static __always_inline struct synhold_gate *slots_beside(__u32 service, __u32 of_asked)
{
	return of_asked ? bpf_map_lookup_elem(&asked, &service) : bpf_map_lookup_elem(&owed, &service);
}

/* The same of one beside: nobody's outcome. */
__noinline int slots_retire_beside_epoch(__u32 service, __u32 epoch, __u32 of_asked)
{
	struct synhold_gate *gate = slots_beside(service, of_asked);
	struct synhold_counters *count = slots_counters(service);
	__u32 expired;

	if (!gate || !count)
		return 0;
	expired = gate_retire_epoch(gate, epoch);
	if (of_asked)
		count->asked_expired += expired;
	return 0;
}

__noinline int slots_retire_beside(__u32 service, __u32 limit, __u32 of_asked)
{
	struct synhold_gate *gate = slots_beside(service, of_asked);
	__u32 epoch, i;

	if (!gate)
		return 0;
	epoch = gate_retire_from(gate, limit);
	for (i = 0; i < SYNHOLD_BUCKETS && epoch < limit; i++, epoch++)
		slots_retire_beside_epoch(service, epoch, of_asked);
	return 0;
}

/* Counts as expired, and out of the window, what has outlived the service's slot life. */
__noinline int slots_retire(__u32 service, __u64 now)
{
	struct synhold_gate *gate = bpf_map_lookup_elem(&gates, &service);
	struct synhold_runtime *run = bpf_map_lookup_elem(&runtime, &service);
	__u32 limit, epoch, i;

	if (!gate || !run)
		return 0;
	limit = gate_retire_limit(now, slots_life(run));
	epoch = gate_retire_from(gate, limit);
	for (i = 0; i < SYNHOLD_BUCKETS && epoch < limit; i++, epoch++)
		slots_retire_epoch(service, epoch);
	slots_retire_beside(service, limit, 0);
	slots_retire_beside(service, limit, 1);
	return 0;
}

/* Whether slots_retire() has something to do; cheap enough for every SYN. */
static __always_inline int slots_overdue(const struct synhold_gate *gate, const struct synhold_runtime *run, __u64 now)
{
	return *(volatile const __u32 *)&gate->retired < gate_retire_limit(now, slots_life(run));
}

/*
 * Remembers an admission in the ring. The tuple that stood in that place was admitted SYNHOLD_ADMISSIONS admissions
 * ago: if its mark is still there it is forgotten now, so the marks can never overflow, daemon or not.
 */
static __always_inline void slots_log(const struct synhold_tuple *tuple, __u64 since_ns)
{
	struct synhold_admission *slot;
	struct synhold_global *all;
	__u32 zero = 0, index;

	all = bpf_map_lookup_elem(&global, &zero);
	if (!all)
		return;
	index = COMPAT_FETCH_ADD(&all->admission_head, 1) & (SYNHOLD_ADMISSIONS - 1);
	slot = bpf_map_lookup_elem(&admissions, &index);
	if (!slot)
		return;
	if (slot->since_ns) {
		struct synhold_mark *mark = bpf_map_lookup_elem(&marks, &slot->tuple);

		if (mark && mark->since_ns == slot->since_ns && mark->state == SYNHOLD_MARK_INFLIGHT)
			bpf_map_delete_elem(&marks, &slot->tuple);
	}
	slot->tuple = *tuple;
	slot->since_ns = since_ns;
}

/* Forgets the mark of the oldest admission if no slot can refer to it any more. Returns 1 while there may be another.
 */
__noinline int slots_forget(__u64 now)
{
	struct synhold_admission *slot;
	struct synhold_global *all;
	struct synhold_mark *mark;
	__u32 zero = 0, index;
	__u64 tail, head;

	all = bpf_map_lookup_elem(&global, &zero);
	if (!all)
		return 0;
	tail = *(volatile __u64 *)&all->admission_tail;
	head = *(volatile __u64 *)&all->admission_head;
	if (tail >= head)
		return 0;
	if (head - tail > SYNHOLD_ADMISSIONS) { /* overwritten places have been dealt with by slots_log() */
		COMPAT_CAS(&all->admission_tail, tail, head - SYNHOLD_ADMISSIONS);
		return 1;
	}
	index = tail & (SYNHOLD_ADMISSIONS - 1);
	slot = bpf_map_lookup_elem(&admissions, &index);
	if (!slot || slot->since_ns + SLOTS_MARK_LIFE_NS > now)
		return 0;
	mark = bpf_map_lookup_elem(&marks, &slot->tuple);
	if (mark && mark->since_ns == slot->since_ns && mark->state == SYNHOLD_MARK_INFLIGHT)
		bpf_map_delete_elem(&marks, &slot->tuple);
	COMPAT_CAS(&all->admission_tail, tail, tail + 1);
	return 1;
}

/* Stores the mark of an admission. One that is over, which nobody looked for any more, is in nobody's way. */
static __always_inline long slots_put(const struct synhold_tuple *tuple, const struct synhold_mark *fresh,
				      const struct synhold_gate *gate, __u32 known)
{
	long failed = bpf_map_update_elem(&marks, tuple, fresh, known ? BPF_ANY : BPF_NOEXIST);
	struct synhold_mark *mark;

	if (failed != -EEXIST)
		return failed;
	mark = bpf_map_lookup_elem(&marks, tuple);
	if (mark && (mark->state != SYNHOLD_MARK_INFLIGHT || gate_slot_live(gate, mark->epoch)))
		return failed;
	return bpf_map_update_elem(&marks, tuple, fresh, BPF_ANY);
}

/*
 * Starts a handshake: a slot of the gate and the mark of its tuple. window 0 = whatever the number in flight; known:
 * the tuple has a mark already (held, or long expired). Returns 0; -1 when the window is full; 1 when another CPU was
 * first with the same tuple (then nothing is charged).
 */
COMPAT_GLOBAL int slots_start(const struct slots_syn *syn, __u32 service, __u64 now, __u32 window, __u32 flags)
{
	struct synhold_gate *gate = bpf_map_lookup_elem(&gates, &service);
	struct synhold_counters *count = slots_counters(service);
	struct synhold_mark fresh = {
		.since_ns = now,
		.epoch = gate_epoch(now),
		.service = (__u16)service,
		.state = SYNHOLD_MARK_INFLIGHT,
		.flags = flags & SYNHOLD_MARK_FRESH,
		.syn_seen_ns = now,
	};
	struct synhold_gate *beside = bpf_map_lookup_elem(&owed, &service);
	__u32 expired = 0;

	if (!syn || !gate || !count || !beside)
		return 1;
	fresh.isn = syn->isn;
	if (window) {
		__s64 inside = *(volatile __s64 *)&beside->inflight;

		if (inside >= (__s64)window)
			return -1;
		window -= inside > 0 ? (__u32)inside : 0;
	}
	if (gate_start(gate, fresh.epoch, window, &expired))
		return -1;
	if (expired)
		slots_expired(gate, count, expired);
	slots_note(syn, now, now + SLOTS_MARK_LIFE_NS);
	if (slots_put(&syn->tuple, &fresh, gate, flags & SLOTS_KNOWN) == -EEXIST) {
		if (!gate_end(gate, fresh.epoch))
			count->started++; /* others never let us take it back: it will be counted as expired */
		return 1;
	}
	/* any other failure leaves a slot without a mark: it ends with its bucket */
	count->started++;
	slots_log(&syn->tuple, now);
	return 0;
}

/* In the bucket of the admission, so that the two gates can be compared bucket by bucket. Global: see
 * slots_retire_epoch().
 */
__noinline int slots_asked_start(__u32 service, __u32 epoch)
{
	struct synhold_gate *gate = bpf_map_lookup_elem(&asked, &service);
	struct synhold_counters *count = slots_counters(service);
	__u32 expired = 0;

	if (!gate || !count)
		return 0;
	count->asked++;
	if (gate_slot_live(gate, epoch)) /* a slot that has expired is counted nowhere */
		gate_start(gate, epoch, 0, &expired);
	return 0;
}

__noinline int slots_asked_end(__u32 service, __u32 epoch)
{
	struct synhold_gate *gate = bpf_map_lookup_elem(&asked, &service);

	if (gate)
		gate_end(gate, epoch);
	return 0;
}

/* The client has sent something and waits; one that closed waits no more. */
static __always_inline void slots_ask(struct synhold_mark *mark)
{
	if (COMPAT_CAS(&mark->left, SYNHOLD_LEFT_NOT, SYNHOLD_LEFT_ASKED) == SYNHOLD_LEFT_NOT)
		slots_asked_start(mark->service, mark->epoch);
}

/* It waits no more, and `left` says that from now on. Whoever changes it ends what is counted. Returns 1 if it waited.
 */
static __always_inline int slots_unask(struct synhold_mark *mark, __u32 now_left)
{
	if (mark->left != SYNHOLD_LEFT_ASKED ||
	    COMPAT_CAS(&mark->left, SYNHOLD_LEFT_ASKED, now_left) != SYNHOLD_LEFT_ASKED)
		return 0;
	slots_asked_end(mark->service, mark->epoch);
	return 1;
}

/*
 * Ends the handshake of a tuple. The one whose delete succeeds ends the slot. Returns 1 when the slot still counted, 0
 * when it had expired, -1 when somebody else was first.
 */
static __always_inline int slots_end(const struct synhold_tuple *tuple, struct synhold_gate *gate, __u32 epoch)
{
	if (slots_unmark(tuple))
		return -1;
	return gate_end(gate, epoch);
}

/* Tells the daemon that a held SYN may take a slot; only while it holds some. */
static __always_inline void slots_wake(const struct synhold_runtime *run, __u32 service, __u64 now)
{
	struct synhold_wake *event;

	if (!run->held)
		return;
	event = bpf_ringbuf_reserve(&wake, sizeof(*event), 0);
	if (!event)
		return; /* full: the daemon is awake anyway */
	event->when_ns = now;
	event->service = (__u16)service;
	event->kind = SYNHOLD_WAKE_SLOT;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void slots_wake_reset(const struct synhold_tuple *tuple, __u32 service, __u64 now)
{
	struct synhold_wake *event = bpf_ringbuf_reserve(&wake, sizeof(*event), 0);

	if (!event)
		return;
	event->when_ns = now;
	event->service = (__u16)service;
	event->kind = SYNHOLD_WAKE_RESET;
	event->tuple = *tuple;
	bpf_ringbuf_submit(event, 0);
}

#endif
