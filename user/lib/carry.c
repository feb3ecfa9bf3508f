// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/carry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 16 /* no structure of ours is nested deeper */

static int all_zero(const void *data, size_t size)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < size; i++)
		if (byte[i])
			return 0;
	return 1;
}

/* The type itself, without its names and qualifiers; NULL when there is none. */
static const struct btf_type *bare(struct carry_type *type)
{
	int id = btf__resolve_type(type->btf, type->id);

	if (id < 0)
		return NULL;
	type->id = (uint32_t)id;
	return btf__type_by_id(type->btf, type->id);
}

static int is_number(const struct btf_type *type)
{
	return btf_is_int(type) || btf_is_any_enum(type);
}

static uint64_t number_read(const void *at, size_t size)
{
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;

	switch (size) {
	case 1:
		return *(const uint8_t *)at;
	case 2:
		memcpy(&u16, at, size);
		return u16;
	case 4:
		memcpy(&u32, at, size);
		return u32;
	default:
		memcpy(&u64, at, sizeof(u64));
		return u64;
	}
}

static void number_write(void *at, size_t size, uint64_t value)
{
	uint32_t u32 = (uint32_t)value;
	uint16_t u16 = (uint16_t)value;
	uint8_t u8 = (uint8_t)value;

	memcpy(at,
	       size == 1 ? (void *)&u8 :
	       size == 2 ? (void *)&u16 :
	       size == 4 ? (void *)&u32 :
			   (void *)&value,
	       size);
}

static void note_lost(char lost[CARRY_NAME_LEN], const char *name)
{
	if (!lost[0])
		snprintf(lost, CARRY_NAME_LEN, "%s", name);
}

static int carry(struct carry_type from, const char *src, struct carry_type to, char *dst, const char *name,
		 char lost[CARRY_NAME_LEN], int depth);

static int carry_number(size_t from_size, const char *src, size_t to_size, char *dst, const char *name,
			char lost[CARRY_NAME_LEN])
{
	uint64_t value;

	if (from_size > 8 || to_size > 8)
		return -EPROTO;
	if (from_size == to_size) { /* signed or not */
		memcpy(dst, src, to_size);
		return 0;
	}
	value = number_read(src, from_size);
	if (to_size < 8 && value >> (8 * to_size))
		note_lost(lost, name);
	else
		number_write(dst, to_size, value);
	return 0;
}

static int carry_array(struct carry_type from, const char *src, struct carry_type to, char *dst, const char *name,
		       char lost[CARRY_NAME_LEN], int depth)
{
	const struct btf_array *a = btf_array(btf__type_by_id(from.btf, from.id));
	const struct btf_array *b = btf_array(btf__type_by_id(to.btf, to.id));
	struct carry_type each_from = {from.btf, a->type}, each_to = {to.btf, b->type};
	int64_t from_size = btf__resolve_size(from.btf, a->type), to_size = btf__resolve_size(to.btf, b->type);
	uint32_t both = a->nelems < b->nelems ? a->nelems : b->nelems;
	int ret = 0;

	if (from_size <= 0 || to_size <= 0)
		return -EPROTO;
	for (uint32_t i = 0; i < both && !ret; i++)
		ret = carry(each_from, src + i * from_size, each_to, dst + i * to_size, name, lost, depth);
	if (!all_zero(src + both * from_size, (size_t)((a->nelems - both) * from_size)))
		note_lost(lost, name);
	return ret;
}

static int find_member(const struct btf *btf, const struct btf_type *type, const char *name)
{
	const struct btf_member *member = btf_members(type);

	for (int i = 0; i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, member[i].name_off), name))
			return i;
	return -ENOENT;
}

static int is_padding(const char *name)
{
	return !strncmp(name, "pad", 3);
}

static int carry_struct(struct carry_type from, const char *src, struct carry_type to, char *dst,
			char lost[CARRY_NAME_LEN], int depth)
{
	const struct btf_type *a = btf__type_by_id(from.btf, from.id), *b = btf__type_by_id(to.btf, to.id);
	const struct btf_member *member = btf_members(a);
	int ret = 0;

	for (int i = 0; i < btf_vlen(a) && !ret; i++) {
		const char *name = btf__name_by_offset(from.btf, member[i].name_off);
		struct carry_type each_from = {from.btf, member[i].type}, each_to = {to.btf, 0};
		uint32_t at = btf_member_bit_offset(a, (uint32_t)i), place;
		int64_t size = btf__resolve_size(from.btf, member[i].type);
		int found = find_member(to.btf, b, name);

		if (size < 0 || at % 8 || btf_member_bitfield_size(a, (uint32_t)i))
			return -EPROTO; /* abi.h has no bit fields */
		if (is_padding(name))
			continue;
		if (found < 0) {
			if (!all_zero(src + at / 8, (size_t)size))
				note_lost(lost, name);
			continue;
		}
		each_to.id = btf_members(b)[found].type;
		place = btf_member_bit_offset(b, (uint32_t)found);
		if (place % 8 || btf_member_bitfield_size(b, (uint32_t)found))
			return -EPROTO;
		ret = carry(each_from, src + at / 8, each_to, dst + place / 8, name, lost, depth);
	}
	return ret;
}

static int carry(struct carry_type from, const char *src, struct carry_type to, char *dst, const char *name,
		 char lost[CARRY_NAME_LEN], int depth)
{
	const struct btf_type *a = bare(&from), *b = bare(&to);

	if (!a || !b || depth > DEPTH_MAX)
		return -EPROTO;
	if (is_number(a) && is_number(b))
		return carry_number(a->size, src, b->size, dst, name, lost);
	if (btf_is_array(a) && btf_is_array(b))
		return carry_array(from, src, to, dst, name, lost, depth + 1);
	if (btf_is_struct(a) && btf_is_struct(b))
		return carry_struct(from, src, to, dst, lost, depth + 1);
	return -EPROTO;
}

int carry_value(struct carry_type from, const void *src, struct carry_type to, void *dst, char lost[CARRY_NAME_LEN])
{
	int64_t size = btf__resolve_size(to.btf, to.id);

	lost[0] = '\0';
	if (size <= 0)
		return -EPROTO;
	memset(dst, 0, (size_t)size);
	return carry(from, src, to, dst, "value", lost, 0);
}
