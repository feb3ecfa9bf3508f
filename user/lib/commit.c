// SPDX-License-Identifier: GPL-2.0-or-later
/* Changing the policy of an instance: the bank that is not in force is written, then one word makes it the one that is.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "lib/instance.h"
#include "lib/lists.h"
#include "lib/offenders.h"
#include "lib/units.h"

static int clear_addrs(struct instance *inst, uint32_t bank)
{
	int fd = inst->map[INSTANCE_MAP_ADDRS];
	struct synhold_addr_key *doomed = NULL, key, *last = NULL;
	size_t count = 0, room = 0;

	while (!bpf_map_get_next_key(fd, last, &key)) {
		last = &key;
		if (key.bank != htons((uint16_t)bank))
			continue;
		if (count == room) {
			struct synhold_addr_key *more = reallocarray(doomed, room = room ? room * 2 : 64, sizeof(key));

			if (!more) {
				free(doomed);
				return -ENOMEM;
			}
			doomed = more;
		}
		doomed[count++] = key;
	}
	for (size_t i = 0; i < count; i++)
		bpf_map_delete_elem(fd, &doomed[i]);
	free(doomed);
	return 0;
}

static int write_spec(struct instance *inst, uint32_t bank, uint32_t id, const struct synhold_spec *spec)
{
	uint64_t *table = inst->ports + bank * SYNHOLD_PORTS;

	for (uint32_t port = spec->port_lo; port <= spec->port_hi; port++) {
		struct synhold_addr_key key = {.prefixlen = 32U + spec->prefixlen,
					       .bank = htons((uint16_t)bank),
					       .port = htons((uint16_t)port)};

		if (spec->any) {
			table[port] = (table[port] & SYNHOLD_PORT_ADDRS) | (id + 1);
			continue;
		}
		memcpy(key.addr, spec->addr, 16);
		if (bpf_map_update_elem(inst->map[INSTANCE_MAP_ADDRS], &key, &id, BPF_ANY))
			return -errno;
		table[port] |= SYNHOLD_PORT_ADDRS;
	}
	return 0;
}

static int write_bank(struct instance *inst, const struct model *model, uint32_t bank, struct error *err)
{
	int ret = clear_addrs(inst, bank);

	memset(inst->ports + bank * SYNHOLD_PORTS, 0, SYNHOLD_PORTS * sizeof(*inst->ports));
	for (uint32_t id = 0; id < SYNHOLD_SERVICES && !ret; id++)
		for (uint32_t i = 0; model->service[id].name[0] && i < model->specs[id].count && !ret; i++)
			ret = write_spec(inst, bank, id, &model->specs[id].spec[i]);
	if (ret) {
		error_set(err, ret, "instance '%s': the port table cannot be written: %s", inst->name, strerror(-ret));
		if (ret == -ENOSPC)
			error_hint(err, ret, "address-specific ranges may cover 32768 ports in all: use narrower ones");
		return ret;
	}
	inst->globals[bank] = model->global;
	inst->globals[bank].settle_bytes_most = 0;
	for (uint32_t id = 0; id < SYNHOLD_SERVICES; id++)
		if (model->service[id].name[0] &&
		    model->service[id].settle_bytes > inst->globals[bank].settle_bytes_most)
			inst->globals[bank].settle_bytes_most = model->service[id].settle_bytes;
	memcpy(inst->policy + bank * SYNHOLD_SERVICES, model->service, sizeof(model->service));
	memcpy(inst->specs + bank * SYNHOLD_SERVICES, model->specs, sizeof(model->specs));
	return 0;
}

/* A place that goes to a service of another name starts from nothing: a new series, not a jump in an old one. */
static void reset_reused(struct instance *inst, const struct model *model)
{
	size_t counters = sizeof(struct synhold_counters) * inst->cpus,
	       delays = sizeof(struct synhold_delays) * inst->cpus;
	void *zero = calloc(1, counters > delays ? counters : delays);

	for (uint32_t id = 0; zero && id < SYNHOLD_SERVICES; id++) {
		struct synhold_tally *tally = &inst->tally[id];
		const char *name = model->service[id].name;

		if (!name[0] || !strcmp(tally->owner, name))
			continue;
		if (tally->owner[0]) {
			bpf_map_update_elem(inst->map[INSTANCE_MAP_COUNTERS], &id, zero, BPF_ANY);
			bpf_map_update_elem(inst->map[INSTANCE_MAP_DELAYS], &id, zero, BPF_ANY);
			memset(&inst->base[id].counters, 0, sizeof(inst->base[id].counters));
			memset(&inst->base[id].delays, 0, sizeof(inst->base[id].delays));
			memset(&inst->gates[id], 0, sizeof(inst->gates[id]));
			memset(&inst->owed[id], 0, sizeof(inst->owed[id]));
			memset(&inst->asked[id], 0, sizeof(inst->asked[id]));
			offenders_forget(inst, id);
			memset(&inst->runtime[id], 0, sizeof(inst->runtime[id]));
			memset(&inst->signals[id], 0, sizeof(inst->signals[id]));
			memset(tally, 0, sizeof(*tally));
		}
		memcpy(tally->owner, name, sizeof(tally->owner));
	}
	free(zero);
}

/* What has been undone by the clock is undone for good, before its bank is written. */
static void settle(struct instance *inst)
{
	uint64_t word = __atomic_load_n(&inst->control->active, __ATOMIC_ACQUIRE);

	if (!SYNHOLD_ACTIVE_PENDING(word))
		return;
	__atomic_store_n(&inst->control->active, (uint64_t)instance_bank(inst), __ATOMIC_RELEASE);
	instance_quiesce(inst);
}

int instance_commit(struct instance *inst, const struct model *model, uint64_t confirm_ns, struct error *err)
{
	return instance_commit_lists(inst, model, NULL, confirm_ns, err);
}

int instance_commit_lists(struct instance *inst, const struct model *model, const struct config_lists *lists,
			  uint64_t confirm_ns, struct error *err)
{
	uint64_t deadline_ns, word;
	char text[32];
	uint32_t bank;
	int ret;

	if (instance_confirm_pending(inst, &deadline_ns)) {
		error_set(err, -EBUSY, "instance '%s': an earlier change waits for confirmation", inst->name);
		return error_hint(err, -EBUSY, "synhold confirm keeps it; it is undone by itself in %s",
				  units_format_time(text, sizeof(text),
						    (double)(deadline_ns - instance_now_ns()) / 1e9));
	}
	settle(inst);
	bank = !instance_bank(inst);
	ret = lists_stage(inst, bank, lists, err);
	if (!ret)
		ret = write_bank(inst, model, bank, err);
	if (ret)
		return ret;
	reset_reused(inst, model);
	word = bank;
	if (confirm_ns)
		word |= 2 | ((instance_now_ns() + confirm_ns + 999999) / 1000000) << 2;
	__atomic_store_n(&inst->control->active, word, __ATOMIC_RELEASE);
	__atomic_add_fetch(&inst->control->generation, 1, __ATOMIC_RELEASE);
	ret = instance_quiesce(inst);
	if (!ret && !confirm_ns)
		lists_drop(inst, !bank);
	return ret ? error_set(err, ret, "instance '%s': the change is in force, but waiting for it failed: %s",
			       inst->name, strerror(-ret)) :
		     0;
}

int instance_confirm(struct instance *inst, struct error *err)
{
	uint64_t word = __atomic_load_n(&inst->control->active, __ATOMIC_ACQUIRE);
	int entries = lists_confirm(inst, err);

	if (entries < 0)
		return entries;
	if (instance_confirm_pending(inst, NULL)) {
		__atomic_store_n(&inst->control->active, (uint64_t)SYNHOLD_ACTIVE_BANK(word), __ATOMIC_RELEASE);
		instance_quiesce(inst);
		lists_drop(inst, !SYNHOLD_ACTIVE_BANK(word));
		return 0;
	}
	if (entries)
		return 0;
	error_set(err, -ENOENT, "instance '%s': nothing waits for confirmation", inst->name);
	return error_hint(err, -ENOENT, "if the time was over, the change has been undone: make it again");
}
