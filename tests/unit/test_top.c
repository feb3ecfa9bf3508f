// SPDX-License-Identifier: GPL-2.0-or-later
/* `top`: rates and curves out of snapshots, and what is drawn of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/top.h"

static struct top_screen screen;

static struct snapshot_service services[3];
static struct snapshot snap;

static void begin(unsigned int count)
{
	memset(services, 0, sizeof(services));
	memset(&snap, 0, sizeof(snap));
	snprintf(snap.instance, sizeof(snap.instance), "default");
	snap.attached = snap.daemon_alive = 1;
	snap.daemon_pid = 4711;
	snap.interface_count = 1;
	snprintf(snap.interface[0].name, sizeof(snap.interface[0].name), "eth0");
	snap.interface[0].present = 1;
	snap.now_ns = 5000000000;
	snap.service = services;
	snap.service_count = count;
	for (unsigned int i = 0; i < count; i++) {
		snprintf(services[i].policy.name, sizeof(services[i].policy.name), "svc-%u", i);
		services[i].state = SNAPSHOT_OPEN;
		services[i].window = 64;
	}
}

static const char *line_text(unsigned int line)
{
	static char text[TOP_COLUMNS_MAX + 1];
	unsigned int end = screen.columns;

	while (end && screen.cell[line][end - 1] == ' ')
		end--;
	for (unsigned int i = 0; i < end; i++)
		text[i] = screen.cell[line][i] < 128 ? (char)screen.cell[line][i] : '#';
	text[end] = '\0';
	return text;
}

static int on_screen(const char *text)
{
	for (unsigned int i = 0; i < screen.lines; i++)
		if (strstr(line_text(i), text))
			return 1;
	return 0;
}

static void draw(const struct top *top, unsigned int columns, unsigned int lines)
{
	screen.lines = lines;
	screen.columns = columns;
	top_draw(top, &screen);
}

static void rates_are_of_the_time_between_two_looks(void **state)
{
	struct top top = {0};

	(void)state;
	begin(1);
	services[0].count.seen = 1000;
	assert_int_equal(top_look(&top, &snap), 0);
	assert_true(top.row[0].syn_pps < 0); /* nothing to compare with */
	assert_null(top.row[0].limit);
	snap.now_ns += 2000000000;
	services[0].count.seen = 1500;
	services[0].count.verdict[SYNHOLD_VERDICT_ADMIT] = 300;
	services[0].count.outcome[SYNHOLD_OUTCOME_SETTLED] = 100;
	services[0].count.over_limit[SYNHOLD_REASON_WINDOW] = 150;
	services[0].count.over_limit[SYNHOLD_REASON_SHARE] = 50;
	services[0].runtime.held = 150;
	assert_int_equal(top_look(&top, &snap), 0);
	assert_true(top.row[0].syn_pps == 250);
	assert_true(top.row[0].in_pps == 150);
	assert_true(top.row[0].settled_pps == 50);
	assert_string_equal(top.row[0].limit, "window");
	assert_true(top_point(&top.row[0], TOP_SYN, 0) == 250);
	assert_true(top_point(&top.row[0], TOP_SYN, 1) < 0);
	assert_true(top_point(&top.row[0], TOP_HELD, 0) == 150);
	assert_true(top_point(&top.row[0], TOP_HELD, 2) < 0);
	top_free(&top);
}

/* The place of a service may go to another, and its counters start anew. */
static void nothing_goes_backwards(void **state)
{
	struct top top = {0};

	(void)state;
	begin(1);
	services[0].count.seen = 1000;
	services[0].count.over_limit[SYNHOLD_REASON_WINDOW] = 1000;
	assert_int_equal(top_look(&top, &snap), 0);
	snap.now_ns += 1000000000;
	services[0].count.seen = 10;
	services[0].count.over_limit[SYNHOLD_REASON_WINDOW] = 0;
	assert_int_equal(top_look(&top, &snap), 0);
	assert_true(top.row[0].syn_pps < 0);
	assert_null(top.row[0].limit);
	top_free(&top);
}

static void the_selected_service_stays_selected(void **state)
{
	struct top top = {0};

	(void)state;
	begin(3);
	assert_int_equal(top_look(&top, &snap), 0);
	top.selected = 2;
	services[0] = services[2]; /* the first two are gone */
	snap.service_count = 1;
	snap.now_ns += 1000000000;
	assert_int_equal(top_look(&top, &snap), 0);
	assert_int_equal(top.rows, 1);
	assert_int_equal(top.selected, 0);
	assert_string_equal(top.row[0].name, "svc-2");
	snap.service_count = 0;
	assert_int_equal(top_look(&top, &snap), 0);
	assert_int_equal(top.rows, 0);
	draw(&top, 80, 24);
	top_free(&top);
}

static void what_stands_on_the_screen(void **state)
{
	struct top top = {0};

	(void)state;
	begin(2);
	services[0].state = SNAPSHOT_LIMITING;
	services[0].runtime.held = 1234;
	services[0].inflight = 17;
	assert_int_equal(top_look(&top, &snap), 0);
	draw(&top, 80, 24);
	assert_string_equal(line_text(0), "synhold default  daemon 4711  eth0 native");
	assert_true(on_screen("svc-0   limiting"));
	assert_true(on_screen("1234"));
	assert_true(on_screen("svc-1   open"));
	assert_true(on_screen("q quit"));
	assert_false(on_screen("OVER THEIR OWN LIMIT"));
	services[0].offender_count = 1;
	memcpy(services[0].offender[0].addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x07", 16);
	services[0].offender[0].prefixlen = 128;
	services[0].offender[0].refused = 4321;
	services[0].offender[0].last_ns = snap.now_ns;
	assert_int_equal(top_look(&top, &snap), 0);
	draw(&top, 80, 24);
	assert_true(on_screen("OVER THEIR OWN LIMIT"));
	assert_true(on_screen("10.0.0.7"));
	assert_true(on_screen("4321"));
	snap.daemon_alive = 0;
	snap.bypass_until_ns = SYNHOLD_FOREVER;
	assert_int_equal(top_look(&top, &snap), 0);
	snprintf(top.prompt, sizeof(top.prompt), "really?");
	draw(&top, 80, 24);
	assert_true(on_screen("NO DAEMON"));
	assert_true(on_screen("BYPASS"));
	assert_true(on_screen("really?"));
	assert_false(on_screen("q quit"));
	top_free(&top);
}

/* The highest point is the highest step, zero is a blank, and a little is more than nothing. */
static void a_curve(void **state)
{
	static const uint32_t held[] = {0, 1, 500, 1000};
	struct top top = {0};
	unsigned int line;

	(void)state;
	begin(1);
	for (unsigned int i = 0; i < sizeof(held) / sizeof(*held); i++) {
		services[0].runtime.held = held[i];
		snap.now_ns += 1000000000;
		assert_int_equal(top_look(&top, &snap), 0);
	}
	screen.unicode = 0;
	draw(&top, 80, 24);
	for (line = 0; line < 24 && strncmp(line_text(line), "held", 4); line++)
		;
	assert_true(line < 24);
	assert_int_equal(screen.cell[line][79], '#');
	assert_int_equal(screen.cell[line][78], '=');
	assert_int_equal(screen.cell[line][77], '.');
	assert_int_equal(screen.cell[line][76], ' ');
	assert_non_null(strstr(line_text(line), "max 1000"));
	screen.unicode = 1;
	draw(&top, 80, 24);
	assert_int_equal(screen.cell[line][79], 0x2588);
	for (unsigned int i = 0; i < 2 * TOP_HISTORY; i++) /* a ring that has gone round */
		assert_int_equal(top_look(&top, &snap), 0);
	draw(&top, TOP_COLUMNS_MAX, TOP_LINES_MAX);
	top_free(&top);
}

static void any_size(void **state)
{
	struct top top = {0};

	(void)state;
	begin(3);
	snprintf(services[1].policy.name, sizeof(services[1].policy.name), "a-name-that-is-as-long-as-they-get");
	assert_int_equal(top_look(&top, &snap), 0);
	top.selected = 2;
	top.sources = 2;
	snprintf(top.source[0].name, sizeof(top.source[0].name), "10.0.0.1/32");
	for (unsigned int lines = 1; lines <= 60; lines++)
		for (unsigned int columns = 1; columns <= 130; columns += 3) {
			/* what lies outside stays as it was */
			memset(screen.cell, 0x7f, sizeof(screen.cell));
			draw(&top, columns, lines);
			assert_int_equal(screen.cell[lines][0], 0x7f7f7f7f);
			assert_int_equal(screen.cell[0][columns], 0x7f7f7f7f);
			if (lines > 6 && columns > 20)
				assert_true(on_screen("svc-2")); /* the selected one is in sight */
		}
	top.help = 1;
	draw(&top, 80, 24);
	assert_true(on_screen("another service"));
	top_free(&top);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_of_the_time_between_two_looks),
		cmocka_unit_test(nothing_goes_backwards),
		cmocka_unit_test(the_selected_service_stays_selected),
		cmocka_unit_test(what_stands_on_the_screen),
		cmocka_unit_test(a_curve),
		cmocka_unit_test(any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
