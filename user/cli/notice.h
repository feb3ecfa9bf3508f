/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command says beside its result: that nothing is enforced, what was there before, what looks like a mistake. */
#ifndef SYNHOLD_CLI_NOTICE_H
#define SYNHOLD_CLI_NOTICE_H

#include "lib/instance.h"
#include "lib/lists.h"

typedef void (*notice_fn)(const char *text); /* where a warning goes */

/* One line on stderr; the exit status does not change. */
void notice_warn(const char *text);
/* The same as a line of the daemon's log. */
void notice_log(const char *text);

/*
 * " (mode=monitor: only counted; ...)" when the service only counts, or with service NULL when any does; otherwise the
 * empty string. Returns buf.
 */
char *notice_monitor(const struct instance *inst, const char *service, char *buf, size_t size);

/*
 * `web: ports 443, mode=enforce, window=auto, rate=200`: the service in force, and whether it is what was there before
 * (before may be NULL). Returns buf.
 */
char *notice_service(const struct model *model, int id, const struct model *before, char *buf, size_t size);

/* Warns of fixed windows outside of window-min to window-max. service: its name, or NULL for all. */
void notice_windows(const struct model *model, const char *service, notice_fn warn);
/* Warns of services with action=hold where the kernel cannot hold. service: its name, or NULL for all. */
void notice_hold(const struct instance *inst, const struct model *model, const char *service, notice_fn warn);
/* Warns of services for which nothing listens in this network namespace. */
void notice_listeners(const struct model *model, notice_fn warn);
/* Warns of an entry that takes in every address. confirmed: it is undone unless somebody confirms. */
void notice_entry(enum list_kind kind, const struct list_entry *entry, int confirmed);

#endif
