// SPDX-License-Identifier: GPL-2.0-or-later
/* Values from one version's types to another's, by BTF made here. */
#include "lib/carry.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* One side: its BTF and the numbers in it. */
struct side {
	struct btf *btf;
	int u8, u16, u32, u64, s64, index;
};

static void side_open(struct side *side)
{
	side->btf = btf__new_empty();
	assert_non_null(side->btf);
	side->u8 = btf__add_int(side->btf, "u8", 1, 0);
	side->u16 = btf__add_int(side->btf, "u16", 2, 0);
	side->u32 = btf__add_int(side->btf, "u32", 4, 0);
	side->u64 = btf__add_int(side->btf, "u64", 8, 0);
	side->s64 = btf__add_int(side->btf, "s64", 8, BTF_INT_SIGNED);
	side->index = side->u32;
	assert_true(side->s64 > 0);
}

static int setup(void **state)
{
	static struct side sides[2];

	side_open(&sides[0]);
	side_open(&sides[1]);
	*state = sides;
	return 0;
}

static int teardown(void **state)
{
	struct side *sides = *state;

	btf__free(sides[0].btf);
	btf__free(sides[1].btf);
	return 0;
}

struct field {
	const char *name;
	int type;
	uint32_t offset; /* bytes */
};

static int add_struct(struct side *side, uint32_t size, const struct field *field, size_t count)
{
	int id = btf__add_struct(side->btf, "thing", size);

	for (size_t i = 0; i < count; i++)
		assert_int_equal(btf__add_field(side->btf, field[i].name, field[i].type, field[i].offset * 8, 0), 0);
	return id;
}

#define STRUCT(side, size, ...)                               \
	add_struct(side, size, (struct field[]){__VA_ARGS__}, \
		   sizeof((struct field[]){__VA_ARGS__}) / sizeof(struct field))

static int array(struct side *side, int type, uint32_t count)
{
	return btf__add_array(side->btf, side->index, type, count);
}

static struct carry_type type_of(const struct side *side, int id)
{
	return (struct carry_type){side->btf, (uint32_t)id};
}

static int carry(const struct side *sides, int from, const void *src, int to, void *dst, char *lost)
{
	return carry_value(type_of(&sides[0], from), src, type_of(&sides[1], to), dst, lost);
}

static void test_members_move(void **state)
{
	struct side *s = *state, *a = &s[0], *b = &s[1];
	int from = STRUCT(a, 16, {"seen", a->u64, 0}, {"held", a->u32, 8}, {"pad", a->u32, 12});
	int to = STRUCT(b, 24, {"fresh", b->u64, 0}, {"held", b->u32, 8}, {"pad0", b->u32, 12}, {"seen", b->u64, 16});
	struct {
		uint64_t seen;
		uint32_t held, pad;
	} src = {1ULL << 40 | 5, 7, 99};
	struct {
		uint64_t fresh;
		uint32_t held, pad0;
		uint64_t seen;
	} dst;
	char lost[CARRY_NAME_LEN];

	memset(&dst, 0xff, sizeof(dst));
	assert_int_equal(carry(s, from, &src, to, &dst, lost), 0);
	assert_string_equal(lost, "");
	assert_int_equal(dst.fresh, 0); /* as in a fresh map */
	assert_int_equal(dst.held, 7);
	assert_int_equal(dst.pad0, 0);
	assert_true(dst.seen == (1ULL << 40 | 5));
}

static void test_loss_is_named(void **state)
{
	struct side *s = *state, *a = &s[0], *b = &s[1];
	int from = STRUCT(a, 16, {"rate", a->u64, 0}, {"gone", a->u64, 8}), to = STRUCT(b, 8, {"rate", b->u64, 0});
	uint64_t src[2] = {3, 0}, dst;
	char lost[CARRY_NAME_LEN];

	assert_int_equal(carry(s, from, src, to, &dst, lost), 0);
	assert_string_equal(lost, ""); /* nothing was in it */
	src[1] = 1;
	assert_int_equal(carry(s, from, src, to, &dst, lost), 0);
	assert_string_equal(lost, "gone");
	assert_int_equal(dst, 3);
}

static void test_widths(void **state)
{
	struct side *s = *state, *a = &s[0], *b = &s[1];
	int from = STRUCT(a, 20, {"x", a->u8, 0}, {"y", a->u64, 4}, {"z", a->s64, 12});
	int to = STRUCT(b, 20, {"x", b->u64, 0}, {"y", b->u16, 8}, {"z", b->s64, 12});
	unsigned char src[20] = {0xfe}, dst[20];
	char lost[CARRY_NAME_LEN];
	uint64_t y = 0xffff;
	int64_t z = -5;
	uint16_t small;

	memcpy(src + 4, &y, 8);
	memcpy(src + 12, &z, 8);
	assert_int_equal(carry(s, from, src, to, dst, lost), 0);
	assert_string_equal(lost, "");
	memcpy(&y, dst, 8);
	memcpy(&small, dst + 8, 2);
	assert_int_equal(y, 0xfe);
	assert_int_equal(small, 0xffff);
	assert_memory_equal(dst + 12, &z, 8);
	y = 0x10000; /* one too many */
	memcpy(src + 4, &y, 8);
	assert_int_equal(carry(s, from, src, to, dst, lost), 0);
	assert_string_equal(lost, "y");
	memcpy(&small, dst + 8, 2);
	assert_int_equal(small, 0);
}

static void test_arrays(void **state)
{
	struct side *s = *state, *a = &s[0], *b = &s[1];
	int three = array(a, a->u32, 3), five = array(b, b->u64, 5), two = array(b, b->u32, 2);
	uint32_t src[3] = {1, 2, 3}, cut[2];
	uint64_t dst[5] = {9, 9, 9, 9, 9};
	char lost[CARRY_NAME_LEN];

	assert_int_equal(carry(s, three, src, five, dst, lost), 0);
	assert_string_equal(lost, "");
	assert_memory_equal(dst, ((uint64_t[]){1, 2, 3, 0, 0}), sizeof(dst));
	assert_int_equal(carry(s, three, src, two, cut, lost), 0);
	assert_string_equal(lost, "value");
	assert_memory_equal(cut, src, sizeof(cut));
	src[2] = 0;
	assert_int_equal(carry(s, three, src, two, cut, lost), 0);
	assert_string_equal(lost, "");
}

static void test_nested(void **state)
{
	struct side *s = *state, *a = &s[0], *b = &s[1];
	int in_a = STRUCT(a, 8, {"lo", a->u16, 0}, {"hi", a->u16, 2}, {"bits", a->u32, 4});
	int in_b = STRUCT(b, 4, {"hi", b->u16, 0}, {"lo", b->u16, 2});
	int from = STRUCT(a, 20, {"count", a->u32, 0}, {"each", array(a, in_a, 2), 4});
	int to = STRUCT(b, 12, {"each", btf__add_typedef(b->btf, "eaches", array(b, in_b, 2)), 0},
			{"count", btf__add_const(b->btf, b->u32), 8});
	struct {
		uint32_t count;
		struct {
			uint16_t lo, hi;
			uint32_t bits;
		} each[2];
	} src = {2, {{10, 20, 0}, {30, 40, 0}}};
	struct {
		struct {
			uint16_t hi, lo;
		} each[2];
		uint32_t count;
	} dst;
	char lost[CARRY_NAME_LEN];

	assert_int_equal(carry(s, from, &src, to, &dst, lost), 0);
	assert_string_equal(lost, "");
	assert_int_equal(dst.count, 2);
	assert_int_equal(dst.each[0].hi, 20);
	assert_int_equal(dst.each[1].lo, 30);
	assert_int_equal(dst.each[1].hi, 40);
	src.each[1].bits = 1;
	assert_int_equal(carry(s, from, &src, to, &dst, lost), 0);
	assert_string_equal(lost, "bits");
}

static void test_other_kinds(void **state)
{
	struct side *s = *state, *a = &s[0], *b = &s[1];
	int from = STRUCT(a, 8, {"x", a->u64, 0}), to = STRUCT(b, 8, {"x", array(b, b->u32, 2), 0});
	uint64_t src = 0, dst;
	char lost[CARRY_NAME_LEN];

	assert_int_equal(carry(s, from, &src, to, &dst, lost), -EPROTO);
	assert_int_equal(carry(s, a->u64, &src, to, &dst, lost), -EPROTO);
	assert_int_equal(carry(s, from, &src, 9999, &dst, lost), -EPROTO);
	assert_int_equal(carry(s, a->u64, &src, b->u64, &dst, lost), 0);
}

/* No type of abi.h has any, and what is not understood must not be guessed. */
static void test_bit_fields(void **state)
{
	struct side *s = *state, *a = &s[0], *b = &s[1];
	int from = btf__add_struct(a->btf, "bits", 4), to = STRUCT(b, 4, {"x", b->u32, 0});
	uint32_t src = 5, dst;
	char lost[CARRY_NAME_LEN];

	assert_int_equal(btf__add_field(a->btf, "x", a->u32, 0, 3), 0);
	assert_int_equal(carry(s, from, &src, to, &dst, lost), -EPROTO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_members_move), TEST(test_loss_is_named), TEST(test_widths),     TEST(test_arrays),
		TEST(test_nested),       TEST(test_other_kinds),   TEST(test_bit_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
