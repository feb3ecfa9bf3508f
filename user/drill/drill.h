/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef DRILL_DRILL_H
#define DRILL_DRILL_H

/*
 * `synhold drill [NAME] …`: replays an incident in private namespaces, without and with the shield.
 * argv[0] is "drill". Needs root, and execs /proc/self/exe to start the shield.
 * Returns the exit status: 0 the drill passed, 1 it failed or could not be run, 2 usage.
 */
int drill_main(int argc, char **argv);

#endif
