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

void check_kernel(struct check *check);    /* what the kernel can do, and whether we may */
void check_host(struct check *check);      /* memory, sysctls */
void check_version(struct check *check);   /* kernel and lockdown */
void check_listeners(struct check *check); /* those of an instance that is attached: backlog against window */
void check_spread(struct check *check, const struct nic *nic); /* queues and CPUs */
void check_nic(struct check *check, const struct nic *nic);    /* what a card is: driver, MTU, offloads, place */
/* Who holds a program open: "held by NAME, pid N", or that nobody does. Returns buf. */
char *check_owner(uint32_t prog_id, char *buf, size_t size);
void check_interface(struct check *check, const char *name);

#endif
