/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log lines on stderr: UTC, RFC 3339 with milliseconds, unless the journal stamps them (JOURNAL_STREAM). Where
 * several daemons write into one log, the environment variable SYNHOLD_LOG_NAME stands before the words of each. */
#ifndef SYNHOLD_LIB_LOG_H
#define SYNHOLD_LIB_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO };

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
