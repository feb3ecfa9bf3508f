// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a program costs on live traffic that leaves a device, in the current network namespace: two bare programs join
 * it there, one empty and one that reads the clock, so that each packet meets all three. Run-time statistics of a
 * window are a triple; the medians of the differences are printed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <net/if.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define WINDOWS_MAX 1000

struct reading {
	uint64_t time_ns, count;
};

static struct reading read_stats(int prog)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(prog, &info, &size))
		bench_die("statistics");
	return (struct reading){info.run_time_ns, info.run_cnt};
}

static void join(int device, int prog, uint32_t priority)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = device, .attach_point = BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog, .priority = priority, .handle = 1);
	int err = bpf_tc_attach(&hook, &opts);

	if (err) {
		errno = -err;
		bench_die("tc");
	}
}

static void leave(int device, uint32_t priority)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = device, .attach_point = BPF_TC_EGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .priority = priority, .handle = 1);

	bpf_tc_detach(&hook, &opts);
}

static int compare(const void *one, const void *other)
{
	const double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

static double median(double *values, unsigned int count)
{
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

int live_measure(const char *bare, const char *device, uint32_t prog_id, unsigned int windows, unsigned int window_ms)
{
	const struct timespec window = {window_ms / 1000, (long)(window_ms % 1000) * 1000000};
	static double ours[WINDOWS_MAX], clocks[WINDOWS_MAX];
	struct bpf_object *object = bench_load(bare);
	int progs[3] = {bpf_prog_get_fd_by_id(prog_id), bench_prog(object, "out_nothing"),
			bench_prog(object, "out_clock")};
	int index = (int)if_nametoindex(device), stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct reading before[3], after;
	unsigned int good = 0;
	uint64_t packets = 0;
	double mean[3];

	if (progs[0] < 0 || !index || stats < 0)
		bench_die("live: the program, the device or the statistics");
	join(index, progs[1], 1000);
	join(index, progs[2], 1001);
	for (unsigned int w = 0; w < windows && w < WINDOWS_MAX; w++) {
		int idle = 0;

		for (int i = 0; i < 3; i++)
			before[i] = read_stats(progs[i]);
		nanosleep(&window, NULL);
		for (int i = 0; i < 3; i++) {
			after = read_stats(progs[i]);
			idle |= after.count == before[i].count;
			mean[i] = (double)(after.time_ns - before[i].time_ns) / (double)(after.count - before[i].count);
			packets += i ? 0 : after.count - before[i].count;
		}
		if (idle)
			continue;
		ours[good] = mean[0] - mean[1];
		clocks[good++] = mean[2] - mean[1];
	}
	leave(index, 1001);
	leave(index, 1000);
	close(stats);
	if (!good) {
		errno = ENODATA;
		bench_die("live: nothing has left the device");
	}
	printf("{\"ns\": %.2f, \"clock_ns\": %.2f, \"windows\": %u, \"packets\": %llu}\n", median(ours, good),
	       median(clocks, good), good, (unsigned long long)packets);
	bpf_object__close(object);
	return 0;
}
