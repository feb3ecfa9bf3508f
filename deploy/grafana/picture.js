// SPDX-License-Identifier: GPL-2.0-or-later
// The dashboard as one page without scripts or network: node picture.js DASHBOARD ANSWERS >PAGE.
// ANSWERS: one JSON object a line, {panel, legend, data} with the data of Prometheus' query_range.
"use strict";
const fs = require("fs");

const COLUMN = 50, ROW = 26, GAP = 8, WIDTH = 24 * COLUMN;
const COLORS = ["#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#7f7f7f", "#bcbd22", "#e377c2"];

const dashboard = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const answers = fs.readFileSync(process.argv[3], "utf8").trim().split("\n").map((line) => JSON.parse(line));

function escaped(text) {
	return String(text).replace(/[&<>"]/g, (c) => "&#" + c.charCodeAt(0) + ";");
}

function short(value) {
	return value >= 10000 ? (value / 1000).toPrecision(3).replace(/\.?0+$/, "") + "k" : String(Number(value.toPrecision(3)));
}

// As Grafana writes the units of panels.tsv.
function withUnit(value, unit) {
	if (unit === "s" && value > 0 && value < 1)
		return value < 1e-3 ? short(value * 1e6) + " µs" : short(value * 1e3) + " ms";
	if (unit === "percentunit")
		return short(value * 100) + " %";
	return short(value) + ({s: " s", cps: "/s"}[unit] || "");
}

function seriesOf(panel) {
	return answers.filter((a) => a.panel === panel.id).flatMap((a) => a.data.result.map((r) => ({
		name: a.legend.replace(/\{\{(\w+)\}\}/g, (_, label) => r.metric[label] || ""),
		points: r.values.map(([t, v]) => [t, Number(v)]).filter(([, v]) => Number.isFinite(v)),
	}))).filter((s) => s.points.length);
}

const times = answers.flatMap((a) => a.data.result.flatMap((r) => r.values.map(([t]) => t)));
const from = Math.min(...times), to = Math.max(...times);

function niceStep(most) {
	const power = 10 ** Math.floor(Math.log10(most / 3 || 1));
	return power * [1, 2, 5, 10].find((f) => f * power * 4 >= most);
}

function text(x, y, words, more) {
	return `<text x="${x}" y="${y}" ${more || ""}>${escaped(words)}</text>`;
}

// A new line after a gap: what was not there is not drawn.
function path(points, x, y) {
	let last = -Infinity;
	return points.map(([t, v]) => {
		const move = t - last > 3 ? "M" : "L";
		last = t;
		return `${move}${x(t).toFixed(1)} ${y(v).toFixed(1)}`;
	}).join("");
}

function stat(panel, w, h) {
	const s = seriesOf(panel)[0], unit = panel.fieldConfig.defaults.unit;
	if (!s)
		return text(w / 2, h / 2 + 8, "no data", 'class="dim" text-anchor="middle"');
	const most = Math.max(...s.points.map(([, v]) => v)) || 1;
	const x = (t) => (t - from) / (to - from) * w, y = (v) => h - v / most * 30;
	const end = x(s.points[s.points.length - 1][0]).toFixed(1), begin = x(s.points[0][0]).toFixed(1);
	return `<path class="area" d="${path(s.points, x, y)}L${end} ${h}L${begin} ${h}Z"/>` +
		text(w / 2, 62, withUnit(s.points[s.points.length - 1][1], unit), 'class="big" text-anchor="middle"');
}

function graph(panel, w, h) {
	const all = seriesOf(panel), unit = panel.fieldConfig.defaults.unit;
	// many that are flat at zero would hide the others in the legend
	const series = all.filter((s) => s.points.some(([, v]) => v > 0)), flat = all.length - series.length;
	const left = 56, right = w - 10, top = 30, bottom = h - 50;
	const most = Math.max(...series.flatMap((s) => s.points.map(([, v]) => v)), 0), step = niceStep(series.length ? most : 1);
	const high = Math.max(Math.ceil(most / step), 1) * step;
	const x = (t) => left + (t - from) / (to - from) * (right - left);
	const y = (v) => bottom - v / high * (bottom - top);
	let out = "";
	for (let v = 0; v <= high * 1.001; v += step)
		out += `<path class="grid" d="M${left} ${y(v).toFixed(1)}H${right}"/>` +
			text(left - 6, (y(v) + 4).toFixed(1), withUnit(v, unit), 'class="dim" text-anchor="end"');
	for (let t = 0; t <= to - from; t += 10)
		out += text(x(from + t).toFixed(1), bottom + 15, t + " s", 'class="dim" text-anchor="middle"');
	series.forEach((s, i) => {
		out += `<path fill="none" stroke-width="1.6" stroke="${COLORS[i % COLORS.length]}" d="${path(s.points, x, y)}"/>`;
	});
	let at = left, line = bottom + 30;
	const entry = (words, color) => {
		const size = words.length * 6 + 22;
		if (at + size > right && at > left) {
			at = left;
			line += 13;
		}
		out += (color ? `<path stroke-width="3" stroke="${color}" d="M${at} ${line - 4}h10"/>` : "") +
			text(at + (color ? 14 : 0), line, words, 'class="dim"');
		at += size;
	};
	series.forEach((s, i) => entry(s.name, COLORS[i % COLORS.length]));
	if (flat)
		entry(all.length === flat ? "all zero" : `and ${flat} at zero`);
	return out;
}

const height = Math.max(...dashboard.panels.map((p) => p.gridPos.y + p.gridPos.h)) * ROW;
let body = "";
for (const panel of dashboard.panels) {
	const {x, y, w, h} = panel.gridPos, width = w * COLUMN - GAP, tall = h * ROW - (panel.type === "row" ? 0 : GAP);
	body += `<g transform="translate(${x * COLUMN + GAP / 2} ${y * ROW})">`;
	if (panel.type === "row")
		body += text(4, 17, panel.title, 'class="row"');
	else
		body += `<rect class="panel" width="${width}" height="${tall}" rx="3"/>` +
			text(10, 18, panel.title, 'class="title"') + (panel.type === "stat" ? stat : graph)(panel, width, tall);
	body += "</g>\n";
}
process.stdout.write(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>synhold</title>
<style>
body{margin:0;background:#f4f5f5}svg{display:block;font:11px "DejaVu Sans",Helvetica,Arial,sans-serif;fill:#24292e}
.panel{fill:#fff;stroke:#dcdedf}.title{font-weight:600}.row{font-size:14px;font-weight:600}.dim{fill:#5b636b;font-size:10px}
.big{font-size:28px;fill:#1a7f4b}.area{fill:#cfe9da}.grid{stroke:#e4e6e8}
</style>
<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}">
${body}</svg></html>
`);
