// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include <synhold/addr.h>

#include "lib/lists_set.h"

#define ROW sizeof(struct synhold_list_row)

static const void *row_of(const void *image, uint32_t row)
{
	return (const char *)image + row * ROW;
}

/* Whether `count` things of that size from a row on lie within the image. */
static int within(size_t size, uint32_t row, uint64_t count, size_t each)
{
	return row * ROW + count * each <= size;
}

int lists_image_read(const void *image, size_t size, struct config_lists *lists)
{
	const struct synhold_list_head *head = image;
	const struct synhold_list_record *record;
	const char *notes;
	uint64_t records;

	if (size < sizeof(*head) || head->make != SYNHOLD_LIST_MAKE)
		return -EPROTO;
	records = (uint64_t)head->entries[LIST_ALLOW] + head->entries[LIST_DENY] + head->entries[LIST_PREFER];
	if (!within(size, head->records_row, records, sizeof(*record)) ||
	    !within(size, head->notes_row, head->notes, SYNHOLD_NOTE_LEN))
		return -EPROTO;
	record = row_of(image, head->records_row);
	notes = row_of(image, head->notes_row);
	for (uint64_t i = 0; i < records; i++, record++) {
		struct list_entry entry = {.prefixlen = record->prefixlen,
					   .value = {.until_ns = record->until_ns,
						     .confirmed_until_ns = record->confirmed_until_ns,
						     .rate_pps = record->rate_pps,
						     .origin = record->origin}};
		int ret;

		if (record->list >= LIST_KINDS || record->prefixlen > 128 || record->note > head->notes)
			return -EPROTO;
		memcpy(entry.addr, record->addr, sizeof(entry.addr));
		if (record->note)
			memcpy(entry.value.note, notes + (size_t)(record->note - 1) * SYNHOLD_NOTE_LEN,
			       sizeof(entry.value.note));
		ret = config_lists_add(lists, (enum list_kind)record->list, &entry);
		if (ret)
			return ret;
	}
	return 0;
}

const struct synhold_list_range *lists_image_find(const void *image, const uint8_t addr[16])
{
	const struct synhold_list_head *head = image;
	const struct synhold_list_range *range = row_of(image, head->ranges_row);
	const struct synhold_list_index *index;
	uint64_t high = synhold_addr_high(addr), low = synhold_addr_low(addr);
	int ipv4 = synhold_addr_is_ipv4(addr);
	uint32_t count;

	index = row_of(image, head->index_row[ipv4]);
	index += ipv4 ? (uint32_t)low >> (32 - head->index_bits[1]) : high >> (64 - head->index_bits[0]);
	range += index->first;
	for (count = index->count; count > 1;) {
		const struct synhold_list_range *middle = range + count / 2;

		if (middle->high < high || (middle->high == high && middle->low <= low)) {
			range = middle;
			count -= count / 2;
		} else {
			count /= 2;
		}
	}
	return range;
}
