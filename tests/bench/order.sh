#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who goes next: orders of release against fleets of clients, simulated (ten seconds of one core; any user). Prints tables, or
# one JSON array.
#
#   tests/bench/order.sh [--all] [--json] [--clients N] [--seeds N]
#
# --all: every combination of patience, retries, distance and SYN schedule instead of the chosen few (a minute, with three seeds).
set -eu

cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
make --no-print-directory -s BUILD="$BUILD" "$BUILD/bench/order"
exec "$BUILD/bench/order" "$@"
