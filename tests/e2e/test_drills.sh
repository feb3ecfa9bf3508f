#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The incident drills, each in a small version: that they run to their end, say what they found in the form that scripts read, and leave
# nothing behind. What their figures are is for the drills at full size. Each runs in a network of its own, so that it waits for no
# other drill's turn: nothing here depends on a quiet machine.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/drill.sh"

SMALL="--rtt 0 --patience 2s --seconds 4"

# Exit status, verdict and what was judged say the same.
verdict_agrees() {
	assert_eq "$(jq '.error' <<<"$OBJECT")" null "error of the drill"
	assert_eq "$(jq -r '.verdict.passed == ([.verdict.judged[].held] | all)' <<<"$OBJECT")" true "verdict as judged"
	assert_eq "$STATUS" "$(jq -r 'if .verdict.passed then 0 else 1 end' <<<"$OBJECT")" "exit status ($(jq -c .verdict.reason <<<"$OBJECT"))"
	assert_ge "$(jq '.verdict.judged | length' <<<"$OBJECT")" 6 "figures that were judged"
	assert_match "$(head -c 200 /run/e2e/drill.svg)" '^<svg ' "the picture"
	report_is_whole
}

# The page has curves, every figure of the table and what the shield said, and asks no network for anything.
report_is_whole() {
	local page=/run/e2e/drill.html rows
	assert_eq "$(jq -r .html <<<"$OBJECT")" "$page" "where the report is"
	assert_match "$(head -n 1 "$page")" '^<!doctype html>' "the report"
	assert_eq "$(tail -n 1 "$page")" "</body></html>" "the end of the report"
	assert_eq "$(sed 's|xmlns="http://www.w3.org/2000/svg"||' "$page" | grep -cE 'https?:|src=|url\(|@import|<script|<link' || true)" 0 "references"
	assert_ge "$(grep -c '<polyline ' "$page")" "$(jq '[.without, .with, .ramp | values] | length' <<<"$OBJECT")" "curves"
	rows=$(sed -n '/<h2>Figures/,/<\/table>/p' "$page" | grep -c '^<tr><td')
	assert_ge "$rows" 8 "figures"
	if [ "$(jq .with <<<"$OBJECT")" != null ]; then
		assert_ge "$(sed -n '/with the shield<\/h2>/,/<\/table>/p' "$page" | grep -c 'web: \|storm: \| ready')" 1 "what the shield said"
	fi
}

# of RUN FILTER VALUE: a value of a run
of() {
	assert_eq "$(jq -c ".$1 | $2" <<<"$OBJECT")" "$3" "$2 of the run '$1' ($(tail -n 3 /run/e2e/drill.err | tr '\n' ' '))"
}

# The processes that have begun since the test did, but for those of the test itself.
drill_processes() {
	pgrep -x 'synhold|server|clients|witness|delay line|supervisor|health checker|probe|haproxy|nginx' || true
}

nothing_left() {
	wait_until '[ -z "$(drill_processes)" ]' 5 "the drill's processes to end"
	assert_eq "$(find /sys/fs/bpf /run/synhold /var/lib/synhold -mindepth 1 -not -name '*.debug' 2>/dev/null || true)" "" "what the drill left in the file systems"
	assert_eq "$(ip netns list | grep drill || true)" "" "named networks"
}

test_herd() {
	# shellcheck disable=SC2086 # words
	drill trello --drop 100% --clients 1500 --cost 1ms $SMALL
	verdict_agrees
	of with .served 1500
	of with .witness.broken false
	of with .failures.cut_off 0
	of with '.curves.served.value[-1]' 1500
	of with '.curves.held.value | length > 0' true
	of without '.curves | has("held")' false
	of ramp . null
	assert_eq "$(jq -r '.shield.handshakes | .started >= 1500' <<<"$OBJECT")" true "handshakes that the shield counted"
	assert_eq "$(jq -c '.parameters | [.clients, .dropped]' <<<"$OBJECT")" "[1500,1500]" parameters
	assert_eq "$(jq -r .capacity.per_second <<<"$OBJECT" | awk '{ print ($1 > 50 && $1 < 1000) }')" 1 "capacity at 1 ms each"
	nothing_left
}

test_trello_all_runs() {
	# shellcheck disable=SC2086 # words
	drill trello --clients 300 --cost 1ms $SMALL
	verdict_agrees
	assert_eq "$(jq -c '.parameters | [.clients, .dropped]' <<<"$OBJECT")" "[300,100]" parameters
	for run in without with ramp; do
		of "$run" .clients 100
		of "$run" '.others | has("messages") and has("late") and has("p99_seconds")' true
		of "$run" .others.cut_off 0
	done
	of with .served 100
	of ramp .served 100
	of ramp '[.marks[].what]' '["shield attached","ramp begins"]'
	of ramp '.ramp | has("ratio")' true
	nothing_left
}

test_twingate() {
	# shellcheck disable=SC2086 # words
	drill twingate --clients 2200 --cost 1ms $SMALL --seconds 8
	verdict_agrees
	of with .served 2200
	of with .controller.restarts 0
	of with .probes.lost 0
	of with '.probes.sent > 0' true
	of without '.curves.restarts.value | length > 0' true
	nothing_left
}

# One run only: the others are null, and what they would have shown is not judged.
test_only() {
	# shellcheck disable=SC2086 # words
	drill trello --drop 50% --clients 100 --cost 1ms --only with $SMALL
	verdict_agrees
	of without . null
	of ramp . null
	assert_eq "$(jq -c '[.verdict.judged[].run] | unique' <<<"$OBJECT")" '["with"]' "runs that were judged"
	nothing_left
}

interrupted_by() { # SIGNAL
	local pid
	# a shell lets what it starts in the background ignore SIGINT
	unshare -n env --default-signal=INT "$SYNHOLD" drill twingate --clients 400 --json --svg /run/e2e/drill.svg >/run/e2e/drill.json 2>/run/e2e/drill.err &
	pid=$!
	wait_until 'pgrep -x supervisor' 10 "the drill to begin"
	wait_until 'pgrep -x probe' 10 "the capacity to be measured"
	kill -"$1" "$pid"
	STATUS=0
	wait "$pid" || STATUS=$?
	assert_eq "$STATUS" 1 "exit status"
	assert_eq "$(jq -r .error.code /run/e2e/drill.json)" EINTR "code of the error"
	assert_match "$(tail -n 1 /run/e2e/drill.err)" 'interrupted, nothing is left behind' "message"
	nothing_left
}

test_interrupted() {
	interrupted_by INT
	interrupted_by TERM
}

# Killed, it cannot clear up: the kernel does.
test_killed() {
	local pid
	unshare -n "$SYNHOLD" drill trello --drop 100% --only with --clients 200 --svg /run/e2e/drill.svg >/run/e2e/drill.out 2>&1 &
	pid=$!
	wait_until 'pgrep -x probe' 10 "the drill to begin"
	kill -KILL "$pid"
	wait "$pid" || true
	nothing_left
}

test_refused_options() {
	net_up
	refused 2 'no such option' "$SYNHOLD" drill twingate --drop 10%
	refused 2 'no such run' "$SYNHOLD" drill twingate --only ramp
	refused 2 'percentage' "$SYNHOLD" drill trello --drop 0%
	refused 2 'no drill of that name' "$SYNHOLD" drill nosuch
	refused 1 'cannot write' "$SYNHOLD" drill twingate --svg /proc/x/y.svg
}

run_tests "$@"
