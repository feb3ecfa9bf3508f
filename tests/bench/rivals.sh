#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a refused SYN costs over veth, here and with others: rivals.sh [ROUNDS] [SYNS], JSON rows on stdout. Root. Each rival has a network
# namespace of its own with one end of a pair; they are flooded in turn, ROUNDS times, with SYNs of random sources, and the least of each
# counts: CPU seconds per million SYNs, of the sender and of the softirqs it causes. `net` is that less a bare drop at the same hook.
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
	SYNHOLD_INSTANCE=$name inside "$SYNHOLD" attach s0 --port web=8000 --mode native action=drop "$@"
}

program()
{
	inside ip link set dev s0 xdpdrv pinned "/sys/fs/bpf/bare/$1"
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
ingress='type filter hook ingress device s0 priority 0'
before='type filter hook prerouting priority -300'

set_up_xdp_drop() { program bare_drop; }
set_up_source_rate() { shield window=none source-rate=1 source-burst=1 rate=1 burst=1; }
set_up_service_rate() { shield window=none rate=1 burst=1; }
set_up_global_rate() { shield window=none && SYNHOLD_INSTANCE=$name inside "$SYNHOLD" set '*' global-rate=1 global-burst=1; }
set_up_window() { shield window=1; }
set_up_lru_hash() { program lru_drop; }
set_up_xdp_filter() { inside xdp-filter load s0 --mode native -f tcp && inside xdp-filter port 8000 --mode dst --proto tcp; }
set_up_netdev_drop() { table netdev "$ingress" 'tcp dport 8000 drop'; }
set_up_netdev_limit() { table netdev "$ingress" 'tcp dport 8000 limit rate over 1/second burst 1 packets drop'; }
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

# A namespace with an end s0 of a pair whose other end is cN in `flood`, and a way for answers to be gone.
place()
{
	ip netns add "$name"
	pair "$name" s0 10.9.0.2/24 flood "c$number" "10.9.$number.1/32"
	ip -n "$name" link add void type veth peer name nobody # which stays down
	ip -n "$name" link set void arp off
	ip -n "$name" link set void up
	ip -n "$name" route add default dev void
}

mkdir /sys/fs/bpf/bare
bpftool prog loadall "$BUILD/bench/bench.bpf.o" /sys/fs/bpf/bare >&2

declare -A number_of=() mac=() missing=() least=()
number=0
while read -r name _; do
	[ -n "$name" ] || continue
	number=$((number + 1))
	place
	number_of[$name]=$number
	mac[$name]=$(mac_of "$name" s0)
	if ! "set_up_$name" >/run/out 2>&1; then
		missing[$name]=$(grep -v '^$' /run/out | head -n 1 | cut -c 1-120)
	fi
done <<<"$rivals"

for round in $(seq "$ROUNDS"); do
	while read -r name _; do
		if [ -z "$name" ] || [ -n "${missing[$name]+1}" ]; then
			continue
		fi
		# the last CPU: interrupts of a small machine like the first
		line=$(within flood "$BUILD/tests/e2e/volley" "c${number_of[$name]}" "${mac[$name]}" 10.9.0.2 8000 \
			count="$SYNS" cpus=$((1 << ($(nproc) - 1))))
		us=$(awk -v a="$(field cpu_ns "$line")" -v b="$(field softirq_ns "$line")" -v n="$(field sent "$line")" \
			'BEGIN { printf "%.4f", (a + b) / n / 1000 }')
		if [ "$round" = 1 ] || awk -v a="$us" -v b="${least[$name]}" 'BEGIN { exit !(a < b) }'; then
			least[$name]=$us
		fi
	done <<<"$rivals"
done

for name in source_rate service_rate global_rate window; do
	[ -n "${missing[$name]+1}" ] || SYNHOLD_INSTANCE=$name inside "$SYNHOLD" detach --all >&2
done

while read -r name base what; do
	[ -n "$name" ] || continue
	jq -n --arg name "$name" --arg what "$what" --arg base "$base" --arg us "${least[$name]-}" --arg base_us "${least[$base]-}" \
		--arg missing "${missing[$name]-}" '{name: $name, what: $what}
		+ if $us == "" then {missing: $missing} else {seconds: ($us | tonumber)} end
		+ if $base_us == "" or $us == "" then {} else {base: $base, net: (($us | tonumber) - ($base_us | tonumber))} end'
done <<<"$rivals" | jq -s .
