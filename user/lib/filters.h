/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tc filters on the clsact hooks of an interface: ours on, ours off, whose others are there. */
#ifndef SYNHOLD_LIB_FILTERS_H
#define SYNHOLD_LIB_FILTERS_H

#include "lib/error.h"

/* Our filters are known by these. Priority 1: before others, so that none of them can hide a packet from us. */
#define FILTERS_PRIORITY 1
#define FILTERS_HANDLE 0x53480001u

/*
 * Puts (or replaces) both filters. *created: the clsact qdisc was not there before. 0 or -errno; nothing is left behind
 * on failure.
 */
int filters_attach(int ifindex, int egress_fd, int ingress_fd, int *created, struct error *err);

/* Our two filters' programs, for who may have to put them back: fds of the caller's, or -1 where there is none. */
void filters_programs(int ifindex, int *egress_fd, int *ingress_fd);

/* Takes ours off; the qdisc too if remove_qdisc and no other filter uses it. */
void filters_detach(int ifindex, int remove_qdisc);

/* How many filters of others are on both hooks; -errno when it cannot be known. */
int filters_foreign(int ifindex);

#endif
