// SPDX-License-Identifier: GPL-2.0-or-later
/* The signals of a service for people: what the controller goes by, against its target, and how old it is. */
#include <stdio.h>

#include "cli/status.h"
#include "cli/table.h"
#include "lib/signals.h"

#define STALE_S 5 /* the slowest of them comes every second or two */

static const char *amount(double value, unsigned int unit, char *buf, size_t size)
{
	if (unit == SYNHOLD_UNIT_SECONDS)
		snprintf(buf, size, value < 1 ? "%.1f ms" : "%.2f s", value < 1 ? value * 1e3 : value);
	else if (unit == SYNHOLD_UNIT_RATIO)
		snprintf(buf, size, "%.1f %%", value * 100);
	else
		snprintf(buf, size, unit == SYNHOLD_UNIT_PER_SECOND ? "%.4g/s" : "%.6g", value);
	return buf;
}

int status_signals(const struct snapshot *snap, const struct snapshot_service *svc)
{
	static const char *const columns[] = {"SIGNAL", ">VALUE", ">TARGET", ">AGE", NULL};
	struct libscols_table *table;

	if (!svc->signals.signal[0].name[0]) {
		printf("signals: none yet; a daemon reads them\n");
		return 0;
	}
	table = table_new(columns);
	for (unsigned int i = 0; table && i < SYNHOLD_SIGNALS && svc->signals.signal[i].name[0]; i++) {
		const struct synhold_signal *signal = &svc->signals.signal[i];
		struct libscols_line *line = scols_table_new_line(table, NULL);
		double age = signals_age(signal, snap->now_ns);
		char text[32];

		table_cell(line, 0, "%s", signal->name);
		table_cell(line, 1, "%s", amount(signals_value(signal), signal->unit, text, sizeof(text)));
		table_cell(line, 2, "%s",
			   signal->target_micro ? amount(signals_target(signal), signal->unit, text, sizeof(text)) :
						  "-");
		table_cell(line, 3, "%.1f s%s", age, age > STALE_S ? " (stale)" : "");
	}
	return table_print(table);
}
