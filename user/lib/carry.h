/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of one version's types into those of another: members are matched by name, as BTF tells them. Pure. */
#ifndef SYNHOLD_LIB_CARRY_H
#define SYNHOLD_LIB_CARRY_H

#include <bpf/btf.h>
#include <stdint.h>

#define CARRY_NAME_LEN 64

/* A type and the BTF it is in. */
struct carry_type {
	const struct btf *btf;
	uint32_t id;
};

/*
 * Fills *dst, of type `to`, from *src, of type `from`. What `from` does not have becomes 0; arrays are carried up to
 * the shorter one's end, place by place. `lost` names the first member that is not 0 and has no place in `to`, or a
 * number too large for it, and is empty when there is none. Members called pad... count for nothing. 0; -EPROTO when
 * the same name is of another kind on the other side, with *dst undefined.
 */
int carry_value(struct carry_type from, const void *src, struct carry_type to, void *dst, char lost[CARRY_NAME_LEN]);

#endif
