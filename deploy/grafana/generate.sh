#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the dashboard of panels.tsv: deploy/grafana/generate.sh >deploy/grafana/synhold.json. Needs jq.
set -eu

cd "$(dirname "$0")"
grep -v '^#' panels.tsv | jq -R -n '
	def target($i; $expr; $legend):
		{refId: ("ABCDEFGH"[$i:$i + 1]), expr: $expr, legendFormat: $legend,
		 datasource: {type: "prometheus", uid: "${datasource}"}};
	def targets($fields):
		[range(0; ($fields | length) / 2) | target(.; $fields[2 * .]; $fields[2 * . + 1])];
	def height($kind): {row: 1, stat: 4, graph: 8}[$kind];
	def panel($f; $id; $x; $y):
		{id: $id, title: $f[2], gridPos: {x: $x, y: $y, w: ($f[1] | tonumber), h: height($f[0])}} +
		if $f[0] == "row" then {type: "row", collapsed: false, panels: []}
		else {
			type: {stat: "stat", graph: "timeseries"}[$f[0]],
			datasource: {type: "prometheus", uid: "${datasource}"},
			fieldConfig: {defaults: {unit: $f[3], min: 0}, overrides: []},
			targets: targets($f[4:])
		} end;
	def variable($name; $query):
		{name: $name, type: "query", query: $query, datasource: {type: "prometheus", uid: "${datasource}"},
		 includeAll: true, multi: true, refresh: 2, current: {text: "All", value: "$__all"}};
	# from left to right, a new line when the width is used up
	reduce inputs as $line ({panels: [], x: 0, y: 0, h: 0};
		($line / "\t") as $f | ($f[1] | tonumber) as $w |
		if .x + $w > 24 then .y += .h | .x = 0 | .h = 0 else . end |
		.panels += [panel($f; (.panels | length) + 1; .x; .y)] |
		.x += $w | .h = ([.h, height($f[0])] | max)) |
	{
		title: "synhold", uid: "synhold", schemaVersion: 38, version: 1, editable: true, refresh: "5s",
		tags: ["synhold"], time: {from: "now-15m", to: "now"}, timezone: "utc",
		templating: {list: [
			{name: "datasource", type: "datasource", query: "prometheus", current: {}},
			variable("shield"; "label_values(synhold_build_info, shield)"),
			variable("service"; "label_values(synhold_held{shield=~\"$shield\"}, service)")
		]},
		panels: .panels
	}'
