/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a service turns to proof mode, and when it leaves it. A pure core: time and totals in, mode out.
 *
 * A flood of SYNs with false addresses fills the window with handshakes that nobody completes. Slots that expire are no
 * sign of it: those of a server that stalls expire too. There the clients have answered, so what tells the two apart is
 * whether clients were heard again after their SYN (an ACK, FIN or RST), or the server settled. Real hosts that never
 * asked answer the server's SYN-ACK with a RST: their slots are free at once, and they are no reason for this mode.
 *
 * Looking at ACKs costs a look-up each, so the data plane does it only while `watch` is set: a limit bites and less
 * than half of what starts settles.
 */
#ifndef SYNHOLD_DAEMON_PROOF_H
#define SYNHOLD_DAEMON_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#define PROOF_SAMPLES 128 /* ticks remembered: with a tick of 100 ms more than PROOF_HORIZON_NS */

#define PROOF_LAG_NS 1000000000ULL      /* a client is heard within this time, or not at all */
#define PROOF_RECENT_NS 2000000000ULL   /* what "now" means to the watch */
#define PROOF_PATIENT_NS 5000000000ULL  /* with few handshakes, look at this long */
#define PROOF_HORIZON_NS 11000000000ULL /* and never farther back */
#define PROOF_LEAVE_NS 10000000000ULL   /* quiet for this long: leave */
#define PROOF_ENOUGH 32                 /* handshakes that decide at once */
#define PROOF_FEW 8                     /* that decide after PROOF_PATIENT_NS */
#define PROOF_LEFT_OVER 16              /* unproved SYNs in PROOF_LEAVE_NS that are no flood */

/* Totals since the counters exist. */
struct proof_counts {
	uint64_t started, heard, settled, bites, unproved, proved;
};

struct proof_input {
	uint64_t now_ns;
	struct proof_counts count;
	bool held; /* SYNs wait for the window or a service-wide rate */
};

struct proof {
	bool on;
	bool watch;
	uint64_t since_ns;       /* the mode */
	uint64_t watch_since_ns; /* nobody was heard before, in `heard` */
	/* of the last decision, for the log */
	uint64_t judged, unheard;
	unsigned int next, used;
	struct {
		uint64_t when_ns;
		struct proof_counts count;
	} sample[PROOF_SAMPLES];
};

/* on: what an earlier daemon left in force. */
void proof_init(struct proof *p, bool on, uint64_t now_ns);
/* Ten times a second. Returns whether `on` has changed. */
bool proof_tick(struct proof *p, const struct proof_input *in);

#endif
