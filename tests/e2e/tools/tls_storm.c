// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Many TLS clients, each with an address of its own: tls_storm ADDR PORT [key=value...]
 *
 * Each connects, makes a full handshake (no resumption, no tickets; the certificate is not checked, its signature is),
 * sends a small request, and is served with the first byte of the reply; then it closes.
 *
 * clients=N first=I   numbers I .. I+N-1;  parallel=K   at most K open at a time: with a small K, a closed loop
 * patience=MS         for one attempt, from connect() to that byte;  retry=MS  pause before the next, -1: none
 * limit=MS            for all together;  series=MS  says at the end how many were served in each MS
 * tls=1.2|1.3         that version and no other;  ciphers=LIST  of TLS 1.2, as OpenSSL names them
 *
 * One line at the end; the exit status is 0 whatever happened to the clients.
 */
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tool.h"

#define EVENTS 256

enum phase { ASLEEP, CONNECTING, SHAKING, ASKED, DONE };

struct client {
	int fd;
	enum phase phase;
	uint64_t began_us, until_us; /* first attempt; what the phase waits for */
	SSL *ssl;                    /* from the TCP connection on: those who wait for one cost little */
};

static struct options {
	uint32_t clients, first, parallel;
	int64_t patience_us, retry_us, limit_us;
	union tool_addr server;
} options;

static struct totals {
	unsigned long attempts, connected, shaken, served, timeout, failed;
} totals;

static const char request[] = "GET / HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n";
static struct tool_series series;
static struct client *clients;
static uint32_t *latency_us, done, open_now;
static SSL_CTX *tls;
static int epoll;

static void hang_up(struct client *c)
{
	if (c->ssl)
		SSL_free(c->ssl);
	c->ssl = NULL;
	if (c->fd < 0)
		return;
	close(c->fd);
	c->fd = -1;
	open_now--;
}

static void finish(struct client *c, uint64_t now)
{
	hang_up(c);
	c->phase = DONE;
	done++;
	latency_us[c - clients] = (uint32_t)(now - c->began_us);
}

static void again_or_end(struct client *c, uint64_t now)
{
	hang_up(c);
	if (options.retry_us < 0) {
		finish(c, now);
		return;
	}
	c->phase = ASLEEP;
	c->until_us = now + (uint64_t)options.retry_us;
}

static void failed(struct client *c, uint64_t now)
{
	totals.failed++;
	ERR_clear_error();
	again_or_end(c, now);
}

static void start(struct client *c, uint64_t now)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
	uint32_t number = options.first + (uint32_t)(c - clients);
	union tool_addr source;
	int one = 1;

	if (!c->began_us)
		c->began_us = now;
	totals.attempts++;
	c->fd = socket(options.server.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		tool_die("socket: %s", strerror(errno));
	open_now++;
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(c->fd, SOL_IP, IP_FREEBIND, &one, sizeof(one));
	setsockopt(c->fd, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	tool_source(options.server.any.sa_family, number, 0, 0, &source);
	if (bind(c->fd, &source.any, tool_length(&source)))
		tool_die("client %u: bind: %s", number, strerror(errno));
	c->phase = CONNECTING;
	c->until_us = now + (uint64_t)options.patience_us;
	if (connect(c->fd, &options.server.any, tool_length(&options.server)) && errno != EINPROGRESS)
		failed(c, now);
	else
		epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
}

/* What SSL_connect() or SSL_read() returned: nothing yet, or the end of this attempt? */
static int waits(struct client *c, int ret)
{
	int error = SSL_get_error(c->ssl, ret);

	return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

static void connected(struct client *c, uint64_t now)
{
	int error = 0;
	socklen_t length = sizeof(error);

	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length);
	if (error) {
		failed(c, now);
		return;
	}
	totals.connected++;
	c->ssl = SSL_new(tls);
	if (!c->ssl || !SSL_set_fd(c->ssl, c->fd))
		tool_die("cannot make a TLS connection");
	c->phase = SHAKING;
}

static void shake(struct client *c, uint64_t now)
{
	int ret = SSL_connect(c->ssl);

	if (ret == 1) {
		totals.shaken++;
		c->phase = ASKED;
		if (SSL_write(c->ssl, request, sizeof(request) - 1) != sizeof(request) - 1)
			failed(c, now);
	} else if (!waits(c, ret)) {
		failed(c, now);
	}
}

static void receive(struct client *c, uint64_t now)
{
	char data[1024];
	int ret = SSL_read(c->ssl, data, sizeof(data));

	if (ret > 0) {
		totals.served++;
		tool_series_add(&series, now);
		finish(c, now);
	} else if (!waits(c, ret)) {
		failed(c, now);
	}
}

static void handle(struct client *c, uint32_t events, uint64_t now)
{
	if (c->phase == CONNECTING && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		connected(c, now);
	if (c->phase == SHAKING)
		shake(c, now);
	if (c->phase == ASKED)
		receive(c, now);
}

static void timers(uint32_t begun, uint64_t now)
{
	for (uint32_t i = 0; i < begun; i++) {
		struct client *c = &clients[i];

		if (c->phase == DONE || now < c->until_us)
			continue;
		if (c->phase == ASLEEP) {
			start(c, now);
			continue;
		}
		totals.timeout++;
		again_or_end(c, now);
	}
}

static void run(void)
{
	struct epoll_event events[EVENTS];
	uint64_t began = tool_now_us(), now = began, checked = 0;
	uint32_t begun = 0;

	series.began_us = began;
	while (done < options.clients && (int64_t)(now - began) < options.limit_us) {
		int n;

		while (begun < options.clients && open_now < options.parallel)
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
		hang_up(&clients[i]);
	qsort(latency_us, options.clients, sizeof(*latency_us), tool_by_value);
	printf("served=%lu connected=%lu shaken=%lu attempts=%lu timeout=%lu failed=%lu unfinished=%u p50_ms=%u p99_ms=%u "
	       "longest_ms=%u elapsed_ms=%lu",
	       totals.served, totals.connected, totals.shaken, totals.attempts, totals.timeout, totals.failed,
	       options.clients - done, latency_us[options.clients / 2] / 1000,
	       latency_us[(uint64_t)options.clients * 99 / 100] / 1000, latency_us[options.clients - 1] / 1000,
	       (unsigned long)((now - began) / 1000));
	tool_series_print(&series);
	putchar('\n');
}

static void make_tls(const char *version, const char *ciphers)
{
	int number = !version || !strcmp(version, "1.3") ? TLS1_3_VERSION : TLS1_2_VERSION;

	if (version && strcmp(version, "1.2") && strcmp(version, "1.3"))
		tool_die("tls=%s: 1.2 or 1.3", version);
	tls = SSL_CTX_new(TLS_client_method());
	if (!tls || !SSL_CTX_set_min_proto_version(tls, number) || !SSL_CTX_set_max_proto_version(tls, number))
		tool_die("no TLS %s here", version ? version : "1.3");
	if (ciphers && !SSL_CTX_set_cipher_list(tls, ciphers))
		tool_die("ciphers=%s: not understood", ciphers);
	SSL_CTX_set_verify(tls, SSL_VERIFY_NONE, NULL);
	SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(tls, SSL_OP_NO_TICKET);
	SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS);
}

int main(int argc, char **argv)
{
	static const char *const keys[] = {"clients", "first",  "parallel", "patience", "retry",
					   "limit",   "series", "tls",      "ciphers",  NULL};

	if (argc < 3)
		tool_die("usage: tls_storm ADDR PORT [key=value...]");
	tool_check_keys(argc, argv, 3, keys);
	tool_address(argv[1], argv[2], &options.server);
	options.clients = (uint32_t)tool_number(argc, argv, 3, "clients", 1);
	options.first = (uint32_t)tool_number(argc, argv, 3, "first", 0);
	options.parallel = (uint32_t)tool_number(argc, argv, 3, "parallel", 15000);
	options.patience_us = tool_number(argc, argv, 3, "patience", 10000) * 1000;
	options.retry_us = tool_number(argc, argv, 3, "retry", -1) * 1000;
	options.limit_us = tool_number(argc, argv, 3, "limit", 60000) * 1000;
	series.step_us = (uint64_t)tool_number(argc, argv, 3, "series", 0) * 1000;
	make_tls(tool_word(argc, argv, 3, "tls"), tool_word(argc, argv, 3, "ciphers"));
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
