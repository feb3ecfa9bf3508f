#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The drill with its rivals, small: that each of them really stood in the way, that the report has them all, and that one that is
# missing is said to be. Which of them is better is for the drill at full size.
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/drill.sh"

SMALL="--drop 100% --clients 400 --cost 1ms --rtt 0 --patience 2s --seconds 1"

# compare OPTION...: as `drill`
compare() {
	# shellcheck disable=SC2086 # words
	drill $SMALL --compare "$@"
}

of() { # FILTER VALUE
	assert_eq "$(jq -c "$1" <<<"$OBJECT")" "$2" "$1 ($(tail -n 3 /run/e2e/drill.err | tr '\n' ' '))"
}

nothing_left() {
	wait_until '! pgrep -x "synhold|server|clients|witness|delay line|haproxy" >/dev/null' 5 "the drill's processes to end"
	assert_eq "$(ip netns list | grep drill || true)" "" "named networks"
	assert_eq "$(nft list ruleset | grep -c drill || true)" 0 "rules outside the drill's networks"
}

# hide PROGRAM...: not to be run in this test's mounts
hide() {
	local name
	for name; do
		mount --bind /dev/null "$(command -v "$name")"
	done
}

test_each_stands_in_the_way() {
	compare
	of .error null
	assert_eq "$STATUS" "$(jq -r 'if .verdict.passed then 0 else 1 end' <<<"$OBJECT")" "exit status"
	of '.compared | keys' '["haproxy","hashlimit","nftables","synproxy"]'
	of '.compared | [.nftables, .hashlimit, .synproxy, .haproxy | .tried | length]' '[4,5,1,4]'
	# four times the burst came at once, so the tightest limits must have dropped
	of '[.compared | .nftables, .hashlimit | .tried[0].hits > 50] | all' true
	of '.compared.synproxy.tried[0].hits >= 400' true
	of '[.compared.haproxy.tried[1,2].hits >= 400] | all' true
	of '.compared.haproxy.tried[0].served == 64' true
	of '[.compared[] | .served as $best | .tried[].served <= $best] | all' true
	of '[.compared[].setting | length > 10] | all' true
	of '[.verdict.judged[].run] - ["with", "without"]' '[]'
	assert_ge "$(sed -n '/<h2>Compared/,/<\/table>/p' /run/e2e/drill.html | grep -c '^<tr><td')" 6 "rows of the page"
	nothing_left
}

test_missing_programs_are_named() {
	hide nft iptables haproxy
	compare
	of .error null
	of '[.compared[].absent | contains("is not installed; install ")] | all' true
	assert_match "$(grep -c 'is not installed' /run/e2e/drill.html)" '^[1-9]' "rows of the page that say so"
	compare --only haproxy
	assert_eq "$STATUS" 1 "exit status with nothing to run"
	of .error.message '"drill: haproxy is not installed; install haproxy"'
}

test_killed_between_rules() {
	local pid
	# shellcheck disable=SC2086 # words
	unshare -n "$SYNHOLD" drill $SMALL --seconds 30 --compare --only haproxy --svg /run/e2e/drill.svg >/run/e2e/drill.out 2>&1 &
	pid=$!
	wait_until 'pgrep -x haproxy' 20 "the rival to begin"
	kill -KILL "$pid"
	wait "$pid" || true
	nothing_left
}

test_refused() {
	net_up
	refused 2 'no such option' "$SYNHOLD" drill kiln --compare
	refused 2 'no such run' "$SYNHOLD" drill --only haproxy
	refused 2 'not together' "$SYNHOLD" drill --compare --attach-at 3s
	refused 2 'haproxy' "$SYNHOLD" drill --compare --only pf
}

run_tests "$@"
