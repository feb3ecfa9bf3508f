#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What Prometheus makes of a storm: every query of the dashboard has data, the alerts fire and clear.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/prometheus.sh"

has_data() { # QUERY: a number, not only NaN
	local answer
	answer=$(ask "$1")
	[ "$(jq -r .status <<<"$answer")" = success ] || fail "'$1': $(jq -r .error <<<"$answer")"
	jq -e '[.data.result[].value[1] | select(. != "NaN")] | length > 0' <<<"$answer" >/run/e2e/jq
}

# Those that may have nothing to say here still have to be understood.
may_be_empty() { # TITLE
	[ "$1" = Pressure ] && [ ! -e /proc/pressure/cpu ] # a kernel that does not tell
}

test_dashboard_and_alerts() {
	local title query count=0
	net_up
	server delay_us=15000
	daemon shield s0 --port "web=$PORT" --metrics "$METRICS"
	prometheus_up
	assert_eq "$(alert SynholdLimiting)" inactive "SynholdLimiting before the storm"
	clients herd clients=900 sources=250 patience=60000
	expect -q "held>=100"

	while IFS=$'\t' read -r title query; do
		count=$((count + 1))
		if may_be_empty "$title"; then
			assert_eq "$(ask "$query" | jq -r .status)" success "the answer to '$query'"
		else
			wait_until 'has_data "$query"' 10 "data of panel '$title': $query"
		fi
	done < <(queries_of_dashboard)
	assert_eq "$count" "$(jq '[.panels[].targets // [] | length] | add' "$DEPLOY/grafana/synhold.json")" "queries asked"
	assert_eq "$(in_srv curl -sG -d 'match[]=synhold_held{shield=~".*"}' "$API/label/service/values" | jq -c .data)" '["web"]' \
		"the services to choose from"
	assert_ge "$(ask synhold_held | jq -r '.data.result[0].value[1]')" 1 "held, as scraped"
	wait_until '[ "$(alert SynholdLimiting)" = firing ]' 10 "SynholdLimiting to fire"
	wait_until 'has_data "synhold:drain_seconds > 0"' 10 "the time that the queue takes"
	assert_eq "$(in_srv curl -s "$API/rules" | jq -c '[.data.groups[].rules[] | select(.health != "ok") | [.name, .lastError]]')" "[]" \
		"rules that cannot be evaluated"
	assert_eq "$(in_srv curl -s "$API/targets" | jq -r '.data.activeTargets[0].lastError')" "" "what the scrape found wrong"

	assert_eq "$(ask 'max_over_time(synhold_pressure_ratio[1m]) > 1' | jq -c '.data.result')" "[]" "shares of more than all"

	finish herd 30
	wait_until '[ "$(alert SynholdLimiting)" = inactive ]' 20 "SynholdLimiting to clear"
	assert_eq "$(alert SynholdDaemonDown)" inactive "SynholdDaemonDown while it runs"
	stop shield KILL
	wait_until '[ "$(alert SynholdDaemonDown)" = firing ]' 15 "SynholdDaemonDown to fire"
	assert_eq "$(alert SynholdDetached)" inactive "SynholdDetached with the program on the card"
	daemon shield --metrics "$METRICS"
	wait_until '[ "$(alert SynholdDaemonDown)" = inactive ]' 15 "SynholdDaemonDown to clear"
	stop prometheus
}

# The file of the textfile collector is written without a daemon, too, and says that there is none.
test_textfile() {
	net_up
	synhold attach s0 --port "web=$PORT" window=4
	synhold metrics >/run/e2e/synhold.prom
	assert_eq "$(promtool check metrics </run/e2e/synhold.prom 2>&1)" "" "what promtool says"
	assert_eq "$(sed -n 's/^synhold_daemon_up{.*} //p' /run/e2e/synhold.prom)" 0 "daemon_up"
	assert_eq "$(grep -c '^synhold_heartbeat_age_seconds' /run/e2e/synhold.prom || true)" 0 "the age of no heartbeat"
	assert_eq "$(sed -n 's/^synhold_window{.*} //p' /run/e2e/synhold.prom)" 4 "the window"
}

run_tests "$@"
