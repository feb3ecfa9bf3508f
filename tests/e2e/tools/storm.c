// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Many TCP clients, each with an address of its own: storm ADDR PORT [key=value...]
 *
 * do=talk (send a request, expect it back, close) | banner (read until the server closes) | idle (connect, send
 * nothing) | ask (send a request that nobody will answer) | reset (connect, then RST) | fin (connect, then close) |
 * dial (only try to connect) clients=N first=I sources=M   numbers I .. I+N-1, over M addresses (0: one each); port=P
 * first source port rate=R      starts R clients a second instead of all at once;  parallel=K  at most K open at a time
 * patience=MS for one attempt;  retry=MS  pause before the next attempt, -1: none;  limit=MS  for all together
 * linger=MS   stays connected that long after it is done (idle, ask, dial: that is all they do), then closes; end=reset
 * or resets;  series=MS  says at the end how many were served in each MS
 *
 * Prints `all-in` as soon as that many have connected, and one line at the end; the exit status is 0 whatever happened
 * to the clients.
 */
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tool.h"

#define EVENTS 256
#define REQUEST 32

enum task { TALK, BANNER, IDLE, ASK, RESET, FIN, DIAL };
enum phase { WAITING, CONNECTING, CONNECTED, DONE };

struct client {
	int fd;
	enum phase phase;
	int lingers; /* finished, but stays for a while */
	uint32_t received, attempts;
	uint64_t began_us, until_us; /* first attempt; what the phase waits for */
	char request[REQUEST];
};

static struct options {
	enum task task;
	uint32_t clients, first, sources, parallel, rate;
	uint16_t port;
	int64_t patience_us, retry_us, limit_us, linger_us;
	int end_reset;
	union tool_addr server;
} options;

static struct totals {
	unsigned long attempts, connected, served, refused, timeout, failed, corrupt, reset;
	int error; /* of the last one that failed otherwise */
} totals;

static struct tool_series series;
static struct client *clients;
static uint32_t *latency_us, done, open_now;
static int epoll;

static void finish(struct client *c, uint64_t now)
{
	c->phase = DONE;
	done++;
	latency_us[c - clients] = (uint32_t)(now - c->began_us);
}

static void hang_up(struct client *c, int reset)
{
	const struct linger linger = {.l_onoff = 1};

	if (c->fd < 0)
		return;
	if (reset)
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(c->fd);
	c->fd = -1;
	open_now--;
}

static void again_or_end(struct client *c, uint64_t now)
{
	hang_up(c, 0);
	if (options.retry_us < 0) {
		finish(c, now);
		return;
	}
	c->phase = WAITING;
	c->until_us = now + (uint64_t)options.retry_us;
}

static void served(struct client *c, uint64_t now)
{
	totals.served++;
	tool_series_add(&series, now);
	latency_us[c - clients] = (uint32_t)(now - c->began_us);
	if (options.linger_us) {
		c->lingers = 1;
		c->until_us = now + (uint64_t)options.linger_us;
		return;
	}
	hang_up(c, 0);
	c->phase = DONE;
	done++;
}

static void failed(struct client *c, int error, uint64_t now)
{
	if (error == ECONNREFUSED) {
		totals.refused++;
	} else if (error == ECONNRESET) {
		totals.reset++;
	} else {
		totals.failed++;
		totals.error = error;
	}
	again_or_end(c, now);
}

static void connected(struct client *c, uint64_t now)
{
	c->phase = CONNECTED;
	if (++totals.connected == options.clients) { /* what a test may wait for */
		puts("all-in");
		fflush(stdout);
	}
	if (options.task == RESET || options.task == FIN) {
		totals.served++;
		hang_up(c, options.task == RESET);
		finish(c, now);
		return;
	}
	if ((options.task == TALK || options.task == ASK) &&
	    send(c->fd, c->request, REQUEST, MSG_NOSIGNAL) != REQUEST) {
		failed(c, errno, now);
		return;
	}
	if (options.task == IDLE || options.task == ASK || options.task == DIAL) {
		c->lingers = 1;
		if (options.task != DIAL) /* which counts from the attempt */
			c->until_us = now + (uint64_t)options.linger_us;
	}
}

static void start(struct client *c, uint64_t now)
{
	uint32_t number = options.first + (uint32_t)(c - clients);
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
	union tool_addr source;
	int one = 1;

	if (!c->attempts)
		c->began_us = now;
	c->attempts++;
	totals.attempts++;
	c->received = 0;
	c->lingers = 0;
	for (uint32_t i = 0; i < REQUEST; i++)
		c->request[i] = (char)(number * 31 + i * 7 + c->attempts);
	c->fd = socket(options.server.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		tool_die("socket: %s", strerror(errno));
	open_now++;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(c->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(c->fd, SOL_IP, IP_FREEBIND, &one, sizeof(one));
	tool_source(options.server.any.sa_family, number, options.sources, options.port, &source);
	if (c->attempts > 1 || !options.port) { /* another connection: not the same port again */
		if (options.server.any.sa_family == AF_INET)
			source.v4.sin_port = 0;
		else
			source.v6.sin6_port = 0;
	}
	if (bind(c->fd, &source.any, tool_length(&source)))
		tool_die("client %u: bind: %s", number, strerror(errno));
	c->phase = CONNECTING;
	c->until_us = now + (uint64_t)(options.task == DIAL ? options.linger_us : options.patience_us);
	if (connect(c->fd, &options.server.any, tool_length(&options.server)) && errno != EINPROGRESS) {
		failed(c, errno, now);
		return;
	}
	epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
}

static void receive(struct client *c, uint64_t now)
{
	char data[4096];
	ssize_t n;

	while ((n = recv(c->fd, data, sizeof(data), 0)) > 0) {
		for (ssize_t i = 0; options.task == TALK && i < n; i++)
			if (c->received + (size_t)i >= REQUEST || data[i] != c->request[c->received + (size_t)i]) {
				totals.corrupt++;
				break;
			}
		c->received += (uint32_t)n;
	}
	if (n < 0 && errno == EAGAIN) {
		if (options.task == TALK && !c->lingers && c->received >= REQUEST)
			served(c, now);
		return;
	}
	if (c->lingers) {
		hang_up(c, 0);
		finish(c, now);
	} else if (n == 0 && options.task == BANNER && c->received) {
		served(c, now);
	} else if (n == 0 && options.task == TALK && c->received >= REQUEST) {
		served(c, now);
	} else {
		failed(c, n < 0 ? errno : EPIPE, now);
	}
}

static void handle(struct client *c, uint32_t events, uint64_t now)
{
	int error = 0;
	socklen_t length = sizeof(error);

	if (c->fd < 0)
		return;
	if (c->phase == CONNECTING) {
		getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length);
		if (error) {
			failed(c, error, now);
			return;
		}
		if (!(events & EPOLLOUT))
			return;
		connected(c, now);
	}
	if (c->phase == CONNECTED && c->fd >= 0)
		receive(c, now);
}

/*
 * Clients whose time is over. One pass over them each millisecond or two is cheap enough, without the first ones that
 * are all done: there may be a million of those.
 */
static void timers(uint32_t begun, uint64_t now)
{
	static uint32_t oldest;

	while (oldest < begun && clients[oldest].phase == DONE)
		oldest++;
	for (uint32_t i = oldest; i < begun; i++) {
		struct client *c = &clients[i];

		if (c->phase == DONE || now < c->until_us)
			continue;
		if (c->phase == WAITING) {
			start(c, now);
		} else if (c->lingers || options.task == DIAL) {
			hang_up(c, options.end_reset);
			finish(c, now);
		} else if (c->phase == CONNECTING || c->phase == CONNECTED) {
			totals.timeout++;
			again_or_end(c, now);
		}
	}
}

static void run(void)
{
	struct epoll_event events[EVENTS];
	uint64_t began = tool_now_us(), now = began, checked = 0;
	uint32_t begun = 0;

	series.began_us = began;
	while (done < options.clients && (int64_t)(now - began) < options.limit_us) {
		uint32_t due = options.rate ? (uint32_t)((now - began) * options.rate / 1000000) + 1 : options.clients;
		int n;

		while (begun < options.clients && begun < due && open_now < options.parallel)
			start(&clients[begun++], now);
		n = epoll_wait(epoll, events, EVENTS, 1);
		now = tool_now_us();
		for (int i = 0; i < n; i++)
			handle(events[i].data.ptr, events[i].events, now);
		if (now - checked > 2000) {
			timers(begun, now);
			checked = now;
		}
	}
	for (uint32_t i = 0; i < begun; i++)
		hang_up(&clients[i], 0);
	qsort(latency_us, options.clients, sizeof(*latency_us), tool_by_value);
	printf("served=%lu connected=%lu attempts=%lu refused=%lu timeout=%lu reset=%lu failed=%lu corrupt=%lu unfinished=%u error=%s "
	       "p50_ms=%u p99_ms=%u p99_us=%u longest_ms=%u elapsed_ms=%lu",
	       totals.served, totals.connected, totals.attempts, totals.refused, totals.timeout, totals.reset,
	       totals.failed, totals.corrupt, options.clients - done, strerrorname_np(totals.error),
	       latency_us[options.clients / 2] / 1000, latency_us[(uint64_t)options.clients * 99 / 100] / 1000,
	       latency_us[(uint64_t)options.clients * 99 / 100], latency_us[options.clients - 1] / 1000,
	       (unsigned long)((now - began) / 1000));
	tool_series_print(&series);
	putchar('\n');
}

static enum task parse_task(const char *text)
{
	static const char *const names[] = {"talk", "banner", "idle", "ask", "reset", "fin", "dial"};

	for (int i = 0; text && i < 7; i++)
		if (!strcmp(text, names[i]))
			return (enum task)i;
	if (text)
		tool_die("do=%s: not understood", text);
	return TALK;
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"do",       "clients", "first", "sources", "port", "rate",   "parallel",
					   "patience", "retry",   "limit", "linger",  "end",  "series", NULL};
	const char *end;

	if (argc < 3)
		tool_die("usage: storm ADDR PORT [key=value...]");
	tool_check_keys(argc, argv, 3, keys);
	tool_address(argv[1], argv[2], &options.server);
	options.task = parse_task(tool_word(argc, argv, 3, "do"));
	options.clients = (uint32_t)tool_number(argc, argv, 3, "clients", 1);
	options.first = (uint32_t)tool_number(argc, argv, 3, "first", 0);
	options.sources = (uint32_t)tool_number(argc, argv, 3, "sources", 0);
	options.port = (uint16_t)tool_number(argc, argv, 3, "port", 10000);
	options.rate = (uint32_t)tool_number(argc, argv, 3, "rate", 0);
	options.parallel = (uint32_t)tool_number(argc, argv, 3, "parallel", 15000);
	options.patience_us = tool_number(argc, argv, 3, "patience", 10000) * 1000;
	options.retry_us = tool_number(argc, argv, 3, "retry", -1) * 1000;
	options.limit_us = tool_number(argc, argv, 3, "limit", 60000) * 1000;
	options.linger_us = tool_number(argc, argv, 3, "linger", 0) * 1000;
	series.step_us = (uint64_t)tool_number(argc, argv, 3, "series", 0) * 1000;
	end = tool_word(argc, argv, 3, "end");
	options.end_reset = end && !strcmp(end, "reset");
	if (end && !options.end_reset && strcmp(end, "close"))
		tool_die("end=%s: not understood", end);
	if (!options.clients)
		tool_die("no clients");
	tool_raise_files();
	epoll = epoll_create1(EPOLL_CLOEXEC);
	clients = calloc(options.clients, sizeof(*clients));
	latency_us = calloc(options.clients, sizeof(*latency_us));
	if (!clients || !latency_us || epoll < 0)
		tool_die("out of memory");
	for (uint32_t i = 0; i < options.clients; i++)
		clients[i].fd = -1;
	run();
	return 0;
}
