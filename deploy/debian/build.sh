#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the Debian package from the archive of `make dist`: $BUILD/synhold_VERSION_ARCH.deb. Needs debhelper, and the
# packages of tests/deps.sh. Dates come from the last commit, so two runs give the same bytes.
set -eu

cd "$(dirname "$0")/../.."
out=$(realpath "${BUILD:-build}")
version=$(cat VERSION)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -c safe.directory="$PWD" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
# The package is made of its archive alone, with flags of its own: not of what has been compiled here.
unset BUILD MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
command -v dh >/dev/null || {
	echo "deb: debhelper is missing: apt-get install --no-install-recommends debhelper" >&2
	exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$out/synhold-$version.tar.gz" -C "$work"
cd "$work/synhold-$version"
cp -r deploy/debian/debian .
sed "s/@VERSION@/$version/; s/@DATE@/$(date -R -u -d "@$SOURCE_DATE_EPOCH")/" deploy/debian/debian/changelog >debian/changelog
dpkg-buildpackage -j"$(nproc)" -b -us -uc -d >"$out/deb.log" 2>&1 || {
	tail -n 30 "$out/deb.log" >&2
	exit 1
}
cp "$work"/*.deb "$out/"
ls "$out"/synhold_"$version"*.deb
