/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SYNHOLD_LIB_VERSION_H
#define SYNHOLD_LIB_VERSION_H

/* The build gives the released version; a tree that was built by hand says so. */
#ifndef SYNHOLD_VERSION
#define SYNHOLD_VERSION "0.1.0-dev"
#endif

#endif
