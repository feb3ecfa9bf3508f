// SPDX-License-Identifier: GPL-2.0-or-later
/* The balancer's configuration, and what it says of itself. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "drill/front.h"

#define NAMES "# pxname,svname,qcur,status,chkfail,chkdown,econ,hrsp_5xx,last_chk,\n"

static void test_config(void **state)
{
	const struct front_plan plan = {.nodes = 2, .inter_ms = 3000, .fall = 2, .retries = 3};
	char text[4096];

	(void)state;
	assert_int_equal(front_config(&plan, 8000, text, sizeof(text)), 0);
	assert_non_null(strstr(text, "\tbind :8000\n"));
	assert_non_null(strstr(text, "\tretries 3\n"));
	assert_non_null(strstr(text, "check inter 3000ms downinter 1s fall 2 "));
	assert_non_null(strstr(text, "\tserver node0 10.99.0.2:8000\n\tserver node1 10.99.1.2:8000\n"));
	assert_null(strstr(text, "node2"));
	/* Cut short it would be another configuration. */
	assert_int_equal(front_config(&plan, 8000, text, 300), -ENOSPC);
}

static void test_parse(void **state)
{
	static const char csv[] = NAMES "front,FRONTEND,,OPEN,,,,17,,\n"
					"nodes,node0,0,UP,1,0,4,2,L7OK,\n"
					"nodes,node1,0,UP 1/2,2,1,0,0,L7TOUT,\n"
					"nodes,node2,0,DOWN,4,2,3,0,L7TOUT,\n"
					"nodes,node3,0,DOWN 1/2,2,1,0,0,L7OK,\n"
					"nodes,BACKEND,0,UP,,7,99,55,,\n"
					"\n";
	struct board_front front = {0};

	(void)state;
	assert_int_equal(front_parse(csv, &front), 0);
	assert_true(front.known);
	assert_int_equal(front.up, 2);
	assert_int_equal(front.fewest_up, 2);
	assert_int_equal(front.marked_down, 4);
	assert_int_equal(front.probes_lost, 9);
	assert_int_equal(front.connects_failed, 7);
	assert_int_equal(front.errors, 17);
}

/* The fewest there have been stays, whatever comes. */
static void test_fewest(void **state)
{
	static const char *const answers[] = {NAMES "nodes,a,0,UP,0,0,0,0,,\nnodes,b,0,UP,0,0,0,0,,\n",
					      NAMES "nodes,a,0,UP,0,0,0,0,,\nnodes,b,0,DOWN,2,1,0,0,,\n",
					      NAMES "nodes,a,0,UP,0,0,0,0,,\nnodes,b,0,UP,2,1,0,0,,\n"};
	static const uint32_t up[] = {2, 1, 2}, fewest[] = {2, 1, 1};
	struct board_front front = {0};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(front_parse(answers[i], &front), 0);
		assert_int_equal(front.up, up[i]);
		assert_int_equal(front.fewest_up, fewest[i]);
	}
}

static void test_refused(void **state)
{
	static const char *const bad[] = {"", "\n", "Unknown command.\n", "pxname,svname\nnodes,a\n"};
	struct board_front front = {.up = 3, .marked_down = 5}, before = front;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(front_parse(bad[i], &front), -EPROTO);
	assert_memory_equal(&front, &before, sizeof(front));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_fewest),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
