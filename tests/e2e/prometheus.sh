# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A Prometheus that scrapes the shield in the server's network each second, and what it is asked: sourced after lib.sh.

DEPLOY=$E2E_DIR/../../deploy
API=http://127.0.0.1:9090/api/v1
METRICS=127.0.0.1:9477

# prometheus_up: with the alerts of deploy/, which fire after two seconds here instead of up to a minute
prometheus_up() {
	command -v prometheus >/dev/null || fail "prometheus is not installed: sudo tests/deps.sh test installs it"
	sed 's/^\( *for:\) [0-9]*[smh]$/\1 2s/' "$DEPLOY/prometheus/synhold.rules.yml" >/run/e2e/rules.yml
	cat >/run/e2e/prometheus.yml <<-EOF
		global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
		rule_files: [/run/e2e/rules.yml]
		scrape_configs:
		  - job_name: shields
		    static_configs: [{targets: ["$METRICS"]}]
	EOF
	start prometheus srv prometheus --config.file=/run/e2e/prometheus.yml --storage.tsdb.path=/run/e2e/tsdb --log.level=warn \
		--web.listen-address=127.0.0.1:9090
	wait_until '[ "$(ask up | jq ".data.result | length")" = 1 ] || ! running prometheus' 20 "the first scrape"
	running prometheus || fail "prometheus ended: $(output prometheus)"
}

# ask QUERY: the answer of the API
ask() {
	in_srv curl -sG --max-time 5 --data-urlencode "query=$1" "$API/query"
}

# ask_range QUERY FROM TO STEP
ask_range() {
	in_srv curl -sG --max-time 10 --data-urlencode "query=$1" -d "start=$2" -d "end=$3" -d "step=$4" "$API/query_range"
}

# alert NAME: inactive, pending or firing
alert() {
	in_srv curl -s --max-time 5 "$API/alerts" | jq -r --arg name "$1" \
		'[.data.alerts[] | select(.labels.alertname == $name).state] | if length == 0 then "inactive" else max_by(. == "firing") end'
}

# queries_of_dashboard: TITLE, tab, QUERY with the variables as Grafana would set them for all shields and services
queries_of_dashboard() {
	jq -r '.panels[] | select(.targets) | .title as $title | .targets[] | $title + "\t" +
		(.expr | gsub("\\$(shield|service)"; ".*") | gsub("\\$__rate_interval"; "10s"))' "$DEPLOY/grafana/synhold.json"
}
