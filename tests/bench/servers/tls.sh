#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# tls.sh haproxy|nginx [--json]: a storm of TLS clients on that server, without and with the shield. Fails when the shielded server needs more
# than 1.25 times its ideal, which is clients / capacity, measured in the same run by a closed loop. Root; private namespaces.
#
# CLIENTS, PATIENCE and RETRY (ms) are the clients; BITS is the server's RSA key; TLS=1.2|1.3, CIPHERS (of 1.2) what they speak; KEYS are
# key=value words for the shield; FACTOR times the ideal is the longest storm.
USAGE="tls.sh haproxy|nginx [--json]"
export CLIENTS=${CLIENTS:-5000} PATIENCE=${PATIENCE:-5000} RETRY=${RETRY:-200} BITS=${BITS:-4096} TLS=${TLS:-1.3} CIPHERS=${CIPHERS:-} \
	KEYS=${KEYS:-} FACTOR=${FACTOR:-2.5}
case ${1:-} in
haproxy | nginx)
	export KIND=$1
	shift
	;;
--one | --all) ;;
*)
	echo "$0: say which server; the form is: $USAGE" >&2
	exit 2
	;;
esac
. "$(dirname "$0")/lib.sh"

spoken=("tls=$TLS" ${CIPHERS:+"ciphers=$CIPHERS"})

closed_loop() {
	RATE=$(rate_of "$(tls_storm clients="${LOOP:-1000}" parallel=8 patience=60000 "${spoken[@]}")")
}

half() { # NAME
	local out before seconds
	before=$(cpu_ms server)
	out=$(tls_storm clients="$CLIENTS" patience="$PATIENCE" retry="$RETRY" limit="$(calc "$FACTOR * $IDEAL * 1000" | sed 's/\..*//')" "${spoken[@]}")
	seconds=$(calc "$(field elapsed_ms "$out") / 1000")
	row storm run="$1" served="$(field served "$out")" seconds="$seconds" times_ideal="$(calc "$seconds / $IDEAL")" \
		attempts="$(field attempts "$out")" server_cpu_s="$(calc "($(cpu_ms server) - $before) / 1000")" p50_ms="$(p50_of "$out" "$CLIENTS")"
	SERVED=$(field served "$out") TIMES=$(calc "$seconds / $IDEAL")
}

test_tls() {
	net_wide
	certificate "$BITS"
	tls_server "$KIND"
	agreed closed_loop
	IDEAL=$(calc "$CLIENTS / $RATE")
	row capacity per_second="$RATE" ideal_s="$IDEAL"
	half without
	stop server KILL # with all that it still works on in vain
	tls_server "$KIND"
	# shellcheck disable=SC2086 # words
	shield $KEYS
	half with
	row shield "first_byte_p50_ms=$(json '.services[0].first_byte_seconds.p50 * 1000 | round')" window="$(value window)" \
		expired="$(value handshakes.expired)" abandoned="$(value handshakes.abandoned)"
	bound "clients served with the shield" "$SERVED" '>=' "$CLIENTS"
	bound "times the ideal with the shield" "$TIMES" '<=' 1.25
}

bench tls "server=$KIND clients=$CLIENTS patience_ms=$PATIENCE retry_ms=$RETRY rsa_bits=$BITS tls=$TLS${CIPHERS:+ ciphers=$CIPHERS}" "$@"
