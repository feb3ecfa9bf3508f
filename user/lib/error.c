// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int error_set(struct error *err, int code, const char *message, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	err->hint[0] = '\0';
	va_start(args, message);
	vsnprintf(err->message, sizeof(err->message), message, args);
	va_end(args);
	return code;
}

int error_hint(struct error *err, int code, const char *hint, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, hint);
	vsnprintf(err->hint, sizeof(err->hint), hint, args);
	va_end(args);
	return code;
}

int error_exit_status(const struct error *err)
{
	return err->code == -EINVAL ? 2 : 1;
}
