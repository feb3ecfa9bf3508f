// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compiling address lists. Entries lie inside one another like brackets, so one pass over them in order, with a stack
 * of those that are open, gives the ranges of addresses between one bracket and the next and what holds there: the last
 * end of all open deny entries, the longest open allow entry, the weight of the longest open prefer entry. A look-up
 * then asks in which range an address is, and no entry that is over can hide another.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <synhold/addr.h>

#include "lib/keys.h"
#include "lib/lists_set.h"

#define ROW sizeof(struct synhold_list_row)
#define DEPTH_MOST 130 /* prefix lengths 0 to 128, and what holds everywhere */
#define PER_ROW (ROW / sizeof(struct synhold_list_index))

enum { FAMILY_IPV6, FAMILY_IPV4, FAMILIES }; /* as index_row[] of the head */

struct address {
	uint64_t high, low;
};

/* A prefix whose end is not reached yet; effect: what holds in it. */
struct open {
	struct address last;
	struct synhold_list_range effect;
};

struct image {
	struct synhold_list_range *range;
	struct synhold_list_step *step;
	uint32_t ranges, steps;
	struct open open[DEPTH_MOST];
	unsigned int depth;
};

static struct address address_of(const uint8_t addr[16])
{
	return (struct address){synhold_addr_high(addr), synhold_addr_low(addr)};
}

static int address_compare(struct address a, struct address b)
{
	if (a.high != b.high)
		return a.high < b.high ? -1 : 1;
	return a.low < b.low ? -1 : a.low > b.low;
}

static struct address address_next(struct address a)
{
	return (struct address){a.high + (a.low == UINT64_MAX), a.low + 1};
}

static struct address last_of(const struct list_entry *entry)
{
	struct address a = address_of(entry->addr);
	unsigned int host = 128U - entry->prefixlen;

	if (host >= 64)
		a.high |= host == 128 ? UINT64_MAX : (1ULL << (host - 64)) - 1;
	a.low |= host >= 64 ? UINT64_MAX : (1ULL << host) - 1;
	return a;
}

static int same_effect(const struct synhold_list_range *a, const struct synhold_list_range *b)
{
	return a->deny_until_ns == b->deny_until_ns && a->step == b->step && a->weight == b->weight;
}

/* From this address on, this holds. What was said of the same address before is forgotten. */
static void emit(struct image *image, struct address from, const struct synhold_list_range *effect)
{
	struct synhold_list_range *next = &image->range[image->ranges];

	if (image->ranges && next[-1].high == from.high && next[-1].low == from.low) {
		image->ranges--;
		next--;
	}
	if (image->ranges && same_effect(&next[-1], effect))
		return;
	*next = *effect;
	next->high = from.high;
	next->low = from.low;
	image->ranges++;
}

/* Closes the prefixes that end before an address; with NULL, all. */
static void close_until(struct image *image, const struct address *next)
{
	while (image->depth > 1) {
		struct address last = image->open[image->depth - 1].last;

		if (next && address_compare(last, *next) >= 0)
			return;
		image->depth--;
		if (last.high != UINT64_MAX || last.low != UINT64_MAX)
			emit(image, address_next(last), &image->open[image->depth - 1].effect);
	}
}

/* The number of an allow entry that lies in those of `around`. The chain goes on with entries that end later. */
static uint32_t add_step(struct image *image, const struct list_value *value, uint32_t around)
{
	struct synhold_list_step step = {.until_ns = value->until_ns};
	uint64_t interval, limit;

	while (around && image->step[around].until_ns <= value->until_ns)
		around = image->step[around].next;
	keys_compile_allow_rate(value->rate_pps, &interval, &limit);
	step.interval = interval;
	step.limit = limit;
	step.next = around;
	if (!image->steps || memcmp(&image->step[image->steps], &step, sizeof(step)))
		image->step[++image->steps] = step;
	return image->steps;
}

static void apply(struct image *image, enum list_kind kind, const struct list_value *value,
		  struct synhold_list_range *effect)
{
	if (kind == LIST_ALLOW)
		effect->step = add_step(image, value, effect->step);
	else if (kind == LIST_PREFER)
		effect->weight = value->rate_pps > UINT16_MAX ? UINT16_MAX : (uint32_t)value->rate_pps;
	else if (value->until_ns > effect->deny_until_ns)
		effect->deny_until_ns = value->until_ns;
}

/* Of the next entries of the lists, the first in order; NULL at the end. */
static const struct list_entry *next_entry(const struct config_lists *lists, const unsigned int at[LIST_KINDS])
{
	const struct list_entry *next = NULL;

	for (int kind = 0; kind < LIST_KINDS; kind++) {
		const struct list_entry *entry = &lists->entry[kind][at[kind]];

		if (at[kind] < lists->count[kind] && (!next || lists_compare(entry, next) < 0))
			next = entry;
	}
	return next;
}

static void flatten(struct image *image, const struct config_lists *lists)
{
	static const struct synhold_list_range nothing;
	const struct list_entry *entry;
	unsigned int at[LIST_KINDS] = {0};

	image->open[0] = (struct open){{UINT64_MAX, UINT64_MAX}, nothing};
	image->depth = 1;
	emit(image, (struct address){0, 0}, &nothing);
	while ((entry = next_entry(lists, at))) {
		struct address first = address_of(entry->addr);
		struct synhold_list_range effect;

		close_until(image, &first);
		effect = image->open[image->depth - 1].effect;
		for (int kind = 0; kind < LIST_KINDS; kind++) { /* the same prefix in several lists */
			const struct list_entry *same = &lists->entry[kind][at[kind]];

			if (at[kind] == lists->count[kind] || lists_compare(same, entry))
				continue;
			apply(image, (enum list_kind)kind, &same->value, &effect);
			at[kind]++;
		}
		image->open[image->depth++] = (struct open){last_of(entry), effect};
		emit(image, first, &effect);
	}
	close_until(image, NULL);
}

static int family_of(const struct synhold_list_range *range)
{
	return synhold_addr_halves_ipv4(range->high, range->low) ? FAMILY_IPV4 : FAMILY_IPV6;
}

/* First address of an entry of an index. */
static struct address bucket_first(int family, uint32_t bits, uint64_t bucket)
{
	if (family == FAMILY_IPV4)
		return (struct address){0, 0xffffULL << 32 | bucket << (32 - bits)};
	return (struct address){bucket << (64 - bits), 0};
}

static struct address range_first(const struct synhold_list_range *range)
{
	return (struct address){range->high, range->low};
}

static void fill_index(const struct image *image, int family, uint32_t bits, struct synhold_list_index *index)
{
	uint32_t at = 0;

	for (uint64_t bucket = 0; bucket < 1ULL << bits; bucket++) {
		struct address first = bucket_first(family, bits, bucket), next = {0, 0};
		int is_last = bucket + 1 == 1ULL << bits;
		uint32_t end;

		if (!is_last)
			next = bucket_first(family, bits, bucket + 1);
		else if (family == FAMILY_IPV4)
			next = (struct address){0, 1ULL << 48};
		while (at + 1 < image->ranges && address_compare(range_first(&image->range[at + 1]), first) <= 0)
			at++;
		for (end = at + 1; end < image->ranges; end++)
			if ((!is_last || family == FAMILY_IPV4) &&
			    address_compare(range_first(&image->range[end]), next) >= 0)
				break;
		index[bucket] = (struct synhold_list_index){at, end - at};
	}
}

/* As many entries as there are ranges, so that most lead to one or two. */
static uint32_t index_bits(const struct image *image, int family)
{
	uint32_t count = 0, bits = 1;

	for (uint32_t i = 0; i < image->ranges; i++)
		count += family_of(&image->range[i]) == family;
	while (bits < SYNHOLD_LIST_INDEX_BITS && 1U << bits < count)
		bits++;
	return bits;
}

static uint32_t rows_of(size_t count, size_t size)
{
	return (uint32_t)((count * size + ROW - 1) / ROW);
}

static uint32_t notes_of(const struct config_lists *lists)
{
	uint32_t notes = 0;

	for (int kind = 0; kind < LIST_KINDS; kind++)
		for (unsigned int i = 0; i < lists->count[kind]; i++)
			notes += lists->entry[kind][i].value.note[0] != '\0';
	return notes;
}

static void fill_records(const struct config_lists *lists, struct synhold_list_record *record, char *notes)
{
	uint32_t note = 0;

	for (int kind = 0; kind < LIST_KINDS; kind++)
		for (unsigned int i = 0; i < lists->count[kind]; i++, record++) {
			const struct list_entry *entry = &lists->entry[kind][i];

			memcpy(record->addr, entry->addr, sizeof(record->addr));
			record->until_ns = entry->value.until_ns;
			record->confirmed_until_ns = entry->value.confirmed_until_ns;
			record->rate_pps = entry->value.rate_pps;
			record->prefixlen = entry->prefixlen;
			record->list = (uint8_t)kind;
			record->origin = entry->value.origin;
			if (!entry->value.note[0])
				continue;
			memcpy(notes + (size_t)note * SYNHOLD_NOTE_LEN, entry->value.note, sizeof(entry->value.note));
			record->note = ++note;
		}
}

static uint64_t next_end(const struct config_lists *lists)
{
	uint64_t end_ns = SYNHOLD_FOREVER;

	for (int kind = 0; kind < LIST_KINDS; kind++)
		for (unsigned int i = 0; i < lists->count[kind]; i++)
			if (lists->entry[kind][i].value.until_ns < end_ns)
				end_ns = lists->entry[kind][i].value.until_ns;
	return end_ns;
}

static struct synhold_list_row *lay_out(const struct image *image, const struct config_lists *lists, uint32_t *count)
{
	struct synhold_list_head head = {.ranges = image->ranges, .next_end_ns = next_end(lists)}, *out;
	uint32_t row = rows_of(1, sizeof(head)), records = 0;
	struct synhold_list_row *rows;

	head.ranges_row = row;
	head.steps_row = row += rows_of(image->ranges, sizeof(*image->range));
	row += image->steps + 1; /* the one with number 0 is never looked at */
	for (int family = 0; family < FAMILIES; family++) {
		head.index_bits[family] = index_bits(image, family);
		head.index_row[family] = row;
		row += rows_of(1UL << head.index_bits[family], sizeof(struct synhold_list_index));
	}
	for (int kind = 0; kind < LIST_KINDS; kind++)
		records += head.entries[kind] = lists->count[kind];
	head.records_row = row;
	head.notes_row = row += rows_of(records, sizeof(struct synhold_list_record));
	head.notes = notes_of(lists);
	row += rows_of(head.notes, SYNHOLD_NOTE_LEN);
	rows = calloc(row, ROW);
	if (!rows)
		return NULL;
	out = (struct synhold_list_head *)rows;
	*out = head;
	memcpy(rows + head.ranges_row, image->range, image->ranges * sizeof(*image->range));
	memcpy(rows + head.steps_row, image->step, (image->steps + 1) * sizeof(*image->step));
	for (int family = 0; family < FAMILIES; family++)
		fill_index(image, family, head.index_bits[family],
			   (struct synhold_list_index *)(rows + head.index_row[family]));
	fill_records(lists, (struct synhold_list_record *)(rows + head.records_row), (char *)(rows + head.notes_row));
	*count = row;
	return rows;
}

int lists_image(const struct config_lists *lists, struct synhold_list_row **rows, uint32_t *count)
{
	size_t entries = (size_t)lists->count[LIST_ALLOW] + lists->count[LIST_DENY] + lists->count[LIST_PREFER];
	struct image *image = calloc(1, sizeof(*image));

	*rows = NULL;
	if (image) {
		image->range = calloc(2 * entries + 2, sizeof(*image->range));
		image->step = calloc((size_t)lists->count[LIST_ALLOW] + 1, sizeof(*image->step));
	}
	if (image && image->range && image->step) {
		flatten(image, lists);
		*rows = lay_out(image, lists, count);
	}
	if (image) {
		free(image->range);
		free(image->step);
	}
	free(image);
	return *rows ? 0 : -ENOMEM;
}
