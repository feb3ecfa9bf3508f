// SPDX-License-Identifier: GPL-2.0-or-later
/* Proof mode: what proof.c decides, in force. */
#include <string.h>

#include "daemon/state.h"
#include "lib/log.h"
#include "lib/units.h"

void spoofed_follow(struct service *svc, uint64_t now_ns)
{
	struct synhold_runtime *run = &svc->daemon->inst->runtime[svc->id];
	const struct synhold_counters *count = &svc->count;
	struct proof *proof = &svc->proof;
	uint64_t since_ns = proof->since_ns;
	char text[32];
	const struct proof_input in = {
		.now_ns = now_ns,
		.count =
			{
				.started = count->started,
				.heard = count->heard,
				.settled = count->outcome[SYNHOLD_OUTCOME_SETTLED],
				.bites = count->bites,
				.unproved = count->unproved,
				.proved = count->proved,
			},
		.held = svc->queue && holdq_held(svc->queue, HOLDQ_WAIT_WINDOW),
	};

	if (!proof_tick(proof, &in))
		return;
	if (proof->on) {
		log_line(
			LOG_LEVEL_WARNING,
			"%s: proof mode: of %llu handshakes, %llu were never completed; only SYNs that are sent again are let in",
			svc->policy.name, (unsigned long long)proof->judged, (unsigned long long)proof->unheard);
		__atomic_or_fetch(&run->state_flags, SYNHOLD_FLAG_PROOF, __ATOMIC_RELAXED);
		control_restart(&svc->control, now_ns); /* what it has learned was of handshakes that nobody wanted */
	} else {
		log_line(LOG_LEVEL_INFO, "%s: proof mode ends after %s", svc->policy.name,
			 units_format_time(text, sizeof(text), (double)(now_ns - since_ns) / 1e9));
		__atomic_and_fetch(&run->state_flags, ~(uint32_t)SYNHOLD_FLAG_PROOF, __ATOMIC_RELAXED);
	}
}

void spoofed_watch(struct daemon *d)
{
	uint32_t watch = 0;

	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++)
		watch |= d->service[i].active && d->service[i].proof.watch;
	__atomic_store_n(&d->inst->daemon->watch_acks, watch, __ATOMIC_RELAXED);
}

int spoofed_unproved(const struct service *svc, const struct holdq_entry *e)
{
	return svc->proof.on && e->attempts < 2;
}
