// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/daemon.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/state.h"
#include "lib/log.h"

#define TICK_US 100000
#define WATCHDOG_TICKS 5 /* twice a second: WatchdogSec= of a second or more is met */

/* sd_notify(3): a datagram to the socket that systemd names. */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	int fd;

	if (!length || length >= sizeof(addr.sun_path))
		return;
	memcpy(addr.sun_path, path, length);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* never wait for a supervisor that does not read: a release would wait with us */
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&addr,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0 &&
	    errno != EAGAIN)
		log_line(LOG_LEVEL_WARNING, "systemd cannot be told '%s': %s", state, strerror(errno));
	close(fd);
}

/* The server may eat every core: a released handshake must not wait for it. One real-time priority above none is
 * enough. */
static void raise_priority(void)
{
	const struct sched_param param = {.sched_priority = 1};

	if (!sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param))
		return;
	if (setpriority(PRIO_PROCESS, 0, -20))
		log_line(LOG_LEVEL_WARNING,
			 "priority cannot be raised (%s): releases may be late while every core is busy",
			 strerror(errno));
}

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct daemon *d = ctx;

	(void)fd;
	(void)what;
	tick_run(d);
	confine_report();
	if (d->watchdog && d->ticks % WATCHDOG_TICKS == 0)
		notify("WATCHDOG=1");
}

static void on_signal(evutil_socket_t number, short what, void *ctx)
{
	struct daemon *d = ctx;
	struct error err;

	(void)what;
	if (number != SIGHUP) {
		log_line(
			LOG_LEVEL_INFO, "signal %d: stopping; %s", (int)number,
			d->options->detach_on_exit ?
				"the interfaces are detached (--detach-on-exit)" :
				"limits stay in force without holding, as each fallback says; synhold detach --all takes them off");
		d->stopping = 1;
		event_base_loopbreak(d->base);
		return;
	}
	if (!d->options->reload) {
		log_line(LOG_LEVEL_WARNING, "SIGHUP: there is no config file to read again");
		return;
	}
	notify("RELOADING=1");
	if (d->options->reload(d->options->reload_ctx, &err))
		log_line(LOG_LEVEL_ERROR, "reload failed, nothing changed: %s%s%s", err.message,
			 err.hint[0] ? "; " : "", err.hint);
	notify("READY=1");
}

static int start(struct daemon *d, struct error *err)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
	const struct timeval tick = {.tv_usec = TICK_US};
	struct event_config *config = event_config_new();
	int ret;

	if (config) {
		event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER); /* the coarse clock has steps of 4 ms */
		d->base = event_base_new_with_config(config);
		event_config_free(config);
	}
	d->memory = holdq_memory_new(HOLDQ_MEMORY_DEFAULT_BYTES);
	if (!d->base || !d->memory || event_base_priority_init(d->base, 2))
		return error_set(err, -ENOMEM, "the event loop cannot be made");
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < 3; i++) {
		d->signals[i] = evsignal_new(d->base, numbers[i], on_signal, d);
		if (!d->signals[i] || event_add(d->signals[i], NULL))
			return error_set(err, -ENOMEM, "signals cannot be handled");
	}
	d->tick_timer = event_new(d->base, -1, EV_PERSIST, on_tick, d);
	if (!d->tick_timer || event_add(d->tick_timer, &tick))
		return error_set(err, -ENOMEM, "the timer cannot be made");
	adopt_state(d);
	tick_load_policy(d, 1);
	ret = release_init(d, err);
	if (!ret)
		ret = intake_init(d, err);
	if (!ret)
		ret = pressure_init(d, err);
	if (!ret)
		ret = links_init(d, err);
	if (!ret)
		ret = clients_init(d, err);
	return ret;
}

static void stop(struct daemon *d)
{
	clients_free(d);
	pressure_free(d);
	links_free(d);
	lists_view_end(&d->prefer);
	intake_free(d);
	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++) {
		struct service *svc = &d->service[i];

		if (!svc->queue)
			continue;
		release_flush(svc, d->detached || d->options->detach_on_exit ? SYNHOLD_DISCARD_DETACHED :
									       SYNHOLD_DISCARD_DAEMON_LOST);
		holdq_free(svc->queue);
	}
	holdq_memory_free(d->memory);
	for (size_t i = 0; i < 3; i++)
		if (d->signals[i])
			event_free(d->signals[i]);
	if (d->tick_timer)
		event_free(d->tick_timer);
	if (d->release_timer)
		event_free(d->release_timer);
	if (d->base)
		event_base_free(d->base);
}

int daemon_run(const struct daemon_options *options, struct error *err)
{
	struct daemon *d = calloc(1, sizeof(*d));
	struct synhold_daemon *self = options->inst->daemon;
	int ret;

	if (!d)
		return error_set(err, -ENOMEM, "out of memory");
	d->options = options;
	d->inst = options->inst;
	d->watchdog = getenv("WATCHDOG_USEC") != NULL; /* sd_watchdog_enabled(3) */
	ret = start(d, err);
	if (!ret) {
		raise_priority();
		self->pid = (uint32_t)getpid();
		self->started_ns = instance_now_ns();
		self->hold_ready = (uint32_t)deploy_hold_supported();
		confine(d);
		tick_run(d);
		log_line(LOG_LEVEL_INFO, "instance '%s' ready", d->inst->name);
		notify("READY=1");
		event_base_dispatch(d->base);
		notify("STOPPING=1");
		if (!d->detached) { /* fallback takes over now, not in a second */
			self->heartbeat_ns = 0;
			self->watch_acks = 0;
			self->pid = 0;
			if (!options->detach_on_exit)
				follow_end(d);
		}
	}
	stop(d);
	free(d);
	return ret;
}
