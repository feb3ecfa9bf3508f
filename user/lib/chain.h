/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sharing an interface: libxdp's dispatcher runs up to ten XDP programs one after the other, each in the place of one
 * of its functions (freplace). Joining and leaving make a new dispatcher and put it in the old one's place at once,
 * which is libxdp's work (chain.c; chain_none.c where it was not there at build time). What is in a dispatcher stands
 * in /sys/fs/bpf/xdp, as libxdp's protocol has it, and is read without it (chain_pins.c).
 */
#ifndef SYNHOLD_LIB_CHAIN_H
#define SYNHOLD_LIB_CHAIN_H

#include "lib/deploy.h"

#define CHAIN_PINS INSTANCE_BPFFS "/xdp"
/*
 * Behind those that say nothing (50): what a filter drops and a balancer sends elsewhere takes no slot here, and who is
 * released has passed by them before it was held.
 */
#define CHAIN_PRIORITY 90

/* Whether --chain can work in this build, on this kernel. 0, or -EOPNOTSUPP with the reason. */
int chain_supported(struct error *err);

/*
 * The programs that the dispatcher on an interface of this network namespace runs, in their order. inst NULL: nobody is
 * ours. Returns how many, or -ENOENT when no dispatcher is there.
 */
int chain_members(const struct instance *inst, uint32_t ifindex, struct chain_member list[CHAIN_MEMBERS]);
/* Whether a program of the instance is in the dispatcher of that interface. */
int chain_present(const struct instance *inst, uint32_t ifindex);
/* The way an instance is on an interface, for people: "native", "generic, in a dispatcher with filter (id 7), gone". */
char *chain_describe(const struct deploy_interface *iface, char *buf, size_t size);

/*
 * Loads the shield for the dispatcher of an interface, joins it, or begins one where no XDP program is, and leaves with
 * what the instance had there before: in between both judge, and nothing passes unjudged. *flags:
 * SYNHOLD_IFACE_* of it, those that are known from it. 0; -EBUSY: a program that runs by itself; -EOPNOTSUPP; -errno.
 */
int chain_join(const struct instance *inst, const char *ifname, enum deploy_mode mode, uint32_t *flags,
	       struct error *err);
/* Puts a program that was loaded for a dispatcher into it again. */
int chain_put_back(uint32_t ifindex, int prog_fd);
/*
 * Takes the instance's programs, but the one of that id, out of an interface's dispatcher; with the last program the
 * dispatcher goes. Without libxdp, or where the interface is out of reach, their places become empty, and pass on.
 */
void chain_leave(const struct instance *inst, uint32_t ifindex, uint32_t but);
/*
 * For an instance that ends: its programs let everything pass. Others can put back what left an empty place, as the
 * place's program stays pinned (without it libxdp would not read its dispatcher any more).
 */
void chain_sleep(const struct instance *inst, uint32_t ifindex);
/* chain_leave() for every interface, with what an upgrade that was cut short has left. */
void chain_leave_all(const struct instance *inst);

#endif
