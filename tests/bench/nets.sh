# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For the benchmarks on live traffic: `private_mounts` starts the script again, as `SCRIPT --inside ARGUMENT...`, where its network
# namespaces, BPF file system and run directory are its own: they vanish with it.

BUILD=$(realpath "${BUILD:-build}")
SYNHOLD=$BUILD/synhold

private_mounts() # ARGUMENT...
{
	if [ "${1:-}" != --inside ]; then
		exec unshare --mount --propagation private -- bash "$0" --inside "$@"
	fi
	mount -t tmpfs bench /run
	mount -t tmpfs bench /var/lib
	mount -t bpf bpf /sys/fs/bpf
	mkdir -p /run/netns
}

within() # NAMESPACE COMMAND...
{
	local netns=$1
	shift
	nsenter --net="/run/netns/$netns" "$@"
}

# pair NAMESPACE DEVICE ADDRESS PEER-NAMESPACE PEER-DEVICE PEER-ADDRESS [QUEUES]
pair()
{
	local queues=(numtxqueues "${7:-1}" numrxqueues "${7:-1}")
	ip -n "$1" link add "$2" "${queues[@]}" type veth peer name "$5" "${queues[@]}" netns "$4"
	ip -n "$1" addr add "$3" dev "$2"
	ip -n "$4" addr add "$6" dev "$5"
	within "$1" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 "net.ipv4.conf.$2.rp_filter=0"
	for netns in "$1 $2" "$4 $5"; do
		ip -n "${netns% *}" link set lo up
		ip -n "${netns% *}" link set "${netns#* }" up
	done
}

mac_of() # NAMESPACE DEVICE
{
	ip -n "$1" -j link show "$2" | jq -r '.[0].address'
}

# field NAME LINE: of NAME=VALUE words
field()
{
	tr ' ' '\n' <<<"$2" | sed -n "s/^$1=//p"
}
