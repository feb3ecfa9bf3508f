#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Floods: what two CPUs send at once is counted exactly once, whatever limit meets it; and the benchmark runs, every row of it. No figure is
# judged here: `make bench` does that.
. "$(dirname "$0")/lib.sh"

BENCH=$(realpath "$(dirname "$SYNHOLD")")/bench

# A pair with a queue for each of two CPUs, and a shield with these limits.
two_queues() { # KEY=VALUE...
	CLI=$E2E_NAME-c
	SRV=$E2E_NAME-s
	ip netns add "$CLI"
	ip netns add "$SRV"
	ip -n "$SRV" link add s0 numtxqueues 2 numrxqueues 2 type veth peer name c0 numtxqueues 2 numrxqueues 2 netns "$CLI"
	net_addresses c0 s0
	ip netns exec "$CLI" sh -c 'echo 1 >/sys/class/net/c0/queues/tx-0/xps_cpus; echo 2 >/sys/class/net/c0/queues/tx-1/xps_cpus'
	synhold attach s0 --port "web=$PORT" --mode native action=drop "$@" >/run/e2e/out
}

flood() { # key=value...
	in_cli "$TOOLS/volley" c0 "$(ip -n "$SRV" -j link show s0 | jq -r '.[0].address')" 10.9.0.2 "$PORT" "$@"
}

# Frames that the card's driver gave to the shield.
handed_over() {
	in_srv ethtool -S s0 | awk '/rx_queue_[0-9]+_xdp_packets:/ { n += $2 } END { print n + 0 }'
}

counted_once() { # KEY=VALUE...: limits
	local sent line before
	[ "$(nproc)" -ge 2 ] || skip "one CPU"
	two_queues "$@"
	in_cli sysctl -qw net.ipv6.conf.c0.disable_ipv6=1 # no frames but ours
	before=$(handed_over)
	line=$(flood count="${FLOOD:-100000}" cpus=3)
	sent=$(field sent "$line")
	# a queue that is full when both CPUs are busy elsewhere refuses frames: these were not sent
	assert_ge "$sent" "$((${FLOOD:-100000} / 2))" "frames sent ($line)"
	expect syn.seen="$sent"
	assert_eq "$(($(handed_over) - before))" "$sent" "frames that the driver handed over"
	assert_eq "$(json '.services[0].syn | .admitted + .held + .dropped + .rejected')" "$sent" "SYNs judged"
	assert_ge "$(json '[.services[0].over_limit[]] | add')" "$((sent / 2))" "SYNs over a limit"
}

test_two_cpus_source_rate() {
	counted_once window=none source-rate=1 source-burst=1 rate=1000
	assert_ge "$(value over_limit.service_rate)" 1 "random sources that the service rate refused"
}

test_two_cpus_one_source() {
	local line
	[ "$(nproc)" -ge 2 ] || skip "one CPU"
	two_queues window=none source-rate=1 source-burst=100
	line=$(flood count=50000 cpus=3 sources=1)
	expect syn.seen="$(field sent "$line")"
	# the burst, and one more for each second that it took; copies of what is in flight are not new ones
	assert_ge "$(value handshakes.started)" 100 "SYNs of one source admitted"
	assert_le "$(value handshakes.started)" "$((102 + $(field wall_ns "$line") / 1000000000))" "SYNs of one source admitted"
}

test_two_cpus_window() {
	counted_once window=16
	assert_ge "$(value over_limit.window)" 1 "SYNs that the window refused"
}

test_two_cpus_global_rate() {
	local line
	[ "$(nproc)" -ge 2 ] || skip "one CPU"
	two_queues window=none
	synhold set '*' global-rate=100 >/run/e2e/out
	line=$(flood count=50000 cpus=3)
	expect syn.seen="$(field sent "$line")"
	assert_ge "$(value over_limit.global_rate)" 1 "SYNs that the global rate refused"
}

test_every_row() {
	local status=0 report
	BENCH_REPEAT=2000 BENCH_RUNS=1 BENCH_ROUNDS=200 BENCH_WINDOWS=2 BENCH_WINDOW_MS=200 BENCH_FLOOD_ROUNDS=1 BENCH_FLOOD_SYNS=2000 \
		BUILD=$(dirname "$BENCH") "$E2E_DIR/../bench/run.sh" --json >/run/e2e/report 2>/run/e2e/out || status=$?
	assert_le "$status" 1 "exit status, with $(cat /run/e2e/out)" # 1: a target is missed, as it may be at this size
	report=$(cat /run/e2e/report)
	assert_ge "${#report}" 1000 "bytes of the report, with $(cat /run/e2e/out)"
	assert_eq "$(jq '[.costs[] | select(.ns > 0)] | length' <<<"$report")" 24 "rows of costs"
	assert_eq "$(jq '[.costs[] | select(.ns > 0 and .against != null and .ratio == null)] | length' <<<"$report")" 0 "rows without a ratio"
	assert_eq "$(jq '[.egress[] | select(.packets > 0 and .clock_ns != null)] | length' <<<"$report")" 2 "rows of egress"
	assert_eq "$(jq '.throughput | length' <<<"$report")" 14 "rows of throughput"
	# what is not ours may be missing, with a reason
	assert_eq "$(jq '[.throughput[] | select(.seconds == null and (.missing // "") == "")] | length' <<<"$report")" 0 "rows without figure or reason"
	assert_eq "$(jq '[.throughput[] | select(.single > 0) | .name]
		| contains(["xdp_drop", "source_rate", "service_rate", "global_rate", "window", "lru_hash"])' <<<"$report")" true "our rows are there"
	assert_eq "$(jq '.scaling | .sent > 0 and .sent == .seen and .seen == .judged' <<<"$report")" true "all counted once"
	assert_eq "$(jq '[.targets[] | select(.result == "met" or .result == "missed" or .result == "not measured")] | length' <<<"$report")" 12 "targets"
	jq -e '[.costs[].packet, .throughput[].name] | length == (unique | length)' <<<"$report" >/run/e2e/out || fail "two rows of one name"
}

run_tests "$@"
