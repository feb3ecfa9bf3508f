#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An hour of calm and storms in turn with real traffic (HOUR_SECONDS changes that): zero held in calm, nothing left, flat memory, and the
# daemon at one per cent of a CPU in calm or less. Root; private namespaces. Build first: make e2e-binaries.
export HOUR_SECONDS=${HOUR_SECONDS:-3600} CPU_PERMILLE=${CPU_PERMILLE:-10}
REPORT=$(mktemp)
export REPORT
trap 'cat "$REPORT"; rm -f "$REPORT"' EXIT
"$(dirname "$0")/../e2e/test_hour.sh" "$@"
