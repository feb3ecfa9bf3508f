// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of commands: main dispatches by it, help and the man page are checked against it. */
#include <string.h>

#include "cli/cli.h"

const struct cli_command cli_commands[] = {
	{"check", "[IFACE]", "what stands in the way here, and what to do about it; exit 3: only warnings", cli_check,
	 0},
	{"run",
	 "[IFACE...] [--port SPEC]... [KEY=VALUE]... [-c FILE] [--metrics ADDR:PORT] [--mode auto|native|generic] [--cpus LIST] [--chain] [--group NAME] [--allow-me] [--detach-on-exit] [--no-sandbox]",
	 "attach, control, hold and export, in the foreground", cli_run, 0},
	{"attach",
	 "IFACE... [--port SPEC]... [KEY=VALUE]... [-c FILE] [--mode auto|native|generic] [--chain] [--allow-me] [--confirm DURATION]",
	 "attach with static limits and exit; no daemon needed", cli_attach, 0},
	{"detach", "IFACE...|--all", "take it off, remove the pins; with the last interface, end the daemon",
	 cli_detach, 0},
	{"set", "SERVICE KEY=VALUE... [--allow-me] [--confirm DURATION]",
	 "change a policy now; '*' takes global keys, and others for every service", cli_set, 0},
	{"open", "SERVICE [--for DURATION]", "let a closed service's connections in again", cli_open, 0},
	{"close", "SERVICE [--for DURATION] [--confirm DURATION]", "let no new connection of a service in", cli_close,
	 0},
	{"ramp", "SERVICE --from P% --to P% --over DURATION | SERVICE pause|resume|reverse|cancel",
	 "let a growing (or shrinking) share of the sources in", cli_ramp, 0},
	{"flush", "SERVICE", "reset the connections that wait unaccepted in the listener's queue", cli_flush, 0},
	{"bypass", "on|off [--for DURATION]", "panic lever: everything passes, nothing is detached", cli_bypass, 0},
	{"confirm", "", "keep what --confirm would undo", cli_confirm, 0},
	{"allow", "[add CIDR [--for DURATION] [--rate N] [--note TEXT] | del CIDR | load FILE]",
	 "addresses that pass beside the limits, up to a rate of their own", cli_allow, 0},
	{"deny", "[add CIDR [--for DURATION] [--note TEXT] [--confirm DURATION] | del CIDR | load FILE]",
	 "addresses whose connections are dropped", cli_deny, 0},
	{"prefer", "[add CIDR WEIGHT | del CIDR]", "sources whose held connections are released first", cli_prefer, 0},
	{"signal", "SERVICE NAME VALUE [--target V] [--for DURATION]", "an application reports its own load",
	 cli_signal, 0},
	{"status", "[SERVICE [--held]]", "what is going on; --held: the sources that wait", cli_status, 0},
	{"top", "[--interval DURATION] [--once]", "the same as it changes, with keys to open, close and set", cli_top,
	 0},
	{"events", "[--follow ADDR] [--service NAME] [--for DURATION] [--rate N]",
	 "verdicts as they are given, states and offenders as they change", cli_events, 0},
	{"explain", "SERVICE", "why the gate is where it is", cli_explain, 0},
	{"suggest", "SERVICE", "limits from what was observed, as set lines", cli_suggest, 0},
	{"metrics", "", "the Prometheus text", cli_metrics, 0},
	{"save", "[-o FILE]", "the running policy as a config file", cli_save, 0},
	{"diff", "[-c FILE]", "the running policy against the config file", cli_diff, 0},
	{"reload", "[-c FILE] [--confirm DURATION]",
	 "read the config file again: all of it comes into force, or nothing", cli_reload, 0},
	{"drill", "[NAME] [OPTION...]", "replay an incident in private namespaces, without and with the shield",
	 cli_drill, 1},
	{"help", "[COMMAND|keys]", "this list, a command's usage, or the policy keys", cli_help, 0},
	{0},
};

const struct cli_command *cli_find(const char *name)
{
	for (const struct cli_command *command = cli_commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}
