/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the Prometheus text share. */
#ifndef SYNHOLD_EXPORT_PROMETHEUS_PARTS_H
#define SYNHOLD_EXPORT_PROMETHEUS_PARTS_H

#include "export/export.h"

struct page {
	FILE *out;
	const struct snapshot *snap;
	char shield[2 * SYNHOLD_NAME_LEN];
};

char *page_escape(const char *text, char *buf, size_t size);
/* The head of a family; its samples must follow. */
void page_family(const struct page *page, const char *name, const char *type, const char *help);
void page_sample(const struct page *page, const char *name, const char *labels, double value);
/* more: further labels, each with a comma before it, or "". */
void page_service(const struct page *page, const char *name, const struct snapshot_service *svc, const char *more,
		  uint64_t value);

/* prometheus_signals.c */
void page_signals(const struct page *page);

#endif
