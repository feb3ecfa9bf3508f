// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void log_line(enum log_level level, const char *format, ...)
{
	static const char *const words[] = {"error: ", "warning: ", ""};
	static const char *const priorities[] = {"<3>", "<4>", "<6>"}; /* sd-daemon(3) */
	char line[1024];
	size_t used = 0;
	va_list args;
	int n;

	if (getenv("JOURNAL_STREAM")) {
		used = (size_t)snprintf(line, sizeof(line), "%s", priorities[level]);
	} else {
		struct timespec now;
		struct tm utc;

		clock_gettime(CLOCK_REALTIME, &now);
		gmtime_r(&now.tv_sec, &utc);
		used = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &utc);
		used += (size_t)snprintf(line + used, sizeof(line) - used, ".%03ldZ %s", now.tv_nsec / 1000000,
					 words[level]);
	}
	if (getenv("SYNHOLD_LOG_NAME"))
		used += (size_t)snprintf(line + used, sizeof(line) / 4, "%.64s: ", getenv("SYNHOLD_LOG_NAME"));
	va_start(args, format);
	n = vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	used += n < 0 ? 0 : (size_t)n;
	if (used > sizeof(line) - 2)
		used = sizeof(line) - 2;
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		return; /* nowhere to complain */
}
