// SPDX-License-Identifier: GPL-2.0-or-later
/* What `events` tells of two snapshots: states that change, offenders that appear or get worse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/events_watch.h"

static struct events_watch watch;
static struct snapshot_service services[2];
static struct snapshot snap;
static char told[1024];

static void tell(void *ctx, const struct events_change *change)
{
	size_t used = strlen(told);

	(void)ctx;
	if (change->kind == EVENTS_STATE)
		snprintf(told + used, sizeof(told) - used, "%s:%s>%s ", change->service, change->from, change->to);
	else
		snprintf(told + used, sizeof(told) - used, "%s:%s=%llu ", change->service, change->source,
			 (unsigned long long)change->refused);
}

static const char *look(const char *service)
{
	told[0] = '\0';
	events_watch(&watch, &snap, service, tell, NULL);
	return told;
}

static int begin(void **state)
{
	(void)state;
	memset(&watch, 0, sizeof(watch));
	memset(services, 0, sizeof(services));
	snap = (struct snapshot){.service = services, .service_count = 1};
	snprintf(services[0].policy.name, sizeof(services[0].policy.name), "web");
	snprintf(services[1].policy.name, sizeof(services[1].policy.name), "ssh");
	services[1].id = 7;
	services[0].state = services[1].state = SNAPSHOT_OPEN;
	return 0;
}

static void offends(unsigned int i, uint8_t last_byte, uint64_t refused)
{
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 10};
	struct offender *o = &services[0].offender[i];

	memcpy(o->addr, mapped, sizeof(mapped));
	o->addr[15] = last_byte;
	o->prefixlen = 128;
	o->refused = refused;
	if (services[0].offender_count < i + 1)
		services[0].offender_count = i + 1;
}

static void a_state_is_told_when_it_changes(void **state)
{
	(void)state;
	assert_string_equal(look(NULL), ""); /* what is there is no news */
	assert_string_equal(look(NULL), "");
	services[0].state = SNAPSHOT_LIMITING;
	assert_string_equal(look(NULL), "web:open>limiting ");
	assert_string_equal(look(NULL), "");
	snap.service_count = 2;
	assert_string_equal(look(NULL), "ssh:>open ");
	services[0].state = services[1].state = SNAPSHOT_CLOSED;
	assert_string_equal(look("ssh"), "ssh:open>closed ");
}

static void an_offender_is_told_when_it_is_new_or_worse(void **state)
{
	(void)state;
	offends(0, 1, 100);
	assert_string_equal(look(NULL), "");
	offends(0, 1, 199);
	assert_string_equal(look(NULL), "");
	offends(0, 1, 200);
	offends(1, 2, 5);
	assert_string_equal(look(NULL), "web:10.0.0.1=200 web:10.0.0.2=5 ");
	assert_string_equal(look(NULL), "");
	offends(0, 2, 10); /* the order of the list says nothing */
	offends(1, 1, 300);
	assert_string_equal(look(NULL), "web:10.0.0.2=10 ");
}

/* More than can be noted: those that were told of least make room, and nobody is told at every look. */
static void many_offenders(void **state)
{
	(void)state;
	look(NULL);
	for (unsigned int i = 0; i < OFFENDERS_SHOWN; i++)
		offends(i, (uint8_t)(i + 1), 1000 + i);
	look(NULL);
	assert_non_null(strstr(told, "10.0.0.16=1015"));
	assert_string_equal(look(NULL), "");
	offends(0, 99, 5000);
	assert_string_equal(look(NULL), "web:10.0.0.99=5000 ");
	assert_string_equal(look(NULL), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_state_is_told_when_it_changes, begin),
		cmocka_unit_test_setup(an_offender_is_told_when_it_is_new_or_worse, begin),
		cmocka_unit_test_setup(many_offenders, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
