/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_PROFILE_H
#define DRILL_PROFILE_H

/*
 * What a node can do over time, as a share of what it can do at its best: straight lines between points, ascending in
 * time; two points of the same time are a step. Pure.
 */

#define PROFILE_POINTS_MAX 8

struct profile {
	int points;
	struct {
		double t; /* seconds since the storm began */
		double share;
	} point[PROFILE_POINTS_MAX];
};

/* The share at that time; before the first point the first one's, after the last the last one's, without points 1. */
double profile_share(const struct profile *profile, double t);

/* A load and those who bear it. */
struct profile_load {
	double clients;                /* they come evenly spread ... */
	double spread_s;               /* ... over this time; 0: all at once */
	int nodes;                     /* equal ones */
	double capacity;               /* of each at its best, connections/s */
	const struct profile *profile; /* of the first node; the others are always at their best */
};

/*
 * Seconds from the beginning until the last client is served if not a moment of what the nodes can do is wasted; after
 * an hour of that it gives up and returns infinity.
 */
double profile_ideal_seconds(const struct profile_load *load);

#endif
