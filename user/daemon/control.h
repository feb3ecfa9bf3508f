/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The controller of one service: how many handshakes may be in flight (the window), how many may start per
 * second (the ceiling, usually none), and how long a slot lives. A pure core: time and counts in, limits out;
 * no clock, no kernel, no allocation. Same inputs, same outputs.
 *
 * Law and its reasons: docs/control.md and control.c. All times are nanoseconds of one monotonic clock.
 */
#ifndef SYNHOLD_CONTROL_H
#define SYNHOLD_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include <synhold/abi.h>

#define CONTROL_TICK_NS 100000000ULL /* how often control_tick() wants to be called; 50 to 500 ms work */
#define CONTROL_WINDOW_START 8       /* window before anything is known of the server */
#define CONTROL_WINDOW_CALM 64       /* and once it has answered as many in time */
#define CONTROL_SIGNALS 8            /* pressure signals of one tick */
#define CONTROL_HISTORY 128          /* ticks of past windows: longer than a slot can live */
#define CONTROL_SECONDS 32           /* seconds of past settlement rates, for the ceiling */

/* Why a limit moved. The index of tally.window_up/window_down; control_signal_name() gives the label. */
enum control_signal {
	CONTROL_SIGNAL_FIRST_BYTE,   /* the server's delay to its first byte */
	CONTROL_SIGNAL_STALL,        /* the window is full and nothing settles */
	CONTROL_SIGNAL_ACCEPT_QUEUE, /* the listener's queue overflowed */
	CONTROL_SIGNAL_DEMAND,       /* room kept above calm traffic */
	CONTROL_SIGNAL_PRESSURE,     /* a pressure signal; the change carries its name */
	CONTROL_SIGNAL_POLICY,       /* the operator changed the bounds */
	CONTROL_SIGNAL_COUNT
};
_Static_assert(CONTROL_SIGNAL_COUNT <= 8, "struct synhold_tally has room for eight signals");

struct control_policy {
	uint32_t window_min;
	uint32_t window_max;
	uint32_t window;          /* of mode fixed */
	uint8_t window_mode;      /* enum synhold_window_mode */
	uint64_t target_delay_ns; /* of the server's own delay */
};

/* Something behind accept() that reports its load: PSI of the service's cgroup, the application itself. */
struct control_pressure {
	const char *name; /* read during the call only; at most SYNHOLD_NAME_LEN - 1 characters are kept */
	double ratio;     /* value / target: above 1 is too much */
	/*
	 * An alarm only stops growth and never cuts. For signals that read high on a healthy server at full
	 * speed (PSI cpu): with those, cutting until they fall would waste capacity.
	 */
	bool alarm;
};

/* What the data plane counted since the last tick, and levels as they are now. */
struct control_input {
	uint64_t now_ns;
	/* since the last tick */
	uint64_t admitted; /* handshakes started: admitted or released */
	uint64_t settled;  /* in time; late ones not included */
	uint64_t abandoned;
	uint64_t expired;
	uint64_t late_settled;   /* first byte after the slot had expired */
	bool window_limited;     /* the window kept a SYN or a release back */
	uint64_t asked_settled;  /* settled in time by data, and the client had sent some before */
	uint64_t greeted;        /* the same without; or where that cannot be seen */
	uint64_t silent_expired; /* of the expired: had never asked */
	/* now */
	uint64_t inflight;
	uint64_t asking; /* of those, whose client has asked and waits */
	uint64_t silent; /* of those, let in at least output.silent_after_ns ago and never asked */
	uint64_t held;   /* entries waiting for the window or a service-wide rate */
	/*
	 * Delays of what settled since the last tick, late ones included; delay_count 0: nothing to say.
	 * has_rtt: delay_* is the server's own (handshake round trip subtracted, as far as the kernel knew
	 * it) and rtt_mean_ns that round trip. Otherwise delay_* is the raw first-byte delay and rtt_mean_ns
	 * is ignored.
	 */
	bool has_rtt;
	uint64_t delay_count;
	uint64_t delay_mean_ns;
	uint64_t delay_p50_ns;
	uint64_t delay_p99_ns;
	uint64_t rtt_mean_ns;
	uint64_t first_byte_p99_ns; /* raw: what a slot lives through */
	/* the listener's queue, for servers that accept lazily: -1 = unknown */
	int64_t accept_queue;
	int64_t accept_queue_max;
	uint64_t listen_overflows; /* since the last tick; this service's listener only */
	unsigned int pressures;    /* entries used, at most CONTROL_SIGNALS */
	struct control_pressure pressure[CONTROL_SIGNALS];
};

/* One limit that moved, for the log line and the counter. */
struct control_change {
	bool changed;
	enum control_signal signal;
	char name[SYNHOLD_NAME_LEN]; /* what to print: the signal's label, or the pressure's own name */
	double value;                /* the signal's: ns of delay or of quiet, overflows, in flight, ratio */
	uint32_t from;               /* 0 = none (no limit) */
	uint32_t to;
};

struct control_output {
	uint32_t window;          /* handshakes in flight allowed; 0 = no window (policy says none) */
	uint32_t silent;          /* so many of them for clients that say nothing, beside what the law gives */
	uint64_t silent_after_ns; /* age from which an unasked slot counts as a silent one: input.silent */
	uint32_t ceiling_pps;     /* handshakes started per second allowed, beside the policy's rate; 0 = none */
	uint64_t expire_ns;       /* life of a slot, 1 to 10 s */
	bool cold;                /* nothing is known yet of what the server can do */
	bool stalled;             /* it answers nobody, though handshakes wait */
	uint64_t quiet_ns;        /* for how long */
	struct control_change window_change;
	struct control_change ceiling_change;
};

enum control_state {
	CONTROL_STATE_CALM,    /* the window keeps nothing back */
	CONTROL_STATE_START,   /* it does, and grows fast: the server's limit is not in sight */
	CONTROL_STATE_TRACK,   /* it follows the server's pace */
	CONTROL_STATE_STALL,   /* nothing settles; probing with a small window */
	CONTROL_STATE_CEILING, /* a pressure signal holds the rate down */
	CONTROL_STATE_DRAIN,   /* pressure stays high: almost nothing is let in until it falls */
	CONTROL_STATE_FIXED,   /* the policy sets the window */
	CONTROL_STATE_COUNT
};

/* For `synhold explain`. Rates per second, delays as the controller sees them (smoothed). */
struct control_explain {
	enum control_state state;
	double settled_pps; /* settlements while the window was limiting; 0 = not seen yet */
	uint64_t rtt_ns;
	uint64_t delay_ns;  /* the server's */
	uint64_t base_ns;   /* the part of it that is no queue: what the server needs when idle */
	uint64_t goal_ns;   /* where the window steers delay_ns to */
	uint64_t target_ns; /* of the policy */
	uint64_t quiet_ns;  /* how long nothing has settled while handshakes waited */
	double pressure;    /* highest ratio of the last second */
	char pressure_name[SYNHOLD_NAME_LEN];
	uint32_t window; /* without the slots of silent clients */
	uint32_t silent;
	uint32_t ceiling_pps;
	uint32_t peak_inflight; /* of the last 5 to 10 s */
	uint64_t expire_ns;
	struct control_change last; /* the window's */
	uint64_t last_ns;
};

struct control; /* below; its fields are private to control*.c */

/*
 * Start a controller. `window` and `expire_ns`: what is pinned from an earlier daemon, 0 = start cold.
 * -EINVAL: window_min is 0 or above window_max, a fixed window of 0, target delay of 0, unknown mode.
 */
int control_init(struct control *control, const struct control_policy *policy, uint64_t now_ns, uint32_t window,
		 uint64_t expire_ns);

/* New bounds; what was learned stays. Errors as control_init(), nothing changed then. */
int control_set_policy(struct control *control, const struct control_policy *policy);

/*
 * The server stood there in calm when this controller began: a burst is no herd, so it begins with CONTROL_WINDOW_CALM.
 * Without effect once anything is known.
 */
void control_trust(struct control *control);

/* The listener was replaced (server restarted): it is cold; start over from at most CONTROL_WINDOW_START. */
void control_restart(struct control *control, uint64_t now_ns);

/*
 * One tick. The output is complete each time; the changes say what moved, so that every move can be logged.
 * -EINVAL: time did not advance, or more than CONTROL_SIGNALS pressures; the output is untouched then.
 */
int control_tick(struct control *control, const struct control_input *counted, struct control_output *output);

void control_explain(const struct control *control, struct control_explain *explain);

const char *control_signal_name(enum control_signal signal);
const char *control_state_name(enum control_state state);

/*
 * Quantile of a first-byte histogram (buckets as in abi.h, counts of one interval), linear inside a bucket;
 * permille 1 to 1000. 0 where the histogram is empty. Error: at most one bucket, 19 %.
 */
uint64_t control_quantile_ns(const uint64_t histogram[SYNHOLD_HIST_BUCKETS], unsigned int permille);

/* Private to control*.c from here on; here because the daemon keeps one per service without allocating. */

struct control_slice {
	double end_ms; /* since control.start_ns */
	float settled;
	float admitted;
	float length_ms;
	uint32_t window; /* in force; what was in flight where it did not limit */
};

/* The window was moved: does the delay follow (a queue) or not (the server is slow)? See control_delay.c. */
struct control_trial {
	double ahead; /* before the move: served during one stay; 0 = no trial runs */
	double delay_ns;
	double window;
	bool up;
	uint64_t end_ns;
	/* after it */
	double samples;
	unsigned int ticks;
	double sum_ns;
	double sum_ahead;
};

/* Smoothed view of the server (control_delay.c). */
struct control_server {
	double rate;     /* the server's pace, per second */
	double delay_ns; /* server's delay */
	double rtt_ns;
	double base_ns;   /* 0 = not known */
	double ahead;     /* served while the newest samples waited */
	double window;    /* in force when they were let in */
	double tick_rate; /* as rate and delay_ns, not smoothed */
	double tick_delay_ns;
	double quick_delay_ns; /* lightly smoothed */
	double quick_ahead;
	double weight;     /* samples behind the values above */
	double mu_peak[3]; /* settlements per second: highest tick of this and of the last two seconds */
	double mu;         /* the same, smoothed, while the window limits */
	double mu_best;    /* its highest, until a raise has shown that it cannot be had again */
	double mu_best_window;
	double expired; /* per second, smoothed; so is the next */
	double abandoned;
	double idle; /* slots of connections that do not wait for the server */
	uint64_t mu_next_ns;
	bool has_rtt;
	unsigned int other_kind; /* ticks in a row whose delays were of the other kind */
	struct control_trial trial;
	uint64_t ghosts_ns; /* until then slots pass by the server, released to clients that had left */
	/* last tick's large step, for telling noise from a change */
	double odd_rate;
	double odd_delay;
	/* dips of the window that put a raised base to the test */
	uint64_t probe_next_ns;
	uint64_t probe_end_ns;
	unsigned int probes_left;
};

/* Clients that say nothing (control_silent.c). */
struct control_silent {
	double asked; /* of the last settlements */
	double total;
	uint32_t slots; /* taken by them */
	uint32_t out;   /* given */
	unsigned int starved;
	bool telling;       /* the sign is good for this service */
	uint64_t asking_ns; /* when a client last waited that had asked */
};

/* Pressure loop (control_ceiling.c). */
struct control_slow {
	double ceiling;               /* 0 = none */
	double threshold;             /* where it tripped, remembered */
	double below;                 /* no limit has been seen below this */
	double growth;                /* a second, above the threshold */
	double rate[CONTROL_SECONDS]; /* served in each of the last seconds */
	unsigned int rates;
	double settled; /* of the running second; so are sum, ticks, worst */
	double sum;
	unsigned int ticks;
	double worst;
	double before;   /* pressure a second ago */
	double pressure; /* mean of the last second's highest ratios */
	char name[SYNHOLD_NAME_LEN];
	uint64_t next_ns;
	uint64_t frozen_ns;
	uint64_t trip_ns;
	uint64_t calm_ns;
	uint64_t episode_ns; /* when this storm, or the time after the last drain, began */
	uint64_t over_ns;    /* pressure has been over the target since */
	bool ignored;
	unsigned int hot;
	bool drain;
	bool alarm;
	bool alarm_next;
};

struct control {
	struct control_policy policy;
	struct control_server server;
	struct control_slow slow;
	struct control_silent silent;
	struct control_slice history[CONTROL_HISTORY];
	unsigned int slices;
	uint64_t start_ns;
	uint64_t last_tick_ns;
	uint64_t last_settled_ns;
	uint64_t last_limited_ns;
	uint64_t last_inflight;
	uint64_t stall_step_ns;
	uint64_t no_growth_ns;
	bool over;          /* the delay is over the goal */
	uint64_t cut_ns;    /* last cut for the delay, or when it got over the goal */
	uint64_t raised_ns; /* end of a raise that tests the delay */
	double raise_wait_ns;
	double queue_cap; /* more than this overflowed the accept queue; 0 = not seen */
	uint64_t calm_ns; /* when the window last kept something back */
	double window;    /* exact; `out` is the one in force, moved in steps worth telling */
	double learned;   /* the window when it last limited */
	double served;    /* in time and in calm since the start, up to CONTROL_WINDOW_CALM */
	uint32_t out;
	enum control_signal why;
	double why_value;
	uint32_t peak[2];
	uint64_t peak_ns;
	double expire_ns;
	bool cold;
	bool known; /* the server's limit has been seen */
	bool stalled;
	double unanswered; /* let in since something settled last, and not abandoned */
	bool limited;      /* in this tick */
	enum control_state state;
	struct control_change last;
	uint64_t last_change_ns;
	uint64_t quiet_ns;
	uint32_t ceiling_out;
};

#endif
