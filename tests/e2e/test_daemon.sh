#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon dies, hangs, comes back; and there is only one.
. "$(dirname "$0")/lib.sh"

# 1,000 clients at once on a server that takes 100 a second; the daemon is gone while most of them are held.
herd_and() { # SIGNAL
	server delay_us=8000
	shield window=4
	clients herd clients=1000 patience=8000 retry=200 limit=60000
	expect -q hold.entered\>=900
	before=$(counters)
	kill -"$1" "${PROCESS[shield]}"
	wait_until '[ "$(json .daemon.alive)" = false ]' 4 "the heartbeat to grow stale"
	assert_match "$(ip -n "$SRV" link show s0)" "prog/xdp" "s0 without its daemon"
	expect state=static
}

newcomers() {
	local out
	out=$(storm clients=5 first=5000 patience=900 retry=20 limit=15000)
	expect_line "$out" served=5 corrupt=0
}

killed_while_holding() {
	local before middle
	herd_and KILL
	finish shield 5
	# copies of what was held come, and find nobody to hold them
	expect -q over_limit.fallback\>=1
	newcomers
	not_backwards "$before"
	middle=$(counters)
	shield window=4
	not_backwards "$middle"
	expect -q hold.discarded.daemon_lost\>=1 state=limiting
	finish herd 61
	expect_line "$(output herd)" served=1000 corrupt=0
	expect held=0 inflight=0
	assert_eq "$(json '.services[0].hold | .entered - .released - ([.discarded[]] | add)')" 0 "entered, less what left"
	not_backwards "$middle"
}
both killed_while_holding

stopped_while_holding() {
	local before
	herd_and STOP
	expect -q over_limit.fallback\>=1
	newcomers
	kill -CONT "${PROCESS[shield]}"
	wait_until '[ "$(json .daemon.alive)" = true ]' 3
	not_backwards "$before"
	finish herd 61
	expect_line "$(output herd)" served=1000 corrupt=0
	expect held=0 inflight=0 hold.discarded.daemon_lost=0
}
both stopped_while_holding

test_stopped_generic() {
	net_up
	SHIELD_ARGS="--mode generic" stopped_while_holding
}

link_id() {
	bpftool -j link show pinned "$(echo /sys/fs/bpf/synhold/default/link_*)" | jq .id
}

# SIGTERM leaves the protection in place, and the next one takes it over without a gap.
test_restart_keeps_the_link() {
	local link before
	net_up
	server
	shield action=drop rate=1 burst=3
	expect_line "$(storm clients=5 patience=800)" served=3
	link=$(link_id)
	before=$(counters)
	stop shield
	assert_eq "$STATUS" 0 "exit status of the daemon after SIGTERM"
	expect state=static
	assert_eq "$(json .daemon.pid)" null "daemon.pid without one"
	synhold set web rate=none burst=none share=0% >/run/e2e/out
	daemon shield
	assert_eq "$(link_id)" "$link" "link after the restart"
	not_backwards "$before"
	expect rate=null share_percent=0 syn.seen=5
	expect_line "$(storm clients=20 first=100 patience=800)" timeout=20
	expect syn.seen=25 syn.admitted=3 over_limit.service_rate=2 over_limit.share=20
}

test_detach_on_exit() {
	net_up
	daemon shield s0 --port "web=$PORT" --detach-on-exit
	stop shield
	assert_eq "$STATUS" 0 "exit status"
	assert_eq "$(instances)" "" "instances left"
	no_trace s0
}

test_second_daemon() {
	net_up
	shield
	refused 1 "pid ${PROCESS[shield]}" synhold run s0 --port "web=$PORT"
	refused 1 "pid ${PROCESS[shield]}" synhold run
	assert_eq "$(json .daemon.pid)" "${PROCESS[shield]}" "the daemon"
	# the dead one's file stands in nobody's way
	stop shield KILL
	shield
	assert_eq "$(json .daemon.pid)" "${PROCESS[shield]}" "the new daemon"
}

# Half of what the server can do, and nobody left out for good, while the daemon is dead and twice as much is asked for.
dead() {
	local seconds=${SYNHOLD_E2E_DEAD_SECONDS:-15} out capacity=200
	server delay_us=$((1000000 / capacity))
	shield
	clients before clients=600 patience=30000
	expect -q hold.entered\>=100
	stop shield KILL
	expect -q inflight\>=1
	out=$(storm first=10000 clients=$((seconds * capacity * 2)) rate=$((capacity * 2)) patience=3000 limit=$((seconds * 1000)))
	assert_eq "$(json .daemon.alive)" false "daemon.alive"
	assert_ge "$(field served "$out")" $((seconds * capacity / 2)) "served of $((seconds * capacity)) possible ($out)"
	expect_line "$out" corrupt=0 refused=0
	stop before KILL
	# with the load gone: those that were turned away get in like all others
	expect -t 12 inflight=0
	out=$(storm first=10000 port=40000 clients=400 rate=100 patience=1500 retry=50 limit=20000)
	expect_line "$out" served=400
	expect state=static
}
both dead

PARALLEL=3
run_tests "$@"
