/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words that users write numbers with: rates, durations, shares, sizes, addresses. Each parser takes the whole
 * string or nothing. */
#ifndef SYNHOLD_LIB_UNITS_H
#define SYNHOLD_LIB_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Accepted forms, for messages. */
#define UNITS_COUNT_FORM "a whole number, such as 450, 10k or 2m"
#define UNITS_DURATION_FORM "a number with a unit, such as 250ms, 5s, 10m or 1h"
#define UNITS_SHARE_FORM "a percentage from 0% to 100%, such as 25% or 12.5%"
#define UNITS_SIZE_FORM "a size such as 64MiB, 512KiB or 1GiB"
#define UNITS_CIDR_FORM "an address or prefix, such as 192.0.2.0/24 or 2001:db8::/48"

/* Whole number with an optional k (1000) or m (a million). 0, -EINVAL, or -ERANGE above 10^15. */
int units_parse_count(const char *text, uint64_t *value);
/* Digits with an optional fraction and a unit: ns us ms s m h d. Result in ns. 0, -EINVAL, or -ERANGE above 10 years.
 */
int units_parse_duration(const char *text, uint64_t *ns);
/* Percentage, "%" required. Result in parts per million. 0, -EINVAL, or -ERANGE outside 0..100 %. */
int units_parse_share(const char *text, uint32_t *ppm);
/* Bytes with an optional B, KiB, MiB, GiB. 0, -EINVAL or -ERANGE. */
int units_parse_size(const char *text, uint64_t *bytes);
/*
 * IPv4 or IPv6 address with an optional /LEN. addr: 16 bytes in network order, IPv4 mapped into IPv6; prefixlen of that
 * mapped address (so IPv4 /24 gives 120). -EINVAL for what is no address or has bits set beyond the prefix.
 */
int units_parse_cidr(const char *text, uint8_t addr[16], uint8_t *prefixlen);

/*
 * For messages: the prefix that `text` was meant to be when nothing is wrong with it but bits set beyond its length
 * (10.0.0.1/8 gives 10.0.0.0/8). 0, or -EINVAL when that is not what is wrong.
 */
int units_mask_cidr(const char *text, char *buf, size_t size);

/* The shortest exact text that the parser above accepts. Each writes at most `size` bytes with the terminator and
 * returns buf. */
char *units_format_count(char *buf, size_t size, uint64_t value);
char *units_format_duration(char *buf, size_t size, uint64_t ns);
char *units_format_share(char *buf, size_t size, uint32_t ppm);
char *units_format_size(char *buf, size_t size, uint64_t bytes);
/* For people: 0.4 s, 45 s, 12 min, 5 h 20 min, 3 d 4 h. Not what a parser takes back. */
char *units_format_time(char *buf, size_t size, double seconds);
/* Address alone when the prefix is full. */
char *units_format_cidr(char *buf, size_t size, const uint8_t addr[16], uint8_t prefixlen);

#endif
