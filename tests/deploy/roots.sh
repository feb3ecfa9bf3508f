#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes what the tests of deployment start from, unless it is there already:
#
#   tests/deploy/roots.sh DIR DEB    base.tar    the smallest Debian 12, as a container image would have it
#                                    system.tar  the same with systemd, as a server would have it
#                                    debs/       an archive of its own with all that is installed in them later on
#
# Mirrors and proxies are those that this machine's apt is set up with; nothing of them gets into the roots.
set -u

dir=$1 deb=$2
here=$(cd "$(dirname "$0")" && pwd)
containerfile=$here/../../deploy/kubernetes/Containerfile
server="systemd systemd-sysv dbus iproute2 procps"

fail()
{
	echo "roots of the tests of deployment: $*" >&2
	exit 1
}

for tool in mmdebstrap dpkg-scanpackages; do
	command -v "$tool" >/dev/null || fail "no $tool here; tests/deps.sh deploy installs it"
done
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1 # apt takes other paths for its own
exec 8>"$dir/lock" || exit 1
flock 8 || fail "cannot lock $dir"
wanted=$({ # whatever it is made of
	echo "$server"
	dpkg-deb -f "$deb" Depends
	cat "$0" "$containerfile"
} | sha256sum)
[ "$(cat "$dir/made" 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf "$dir/made" "$dir/debs"

tmp=$(mktemp -d /tmp/synhold-roots.XXXXXX) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
chmod 0755 "$tmp"
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ "$codename" = bookworm ] || fail "they know Debian 12 (bookworm), this is '$codename'"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
apt-get indextargets --format "deb [signed-by=$keyring] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
	'Created-By: Packages' 'Origin: Debian' 2>/dev/null | grep " $codename" | sort -u >"$tmp/sources.list"
[ -s "$tmp/sources.list" ] || fail "apt knows no archive of Debian; is there one in /etc/apt, and was 'apt-get update' run?"

mmdebstrap --quiet --variant=minbase "$codename" "$tmp/base" "$tmp/sources.list" >"$tmp/log" 2>&1 ||
	fail "mmdebstrap: $(tail -n 5 "$tmp/log")"
rm -rf "$tmp"/base/etc/apt/sources.list.d/* "$tmp"/base/etc/resolv.conf "$tmp"/base/etc/hostname
echo 'deb [trusted=yes] file:/debs ./' >"$tmp/base/etc/apt/sources.list"
mkdir -p "$tmp/base/debs" "$tmp/lists/partial" "$tmp/cache/archives/partial" "$tmp/parts"

options=(-q -q -y -o "Dir::Etc::SourceList=$tmp/sources.list" -o "Dir::Etc::SourceParts=$tmp/parts"
	-o "Dir::State::Lists=$tmp/lists" -o "Dir::State::Status=$tmp/base/var/lib/dpkg/status" -o "Dir::Cache=$tmp/cache"
	-o Acquire::Languages=none -o Acquire::Retries=3 -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any
	-o APT::Install-Recommends=no -o APT::Keep-Downloaded-Packages=yes)
apt-get "${options[@]}" update >"$tmp/log" 2>&1 || fail "lists of packages: $(tail -n 1 "$tmp/log")"
download() # COMMAND WHAT...
{
	apt-get "${options[@]}" --download-only "$@" >"$tmp/log" 2>&1 || fail "cannot fetch $*: $(tail -n 3 "$tmp/log")"
}
# shellcheck disable=SC2086 # one package a word
download install $server
download satisfy "$(dpkg-deb -f "$deb" Depends)"
# the lists of packages of the image's stages
while read -r packages; do
	# shellcheck disable=SC2086
	download install $packages
done < <(sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' -e '}' "$containerfile" |
	grep -o 'install -y --no-install-recommends [^&]*' | sed 's/.*recommends //')
mv "$tmp/cache/archives" "$dir/debs" || exit 1
rm -rf "$dir/debs/partial" "$dir/debs/lock"
(cd "$dir/debs" && dpkg-scanpackages -m . >Packages 2>"$tmp/log") || fail "$(tail -n 3 "$tmp/log")"
tar -C "$tmp/base" -cf "$dir/base.tar" . || exit 1

# shellcheck disable=SC2086
# the server: in a mount namespace, so that nothing of it stays mounted
unshare --mount --propagation private -- sh -eu -c '
	mount --bind "$2" "$1/debs"
	mount -t proc proc "$1/proc"
	export DEBIAN_FRONTEND=noninteractive
	chroot "$1" apt-get -q update
	shift 2
	chroot "$0" apt-get -q -y --no-install-recommends install "$@"' \
	"$tmp/base" "$tmp/base" "$dir/debs" $server >"$tmp/log" 2>&1 || fail "$(tail -n 5 "$tmp/log")"
tar -C "$tmp/base" -cf "$dir/system.tar" . || exit 1
[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID" "$dir"
echo "$wanted" >"$dir/made" # last: what is there is whole
