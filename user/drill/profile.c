// SPDX-License-Identifier: GPL-2.0-or-later
#include "drill/profile.h"

#include <math.h>

#define PROFILE_STEP_S 0.001
#define PROFILE_LONGEST_S 3600

double profile_share(const struct profile *profile, double t)
{
	int i;

	if (!profile->points)
		return 1;
	for (i = 0; i < profile->points && profile->point[i].t <= t; i++)
		;
	if (!i)
		return profile->point[0].share;
	if (i == profile->points)
		return profile->point[i - 1].share;
	return profile->point[i - 1].share + (profile->point[i].share - profile->point[i - 1].share) *
						     (t - profile->point[i - 1].t) /
						     (profile->point[i].t - profile->point[i - 1].t);
}

double profile_ideal_seconds(const struct profile_load *load)
{
	double served = 0;

	for (long step = 0; step < PROFILE_LONGEST_S / PROFILE_STEP_S; step++) {
		double t = (step + 0.5) * PROFILE_STEP_S;
		double come = t < load->spread_s ? load->clients * t / load->spread_s : load->clients;
		double share = load->nodes - 1 + profile_share(load->profile, t);

		served = fmin(come, served + load->capacity * share * PROFILE_STEP_S);
		/* Half a client is a client that is being served. */
		if (served >= load->clients - 0.5)
			return t;
	}
	return INFINITY;
}
