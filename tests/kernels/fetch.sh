#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Fetches the newest kernel of a series from one of Debian's suites, and takes from the package what a guest needs.
#
#   tests/kernels/fetch.sh SERIES SUITE DIR    DIR gets vmlinuz, modules/ and release; one that has them is left alone
#
# Mirrors and proxies are those that this machine's apt is set up with; its own lists of packages stay as they are.
set -u

series=$1 suite=$2 dir=$3
modules="veth sch_ingress cls_bpf"

fail()
{
	echo "kernel $series of $suite: $*" >&2
	exit 1
}

[ ! -e "$dir/release" ] || exit 0
[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || fail "these tests know Debian on amd64 only"
command -v apt-get >/dev/null || fail "no apt-get here to fetch it with"
mkdir -p "$dir" && dir=$(cd "$dir" && pwd) || exit 1 # apt takes other paths for its own
tmp=$(mktemp -d "$dir/fetch.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT

# The archive that holds a suite, by what is configured for the release that runs here.
archive_of() # SUITE
{
	local codename main security
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' >"$tmp/targets" 2>/dev/null
	main=$(awk -v c="$codename" '$1 == c || $1 == "stable" || $1 == "oldstable" { print $2; exit }' "$tmp/targets")
	security=$(awk '$1 ~ /-security$/ { print $2; exit }' "$tmp/targets")
	[ -n "$security" ] || security=${main%/debian/}/debian-security/ # beside it, on every full mirror
	case $1 in
	*-security) echo "$security" ;;
	*) echo "$main" ;;
	esac
}

archive=$(archive_of "$suite")
[[ $archive == *://* ]] || fail "no Debian archive in /etc/apt/sources.list or /etc/apt/sources.list.d"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
signed=
[ ! -r "$keyring" ] || signed="[signed-by=$keyring] "
mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial" "$tmp/parts"
: >"$tmp/status"
echo "deb ${signed}$archive $suite main" >"$tmp/sources.list"
options=(-q -q -o "Dir::Etc::SourceList=$tmp/sources.list" -o "Dir::Etc::SourceParts=$tmp/parts"
	-o "Dir::State::Lists=$tmp/lists" -o "Dir::State::Status=$tmp/status" -o "Dir::Cache=$tmp/cache"
	-o Acquire::Languages=none -o Acquire::Retries=3 -o Acquire::http::Timeout=30 -o APT::Sandbox::User=root
	-o APT::Update::Error-Mode=any)

apt-get "${options[@]}" update >"$tmp/log" 2>&1 ||
	fail "its list of packages cannot be fetched; check the network: $(tail -n 1 "$tmp/log")"
package=$(apt-cache "${options[@]}" pkgnames linux-image- |
	grep -E "^linux-image-${series//./\\.}\.[0-9].*-cloud-amd64\$" | sort -V | tail -n 1)
[ -n "$package" ] || fail "no such package in the suite"
(cd "$tmp" && apt-get "${options[@]}" download "$package") >"$tmp/log" 2>&1 ||
	fail "$package cannot be fetched; check the network: $(tail -n 1 "$tmp/log")"

mkdir "$tmp/tree" "$tmp/modules"
patterns=('./boot/vmlinuz-*')
for name in $modules; do
	patterns+=("*/kernel/*/$name.ko*")
done
dpkg-deb --fsys-tarfile "$tmp"/linux-image-*.deb |
	tar -x -C "$tmp/tree" --wildcards "${patterns[@]}" || fail "$package has not what a guest needs"
mv "$tmp"/tree/boot/vmlinuz-* "$tmp/vmlinuz" || exit 1
for name in $modules; do
	file=$(find "$tmp/tree" -name "$name.ko*")
	case $file in
	*.xz) xz -dc "$file" ;;
	*.zst) zstd -dqc "$file" ;;
	*) cat "$file" ;;
	esac >"$tmp/modules/$name.ko" || fail "module $name cannot be unpacked"
done
rm -rf "$dir/modules"
mv "$tmp/vmlinuz" "$tmp/modules" "$dir/" || exit 1
echo "$package" >"$dir/release" # last: what is there is whole
