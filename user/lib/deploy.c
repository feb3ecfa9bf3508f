// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/deploy_parts.h"
#include "synhold.skel.h"

#define ONE_BUFFER_MTU 3498 /* a page less XDP's headroom and the skb's tail */

static char verifier_log[16 << 20]; /* kernels before 6.4 give up when it is full, whatever was wrong */

static uint64_t netns_inode(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : (uint64_t)st.st_ino;
}

int programs_pin_maps(struct synhold_bpf *skel, const struct instance *inst)
{
	struct bpf_map *map;
	char path[192];
	int ret = 0;

	bpf_object__for_each_map(map, skel->obj)
	{
		if (bpf_map__is_internal(map))
			continue;
		ret = pins_path(inst, bpf_map__name(map), path, sizeof(path));
		if (!ret)
			ret = bpf_map__set_pin_path(map, path);
		if (ret)
			return ret;
	}
	return ret;
}

/* The last line that the verifier wrote which is not statistics. */
static const char *verifier_reason(void)
{
	char *end = verifier_log + strlen(verifier_log), *line = verifier_log;

	while (end > verifier_log && end[-1] == '\n')
		*--end = '\0';
	line = strrchr(verifier_log, '\n');
	while (line && (!strncmp(line + 1, "processed ", 10) || !strncmp(line + 1, "verification time", 17) ||
			!strncmp(line + 1, "stack depth", 11))) {
		*line = '\0';
		line = strrchr(verifier_log, '\n');
	}
	return line ? line + 1 : verifier_log;
}

int deploy_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* Readers run it to expire what is over when no daemon does. */
static int pin_sweep(struct synhold_bpf *skel, const struct instance *inst, struct error *err)
{
	char path[192];
	int ret;

	pins_path(inst, "prog_sweep", path, sizeof(path));
	unlink(path);
	ret = bpf_obj_pin(bpf_program__fd(skel->progs.synhold_sweep), path) ? -errno : 0;
	return ret ? error_set(err, ret, "%s: %s", path, strerror(-ret)) : 0;
}

int deploy_check_netns(const struct instance *inst, struct error *err)
{
	struct deploy_interface list[SYNHOLD_SERVICES];
	unsigned int count = deploy_interfaces(inst, list, SYNHOLD_SERVICES), present = 0;

	for (unsigned int i = 0; i < count && i < SYNHOLD_SERVICES; i++)
		present += list[i].present != 0;
	if (inst->control->netns_inode == netns_inode() || !present)
		return 0;
	error_set(err, -EBUSY, "instance '%s' is attached in another network namespace", inst->name);
	return error_hint(err, -EBUSY, "use --instance NAME for this one");
}

/* Whether some interface of this namespace has an MTU that one buffer does not hold. The loopback's says nothing. */
static int jumbo_here(void)
{
	struct if_nameindex *list = if_nameindex();
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), found = 0;

	for (struct if_nameindex *iface = list; fd >= 0 && iface && iface->if_index; iface++) {
		struct ifreq request = {0};

		snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", iface->if_name);
		if (strcmp(iface->if_name, "lo") && !ioctl(fd, SIOCGIFMTU, &request) &&
		    request.ifr_mtu > ONE_BUFFER_MTU)
			found = 1;
	}
	if (fd >= 0)
		close(fd);
	if (list)
		if_freenameindex(list);
	return found;
}

void programs_prepare(struct synhold_bpf *skel)
{
	int hold = deploy_hold_supported();

	skel->rodata_hold->hold_supported = (uint32_t)hold;
	skel->rodata_accept->accept_supported =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, BPF_FUNC_skc_to_tcp_sock, NULL) == 1;
	if (!hold) {
		bpf_map__set_max_entries(skel->maps.held, INSTANCE_RING_NONE_BYTES);
		bpf_program__set_autoload(skel->progs.synhold_release, false);
	} else if (jumbo_here()) {
		/*
		 * frames in several buffers exist since then too. Only where they are needed: with the declaration the
		 * kernel's generic mode copies frames, and the mark that tells the tc program to send a RST back is
		 * lost on the way (seen on 6.18).
		 */
		bpf_program__set_flags(skel->progs.synhold_shield,
				       bpf_program__flags(skel->progs.synhold_shield) | BPF_F_XDP_HAS_FRAGS);
	}
}

int deploy_load(struct deploy *deploy, struct instance *inst, struct error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_buf = verifier_log,
		    .kernel_log_size = sizeof(verifier_log));
	libbpf_print_fn_t before = libbpf_set_print(deploy_quiet);
	struct stat st;
	int ret;

	memset(deploy, 0, sizeof(*deploy));
	deploy->created = stat(inst->pin_dir, &st) != 0;
	verifier_log[0] = '\0';
	deploy->skel = programs_open(deploy_programs(), 1, &opts);
	if (!deploy->skel) {
		ret = error_set(err, -errno, "the BPF programs cannot be opened: %s", strerror(errno));
		goto out;
	}
	programs_prepare(deploy->skel);
	mkdir(INSTANCE_PIN_ROOT, 0700);
	mkdir(inst->pin_dir, 0700);
	ret = programs_pin_maps(deploy->skel, inst);
	if (!ret)
		ret = synhold_bpf__load(deploy->skel);
	if (ret) {
		error_set(err, ret, "the BPF programs do not load: %s%s%s", strerror(-ret), verifier_log[0] ? ": " : "",
			  verifier_reason());
		error_hint(err, ret,
			   deploy->created ? "synhold check says what this kernel lacks" :
					     "pins of another version? synhold detach --all, then attach again");
		goto out;
	}
	ret = instance_open(inst, err);
	if (ret)
		goto out;
	if (!inst->control->abi_version) {
		if (getrandom(inst->control->hash_key, sizeof(inst->control->hash_key), 0) !=
		    sizeof(inst->control->hash_key)) {
			ret = error_set(err, -EIO, "no random numbers for the instance's secret");
			goto out;
		}
		inst->control->netns_inode = netns_inode();
		inst->control->abi_version = SYNHOLD_ABI_VERSION;
	}
	ret = deploy_check_netns(inst, err);
	if (ret)
		goto out;
	inst->control->netns_inode = netns_inode();
	ret = pin_sweep(deploy->skel, inst, err);
out:
	libbpf_set_print(before);
	if (ret) {
		synhold_bpf__destroy(deploy->skel);
		deploy->skel = NULL;
		if (deploy->created)
			pins_remove(inst);
	}
	return ret;
}

void deploy_unload(struct deploy *deploy)
{
	synhold_bpf__destroy(deploy->skel);
	deploy->skel = NULL;
}
