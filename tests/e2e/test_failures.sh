#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/failures.md: that every test it names is there; and failures that no other file provokes.
. "$(dirname "$0")/lib.sh"

DOC=$E2E_DIR/../../docs/failures.md

# names FILE FUNCTION: whether running the file runs that function; both() makes two of one
names() {
	case $1 in
	*.c) grep -qE "cmocka_unit_test[a-z_]*\($2[,)]|TEST\($2\)" "$1" ;;
	*) grep -qE "^$2\(\)|^[[:space:]]+$2\(\)" "$1" || { [[ $2 =~ ^test_(.*)_ipv[46]$ ]] && grep -qE "^both ${BASH_REMATCH[1]}$" "$1"; } ;;
	esac
}

test_table_names_tests_that_exist() {
	local root=$E2E_DIR/../.. file function rows=0 bad=""
	while read -r file function; do
		rows=$((rows + 1))
		names "$root/tests/$file" "$function" 2>/run/e2e/err || bad+="$file: $function"$'\n'
	done < <(grep -o '`[a-z0-9_/]*\.\(sh\|c\): [a-z0-9_]*`' "$DOC" | tr -d '`' | sed 's/://')
	assert_ge "$rows" 40 "tests named in docs/failures.md"
	assert_eq "$bad" "" "named, and not there"
	# and no row without one
	assert_eq "$(grep -E '^\| ' "$DOC" | grep -vE '^\| (what goes wrong|---)' | grep -vE '`[a-z0-9_/]*\.(sh|c): [a-z0-9_]*`' || true)" "" \
		"rows without a test"
}

# dead_man SIGNAL: from the moment that the daemon does not act any more, until SYNs that would be held are judged by
# fallback. A second makes the heartbeat stale; what is measured has the time that asking takes on top.
dead_man() {
	local began took
	net_up
	shield share=0%
	start flow cli "$TOOLS/storm" "$DST" "$PORT" do=dial clients=4000 rate=200 patience=300 limit=15000
	expect -q syn.held\>=50 over_limit.fallback=0
	kill -"$1" "${PROCESS[shield]}"
	began=$(now_ms)
	wait_until '[ "$(value over_limit.fallback)" != null ] && [ "$(value over_limit.fallback)" -ge 1 ]' 5
	took=$(($(now_ms) - began))
	echo "figure: $1: fallback after $took ms"
	assert_le "$took" "${SYNHOLD_E2E_DEAD_MS:-2500}" "ms until fallback"
	[ "$1" != STOP ] || kill -CONT "${PROCESS[shield]}"
	stop flow KILL
}
test_dead_man_killed() { dead_man KILL; }
test_dead_man_stopped() { dead_man STOP; }

# The session in which it was typed is hung up, as when the SSH connection that it cut has ended.
test_session_hung_up() {
	net_up
	start caller srv setsid bash -c '"$SYNHOLD" attach s0 --port web=8000 window=4 --confirm 2s; echo done; sleep 100; :'
	wait_until "grep -q done $LOGS/caller.log" 10
	kill -HUP -- "-${PROCESS[caller]}"
	finish caller 5
	assert_eq "$(json '.services[0].flags | index("confirm_pending") != null')" true "confirm_pending"
	wait_until '[ -z "$(instances)" ]' 6 "the attachment to be undone"
	no_trace s0
	synhold attach s0 --port "web=$PORT" window=4
	start caller srv setsid bash -c '"$SYNHOLD" set web window=9 --confirm 2s; echo done; sleep 100; :'
	wait_until "grep -q done $LOGS/caller.log" 10
	expect -q window=9
	kill -HUP -- "-${PROCESS[caller]}"
	finish caller 5
	expect -t 6 window=4
}

# File, line, key, and what would be accepted.
test_config_errors_say_where() {
	local line form
	net_up
	while IFS='|' read -r line form; do
		printf '[service web]\nport = %s\n# a comment\n%s\n' "$PORT" "$line" >/run/e2e/bad.conf
		refused 2 "bad.conf:4: $form" synhold attach s0 -c /run/e2e/bad.conf
	done <<-'FORMS'
		rate = abc|.*rate.*'abc'.*accepted:
		action = keep|.*action.*'keep'.*accepted: .*hold.*drop.*reject
		hold-time = 5|.*hold-time.*'5'.*accepted:
		share = 200%|.*share.*'200%'.*accepted:
		wibble = 1|.*'wibble'
		port = 0|port specification 'web=0'.*accepted:
	FORMS
}

PARALLEL=3
run_tests "$@"
