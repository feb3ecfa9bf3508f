// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check.h"

#define NEEDED_MIB 144 /* maps (about 86 MiB), the program's own, and hold-memory at its default */
#define SPARE_MIB 256
#define SOMAXCONN_SMALL 512

/* A number from a file of /proc, or -1. */
static long read_number(const char *path)
{
	FILE *in = fopen(path, "re");
	long value = -1;

	if (in && fscanf(in, "%ld", &value) != 1)
		value = -1;
	if (in)
		fclose(in);
	return value;
}

static void check_memory(struct check *check)
{
	FILE *in = fopen("/proc/meminfo", "re");
	unsigned long kib = 0;
	char line[128];
	enum check_level level;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "MemAvailable: %lu", &kib) == 1)
			break;
	if (in)
		fclose(in);
	if (!kib)
		return;
	level = kib / 1024 < NEEDED_MIB ? CHECK_FAIL : kib / 1024 < SPARE_MIB ? CHECK_WARN : CHECK_OK;
	check_add(check, level, "memory", level == CHECK_OK ? "" : "free some, or lower hold-memory",
		  "%lu MiB available; an instance takes up to %d MiB", kib / 1024, NEEDED_MIB);
}

static void check_sysctls(struct check *check)
{
	long value = read_number("/proc/sys/kernel/unprivileged_bpf_disabled");

	if (value == 0)
		check_add(check, CHECK_WARN, "unprivileged BPF", "sysctl -w kernel.unprivileged_bpf_disabled=2",
			  "any user may load BPF programs; the shield needs no such thing");
	else if (value > 0)
		check_add(check, CHECK_OK, "unprivileged BPF", "", "off");
	if (read_number("/proc/sys/net/core/bpf_jit_enable") == 0)
		check_add(check, CHECK_WARN, "BPF JIT", "sysctl -w net.core.bpf_jit_enable=1",
			  "off: every packet costs several times more");
	value = read_number("/proc/sys/net/core/somaxconn");
	if (value >= 0 && value < SOMAXCONN_SMALL)
		check_add(check, CHECK_WARN, "somaxconn",
			  "sysctl -w net.core.somaxconn=4096, and a matching listen() in the server",
			  "%ld: accept queues overflow before a window can open", value);
	else if (value >= 0)
		check_add(check, CHECK_OK, "somaxconn", "", "%ld", value);
	value = read_number("/proc/sys/net/ipv4/tcp_syncookies");
	if (value == 0)
		check_add(check, CHECK_WARN, "SYN cookies", "sysctl -w net.ipv4.tcp_syncookies=1",
			  "off: a flood of spoofed SYNs below the limits fills the kernel's SYN queue");
	else if (value == 2)
		check_add(check, CHECK_WARN, "SYN cookies", "sysctl -w net.ipv4.tcp_syncookies=1",
			  "always on: TCP options are lost for nothing");
	else if (value == 1)
		check_add(check, CHECK_OK, "SYN cookies", "", "when they are needed");
}

void check_host(struct check *check)
{
	check_memory(check);
	check_sysctls(check);
}
