// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The half with privileges: reads the maps and renders text. It takes one byte at a time from the half that talks to
 * strangers, answers at most a few times a second whatever is asked, and runs at low priority: scraping must not cost
 * the release loop anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "export/export.h"
#include "export/http_impl.h"
#include "lib/sandbox.h"

#define CACHE_NS 200000000ULL /* five looks a second at most */
#define RESTART_DELAY_MS 1000
#define READER_NICE 10
#define PAGE_STEP 65536

struct reader {
	const char *instance;
	pid_t daemon; /* who started us */
	struct snapshot snap;
	struct error err;
	int failed;
	uint64_t taken_ns; /* 0: never */
	char *page;        /* of metrics; kept, as growing megabytes anew costs more than writing them */
	size_t page_size, page_used;
};

static void refresh(struct reader *r)
{
	uint64_t now = instance_now_ns();

	if (r->taken_ns && now - r->taken_ns < CACHE_NS)
		return;
	snapshot_free(&r->snap);
	r->failed = snapshot_take(&r->snap, r->instance, &r->err);
	r->taken_ns = instance_now_ns();
}

static double wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * A daemon that has just been started has no heartbeat yet: that is no reason to have it killed. The one before it may
 * have left a fresh one: that does not make it ready.
 */
static uint32_t health(const struct reader *r, int ready, const char **text)
{
	int attached = !r->failed && r->snap.attached && r->snap.interface_count;
	int ours = !r->failed && r->snap.daemon_pid == (uint32_t)r->daemon;

	if (ready && (!attached || !ours)) {
		*text = attached ? "starting\n" : "not attached\n";
		return 503;
	}
	if (ours && !r->snap.daemon_alive) {
		*text = "the daemon's heartbeat is stale\n";
		return 503;
	}
	*text = ready ? "ready\n" : "ok\n";
	return 200;
}

static ssize_t page_add(void *context, const char *text, size_t size)
{
	struct reader *r = context;

	if (size > r->page_size - r->page_used) {
		size_t wanted = r->page_used + size;
		char *more;

		if (wanted > HTTP_ANSWER_MAX)
			return 0;
		wanted = wanted * 2 < HTTP_ANSWER_MAX ? wanted * 2 : HTTP_ANSWER_MAX;
		more = realloc(r->page, wanted);
		if (!more)
			return 0;
		r->page = more;
		r->page_size = wanted;
	}
	memcpy(r->page + r->page_used, text, size);
	r->page_used += size;
	return (ssize_t)size;
}

/* 0 with the page written, or -1 when out of memory. */
static int page_write(struct reader *r, enum export_format format)
{
	const cookie_io_functions_t functions = {.write = page_add};
	FILE *out = fopencookie(r, "w", functions);
	int ret;

	if (!out)
		return -1;
	setvbuf(out, NULL, _IOFBF, PAGE_STEP);
	r->page_used = 0;
	ret = export_prometheus(&r->snap, wall_clock(), format, out);
	return fclose(out) || ret ? -1 : 0;
}

/* Renders an answer other than metrics. Returns malloc'ed text, or NULL when out of memory. */
static char *render(struct reader *r, int ask, struct http_answer *answer)
{
	char *text = NULL;
	const char *word;
	json_t *root;

	if (ask == HTTP_ASK_HEALTH || ask == HTTP_ASK_READY) {
		answer->status = health(r, ask == HTTP_ASK_READY, &word);
		return strdup(word);
	}
	if (r->failed) {
		answer->status = 500;
		return strdup("the instance cannot be read\n");
	}
	root = export_status(&r->snap, NULL);
	text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
	json_decref(root);
	return text;
}

static int send_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1; /* SO_SNDTIMEO: it does not read */
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static int answer(struct reader *r, int fd)
{
	struct http_answer head = {.status = 200};
	unsigned char ask;
	char *own = NULL;
	const char *text;
	int ret;

	if (recv(fd, &ask, 1, 0) != 1)
		return -1;
	refresh(r);
	if ((ask == HTTP_ASK_METRICS || ask == HTTP_ASK_OPENMETRICS) && !r->failed) {
		text = page_write(r, ask == HTTP_ASK_METRICS ? EXPORT_TEXT : EXPORT_OPENMETRICS) ? NULL : r->page;
		head.bytes = text ? (uint32_t)r->page_used : 0;
	} else {
		text = own = render(r, ask, &head);
		head.bytes = text ? (uint32_t)strlen(text) : 0;
	}
	if (!text)
		head.status = 500;
	ret = send_all(fd, &head, sizeof(head)) || send_all(fd, text, head.bytes);
	free(own);
	return ret ? -1 : 0;
}

/* Starts the half that talks HTTP, with nothing of this process but the listening socket and one end of a socket pair.
 */
static pid_t start_server(int listening, int *fd)
{
	struct timeval limit = {.tv_sec = 5};
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	pid = fork();
	if (!pid)
		http_server(listening, pair[1]);
	close(pair[1]);
	if (pid < 0)
		close(pair[0]);
	else
		*fd = pair[0];
	return pid;
}

/* 1 while the process that started us lives. */
static int alive(int life, int wait_ms)
{
	struct pollfd p = {.fd = life, .events = POLLIN};

	return poll(&p, 1, wait_ms) == 0;
}

static void serve(struct reader *r, int fd, int life)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = life, .events = POLLIN}};

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		if (p[1].revents || (p[0].revents && answer(r, fd)))
			return;
	}
}

/* The daemon may be the last to be killed for want of memory; what it started may be the first. */
static void be_expendable(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, "500", 3) < 0)
		(void)0;
	if (fd >= 0)
		close(fd);
	setpriority(PRIO_PROCESS, 0, READER_NICE);
}

void http_reader(const char *instance, int listening, int life)
{
	struct reader r = {.instance = instance, .daemon = getppid()};
	sigset_t none;
	int fd = -1;
	pid_t pid;

	prctl(PR_SET_NAME, "synhold-metrics");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < 32; sig++) /* the shield decides when we end, by closing `life` */
		signal(sig, sig == SIGINT || sig == SIGHUP || sig == SIGPIPE ? SIG_IGN : SIG_DFL);
	be_expendable();
	if (sandbox_drop(SANDBOX_READER))
		_exit(1);
	while (alive(life, 0)) {
		pid = start_server(listening, &fd);
		if (pid > 0) {
			serve(&r, fd, life);
			close(fd);
			kill(pid, SIGKILL);
			while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
				;
		}
		if (!alive(life, RESTART_DELAY_MS))
			break;
	}
	_exit(0);
}
