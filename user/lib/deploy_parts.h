/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files behind deploy.h share: deploy.c and programs.c (programs), attach.c (interfaces), pins.c (what is in
 * the BPF file system). */
#ifndef SYNHOLD_LIB_DEPLOY_PARTS_H
#define SYNHOLD_LIB_DEPLOY_PARTS_H

#include <bpf/libbpf.h>
#include <stdarg.h>

#include "lib/deploy.h"

/* libbpf's own messages are not for our users; what they need is in struct error. */
int deploy_quiet(enum libbpf_print_level level, const char *format, va_list args);

/*
 * The programs opened, not loaded. resizing 0: with calls that change a packet's size failing, for where such calls are
 * refused. Then a RST is as long as the SYN was, with what is behind it no part of it, and where it takes metadata to
 * send one, none is sent. NULL with errno.
 */
struct synhold_bpf *programs_open(enum deploy_programs which, int resizing, const struct bpf_object_open_opts *opts);

/* What is set before they are loaded, by what the kernel and the interfaces of this namespace are. */
void programs_prepare(struct synhold_bpf *skel);
/* Their maps are the instance's pins, or will be. 0 or -errno. */
int programs_pin_maps(struct synhold_bpf *skel, const struct instance *inst);

/* Refuses an instance that is attached in another network namespace. 0 or -EBUSY. */
int deploy_check_netns(const struct instance *inst, struct error *err);

/* Path of a pin of the instance. 0 or -ENAMETOOLONG. */
int pins_path(const struct instance *inst, const char *name, char *path, size_t size);
void pins_link_path(const struct instance *inst, uint32_t ifindex, char *path, size_t size);
/* Of the program that stands for the instance in a dispatcher (chain.h). */
void pins_chain_path(const struct instance *inst, uint32_t ifindex, char *path, size_t size);
/* The interface of a pinned link: 0 when it is gone, -errno when there is no link. link_fd may be NULL; else it is the
 * caller's. */
int pins_link_interface(const struct instance *inst, uint32_t ifindex, int *link_fd);
/* Interfaces by the names of the pins of links and of programs in dispatchers, for when the maps are half gone. Returns
 * how many, at most `most`. */
unsigned int pins_links(const struct instance *inst, uint32_t *list, unsigned int most);
/* The map of interfaces if this version can read it, else -1: the caller's fd. */
int pins_interfaces_map(const struct instance *inst);
/* An instance of the same name whose pins are elsewhere: what an upgrade prepares. */
void pins_staging(const struct instance *inst, struct instance *staging);
/* Makes the staging's pins the instance's, and removes those it had. 0 or -errno. */
int pins_swap(const struct instance *inst, const struct instance *staging);
/* Whether there is something of an upgrade that has not ended, or was cut short. */
int pins_unfinished(const struct instance *inst);
/* After an upgrade that was cut short: what can be put back is, what it prepared goes. */
void pins_recover(const struct instance *inst);
/* Everything of the instance in the BPF file system; and in the run directory. */
void pins_remove(const struct instance *inst);
void pins_remove_run_files(const struct instance *inst);

#endif
