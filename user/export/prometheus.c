// SPDX-License-Identifier: GPL-2.0-or-later
/* The families. Names and labels are a contract (docs/design.md). */
#include <stdio.h>

#include "export/prometheus_parts.h"
#include "lib/version.h"

/* Of any list of abi.h. */
#define WORDS_MAX 32
_Static_assert(SYNHOLD_VERDICT_COUNT <= WORDS_MAX && SYNHOLD_REASON_COUNT <= WORDS_MAX &&
		       SYNHOLD_DISCARD_COUNT <= WORDS_MAX && SYNHOLD_OUTCOME_COUNT <= WORDS_MAX,
	       "words of a family");

/* A family with one number a service. */
static void per_service(struct page *page, const char *name, const char *type, const char *help,
			uint64_t (*value)(const struct snapshot_service *svc))
{
	page_family(page, name, type, help);
	for (unsigned int i = 0; i < page->snap->service_count; i++)
		page_service(page, name, &page->snap->service[i], "", value(&page->snap->service[i]));
}

/* A counter with one number a service and word of a list of abi.h. */
static void per_word(struct page *page, const char *name, const char *help, const char *label, unsigned int count,
		     const char *(*word)(unsigned int), const __u64 *(*values)(const struct snapshot_service *svc))
{
	char more[WORDS_MAX][96];

	for (unsigned int j = 0; j < count; j++)
		snprintf(more[j], sizeof(more[j]), ",%s=\"%s\"", label, word(j));
	page_family(page, name, "counter", help);
	for (unsigned int i = 0; i < page->snap->service_count; i++)
		for (unsigned int j = 0; j < count; j++)
			page_service(page, name, &page->snap->service[i], more[j], values(&page->snap->service[i])[j]);
}

static const __u64 *verdicts(const struct snapshot_service *svc)
{
	return svc->count.verdict;
}

static const __u64 *over_limit(const struct snapshot_service *svc)
{
	return svc->count.over_limit;
}

static const __u64 *would_limit(const struct snapshot_service *svc)
{
	return svc->count.would_limit;
}

static const __u64 *outcomes(const struct snapshot_service *svc)
{
	return svc->count.outcome;
}

static const __u64 *discards(const struct snapshot_service *svc)
{
	return svc->tally.discarded;
}

static uint64_t offered(const struct snapshot_service *svc)
{
	return svc->count.offered;
}

static uint64_t proof(const struct snapshot_service *svc)
{
	return (svc->runtime.state_flags & SYNHOLD_FLAG_PROOF) != 0;
}

static uint64_t unproved(const struct snapshot_service *svc)
{
	return svc->count.unproved;
}

static uint64_t entered(const struct snapshot_service *svc)
{
	return svc->tally.entered;
}

static uint64_t released(const struct snapshot_service *svc)
{
	return svc->tally.released;
}

static uint64_t held(const struct snapshot_service *svc)
{
	return svc->runtime.held;
}

static uint64_t inflight(const struct snapshot_service *svc)
{
	return svc->inflight > 0 ? (uint64_t)svc->inflight : 0;
}

static uint64_t suspended(const struct snapshot_service *svc)
{
	return svc->suspended != 0;
}

static void instance_families(struct page *page)
{
	const struct snapshot *snap = page->snap;
	char labels[128], name[64];

	page_family(page, "build_info", "gauge", "The version that reports.");
	snprintf(labels, sizeof(labels), "version=\"%s\"", page_escape(SYNHOLD_VERSION, name, sizeof(name)));
	page_sample(page, "build_info", labels, 1);
	page_family(page, "daemon_up", "gauge",
		    "Whether a daemon's heartbeat is fresh; without one, the fallback of each service holds.");
	page_sample(page, "daemon_up", "", snap->daemon_alive != 0);
	if (snap->heartbeat_age_seconds >= 0) {
		page_family(page, "heartbeat_age_seconds", "gauge", "Time since the daemon's last heartbeat.");
		page_sample(page, "heartbeat_age_seconds", "", snap->heartbeat_age_seconds);
	}
	page_family(page, "interface_attached", "gauge",
		    "1 while the shield sits on the interface, 0 when the interface is gone.");
	for (unsigned int i = 0; i < snap->interface_count; i++) {
		snprintf(labels, sizeof(labels), "interface=\"%s\",mode=\"%s\"",
			 page_escape(snap->interface[i].name, name, sizeof(name)),
			 snap->interface[i].generic ? "generic" : "native");
		page_sample(page, "interface_attached", labels, snap->interface[i].present != 0);
	}
	page_family(page, "unparsed_total", "counter", "Frames that could not be read, which pass unjudged.");
	for (unsigned int i = 0; i < SYNHOLD_UNPARSED_COUNT && snap->attached; i++) {
		snprintf(labels, sizeof(labels), "reason=\"%s\"", snapshot_unparsed_name(i));
		page_sample(page, "unparsed_total", labels, (double)snap->unparsed[i]);
	}
}

static void map_families(struct page *page)
{
	const struct snapshot *snap = page->snap;
	const struct {
		const char *name;
		uint64_t entries;
		unsigned int capacity;
	} maps[] = {
		{"allow", snap->list_entries[LIST_ALLOW], SYNHOLD_LIST_ENTRIES},
		{"deny", snap->list_entries[LIST_DENY], SYNHOLD_LIST_ENTRIES},
		{"prefer", snap->list_entries[LIST_PREFER], SYNHOLD_LIST_ENTRIES},
		{"marks", snap->map_entries[INSTANCE_MAP_MARKS], SYNHOLD_MARKS},
	};
	char labels[32];

	for (int capacity = 0; capacity <= 1; capacity++) {
		const char *name = capacity ? "map_capacity" : "map_entries";

		page_family(page, name, "gauge", capacity ? "Entries the map takes." : "Entries in the map.");
		for (size_t i = 0; i < sizeof(maps) / sizeof(*maps) && snap->attached; i++) {
			snprintf(labels, sizeof(labels), "map=\"%s\"", maps[i].name);
			page_sample(page, name, labels, capacity ? maps[i].capacity : (double)maps[i].entries);
		}
	}
}

static void limiting_since(struct page *page, double now_s)
{
	page_family(page, "limiting_since_timestamp_seconds", "gauge",
		    "When the service began to be limited; 0 while it is not.");
	for (unsigned int i = 0; i < page->snap->service_count; i++) {
		const struct snapshot_service *svc = &page->snap->service[i];
		uint64_t since = svc->runtime.limiting_since_ns;
		double when =
			since && since <= page->snap->now_ns ? now_s - (double)(page->snap->now_ns - since) / 1e9 : 0;

		page_service_real(page, "limiting_since_timestamp_seconds", svc, "", "%.1f", when);
	}
}

/* Only services that have one: no window is no number. */
static void windows(struct page *page)
{
	page_family(page, "window", "gauge",
		    "Handshakes that may be in flight at once; absent while there is no window.");
	for (unsigned int i = 0; i < page->snap->service_count; i++)
		if (page->snap->service[i].window)
			page_service(page, "window", &page->snap->service[i], "", page->snap->service[i].window);
}

static uint64_t listen_overflows(const struct snapshot_service *svc)
{
	return svc->tally.listen_overflows;
}

static void window_changes(struct page *page)
{
	char more[EXPORT_SIGNALS][2][96];

	for (unsigned int j = 0; j < EXPORT_SIGNALS; j++)
		for (int up = 1; up >= 0; up--)
			snprintf(more[j][up], sizeof(more[j][up]), ",direction=\"%s\",signal=\"%s\"",
				 up ? "up" : "down", export_signal_name(j));
	page_family(page, "window_changes_total", "counter",
		    "Changes of the window by the controller, by the signal that led to them.");
	for (unsigned int i = 0; i < page->snap->service_count; i++) {
		const struct synhold_tally *tally = &page->snap->service[i].tally;

		for (unsigned int j = 0; j < EXPORT_SIGNALS; j++)
			for (int up = 1; up >= 0; up--)
				page_service(page, "window_changes_total", &page->snap->service[i], more[j][up],
					     up ? tally->window_up[j] : tally->window_down[j]);
	}
}

static void histograms(struct page *page)
{
	page_family(page, "hold_seconds", "histogram", "Time that released SYNs were held.");
	for (unsigned int i = 0; i < page->snap->service_count; i++) {
		const struct snapshot_service *svc = &page->snap->service[i];

		page_histogram(page, "hold_seconds", svc, svc->tally.wait, svc->tally.wait_sum_ns);
	}
	page_family(page, "first_byte_seconds", "histogram",
		    "From the admission of a SYN to the server's first payload byte.");
	for (unsigned int i = 0; i < page->snap->service_count; i++) {
		const struct snapshot_service *svc = &page->snap->service[i];

		page_histogram(page, "first_byte_seconds", svc, svc->delays.first_byte, svc->count.first_byte_sum_ns);
	}
}

const char *export_signal_name(unsigned int signal)
{
	/* enum control_signal of the daemon, whose words these are; a unit test compares them */
	static const char *const names[EXPORT_SIGNALS] = {"first_byte", "stall",    "accept_queue",
							  "demand",     "pressure", "policy"};

	return signal < EXPORT_SIGNALS ? names[signal] : "unknown";
}

int export_prometheus(const struct snapshot *snap, double now_s, enum export_format format, FILE *out)
{
	struct page page;

	page_begin(&page, snap, format, out);
	instance_families(&page);
	map_families(&page);
	per_word(&page, "syn_total",
		 "SYNs off the wire by what became of them; re-injected ones are not counted again.", "verdict",
		 SYNHOLD_VERDICT_COUNT, snapshot_verdict_name, verdicts);
	per_word(&page, "over_limit_total", "SYNs held, dropped or rejected, by the limit that they were above.",
		 "reason", SYNHOLD_REASON_COUNT, snapshot_reason_name, over_limit);
	per_word(&page, "would_limit_total", "SYNs that mode=monitor let pass, by the limit that they were above.",
		 "reason", SYNHOLD_REASON_COUNT, snapshot_reason_name, would_limit);
	per_service(&page, "proof", "gauge", "1 while a SYN is let in only when it comes a second time.", proof);
	per_service(&page, "unproved_syn_total", "counter", "SYNs dropped because they had not come before.", unproved);
	per_service(&page, "offered_connections_total", "counter",
		    "Distinct connections that clients tried to open: the true demand.", offered);
	limiting_since(&page, now_s);
	per_service(&page, "hold_entered_total", "counter", "SYNs that entered the hold queue.", entered);
	per_service(&page, "released_total", "counter", "Held SYNs that were let in.", released);
	per_word(&page, "hold_discarded_total", "Held SYNs that left the queue otherwise, by reason.", "reason",
		 SYNHOLD_DISCARD_COUNT, snapshot_discard_name, discards);
	per_service(&page, "held", "gauge", "SYNs in the hold queue now.", held);
	per_service(&page, "inflight", "gauge", "Handshakes let in and not yet settled.", inflight);
	windows(&page);
	per_service(&page, "window_suspended", "gauge",
		    "1 while the window is out of force because no settlement can be seen.", suspended);
	per_word(&page, "handshakes_total", "Handshakes by how they ended.", "outcome", SYNHOLD_OUTCOME_COUNT,
		 snapshot_outcome_name, outcomes);
	per_service(&page, "listen_overflows_total", "counter",
		    "SYNs and handshakes that the service's listeners could not queue.", listen_overflows);
	page_signals(&page);
	window_changes(&page);
	histograms(&page);
	return page_end(&page);
}
