// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Load behind accept(): the kernel's pressure stall information, of the host and of the cgroup of the process that
 * listens, and what an application says of itself on signal.sock. PSI of the CPU is an alarm only: a server that works
 * at full speed shows it too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/state.h"
#include "lib/log.h"
#include "lib/signal_line.h"
#include "lib/signals.h"

#define PSI_PERIOD_NS 1000000000ULL
#define PSI_CPU_TARGET 0.9
#define PSI_MEMORY_TARGET 0.4
#define PSI_IO_TARGET 0.9
#define APPLICATION_SIGNALS 64
#define APPLICATION_SHOWN_NS 60000000000ULL /* after its time: with its age, for people to see that it stays out */

enum { PSI_CPU, PSI_MEMORY, PSI_IO, PSI_COUNT };
static const char *const psi_names[PSI_COUNT] = {"cpu", "memory", "io"};
static const double psi_targets[PSI_COUNT] = {PSI_CPU_TARGET, PSI_MEMORY_TARGET, PSI_IO_TARGET};

/* Stall time of one place, and the share of the last period that was stalled. */
struct psi {
	uint64_t total_us[PSI_COUNT];
	double share[PSI_COUNT]; /* < 0: not known */
	int known;
};

struct application {
	struct signal_line line;
	uint64_t when_ns, until_ns;
};

struct pressure {
	uint64_t read_ns;
	struct psi host;
	struct psi cgroup[SYNHOLD_SERVICES];
	char cgroup_path[SYNHOLD_SERVICES][160]; /* empty: not known */
	uint32_t cgroup_inode[SYNHOLD_SERVICES]; /* of the listener whose process was looked up */
	struct application application[APPLICATION_SIGNALS];
	struct event *event;
	int socket;
};

/* "some avg10=... total=N": the total, microseconds. */
static int read_total(const char *path, uint64_t *total_us)
{
	FILE *file = fopen(path, "re");
	unsigned long long total;
	int ok;

	if (!file)
		return -errno;
	ok = fscanf(file, "some avg10=%*f avg60=%*f avg300=%*f total=%llu", &total) == 1;
	fclose(file);
	if (!ok)
		return -EPROTO;
	*total_us = total;
	return 0;
}

static void read_place(struct psi *psi, const char *format, const char *base, uint64_t elapsed_ns)
{
	for (int i = 0; i < PSI_COUNT; i++) {
		uint64_t total = 0;
		char path[256];

		snprintf(path, sizeof(path), format, base, psi_names[i]);
		if (read_total(path, &total)) {
			psi->share[i] = -1;
			continue;
		}
		psi->share[i] =
			psi->known && elapsed_ns ? (double)(total - psi->total_us[i]) * 1000 / (double)elapsed_ns : -1;
		if (psi->share[i] > 1) /* the kernel adds up what is older than our last look */
			psi->share[i] = 1;
		psi->total_us[i] = total;
	}
	psi->known = 1;
}

/* Whether a process has the socket open. */
static int has_socket(const char *pid, uint32_t inode)
{
	char path[300], link[64], want[32];
	struct dirent *entry;
	int found = 0;
	DIR *dir;

	snprintf(want, sizeof(want), "socket:[%u]", inode);
	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);

		if (n <= 0)
			continue;
		link[n] = '\0';
		found = !strcmp(link, want);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* cgroup v2 path of the process that holds the listener. A walk through /proc: done once for each new listener. */
static void find_cgroup(struct pressure *p, const struct service *svc)
{
	DIR *proc = opendir("/proc");
	char path[300], line[256];
	struct dirent *entry;

	p->cgroup_inode[svc->id] = svc->listener_inode;
	p->cgroup_path[svc->id][0] = '\0';
	memset(&p->cgroup[svc->id], 0, sizeof(p->cgroup[svc->id]));
	while (proc && (entry = readdir(proc))) {
		FILE *file;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !has_socket(entry->d_name, svc->listener_inode))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cgroup", entry->d_name);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file)) {
			line[strcspn(line, "\n")] = '\0';
			if (!strncmp(line, "0::/", 4) && line[4]) /* the root group says what the host says */
				snprintf(p->cgroup_path[svc->id], sizeof(p->cgroup_path[0]), "/sys/fs/cgroup%.140s",
					 line + 3);
		}
		if (file)
			fclose(file);
		break;
	}
	if (proc)
		closedir(proc);
}

void pressure_read(struct daemon *d, uint64_t now_ns)
{
	struct pressure *p = d->pressure;
	uint64_t elapsed_ns = now_ns - p->read_ns;

	if (p->read_ns && elapsed_ns < PSI_PERIOD_NS)
		return;
	if (!p->read_ns)
		elapsed_ns = 0;
	p->read_ns = now_ns;
	read_place(&p->host, "%s/%s", "/proc/pressure", elapsed_ns);
	for (int i = 0; i < PSI_COUNT; i++)
		d->inst->daemon->pressure_permille[i] =
			p->host.share[i] < 0 ? 0 : (uint32_t)(p->host.share[i] * 1000) + 1;
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++) {
		const struct service *svc = &d->service[i];

		if (!svc->active || !svc->listeners)
			continue;
		if (svc->listener_inode != p->cgroup_inode[i])
			find_cgroup(p, svc);
		if (p->cgroup_path[i][0])
			read_place(&p->cgroup[i], "%s/%s.pressure", p->cgroup_path[i], elapsed_ns);
	}
}

static void add(struct control_input *in, const char *name, double ratio, bool alarm)
{
	if (in->pressures < CONTROL_SIGNALS && ratio >= 0)
		in->pressure[in->pressures++] = (struct control_pressure){.name = name, .ratio = ratio, .alarm = alarm};
}

static const char *const host_names[PSI_COUNT] = {"host-cpu", "host-memory", "host-io"};
static const char *const cgroup_names[PSI_COUNT] = {"cgroup-cpu", "cgroup-memory", "cgroup-io"};

void pressure_fill(struct service *svc, struct control_input *in)
{
	struct pressure *p = svc->daemon->pressure;

	/* the application knows best: its signals first */
	for (unsigned int i = 0; i < APPLICATION_SIGNALS; i++) {
		const struct application *a = &p->application[i];

		if (a->until_ns > in->now_ns && !strcmp(a->line.service, svc->policy.name))
			add(in, a->line.name, a->line.value / a->line.target, false);
	}
	for (int i = 0; i < PSI_COUNT; i++) {
		add(in, cgroup_names[i], p->cgroup_path[svc->id][0] ? p->cgroup[svc->id].share[i] / psi_targets[i] : -1,
		    i != PSI_MEMORY);
		add(in, host_names[i], p->host.share[i] / psi_targets[i], i != PSI_MEMORY);
	}
}

static void share_place(const struct psi *psi, const char *const names[PSI_COUNT], uint64_t when_ns,
			struct synhold_signals *set)
{
	for (int i = 0; i < PSI_COUNT; i++)
		if (psi->known && psi->share[i] >= 0)
			signals_add(set, names[i], SYNHOLD_UNIT_RATIO, psi->share[i], psi_targets[i], when_ns);
}

void pressure_share(const struct service *svc, struct synhold_signals *set, uint64_t now_ns)
{
	const struct pressure *p = svc->daemon->pressure;

	share_place(&p->host, host_names, p->read_ns, set);
	if (svc->listeners && p->cgroup_path[svc->id][0])
		share_place(&p->cgroup[svc->id], cgroup_names, p->read_ns, set);
	for (unsigned int i = 0; i < APPLICATION_SIGNALS; i++) {
		const struct application *a = &p->application[i];

		if (a->until_ns && a->until_ns + APPLICATION_SHOWN_NS > now_ns &&
		    !strcmp(a->line.service, svc->policy.name))
			signals_add(set, a->line.name, SYNHOLD_UNIT_COUNT, a->line.value, a->line.target, a->when_ns);
	}
}

static void on_datagram(evutil_socket_t fd, short what, void *ctx)
{
	char text[SIGNAL_LINE_MAX];
	struct daemon *d = ctx;
	struct pressure *p = d->pressure;

	(void)what;
	for (int budget = 64; budget; budget--) {
		ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
		struct application *place = NULL;
		struct signal_line line;

		if (n <= 0)
			return;
		text[n] = '\0';
		if (signal_line_parse_text(text, &line, NULL))
			continue; /* the sender cannot be told; the command checks before it sends */
		for (unsigned int i = 0; i < APPLICATION_SIGNALS; i++) {
			struct application *a = &p->application[i];

			if (!strcmp(a->line.service, line.service) && !strcmp(a->line.name, line.name)) {
				place = a;
				break;
			}
			if (!place && a->until_ns <= instance_now_ns())
				place = a;
		}
		if (!place)
			continue;
		place->line = line;
		place->when_ns = instance_now_ns();
		place->until_ns = place->when_ns + line.for_ns;
	}
}

int pressure_init(struct daemon *d, struct error *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct pressure *p = calloc(1, sizeof(*p));
	mode_t before;
	int ret;

	if (!p)
		return error_set(err, -ENOMEM, "out of memory");
	d->pressure = p;
	p->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->socket < 0)
		return error_set(err, -errno, "the signal socket cannot be made: %s", strerror(errno));
	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/signal.sock", d->inst->run_dir) >=
	    (int)sizeof(addr.sun_path))
		return error_set(err, -ENAMETOOLONG, "%s/signal.sock: the path is too long", d->inst->run_dir);
	unlink(addr.sun_path);
	before = umask(0117);
	ret = bind(p->socket, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(before);
	if (ret)
		return error_set(err, ret, "%s: %s", addr.sun_path, strerror(-ret));
	p->event = event_new(d->base, p->socket, EV_READ | EV_PERSIST, on_datagram, d);
	if (!p->event || event_add(p->event, NULL))
		return error_set(err, -ENOMEM, "out of memory");
	return 0;
}

void pressure_free(struct daemon *d)
{
	char path[192];

	if (!d->pressure)
		return;
	if (d->pressure->event)
		event_free(d->pressure->event);
	if (d->pressure->socket >= 0)
		close(d->pressure->socket);
	free(d->pressure);
	d->pressure = NULL;
	snprintf(path, sizeof(path), "%s/signal.sock", d->inst->run_dir);
	unlink(path);
}
