// SPDX-License-Identifier: GPL-2.0-or-later
/* The half that talks to strangers: no user, no capability, no file, nothing to call but HTTP and one byte to the
 * reader. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "export/export.h"
#include "export/http_impl.h"
#include "lib/sandbox.h"

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define NOBODY 65534
#define CONNECTIONS_MAX 32
#define CONNECTIONS_PER_ADDRESS_MAX 16
#define IDLE_SECONDS 10
#define MEMORY_PER_CONNECTION (32U << 10)
#define FILES_MAX (CONNECTIONS_MAX + 16)

static const struct {
	const char *path;
	enum http_ask ask;
	const char *type;
} pages[] = {
	{"/metrics", HTTP_ASK_METRICS, "text/plain; version=0.0.4; charset=utf-8"},
	{"/status.json", HTTP_ASK_STATUS, "application/json"},
	{"/healthz", HTTP_ASK_HEALTH, "text/plain; charset=utf-8"},
	{"/readyz", HTTP_ASK_READY, "text/plain; charset=utf-8"},
};

static int receive_all(int fd, void *data, size_t size)
{
	char *at = data;

	while (size) {
		ssize_t n = recv(fd, at, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Asks the reader. NULL when it does not answer: then nothing on this socket can be trusted to be in step, and we end.
 */
static char *ask_reader(int fd, enum http_ask ask, struct http_answer *answer)
{
	unsigned char byte = (unsigned char)ask;
	char *text = NULL;

	if (send(fd, &byte, 1, MSG_NOSIGNAL) == 1 && !receive_all(fd, answer, sizeof(*answer)) &&
	    answer->bytes <= HTTP_ANSWER_MAX)
		text = malloc(answer->bytes + 1);
	if (text && !receive_all(fd, text, answer->bytes))
		return text;
	_exit(1);
}

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned int status, void *text, size_t size,
			     const char *type, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(size, text, mode);
	enum MHD_Result ret = MHD_NO;

	if (!response) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, "Allow", "GET, HEAD");
	ret = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return ret;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_size, void **state)
{
	static char no_method[] = "GET and HEAD only\n", no_page[] = "/metrics /status.json /healthz /readyz\n";
	struct http_answer answer;
	enum http_ask ask;
	const char *type;
	char *text;

	(void)version;
	(void)upload;
	(void)state;
	if (strcmp(method, "GET") && strcmp(method, "HEAD")) {
		*upload_size = 0;
		return reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, no_method, sizeof(no_method) - 1, pages[2].type,
			     MHD_RESPMEM_PERSISTENT);
	}
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		if (strcmp(url, pages[i].path))
			continue;
		ask = pages[i].ask;
		type = pages[i].type;
		if (ask == HTTP_ASK_METRICS &&
		    export_negotiate(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept")) ==
			    EXPORT_OPENMETRICS) {
			ask = HTTP_ASK_OPENMETRICS;
			type = OPENMETRICS_TYPE;
		}
		text = ask_reader(*(int *)context, ask, &answer);
		return reply(connection, answer.status, text, answer.bytes, answer.status == 200 ? type : pages[2].type,
			     MHD_RESPMEM_MUST_FREE);
	}
	return reply(connection, MHD_HTTP_NOT_FOUND, no_page, sizeof(no_page) - 1, pages[2].type,
		     MHD_RESPMEM_PERSISTENT);
}

/* All of it, or the process ends: better no metrics than a root process that parses what strangers send. */
static void drop_privileges(void)
{
	const struct rlimit files = {FILES_MAX, FILES_MAX}, none = {0, 0};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(1);
	/* -EINVAL: this kernel does not have it; -EPERM: a container without CAP_SETPCAP, and nothing is executed here
	 */
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno != EINVAL && errno != EPERM)
			_exit(1);
	if (chdir("/") || setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	if (!setuid(0) || sandbox_drop(SANDBOX_HTTP) || prctl(PR_SET_DUMPABLE, 0))
		_exit(1);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_FSIZE, &none);
}

void http_server(int listening, int reader)
{
	struct timeval limit = {.tv_sec = 10};
	struct MHD_Daemon *daemon;
	struct pollfd p;
	int null, ret;

	null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2; fd++) /* the log is not theirs to write to */
		dup2(null, fd);
	dup2(listening, 3);
	if (reader != 4)
		dup2(reader, 4);
	close_range(5, ~0U, 0);
	reader = 4;
	setsockopt(reader, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	prctl(PR_SET_NAME, "synhold-http");
	tzset(); /* the date of an answer: what it reads, it reads now */
	drop_privileges();
	daemon = MHD_start_daemon(MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle, &reader,
				  MHD_OPTION_LISTEN_SOCKET, 3, MHD_OPTION_CONNECTION_LIMIT,
				  (unsigned int)CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
				  (unsigned int)CONNECTIONS_PER_ADDRESS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
				  (unsigned int)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				  (size_t)MEMORY_PER_CONNECTION, MHD_OPTION_END);
	if (!daemon)
		_exit(1);
	/* after its thread has started, which the filter binds as well */
	ret = sandbox_filter(SANDBOX_HTTP);
	if (ret && ret != -ENOSYS)
		_exit(1);
	p = (struct pollfd){.fd = reader, .events = POLLRDHUP};
	while (poll(&p, 1, -1) < 0 && errno == EINTR) /* the other end is gone: so are we */
		;
	_exit(0);
}
