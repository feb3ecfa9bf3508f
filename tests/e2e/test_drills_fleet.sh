#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The drills with other programs around the server: small, and the half with the shield only. With SYNHOLD_DRILLS=full each drill runs
# as its users know it, both halves at full size (five minutes). Each runs in a network of its own, and waits for no other drill's turn.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/lib.sh"

# replay NAME CLIENTS: the report of the drill in $REPORT; its bounds have to hold.
replay() {
	local args=(--only with --clients "$2") status=0
	[ "${SYNHOLD_DRILLS:-}" != full ] || args=()
	unshare -n "$SYNHOLD" drill "$1" "${args[@]}" --json --svg "$LOGS/$1.svg" >"$LOGS/$1.json" 2>"$LOGS/$1.err" || status=$?
	REPORT=$LOGS/$1.json
	assert_eq "$(jq -r '.error.message' "$REPORT")" null "error"
	assert_eq "$status" "$(jq 'if .verdict.passed then 0 else 1 end' "$REPORT")" "exit status"
	# A few clients that a small drill ends with weigh more than they do at full size: how long it took is not asked of it.
	# A single probe that comes late says more of a machine that others use than of the shield: the balancer forgives one, too.
	FREE=ratio ONE=front.probes_lost
	[ "${SYNHOLD_DRILLS:-}" != full ] || FREE='' ONE=''
	assert_eq "$(jq -c --arg free "$FREE" --arg one "$ONE" '[.verdict.judged[]
		| select((.held | not) and .figure != $free and (.figure != $one or .value > 1))]' "$REPORT")" "[]" "broken bounds"
	[ -s "$LOGS/$1.svg" ] || fail "no picture"
	shield_is_judged
}

# A bound that is not there would judge nothing.
shield_is_judged() {
	assert_ge "$(jq '[.verdict.judged[] | select(.run == "with")] | length' "$REPORT")" 3 "judged figures"
	assert_eq "$(jq '.with.served == .with.clients' "$REPORT")" true "all served"
}

judged() { # FIGURE
	jq -r --arg figure "$1" '.verdict.judged[] | select(.run == "with" and .figure == $figure) | "\(.must_be) \(.bound)"' "$REPORT"
}

test_ambra() {
	command -v haproxy >/dev/null || skip "no haproxy"
	replay ambra 3600
	assert_eq "$(judged front.marked_down)" "at most 0"
	assert_eq "$(judged front.probes_lost)" "at most 0"
	assert_eq "$(jq '.with.front.fewest_up' "$REPORT")" 4 "nodes that were up throughout"
	assert_ge "$(jq '.with.front.probes_answered' "$REPORT")" 4 "probes answered"
	assert_eq "$(jq '.with.uploads | [.begun, .cut, .finished] | join(" ")' -r "$REPORT")" "40 0 40" "uploads begun, cut, finished"
	# The slow node had to be shielded for this.
	assert_ge "$(jq '.shield.syn.held' "$REPORT")" 1 "SYNs held"
}

test_kiln() {
	command -v haproxy >/dev/null || skip "no haproxy"
	replay kiln 1600
	assert_eq "$(judged front.probes_lost)" "at most 0"
	assert_ge "$(jq '.with.front.probes_answered' "$REPORT")" 2 "probes answered"
	assert_eq "$(jq -r '[.with.marks[].what] | join(", ")' "$REPORT")" "the job begins, the job ends" "marks"
	assert_ge "$(jq '.shield.held_peak' "$REPORT")" 100 "SYNs held at once"
}

test_confluence() {
	replay confluence 1000
	assert_eq "$(judged failures.refused)" "at most 0"
	assert_eq "$(judged queue.first_second)" "at most 100"
	# All of them came while nothing listened.
	assert_ge "$(jq '.shield.held_peak' "$REPORT")" 900 "SYNs held at once"
}

# Without the shield the same minute refuses those clients: the drill would notice if they were not there to be refused.
test_confluence_without() {
	unshare -n "$SYNHOLD" drill confluence --only without --clients 300 --seconds 4 --json --svg "$LOGS/without.svg" >"$LOGS/report" 2>"$LOGS/err" ||
		fail "status $?: $(cat "$LOGS/err")"
	assert_ge "$(jq '.without.failures.refused' "$LOGS/report")" 300 "attempts refused"
	assert_eq "$(jq '.with' "$LOGS/report")" null
	assert_eq "$(jq '.shield' "$LOGS/report")" null
}

test_options_of_others() {
	local status=0
	"$SYNHOLD" drill ambra --server lazy >"$LOGS/out" 2>"$LOGS/err" || status=$?
	assert_eq "$status" 2 "status of an option that this drill does not have"
	assert_eq "$(wc -l <"$LOGS/err")" 1 "lines on stderr"
	assert_match "$(cat "$LOGS/err")" "--server" "complaint"
}

run_tests "$@"
