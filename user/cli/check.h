/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The preflight: findings, each with what to do about it. */
#ifndef SYNHOLD_CLI_CHECK_H
#define SYNHOLD_CLI_CHECK_H

#include <jansson.h>

#include "cli/cli.h"
#include "cli/nic.h"

enum check_level { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct check {
	const char *instance;
	json_t *findings; /* {"level","what","why","fix"} */
	enum check_level worst;
};

/* why is a format for what follows; fix may be empty. */
void check_add(struct check *check, enum check_level level, const char *what, const char *fix, const char *why, ...)
	__attribute__((format(printf, 5, 6)));

void check_kernel(struct check *check); /* what the kernel can do, and whether we may */
void check_host(struct check *check);   /* memory, sysctls */
void check_interface(struct check *check, const char *name);

#endif
