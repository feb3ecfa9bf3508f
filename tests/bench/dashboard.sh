#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# dashboard.sh [PNG]: the dashboard of deploy/grafana with what Prometheus has scraped of a storm: calm clients, then CLIENTS at once, and calm
# again. Its picture goes to docs/dashboard.png unless another file is named; PAGE=FILE keeps the page that it is taken of, which is made without
# Grafana from the same queries. Root; private namespaces; packages prometheus and chromium. Build first: make e2e-binaries.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../e2e/prometheus.sh"
export PICTURE=${PICTURE:-$E2E_DIR/../../docs/dashboard.png} CLIENTS=${CLIENTS:-6000} PAGE=${PAGE:-}

# panel, legend and data of each query of the dashboard, for those seconds
answers() { # FROM TO
	local panel query
	while read -r panel; do
		query=$(jq -r '.expr | gsub("\\$(shield|service)"; ".*") | gsub("\\$__rate_interval"; "4s")' <<<"$panel")
		ask_range "$query" "$1" "$2" 1 | jq -c --argjson panel "$panel" '{panel: $panel.id, legend: $panel.legendFormat, data}' ||
			fail "no answer to $query"
	done < <(jq -c '.panels[] | select(.targets) | .id as $id | .targets[] | {id: $id, expr, legendFormat}' "$DEPLOY/grafana/synhold.json")
}

test_picture() {
	local from size
	command -v chromium >/dev/null || fail "chromium is not installed: apt-get install chromium"
	net_up
	server delay_us=2000 backlog=4096
	daemon shield s0 --port "web=$PORT" --metrics "$METRICS"
	prometheus_up
	clients calm clients=100000 first=20000 sources=5000 rate=120 patience=5000
	pass_time 4 # of calm that rates can be computed of
	from=$(date +%s)
	pass_time 10
	clients herd clients="$CLIENTS" patience=5000 retry=1000
	finish herd 90
	echo "figure: $(output herd 2>&1 | tail -n 1)"
	pass_time 15
	answers "$from" "$(date +%s)" >/run/e2e/answers
	stop calm
	stop prometheus
	node "$DEPLOY/grafana/picture.js" "$DEPLOY/grafana/synhold.json" /run/e2e/answers >/run/e2e/page.html
	[ -z "$PAGE" ] || cp /run/e2e/page.html "$PAGE"
	size=$(sed -n 's/.*<svg .* width="\([0-9]*\)" height="\([0-9]*\)".*/\1,\2/p' /run/e2e/page.html)
	in_srv env HOME=/run/e2e timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
		--user-data-dir=/run/e2e/chromium --window-size="$size" --screenshot=/run/e2e/picture.png file:///run/e2e/page.html \
		>/run/e2e/chromium.log 2>&1 || fail "chromium: $(tail -n 3 /run/e2e/chromium.log)"
	[ -s /run/e2e/picture.png ] || fail "no picture: $(tail -n 3 /run/e2e/chromium.log)"
	assert_le "$(stat -c %s /run/e2e/picture.png)" 300000 "bytes of the picture"
	cp /run/e2e/picture.png "$PICTURE"
	echo "figure: $PICTURE, $(stat -c %s "$PICTURE") bytes"
}

if [ "${1:-}" != --one ]; then
	[ -z "${1:-}" ] || export PICTURE=$1
	set --
fi
run_tests "$@"
