/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Port specifications: [NAME=][ADDR[/LEN]:]PORT[-PORT][,PORT...], IPv6 in brackets: [2001:db8::/64]:443. */
#ifndef SYNHOLD_LIB_SPEC_H
#define SYNHOLD_LIB_SPEC_H

#include <stddef.h>

#include <synhold/abi.h>

#include "lib/error.h"

#define SPEC_FORM \
	"[NAME=][ADDR[/LEN]:]PORT[-PORT][,PORT...], ports 1 to 65535, such as 443, web=443,8443 or [2001:db8::/64]:443"
#define SPEC_NAME_FORM "up to 32 of a-z 0-9 . _ -, the first one a letter or digit"

/* Whether a service may be called so. */
int spec_name_valid(const char *name);

/*
 * Parses one specification. name: given, or tcp-PORT of the first port. Appends to *specs (so that several
 * specifications of one service add up). 0, or -EINVAL with *specs untouched.
 */
int spec_parse(const char *text, char name[SYNHOLD_NAME_LEN], struct synhold_specs *specs, struct error *err);

/* The specifications of a service as one or more words for --port or `port =` lines; `index` counts address groups. 0
 * or -ENOENT. */
int spec_format(const struct synhold_specs *specs, unsigned int index, char *buf, size_t size);

#endif
