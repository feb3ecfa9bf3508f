// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/upload.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drill/net.h"

#define UPLOAD_TICK_NS 100000000u
#define UPLOAD_AGAIN_NS 1000000000u
#define UPLOAD_END_NS 5000000000ull /* for the answers, once told to stop */

enum upload_state { UPLOAD_IDLE, UPLOAD_RUNS, UPLOAD_WAITS, UPLOAD_DONE };

struct upload {
	int fd;
	enum upload_state state;
	uint64_t next_ns; /* idle: when it begins anew */
};

struct uploads {
	struct board *board;
	struct board_uploads *out;
	const struct upload_job *job;
	struct upload upload[UPLOADS_MAX];
};

static int upload_send(const struct upload *u, const char *text)
{
	ssize_t len = send(u->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);

	/* A little that does not fit is left out as a whole: the chunks stay whole. */
	return len < 0 && errno != EAGAIN ? -errno : 0;
}

static void upload_cut(struct uploads *all, struct upload *u)
{
	BOARD_ADD(all->out->cut, 1);
	close(u->fd);
	*u = (struct upload){.fd = -1, .next_ns = board_now_ns() + UPLOAD_AGAIN_NS};
}

static void upload_begin(struct uploads *all, uint32_t i)
{
	static const char head[] = "PUT /upload HTTP/1.1\r\nHost: drill\r\nTransfer-Encoding: chunked\r\n\r\n";
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = net_client_addr(all->job->first + i)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = all->job->server,
				 .sin_port = htons(all->board->params->port)};
	struct upload *u = &all->upload[i];

	u->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	u->state = UPLOAD_RUNS;
	BOARD_ADD(all->out->begun, 1);
	if (u->fd < 0 || bind(u->fd, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(u->fd, (struct sockaddr *)&to, sizeof(to)) || upload_send(u, head))
		upload_cut(all, u);
}

/* What comes before the end is an error page, or nothing: either way the upload is lost. */
static void upload_listen(struct uploads *all, struct upload *u)
{
	char answer[512];
	ssize_t len = recv(u->fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);

	if (len < 0 && errno == EAGAIN)
		return;
	answer[len > 0 ? len : 0] = '\0';
	if (u->state == UPLOAD_WAITS && strstr(answer, " 200 ")) {
		BOARD_ADD(all->out->finished, 1);
		u->state = UPLOAD_DONE;
		return;
	}
	upload_cut(all, u);
}

static void upload_tick(struct uploads *all, bool stopped)
{
	for (uint32_t i = 0; i < all->job->count; i++) {
		struct upload *u = &all->upload[i];

		if (u->state == UPLOAD_IDLE && !stopped && board_now_ns() >= u->next_ns) {
			upload_begin(all, i);
		} else if (u->state == UPLOAD_RUNS) {
			if (upload_send(u, stopped ? "0\r\n\r\n" : "10\r\n0123456789abcdef\r\n"))
				upload_cut(all, u);
			else if (stopped)
				u->state = UPLOAD_WAITS;
		}
		if (u->state == UPLOAD_RUNS || u->state == UPLOAD_WAITS)
			upload_listen(all, u);
	}
}

static bool upload_waits(const struct uploads *all)
{
	for (uint32_t i = 0; i < all->job->count; i++)
		if (all->upload[i].state == UPLOAD_WAITS)
			return true;
	return false;
}

int upload_actor(struct world *world, int ctl, const void *arg)
{
	struct uploads all = {.board = world->board, .out = &world->board->uploads, .job = arg};
	uint64_t stopped_ns = 0, next = board_now_ns();

	for (uint32_t i = 0; i < UPLOADS_MAX; i++)
		all.upload[i].fd = -1;
	upload_tick(&all, false);
	if (write(ctl, "R", 1) != 1)
		return 1;
	for (;;) {
		struct pollfd p = {.fd = stopped_ns ? -1 : ctl, .events = POLLIN};
		uint64_t now = board_now_ns();
		struct timespec wait = {.tv_nsec = next > now ? next - now : 0};

		if (ppoll(&p, 1, &wait, NULL) < 0)
			return 1;
		now = board_now_ns();
		if (p.revents)
			stopped_ns = now;
		else if (now < next)
			continue;
		next = now + UPLOAD_TICK_NS;
		upload_tick(&all, stopped_ns);
		if (stopped_ns && (!upload_waits(&all) || now > stopped_ns + UPLOAD_END_NS))
			return write(ctl, "D", 1) != 1;
	}
}
