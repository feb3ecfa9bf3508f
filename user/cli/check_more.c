// SPDX-License-Identifier: GPL-2.0-or-later
/* Findings that take a look around: lockdown, queues and the CPUs behind them, listeners, who loaded a program. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/check.h"
#include "lib/sockets.h"

#define BACKLOG_SMALL 128

/* First line of a file without its end; -ENOENT. */
static int read_line(const char *path, char *line, int size)
{
	FILE *in = fopen(path, "re");
	int ret = in && fgets(line, size, in) ? 0 : -ENOENT;

	if (in)
		fclose(in);
	if (!ret)
		line[strcspn(line, "\n")] = '\0';
	return ret;
}

void check_version(struct check *check)
{
	struct utsname name;
	char line[128];

	if (!uname(&name))
		check_add(check, CHECK_OK, "kernel", "", "%s; what it can do is probed, whatever its number says",
			  name.release);
	if (read_line("/sys/kernel/security/lockdown", line, sizeof(line)))
		check_add(check, CHECK_OK, "lockdown", "", "not in this kernel, or not to be seen");
	else if (strstr(line, "[confidentiality]"))
		check_add(
			check, CHECK_WARN, "lockdown",
			"lockdown=integrity on the kernel's command line, if programs do not load",
			"confidentiality: BPF may not read the kernel's memory; the shield's programs read packets only");
	else
		check_add(check, CHECK_OK, "lockdown", "", "%s",
			  strstr(line, "[integrity]") ? "integrity: no matter" : "none");
}

/* A process that holds the program open, by its number in fdinfo, proc(5). Returns its pid, or 0. */
static int holder_of(uint32_t id, char comm[32])
{
	char path[300], line[128], want[32];
	DIR *proc = opendir("/proc");
	struct dirent *process, *file;
	int pid = 0;

	snprintf(want, sizeof(want), "prog_id:\t%u", id);
	while (proc && !pid && (process = readdir(proc))) {
		DIR *files;

		if (!isdigit((unsigned char)process->d_name[0]) || atoi(process->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/fdinfo", process->d_name);
		files = opendir(path);
		while (files && !pid && (file = readdir(files))) {
			FILE *in;

			snprintf(path, sizeof(path), "/proc/%.20s/fdinfo/%.20s", process->d_name, file->d_name);
			in = fopen(path, "re");
			while (in && !pid && fgets(line, sizeof(line), in)) {
				line[strcspn(line, "\n")] = '\0';
				if (!strcmp(line, want))
					pid = atoi(process->d_name);
			}
			if (in)
				fclose(in);
		}
		if (files)
			closedir(files);
	}
	if (proc)
		closedir(proc);
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (pid && read_line(path, comm, 32))
		comm[0] = '\0';
	return pid;
}

char *check_owner(uint32_t prog_id, char *buf, size_t size)
{
	char comm[32] = "";
	int pid = holder_of(prog_id, comm);

	if (pid)
		snprintf(buf, size, "held by %s, pid %d", comm, pid);
	else
		snprintf(buf, size, "no process holds it: attached by ip or pinned");
	return buf;
}

/* Whether any sender's CPU is tied to a queue. -1: it cannot be seen, as /sys may be that of another namespace. */
static int has_xps(const struct nic *nic)
{
	char path[128], line[512];

	snprintf(path, sizeof(path), "/sys/class/net/%s/ifindex", nic->name);
	if (read_line(path, line, sizeof(line)) || strtoul(line, NULL, 10) != nic->index)
		return -1;
	for (unsigned int i = 0; i < nic->queues; i++) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/queues/tx-%u/xps_cpus", nic->name, i);
		if (read_line(path, line, sizeof(line)))
			return -1;
		if (line[strspn(line, "0,")])
			return 1;
	}
	return 0;
}

void check_spread(struct check *check, const struct nic *nic)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char fix[160];

	if (!nic->queues)
		return;
	if (nic->queues == 1 && nic->queues_max > 1 && cpus > 1 && strcmp(nic->kind, "veth")) {
		snprintf(fix, sizeof(fix), "ethtool -L %s %s %ld", nic->name, nic->queues_word,
			 cpus < (long)nic->queues_max ? cpus : (long)nic->queues_max);
		check_add(check, CHECK_WARN, "RSS", fix, "1 of %u queues in use: one CPU judges every packet",
			  nic->queues_max);
	} else {
		check_add(check, CHECK_OK, "RSS", "", "%u of %u queues in use, %ld CPUs", nic->queues, nic->queues_max,
			  cpus);
	}
	if (nic->queues > 1 && !strcmp(nic->kind, "veth"))
		check_add(check, CHECK_OK, "XPS", "", "of no use to veth");
	else if (nic->queues > 1 && has_xps(nic) == 0) {
		snprintf(fix, sizeof(fix), "for each queue N: echo CPUMASK >/sys/class/net/%s/queues/tx-N/xps_cpus",
			 nic->name);
		check_add(check, CHECK_OK, "XPS", fix,
			  "no CPU is tied to a queue: answers may leave by another queue than requests came by");
	}
}

struct backlogs {
	struct check *check;
	const struct model *model;
};

static void look_at_listener(void *ctx, const struct sockets_listener *listener)
{
	const struct backlogs *look = ctx;

	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		const struct synhold_policy *pol = &look->model->service[id];
		const struct synhold_specs *specs = &look->model->specs[id];
		unsigned int need = pol->window_mode == SYNHOLD_WINDOW_FIXED ? pol->window : BACKLOG_SMALL;

		if (!pol->name[0] || !sockets_serves(listener, specs))
			continue;
		check_add(look->check, listener->limit < need ? CHECK_WARN : CHECK_OK, "backlog",
			  listener->limit < need ?
				  "sysctl -w net.core.somaxconn=4096, and a larger listen() in the server" :
				  "",
			  "%s: the listener on port %u takes %u connections that wait for accept(); the window %s %u",
			  pol->name, listener->port, listener->limit,
			  pol->window_mode == SYNHOLD_WINDOW_FIXED ? "is" : "may want", need);
	}
}

void check_listeners(struct check *check)
{
	__attribute__((cleanup(model_cleanup))) struct model *model = model_new();
	struct backlogs look = {check, model};
	struct instance inst;

	if (!model || instance_init(&inst, check->instance, NULL) || instance_open(&inst, NULL))
		return;
	instance_load_model(&inst, model);
	instance_close(&inst);
	sockets_listeners(look_at_listener, &look);
}
