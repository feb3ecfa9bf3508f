// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the queues into the stack. The release program is the judge: it takes the window slot, charges the rates and
 * marks the tuple in one step, or says what is in the way. Here it is only decided whom to ask for next.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include <synhold/addr.h>

#include "daemon/state.h"
#include "lib/frame.h"
#include "lib/log.h"
#include "synhold.skel.h"

#define BURST 128 /* releases before others get their turn: about a millisecond */
#define REFUSED_SHARE_NS 500000000ULL
#define RETRY_UNKNOWN_NS 1000000ULL
#define RETRY_MAX_NS 1000000000ULL
#define UNPROVED_NS 1700000000ULL

static int is_generic(const struct daemon *d, uint32_t ifindex)
{
	for (unsigned int i = 0; i < d->generic_count; i++)
		if (d->generic[i] == ifindex)
			return 1;
	return 0;
}

static int is_ipv6(const struct holdq_entry *e)
{
	return !synhold_addr_is_ipv4(e->tuple.saddr);
}

/* Returns enum synhold_release_result, or -errno when the kernel refused the frame. */
static int inject(struct service *svc, const struct holdq_entry *e, uint64_t now_ns)
{
	struct daemon *d = svc->daemon;
	struct synhold_release_io *io = d->inst->release_io;
	uint8_t frame[SYNHOLD_FRAME_LEN];
	struct xdp_md ctx = {.data_end = e->frame_len, .ingress_ifindex = e->ifindex, .rx_queue_index = 0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = e->frame_len, .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .repeat = 1, .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = 1);

	memcpy(frame, e->frame, e->frame_len);
	if (frame_prepare(frame, e->frame_len, e->l3_offset, e->l4_offset, holdq_entry_ticks(e, now_ns)))
		return -EINVAL;
	io->tuple = e->tuple;
	io->service = (uint16_t)svc->id;
	io->flags = (is_generic(d, e->ifindex) ? SYNHOLD_RELEASE_GENERIC : 0) | (is_ipv6(e) ? SYNHOLD_RELEASE_IPV6 : 0);
	io->retry_ns = 0;
	io->result = SYNHOLD_RELEASE_NONE;
	if (bpf_prog_test_run_opts(d->release_fd, &opts))
		return -errno;
	return (int)io->result;
}

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < 1ULL << SYNHOLD_HIST_MIN_SHIFT)
		return 0;
	shift = 63U - (unsigned int)__builtin_clzll(ns);
	if (shift >= SYNHOLD_HIST_MIN_SHIFT + SYNHOLD_HIST_OCTAVES)
		return SYNHOLD_HIST_BUCKETS - 1;
	return 1 + (shift - SYNHOLD_HIST_MIN_SHIFT) * 4 + ((ns >> (shift - 2)) & 3);
}

static void released(struct service *svc, struct holdq_entry *e, uint64_t now_ns)
{
	struct synhold_tally *tally = &svc->daemon->inst->tally[svc->id];
	uint64_t wait = holdq_release(svc->queue, e, now_ns);

	tally->released++;
	tally->wait_sum_ns += wait;
	tally->wait[bucket_of(wait)]++;
	if (svc->daemon->woken_ns) {
		uint64_t now = instance_now_ns();

		tally->release_delay[bucket_of(now > svc->daemon->woken_ns ? now - svc->daemon->woken_ns : 0)]++;
		svc->daemon->woken_ns = 0;
	}
}

/* What a refusal means for the entry. Returns 0 when others may still go. */
static int refused(struct service *svc, struct holdq_entry *e, uint64_t now_ns)
{
	const struct synhold_release_io *io = svc->daemon->inst->release_io;

	switch (io->reason) {
	case SYNHOLD_REASON_SOURCE_RATE:
		holdq_defer(svc->queue, e, now_ns, io->retry_ns);
		return 0;
	case SYNHOLD_REASON_DENY:
		holdq_discard(svc->queue, e, SYNHOLD_DISCARD_EVICTED, now_ns);
		return 0;
	case SYNHOLD_REASON_SHARE:
	case SYNHOLD_REASON_CLOSED: /* the policy changed under it: ask again now and then */
		holdq_defer(svc->queue, e, now_ns, now_ns + REFUSED_SHARE_NS);
		return 0;
	case SYNHOLD_REASON_SERVICE_RATE:
	case SYNHOLD_REASON_GLOBAL_RATE:
		svc->retry_ns = io->retry_ns > now_ns ? io->retry_ns : now_ns + RETRY_UNKNOWN_NS;
		return 1;
	default:
		return 1;
	}
}

static int slot_free(const struct service *svc)
{
	uint32_t window = service_window(svc);

	if (svc->daemon->bypassed || svc->policy.mode == SYNHOLD_MODE_MONITOR)
		return 1;
	return !window || service_inside(svc) < (int64_t)window;
}

void release_publish(struct service *svc)
{
	struct synhold_runtime *run = &svc->daemon->inst->runtime[svc->id];
	uint32_t held = svc->queue ? holdq_counters(svc->queue)->held : 0;

	__atomic_store_n(&run->queued, svc->queue ? holdq_held(svc->queue, HOLDQ_WAIT_WINDOW) : 0, __ATOMIC_RELAXED);
	__atomic_store_n(&run->held, held, __ATOMIC_RELAXED);
	__atomic_store_n(&run->hold_full, svc->queue && holdq_full(svc->queue), __ATOMIC_RELAXED);
}

void release_service(struct service *svc, uint64_t now_ns)
{
	struct daemon *d = svc->daemon;
	unsigned int budget = BURST;
	uint64_t threshold;
	int result;

	if (!svc->queue || !holdq_counters(svc->queue)->held)
		return;
	threshold = svc->policy.ramp_over_ns && d->inst->runtime[svc->id].share_threshold ?
			    d->inst->runtime[svc->id].share_threshold - 1 :
			    svc->policy.share_threshold;
	holdq_open_share(svc->queue, d->bypassed ? 1ULL << 32 : threshold, BURST);
	while (budget && svc->retry_ns <= now_ns && slot_free(svc)) {
		struct holdq_entry *e = holdq_next(svc->queue, now_ns, HOLDQ_PICK_WINDOW | HOLDQ_PICK_SOURCE);

		if (!e)
			break;
		budget--;
		if (spoofed_unproved(svc, e)) {
			if (e->first_ns + UNPROVED_NS > now_ns)
				break; /* its client's second copy is due within the second; what has none goes then */
			holdq_discard(svc->queue, e, SYNHOLD_DISCARD_GONE, now_ns);
			continue;
		}
		result = inject(svc, e, now_ns);
		if (result == SYNHOLD_RELEASE_DONE)
			released(svc, e, now_ns);
		else if (result == SYNHOLD_RELEASE_LOST)
			holdq_discard(svc->queue, e, SYNHOLD_DISCARD_RESET, now_ns);
		else if (result != SYNHOLD_RELEASE_REFUSED)
			holdq_discard(svc->queue, e, SYNHOLD_DISCARD_INJECT_FAILED, now_ns);
		else if (refused(svc, e, now_ns))
			break;
	}
	release_publish(svc);
	if (!budget) { /* more may go: after the others had their turn */
		const struct timeval now = {0};

		event_add(d->release_timer, &now);
	}
}

/* When a rate lets the next one go, the timer comes back. */
static void arm(struct daemon *d, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	struct timeval tv;

	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++) {
		const struct service *svc = &d->service[i];
		uint64_t source;

		if (!svc->queue || !holdq_counters(svc->queue)->held)
			continue;
		if (svc->retry_ns > now_ns && svc->retry_ns < next)
			next = svc->retry_ns;
		source = holdq_next_source_ns(svc->queue);
		if (source > now_ns && source < next)
			next = source;
	}
	if (next == UINT64_MAX)
		return;
	next = next - now_ns < RETRY_MAX_NS ? next - now_ns : RETRY_MAX_NS;
	tv.tv_sec = (time_t)(next / 1000000000);
	tv.tv_usec = (suseconds_t)(next % 1000000000 / 1000) + 1;
	if (tv.tv_usec >= 1000000) {
		tv.tv_sec++;
		tv.tv_usec -= 1000000;
	}
	if (!evtimer_pending(d->release_timer, NULL))
		event_add(d->release_timer, &tv);
}

void release_all(struct daemon *d)
{
	uint64_t now_ns = instance_now_ns();

	for (unsigned int i = 0; i < SYNHOLD_SERVICES; i++)
		if (d->service[i].queue)
			release_service(&d->service[i], now_ns);
	arm(d, now_ns);
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	release_all(ctx);
}

void release_flush(struct service *svc, unsigned int reason)
{
	if (svc->queue)
		holdq_flush(svc->queue, reason, instance_now_ns());
	release_publish(svc);
}

void release_read_interfaces(struct daemon *d)
{
	struct deploy_interface list[64];
	unsigned int count = deploy_interfaces(d->inst, list, 64);

	d->generic_count = 0;
	for (unsigned int i = 0; i < count && i < 64; i++)
		if (list[i].generic)
			d->generic[d->generic_count++] = list[i].index;
}

int release_init(struct daemon *d, struct error *err)
{
	d->release_fd = bpf_program__fd(d->options->deploy->skel->progs.synhold_release);
	d->sweep_fd = bpf_program__fd(d->options->deploy->skel->progs.synhold_sweep);
	release_read_interfaces(d);
	if (!d->release_timer)
		d->release_timer = evtimer_new(d->base, on_timer, d);
	return d->release_timer ? 0 : error_set(err, -ENOMEM, "out of memory");
}
