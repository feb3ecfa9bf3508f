/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line by which an application reports its own load: SERVICE NAME VALUE [--target V] [--for DURATION]. */
#ifndef SYNHOLD_LIB_SIGNAL_LINE_H
#define SYNHOLD_LIB_SIGNAL_LINE_H

#include <stddef.h>
#include <stdint.h>

#include <synhold/abi.h>

#include "lib/error.h"

#define SIGNAL_LINE_FORM \
	"SERVICE NAME VALUE [--target VALUE] [--for DURATION], such as: web queue 120 --target 100 --for 5s"
#define SIGNAL_LINE_MAX 512
#define SIGNAL_NAME_LEN 32
#define SIGNAL_FOR_DEFAULT_NS 10000000000ULL

struct signal_line {
	char service[SYNHOLD_NAME_LEN];
	char name[SIGNAL_NAME_LEN]; /* [a-z0-9][a-z0-9._-]* */
	double value;               /* at least 0 */
	double target;              /* above 0; 1 unless given: the value is a ratio then */
	uint64_t for_ns;            /* how long it counts */
};

/* Parses words (argv style). 0 or -EINVAL. */
int signal_line_parse(int count, char *const *words, struct signal_line *line, struct error *err);
/* Parses text, a datagram for instance; it is cut into words in place. */
int signal_line_parse_text(char *text, struct signal_line *line, struct error *err);
/* The text of a line. Returns buf. */
char *signal_line_format(const struct signal_line *line, char *buf, size_t size);

#endif
