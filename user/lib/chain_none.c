// SPDX-License-Identifier: GPL-2.0-or-later
/* Without libxdp: no dispatcher is joined, and what another build has put into one is made to pass on. */
#include <errno.h>

#include "lib/chain_parts.h"

static int refuse(struct error *err)
{
	error_set(err, -EOPNOTSUPP, "--chain: built without libxdp, there is no dispatcher to join");
	return error_hint(err, -EOPNOTSUPP,
			  "build it where libxdp-dev is; or synhold check IFACE: no other XDP program");
}

int chain_supported(struct error *err)
{
	return refuse(err);
}

int chain_join(const struct instance *inst, const char *ifname, enum deploy_mode mode, uint32_t *flags,
	       struct error *err)
{
	(void)inst;
	(void)ifname;
	(void)mode;
	(void)flags;
	return refuse(err);
}

int chain_put_back(uint32_t ifindex, int prog_fd)
{
	(void)ifindex;
	(void)prog_fd;
	return -EOPNOTSUPP;
}

int chain_detach(const struct instance *inst, uint32_t ifindex, uint32_t but)
{
	(void)inst;
	(void)ifindex;
	(void)but;
	return -EOPNOTSUPP;
}
