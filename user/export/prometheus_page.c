// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of Prometheus text format 0.0.4 and of OpenMetrics 1.0, which differ in the heads of families only: there a
 * counter's family has no _total, units are said, and the page has an end that shows that nothing is missing.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "export/prometheus_parts.h"

#define PREFIX "synhold_"
#define LINE_MAX_BYTES 512

char *page_escape(const char *text, char *buf, size_t size)
{
	size_t used = 0;

	for (; *text && used + 3 < size; text++) {
		if (*text == '\\' || *text == '"' || *text == '\n')
			buf[used++] = '\\';
		buf[used++] = *text == '\n' ? 'n' : *text;
	}
	buf[used] = '\0';
	return buf;
}

static int ends_in(const char *name, const char *end)
{
	size_t length = strlen(name), tail = strlen(end);

	return length > tail && !strcmp(name + length - tail, end);
}

static void head(struct page *page)
{
	static const char *const units[] = {"seconds", "ratio"};
	int length = (int)strlen(page->name), info = 0;
	char end[16];

	if (page->format == EXPORT_OPENMETRICS) {
		info = ends_in(page->name, "_info");
		if (info || ends_in(page->name, "_total"))
			length = (int)(strrchr(page->name, '_') - page->name);
	}
	fprintf(page->out, "# HELP " PREFIX "%.*s %s\n# TYPE " PREFIX "%.*s %s\n", length, page->name, page->help,
		length, page->name, info ? "info" : page->type);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units) && page->format == EXPORT_OPENMETRICS; i++) {
		snprintf(end, sizeof(end), "_%s", units[i]);
		if (ends_in(page->name, end))
			fprintf(page->out, "# UNIT " PREFIX "%s %s\n", page->name, units[i]);
	}
	page->name = NULL;
}

void page_family(struct page *page, const char *name, const char *type, const char *help)
{
	page->name = name;
	page->type = type;
	page->help = help;
}

void page_sample(struct page *page, const char *name, const char *labels, double value)
{
	if (page->name)
		head(page);
	fprintf(page->out, PREFIX "%s{shield=\"%s\"%s%s} %.15g\n", name, page->shield, *labels ? "," : "", labels,
		value);
}

static char *put(char *at, const char *end, const char *text)
{
	while (*text && at < end)
		*at++ = *text++;
	return at;
}

/* Up to the blank before the value. line has LINE_MAX_BYTES, which every name and label of ours fits in. */
static char *put_name(struct page *page, char *line, const char *name, const struct snapshot_service *svc,
		      const char *more)
{
	const char *end = line + LINE_MAX_BYTES - 32;
	char *at = line;

	if (page->name)
		head(page);
	at = put(at, end, PREFIX);
	at = put(at, end, name);
	at = put(at, end, "{shield=\"");
	at = put(at, end, page->shield);
	at = put(at, end, "\",service=\"");
	at = put(at, end, svc->policy.name);
	at = put(at, end, "\"");
	at = put(at, end, more);
	return put(at, end, "} ");
}

/* printf takes most of the time of a page with 256 services; this does without. */
void page_service(struct page *page, const char *name, const struct snapshot_service *svc, const char *more,
		  uint64_t value)
{
	char line[LINE_MAX_BYTES], digits[24];
	char *at = put_name(page, line, name, svc, more), *digit = digits + sizeof(digits);

	do
		*--digit = (char)('0' + value % 10);
	while (value /= 10);
	at = mempcpy(at, digit, (size_t)(digits + sizeof(digits) - digit));
	*at++ = '\n';
	fwrite_unlocked(line, 1, (size_t)(at - line), page->out);
}

void page_service_real(struct page *page, const char *name, const struct snapshot_service *svc, const char *more,
		       const char *format, double value)
{
	char line[LINE_MAX_BYTES];
	char *at = put_name(page, line, name, svc, more);

	fwrite_unlocked(line, 1, (size_t)(at - line), page->out);
	fprintf(page->out, format, value);
	putc_unlocked('\n', page->out);
}

/* The exponent of each octave's upper bound is exact in binary, so that series keep their `le` for ever. One bucket an
 * octave. */
static void bounds(struct page *page)
{
	for (unsigned int i = 0; i < SYNHOLD_HIST_BUCKETS; i++) {
		struct page_bound *bound = &page->bound[i];

		if (isinf(snapshot_bucket_bound(i)))
			snprintf(bound->text, sizeof(bound->text), ",le=\"+Inf\"");
		else if (i % 4 == 0)
			snprintf(bound->text, sizeof(bound->text), ",le=\"%.9g\"", snapshot_bucket_bound(i));
	}
}

void page_histogram(struct page *page, const char *name, const struct snapshot_service *svc, const __u64 *buckets,
		    uint64_t sum_ns)
{
	uint64_t below = 0;
	char full[64];

	snprintf(full, sizeof(full), "%s_bucket", name);
	for (unsigned int i = 0; i < SYNHOLD_HIST_BUCKETS; i++) {
		below += buckets[i];
		if (page->bound[i].text[0])
			page_service(page, full, svc, page->bound[i].text, below);
	}
	snprintf(full, sizeof(full), "%s_sum", name);
	page_service_real(page, full, svc, "", "%.9f", (double)sum_ns / 1e9);
	snprintf(full, sizeof(full), "%s_count", name);
	page_service(page, full, svc, "", below);
}

void page_begin(struct page *page, const struct snapshot *snap, enum export_format format, FILE *out)
{
	*page = (struct page){.out = out, .snap = snap, .format = format};
	page_escape(snap->instance, page->shield, sizeof(page->shield));
	bounds(page);
}

int page_end(struct page *page)
{
	if (page->format == EXPORT_OPENMETRICS)
		fputs("# EOF\n", page->out);
	return ferror(page->out) ? -EIO : 0;
}
