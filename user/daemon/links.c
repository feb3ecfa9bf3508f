// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Interfaces come and go: the kernel tells (rtnetlink), and the next tick looks. One look a tick at most, however many
 * messages there were; an interface that cannot be attached to is tried again when something changes.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "daemon/state.h"
#include "lib/log.h"

#define LINKS_MAX 64 /* as many as an instance takes */
#define LOOK_TICKS 50

struct link_seen {
	uint32_t index;
	char name[IF_NAMESIZE];
	int present, up, refused;
};

struct links {
	struct mnl_socket *socket;
	struct event *event;
	int fd;    /* for questions */
	int dirty; /* something changed since the last look */
	struct link_seen seen[LINKS_MAX];
	unsigned int count;
};

static void on_message(evutil_socket_t fd, short what, void *ctx)
{
	struct daemon *d = ctx;
	char buffer[16384];

	(void)what;
	/* what it says is not read: the look sees how things are now. Messages that were lost count too (ENOBUFS). */
	while (recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) >= 0 || errno == ENOBUFS || errno == EINTR)
		d->links->dirty = 1;
}

static int is_up(const struct links *links, const char *name)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	return !ioctl(links->fd, SIOCGIFFLAGS, &request) && request.ifr_flags & IFF_UP;
}

static struct link_seen *find(struct links *links, uint32_t index)
{
	for (unsigned int i = 0; i < links->count; i++)
		if (links->seen[i].index == index)
			return &links->seen[i];
	return NULL;
}

/* How the interface was at the last look; one that is new counts as present, so that it is told when it is not. */
static struct link_seen *remember(struct links *links, const struct deploy_interface *iface)
{
	struct link_seen *seen = find(links, iface->index);

	if (seen || links->count == LINKS_MAX)
		return seen;
	seen = &links->seen[links->count++];
	*seen = (struct link_seen){.index = iface->index, .present = 1, .up = is_up(links, iface->name)};
	snprintf(seen->name, sizeof(seen->name), "%s", iface->name);
	return seen;
}

static void forget(struct links *links, const struct link_seen *seen)
{
	links->seen[seen - links->seen] = links->seen[--links->count];
}

/* An interface of that name is there again: as before on the old one. */
static void come_back(struct daemon *d, const struct deploy_interface *iface, struct link_seen *seen)
{
	enum deploy_mode mode = iface->generic ? DEPLOY_GENERIC : d->options->mode;
	uint32_t index = if_nametoindex(iface->name);
	const char *name = iface->name;
	struct error err = {0};

	d->options->deploy->chain = iface->chained;
	if (deploy_attach(d->options->deploy, d->inst, &name, 1, mode, &err)) {
		if (!seen->refused)
			log_line(LOG_LEVEL_ERROR, "interface %s is there again, and cannot be attached to: %s%s%s",
				 name, err.message, err.hint[0] ? "; " : "", err.hint);
		seen->refused = 1;
		return;
	}
	log_line(LOG_LEVEL_WARNING, "interface %s is there again: attached", name);
	if (index != iface->index)
		deploy_drop(d->inst, iface->index);
	forget(d->links, seen);
}

static void look_at(struct daemon *d, struct deploy_interface *iface)
{
	struct link_seen *seen = remember(d->links, iface);
	char name[IF_NAMESIZE];
	int up;

	if (!seen)
		return;
	if (iface->present && !if_indextoname(iface->index, name)) {
		log_line(LOG_LEVEL_WARNING, "interface %s has gone to another network namespace: taken off it",
			 iface->name);
		deploy_leave(d->inst, iface->index);
		iface->present = seen->present = 0;
	}
	if (!iface->present) {
		if (seen->present)
			log_line(LOG_LEVEL_WARNING, "interface %s is gone: attached again when it comes back",
				 iface->name);
		seen->present = 0;
		if (if_nametoindex(iface->name))
			come_back(d, iface, seen);
		return;
	}
	seen->present = 1;
	if (strcmp(seen->name, iface->name)) {
		log_line(LOG_LEVEL_WARNING, "interface %s is called %s now", seen->name, iface->name);
		snprintf(seen->name, sizeof(seen->name), "%s", iface->name);
		deploy_rename(d->inst, iface->index, iface->name);
	}
	up = is_up(d->links, iface->name);
	if (up != seen->up)
		log_line(LOG_LEVEL_INFO, "interface %s is %s", iface->name, up ? "up" : "down");
	seen->up = up;
}

void links_look(struct daemon *d)
{
	struct deploy_interface list[LINKS_MAX];
	unsigned int count;

	if (d->ticks % LOOK_TICKS == 0) /* what commands attached meanwhile */
		d->links->dirty = 1;
	if (!d->links->dirty || instance_trylock(d->inst)) /* a command is at it: the next tick will do */
		return;
	d->links->dirty = 0;
	count = deploy_interfaces(d->inst, list, LINKS_MAX);
	for (unsigned int i = 0; i < count && i < LINKS_MAX; i++)
		look_at(d, &list[i]);
	for (unsigned int i = d->links->count; i-- > 0;) { /* detached by a command */
		unsigned int j = 0;

		while (j < count && j < LINKS_MAX && list[j].index != d->links->seen[i].index)
			j++;
		if (j == count)
			forget(d->links, &d->links->seen[i]);
	}
	instance_unlock(d->inst);
	release_read_interfaces(d);
}

int links_init(struct daemon *d, struct error *err)
{
	struct links *links = calloc(1, sizeof(*links));

	if (!links)
		return error_set(err, -ENOMEM, "out of memory");
	d->links = links;
	links->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	links->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (links->fd < 0 || !links->socket || mnl_socket_bind(links->socket, RTMGRP_LINK, MNL_SOCKET_AUTOPID))
		return error_set(err, -errno, "changes of interfaces cannot be heard of: %s", strerror(errno));
	links->event = event_new(d->base, mnl_socket_get_fd(links->socket), EV_READ | EV_PERSIST, on_message, d);
	if (!links->event || event_add(links->event, NULL))
		return error_set(err, -ENOMEM, "changes of interfaces cannot be heard of");
	links->dirty = 1; /* what happened before we listened */
	return 0;
}

void links_free(struct daemon *d)
{
	struct links *links = d->links;

	if (!links)
		return;
	if (links->event)
		event_free(links->event);
	if (links->socket)
		mnl_socket_close(links->socket);
	if (links->fd >= 0)
		close(links->fd);
	free(links);
	d->links = NULL;
}
