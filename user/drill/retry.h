/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_RETRY_H
#define DRILL_RETRY_H

#include <stddef.h>
#include <stdint.h>

enum retry_kind { RETRY_NOW, RETRY_FIXED, RETRY_EXP, RETRY_EXP_JITTER };

/* How long a client sleeps between an attempt that failed and the next one. */
struct retry_policy {
	enum retry_kind kind;
	uint64_t base_ns;
	uint64_t max_ns;
};

#define RETRY_FORMS "now, fixed:S, exp:BASE:MAX or expj:BASE:MAX, for example fixed:1s or expj:500ms:30s"

/* Reads one of RETRY_FORMS; a number without a unit means seconds. Returns 0 or -EINVAL. */
int retry_parse(const char *text, struct retry_policy *policy);

/* Writes the policy back in the form retry_parse() reads. Always terminates; truncates silently. */
void retry_format(const struct retry_policy *policy, char *text, size_t size);

/*
 * Sleep in ns before the next attempt, after `failures` (>= 1) failed ones. `random` is 64 uniform bits;
 * only expj uses them: uniform between 0 and the exponential delay ("full jitter").
 */
uint64_t retry_delay_ns(const struct retry_policy *policy, uint32_t failures, uint64_t random);

#endif
