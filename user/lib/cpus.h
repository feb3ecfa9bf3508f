/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A list of CPUs, as taskset(1) takes it. */
#ifndef SYNHOLD_LIB_CPUS_H
#define SYNHOLD_LIB_CPUS_H

#include <sched.h>

#define CPUS_FORM "CPU numbers and ranges, such as 0, 2-3 or 0,4-7"

/* The whole string or nothing, *set untouched then. count: how many CPUs the machine has. 0; -EINVAL; -ERANGE for one
 * that it has not. */
int cpus_parse(const char *text, unsigned int count, cpu_set_t *set);

#endif
