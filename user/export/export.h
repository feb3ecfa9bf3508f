/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of an instance for others: as JSON, as Prometheus text, over HTTP. */
#ifndef SYNHOLD_EXPORT_EXPORT_H
#define SYNHOLD_EXPORT_EXPORT_H

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

#include "lib/error.h"
#include "lib/snapshot.h"

/*
 * `status --json`, as docs/design.md has it; service: only the one of this name, or NULL. A new reference; NULL when
 * out of memory.
 */
json_t *export_status(const struct snapshot *snap, const char *service);

enum export_format {
	EXPORT_TEXT,       /* Prometheus text format 0.0.4 */
	EXPORT_OPENMETRICS /* OpenMetrics 1.0 */
};

/* The metrics of docs/design.md. now_s: seconds since the epoch, for timestamps. 0 or -EIO. */
int export_prometheus(const struct snapshot *snap, double now_s, enum export_format format, FILE *out);

/* What a reader that sends this Accept header wants (RFC 9110, section 12.5.1); NULL: no header. */
enum export_format export_negotiate(const char *accept);

/* Words of tally.window_up and window_down. */
#define EXPORT_SIGNALS 6
const char *export_signal_name(unsigned int signal);

/* A window as a word: "none", "auto" (none found yet) or its number. Returns buf. */
char *export_window_text(const struct snapshot_service *svc, char *buf, size_t size);

/*
 * The HTTP server: /metrics, /status.json, /healthz, /readyz. Two processes: one reads the numbers and listens to
 * nobody but the other, which speaks HTTP and has no privilege at all. Neither shares memory or file descriptors with
 * the caller.
 */
struct export_http {
	int fd;    /* the listening socket; -1: none */
	pid_t pid; /* 0: not started */
	int life;  /* the processes end when this is closed */
};

#define EXPORT_HTTP_FORM "ADDR:PORT, such as 127.0.0.1:9477, [::1]:9477, or :9477 for every address"

/* Whether this is an address to listen on. 0 or -EINVAL. */
int export_http_check(const char *address, struct error *err);
/* Listens there. 0, -EINVAL, or -errno naming what is in the way. */
int export_http_listen(struct export_http *http, const char *address, struct error *err);
/* Starts the processes. Call it before the caller opens anything they must not have. 0 or -errno. */
int export_http_start(struct export_http *http, const char *instance, struct error *err);
void export_http_stop(struct export_http *http);

#endif
