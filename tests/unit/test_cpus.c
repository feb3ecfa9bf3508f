// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/cpus.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define UNTOUCHED 77

static void accepted(const char *text, unsigned int count, uint64_t bits)
{
	cpu_set_t set;

	assert_int_equal(cpus_parse(text, count, &set), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		assert_int_equal(!!CPU_ISSET(cpu, &set), cpu < 64 ? (bits >> cpu) & 1 : 0);
}

static void refused(const char *text, int code)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(UNTOUCHED, &set);
	assert_int_equal(cpus_parse(text, 16, &set), code);
	assert_int_equal(CPU_COUNT(&set), 1);
	assert_true(CPU_ISSET(UNTOUCHED, &set));
}

static void test_accepted(void **state)
{
	(void)state;
	accepted("0", 1, 1);
	accepted("15", 16, 1 << 15);
	accepted("2-3", 16, 0xc);
	accepted("5-5", 16, 0x20);
	accepted("0,4-7,2", 16, 0xf5);
	accepted("3,1-4", 16, 0x1e);
	accepted("007", 16, 0x80);
}

static void test_refused(void **state)
{
	static const char *const forms[] = {"",     "-",  ",",     "0,",   ",0", "0-",   "-1",
					    "3-1",  "a",  "0x1",   "1 ,2", " 1", "1\n",  "0--2",
					    "0,,2", "+1", "1-2-3", "1.5",  "f",  "99,x", "0-9,"};

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		refused(forms[i], -EINVAL);
	refused("99999999999999999999", -EINVAL);
	refused("16", -ERANGE);
	refused("0-16", -ERANGE);
	refused("0,999999", -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_accepted), cmocka_unit_test(test_refused)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
