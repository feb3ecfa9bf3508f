#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Boots a kernel in QEMU, without hardware's help, and passes on what its tests say and their exit status.
#
#   tests/kernels/boot.sh KERNEL_DIR USERLAND.cpio MAKE
#
# The guest's clock counts its instructions, and leaps over its sleeps: how busy this machine is makes no difference to
# what happens in there, only to how long it takes.
#
# A guest that never got as far as its first process says nothing about the shield: it is booted once more. A test that
# failed, or a guest that ended in the middle of one, is not.
set -u

kernel=$1 userland=$2 make=$3
limit_s=${KERNEL_LIMIT_S:-880} # of the whole guest; a quiet machine needs a minute
boots=2

for tool in qemu-system-x86_64 cpio; do
	command -v "$tool" >/dev/null || {
		echo "boot.sh: no $tool here; tests/deps.sh installs it" >&2
		exit 1
	}
done
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
(cd "$kernel" && find modules | cpio -o -H newc --quiet) >"$tmp/modules.cpio" || exit 1
cat "$userland" "$tmp/modules.cpio" >"$tmp/initrd" || exit 1

guest()
{
	timeout -k 5 "$limit_s" qemu-system-x86_64 -M microvm,acpi=off,pit=on,pic=on,rtc=on,isa-serial=on -accel tcg \
		-cpu max -smp 1 -icount shift=1,sleep=off -rtc clock=vm -m 1024 -nodefaults -no-user-config -no-reboot -display none -monitor none -serial stdio \
		-kernel "$kernel/vmlinuz" -initrd "$tmp/initrd" \
		-append "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t mitigations=off random.trust_cpu=on \
net.ifnames=0 rdinit=/init programs=$make" </dev/null 2>&1 | sed -u 's/\r$//' | tee "$tmp/console"
}

for ((boot = 1; boot <= boots; boot++)); do
	guest
	! grep -q '^guest: .* is up$' "$tmp/console" || break
	echo "boot.sh: $(cat "$kernel/release") did not reach its first process (boot $boot of $boots)"
done
status=$(sed -n 's/^guest: status \([0-9]*\)$/\1/p' "$tmp/console" | tail -n 1)
[ -n "$status" ] || echo "boot.sh: the guest ended, or was ended after $limit_s s, before its tests had"
exit "${status:-1}"
