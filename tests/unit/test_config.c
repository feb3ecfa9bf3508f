// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the config file: what is read, what is refused and where. Writing: test_config_write.c */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/config.h"

static char dir[] = "/tmp/test_config.XXXXXX";
static char path[64];

static void put_file(const char *name, const char *text, size_t length)
{
	char file[96];
	FILE *out;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	out = fopen(file, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, length, out), length);
	assert_int_equal(fclose(out), 0);
}

static int read_text(const char *text, struct model *model, struct config_lists *lists, struct error *err)
{
	put_file("conf", text, strlen(text));
	return config_read(path, model, lists, err);
}

static struct model *read_good(const char *text, struct config_lists *lists)
{
	struct model *model = model_new();
	struct error err = {0};

	assert_non_null(model);
	if (read_text(text, model, lists, &err))
		fail_msg("refused: %s (%s)", err.message, err.hint);
	return model;
}

static void test_whole(void **state)
{
	struct config_lists lists = {0};
	struct model *model = read_good("# a comment\n"
					"[synhold]\n"
					"  global-rate = 5k ; five thousand\n"
					"hold-memory=32MiB\n"
					"allow = 10.0.0.0/8 rate 50 # probes ; of the balancer\n"
					"deny: 2001:db8::/32\n"
					"\n"
					"[service web]\n"
					"port = 80,8080-8090\n"
					"\tport = [2001:db8::/64]:80\n"
					"rate = 450\n"
					"window = none\n"
					"; another\n"
					"[service ssh] # the door\n"
					"closed = yes\n"
					"rate = 3\n" /* each section has keys of its own */
					"port = 22\n",
					&lists);
	int web = model_find(model, "web"), ssh = model_find(model, "ssh");

	(void)state;
	assert_int_equal(model_count(model), 2);
	assert_true(web >= 0 && ssh >= 0);
	assert_int_equal(model->global.global_rate_pps, 5000);
	assert_true(model->global.hold_memory_bytes == 32 << 20);
	assert_int_equal(model->specs[web].count, 3);
	assert_int_equal(model->service[web].rate_pps, 450);
	assert_true(model->service[web].rate_interval_ns > 0); /* compiled */
	assert_int_equal(model->service[web].window_mode, SYNHOLD_WINDOW_NONE);
	assert_int_equal(model->service[web].closed, 0);
	assert_int_equal(model->service[ssh].closed, 1);
	assert_int_equal(model->service[ssh].rate_pps, 3);
	assert_int_equal(lists.count[LIST_ALLOW], 1);
	assert_int_equal(lists.count[LIST_DENY], 1);
	assert_int_equal(lists.entry[LIST_ALLOW][0].value.rate_pps, 50);
	assert_int_equal(lists.entry[LIST_ALLOW][0].value.origin, LIST_BY_CONFIG);
	assert_true(lists.entry[LIST_ALLOW][0].value.until_ns == SYNHOLD_FOREVER);
	assert_string_equal(lists.entry[LIST_ALLOW][0].value.note, "probes ; of the balancer");
	assert_int_equal(lists.entry[LIST_DENY][0].prefixlen, 32);
	config_lists_free(&lists);
	model_free(model);
}

/* Forms that editors and other systems produce. */
static void test_forms(void **state)
{
	static const char *const same[] = {
		"[service web]\nport=80\nrate=7\n",
		"[service web]\r\nport = 80\r\nrate = 7\r\n",
		"\xef\xbb\xbf[service web]\nport = 80\nrate = 7",
		"[service   web ]  ; x\n  port   =   80  \n\n\n   rate = 7 ; y\n",
		"#\n;\n   # x\n[service web]\n# [service ssh]\nport = 80\nrate: 7\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		struct config_lists lists = {0};
		struct model *model = read_good(same[i], &lists);
		int id = model_find(model, "web");

		if (id < 0 || model->specs[id].count != 1 || model->service[id].rate_pps != 7 ||
		    model_count(model) != 1)
			fail_msg("form %zu is read as something else", i);
		config_lists_free(&lists);
		model_free(model);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *where, *what;
	} bad[] = {
		{"rate = 5\n", ":1:", "section"},
		{"x\n", ":1:", "line"},
		{"[synhold]\nx\n", ":2:", "line"},
		{"[synhold\n", ":1:", "section"},
		{"[]\n", ":1:", "section"},
		{"[Synhold]\n", ":1:", "section"},
		{"[service]\n", ":1:", "section"},
		{"[servce web]\n", ":1:", "section"},
		{"[service Web]\n", ":1:", "name"},
		{"[service we b]\n", ":1:", "name"},
		{"[service abcdefghijklmnopqrstuvwxyz0123456]\n", ":1:", "name"},
		{"[service web] x\n", ":1:", "section"},
		{"[synhold]\n[synhold]\n", ":2:", "already"},
		{"[service web]\nport = 80\n[service web]\n", ":3:", "already"},
		{"[service web]\n", ":1:", "no port"},
		{"[service web]\nrate = 5\n[synhold]\n", ":3:", "no port"},
		{"[service web]\nport = 80\nrate = x\n", ":3:", "rate"},
		{"[service web]\nport = 80\nrate =\n", ":3:", "rate"},
		{"[service web]\nport = 80\nrate = 5\nrate = 6\n", ":4:", "already"},
		{"[service web]\nport = 80\nfrob = 5\n", ":3:", "unknown key"},
		{"[service web]\nport = 80\nglobal-rate = 5\n", ":3:", "this section"},
		{"[service web]\nport = 80\nallow = 10.0.0.1\n", ":3:", "unknown key"},
		{"[service web]\nport = 80\nclosed = maybe\n", ":3:", "closed"},
		{"[service web]\nport = 80\nclosed = no\nclosed = no\n", ":4:", "already"},
		{"[synhold]\nrate = 5\n", ":2:", "this section"},
		{"[synhold]\nport = 80\n", ":2:", "unknown key"},
		{"[synhold]\nclosed = yes\n", ":2:", "unknown key"},
		{"[service web]\nport = 0\n", ":2:", "port"},
		{"[service web]\nport = ssh=22\n", ":2:", "name"},
		{"[service web]\nport = \n", ":2:", "port"},
		{"[service web]\nport = 80\n[service b]\nport = 80\n", "conf: ", "80"},
		{"[service web]\nport = 80\nwindow-min = 9\nwindow-max = 8\n", "conf: ", "window-min"},
		{"[synhold]\nallow = 10.0.0.1/8\n", ":2:", "list entry"},
		{"[synhold]\nallow =\n", ":2:", "list entry"},
		{"[synhold]\nallow = 10.0.0.1 rate\n", ":2:", "list entry"},
		{"[synhold]\nallow = 10.0.0.1 rate 0\n", ":2:", "list entry"},
		{"[synhold]\nallow = 10.0.0.1 rate 5 6\n", ":2:", "list entry"},
		{"[synhold]\nallow = 10.0.0.1 note\n", ":2:", "list entry"},
		{"[synhold]\ndeny = 10.0.0.1 rate 5\n", ":2:", "list entry"},
		{"[synhold]\ndeny = 10.0.0.1 for 5m\n", ":2:", "list entry"},
		{"[synhold]\nprefer = 10.0.0.1\n", ":2:", "list entry"},
		{"[synhold]\nprefer = 10.0.0.1 1\n", ":2:", "list entry"},
		{"[synhold]\nprefer = 10.0.0.1 129\n", ":2:", "list entry"},
		{"[synhold]\nprefer = 10.0.0.1 rate 5\n", ":2:", "list entry"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct model *model = model_new(), *before = model_new();
		struct config_lists lists = {0};
		struct error err = {0};

		assert_true(model && before);
		snprintf(model->service[3].name, sizeof(model->service[3].name), "kept");
		*before = *model;
		if (read_text(bad[i].text, model, &lists, &err) != -EINVAL)
			fail_msg("accepted: %s", bad[i].text);
		if (!strstr(err.message, bad[i].where) || !strstr(err.message, bad[i].what) ||
		    strncmp(err.message, dir, strlen(dir)))
			fail_msg("'%s' should name %s and '%s', for: %s", err.message, bad[i].where, bad[i].what,
				 bad[i].text);
		assert_true(err.hint[0]);
		assert_int_equal(error_exit_status(&err), 2);
		assert_memory_equal(model, before, sizeof(*model));
		assert_null(lists.entry[0]);
		assert_null(lists.entry[1]);
		model_free(model);
		model_free(before);
	}
}

/* inih reads lines of 200 bytes and would take the rest of a longer one for a line of its own. */
static void test_long_lines(void **state)
{
	char text[8192] = "[service web]\nport = 80\n#";
	size_t length = strlen(text);
	struct config_lists lists = {0};
	struct error err = {0};
	struct model *model;

	(void)state;
	memset(text + length, 'x', 4000);
	strcpy(text + length + 4000, "rate = 9\nrate = 7\n");
	model = read_good(text, &lists); /* a long comment is a comment to its end */
	assert_int_equal(model->service[model_find(model, "web")].rate_pps, 7);
	for (size_t spaces = 150; spaces < 1200; spaces += 7) {
		snprintf(text, sizeof(text), "[service web]\nport = 80\nhold-time = 5s%*srate = 9\n", (int)spaces, ";");
		if (read_text(text, model, &lists, &err)) {
			assert_non_null(strstr(err.message, "too long"));
			assert_non_null(strstr(err.message, ":3:"));
		} else {
			assert_int_equal(model->service[model_find(model, "web")].rate_pps, 0);
		}
		config_lists_free(&lists);
	}
	model_free(model);
}

static void test_nul(void **state)
{
	static const char text[] = "[service web]\nport = 80\nrate = 5\0000\nwindow = 7\n";
	struct model *model = model_new();
	struct config_lists lists = {0};
	struct error err = {0};

	(void)state;
	put_file("conf", text, sizeof(text) - 1);
	assert_int_equal(config_read(path, model, &lists, &err), -EINVAL);
	assert_non_null(strstr(err.message, ":3:"));
	model_free(model);
}

static void test_files(void **state)
{
	struct model *model = model_new();
	struct config_lists lists = {0};
	struct error err = {0};

	(void)state;
	assert_int_equal(config_read("/nonexistent/x.conf", model, &lists, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/nonexistent/x.conf"));
	assert_int_equal(error_exit_status(&err), 1);
	assert_int_equal(config_read(dir, model, &lists, &err), -EIO);
	assert_int_equal(read_text("", model, &lists, &err), 0);
	assert_int_equal(model_count(model), 0);
	model_free(model);
}

static void test_include(void **state)
{
	static const char more[] = "# bad ones\n192.0.2.7 # x\n\n  2001:db8::/48\n;\n",
			  wrong[] = "192.0.2.7\n192.0.2.1/24\n";
	struct config_lists lists = {0};
	struct error err = {0};
	struct model *model;

	(void)state;
	put_file("more", more, strlen(more));
	put_file("wrong", wrong, strlen(wrong));
	model = read_good("[synhold]\ninclude-deny = more\ninclude-allow = more\ndeny = 10.0.0.1\n", &lists);
	assert_int_equal(lists.count[LIST_DENY], 3);
	assert_int_equal(lists.count[LIST_ALLOW], 2);
	assert_string_equal(lists.entry[LIST_DENY][0].value.note, "x");
	config_lists_free(&lists);
	assert_int_equal(read_text("[synhold]\ninclude-deny = wrong\n", model, &lists, &err), -EINVAL);
	assert_non_null(strstr(err.message, "wrong:2:"));
	assert_int_equal(read_text("[synhold]\ninclude-deny = nothing\n", model, &lists, &err), -ENOENT);
	assert_int_equal(read_text("[synhold]\ninclude-deny = /nonexistent/list\n", model, &lists, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/nonexistent/list"));
	model_free(model);
}

/* Any bytes: no crash, no leak (under ASan), and either all or nothing. Deterministic. */
static void test_mangled(void **state)
{
	static const char seed[] =
		"[synhold]\nglobal-rate = 5k\nallow = 10.0.0.0/8 rate 5 # n\n[service web]\nport = [2001:db8::/64]:80,90-99\n"
		"rate = 450\nwindow = auto\nshare = 12.5%\nclosed = no\n";
	static const char bytes[] = "[]=:#;\n\r\t \"'0-9a.%/,\0\xff";
	struct model *model = model_new(), *before = model_new();
	uint32_t x = 1;

	(void)state;
	*before = *model;
	for (int round = 0; round < 3000; round++) {
		char text[sizeof(seed)];
		struct config_lists lists = {0};
		struct error err = {0};
		int ret;

		memcpy(text, seed, sizeof(text));
		for (int i = 0; i < 1 + round % 6; i++) {
			x = x * 1664525 + 1013904223;
			text[(x >> 8) % (sizeof(text) - 1)] = bytes[(x >> 24) % (sizeof(bytes) - 1)];
		}
		put_file("conf", text, sizeof(text) - 1);
		*model = *before;
		ret = config_read(path, model, &lists, &err);
		if (ret) {
			assert_true(ret == -EINVAL || ret == -ENOENT);
			assert_true(err.message[0]);
			assert_memory_equal(model, before, sizeof(*model));
			assert_int_equal(lists.count[0] + lists.count[1], 0);
		}
		config_lists_free(&lists);
	}
	model_free(model);
	model_free(before);
}

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/conf", dir);
	return 0;
}

static int remove_dir(void **state)
{
	static const char *const files[] = {"conf", "more", "wrong"};
	char file[96];

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(file, sizeof(file), "%s/%s", dir, files[i]);
		unlink(file);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),      cmocka_unit_test(test_forms), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_lines), cmocka_unit_test(test_nul),   cmocka_unit_test(test_files),
		cmocka_unit_test(test_include),

		cmocka_unit_test(test_mangled),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
