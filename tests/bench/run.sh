#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the per-packet benchmark: run.sh [--json]. Needs root; sends nothing on any interface.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
exec "$build/bench/bench" "$build/bench/bench.bpf.o" "$build/synhold.bpf.o" "$build/bench/synhold-4096.bpf.o" \
	"$build/bench/synhold-random.bpf.o" "$@"
