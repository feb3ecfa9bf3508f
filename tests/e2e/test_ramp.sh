#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ramps: who is in stays in, the levers, the daemon's death, pressure.
. "$(dirname "$0")/lib.sh"

share() {
	value share_percent
}

# in_now FILE: the numbers of those of 400 clients that get in now, one a line; the others are refused at once
in_now() {
	in_cli "$TOOLS/who" "$DST" "$PORT" clients=400 wait=1000 >/run/e2e/who
	tail -n 1 /run/e2e/who >/run/e2e/who.sum
	sed '$d' /run/e2e/who | sort >"$1"
	expect_line "$(cat /run/e2e/who.sum)" lost=0
}

count_in() {
	wc -l <"$1"
}

# Every line of the first is in the second.
assert_subset() {
	local more
	more=$(comm -23 "$1" "$2" | wc -l)
	assert_eq "$more" 0 "clients of $1 that are not in $2"
}

ramp_moves() {
	local before
	server
	shield action=reject window=none
	in_now /run/e2e/all
	assert_eq "$(count_in /run/e2e/all)" 400 "clients without a ramp"

	assert_match "$(synhold ramp web --from 20% --to 80% --over 12s)" "^web: from 20% to 80% of the sources over 12s$"
	assert_ge "$(share)" 20 "share at the start"
	assert_le "$(share)" 27 "share at the start"
	assert_eq "$(value state)" ramping state
	in_now /run/e2e/a
	assert_ge "$(count_in /run/e2e/a)" 50 "clients let in at the start"
	assert_le "$(count_in /run/e2e/a)" 150 "clients let in at the start"

	wait_until 'number_holds "$(share)" ">=" 35' 8
	assert_match "$(synhold ramp web pause)" "^web: the ramp is paused at [34][0-9.]*%"
	before=$(share)
	in_now /run/e2e/b
	assert_subset /run/e2e/a /run/e2e/b
	assert_ge "$(count_in /run/e2e/b)" "$(($(count_in /run/e2e/a) + 10))" "clients let in later"
	pass_time 0.5
	assert_eq "$(share)" "$before" "the share while paused"
	in_now /run/e2e/b2
	assert_eq "$(cat /run/e2e/b2)" "$(cat /run/e2e/b)" "clients let in while paused"
	assert_eq "$(value ramp.paused)" true ramp.paused

	assert_match "$(synhold ramp web resume)" "^web: the ramp goes from [34][0-9.]*% to 80% in [0-9.]* s$"
	wait_until 'number_holds "$(share)" ">=" 55' 8
	assert_match "$(synhold ramp web reverse)" "^web: the ramp goes from [56][0-9.]*% to 20% in [0-9.]* s$"
	in_now /run/e2e/c
	assert_subset /run/e2e/b /run/e2e/c
	wait_until 'number_holds "$(share)" "<=" 40' 8
	in_now /run/e2e/d
	assert_subset /run/e2e/d /run/e2e/c
	wait_until 'number_holds "$(share)" "==" 20' 10
	wait_until '[ "$(value state)" != ramping ]' 2
	in_now /run/e2e/e
	assert_subset /run/e2e/e /run/e2e/a

	assert_match "$(synhold ramp web cancel)" "^web: the ramp has ended; the share is 100.0%"
	assert_ge "$(share)" 100 "share without a ramp"
	in_now /run/e2e/all
	assert_eq "$(count_in /run/e2e/all)" 400 "clients after the ramp"
}
both ramp_moves

# What waits outside the share is held, and let in as the share grows.
test_ramp_releases_the_held() {
	net_up
	server
	shield window=none
	synhold ramp web --from 5% --to 100% --over 5s >/run/e2e/out
	clients herd clients=200 patience=12000
	expect held\>=20
	finish herd 12
	expect_line "$(output herd)" served=200 refused=0 timeout=0
	assert_ge "$(field longest_ms "$(output herd)")" 2500 "ms that the last one waited"
}

# Closed counts more than the share: whoever starts a ramp behind a closed door is told.
test_ramp_says_that_it_is_closed() {
	net_up
	server
	shield window=none
	synhold close web >/dev/null
	assert_match "$(synhold ramp web --from 1% --to 100% --over 30s)" "it is closed, and nobody comes in before synhold open web$"
	assert_eq "$(synhold ramp web pause --json | jq .closed)" true "closed in the JSON"
	synhold open web >/dev/null
	assert_eq "$(synhold ramp web resume --json | jq .closed)" false "closed in the JSON"
	[[ $(synhold ramp web reverse) != *closed* ]] || fail "an open service is called closed"
}

test_ramp_survives_the_daemon() {
	local before
	net_up
	server
	shield action=reject window=none
	synhold ramp web --from 10% --to 90% --over 20s >/run/e2e/out
	wait_until 'number_holds "$(share)" ">=" 15' 5
	stop shield KILL
	wait_until '[ "$(value state)" = static ]' 3
	before=$(share)
	in_now /run/e2e/a
	pass_time 0.5
	assert_eq "$(share)" "$before" "share without a daemon"
	in_now /run/e2e/a2
	assert_eq "$(cat /run/e2e/a2)" "$(cat /run/e2e/a)" "clients let in without a daemon"
	shield_again
	wait_until 'number_holds "$(share)" ">" '"$before" 3 "the ramp to go on"
	assert_le "$(share)" 60 "share after the restart"
	assert_eq "$(value state)" ramping state
	in_now /run/e2e/b
	assert_subset /run/e2e/a /run/e2e/b

	# with a dead daemon the levers still work, and say what that means
	stop shield KILL
	wait_until '[ "$(value state)" = static ]' 3
	assert_match "$(synhold ramp web pause)" "paused at .*; there is no daemon: the share stands still at [0-9.]*% until one runs"
	before=$(share)
	shield_again
	pass_time 0.5
	assert_eq "$(value ramp.paused)" true "ramp.paused after a restart"
	assert_ge "$(share)" "$before" "share after a restart, paused"
}

# The sources that would have come in bit by bit while there was no daemon do not come all at once with the next one.
test_ramp_goes_on_where_it_stood() {
	local before
	net_up
	server
	shield window=none
	synhold ramp web --from 10% --to 90% --over 20s >/run/e2e/out
	wait_until 'number_holds "$(share)" ">=" 12' 5
	stop shield
	before=$(share)
	assert_match "$(output shield)" "web: without a daemon its ramp stands still, at [0-9.]+%; the next synhold run goes on from there"
	assert_match "$(synhold status)" "web: share in force [0-9.]+% of the sources, ramp stands still without a daemon; synhold run goes on"
	pass_time 6 # its clock says 24% more
	assert_eq "$(share)" "$before" "share without a daemon"
	shield_again
	assert_le "$(share)" "$(awk "BEGIN { print $before + 14 }")" "share right after the restart"
	wait_until 'number_holds "$(share)" ">" '"$before" 3 "the ramp to go on"

	# levers without a daemon reckon from there, too
	stop shield KILL
	wait_until '[ "$(value state)" = static ]' 3
	before=$(share)
	pass_time 3
	assert_match "$(synhold ramp web pause)" "paused at .*; there is no daemon"
	shield_again
	pass_time 0.3
	assert_le "$(share)" "$(awk "BEGIN { print $before + 1 }")" "share of a ramp paused without a daemon"
}

test_ramp_has_come_to_its_end() {
	net_up
	shield window=none
	synhold ramp web --from 10% --to 20% --over 100ms >/run/e2e/out
	wait_until '[ "$(share)" = 20 ]' 3
	refused 1 "has come to its end.*reverse" synhold ramp web pause
	refused 1 "has come to its end.*reverse" synhold ramp web resume
	assert_match "$(synhold ramp web reverse)" "^web: the ramp goes from"
}

shield_again() {
	daemon shield s0
}

# Somebody has to be kept out, or pressure is not of our making.
test_ramp_stops_under_pressure() {
	local before
	net_up
	server
	shield window=none
	synhold ramp web --from 20% --to 100% --over 30s >/run/e2e/out
	clients herd clients=6000 rate=100 patience=500 limit=60000
	wait_until 'number_holds "$(share)" ">=" 25' 8
	synhold signal web queue 150 --target 100 --for 20s
	wait_until '[ "$(value ramp.stopped)" = true ]' 6 "pressure to stop the ramp"
	assert_match "$(output shield)" "ramp stopped at"
	before=$(share)
	pass_time 0.5
	assert_eq "$(share)" "$before" "share once stopped"

	# down is always allowed
	synhold ramp web reverse >/run/e2e/out
	wait_until 'number_holds "$(share)" "<" '"$before" 3 "the share to fall"
	wait_until 'number_holds "$(share)" "==" 20' 15

	# and with pressure gone, up again
	synhold signal web queue 10 --target 100 --for 60s
	wait_until 'number_holds "$(synhold explain web --json | jq .pressure)" "<" 0.5' 4
	synhold ramp web --from 20% --to 100% --over 10s >/run/e2e/out
	wait_until 'number_holds "$(share)" ">=" 30' 5 "the share to grow"
	stop herd KILL
}

# What pressure has stopped stays so over a restart.
test_stopped_ramp_survives_the_daemon() {
	local before
	net_up
	server
	shield window=none
	synhold ramp web --from 20% --to 100% --over 30s >/run/e2e/out
	clients herd clients=6000 rate=100 patience=500 limit=60000
	wait_until 'number_holds "$(share)" ">=" 25' 8
	synhold signal web queue 150 --target 100 --for 20s
	wait_until '[ "$(value ramp.stopped)" = true ]' 6 "pressure to stop the ramp"
	before=$(share)
	stop herd KILL
	stop shield KILL
	wait_until '[ "$(value state)" = static ]' 3
	shield_again
	pass_time 0.5
	assert_eq "$(value ramp.stopped)" true "ramp.stopped after a restart"
	assert_eq "$(share)" "$before" "share after a restart"
	synhold ramp web resume >/run/e2e/out
	wait_until 'number_holds "$(share)" ">" '"$before" 3 "the ramp to go on"
}

test_ramp_is_refused() {
	net_up
	synhold attach s0 --port "web=$PORT"
	refused 2 "--over is missing" synhold ramp web --from 1% --to 2%
	refused 2 "--from '10' is not accepted" synhold ramp web --from 10 --to 20% --over 5s
	refused 2 "--to '101%' is not accepted" synhold ramp web --from 10% --to 101% --over 5s
	refused 2 "--over '5' is not accepted" synhold ramp web --from 10% --to 20% --over 5
	refused 2 "nothing would move.*share=10%" synhold ramp web --from 10% --to 10% --over 5s
	refused 2 "none of pause, resume, reverse and cancel" synhold ramp web stop
	refused 2 "begin a ramp" synhold ramp web pause --from 10%
	refused 1 "no service 'nobody'" synhold ramp nobody --from 1% --to 2% --over 5s
	refused 1 "has no ramp" synhold ramp web pause
	refused 1 "has no ramp" synhold ramp web cancel
	assert_match "$(synhold ramp web --from 10% --to 90% --over 10m)" \
		"from 10% to 90% of the sources over 10m; there is no daemon: the share stands still at 100.0%"
	synhold ramp web --from 10% --to 90% --over 10m --json | jq -e '.running == false and .daemon == false and .to_percent == 90' >/run/e2e/out
}

PARALLEL=3
run_tests "$@"
