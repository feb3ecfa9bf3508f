/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Putting an instance on interfaces and taking it off: programs, links, filters, pins. */
#ifndef SYNHOLD_LIB_DEPLOY_H
#define SYNHOLD_LIB_DEPLOY_H

#include "lib/instance.h"

struct synhold_bpf; /* the skeleton */

enum deploy_mode { DEPLOY_AUTO, DEPLOY_NATIVE, DEPLOY_GENERIC };

struct deploy {
	struct synhold_bpf *skel; /* programs of this process; their maps are the instance's pins */
	int created;              /* the instance did not exist before */
	int chain;                /* new interfaces: join the dispatcher of libxdp */
};

/* Whether this kernel can release what it holds (live frames, 5.18), by asking for the helper, not by the version. */
int deploy_hold_supported(void);

/*
 * Which make of the programs this kernel takes, by trying. All judge alike; those for older kernels take the verifier
 * longer, and where a lock stands for atomic operations, CPUs wait for one another.
 */
enum deploy_programs {
	DEPLOY_PROGRAMS_NEWEST, /* 6.2 */
	DEPLOY_PROGRAMS_STATIC, /* 5.12 */
	DEPLOY_PROGRAMS_LOCK,   /* older */
};
enum deploy_programs deploy_programs(void);

/*
 * Loads the programs on the instance's maps (creating and pinning what is missing) and opens the instance. On failure
 * whatever was created here is removed. Needs the lock. 0, -EPERM, -EPROTO (pins of another version), or what the
 * kernel said, with its verifier log's last line.
 */
int deploy_load(struct deploy *deploy, struct instance *inst, struct error *err);
/*
 * Brings an instance that an older version made (instance_open() says -ESTALE) up to this one, on the interfaces where
 * it is: new maps beside the old ones, with its policy, lists, interfaces and counters, then link by link to the new
 * programs. Handshakes in flight keep their slots until those expire, but their ends are not seen any more; SYNs held
 * and what sources have used up are forgotten. Needs the lock; the older daemon must have ended (claimed: the caller is
 * the daemon now). 0: done, or nothing to do. On failure the old one is in force as it was: -EBUSY, -EPROTO, -errno.
 */
int deploy_upgrade(struct instance *inst, int claimed, struct error *err);
/* Puts back what an upgrade that was cut short left, unless somebody holds the lock: one may be going on. */
void deploy_recover(const struct instance *inst);
void deploy_unload(struct deploy *deploy); /* this process's handles; nothing is detached */

/*
 * Attaches to all these interfaces or to none; those of the instance already are updated in place. mode AUTO: native,
 * else generic. Needs the lock. -ENODEV: no such interface here; -EBUSY: another program is on it, by name and id.
 */
int deploy_attach(struct deploy *deploy, struct instance *inst, const char *const *names, unsigned int count,
		  enum deploy_mode mode, struct error *err);

/* Moves every interface of the instance to this process's programs (bpf_link_update). */
int deploy_refresh(struct deploy *deploy, struct instance *inst, struct error *err);

/*
 * Takes it off one interface (name NULL: of all), removes pins and run files with the last one, and ends the daemon
 * then. Works with the daemon dead, pins half gone, the interface gone. Returns 0, or -ENOENT when it was not attached
 * there.
 */
int deploy_detach(struct instance *inst, const char *name, struct error *err);

/*
 * For the daemon, when the link layer changes; all need the lock. An interface that is gone is forgotten; one that went
 * to another namespace is left alone, and counts as gone from then on; one has another name now.
 */
void deploy_drop(struct instance *inst, uint32_t ifindex);
void deploy_leave(const struct instance *inst, uint32_t ifindex);
void deploy_rename(struct instance *inst, uint32_t ifindex, const char *name);

#define CHAIN_MEMBERS 10 /* as many as a dispatcher of libxdp takes */
struct chain_member {
	uint32_t id;
	char name[20];
	int ours; /* of the instance */
};

/* One attached interface, as found. */
struct deploy_interface {
	uint32_t index;
	char name[16];
	int generic;
	int present; /* the link still has its interface */
	int mute;    /* no RST can be sent from there: action=reject drops */
	int chained; /* in a dispatcher, see chain.h: what that runs, in its order */
	struct chain_member chain[CHAIN_MEMBERS];
	unsigned int chain_count;
};
/* Fills up to `most`; returns how many there are. */
unsigned int deploy_interfaces(const struct instance *inst, struct deploy_interface *list, unsigned int most);

/* What XDP program sits on an interface: 0 and id (0 = none), name, and whether it is generic. */
int deploy_query(const char *ifname, uint32_t *id, char name[32], int *generic);

#endif
