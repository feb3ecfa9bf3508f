/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tools of the end-to-end tests share: arguments of the form key=value, addresses, the clock. */
#ifndef SYNHOLD_E2E_TOOL_H
#define SYNHOLD_E2E_TOOL_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

union tool_addr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

#define TOOL_SERIES_STEPS 1000U
#define TOOL_SOURCES_PER_PORT 62500U /* distinct addresses before the source port counts up */

static inline void tool_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static inline void tool_die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static inline uint64_t tool_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Value of `key=` among the words from argv[first] on, or NULL. */
static inline const char *tool_word(int argc, char **argv, int first, const char *key)
{
	size_t length = strlen(key);

	for (int i = first; i < argc; i++)
		if (!strncmp(argv[i], key, length) && argv[i][length] == '=')
			return argv[i] + length + 1;
	return NULL;
}

static inline long tool_number(int argc, char **argv, int first, const char *key, long otherwise)
{
	const char *text = tool_word(argc, argv, first, key);
	char *end;
	long value;

	if (!text)
		return otherwise;
	value = strtol(text, &end, 10);
	if (!*text || *end)
		tool_die("%s=%s: not a number", key, text);
	return value;
}

/* A misspelt key would silently test something else. */
static inline void tool_check_keys(int argc, char **argv, int first, const char *const *keys)
{
	for (int i = first; i < argc; i++) {
		size_t length = strcspn(argv[i], "=");
		int known = 0;

		for (const char *const *key = keys; *key; key++)
			known |= strlen(*key) == length && !strncmp(*key, argv[i], length);
		if (!known || !argv[i][length])
			tool_die("%s: not understood", argv[i]);
	}
}

static inline void tool_address(const char *host, const char *port, union tool_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, host, &addr->v4.sin_addr) == 1) {
		addr->v4.sin_family = AF_INET;
		addr->v4.sin_port = htons((uint16_t)atoi(port));
	} else if (inet_pton(AF_INET6, host, &addr->v6.sin6_addr) == 1) {
		addr->v6.sin6_family = AF_INET6;
		addr->v6.sin6_port = htons((uint16_t)atoi(port));
	} else {
		tool_die("%s: not an address", host);
	}
}

static inline socklen_t tool_length(const union tool_addr *addr)
{
	return addr->any.sa_family == AF_INET ? sizeof(addr->v4) : sizeof(addr->v6);
}

/*
 * The client with this number: 10.10.A.B, or fd00:10:A:B::1 (its own /64), A and B from 1 to 250. The port begins at
 * `port` and counts up whenever the addresses have all been used: no two numbers share a connection.
 */
static inline void tool_source(int family, uint32_t number, uint32_t sources, uint16_t port, union tool_addr *addr)
{
	uint32_t limit = sources && sources < TOOL_SOURCES_PER_PORT ? sources : TOOL_SOURCES_PER_PORT;
	uint32_t place = number % limit, a = 1 + place / 250, b = 1 + place % 250;

	port = (uint16_t)(port + number / limit);
	memset(addr, 0, sizeof(*addr));
	if (family == AF_INET) {
		addr->v4.sin_family = AF_INET;
		addr->v4.sin_port = htons(port);
		addr->v4.sin_addr.s_addr = htonl(0x0a0a0000U | a << 8 | b);
	} else {
		addr->v6.sin6_family = AF_INET6;
		addr->v6.sin6_port = htons(port);
		addr->v6.sin6_addr.s6_addr[0] = 0xfd;
		addr->v6.sin6_addr.s6_addr[3] = 0x10;
		addr->v6.sin6_addr.s6_addr[5] = (uint8_t)a;
		addr->v6.sin6_addr.s6_addr[7] = (uint8_t)b;
		addr->v6.sin6_addr.s6_addr[15] = 1;
	}
}

/* Events counted in steps of the same length; what comes after the last step counts there. */
struct tool_series {
	uint64_t began_us, step_us; /* 0: not counted */
	uint32_t used, count[TOOL_SERIES_STEPS];
};

static inline void tool_series_add(struct tool_series *series, uint64_t now_us)
{
	uint64_t step;

	if (!series->step_us)
		return;
	step = (now_us - series->began_us) / series->step_us;
	if (step >= TOOL_SERIES_STEPS)
		step = TOOL_SERIES_STEPS - 1;
	series->count[step]++;
	if (step >= series->used)
		series->used = (uint32_t)step + 1;
}

/* ` series=N,N,...`, or nothing */
static inline void tool_series_print(const struct tool_series *series)
{
	if (series->step_us && !series->used)
		printf(" series=0");
	for (uint32_t i = 0; i < series->used; i++)
		printf("%s%u", i ? "," : " series=", series->count[i]);
}

/* For qsort() of 32-bit numbers, the smallest first. */
static inline int tool_by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static inline void tool_raise_files(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

#endif
