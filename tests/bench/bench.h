/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of the per-packet benchmark, and the programs and frames they come from. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdint.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <synhold/abi.h>

#define BENCH_PORT 8000
#define BENCH_FRAME 74

struct bench_objects {
	const char *bare, *plain, *few, *many, *lru, *lru_charges; /* files: see Makefile */
};

struct bench_figure {
	const char *name;
	const struct bench_figure *against; /* NULL: a base line */
	double ns;                          /* least of all runs so far; 0 = none yet */
	int prog;                           /* to be run by bench_run_all(); -1: measured otherwise */
	unsigned char frame[BENCH_FRAME];
};

/* Prints what failed, with errno, and exits. */
void bench_die(const char *what) __attribute__((noreturn));

void bench_frame(unsigned char *frame, uint32_t source, unsigned int port, int syn);
struct bpf_object *bench_load(const char *path);
int bench_prog(struct bpf_object *object, const char *name);
int bench_map(struct bpf_object *object, const char *name);
void *bench_mapped(struct bpf_object *object, const char *name, size_t size);
/* A service on BENCH_PORT that limits nothing, and what puts one into an object. */
struct synhold_policy bench_policy(void);
void bench_put_policy(struct bpf_object *object, const struct synhold_policy *pol);
/* The same with one event an hour, at once: what follows is refused. */
void bench_close_rate(struct synhold_policy *pol);
void bench_close_source_rate(struct synhold_policy *pol);

/* A figure to be measured by test runs of the program with that frame. */
struct bench_figure *bench_add(const char *name, int prog, const unsigned char *frame,
			       const struct bench_figure *against);
struct bench_figure *bench_record(const char *name, double ns, const struct bench_figure *against);
/* Every figure in turn, `runs` times over, so that a disturbance does not hit one of them only. */
void bench_run_all(unsigned int repeat, unsigned int runs);
void bench_print_json(void);

void cost_add(const struct bench_objects *files);                           /* cost.c: rows by test run */
void steps_measure(const struct bench_objects *files, unsigned int rounds); /* steps.c: by run-time statistics */
/* live.c: programs of a live interface beside two bare ones. */
int live_measure(const char *bare, const char *device, uint32_t prog_id, unsigned int windows, unsigned int window_ms);

#endif
