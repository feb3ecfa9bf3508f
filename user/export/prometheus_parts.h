/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the Prometheus text share: a page of families, written line by line. */
#ifndef SYNHOLD_EXPORT_PROMETHEUS_PARTS_H
#define SYNHOLD_EXPORT_PROMETHEUS_PARTS_H

#include "export/export.h"

/* An instance has up to 256 services and so tens of thousands of lines: what repeats in them is formatted once. */
struct page_bound {
	char text[32]; /* ,le="..." */
};

struct page {
	FILE *out;
	const struct snapshot *snap;
	enum export_format format;
	char shield[2 * SYNHOLD_NAME_LEN];             /* escaped */
	struct page_bound bound[SYNHOLD_HIST_BUCKETS]; /* "": not a bucket of the text */
	const char *name, *type, *help;                /* of a family that has no line yet */
};

void page_begin(struct page *page, const struct snapshot *snap, enum export_format format, FILE *out);
/* 0, or -EIO if anything could not be written. */
int page_end(struct page *page);

/* A label value with \, " and line ends escaped. Returns buf. */
char *page_escape(const char *text, char *buf, size_t size);
/*
 * Begins a family; its samples must follow. Its head is written with the first of them: a family that has none is not
 * there. name: with _total for counters, as in text format 0.0.4, and without synhold_. The three must stay.
 */
void page_family(struct page *page, const char *name, const char *type, const char *help);
/* One sample of the instance; labels: more of them, or "". */
void page_sample(struct page *page, const char *name, const char *labels, double value);
/* One of a service; more: further labels, each with a comma before it, or "". */
void page_service(struct page *page, const char *name, const struct snapshot_service *svc, const char *more,
		  uint64_t value);
/* The same with a value that is no whole number; format: of it, for printf. */
void page_service_real(struct page *page, const char *name, const struct snapshot_service *svc, const char *more,
		       const char *format, double value) __attribute__((format(printf, 5, 0)));
/* The buckets, sum and count of a service in a family of type histogram. */
void page_histogram(struct page *page, const char *name, const struct snapshot_service *svc, const __u64 *buckets,
		    uint64_t sum_ns);

/* prometheus_signals.c */
void page_signals(struct page *page);

#endif
