#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a refused SYN costs over veth, here and with others: rivals.sh [ROUNDS] [SYNS], JSON rows on stdout. Root. Each rival has a network
# namespace of its own with one end of a pair; they are flooded in turn, ROUNDS times, with SYNs of random sources, and the least of each
# counts: CPU seconds per million SYNs, `seconds` of a thread that polls the device and finds 64 of them at a time, as the driver of a card
# does under a flood; `single` of sender and receiver when each SYN is received before the next is sent. `net` and `single_net` are that
# less a bare drop at the same hook.
# What cannot be had (a program that is not installed, a kernel without it) has a row that says why.
set -euo pipefail

cd "$(dirname "$0")/../.."
. tests/bench/nets.sh
private_mounts "$@"
ROUNDS=${2:-5} SYNS=${3:-400000}
ip netns add flood

# name, the bare drop of its hook, what it is
rivals="
	xdp_drop        -           XDP program that parses and drops
	source_rate     xdp_drop    synhold: source and service rate, random sources
	service_rate    xdp_drop    synhold: service rate
	global_rate     xdp_drop    synhold: global rate
	window          xdp_drop    synhold: window full
	lru_hash        xdp_drop    XDP program with an LRU hash of sources
	xdp_filter      xdp_drop    xdp-filter: port denied
	netdev_drop     -           nft netdev: drop
	netdev_limit    netdev_drop nft netdev: limit
	inet_drop       -           nft inet: drop before routing
	inet_limit      inet_drop   nft inet: limit
	inet_set        inet_drop   nft inet: dynamic set, limit of each source
	hashlimit       inet_drop   iptables hashlimit of each source
	synproxy        inet_drop   iptables SYNPROXY
"

inside()
{
	within "$name" "$@"
}

shield() # KEY=VALUE...
{
	SYNHOLD_INSTANCE=$name inside "$SYNHOLD" attach "$dev" --port web=8000 --mode native action=drop "$@"
}

program()
{
	inside ip link set dev "$dev" xdpdrv pinned "/sys/fs/bpf/bare/$1"
}

table() # FAMILY CHAIN RULES
{
	inside nft -f - <<<"table $1 bench {
		set sources { type ipv4_addr; size 4194304; flags dynamic,timeout; timeout 10s; }
		chain bench {
			$2; policy accept;
			$3
		}
	}"
}
ingress() { echo "type filter hook ingress device $dev priority 0"; }
before='type filter hook prerouting priority -300'

set_up_xdp_drop() { program bare_drop; }
set_up_source_rate() { shield window=none source-rate=1 source-burst=1 rate=1 burst=1; }
set_up_service_rate() { shield window=none rate=1 burst=1; }
set_up_global_rate() { shield window=none && SYNHOLD_INSTANCE=$name inside "$SYNHOLD" set '*' global-rate=1 global-burst=1; }
set_up_window() { shield window=1; }
set_up_lru_hash() { program lru_drop; }
set_up_xdp_filter() { inside xdp-filter load "$dev" --mode native -f tcp && inside xdp-filter port 8000 --mode dst --proto tcp; }
set_up_netdev_drop() { table netdev "$(ingress)" 'tcp dport 8000 drop'; }
set_up_netdev_limit() { table netdev "$(ingress)" 'tcp dport 8000 limit rate over 1/second burst 1 packets drop'; }
set_up_inet_drop() { table inet "$before" 'tcp dport 8000 drop'; }
set_up_inet_limit() { table inet "$before" 'tcp dport 8000 limit rate over 1/second burst 1 packets drop'; }
set_up_inet_set()
{
	table inet "$before" 'tcp dport 8000 update @sources { ip saddr limit rate over 1/second burst 1 packets } drop
		tcp dport 8000 drop'
}
set_up_hashlimit()
{
	local rule=(iptables -t raw -A PREROUTING -p tcp --dport 8000 --syn)
	inside "${rule[@]}" -m hashlimit --hashlimit-above 1/sec --hashlimit-burst 1 --hashlimit-mode srcip --hashlimit-name bench \
		--hashlimit-htable-size 1048576 --hashlimit-htable-max 4194304 --hashlimit-htable-expire 10000 -j DROP &&
		inside "${rule[@]}" -j DROP
}
set_up_synproxy()
{
	# cookies, or nothing is answered; the answers end in a device that swallows them
	inside sysctl -qw net.ipv4.tcp_syncookies=2 && inside sysctl -qw net.netfilter.nf_conntrack_tcp_loose=0 &&
		inside iptables -t raw -A PREROUTING -p tcp --dport 8000 --syn -j CT --notrack &&
		inside iptables -A INPUT -p tcp --dport 8000 -m conntrack --ctstate INVALID,UNTRACKED -j SYNPROXY --mss 1460 --wscale 7 --sack-perm
}

# A namespace with an end sN of a pair whose other end is cN in `flood`, and a way for answers to be gone.
place()
{
	ip netns add "$name"
	pair "$name" "$dev" 10.9.0.2/24 flood "c$number" "10.9.$number.1/32"
	ip -n "$name" link add void type veth peer name nobody # which stays down
	ip -n "$name" link set void arp off
	ip -n "$name" link set void up
	ip -n "$name" route add default dev void
}

mkdir /sys/fs/bpf/bare
bpftool prog loadall "$BUILD/bench/bench.bpf.o" /sys/fs/bpf/bare >&2

declare -A number_of=() mac=() missing=() single=() batch=()
number=0
while read -r name _; do
	[ -n "$name" ] || continue
	number=$((number + 1))
	dev=s$number
	place
	number_of[$name]=$number
	mac[$name]=$(mac_of "$name" "$dev")
	if ! "set_up_$name" >/run/out 2>&1; then
		missing[$name]=$(grep -v '^$' /run/out | head -n 1 | cut -c 1-120)
	fi
done <<<"$rivals"

volley() # KEY=VALUE...
{
	# the last CPU: interrupts of a small machine like the first
	within flood "$BUILD/tests/e2e/volley" "c${number_of[$name]}" "${mac[$name]}" 10.9.0.2 8000 count="$SYNS" \
		cpus=$((1 << ($(nproc) - 1))) "$@"
}

# least ARRAY NANOSECONDS SENT: microseconds a SYN, if it is the least so far
least()
{
	local -n figure=$1
	# shellcheck disable=SC2004 # the name is a key
	figure[$name]=$(awk -v ns="$2" -v n="$3" -v least="${figure[$name]-}" \
		'BEGIN { us = ns / n / 1000; printf "%.4f", least == "" || us < least ? us : least }')
}

for round in $(seq "$ROUNDS"); do
	while read -r name _; do
		if [ -z "$name" ] || [ -n "${missing[$name]+1}" ]; then
			continue
		fi
		line=$(volley)
		least single $(($(field cpu_ns "$line") + $(field receiver_ns "$line"))) "$(field sent "$line")"
	done <<<"$rivals"
done

# From here on a thread of the kernel polls each device. One without an XDP program is polled at all only with GRO, and its
# peer without segmentation.
while read -r name _; do
	if [ -z "$name" ] || [ -n "${missing[$name]+1}" ]; then
		continue
	fi
	inside ethtool -K "s${number_of[$name]}" gro on
	within flood ethtool -K "c${number_of[$name]}" tso off
	ip netns exec "$name" sh -c "echo 1 >/sys/class/net/s${number_of[$name]}/threaded"
done <<<"$rivals"
batches=$ROUNDS
pgrep -f '^\[?napi/' >/dev/null || batches=0 # in a PID namespace of its own nobody sees the kernel's threads
for round in $(seq "$batches"); do
	while read -r name _; do
		if [ -z "$name" ] || [ -n "${missing[$name]+1}" ]; then
			continue
		fi
		if [ "$name" = window ]; then
			continue # nothing answers here: a window whose slots only expire is suspended before this is over
		fi
		line=$(volley napi="napi/s${number_of[$name]}-" pause_us=400)
		if [ "$(field refused "$line")" != 0 ]; then
			echo "rivals: $name: the ring was full" >&2
		fi
		least batch "$(field receiver_ns "$line")" "$(field sent "$line")"
	done <<<"$rivals"
done

for name in source_rate service_rate global_rate window; do
	[ -n "${missing[$name]+1}" ] || SYNHOLD_INSTANCE=$name inside "$SYNHOLD" detach --all >&2
done

while read -r name base what; do
	[ -n "$name" ] || continue
	jq -n --arg name "$name" --arg what "$what" --arg base "$base" --arg us "${batch[$name]-}" --arg base_us "${batch[$base]-}" \
		--arg single "${single[$name]-}" --arg base_single "${single[$base]-}" --arg missing "${missing[$name]-}" \
		'{name: $name, what: $what}
		+ if $single != "" then {single: ($single | tonumber)} else {missing: $missing} end
		+ if $us != "" then {seconds: ($us | tonumber)} elif $single != "" then {missing: "not measured in batches"} else {} end
		+ if $base_us == "" or $us == "" then {} else {base: $base, net: (($us | tonumber) - ($base_us | tonumber)),
			single_net: (($single | tonumber) - ($base_single | tonumber))} end'
done <<<"$rivals" | jq -s .
