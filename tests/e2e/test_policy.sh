#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Changing what is in force: at once, for a time, unless confirmed; saving it, reading it again.
. "$(dirname "$0")/lib.sh"

ONCE=(patience=800)

test_set() {
	net_up
	server
	shield action=drop
	assert_match "$(synhold set web rate=1 burst=3)" "rate: none → 1.*burst: none → 3" "what set prints"
	expect_line "$(storm clients=10 "${ONCE[@]}")" served=3
	assert_eq "$(synhold set web rate=500 --json | jq -c '.changes[0] | [.service, .key, .old, .new]')" '["web","rate","1","500"]' \
		"what set --json prints"
	assert_eq "$(value rate)" 500 rate
	synhold set web rate=none burst=none window=none
	expect_line "$(storm clients=50 first=100 "${ONCE[@]}")" served=50
	assert_match "$(synhold set '*' global-rate=7)" "global-rate: none → 7" "what set '*' prints"
	assert_eq "$(json .limits.global_rate)" 7 "global rate"
	assert_match "$(synhold set '*' mode=monitor)" "web mode: enforce → monitor" "what set '*' prints for a service's key"
	expect state=monitor
}

# Nobody needs the daemon for that, and a new one finds it so.
test_set_survives_the_daemon() {
	net_up
	server
	shield action=drop
	synhold set web rate=1 burst=4
	stop shield KILL
	expect rate=1
	synhold set web burst=2
	expect_line "$(storm clients=6 "${ONCE[@]}")" served=2
	daemon shield
	expect rate=1 syn.admitted=2
	assert_match "$(synhold save)" "burst *= *2" "the policy afterwards"
}

test_attach_without_daemon() {
	net_up
	server mode=silent
	assert_match "$(synhold attach s0 --port "web=$PORT")" "nothing is limited yet" "the hint"
	synhold attach s0 --port "web=$PORT" window=3 action=drop
	expect_line "$(storm do=ask clients=9 patience=500 linger=500)" connected=3
	expect syn.seen=9 syn.admitted=3 over_limit.window=6 state=static
	assert_eq "$(json .daemon.alive)" false daemon.alive
	assert_eq "$(json .daemon.pid)" null daemon.pid
	# without --port the policy that is pinned stays
	synhold attach s0
	expect window=3 syn.seen=9
	# another service is added, the first one keeps its counters
	synhold attach s0 --port other=8100,8200-8299 rate=5
	expect -s web syn.seen=9 window=3
	expect -s other rate=5
	assert_eq "$(json '.services[] | select(.name == "other") | .ports | tojson')" "[[8100,8100],[8200,8299]]" "ports"
}

test_close_for_a_time() {
	net_up
	server
	shield action=drop
	synhold close web --for 1s
	expect -q state=closed
	expect_line "$(storm clients=3 patience=300)" served=0
	wait_until '[ "$(value state)" = open ]' 3
	expect_line "$(storm clients=3 first=10 "${ONCE[@]}")" served=3
	synhold close web
	synhold open web --for 1s
	expect_line "$(storm clients=3 first=20 patience=300)" served=3
	wait_until '[ "$(value state)" = closed ]' 3
	expect_line "$(storm clients=3 first=30 "${ONCE[@]}")" served=0
	synhold open web
	expect_line "$(storm clients=3 first=40 "${ONCE[@]}")" served=3
}

test_close_without_daemon() {
	net_up
	server
	synhold attach s0 --port "web=$PORT" action=drop window=64
	synhold close web --for 1s
	expect_line "$(storm clients=3 patience=300)" served=0
	wait_until 'storm first=10 patience=200 | grep -q served=1' 4 "the service to open"
}

pending() {
	json '.services[0].flags | index("confirm_pending") != null'
}

test_set_unconfirmed() {
	net_up
	server
	shield action=drop
	assert_match "$(synhold set web rate=1 burst=2 --confirm 3s)" "unless confirmed" "what set prints"
	assert_eq "$(pending)" true "the flag"
	expect_line "$(storm clients=6 patience=400)" served=2
	# another change would make it unclear what is to be undone
	refused 1 "confirm" synhold set web rate=9
	wait_until '[ "$(value rate)" = null ]' 6 "the change to be undone"
	assert_eq "$(pending)" false "the flag"
	expect_line "$(storm clients=6 first=100 "${ONCE[@]}")" served=6
	refused 1 "nothing waits" synhold confirm
}

test_set_unconfirmed_without_daemon() {
	net_up
	server
	synhold attach s0 --port "web=$PORT" action=drop window=64
	synhold set web rate=1 burst=2 --confirm 1s
	expect_line "$(storm clients=6 patience=400)" served=2
	wait_until '[ "$(value rate)" = null ]' 4 "the change to be undone"
	expect_line "$(storm clients=6 first=100 "${ONCE[@]}")" served=6
}

test_set_confirmed() {
	net_up
	shield
	synhold set web rate=77 --confirm 1500ms
	synhold confirm
	assert_eq "$(pending)" false "the flag"
	pass_time 2
	assert_eq "$(value rate)" 77 "rate, when the time is over"
}

test_close_unconfirmed() {
	net_up
	shield
	synhold close web --confirm 1s
	expect -q state=closed
	wait_until '[ "$(value state)" = open ]' 4 "the service to open"
}

test_deny_unconfirmed() {
	net_up
	server
	shield
	synhold deny add "$NET_A" --confirm 1s
	expect_line "$(storm clients=2 patience=300)" served=0
	wait_until 'storm first=10 patience=200 | grep -q served=1' 4 "the entry to end"
	synhold deny add "$NET_A" --confirm 1s
	synhold confirm
	pass_time 1.5
	expect_line "$(storm clients=2 first=20 patience=300)" served=0
}

test_attach_unconfirmed() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4 --confirm 1s
	assert_eq "$(pending)" true "the flag"
	wait_until '[ -z "$(instances)" ]' 4 "the attachment to be undone"
	no_trace s0
	assert_eq "$(find /run/synhold -mindepth 1 2>/dev/null || true)" "" "run files"
}

# The terminal it was typed in has gone, and everything that ran in it.
test_attach_unconfirmed_caller_killed() {
	net_up
	start caller srv setsid bash -c '"$SYNHOLD" attach s0 --port web=8000 window=4 --confirm 2s; echo done; exec sleep 100'
	wait_until "grep -q done $LOGS/caller.log" 10
	kill -KILL -- "-${PROCESS[caller]}"
	finish caller 5
	assert_eq "$(pending)" true "the flag"
	wait_until '[ -z "$(instances)" ]' 5 "the attachment to be undone"
	no_trace s0
}

test_attach_confirmed() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4 --confirm 1500ms
	synhold confirm
	pass_time 2
	expect window=4
	assert_match "$(ip -n "$SRV" link show s0)" "prog/xdp" "s0"
}

everything() {
	synhold set web rate=450 burst=60 source-rate=3 source-prefix4=24 window=33 share=75.5% hold-max=1k hold-order=newest \
		hold-time=90s fallback=open target-delay=250ms settle-bytes=2
	synhold set other mode=monitor action=reject window=none
	synhold set '*' global-rate=2k hold-memory=16MiB
	synhold allow add 10.10.1.7 --rate 5 --note "health checks"
	synhold allow add fd00:10:1::/48
	synhold deny add 10.10.9.0/24
}

test_save_and_run() {
	net_up
	daemon shield s0 --port "web=$PORT,8443" --port "other=[fd09::/64]:9000-9010"
	everything >/run/e2e/out
	synhold save >/run/e2e/saved.conf
	synhold save -o /run/e2e/saved-too.conf
	cmp /run/e2e/saved.conf /run/e2e/saved-too.conf
	assert_eq "$(synhold diff -c /run/e2e/saved.conf)" "no difference" "differences to what was just saved"
	stop shield
	synhold detach --all
	daemon shield s0 -c /run/e2e/saved.conf
	synhold save >/run/e2e/again.conf
	diff -u /run/e2e/saved.conf /run/e2e/again.conf >&2 || fail "saved, run and saved again is not the same"
	expect -s web rate=450 window=33 share_percent=75.5
	expect -s other mode=monitor action=reject window=null
	assert_eq "$(json '.services[] | select(.name == "web") | .ports | tojson')" "[[$PORT,$PORT],[8443,8443]]" "ports"
}

write_config() { # RATE
	cat >/run/e2e/web.conf <<-CONFIG
		[service web]
		port = $PORT
		action = drop
		rate = $1
		burst = 2
	CONFIG
}

test_reload() {
	net_up
	server
	write_config 1
	daemon shield s0 -c /run/e2e/web.conf
	expect_line "$(storm clients=5 "${ONCE[@]}")" served=2
	write_config 300
	assert_match "$(synhold diff)" "300" "the difference"
	expect rate=1
	synhold reload
	expect rate=300 syn.seen=5
	# a wrong line: nothing of the file comes into force, and its name and line are told
	write_config 400
	echo "wibble = 3" >>/run/e2e/web.conf
	refused 2 "web.conf:6: unknown key" synhold reload
	refused 2 "web.conf:6: unknown key" synhold reload -c /run/e2e/web.conf
	expect rate=300
	write_config abc
	refused 2 "web.conf:4:.*rate" synhold reload
	expect rate=300
	rm /run/e2e/web.conf
	refused 1 "web.conf" synhold reload
	write_config 500
	kill -HUP "${PROCESS[shield]}"
	expect rate=500 syn.seen=5
	write_config -1
	kill -HUP "${PROCESS[shield]}"
	wait_until "grep -q 'web.conf:4:' $LOGS/shield.log" 5 "the log line about the wrong file"
	expect rate=500
	running shield || fail "a wrong file ended the daemon"
}

# A service that the file does not have any more goes, and its held SYNs with it; the others keep what they counted.
test_reload_without_a_service() {
	net_up
	server
	write_config 100
	printf '[service other]\nport = 8100\n' >>/run/e2e/web.conf
	daemon shield s0 -c /run/e2e/web.conf
	expect_line "$(storm clients=2)" served=2
	synhold close other
	start other cli "$TOOLS/storm" "$DST" 8100 clients=3 patience=20000
	expect -s other held=3
	write_config 100
	synhold reload
	assert_eq "$(json '[.services[].name] | join(" ")')" web "services"
	expect -s web syn.seen=2 handshakes.settled=2
	# nothing listens there: the connections are refused now, and not held for ever
	finish other 10
	expect_line "$(output other)" refused=3
}

# Entries that commands gave are no entries of the file, and stay.
test_reload_tells_lists() {
	net_up
	write_config 100
	daemon shield s0 -c /run/e2e/web.conf
	assert_eq "$(synhold diff)" "no difference" "differences at the start"
	assert_eq "$(synhold diff --json | jq -c .differences)" "[]" "differences at the start"
	synhold deny add 10.10.5.0/24
	printf '[synhold]\nprefer = 10.10.6.0/24 10\n' >>/run/e2e/web.conf
	assert_match "$(synhold diff)" "prefer 10.10.6.0/24: absent → weight 10" "the difference"
	assert_match "$(synhold diff)" "deny 10.10.5.0/24: listed .kept: added by command" "the difference"
	local told
	told=$(synhold reload)
	assert_match "$told" "prefer 10.10.6.0/24: absent → weight 10" "what reload prints"
	assert_match "$told" "deny 10.10.5.0/24: listed .kept: added by command" "what reload prints"
	assert_match "$(synhold deny)" "10.10.5.0/24" "the list after the reload"
}

test_monitor_says_so() {
	net_up
	assert_match "$(synhold attach s0 --port "web=$PORT" mode=monitor window=64)" "^attached.*web: ports $PORT, mode=monitor, window=64" \
		"what attach prints"
	local note="mode=monitor: only counted; synhold set web mode=enforce"
	assert_match "$(synhold status)" "static, monitor" "the state for people"
	expect state=static
	assert_match "$(synhold close web --for 1m)" "closed, and open again in 1m .$note" "what close prints"
	assert_match "$(synhold status)" "web: closed, opens again in (59|60) s" "the note below the table"
	synhold open web
	assert_match "$(synhold deny add 10.10.9.0/24)" "is in the deny list .$note" "what deny prints"
	assert_eq "$(synhold deny del 10.10.9.0/24)" "10.10.9.0/24 is removed from the deny list" "what deny del prints"
	assert_match "$(synhold set web share=50%)" "share: 100% → 50% .$note" "what set prints"
	assert_match "$(synhold status)" "web: share in force 50.0% of the sources" "the note below the table"
	[[ $(synhold set web mode=enforce) != *counted* ]] || fail "said to count when it enforces"
	[[ $(synhold close web) != *counted* ]] || fail "said to count when it enforces"
}

test_kept_policy_is_told() {
	net_up
	synhold attach s0 --port "web=$PORT" mode=monitor rate=200
	daemon shield s0 --metrics 127.0.0.1:9477
	local log
	log=$(cat "$LOGS/shield.log")
	assert_match "$log" "web: ports $PORT, mode=monitor, window=auto, rate=200 .kept from before" "the log"
	assert_match "$log" "interface s0 .(native|generic)" "the log"
	assert_match "$log" "metrics at 127.0.0.1:9477" "the log"
	assert_match "$log" "warning: web: nothing listens" "the log"
	stop shield
	server
	daemon shield s0 --port "web=$PORT" mode=enforce
	log=$(cat "$LOGS/shield.log")
	assert_match "$log" "web: ports $PORT, mode=enforce, window=auto, rate=200 .changed; what was not named is kept" "the log"
	[[ $log != *"nothing listens"* ]] || fail "a warning about a service that is served: $log"
}

test_detach_on_exit_of_attached() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	daemon shield --detach-on-exit
	stop shield
	assert_eq "$(instances)" "" "instances"
	no_trace s0
	# left behind by a run before, named again, and ended from the terminal
	daemon shield s0 --port "web=$PORT"
	stop shield
	daemon shield s0 --port "web=$PORT" --detach-on-exit
	stop shield INT
	assert_eq "$(instances)" "" "instances"
	no_trace s0
}

test_status_of_a_storm() {
	net_up
	server
	shield
	synhold close web
	start herd cli "$TOOLS/storm" "$DST" "$PORT" clients=5 patience=20000
	expect held=5
	assert_match "$(synhold explain web)" "What you can do: synhold open web" "what is said of a closed service"
	synhold open web
	finish herd 10
	expect hold.released=5
	assert_match "$(synhold status)" "SEEN +LET IN +WAITING +HELD SYNS +DROPPED +REJECTED +SERVED" "the columns"
	wait_until '[ "$(value inflight)" = 0 ]' 3
	assert_match "$(synhold status)" "web +[a-z]+ +0 of [0-9]+ +5 +5 +0 +5 +0 +0 +5[^0-9]" "the line of the service"
	assert_eq "$(synhold status | awk 'length > 100')" "" "lines that are too long"
}

# Timed entries stay over a reload, entries of the file go with it.
test_lists_over_a_reload() {
	net_up
	write_config 100
	printf '[synhold]\ndeny = 10.10.3.0/24\n' >/run/e2e/lists.conf
	cat /run/e2e/web.conf >>/run/e2e/lists.conf
	daemon shield s0 -c /run/e2e/lists.conf
	synhold deny add 10.10.4.0/24 --for 1h
	assert_match "$(synhold deny)" "10\.10\.3\.0/24" "the list"
	synhold reload -c /run/e2e/web.conf
	assert_match "$(synhold deny)" "10\.10\.4\.0/24" "the list after the reload"
	[[ $(synhold deny) != *10.10.3.0* ]] || fail "an entry of the old file is still there"
}

PARALLEL=3
run_tests "$@"
