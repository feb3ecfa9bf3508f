#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the egress program costs on bulk flows over veth, by the kernel's run-time statistics beside an empty program and one clock read that
# see the same packets: a flow of a local socket, and one that is forwarded from a server behind. JSON rows on stdout. Root.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/nets.sh
private_mounts "$@"

seconds=$((${BENCH_WINDOWS:-12} * ${BENCH_WINDOW_MS:-250} / 1000 + 3)) # of a flow: longer than its windows
for netns in out mid in; do
	ip netns add "$netns"
done
pair mid s0 10.9.0.2/24 out c0 10.9.0.1/24
pair mid s1 10.7.0.1/24 in c1 10.7.0.2/24
within mid sysctl -qw net.ipv4.ip_forward=1
ip -n out route add 10.7.0.0/24 via 10.9.0.2
ip -n in route add default via 10.7.0.1
within mid "$SYNHOLD" attach s0 --port web=8000 >&2
program=$(within mid tc filter show dev s0 egress | grep synhold_egress | grep -o ' id [0-9]*' | grep -o '[0-9]*' | head -n 1)

flow() # WHERE ADDRESS NAME
{
	local server client
	within "$1" timeout 60 "$BUILD/bench/bulk" serve 8000 >/run/server &
	server=$!
	until grep -q ready /run/server; do
		kill -0 "$server"
		sleep 0.02
	done
	within out "$BUILD/bench/bulk" take "$2" 8000 "$seconds" >/run/client &
	client=$!
	within mid "$BUILD/bench/bench" live "$BUILD/bench/bench.bpf.o" s0 "$program" |
		jq -c --arg name "$3" '{name: $name} + . + {ratio: (.ns / .clock_ns)}'
	wait "$client" "$server"
}

{
	flow mid 10.9.0.2 "bulk flow of a local socket"
	flow in 10.7.0.2 "forwarded bulk flow"
} | jq -s .
within mid "$SYNHOLD" detach --all >&2
