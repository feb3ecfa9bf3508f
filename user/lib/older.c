// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/older.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/carry.h"
#include "lib/deploy_parts.h"
#include "lib/instance_parts.h"
#include "synhold.skel.h"

#define INTERFACES_MAX 64

/* How much the loss of a member matters. */
enum strict {
	LOSS_ALLOWED, /* counters and state: what this version does not know, it does not show */
	LOSS_REFUSED, /* policy: nor may the map itself be missing */
};

/* A map of the older version beside ours. */
struct pair {
	int fd;
	struct bpf_map_info info;
	struct btf *btf;
	struct carry_type from, to;
	size_t to_size;
	char *value; /* room for one of theirs, on every CPU */
	const char *name;
};

static void pair_close(struct pair *pair)
{
	if (pair->fd >= 0)
		close(pair->fd);
	btf__free(pair->btf);
	free(pair->value);
}

/* 0; -ENOENT: the older version had no such map; -EPROTO: nobody can tell what is in it. */
static int pair_open(const struct instance *inst, const struct synhold_bpf *ours, enum instance_map which,
		     struct pair *pair, struct error *err)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(ours->obj, instance_map_names[which]);
	uint32_t length = sizeof(pair->info);
	char path[192];

	memset(pair, 0, sizeof(*pair));
	pair->name = instance_map_names[which];
	pins_path(inst, pair->name, path, sizeof(path));
	pair->fd = bpf_obj_get(path);
	if (pair->fd < 0)
		return errno == ENOENT ? -ENOENT : error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (bpf_obj_get_info_by_fd(pair->fd, &pair->info, &length))
		return error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (pair->info.btf_id)
		pair->btf = btf__load_from_kernel_by_id(pair->info.btf_id);
	if (!map || !pair->btf || !pair->info.btf_value_type_id) {
		error_set(err, -EPROTO, "instance '%s': the older version's map %s does not tell what is in it",
			  inst->name, pair->name);
		return error_hint(err, -EPROTO, "it stays in force; synhold detach --all, then attach again");
	}
	pair->from = (struct carry_type){pair->btf, pair->info.btf_value_type_id};
	pair->to = (struct carry_type){bpf_object__btf(ours->obj), bpf_map__btf_value_type_id(map)};
	pair->to_size = bpf_map__value_size(map);
	pair->value = calloc((size_t)libbpf_num_possible_cpus(), (pair->info.value_size + 7) / 8 * 8);
	return pair->value ? 0 : error_set(err, -ENOMEM, "out of memory");
}

static int pair_carry(const struct instance *inst, const struct pair *pair, const void *value, void *to,
		      enum strict strict, struct error *err)
{
	char lost[CARRY_NAME_LEN];

	if (carry_value(pair->from, value, pair->to, to, lost)) {
		error_set(err, -EPROTO, "instance '%s': the older version's map %s cannot be understood", inst->name,
			  pair->name);
		return error_hint(err, -EPROTO, "it stays in force; synhold detach --all, then attach again");
	}
	if (strict == LOSS_ALLOWED || !lost[0])
		return 0;
	error_set(err, -EPROTO, "instance '%s': its policy has '%s' set, which this version does not know", inst->name,
		  lost);
	return error_hint(err, -EPROTO, "it stays in force; unset that with the version that made it, then again");
}

static int error_no_map(const struct instance *inst, enum instance_map which, struct error *err)
{
	error_set(err, -EPROTO, "instance '%s': the older version's map %s is not there, or was kept in another way",
		  inst->name, instance_map_names[which]);
	return error_hint(err, -EPROTO, "it stays in force; synhold detach --all, then attach again");
}

/* One map into the memory that ours would have. `banks`: its places are those of so many banks, one after the other. */
static int carry_map(struct instance *inst, const struct synhold_bpf *ours, enum instance_map which, uint32_t banks,
		     uint32_t most, enum strict strict, struct error *err)
{
	char *memory = instance_mapped(inst, which);
	struct pair pair;
	int ret = pair_open(inst, ours, which, &pair, err);

	for (uint32_t bank = 0; bank < banks && !ret; bank++) {
		uint32_t theirs = pair.info.max_entries / banks;

		for (uint32_t i = 0; i < theirs && !ret; i++) {
			uint32_t key = bank * theirs + i;

			if (bpf_map_lookup_elem(pair.fd, &key, pair.value)) {
				ret = error_set(err, -errno, "map %s: %s", pair.name, strerror(errno));
			} else if (i < most) {
				/* what is not in force may go */
				int now = banks == 1 || bank == instance_bank(inst);

				ret = pair_carry(inst, &pair, pair.value, memory + (bank * most + i) * pair.to_size,
						 now && which != INSTANCE_MAP_CONTROL ? strict : LOSS_ALLOWED, err);
			} else if (strict == LOSS_REFUSED && pair.value[0] && bank == instance_bank(inst)) {
				ret = error_set(err, -EPROTO, "instance '%s': it has more than %u services", inst->name,
						most);
				error_hint(err, ret, "it stays in force; take some away, then again");
			}
		}
	}
	pair_close(&pair);
	if (ret == -ENOENT && strict == LOSS_REFUSED)
		return error_no_map(inst, which, err);
	return ret == -ENOENT ? 0 : ret; /* nothing to carry: all zero, as at a start */
}

/* The interfaces, in a map that only this process has: others read it as they read ours. */
static int carry_interfaces(struct instance *inst, const struct synhold_bpf *ours, struct error *err)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "interfaces", sizeof(uint32_t), sizeof(struct synhold_interface),
				INTERFACES_MAX, NULL);
	uint32_t key, *last = NULL;
	struct pair pair;
	int ret;

	if (fd < 0)
		return error_set(err, -errno, "a map cannot be made: %s", strerror(errno));
	inst->map[INSTANCE_MAP_INTERFACES] = fd;
	ret = pair_open(inst, ours, INSTANCE_MAP_INTERFACES, &pair, err);
	while (!ret && pair.info.key_size == sizeof(key) && !bpf_map_get_next_key(pair.fd, last, &key)) {
		struct synhold_interface value;

		last = &key;
		if (bpf_map_lookup_elem(pair.fd, &key, pair.value))
			continue;
		ret = pair_carry(inst, &pair, pair.value, &value, LOSS_ALLOWED, err);
		if (!ret && bpf_map_update_elem(fd, &key, &value, BPF_ANY))
			ret = error_set(err, -errno, "a map cannot be filled: %s", strerror(errno));
	}
	pair_close(&pair);
	return ret == -ENOENT ? error_no_map(inst, INSTANCE_MAP_INTERFACES, err) : ret;
}

static struct synhold_bpf *open_ours(struct error *err)
{
	struct synhold_bpf *ours = synhold_bpf__open();

	if (!ours)
		error_set(err, -errno, "the BPF programs cannot be opened: %s", strerror(errno));
	return ours;
}

static int carry_state(struct instance *inst, const struct synhold_bpf *ours, struct error *err)
{
	static const enum instance_map maps[] = {INSTANCE_MAP_TALLY, INSTANCE_MAP_GATES, INSTANCE_MAP_OWED,
						 INSTANCE_MAP_RUNTIME, INSTANCE_MAP_BASE};
	int ret = carry_map(inst, ours, INSTANCE_MAP_GLOBAL, 1, 1, LOSS_ALLOWED, err);

	if (!ret)
		ret = carry_map(inst, ours, INSTANCE_MAP_DAEMON, 1, 1, LOSS_ALLOWED, err);
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps) && !ret; i++)
		ret = carry_map(inst, ours, maps[i], 1, SYNHOLD_SERVICES, LOSS_ALLOWED, err);
	return ret;
}

static void forget(struct instance *inst)
{
	int lock = inst->lock_fd;

	inst->lock_fd = -1; /* the caller's */
	instance_close(inst);
	inst->lock_fd = lock;
}

int older_open(struct instance *inst, struct error *err)
{
	libbpf_print_fn_t before = libbpf_set_print(deploy_quiet);
	struct synhold_bpf *ours = open_ours(err);
	int ret = ours ? instance_map_private(inst) : -ENOMEM;
	char path[192];

	if (!ret) /* first: it says which bank is in force */
		ret = carry_map(inst, ours, INSTANCE_MAP_CONTROL, 1, 1, LOSS_REFUSED, err);
	if (!ret)
		ret = carry_map(inst, ours, INSTANCE_MAP_POLICY, SYNHOLD_BANKS, SYNHOLD_SERVICES, LOSS_REFUSED, err);
	if (!ret)
		ret = carry_map(inst, ours, INSTANCE_MAP_SPECS, SYNHOLD_BANKS, SYNHOLD_SERVICES, LOSS_REFUSED, err);
	if (!ret)
		ret = carry_map(inst, ours, INSTANCE_MAP_GLOBALS, SYNHOLD_BANKS, 1, LOSS_REFUSED, err);
	if (!ret)
		ret = carry_state(inst, ours, err);
	if (!ret)
		ret = carry_interfaces(inst, ours, err);
	if (!ret) {
		pins_path(inst, instance_map_names[INSTANCE_MAP_LISTS], path, sizeof(path));
		inst->map[INSTANCE_MAP_LISTS] = bpf_obj_get(path);
		if (inst->map[INSTANCE_MAP_LISTS] < 0)
			ret = error_no_map(inst, INSTANCE_MAP_LISTS, err);
	}
	inst->cpus = (unsigned int)libbpf_num_possible_cpus();
	synhold_bpf__destroy(ours);
	libbpf_set_print(before);
	if (ret)
		forget(inst);
	return ret;
}

int older_refresh(struct instance *inst, struct error *err)
{
	struct synhold_bpf *ours = open_ours(err);
	int ret = ours ? carry_state(inst, ours, err) : -ENOMEM;

	synhold_bpf__destroy(ours);
	return ret;
}

/* Adds what a map has counted on each CPU; `at` is the place of the first service in *sum. */
static int add_counts(const struct instance *inst, const struct synhold_bpf *ours, enum instance_map which, char *at,
		      size_t step, uint32_t most, struct error *err)
{
	uint64_t one[sizeof(struct synhold_base) / sizeof(uint64_t)];
	struct pair pair;
	int ret = pair_open(inst, ours, which, &pair, err);

	for (uint32_t key = 0; !ret && key < pair.info.max_entries && key < most; key++) {
		uint64_t *sum = (uint64_t *)(at + key * step);

		if (bpf_map_lookup_elem(pair.fd, &key, pair.value))
			ret = error_set(err, -errno, "map %s: %s", pair.name, strerror(errno));
		for (unsigned int cpu = 0; cpu < inst->cpus && !ret; cpu++) {
			ret = pair_carry(inst, &pair, pair.value + cpu * ((pair.info.value_size + 7) / 8 * 8), one,
					 LOSS_ALLOWED, err);
			for (size_t i = 0; !ret && i < pair.to_size / sizeof(uint64_t); i++)
				sum[i] += one[i];
		}
	}
	pair_close(&pair);
	return ret == -ENOENT ? 0 : ret;
}

int older_counts(const struct instance *inst, struct synhold_base *sum, struct error *err)
{
	struct synhold_bpf *ours = open_ours(err);
	int ret = ours ? 0 : -ENOMEM;

	memcpy(sum, inst->base, SYNHOLD_SERVICES * sizeof(*sum)); /* of versions older still */
	if (!ret)
		ret = add_counts(inst, ours, INSTANCE_MAP_COUNTERS, (char *)&sum->counters, sizeof(*sum),
				 SYNHOLD_SERVICES, err);
	if (!ret)
		ret = add_counts(inst, ours, INSTANCE_MAP_DELAYS, (char *)&sum->delays, sizeof(*sum), SYNHOLD_SERVICES,
				 err);
	if (!ret)
		ret = add_counts(inst, ours, INSTANCE_MAP_UNPARSED, (char *)sum->unparsed, sizeof(uint64_t),
				 SYNHOLD_UNPARSED_COUNT, err);
	synhold_bpf__destroy(ours);
	return ret;
}
