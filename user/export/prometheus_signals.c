// SPDX-License-Identifier: GPL-2.0-or-later
/* What the server and its host say of their load: queues, pressure, and the signals that the controller goes by. */
#include <stdio.h>

#include "export/prometheus_parts.h"
#include "lib/signals.h"

/* Absent while pressure has set none. */
static void ceilings(struct page *page)
{
	page_family(page, "rate_ceiling", "gauge",
		    "Handshakes per second that pressure lets start; absent while it has set no ceiling.");
	for (unsigned int i = 0; i < page->snap->service_count; i++)
		if (snapshot_ceiling_pps(&page->snap->service[i]))
			page_service(page, "rate_ceiling", &page->snap->service[i], "",
				     snapshot_ceiling_pps(&page->snap->service[i]));
}

static void signal_sample(struct page *page, const char *name, const struct snapshot_service *svc, const char *signal,
			  double value)
{
	char label[2 * SYNHOLD_NAME_LEN], more[2 * SYNHOLD_NAME_LEN + 16];

	snprintf(more, sizeof(more), ",signal=\"%s\"", page_escape(signal, label, sizeof(label)));
	page_service_real(page, name, svc, more, "%.9g", value);
}

static void signal_values(struct page *page)
{
	for (int age = 0; age <= 1; age++) {
		const char *name = age ? "signal_age_seconds" : "signal_value";

		page_family(page, name, "gauge",
			    age ? "Time since the signal was measured or reported." :
				  "What the controller goes by; unit and target are in status --json.");
		for (unsigned int i = 0; i < page->snap->service_count; i++) {
			const struct snapshot_service *svc = &page->snap->service[i];

			for (unsigned int j = 0; j < SYNHOLD_SIGNALS && svc->signals.signal[j].name[0]; j++) {
				const struct synhold_signal *signal = &svc->signals.signal[j];

				signal_sample(page, name, svc, signal->name,
					      age ? signals_age(signal, page->snap->now_ns) : signals_value(signal));
			}
		}
	}
	page_family(page, "settlements_per_second", "gauge",
		    "Handshakes that the server finishes, over about a second.");
	for (unsigned int i = 0; i < page->snap->service_count; i++) {
		const struct snapshot_service *svc = &page->snap->service[i];
		const struct synhold_signal *signal = signals_find(&svc->signals, "settlements");

		if (signal)
			page_service_real(page, "settlements_per_second", svc, "", "%.9g", signals_value(signal));
	}
}

static void pressures(struct page *page)
{
	static const char *const resources[] = {"cpu", "memory", "io"};
	char label[32];

	page_family(page, "pressure_ratio", "gauge",
		    "Share of the last second that something waited for the resource (PSI, some).");
	for (int i = 0; i < 3; i++) {
		snprintf(label, sizeof(label), "resource=\"%s\"", resources[i]);
		if (page->snap->pressure[i] >= 0)
			page_sample(page, "pressure_ratio", label, page->snap->pressure[i]);
	}
}

static void accept_queues(struct page *page)
{
	for (int limit = 0; limit <= 1; limit++) {
		const char *name = limit ? "accept_queue_limit" : "accept_queue_length";

		page_family(page, name, "gauge",
			    limit ? "What the listeners' accept queues take." :
				    "Connections that wait to be accepted, summed over the service's listeners.");
		for (unsigned int i = 0; i < page->snap->service_count; i++) {
			const struct snapshot_service *svc = &page->snap->service[i];

			if (svc->listeners > 0)
				page_service(page, name, svc, "", limit ? svc->accept_queue_max : svc->accept_queue);
		}
	}
}

void page_signals(struct page *page)
{
	accept_queues(page);
	pressures(page);
	ceilings(page);
	signal_values(page);
}
