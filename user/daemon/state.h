/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the daemon share. Private to user/daemon. */
#ifndef SYNHOLD_DAEMON_STATE_H
#define SYNHOLD_DAEMON_STATE_H

#include <event2/event.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/holdq.h"
#include "daemon/proof.h"
#include "lib/deploy.h"
#include "lib/lists.h"

struct clients;
struct ring_buffer;

#define LISTENERS_KNOWN 16 /* whose sockets are told apart, of a service */

struct service {
	struct daemon *daemon;
	uint32_t id;
	int active; /* the policy has it */
	struct synhold_policy policy;
	struct synhold_specs specs;
	struct holdq *queue; /* made with the first SYN held */
	struct control control;
	struct control_output last;
	struct proof proof;
	struct synhold_counters count; /* at the last tick */
	struct synhold_delays delays;
	uint64_t retry_ns;  /* a service-wide rate said no until then */
	uint64_t bitten_ns; /* last tick in which a limit bit */
	uint64_t refused_full;
	unsigned int biting; /* reason that is being logged, + 1 */
	int closed;
	int looked;    /* at its listeners, at least once */
	int suspended; /* the window */
	int ramping;
	uint64_t stalled_ns; /* for how long the server has answered nobody, while it does */
	uint64_t ramp_start_ns;
	uint64_t overflows;           /* of the tally, at the last tick */
	uint32_t drops, drops_before; /* at the listeners, summed, now and at the look before */
	uint32_t inode_before;
	uint32_t inode[LISTENERS_KNOWN], inode_known[LISTENERS_KNOWN]; /* now, and when last there was any; 0 ends */
	int listeners_before, full_before;
	int busy; /* something moved at the last tick */
	int listeners;
	uint32_t listener_inode; /* of one of them: whose process, whose cgroup */
	uint32_t accept_queue, accept_queue_max;
	uint64_t listeners_ns; /* when that was seen; 0 = never */
	uint64_t filling_ns;   /* when the queue was last seen filling */
	uint32_t syn_recv, syn_recv_counting;
	uint64_t syn_recv_ns;    /* when it was counted; 0 = never */
	uint64_t delay_ns;       /* when a delay to a first byte was last seen; 0 = never */
	double settlements_pps;  /* over about a second */
	uint64_t settlements_ns; /* when it was computed */
};

struct daemon {
	const struct daemon_options *options;
	struct instance *inst;
	struct event_base *base;
	struct ring_buffer *held, *wake;
	struct event *held_event, *held_timer, *wake_event, *tick_timer, *release_timer, *signals[3];
	struct clients *clients;
	struct holdq_memory *memory;
	uint64_t generation;
	uint32_t bank;
	uint64_t woken_ns; /* the settlement that is being answered; 0 = none */
	uint64_t admission_head;
	unsigned int ticks;
	uint64_t tick_ns; /* the last one */
	uint64_t tick_before_ns;
	uint64_t grace_ns;    /* copies of SYNs were missed: nobody counts as gone before */
	uint32_t generic[64]; /* ifindexes in generic mode */
	unsigned int generic_count;
	int release_fd, sweep_fd;
	int stopping, detached, bypassed;
	int watchdog;   /* systemd wants to hear from us */
	int holds_down; /* some service has hold-down set */
	struct pressure *pressure;
	struct links *links;
	struct lists_view prefer;
	uint64_t handshakes_ns; /* half-open handshakes are not counted before */
	struct service service[SYNHOLD_SERVICES];
};

/* intake.c: from the rings into the queues */
int intake_init(struct daemon *d, struct error *err);
void intake_free(struct daemon *d);

/* release.c: from the queues into the stack */
int release_init(struct daemon *d, struct error *err);
/* Which interfaces are in generic mode. */
void release_read_interfaces(struct daemon *d);
void release_service(struct service *svc, uint64_t now_ns);
void release_all(struct daemon *d);
/* Publishes what the data plane must know of a queue. */
void release_publish(struct service *svc);
/* Discards everything held. */
void release_flush(struct service *svc, unsigned int reason);

/* tick.c: ten times a second */
void tick_run(struct daemon *d);
void tick_load_policy(struct daemon *d, int first);

/* listeners.c: who listens, and what follows when nobody does */
void listeners_read(struct daemon *d, uint64_t now_ns);
/* Counts half-open handshakes, as often as that costs little. */
void listeners_count_handshakes(struct daemon *d, uint64_t now_ns);
/* Whether SYNs are held because nothing listens. */
int listeners_down(const struct service *svc, uint64_t now_ns);

/* signals.c: what the controller goes by, where others can read it */
void signals_count(struct service *svc, const struct control_input *in, double dt_ns);
void signals_share(struct service *svc, uint64_t now_ns);

/* pressure.c: load signals behind accept(): the kernel's (PSI) and the application's own */
struct pressure;
int pressure_init(struct daemon *d, struct error *err);
void pressure_free(struct daemon *d);
/* Reads the kernel's, at most once a second. */
void pressure_read(struct daemon *d, uint64_t now_ns);
/* Puts the signals of a service into the controller's input; names stay valid until the next call of pressure_read().
 */
void pressure_fill(struct service *svc, struct control_input *in);
/* Adds what is known of them to a set of signals. */
struct synhold_signals;
void pressure_share(const struct service *svc, struct synhold_signals *set, uint64_t now_ns);

/* spoofed.c: proof mode */
void spoofed_follow(struct service *svc, uint64_t now_ns);
/* The ACKs of clients are looked at while any service asks for it. */
void spoofed_watch(struct daemon *d);
/* Whether a held SYN must not be released yet, as nobody has shown that he is there. */
int spoofed_unproved(const struct service *svc, const struct holdq_entry *e);

/* follow.c: policy that moves with time */
void follow_closed(struct service *svc, uint64_t now_ns);
void follow_ramp(struct service *svc, uint64_t now_ns);
/* This daemon ends: says which ramps stand still from now on. */
void follow_end(const struct daemon *d);

/* links.c: interfaces that go away, come back, or get another name */
struct links;
int links_init(struct daemon *d, struct error *err);
void links_free(struct daemon *d);
/* Once a tick: follows what has changed, if something has. */
void links_look(struct daemon *d);

/* adopt.c: what an earlier daemon left */
void adopt_state(struct daemon *d);

/* clients.c: the control socket */
int clients_init(struct daemon *d, struct error *err);
void clients_free(struct daemon *d);

/* answer.c: one line of JSON for another. malloc'd; NULL when out of memory. */
struct ucred;
char *answer_line(struct daemon *d, const char *line, const struct ucred *peer);

/* confine.c: gives up what is not needed any more, and tells of what is missed after that. */
void confine(const struct daemon *d);
void confine_report(void);

/* service.c */
int service_start_queue(struct service *svc);
/* Counts a SYN that leaves unreleased, and takes its mark away. */
void service_discarded(struct service *svc, const struct synhold_tuple *tuple, unsigned int reason);
uint32_t service_window(const struct service *svc); /* in force; 0 = none */
/* Copies of SYNs were not seen for a while: clients may be between two that are far apart. */
void service_grace(struct daemon *d, uint64_t now_ns);
/* What counts for the window: handshakes in flight, and requests that clients left behind. */
int64_t service_inside(const struct service *svc);

#endif
