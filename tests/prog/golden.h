/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of tests/prog/frames.golden. */
#ifndef TESTS_PROG_GOLDEN_H
#define TESTS_PROG_GOLDEN_H

#include <stdio.h>

#include "tests/prog/world.h"

struct golden_row {
	char name[80];
	struct frame frame;
	char setup[80], outcome[120]; /* words */
};

/* The next row of the file: 1, or 0 at its end. What is not understood fails the test with its line. */
int golden_next(FILE *file, struct golden_row *row);

#endif
