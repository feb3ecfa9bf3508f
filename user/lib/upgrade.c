// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From an older version's maps and programs to ours. Until the directories change places all pins of the old one are
 * there: whoever ends in the middle leaves something that works and that can be upgraded.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/chain.h"
#include "lib/deploy_parts.h"
#include "lib/filters.h"
#include "lib/lists.h"
#include "lib/older.h"
#include "lib/units.h"
#include "synhold.skel.h"

#define LINKS_MAX SYNHOLD_SERVICES

/* The older programs of an interface, to go back to. */
struct link_before {
	uint32_t ifindex;
	int switched, link, shield, egress, ingress;
	int chained; /* shield: in a dispatcher, by the place that it had there */
};

struct upgrade {
	struct instance *inst, old, next;
	struct deploy deploy;
	struct link_before link[LINKS_MAX];
	unsigned int links;
	struct synhold_base sum[SYNHOLD_SERVICES];
};

/* An older daemon would go on with maps that nobody looks at. */
static int check_daemon(const struct instance *inst, struct error *err)
{
	char path[192], text[16] = "";
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s/daemon.pid", inst->run_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK) {
		if (read(fd, text, sizeof(text) - 1) < 0)
			text[0] = '\0';
		text[strcspn(text, "\n")] = '\0';
		ret = error_set(err, -EBUSY, "instance '%s': an older synhold runs as its daemon, pid %s", inst->name,
				text);
		error_hint(err, ret, "kill %s ends it, the protection stays; then synhold run upgrades", text);
	}
	close(fd);
	return ret;
}

static int check(const struct upgrade *up, int claimed, struct error *err)
{
	uint64_t deadline_ns;
	char text[32];
	int ret = claimed ? 0 : check_daemon(up->inst, err);

	if (!ret)
		ret = deploy_check_netns(&up->old, err);
	if (ret || !instance_confirm_pending(&up->old, &deadline_ns))
		return ret;
	error_set(err, -EBUSY, "instance '%s': a change of the older version waits for confirmation", up->inst->name);
	return error_hint(err, -EBUSY, "confirm it with the older version, or wait %s until it is undone",
			  units_format_time(text, sizeof(text), (double)(deadline_ns - instance_now_ns()) / 1e9));
}

/* Held SYNs ended with the daemon that held them. */
static void forget_held(struct synhold_tally *tally)
{
	uint64_t missing = tally->entered - tally->released;

	for (unsigned int i = 0; i < SYNHOLD_DISCARD_COUNT; i++)
		missing -= tally->discarded[i];
	tally->discarded[SYNHOLD_DISCARD_DAEMON_LOST] += missing;
}

static void carry_state(const struct instance *old, struct instance *next)
{
	for (unsigned int id = 0; id < SYNHOLD_SERVICES; id++) {
		struct synhold_gate *gates[2][2] = {{&old->gates[id], &next->gates[id]},
						    {&old->owed[id], &next->owed[id]}};

		next->tally[id] = old->tally[id];
		forget_held(&next->tally[id]);
		next->runtime[id] = old->runtime[id];
		next->runtime[id].queued = next->runtime[id].held = next->runtime[id].hold_full = 0;
		for (int i = 0; i < 2; i++) { /* without what is in flight: it goes on until the switch */
			*gates[i][1] = *gates[i][0];
			gates[i][1]->inflight = 0;
			memset(gates[i][1]->buckets, 0, sizeof(gates[i][1]->buckets));
		}
	}
	*next->daemon = *old->daemon;
	next->daemon->heartbeat_ns = next->daemon->pid = 0;
	next->global->rate_tat_ns = old->global->rate_tat_ns;
	memcpy(next->control->hash_key, old->control->hash_key, sizeof(next->control->hash_key));
	next->control->generation = old->control->generation;
	next->control->list_changes = old->control->list_changes;
	next->control->bypass_until_ns = old->control->bypass_until_ns;
	next->control->netns_inode = old->control->netns_inode;
}

static int carry_policy(const struct instance *old, struct instance *next, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *model = model_new();
	struct config_lists lists = {0};
	uint32_t key, *last = NULL;
	struct synhold_interface value;
	int ret;

	if (!model)
		return error_set(err, -ENOMEM, "out of memory");
	instance_load_model(old, model);
	ret = model_compile(model, err);
	if (!ret) {
		ret = lists_read(old, &lists);
		if (ret) {
			error_set(err, ret, "instance '%s': the older version's address lists cannot be read: %s",
				  old->name, strerror(-ret));
			error_hint(err, ret, "it stays in force; synhold detach --all, then attach again");
		}
	}
	if (!ret)
		ret = instance_commit_lists(next, model, &lists, 0, err);
	config_lists_free(&lists);
	while (!ret && !bpf_map_get_next_key(old->map[INSTANCE_MAP_INTERFACES], last, &key)) {
		last = &key;
		if (!bpf_map_lookup_elem(old->map[INSTANCE_MAP_INTERFACES], &key, &value) &&
		    bpf_map_update_elem(next->map[INSTANCE_MAP_INTERFACES], &key, &value, BPF_ANY))
			ret = error_set(err, -errno, "map interfaces: %s", strerror(errno));
	}
	return ret;
}

static int program_of_link(int link)
{
	struct bpf_link_info info = {0};
	uint32_t length = sizeof(info);

	return bpf_obj_get_info_by_fd(link, &info, &length) ? -1 : bpf_prog_get_fd_by_id(info.prog_id);
}

static int program_in_chain(const struct instance *inst, uint32_t ifindex)
{
	struct chain_member list[CHAIN_MEMBERS];
	int count = chain_members(inst, ifindex, list);

	for (int i = 0; i < count; i++)
		if (list[i].ours)
			return bpf_prog_get_fd_by_id(list[i].id);
	return -1;
}

/* Both are in the dispatcher for a moment, so that nothing passes unjudged. */
static int switch_chain(struct upgrade *up, struct link_before *before, const struct synhold_interface *iface,
			struct error *err)
{
	enum deploy_mode mode = iface->flags & SYNHOLD_IFACE_GENERIC ? DEPLOY_GENERIC : DEPLOY_NATIVE;
	uint32_t flags = iface->flags;
	char name[IF_NAMESIZE];
	int ret;

	before->chained = 1;
	before->shield = program_in_chain(up->inst, before->ifindex);
	if (before->shield < 0 || !if_indextoname(before->ifindex, name)) /* its interface is gone */
		return 0;
	ret = chain_join(&up->next, name, mode, &flags, err);
	if (ret)
		return ret;
	chain_leave(up->inst, before->ifindex, 0);
	before->switched = (int)before->ifindex;
	return 0;
}

/* The link first: the filters may see ends of handshakes that the other program's maps do not know, and let them be. */
static int switch_link(struct upgrade *up, struct link_before *before, struct error *err)
{
	const struct synhold_bpf *skel = up->deploy.skel;
	struct synhold_interface iface = {0};
	int at, created, ret = 0;
	char path[192];

	bpf_map_lookup_elem(up->next.map[INSTANCE_MAP_INTERFACES], &before->ifindex, &iface);
	if (iface.flags & SYNHOLD_IFACE_CHAIN) {
		ret = switch_chain(up, before, &iface, err);
		if (ret || !before->switched)
			return ret;
		at = before->switched;
		filters_programs(at, &before->egress, &before->ingress);
		return filters_attach(at, bpf_program__fd(skel->progs.synhold_egress),
				      bpf_program__fd(skel->progs.synhold_reject), &created, err);
	}
	at = pins_link_interface(up->inst, before->ifindex, &before->link);
	if (at < 0) /* a pin that is no link of ours */
		return 0;
	pins_link_path(&up->next, before->ifindex, path, sizeof(path));
	if (bpf_obj_pin(before->link, path))
		return error_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!at) /* its interface is gone */
		return 0;
	before->shield = program_of_link(before->link);
	filters_programs(at, &before->egress, &before->ingress);
	if (bpf_link_update(before->link, bpf_program__fd(skel->progs.synhold_shield), NULL))
		return error_set(err, -errno, "interface index %d: the program cannot be replaced: %s", at,
				 strerror(errno));
	before->switched = at;
	ret = filters_attach(at, bpf_program__fd(skel->progs.synhold_egress),
			     bpf_program__fd(skel->progs.synhold_reject), &created, err);
	return ret;
}

static void switch_back(struct upgrade *up)
{
	int created;

	for (unsigned int i = 0; i < up->links; i++) {
		const struct link_before *before = &up->link[i];

		if (!before->switched)
			continue;
		if (before->chained) {
			chain_put_back(before->ifindex, before->shield);
			chain_leave(&up->next, before->ifindex, 0);
		} else if (before->shield >= 0)
			bpf_link_update(before->link, before->shield, NULL);
		if (before->egress >= 0 && before->ingress >= 0)
			filters_attach(before->switched, before->egress, before->ingress, &created, NULL);
	}
}

/* What is in flight keeps its slots until they expire; *expired: those for which it is too late. */
static void fold_gate(const struct synhold_gate *old, struct synhold_gate *gate, uint64_t *expired)
{
	int64_t placed = 0;

	for (unsigned int i = 0; i < SYNHOLD_BUCKETS; i++) {
		uint32_t epoch = (uint32_t)(old->buckets[i] >> 32), count = (uint32_t)old->buckets[i];
		__u64 *bucket = &gate->buckets[epoch & (SYNHOLD_BUCKETS - 1)];
		__u64 was = __atomic_load_n(bucket, __ATOMIC_RELAXED), now;

		if (!count || epoch < __atomic_load_n(&gate->retired, __ATOMIC_RELAXED))
			continue;
		do {
			if ((uint32_t)(was >> 32) != epoch && (uint32_t)was)
				break;
			now = (__u64)epoch << 32 | ((uint32_t)(was >> 32) == epoch ? (uint32_t)was + count : count);
		} while (!__atomic_compare_exchange_n(bucket, &was, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
		if ((uint32_t)(was >> 32) != epoch && (uint32_t)was)
			continue;
		__atomic_add_fetch(&gate->inflight, count, __ATOMIC_RELAXED);
		placed += count;
	}
	*expired = old->inflight > placed ? (uint64_t)(old->inflight - placed) : 0;
}

/* With the old programs gone, their numbers are final. */
static int fold(struct upgrade *up, struct error *err)
{
	int ret = instance_quiesce(&up->next);
	uint64_t expired;

	if (ret)
		return error_set(err, ret, "waiting for the older programs failed: %s", strerror(-ret));
	ret = older_refresh(&up->old, err);
	if (!ret)
		ret = older_counts(&up->old, up->sum, err);
	for (unsigned int id = 0; id < SYNHOLD_SERVICES && !ret; id++) {
		fold_gate(&up->old.gates[id], &up->next.gates[id], &expired);
		up->sum[id].counters.outcome[SYNHOLD_OUTCOME_EXPIRED] += expired;
		fold_gate(&up->old.owed[id], &up->next.owed[id], &expired);
		up->next.base[id] = up->sum[id];
	}
	return ret;
}

static int upgrade(struct upgrade *up, struct error *err)
{
	uint32_t index[LINKS_MAX];
	int ret;

	pins_staging(up->inst, &up->next);
	ret = deploy_load(&up->deploy, &up->next, err);
	if (ret)
		return ret;
	carry_state(&up->old, &up->next);
	ret = carry_policy(&up->old, &up->next, err);
	up->links = pins_links(up->inst, index, LINKS_MAX);
	for (unsigned int i = 0; i < up->links; i++)
		up->link[i] = (struct link_before){index[i], 0, -1, -1, -1, -1, 0};
	for (unsigned int i = 0; i < up->links && !ret; i++)
		ret = switch_link(up, &up->link[i], err);
	if (!ret)
		ret = fold(up, err);
	if (!ret) {
		ret = pins_swap(up->inst, &up->next);
		if (ret)
			error_set(err, ret, "%s: %s", up->inst->pin_dir, strerror(-ret));
	}
	if (ret) {
		switch_back(up);
		pins_remove(&up->next);
	}
	for (unsigned int i = 0; i < up->links; i++) {
		const int fds[] = {up->link[i].link, up->link[i].shield, up->link[i].egress, up->link[i].ingress};

		for (size_t j = 0; j < sizeof(fds) / sizeof(*fds); j++)
			if (fds[j] >= 0)
				close(fds[j]);
	}
	instance_close(&up->next);
	deploy_unload(&up->deploy);
	return ret;
}

void deploy_recover(const struct instance *inst)
{
	struct instance own;

	if (!pins_unfinished(inst) || instance_init(&own, inst->name, NULL) || instance_trylock(&own))
		return;
	pins_recover(&own);
	instance_unlock(&own);
}

int deploy_upgrade(struct instance *inst, int claimed, struct error *err)
{
	libbpf_print_fn_t before = libbpf_set_print(deploy_quiet);
	struct upgrade *up = calloc(1, sizeof(*up));
	int ret;

	if (!up) {
		ret = error_set(err, -ENOMEM, "out of memory");
		goto out;
	}
	up->inst = inst;
	pins_recover(inst);
	instance_init(&up->old, inst->name, NULL);
	ret = instance_open(&up->old, err);
	if (ret == -ESTALE) {
		ret = older_open(&up->old, err);
		if (!ret)
			ret = check(up, claimed, err);
		if (!ret)
			ret = upgrade(up, err);
		if (!ret && err)
			memset(err, 0, sizeof(*err));
	} else if (ret == -ENOENT) {
		ret = 0;
	}
	instance_close(&up->old);
out:
	free(up);
	libbpf_set_print(before);
	return ret;
}
