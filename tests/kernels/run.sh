#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tests of one kernel: fetches it, boots it, and ends with `N passed, N failed`.
#
#   tests/kernels/run.sh SERIES    BUILD: where the binaries and the fetched kernels are
set -u

cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
read -r series suite make < <(awk -v s="$1" '$1 == s' tests/kernels/kernels)
dir=$BUILD/kernels/${series:-none}
log=$dir/console

give_up()
{
	echo "FAILED $*"
	echo "0 passed, 1 failed"
	exit 1
}

[ -n "${series:-}" ] || give_up "no kernel '$1' in tests/kernels/kernels"
mkdir -p "$dir" || exit 1
tests/kernels/fetch.sh "$series" "$suite" "$dir" 2>"$log" || give_up "$(cat "$log")"
echo "$(cat "$dir/release") from $suite"
tests/kernels/boot.sh "$dir" "$BUILD/kernels/userland.cpio" "$make" | tee "$log"
status=${PIPESTATUS[0]}
grep -qE '^[0-9]+ passed, [0-9]+ failed$' "$log" || give_up "its tests did not come to an end"
exit "$status"
