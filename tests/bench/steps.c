// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows that no repeated test run can give, since each handshake has them once: a client's SYN held, released and
 * settled; or admitted and settled. Every client is another one. The programs' own run-time statistics are read (the
 * kernel's BPF_ENABLE_STATS), less those of an empty program that runs in the same turn: caches are as cold as
 * after a system call.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define BATCH 500 /* turns of which the mean is taken; the least mean counts */

struct step {
	int prog;
	uint64_t time_ns, count;
	double least;
};

enum { STEP_EMPTY, STEP_SHIELD, STEP_RELEASE, STEP_EGRESS, STEPS };

static struct step steps[STEPS];
static struct ring_buffer *rings;
static struct synhold_release_io *io;

static int ignore(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

static void run(int step, const unsigned char *frame, uint32_t expected)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = BENCH_FRAME, .repeat = 1);

	if (bpf_prog_test_run_opts(steps[step].prog, &opts))
		bench_die("test run");
	if (opts.retval != expected) {
		errno = EPROTO;
		fprintf(stderr, "bench: step %d gave %u, not %u\n", step, opts.retval, expected);
		bench_die("steps");
	}
}

/* Takes the mean since the last call into account. */
static void sample(struct step *step)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	double mean;

	if (bpf_obj_get_info_by_fd(step->prog, &info, &size))
		bench_die("statistics");
	if (info.run_cnt > step->count) {
		mean = (double)(info.run_time_ns - step->time_ns) / (double)(info.run_cnt - step->count);
		if (step->least == 0 || mean < step->least)
			step->least = mean;
	}
	step->time_ns = info.run_time_ns;
	step->count = info.run_cnt;
}

/* The answer to the SYN in `frame`: its addresses and ports the other way, and data. */
static void answer(unsigned char *reply, uint32_t client)
{
	struct iphdr *ip = (void *)(reply + 14);
	struct tcphdr *tcp = (void *)(ip + 1);

	bench_frame(reply, 0x0a090002, 40000, 0);
	ip->daddr = htonl(client);
	tcp->source = htons(BENCH_PORT);
}

static void turn(uint32_t client, int hold)
{
	unsigned char frame[BENCH_FRAME], reply[BENCH_FRAME];

	bench_frame(frame, client, BENCH_PORT, 1);
	answer(reply, client);
	run(STEP_EMPTY, frame, 2 /* XDP_PASS */);
	run(STEP_SHIELD, frame, hold ? 1 : 2);
	if (hold) {
		memset(io, 0, sizeof(*io));
		memcpy(io->tuple.saddr + 10, "\xff\xff", 2);
		memcpy(io->tuple.saddr + 12, frame + 26, 4);
		memcpy(io->tuple.daddr + 10, "\xff\xff", 2);
		memcpy(io->tuple.daddr + 12, frame + 30, 4);
		memcpy(&io->tuple.sport, frame + 34, 4);
		run(STEP_RELEASE, frame, 2);
	}
	run(STEP_EGRESS, reply, (uint32_t)-1 /* TC_ACT_UNSPEC */);
}

static void turns(uint32_t first, unsigned int rounds, int hold)
{
	for (int i = 0; i < STEPS; i++) {
		sample(&steps[i]);
		steps[i].least = 0;
	}
	for (unsigned int i = 0; i < rounds; i++) {
		turn(first + i, hold);
		if ((i + 1) % BATCH && i + 1 < rounds)
			continue;
		for (int step = 0; step < STEPS; step++)
			sample(&steps[step]);
		if (ring_buffer__consume(rings) < 0)
			bench_die("rings");
	}
}

void steps_measure(const struct bench_objects *files, unsigned int rounds)
{
	struct bpf_object *object = bench_load(files->plain), *bare = bench_load(files->bare);
	struct synhold_runtime *runtime = bench_mapped(object, "runtime", sizeof(*runtime));
	struct synhold_daemon *daemon = bench_mapped(object, "daemon", sizeof(*daemon));
	struct synhold_policy pol = bench_policy();
	const struct bench_figure *empty;
	struct timespec now;
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (stats < 0)
		bench_die("run-time statistics (kernel 5.8)");
	io = bench_mapped(object, "release_io", sizeof(*io));
	rings = ring_buffer__new(bench_map(object, "held"), ignore, NULL, NULL);
	if (!rings || ring_buffer__add(rings, bench_map(object, "wake"), ignore, NULL))
		bench_die("rings");
	steps[STEP_EMPTY].prog = bench_prog(bare, "bare_nothing");
	steps[STEP_SHIELD].prog = bench_prog(object, "synhold_shield");
	steps[STEP_RELEASE].prog = bench_prog(object, "synhold_release");
	steps[STEP_EGRESS].prog = bench_prog(object, "synhold_egress");
	pol.action = SYNHOLD_ACTION_HOLD;
	bench_put_policy(object, &pol);
	clock_gettime(CLOCK_MONOTONIC, &now);
	daemon->heartbeat_ns = ((uint64_t)now.tv_sec + 3600) * 1000000000; /* alive for an hour */
	turns(0x0b000000, rounds, 0);
	empty = bench_record("empty program, run-time statistics", steps[STEP_EMPTY].least, NULL);
	bench_record("SYN admitted, a new client each", steps[STEP_SHIELD].least, empty);
	bench_record("first payload, settles its handshake", steps[STEP_EGRESS].least, empty);
	runtime->queued = 1; /* SYNs that wait go first */
	turns(0x0c000000, rounds, 1);
	bench_record("SYN held: mark and ring-buffer hand-off", steps[STEP_SHIELD].least, empty);
	bench_record("release: judged again, started, charged", steps[STEP_RELEASE].least, empty);
	close(stats);
	ring_buffer__free(rings);
	bpf_object__close(object);
	bpf_object__close(bare);
}
