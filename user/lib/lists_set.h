/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address list entries in memory: sets of them, reading them from files, and the image that the data plane looks into.
 * Pure. */
#ifndef SYNHOLD_LIB_LISTS_SET_H
#define SYNHOLD_LIB_LISTS_SET_H

#include <stddef.h>
#include <stdint.h>

#include <synhold/abi.h>
#include <synhold/lists.h>

#include "lib/error.h"

enum list_kind { LIST_ALLOW, LIST_DENY, LIST_PREFER };
#define LIST_KINDS (LIST_PREFER + 1)
enum list_origin { LIST_BY_COMMAND, LIST_BY_CONFIG, LIST_BY_LOAD };

const char *lists_name(enum list_kind kind);

struct list_value {
	uint64_t until_ns;           /* SYNHOLD_FOREVER, or when it stops to match (CLOCK_MONOTONIC) */
	uint64_t confirmed_until_ns; /* what until_ns becomes by `confirm`; 0 = nothing pending */
	uint64_t rate_pps;           /* allow: 0 = default; prefer: the weight */
	uint8_t origin;              /* enum list_origin */
	char note[SYNHOLD_NOTE_LEN - 1];
};
struct list_entry {
	uint8_t addr[16]; /* mapped */
	uint8_t prefixlen;
	struct list_value value;
};

/* Entries of the three lists; all zero is none. */
struct config_lists {
	unsigned int count[LIST_KINDS];
	struct list_entry *entry[LIST_KINDS];
};

/* By address, then by length: an entry comes after all that it lies in. */
int lists_compare(const void *a, const void *b);
/* Appends a copy. 0 or -ENOMEM. */
int config_lists_add(struct config_lists *lists, enum list_kind kind, const struct list_entry *entry);
void config_lists_free(struct config_lists *lists);
/* Sorts, and keeps the last of those with the same prefix. 0 or -ENOMEM. */
int lists_sort(struct config_lists *lists, enum list_kind kind);
/* Keeps what has not ended. Returns how many have gone. */
unsigned int lists_expire(struct config_lists *lists, uint64_t now_ns);
/*
 * What a file brings takes the place of what it brought before: entries of that origin go, those of `fresh` come, and
 * others stay unless the prefix is the same. Both sorted; so is the result. 0 or -ENOMEM with *lists untouched.
 */
int lists_merge(struct config_lists *lists, enum list_kind kind, const struct list_entry *fresh, unsigned int count,
		enum list_origin origin);
/* -ENOSPC, saying which list is too long, how many it takes and how many there are. */
int lists_check_room(const struct config_lists *lists, struct error *err);

#define LISTS_ALLOW_FORM "CIDR [rate N] [# note], such as 192.0.2.0/24 rate 50 # probes"
#define LISTS_DENY_FORM "CIDR [# note], such as 198.51.100.0/24 # abuse"
#define LISTS_PREFER_FORM "CIDR WEIGHT [# note], weight 2 to 128, such as 192.0.2.0/24 8"
#define LISTS_ALLOW_LOAD_FORM "CIDR [rate N] [for DURATION] [# note], such as 192.0.2.0/24 rate 50 # probes"
#define LISTS_DENY_LOAD_FORM "CIDR [for DURATION] [# note], such as 198.51.100.0/24 for 12h # abuse"

/* What may be in the lines of a file. */
struct lists_lines {
	enum list_kind kind;
	enum list_origin origin;
	uint64_t now_ns; /* what `for DURATION` counts from; 0 = it is not accepted */
};
/* Appends the entry of one line. 0; -EINVAL or -ENOMEM, and nothing is appended. */
int lists_parse(struct config_lists *lists, const struct lists_lines *lines, const char *text, struct error *err);
/* All lines of a file; empty ones and comments are skipped. 0, -EINVAL naming the line, or -errno. */
int lists_parse_file(struct config_lists *lists, const struct lists_lines *lines, const char *path, struct error *err);

/*
 * The image of sorted lists, as rows of struct synhold_list_row: *rows is the caller's to free. 0 or -ENOMEM. The
 * layout is that of struct synhold_list_head.
 */
int lists_image(const struct config_lists *lists, struct synhold_list_row **rows, uint32_t *count);
/* Appends the entries of an image. 0, -ENOMEM, or -EPROTO for one that this version cannot have made. */
int lists_image_read(const void *image, size_t size, struct config_lists *lists);
/* The range of an image in which an address is. */
const struct synhold_list_range *lists_image_find(const void *image, const uint8_t addr[16]);

#endif
