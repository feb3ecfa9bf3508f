/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What went wrong, for the one who asked: what failed, on what, why (message), and what to do (hint). Libraries fill
 * it, commands print it. */
#ifndef SYNHOLD_LIB_ERROR_H
#define SYNHOLD_LIB_ERROR_H

struct error {
	int code; /* negative errno; -EINVAL means that the user's input was wrong (exit status 2) */
	char message[512];
	char hint[256]; /* may be empty */
};

/* Both return code, so that a failure is set and returned in one expression. err may be NULL. */
int error_set(struct error *err, int code, const char *message, ...) __attribute__((format(printf, 3, 4)));
int error_hint(struct error *err, int code, const char *hint, ...) __attribute__((format(printf, 3, 4)));

/* Exit status of the command line contract: 2 for wrong input, 1 for what could not be done. */
int error_exit_status(const struct error *err);

#endif
