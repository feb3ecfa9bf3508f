/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two processes behind export_http_start(). */
#ifndef SYNHOLD_EXPORT_HTTP_IMPL_H
#define SYNHOLD_EXPORT_HTTP_IMPL_H

#include <stdint.h>

/* What the server may ask the reader for: one byte. The answer is a struct http_answer and as many bytes as it says. */
enum http_ask {
	HTTP_ASK_METRICS = 'm',
	HTTP_ASK_OPENMETRICS = 'o',
	HTTP_ASK_STATUS = 's',
	HTTP_ASK_HEALTH = 'h',
	HTTP_ASK_READY = 'r'
};

struct http_answer {
	uint32_t status; /* of HTTP */
	uint32_t bytes;
};

#define HTTP_ANSWER_MAX (16U << 20)

/* Speaks HTTP on the listening socket, with the reader at the other end of `reader`. Never returns. */
void http_server(int listening, int reader) __attribute__((noreturn));

/* Reads the numbers of the instance for the server at the other end, until `life` is closed. Never returns. */
void http_reader(const char *instance, int listening, int life) __attribute__((noreturn));

#endif
