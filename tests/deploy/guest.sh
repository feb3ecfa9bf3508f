#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Process 1 of a guest until it becomes systemd: guest.sh ROOT DEBS. What is one of a kind on this machine (settings of the
# kernel, disks) cannot be written to from there.
set -eu

root=$1
mount --make-rprivate /
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
for dir in sys sysrq-trigger; do
	[ -e "$root/proc/$dir" ] || continue
	mount --bind "$root/proc/$dir" "$root/proc/$dir"
	mount -o remount,bind,ro "$root/proc/$dir"
done
mount --bind /proc/sys/net "$root/proc/sys/net" # is the namespace's
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --bind /sys/fs/bpf "$root/sys/fs/bpf"
mount -t tmpfs -o mode=0755 dev "$root/dev"
for name in null zero full random urandom tty; do
	touch "$root/dev/$name"
	mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/mqueue"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=0755 run "$root/run"
mkdir -p "$root/debs"
mount --bind "$2" "$root/debs"
hostname guest
cd "$root"
mkdir -p mnt
pivot_root . mnt
umount -l /mnt
exec env -i container=namespaces PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --log-target=journal --show-status=0 7>&-
