/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_COMPARE_H
#define DRILL_COMPARE_H

#include "drill/kit.h"

/*
 * Makes the runs of a drill that params->runs names, one after the other against the same capacity, prints the report
 * and the verdict. Returns the exit status.
 */
int compare_run(const struct drill *drill, const struct drill_params *params);

/*
 * Says on stderr in one line what could not be done and what to do about it (may be NULL), and with --json
 * the same as an object on stdout; code is a negative errno. Returns 1.
 */
int compare_fail(bool json, int code, const char *hint, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
