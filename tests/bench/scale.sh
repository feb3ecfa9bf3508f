#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two CPUs flood one shield over a veth pair with a queue for each: whether every SYN was counted once, and how many times one CPU's
# throughput the two have. scale.sh [ROUNDS] [SYNS-OF-A-CPU], JSON on stdout. Root. Throughput is frames per CPU second spent, so that
# what else the machine does is left out; `wall` is by the clock on the wall. The best of the rounds counts.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/nets.sh
private_mounts "$@"
ROUNDS=${2:-5} SYNS=${3:-400000}

ip netns add flood
ip netns add shield
pair shield s0 10.9.0.2/24 flood c0 10.9.0.1/24 2
# each CPU has its queue: with one for both they would wait for each other
ip netns exec flood sh -c 'echo 1 >/sys/class/net/c0/queues/tx-0/xps_cpus; echo 2 >/sys/class/net/c0/queues/tx-1/xps_cpus'
within shield "$SYNHOLD" attach s0 --port web=8000 --mode native action=drop window=none source-rate=1 source-burst=1 rate=1000 >&2
mac=$(mac_of shield s0)

flood() # CPUS: sets the sum of frames, CPU and wall time per frame of one CPU, in ns
{
	local line
	line=$(within flood "$BUILD/tests/e2e/volley" c0 "$mac" 10.9.0.2 8000 count="$SYNS" cpus="$1")
	sent=$((sent + $(field sent "$line")))
	cpu_ns=$((($(field cpu_ns "$line") + $(field receiver_ns "$line")) * 1000 / $(field sent "$line")))
	wall_ns=$(($(field wall_ns "$line") * 1000 / $(field sent "$line")))
}

sent=0 one=0 two=0 one_wall=0 two_wall=0
for _ in $(seq "$ROUNDS"); do
	flood 1
	[ "$one" != 0 ] && [ "$one" -le "$cpu_ns" ] || one=$cpu_ns
	[ "$one_wall" != 0 ] && [ "$one_wall" -le "$wall_ns" ] || one_wall=$wall_ns
	flood 3
	[ "$two" != 0 ] && [ "$two" -le "$cpu_ns" ] || two=$cpu_ns
	[ "$two_wall" != 0 ] && [ "$two_wall" -le "$wall_ns" ] || two_wall=$wall_ns
done
handed=$(within shield ethtool -S s0 | awk '/rx_queue_[0-9]+_xdp_packets:/ { n += $2 } END { print n + 0 }')
within shield "$SYNHOLD" status --json | jq --argjson sent "$sent" --argjson handed "$handed" --argjson one "$one" --argjson two "$two" \
	--argjson one_wall "$one_wall" --argjson two_wall "$two_wall" '.services[0].syn as $s
	| {sent: $sent, handed_over: $handed, seen: $s.seen, judged: ($s.admitted + $s.held + $s.dropped + $s.rejected),
	   admitted: $s.admitted, one_cpu_ns: ($one / 1000), two_cpus_ns: ($two / 1000), times: (2 * $one / $two), wall: ($one_wall / $two_wall)}'
within shield "$SYNHOLD" detach --all >&2
