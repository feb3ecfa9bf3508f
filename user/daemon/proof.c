// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/proof.h"

#include <string.h>

void proof_init(struct proof *p, bool on, uint64_t now_ns)
{
	memset(p, 0, sizeof(*p));
	p->on = on;
	p->since_ns = now_ns;
}

/* Sample `back` ticks ago; 0 = the last one. */
static unsigned int at(const struct proof *p, unsigned int back)
{
	return (p->next + PROOF_SAMPLES - 1 - back) % PROOF_SAMPLES;
}

/* The newest sample that is at least `age_ns` old, or the oldest there is. */
static unsigned int older(const struct proof *p, uint64_t now_ns, uint64_t age_ns)
{
	unsigned int back = 0;

	while (back + 1 < p->used && p->sample[at(p, back)].when_ns + age_ns > now_ns)
		back++;
	return back;
}

static bool limited(const struct proof *p, const struct proof_input *in)
{
	const struct proof_counts *was = &p->sample[at(p, older(p, in->now_ns, PROOF_RECENT_NS))].count;

	return in->held || in->count.bites != was->bites;
}

static void follow_watch(struct proof *p, const struct proof_input *in)
{
	const struct proof_counts *was = &p->sample[at(p, older(p, in->now_ns, PROOF_RECENT_NS))].count;
	bool bites = limited(p, in);
	bool idle = (in->count.settled - was->settled) * 2 <= in->count.started - was->started;

	if (p->on || (p->watch ? bites : bites && idle)) {
		if (!p->watch)
			p->watch_since_ns = in->now_ns;
		p->watch = true;
	} else {
		p->watch = false;
	}
}

/*
 * Of the handshakes started last, but long enough ago for their clients to be heard, were most never completed? Looked
 * at over every time that had enough of them, from the shortest on, so that calm before a flood does not speak for it.
 * Whoever was heard since the first of them counts as one of them, which errs on the side of the clients.
 */
static bool flooded(struct proof *p, const struct proof_input *in)
{
	unsigned int late = older(p, in->now_ns, PROOF_LAG_NS), back;

	for (back = late + 1; back < p->used; back++) {
		uint64_t when_ns = p->sample[at(p, back)].when_ns, started, heard;

		if (when_ns < p->watch_since_ns || when_ns + PROOF_HORIZON_NS < in->now_ns)
			break;
		started = p->sample[at(p, late)].count.started - p->sample[at(p, back)].count.started;
		heard = in->count.heard - p->sample[at(p, back)].count.heard;
		if (started < PROOF_FEW || (started < PROOF_ENOUGH && when_ns + PROOF_PATIENT_NS > in->now_ns))
			continue;
		if (heard * 3 <= started) {
			p->judged = started;
			p->unheard = started - heard;
			return true;
		}
	}
	return false;
}

/* Whether most SYNs of the last while came again, or there were hardly any. */
static bool over(const struct proof *p, const struct proof_input *in)
{
	const struct proof_counts *was = &p->sample[at(p, older(p, in->now_ns, PROOF_LEAVE_NS))].count;
	uint64_t unproved = in->count.unproved - was->unproved, proved = in->count.proved - was->proved, alone;

	if (in->now_ns - p->since_ns < PROOF_LEAVE_NS)
		return false;
	alone = unproved > proved ? unproved - proved : 0;
	return alone < PROOF_LEFT_OVER || alone * 2 < unproved;
}

bool proof_tick(struct proof *p, const struct proof_input *in)
{
	bool was = p->on;

	p->sample[p->next].when_ns = in->now_ns;
	p->sample[p->next].count = in->count;
	p->next = (p->next + 1) % PROOF_SAMPLES;
	if (p->used < PROOF_SAMPLES)
		p->used++;
	follow_watch(p, in);
	if (p->on)
		p->on = !over(p, in);
	else if (p->watch && limited(p, in))
		p->on = flooded(p, in);
	if (p->on != was)
		p->since_ns = in->now_ns;
	if (was && !p->on)
		p->used = 0; /* what was refused for want of proof says nothing of what comes now */
	return p->on != was;
}
