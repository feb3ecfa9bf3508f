#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's first process: what a machine has when its tests start, then the tests, then their status for boot.sh.
export PATH=/bin HOME=/root TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
ln -s /proc/self/fd /dev/fd
mount -t bpf bpf /sys/fs/bpf
for module in /modules/*.ko; do
	insmod "$module" || echo "$module is not taken"
done
ip link set lo up
ulimit -n 20000
echo "guest: $(uname -r) is up"
SYNHOLD=/shield/synhold TOOLS=/shield/tools OBJECTS=/shield PROGRAMS_MAKE=$(sed 's/.*programs=//; s/ .*//' /proc/cmdline) \
	bash /shield/kernels/guest.sh </dev/null
echo "guest: status $?"
reboot -f
