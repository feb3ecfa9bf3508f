// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/instance.h"

struct events {
	struct ring_buffer *ring;
	struct synhold_tap *tap;
	struct events_maps maps;
	uint64_t suppressed_before;
	void (*fn)(void *ctx, const struct synhold_event *event);
	void *ctx;
	int count;
};

struct events_maps events_maps_of(const struct instance *inst)
{
	return (struct events_maps){inst->map[INSTANCE_MAP_EVENTS], inst->map[INSTANCE_MAP_TAP],
				    inst->map[INSTANCE_MAP_TAP_STATE], inst->cpus};
}

static int on_event(void *ctx, void *data, size_t size)
{
	struct events *ev = ctx;

	if (size < sizeof(struct synhold_event) || !ev->fn)
		return 0;
	ev->fn(ev->ctx, data);
	ev->count++;
	return 0;
}

static uint64_t suppressed(const struct events_maps *maps)
{
	struct synhold_tap_state *state = calloc(maps->cpus, sizeof(*state));
	uint32_t zero = 0;
	uint64_t sum = 0;

	if (state && !bpf_map_lookup_elem(maps->state, &zero, state))
		for (unsigned int i = 0; i < maps->cpus; i++)
			sum += state[i].suppressed;
	free(state);
	return sum;
}

/* Takes the place of the reader: 0, or -EBUSY. */
static int claim(struct synhold_tap *tap, struct error *err)
{
	uint32_t owner = __atomic_load_n(&tap->owner, __ATOMIC_ACQUIRE);

	if (owner && __atomic_load_n(&tap->until_ns, __ATOMIC_ACQUIRE) > instance_now_ns()) {
		error_set(err, -EBUSY, "process %u reads the events already", owner);
		return error_hint(err, -EBUSY, "one reader at a time: end it first");
	}
	if (!__atomic_compare_exchange_n(&tap->owner, &owner, (uint32_t)getpid(), 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return error_set(err, -EBUSY, "process %u reads the events already", owner);
	return 0;
}

static void write_tap(struct synhold_tap *tap, const struct events_options *options)
{
	uint32_t rate = options->rate_pps ? options->rate_pps : EVENTS_RATE_PPS;
	uint8_t mask[16] = {0}, addr[16];

	for (unsigned int i = 0; i < 16; i++) {
		unsigned int keep = options->prefixlen > i * 8 ? options->prefixlen - i * 8U : 0;

		mask[i] = keep >= 8 ? 0xff : (uint8_t) ~(0xff >> keep);
		addr[i] = options->addr[i] & mask[i];
	}
	memcpy(tap->mask, mask, sizeof(mask));
	memcpy(tap->addr, addr, sizeof(addr));
	tap->interval_ns = (1000000000ULL + rate - 1) / rate;
	tap->limit_ns = tap->interval_ns * rate;
	tap->verdicts = options->verdicts ? options->verdicts : (1U << SYNHOLD_VERDICT_COUNT) - 1;
	tap->service = (uint32_t)(options->service + 1);
}

static void renew(struct events *ev)
{
	__atomic_store_n(&ev->tap->until_ns, instance_now_ns() + EVENTS_LEASE_NS, __ATOMIC_RELEASE);
}

int events_open(struct events **ev, const struct events_maps *maps, const struct events_options *options,
		struct error *err)
{
	struct events *fresh = calloc(1, sizeof(*fresh));
	int ret;

	if (!fresh)
		return error_set(err, -ENOMEM, "out of memory");
	fresh->maps = *maps;
	fresh->tap = mmap(NULL, sizeof(*fresh->tap), PROT_READ | PROT_WRITE, MAP_SHARED, maps->tap, 0);
	if (fresh->tap == MAP_FAILED) {
		fresh->tap = NULL;
		ret = error_set(err, -errno, "the events cannot be switched on: %s", strerror(errno));
		goto fail;
	}
	ret = claim(fresh->tap, err);
	if (ret)
		goto fail;
	fresh->ring = ring_buffer__new(maps->ring, on_event, fresh, NULL);
	if (!fresh->ring) {
		ret = error_set(err, -errno, "the events cannot be read: %s", strerror(errno));
		fresh->tap->owner = 0;
		goto fail;
	}
	ring_buffer__consume(fresh->ring);
	fresh->suppressed_before = suppressed(maps);
	write_tap(fresh->tap, options);
	renew(fresh);
	*ev = fresh;
	return 0;
fail:
	if (fresh->tap)
		munmap(fresh->tap, sizeof(*fresh->tap));
	free(fresh);
	return ret;
}

int events_poll(struct events *ev, int timeout_ms, void (*fn)(void *ctx, const struct synhold_event *event), void *ctx)
{
	const int most = (int)(EVENTS_LEASE_NS / 2000000);
	int ret;

	ev->fn = fn;
	ev->ctx = ctx;
	ev->count = 0;
	renew(ev);
	ret = ring_buffer__poll(ev->ring, timeout_ms < 0 || timeout_ms > most ? most : timeout_ms);
	renew(ev);
	return ret < 0 && ret != -EINTR ? ret : ev->count;
}

uint64_t events_suppressed(const struct events *ev)
{
	return suppressed(&ev->maps) - ev->suppressed_before;
}

void events_close(struct events *ev)
{
	if (!ev)
		return;
	__atomic_store_n(&ev->tap->until_ns, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&ev->tap->owner, 0, __ATOMIC_RELEASE);
	ring_buffer__free(ev->ring);
	munmap(ev->tap, sizeof(*ev->tap));
	free(ev);
}
