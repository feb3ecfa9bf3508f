// SPDX-License-Identifier: GPL-2.0-or-later
/* What an earlier daemon left: held SYNs died with it. Their marks go, and their number is made good in the counters.
 */
#include <bpf/bpf.h>
#include <stdlib.h>

#include "daemon/state.h"
#include "lib/log.h"

void adopt_state(struct daemon *d)
{
	int marks = d->inst->map[INSTANCE_MAP_MARKS];
	struct synhold_tuple key, *last = NULL, *held = NULL;
	size_t count = 0, room = 0;
	struct synhold_mark mark;
	uint64_t lost = 0;

	while (!bpf_map_get_next_key(marks, last, &key)) {
		last = &key;
		if (bpf_map_lookup_elem(marks, &key, &mark) || mark.state != SYNHOLD_MARK_HELD)
			continue;
		if (count == room) {
			struct synhold_tuple *more = reallocarray(held, room = room ? room * 2 : 1024, sizeof(key));

			if (!more)
				break;
			held = more;
		}
		held[count++] = key;
	}
	for (size_t i = 0; i < count; i++)
		bpf_map_delete_elem(marks, &held[i]);
	free(held);
	for (unsigned int id = 0; id < SYNHOLD_SERVICES; id++) {
		struct synhold_tally *tally = &d->inst->tally[id];
		uint64_t missing = tally->entered - tally->released;

		for (unsigned int i = 0; i < SYNHOLD_DISCARD_COUNT; i++)
			missing -= tally->discarded[i];
		tally->discarded[SYNHOLD_DISCARD_DAEMON_LOST] += missing;
		lost += missing;
		d->inst->runtime[id].queued = d->inst->runtime[id].held = d->inst->runtime[id].hold_full = 0;
	}
	if (d->inst->daemon->started_ns) /* while nobody held, their clients have gone on to longer pauses */
		service_grace(d, instance_now_ns());
	if (lost || count)
		log_line(LOG_LEVEL_WARNING,
			 "%llu SYNs were held by an earlier daemon that ended; their clients will send them again",
			 (unsigned long long)lost);
}
