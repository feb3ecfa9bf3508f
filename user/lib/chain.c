// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/chain.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include "lib/chain_parts.h"
#include "lib/deploy_parts.h"
#include "synhold.skel.h"

static int quiet(enum libxdp_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* Its messages are not for our users, and its pins are where ours are, whatever the environment says. */
static void settle(void)
{
	libxdp_set_print(quiet);
	setenv("LIBXDP_BPFFS", INSTANCE_BPFFS, 1);
	unsetenv("LIBXDP_SKIP_DISPATCHER");
}

int chain_supported(struct error *err)
{
	int ret = chain_probe();

	if (!ret)
		return 0;
	error_set(err, -EOPNOTSUPP,
		  "--chain: this kernel does not let a program take the place of another's function (freplace): %s",
		  strerror(-ret));
	return error_hint(err, -EOPNOTSUPP,
			  "a dispatcher cannot work here: synhold needs an interface without another XDP program");
}

/* The dispatcher of an interface; NULL where none is, or what is there runs by itself. */
static struct xdp_multiprog *dispatcher(uint32_t ifindex)
{
	struct xdp_multiprog *mp = xdp_multiprog__get_from_ifindex((int)ifindex);

	if (libxdp_get_error(mp))
		return NULL;
	if (!xdp_multiprog__is_legacy(mp))
		return mp;
	xdp_multiprog__close(mp);
	return NULL;
}

/* The shield alone, of this kernel's make, on the instance's maps. NULL with errno. */
static struct synhold_bpf *open_shield(const struct instance *inst, int resizing)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct synhold_bpf *skel = programs_open(deploy_programs(), resizing, &opts);
	struct bpf_program *prog;
	int ret;

	if (!skel)
		return NULL;
	programs_prepare(skel);
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, prog == skel->progs.synhold_shield);
	ret = programs_pin_maps(skel, inst);
	if (!ret)
		return skel;
	synhold_bpf__destroy(skel);
	errno = -ret;
	return NULL;
}

/* Places in the order: ours, and on when it says PASS. */
static int attach(struct xdp_program *prog, uint32_t ifindex, enum xdp_attach_mode mode)
{
	int ret = xdp_program__set_run_prio(prog, CHAIN_PRIORITY);

	for (unsigned int action = XDP_ABORTED; action <= XDP_REDIRECT && !ret; action++)
		ret = xdp_program__set_chain_call_enabled(prog, action, action == XDP_PASS);
	return ret ? ret : xdp_program__attach(prog, (int)ifindex, mode, 0);
}

static enum xdp_attach_mode mode_here(uint32_t ifindex)
{
	struct xdp_multiprog *mp = dispatcher(ifindex);
	enum xdp_attach_mode mode = mp ? xdp_multiprog__attach_mode(mp) : XDP_MODE_UNSPEC;

	xdp_multiprog__close(mp);
	return mode;
}

/* A program that was loaded for one dispatcher in vain is no good for the next: each try has its own. */
static int try_once(const struct instance *inst, uint32_t ifindex, enum xdp_attach_mode mode, int resizing,
		    uint32_t *id)
{
	LIBBPF_OPTS(xdp_program_opts, opts, .prog_name = "synhold_shield");
	struct synhold_bpf *skel = open_shield(inst, resizing);
	struct xdp_program *prog;
	char path[192];
	int ret;

	if (!skel)
		return -errno;
	opts.obj = skel->obj;
	prog = xdp_program__create(&opts);
	ret = (int)libxdp_get_error(prog);
	if (!ret) {
		ret = attach(prog, ifindex, mode);
		*id = ret ? 0 : xdp_program__id(prog);
		if (!ret && mode_here(ifindex) == XDP_MODE_UNSPEC) { /* by itself after all: not what was asked for */
			xdp_program__detach(prog, (int)ifindex, mode, 0);
			ret = -EOPNOTSUPP;
		}
		if (!ret) {
			pins_chain_path(inst, ifindex, path, sizeof(path));
			unlink(path);
			ret = bpf_obj_pin(xdp_program__fd(prog), path) ? -errno : 0;
			if (ret)
				xdp_program__detach(prog, (int)ifindex, mode, 0);
		}
		xdp_program__close(prog); /* and not its object, which is ours */
	}
	synhold_bpf__destroy(skel);
	return ret;
}

/*
 * Since 6.13, and in stable kernels of then, what takes a function's place may not change a packet's size if that
 * function does not, and those of older dispatchers do not.
 */
static int try_mode(const struct instance *inst, uint32_t ifindex, enum xdp_attach_mode mode, int *resizing,
		    uint32_t *id)
{
	int ret = try_once(inst, ifindex, mode, 1, id);

	*resizing = !ret;
	return ret == -EINVAL ? try_once(inst, ifindex, mode, 0, id) : ret;
}

int chain_join(const struct instance *inst, const char *ifname, enum deploy_mode mode, uint32_t *flags,
	       struct error *err)
{
	uint32_t ifindex = if_nametoindex(ifname), id = 0;
	enum xdp_attach_mode there;
	char text[128];
	int ret = chain_supported(err), generic, resizing = 1;

	if (ret)
		return ret;
	settle();
	there = mode_here(ifindex);
	if (there == XDP_MODE_UNSPEC) {
		char name[32];
		uint32_t other = 0;
		int is_generic;

		if (!deploy_query(ifname, &other, name, &is_generic) && other) {
			error_set(
				err, -EBUSY,
				"interface %s has an XDP program that runs by itself, not in libxdp's dispatcher: %s, id %u",
				ifname, name, other);
			return error_hint(err, -EBUSY, "load it with xdp-loader, or see bpftool net show dev %s",
					  ifname);
		}
	} else if (mode != DEPLOY_AUTO && (mode == DEPLOY_GENERIC) != (there == XDP_MODE_SKB)) {
		error_set(err, -EBUSY, "interface %s has a dispatcher in %s mode", ifname,
			  there == XDP_MODE_SKB ? "generic" : "native");
		return error_hint(err, -EBUSY, "go without --mode to join it");
	}
	generic = there == XDP_MODE_SKB || mode == DEPLOY_GENERIC;
	ret = try_mode(inst, ifindex, generic ? XDP_MODE_SKB : XDP_MODE_NATIVE, &resizing, &id);
	if (ret && there == XDP_MODE_UNSPEC && mode == DEPLOY_AUTO) {
		generic = 1;
		ret = try_mode(inst, ifindex, XDP_MODE_SKB, &resizing, &id);
	}
	if (ret) {
		libxdp_strerror(ret, text, sizeof(text));
		error_set(err, ret, "interface %s: its dispatcher cannot be joined: %s", ifname, text);
		return error_hint(err, ret, "xdp-loader status %s shows it", ifname);
	}
	chain_leave(inst, ifindex, id);
	*flags &= ~(uint32_t)(SYNHOLD_IFACE_GENERIC | SYNHOLD_IFACE_MUTE);
	*flags |= SYNHOLD_IFACE_CHAIN | (generic ? SYNHOLD_IFACE_GENERIC : 0) | (resizing ? 0 : SYNHOLD_IFACE_MUTE);
	return 0;
}

int chain_put_back(uint32_t ifindex, int prog_fd)
{
	struct xdp_program *prog = xdp_program__from_fd(prog_fd);
	enum xdp_attach_mode mode = mode_here(ifindex);
	int ret = (int)libxdp_get_error(prog);

	settle();
	if (ret)
		return ret;
	ret = attach(prog, ifindex, mode == XDP_MODE_UNSPEC ? XDP_MODE_NATIVE : mode);
	xdp_program__close(prog);
	return ret;
}

int chain_detach(const struct instance *inst, uint32_t ifindex, uint32_t but)
{
	struct xdp_program *ours[CHAIN_MEMBERS], *prog = NULL;
	struct xdp_multiprog *mp;
	size_t count = 0;
	int ret = 0;

	settle();
	mp = dispatcher(ifindex);
	if (!mp)
		return -ENOENT;
	while ((prog = xdp_multiprog__next_prog(prog, mp)))
		if (count < CHAIN_MEMBERS && xdp_program__id(prog) != but &&
		    (chain_is_ours(inst, ifindex, xdp_program__id(prog)) || chain_is_orphan(xdp_program__id(prog))))
			ours[count++] = prog;
	if (count)
		ret = xdp_program__detach_multi(ours, count, (int)ifindex, xdp_multiprog__attach_mode(mp), 0);
	xdp_multiprog__close(mp);
	return ret;
}
