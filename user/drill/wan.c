// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/wan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

/*
 * A timing wheel: packets of one slot leave together, in the order they came, so a flow is never
 * reordered. 65,536 slots of 100 µs are 6.5 s, more than half of DRILL_RTT_MAX_NS.
 */
#define WAN_SLOTS 65536u
#define WAN_SLOT_NS 100000u
#define WAN_MTU 2048
#define WAN_BATCH 64

struct wan_packet {
	struct wan_packet *next;
	uint16_t to; /* index of the device it leaves by */
	uint16_t len;
	unsigned char data[];
};

struct wan {
	const struct drill_params *params;
	int tun[2];
	int timer;
	uint64_t done;    /* last slot that has been sent, counted from the clock's zero */
	uint64_t armed;   /* slot the timer is set for; 0: it is not */
	uint64_t waiting; /* packets in the wheel */
	uint64_t used[WAN_SLOTS / 64];
	struct wan_packet *head[WAN_SLOTS], **tail[WAN_SLOTS];
};

uint64_t wan_delay_ns(const struct drill_params *params, uint32_t client_addr)
{
	uint64_t span = (params->rtt_max_ns - params->rtt_min_ns) / 2;
	uint64_t part = board_mix(params->seed * 0x9e3779b97f4a7c15ull + client_addr) >> 32;

	return params->rtt_min_ns / 2 + ((span * part) >> 32);
}

static void wan_send(struct wan *wan, int to, const unsigned char *data, size_t len)
{
	/* A full device loses the packet, as a full line would. */
	if (write(wan->tun[to], data, len) < 0 && errno == EBADFD)
		exit(1);
}

static void wan_queue(struct wan *wan, struct wan_packet *p, uint64_t due)
{
	uint32_t slot;

	if (due <= wan->done)
		due = wan->done + 1;
	if (due - wan->done >= WAN_SLOTS) /* this process was not scheduled for over a second */
		due = wan->done + WAN_SLOTS - 1;
	slot = due % WAN_SLOTS;
	if (!wan->head[slot]) {
		wan->tail[slot] = &wan->head[slot];
		wan->used[slot / 64] |= 1ull << slot % 64;
	}
	*wan->tail[slot] = p;
	wan->tail[slot] = &p->next;
	wan->waiting++;
}

static void wan_take(struct wan *wan, int from, const unsigned char *data, size_t len)
{
	struct wan_packet *p;
	uint64_t delay;
	uint32_t addr;

	if (len < 20 || data[0] >> 4 != 4)
		return;
	memcpy(&addr, data + (from ? 16 : 12), sizeof(addr));
	delay = wan_delay_ns(wan->params, ntohl(addr));
	if (!delay) {
		wan_send(wan, !from, data, len);
		return;
	}
	p = malloc(sizeof(*p) + len);
	if (!p)
		return; /* a line may lose packets, TCP copes */
	*p = (struct wan_packet){.to = !from, .len = len};
	memcpy(p->data, data, len);
	wan_queue(wan, p, (board_now_ns() + delay) / WAN_SLOT_NS);
}

static void wan_read(struct wan *wan, int from)
{
	unsigned char data[WAN_MTU];

	for (int i = 0; i < WAN_BATCH; i++) {
		ssize_t len = read(wan->tun[from], data, sizeof(data));

		if (len <= 0)
			return;
		wan_take(wan, from, data, len);
	}
}

static void wan_send_slot(struct wan *wan, uint32_t slot)
{
	struct wan_packet *p = wan->head[slot], *next;

	for (; p; p = next) {
		next = p->next;
		wan_send(wan, p->to, p->data, p->len);
		free(p);
		wan->waiting--;
	}
	wan->head[slot] = NULL;
	wan->used[slot / 64] &= ~(1ull << slot % 64);
}

/* The first slot after wan->done that holds packets; the wheel must not be empty. */
static uint64_t wan_next(const struct wan *wan)
{
	uint64_t at = wan->done + 1;

	for (;;) {
		uint64_t word = wan->used[at % WAN_SLOTS / 64] >> at % 64;

		if (word)
			return at + __builtin_ctzll(word);
		at = (at / 64 + 1) * 64;
	}
}

static void wan_send_due(struct wan *wan)
{
	uint64_t now = board_now_ns() / WAN_SLOT_NS;

	while (wan->waiting) {
		uint64_t slot = wan_next(wan);

		if (slot > now)
			break;
		wan_send_slot(wan, slot % WAN_SLOTS);
		wan->done = slot;
	}
	if (now > wan->done)
		wan->done = now;
}

static void wan_arm(struct wan *wan)
{
	uint64_t next = wan->waiting ? wan_next(wan) : 0;
	struct itimerspec at = {0};

	if (next == wan->armed)
		return;
	at.it_value.tv_sec = next * WAN_SLOT_NS / 1000000000;
	at.it_value.tv_nsec = next * WAN_SLOT_NS % 1000000000;
	timerfd_settime(wan->timer, TFD_TIMER_ABSTIME, &at, NULL);
	wan->armed = next;
}

int wan_actor(struct world *world, int ctl, const void *arg)
{
	struct wan *wan = calloc(1, sizeof(*wan));
	struct epoll_event events[3];
	int ep = epoll_create1(EPOLL_CLOEXEC);
	uint64_t expired;

	(void)arg;
	if (!wan || ep < 0)
		return 1;
	wan->params = world->board->params;
	wan->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	wan->done = board_now_ns() / WAN_SLOT_NS;
	for (int i = 0; i < 3; i++) {
		int fd = i < 2 ? wan->tun[i] = world->tun[i] : wan->timer;

		if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.u32 = i}))
			return 1;
	}
	if (write(ctl, "R", 1) != 1)
		return 1;
	for (;;) {
		int n = epoll_wait(ep, events, 3, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.u32 < 2)
				wan_read(wan, events[i].data.u32);
			else if (read(wan->timer, &expired, sizeof(expired)) > 0)
				wan->armed = 0;
		}
		wan_send_due(wan);
		wan_arm(wan);
	}
}
