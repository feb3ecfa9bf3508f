#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Metrics over HTTP: formats, health, and what a scrape costs.
. "$(dirname "$0")/lib.sh"

AT=http://127.0.0.1:9477

fetch() { # PATH [CURL ARGUMENT]...
	in_srv curl -s --max-time 5 "${@:2}" "$AT$1"
}

code() { # PATH
	fetch "$1" -o /run/e2e/body -w '%{http_code}'
}

# What promtool finds to say about a page of the text format: nothing, names included.
proper() { # FILE WHEN
	local said
	said=$(promtool check metrics <"$1" 2>&1) || fail "promtool check metrics $2: $said"
	assert_eq "$said" "" "what promtool says $2"
}

test_formats() {
	command -v promtool >/dev/null || fail "promtool is not installed: sudo tests/deps.sh installs the package prometheus"
	net_up
	server delay_us=200000
	SHIELD_ARGS="--metrics 127.0.0.1:9477" shield window=4
	fetch /metrics -D /run/e2e/head >/run/e2e/page
	assert_match "$(tr -d '\r' </run/e2e/head)" "Content-Type: text/plain; version=0.0.4" "the type"
	proper /run/e2e/page "before traffic"
	synhold metrics >/run/e2e/page
	proper /run/e2e/page "of the command"
	clients herd clients=60 patience=20000 retry=100
	expect -q "held>=20"
	# a page may be 0.2 s old
	wait_until 'fetch /metrics >/run/e2e/page && [ "$(sed -n "s/^synhold_held{.*} //p" /run/e2e/page)" -ge 20 ]' 5 "the page to say what is held"
	proper /run/e2e/page "during traffic"
	fetch /metrics -D /run/e2e/head -H 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5' >/run/e2e/page
	assert_match "$(tr -d '\r' </run/e2e/head)" "Content-Type: application/openmetrics-text; version=1.0.0" "the type"
	assert_eq "$(tail -n 1 /run/e2e/page)" "# EOF" "the last line"
	assert_eq "$(grep '^# TYPE synhold_syn' /run/e2e/page)" "# TYPE synhold_syn counter" "the family of a counter"
	assert_eq "$(grep '^# UNIT synhold_hold_seconds' /run/e2e/page)" "# UNIT synhold_hold_seconds seconds" "a unit"
	stop herd
}

test_health() {
	net_up
	server
	SHIELD_ARGS="--metrics 127.0.0.1:9477" shield
	wait_until '[ "$(code /readyz)" = 200 ]' 5
	assert_eq "$(code /healthz) $(cat /run/e2e/body)" "200 ok" "health"
	assert_eq "$(fetch /status.json | jq -r '.services[0].name')" web "the status"
	assert_eq "$(code /else)" 404 "what is not there"
	assert_eq "$(fetch /metrics -X POST -o /run/e2e/body -w '%{http_code}')" 405 "what is not asked for"
	kill -STOP "${PROCESS[shield]}"
	wait_until '[ "$(code /healthz)" = 503 ]' 10 "a stale heartbeat to be noticed"
	assert_eq "$(code /readyz)" 503 "ready without a heartbeat"
	assert_eq "$(fetch /metrics | sed -n 's/^synhold_daemon_up{.*} //p')" 0 "the daemon's gauge"
	kill -CONT "${PROCESS[shield]}"
	wait_until '[ "$(code /readyz)" = 200 ]' 10
}

reader_ms() { # CPU time so far
	awk '{ printf "%.3f", $1 / 1e6 }' "/proc/$READER/schedstat"
}

# The limit is generous, for a machine that is busy; the figure says what it was.
test_cost_of_a_scrape() {
	local ports=() i before cost
	net_up
	for ((i = 0; i < 256; i++)); do
		ports+=(--port "service-$i=$((10000 + i))")
	done
	server
	daemon shield s0 "${ports[@]}" --metrics 127.0.0.1:9477
	wait_until '[ "$(code /readyz)" = 200 ]' 5
	READER=$(pgrep -x synhold-metrics)
	before=$(reader_ms)
	for i in {1..10}; do
		fetch /metrics >/run/e2e/page
		pass_time 0.25 # what was read lately would be served again
	done
	cost=$(awk -v a="$before" -v b="$(reader_ms)" 'BEGIN { printf "%.2f", (b - a) / 10 }')
	assert_eq "$(grep -c '^synhold_held{' /run/e2e/page)" 256 "services on the page"
	echo "figure: $(grep -vc '^#' /run/e2e/page) samples of 256 services, $(stat -c %s /run/e2e/page) bytes: $cost ms of CPU a scrape"
	assert_le "$cost" 100 "CPU time of a scrape, ms"
}

run_tests "$@"
