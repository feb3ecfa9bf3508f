/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_COMPARE_H
#define DRILL_COMPARE_H

#include "drill/params.h"

/*
 * Runs the same storm without and with the shield, prints the report and the verdict. `must_collapse`: the
 * half without the shield has to show the incident. Returns the exit status.
 */
int compare_run(const struct drill_params *params, bool must_collapse);

/*
 * Says on stderr in one line what could not be done and what to do about it (may be NULL), and with --json
 * the same as an object on stdout; code is a negative errno. Returns 1.
 */
int compare_fail(bool json, int code, const char *hint, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
