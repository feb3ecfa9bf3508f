// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/notice.h"
#include "cli/tell.h"
#include "lib/units.h"

static int bypass_now(const struct instance *inst)
{
	return instance_now_ns() < __atomic_load_n(&inst->control->bypass_until_ns, __ATOMIC_RELAXED);
}

int cli_bypass(struct cli *cli, int argc, char **argv)
{
	uint64_t for_ns = 0;
	const struct cli_option options[] = {{"for", 0, CLI_DURATION, &for_ns}, {0}};
	struct cli_words words;
	struct instance inst;
	struct error err = {0};
	char text[32], note[160];
	int ret, on = 0, was;

	ret = cli_parse(cli, argc, argv, options, &words, &err);
	if (!ret) {
		on = words.count == 1 && !strcmp(words.word[0], "on");
		if (!on && (words.count != 1 || strcmp(words.word[0], "off")))
			ret = cli_misuse(cli, &err, "bypass is on or off");
		else if (!on && for_ns)
			ret = cli_misuse(cli, &err, "--for goes with on");
	}
	if (!ret)
		ret = cli_open_writer(cli, &inst, &err);
	if (ret)
		return cli_fail(cli, &err);
	was = bypass_now(&inst);
	instance_bypass(&inst, !on ? 0 : for_ns ? instance_now_ns() + for_ns : SYNHOLD_FOREVER);
	notice_monitor(&inst, NULL, note, sizeof(note));
	tell(&inst, "bypass %s -> %s%s%s", was ? "on" : "off", on ? "on" : "off", for_ns ? ", for " : "",
	     for_ns ? units_format_duration(text, sizeof(text), for_ns) : "");
	instance_close(&inst);
	if (cli->json)
		return cli_print_json(cli, json_pack("{s:b,s:f}", "bypass", on, "for_seconds", (double)for_ns / 1e9));
	if (!on)
		printf("bypass is off: the limits are in force%s\n", note);
	else if (for_ns)
		printf("bypass is on: everything passes for %s\n", units_format_duration(text, sizeof(text), for_ns));
	else
		printf("bypass is on: everything passes until synhold bypass off\n");
	return cli_finish(cli);
}
