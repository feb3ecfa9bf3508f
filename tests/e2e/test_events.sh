#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `synhold events`: what it tells of verdicts, states and offenders, to whom, and that it switches itself off.

. "$(dirname "$0")/lib.sh"

events() { # NAME ARGUMENT...: in the background, until it reads
	local name=$1
	shift
	start "$name" srv "$SYNHOLD" events "$@"
	wait_until 'bpftool -j map dump pinned /sys/fs/bpf/synhold/default/tap | jq -e ".[0].formatted.value.until_ns > 0 or (.[0].value[0:8] | any(. != \"0x00\"))"' 5 "the feed to be on"
}

told() { # NAME TEXT [SECONDS]
	wait_until "grep -q -- '$2' $LOGS/$1.log" "${3:-6}" "'$2' from $1: $(tail -n 3 "$LOGS/$1.log" 2>/dev/null)"
}

verdicts() {
	server
	shield action=drop
	synhold close web
	events feed
	storm clients=2 patience=300 >/run/e2e/out || true
	told feed "web: .* -> .*:$PORT dropped, closed"
	assert_match "$(output feed)" "^20[0-9-]*T[0-9:.]*Z web: " "the stamp"
	synhold open web
	told feed "web: state [a-z]* -> open"
	assert_eq "$(grep -c 'admitted' "$LOGS/feed.log" || true)" 0 "lines about what was let in"
	stop feed
}
both verdicts

test_json_and_follow() {
	net_up
	server
	shield action=drop source-rate=1 source-burst=3
	events feed --json --follow "$NET_A" --for 4s
	storm clients=5 sources=1 patience=300 >/run/e2e/out || true
	told feed '"verdict":"admitted"'
	told feed '"verdict":"dropped","reason":"source_rate"'
	finish feed 8
	jq -es 'length >= 5 and all(.[]; .time and .event)' "$LOGS/feed.log" >/run/e2e/out
}

test_offenders() {
	net_up
	server
	shield action=drop source-rate=1 source-burst=3
	events feed
	pass_time 1.5 # what is there before the first look is not news
	storm clients=60 sources=1 patience=300 >/run/e2e/out || true
	told feed "was refused [0-9]* times for itself" 8
	stop feed
}

# A rate that a flood cannot exceed, and a line that says how much was left out.
test_limited() {
	net_up
	server mode=silent
	shield action=drop
	synhold close web
	events feed --rate 10 --for 5s
	syn count=2000
	finish feed 10
	assert_le "$(grep -c dropped "$LOGS/feed.log")" 200 "lines"
	assert_match "$(output feed)" "[0-9]+ more that are not shown"
}

test_is_refused() {
	net_up
	refused 1 "not attached" synhold events
	synhold attach s0 --port "web=$PORT"
	refused 2 "'nonsense' is not accepted.*accepted: an address" synhold events --follow nonsense
	refused 2 "duration|accepted" synhold events --for 5
	refused 2 "not accepted here" synhold events web
	refused 1 "no service 'nobody'" synhold events --service nobody
	events feed
	refused 1 "process [0-9]+ reads the events already" synhold events
	stop feed KILL
	wait_until 'synhold events --for 100ms' 5 "the lease of a dead reader to end"
}

run_tests "$@"
