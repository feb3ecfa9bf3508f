// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/instance.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "lib/instance_parts.h"
#include "lib/spec.h"

#define INSTANCE_NAME_MAP(e, n) #n,
const char *const instance_map_names[] = {INSTANCE_MAPS(INSTANCE_NAME_MAP)};

#define LOCK_WAIT_MS 5000

/* The maps that are mapped, and where. */
struct mapped {
	enum instance_map map;
	size_t pointer; /* offset of the pointer in struct instance */
	size_t size;
};
#define MAPPED(e, field, elements)                                          \
	{                                                                   \
		INSTANCE_MAP_##e, offsetof(struct instance, field),         \
			sizeof(*((struct instance *)0)->field) * (elements) \
	}
static const struct mapped mapped[] = {
	MAPPED(CONTROL, control, 1),
	MAPPED(POLICY, policy, SYNHOLD_BANKS *SYNHOLD_SERVICES),
	MAPPED(GLOBALS, globals, SYNHOLD_BANKS),
	MAPPED(SPECS, specs, SYNHOLD_BANKS *SYNHOLD_SERVICES),
	MAPPED(PORTS, ports, SYNHOLD_BANKS *SYNHOLD_PORTS),
	MAPPED(RUNTIME, runtime, SYNHOLD_SERVICES),
	MAPPED(DAEMON, daemon, 1),
	MAPPED(TALLY, tally, SYNHOLD_SERVICES),
	MAPPED(SIGNALS, signals, SYNHOLD_SERVICES),
	MAPPED(CAPPED, capped, SYNHOLD_OFFENDER_SETS),
	MAPPED(RELEASE_IO, release_io, 1),
	MAPPED(GATES, gates, SYNHOLD_SERVICES),
	MAPPED(OWED, owed, SYNHOLD_SERVICES),
	MAPPED(ASKED, asked, SYNHOLD_SERVICES),
	MAPPED(GLOBAL, global, 1),
	MAPPED(BASE, base, SYNHOLD_SERVICES),
};

static void **mapped_pointer(struct instance *inst, const struct mapped *m)
{
	return (void **)((char *)inst + m->pointer);
}

uint64_t instance_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

int instance_init(struct instance *inst, const char *name, struct error *err)
{
	memset(inst, 0, sizeof(*inst));
	inst->lock_fd = -1;
	for (int i = 0; i < INSTANCE_MAP_COUNT; i++)
		inst->map[i] = -1;
	if (!name || !*name)
		name = INSTANCE_DEFAULT;
	if (!spec_name_valid(name) || strchr(name, '.')) { /* bpffs refuses dots in names */
		error_set(err, -EINVAL, "instance name '%s' is not valid", name);
		return error_hint(err, -EINVAL, "accepted: up to 32 of a-z 0-9 _ -, the first one a letter or digit");
	}
	snprintf(inst->name, sizeof(inst->name), "%s", name);
	snprintf(inst->pin_dir, sizeof(inst->pin_dir), INSTANCE_PIN_ROOT "/%s", name);
	snprintf(inst->run_dir, sizeof(inst->run_dir), INSTANCE_RUN_ROOT "/%s", name);
	snprintf(inst->state_dir, sizeof(inst->state_dir), INSTANCE_STATE_ROOT "/%s", name);
	return 0;
}

int instance_require_system(struct error *err)
{
	struct statfs fs;

	if (geteuid() != 0) {
		error_set(err, -EPERM, "this needs root");
		return error_hint(err, -EPERM, "run it with sudo");
	}
	if (statfs(INSTANCE_BPFFS, &fs) || (unsigned long)fs.f_type != BPF_FS_MAGIC) {
		error_set(err, -ENODEV, "no BPF file system at " INSTANCE_BPFFS);
		return error_hint(err, -ENODEV, "mount -t bpf bpf " INSTANCE_BPFFS);
	}
	return 0;
}

static int error_older(const struct instance *inst, const char *what, struct error *err)
{
	error_set(err, -ESTALE, "instance '%s' was made by another, older synhold (%s)", inst->name, what);
	return error_hint(err, -ESTALE, "synhold run or synhold attach brings it up to this one and keeps what it has");
}

/* Who made the pins. The map of any version has the number at the same place. */
static int check_version(const struct instance *inst, struct error *err)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info), zero = 0, version;
	char what[64], *value;
	int ret = 0;

	if (bpf_obj_get_info_by_fd(inst->map[INSTANCE_MAP_CONTROL], &info, &length))
		return error_set(err, -errno, "instance '%s': map control cannot be read: %s", inst->name,
				 strerror(errno));
	value = calloc(1, info.value_size > sizeof(struct synhold_control) ? info.value_size :
									     sizeof(struct synhold_control));
	if (!value)
		return error_set(err, -ENOMEM, "out of memory");
	if (bpf_map_lookup_elem(inst->map[INSTANCE_MAP_CONTROL], &zero, value))
		ret = error_set(err, -errno, "instance '%s': map control cannot be read: %s", inst->name,
				strerror(errno));
	memcpy(&version, value + offsetof(struct synhold_control, abi_version), sizeof(version));
	free(value);
	if (ret || !version || version == SYNHOLD_ABI_VERSION)
		return ret;
	snprintf(what, sizeof(what), "ABI %u, this is %d", version, SYNHOLD_ABI_VERSION);
	if (version < SYNHOLD_ABI_VERSION)
		return error_older(inst, what, err);
	error_set(err, -EPROTO, "instance '%s' was made by another, newer synhold (%s); it is left as it is",
		  inst->name, what);
	return error_hint(err, -EPROTO,
			  "use that one; or synhold --instance %s detach --all, which ends its protection", inst->name);
}

/* A pin of another shape: better refused than read wrongly. */
static int check_pin(const struct instance *inst, enum instance_map map, size_t size, struct error *err)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);

	if (bpf_obj_get_info_by_fd(inst->map[map], &info, &length))
		return error_set(err, -errno, "instance '%s': map %s cannot be read: %s", inst->name,
				 instance_map_names[map], strerror(errno));
	if (size && (size_t)(info.value_size + 7) / 8 * 8 * info.max_entries != size) {
		char what[64];

		snprintf(what, sizeof(what), "map %s differs", instance_map_names[map]);
		return error_older(inst, what, err);
	}
	return 0;
}

int instance_map_private(struct instance *inst)
{
	for (size_t i = 0; i < sizeof(mapped) / sizeof(*mapped); i++) {
		void *at = mmap(NULL, mapped[i].size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED)
			return -ENOMEM;
		*mapped_pointer(inst, &mapped[i]) = at;
	}
	return 0;
}

void *instance_mapped(const struct instance *inst, enum instance_map map)
{
	for (size_t i = 0; i < sizeof(mapped) / sizeof(*mapped); i++)
		if (mapped[i].map == map)
			return *(void **)((const char *)inst + mapped[i].pointer);
	return NULL;
}

int instance_open(struct instance *inst, struct error *err)
{
	char path[192];
	int ret = 0;

	for (int i = 0; i < INSTANCE_MAP_COUNT && !ret; i++) {
		if (inst->map[i] >= 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", inst->pin_dir, instance_map_names[i]);
		inst->map[i] = bpf_obj_get(path);
		if (inst->map[i] >= 0) {
			if (i == INSTANCE_MAP_CONTROL) /* the first one: another version may not have the others */
				ret = check_version(inst, err);
			continue;
		}
		ret = -errno;
		if (ret == -ENOENT) {
			error_set(err, ret, "instance '%s' is not attached", inst->name);
			error_hint(err, ret, "synhold attach IFACE --port PORT");
		} else if (ret == -EPERM || ret == -EACCES) {
			error_set(err, ret, "instance '%s' cannot be opened: %s", inst->name, strerror(-ret));
			error_hint(err, ret, "run it with sudo");
		} else {
			error_set(err, ret, "%s: %s", path, strerror(-ret));
		}
	}
	for (size_t i = 0; i < sizeof(mapped) / sizeof(*mapped) && !ret; i++) {
		void **pointer = mapped_pointer(inst, &mapped[i]);

		if (*pointer)
			continue;
		ret = check_pin(inst, mapped[i].map, mapped[i].size, err);
		if (ret)
			break;
		*pointer = mmap(NULL, mapped[i].size, PROT_READ | PROT_WRITE, MAP_SHARED, inst->map[mapped[i].map], 0);
		if (*pointer == MAP_FAILED) {
			*pointer = NULL;
			ret = error_set(err, -errno, "instance '%s': map %s cannot be mapped: %s", inst->name,
					instance_map_names[mapped[i].map], strerror(errno));
		}
	}
	if (ret) {
		int lock = inst->lock_fd;

		inst->lock_fd = -1; /* the caller's */
		instance_close(inst);
		inst->lock_fd = lock;
		return ret;
	}
	inst->cpus = (unsigned int)libbpf_num_possible_cpus();
	return 0;
}

void instance_close(struct instance *inst)
{
	for (size_t i = 0; i < sizeof(mapped) / sizeof(*mapped); i++) {
		void **pointer = mapped_pointer(inst, &mapped[i]);

		if (*pointer)
			munmap(*pointer, mapped[i].size);
		*pointer = NULL;
	}
	for (int i = 0; i < INSTANCE_MAP_COUNT; i++) {
		if (inst->map[i] >= 0)
			close(inst->map[i]);
		inst->map[i] = -1;
	}
	instance_unlock(inst);
}

static int lock_within(struct instance *inst, int wait_ms, struct error *err)
{
	char path[192], text[16] = "";
	struct stat before, after;
	int fd, waited = 0;

	if (inst->lock_fd >= 0)
		return 0;
	snprintf(path, sizeof(path), "%s/lock", inst->run_dir);
	for (;;) {
		mkdir(INSTANCE_RUN_ROOT, 0755);
		mkdir(inst->run_dir, 0750);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
		if (fd < 0)
			return error_set(err, -errno, "%s: %s", path, strerror(errno));
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			if (errno != EWOULDBLOCK || waited >= wait_ms) {
				if (read(fd, text, sizeof(text) - 1) < 0)
					text[0] = '\0';
				close(fd);
				error_set(err, -EBUSY, "instance '%s' is being changed by another command (pid %s)",
					  inst->name, text[0] ? text : "unknown");
				return error_hint(err, -EBUSY, "try again when it is done");
			}
			close(fd);
			usleep(10000);
			waited += 10;
			continue;
		}
		/* a detach may have removed the file while we waited: then this lock guards nothing */
		if (!fstat(fd, &before) && !stat(path, &after) && before.st_ino == after.st_ino)
			break;
		close(fd);
	}
	if (ftruncate(fd, 0) == 0 && dprintf(fd, "%d", getpid()) < 0)
		(void)0;
	inst->lock_fd = fd;
	return 0;
}

int instance_lock(struct instance *inst, struct error *err)
{
	return lock_within(inst, LOCK_WAIT_MS, err);
}

int instance_trylock(struct instance *inst)
{
	return lock_within(inst, 0, NULL);
}

void instance_unlock(struct instance *inst)
{
	if (inst->lock_fd >= 0)
		close(inst->lock_fd);
	inst->lock_fd = -1;
}

static uint64_t active_word(const struct instance *inst)
{
	return __atomic_load_n(&inst->control->active, __ATOMIC_ACQUIRE);
}

uint32_t instance_bank(const struct instance *inst)
{
	uint64_t word = active_word(inst);
	uint32_t bank = SYNHOLD_ACTIVE_BANK(word);

	if (SYNHOLD_ACTIVE_PENDING(word) && instance_now_ns() >= SYNHOLD_ACTIVE_DEADLINE_NS(word))
		return !bank;
	return bank;
}

int instance_confirm_pending(const struct instance *inst, uint64_t *deadline_ns)
{
	uint64_t word = active_word(inst);

	if (!SYNHOLD_ACTIVE_PENDING(word) || instance_now_ns() >= SYNHOLD_ACTIVE_DEADLINE_NS(word))
		return 0;
	if (deadline_ns)
		*deadline_ns = SYNHOLD_ACTIVE_DEADLINE_NS(word);
	return 1;
}

void instance_load_model(const struct instance *inst, struct model *model)
{
	uint32_t bank = instance_bank(inst);

	model->global = inst->globals[bank];
	memcpy(model->service, inst->policy + bank * SYNHOLD_SERVICES, sizeof(model->service));
	memcpy(model->specs, inst->specs + bank * SYNHOLD_SERVICES, sizeof(model->specs));
}

void instance_bypass(struct instance *inst, uint64_t until_ns)
{
	__atomic_store_n(&inst->control->bypass_until_ns, until_ns, __ATOMIC_RELEASE);
	instance_quiesce(inst);
}

int instance_quiesce(struct instance *inst)
{
	uint32_t zero = 0;
	int inner, ret;

	/* replacing the inner map of a map-in-map makes the kernel wait for running programs (maybe_wait_bpf_programs)
	 */
	inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "quiesce", sizeof(uint32_t), sizeof(uint32_t), 1, NULL);
	if (inner < 0)
		return -errno;
	ret = bpf_map_update_elem(inst->map[INSTANCE_MAP_QUIESCE], &zero, &inner, BPF_ANY) ? -errno : 0;
	close(inner);
	return ret;
}

int instance_daemon_alive(const struct instance *inst)
{
	uint64_t beat = __atomic_load_n(&inst->daemon->heartbeat_ns, __ATOMIC_RELAXED);

	return beat && instance_now_ns() < beat + SYNHOLD_HEARTBEAT_STALE_NS;
}

int instance_holds(const struct instance *inst)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);

	return bpf_obj_get_info_by_fd(inst->map[INSTANCE_MAP_HELD], &info, &length) ||
	       info.max_entries > INSTANCE_RING_NONE_BYTES;
}
