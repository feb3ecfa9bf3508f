#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# All measurements in one run, as ratios to what was measured beside them, and which targets they meet: run.sh [--json]. Root. Traffic only
# inside network namespaces of its own. Exit status 1 when a target is missed.
#
# BENCH_REPEAT, BENCH_RUNS, BENCH_ROUNDS, BENCH_WINDOWS, BENCH_WINDOW_MS, BENCH_FLOOD_ROUNDS and BENCH_FLOOD_SYNS change the size.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
rounds=${BENCH_FLOOD_ROUNDS:-5} syns=${BENCH_FLOOD_SYNS:-400000}

case ${1-} in
'' | --json) ;;
*)
	echo "usage: tests/bench/run.sh [--json]" >&2
	exit 2
	;;
esac
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# part NAME COMMAND...: its JSON; what it says beside is shown only when it fails
part()
{
	local name=$1
	shift
	echo "bench: $name" >&2
	"$@" >"$dir/$name" 2>"$dir/log" || {
		cat "$dir/log" >&2
		echo "bench: $name failed" >&2
		exit 1
	}
}

part costs "$build/bench/bench" "$build/bench/bench.bpf.o" "$build/synhold.bpf.o" "$build/bench/synhold-4096.bpf.o" \
	"$build/bench/synhold-random.bpf.o" "$build/bench/synhold-lru.bpf.o" "$build/bench/synhold-lru-charges.bpf.o"
part egress tests/bench/live.sh
part throughput tests/bench/rivals.sh "$rounds" "$syns"
part scaling tests/bench/scale.sh "$rounds" "$syns"
jq -n -L tests/bench --slurpfile costs "$dir/costs" --slurpfile egress "$dir/egress" --slurpfile throughput "$dir/throughput" \
	--slurpfile scaling "$dir/scaling" 'include "report";
	{costs: $costs[0], egress: $egress[0], throughput: $throughput[0], scaling: $scaling[0]} | report' >"$dir/report"
if [ "${1-}" = --json ]; then
	cat "$dir/report"
else
	jq -r -L tests/bench 'include "report"; text' "$dir/report" | awk -F '\t' '
		function flush_rows(   i, j, line) {
			for (i = 1; i <= n; i++) {
				line = ""
				for (j = 1; j <= cells[i]; j++)
					line = line sprintf("%-" width[j] "s  ", cell[i, j])
				sub(/ +$/, "", line)
				print line
			}
			n = 0
			delete width
		}
		/^# / { flush_rows(); print (NR > 1 ? "\n" : "") substr($0, 3); next }
		{ cells[++n] = NF; for (j = 1; j <= NF; j++) { cell[n, j] = $j; if (length($j) > width[j]) width[j] = length($j) } }
		END { flush_rows() }'
fi
jq -e '[.targets[] | select(.result == "missed")] | length == 0' "$dir/report" >/dev/null
