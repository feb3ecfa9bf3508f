/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_KIT_H
#define DRILL_KIT_H

/*
 * What a drill is made of and made with. A drill is one file: its defaults, its script, its figures, and a row in
 * drill.c; CONTRIBUTING.md says how to write one.
 */

#include "drill/board.h"
#include "drill/checker.h"
#include "drill/client.h"
#include "drill/figures.h"
#include "drill/front.h"
#include "drill/net.h"
#include "drill/pool.h"
#include "drill/profile.h"
#include "drill/program.h"
#include "drill/result.h"
#include "drill/rival.h"
#include "drill/run.h"
#include "drill/server.h"
#include "drill/supervisor.h"
#include "drill/upload.h"
#include "drill/world.h"

/* A curve over time besides "clients served" and "held": its key in the JSON, and its name in the picture. */
struct drill_series {
	const char *key;
	const char *name;
};

struct drill {
	const char *name;
	const char *doc;   /* for `drill --help`, up to 64 characters: one line */
	const char *title; /* of the picture: what happens to whom */
	const char *come;  /* and how the clients come, up to "... manage(s)"; NULL: at once, to one server */
	/* Its defaults; they may depend on what the command line gave (`set`: bits of enum params_option). */
	const struct drill_params *(*defaults)(const struct drill_params *given, unsigned int set);
	unsigned int options; /* bits of enum params_option that it has besides PARAMS_COMMON */
	struct world_plan plan;
	const char *const *programs; /* that must be installed, NULL at the end; or NULL */
	struct drill_series series[BOARD_SERIES_MAX];
	/* One run, in a world of its own, from the setting up to run_end(). Returns 0, or -1 with board->error set. */
	int (*script)(struct run *run);
	/* Writes the present values of `series`; NULL without any. */
	void (*sample)(struct run *run, float value[BOARD_SERIES_MAX]);
	/* The run in figures, each with its bound. Pure: from the board alone. Returns 0 or -errno. */
	int (*figures)(const struct board *board, struct figures *figures);
};

extern const struct drill drill_trello;
extern const struct drill drill_twingate;
extern const struct drill drill_ambra;
extern const struct drill drill_confluence;
extern const struct drill drill_kiln;

#endif
