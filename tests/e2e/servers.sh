# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Other people's servers behind the shield, and clients for them: sourced after lib.sh by the tests and benches that need them.

mapfile -t CPUS < <(taskset -pc $$ | sed 's/.*: //' | tr ',' '\n' | sed 's/-/ /' | while read -r a b; do seq "$a" "${b:-$a}"; done)
SERVER_CPU=$(IFS=,; echo "${CPUS[*]}") # any; benches: pin_apart
CLIENT_CPUS=$SERVER_CPU
NODE=/usr/bin/node
NODE_DIR=$E2E_DIR/node
export NODE_PATH=${MODULES:-$TOOLS/../node/node_modules}

# A ring of a virtual link takes 256 packets. Clients that were cut off at once all send again in the same tick of the kernel's timer, which
# no real network would deliver in one piece: with few rings the same ones would lose their SYN each time.
LINK_QUEUES="numtxqueues 64 numrxqueues 64"

# net_up, on a link that has the same queues without the shield as with it
net_wide() {
	net_up
	in_srv ethtool -K s0 gro on
}

# The server gets the last CPU for itself and its clients the others, so that they do not take from each other what is measured.
pin_apart() {
	SERVER_CPU=${CPUS[-1]}
	[ "${#CPUS[@]}" = 1 ] || CLIENT_CPUS=$(IFS=,; echo "${CPUS[*]:0:${#CPUS[@]}-1}")
}

needs() { # COMMAND PACKAGE
	command -v "$1" >/dev/null || fail "$1 is not installed: sudo tests/deps.sh installs the package $2"
}

on_server_cpu() { # NAME COMMAND...: in the server's network
	local name=$1
	shift
	start "$name" srv taskset -c "$SERVER_CPU" "$@"
}

on_client_cpus() { # COMMAND...
	in_cli taskset -c "$CLIENT_CPUS" "$@"
}

listening() {
	[ -n "$(in_srv ss -Hltn "sport = :$PORT")" ]
}

# wait_listening NAME: until that process has its port open
wait_listening() {
	wait_until "listening || ! running $1" 10 "$1 to listen"
	running "$1" || fail "$1 did not start: $(output "$1")"
}

cpu_ms() { # NAME: CPU time of that process so far
	awk '{ sub(/.*\) /, ""); printf "%d", ($12 + $13) * 10 }' "/proc/${PROCESS[$1]}/stat"
}

# cpu_server US: an event loop of one thread that spends so much CPU time on each connection
cpu_server() {
	on_server_cpu server "$TOOLS/serve" "$DST" "$PORT" cpu_us="$1"
	wait_listening server
}

# busy NAME: a job that wants the server's CPU for itself, and gets half; it ends by itself in any case
busy() {
	on_server_cpu "$1" bash -c 'while [ "$SECONDS" -lt 120 ]; do :; done'
}

# certificate BITS: self-signed; the cost of a handshake is that of the private key
certificate() {
	needs openssl openssl
	openssl req -x509 -newkey "rsa:$1" -nodes -keyout /run/e2e/key.pem -out /run/e2e/cert.pem -days 2 -subj /CN=server \
		2>/run/e2e/openssl || fail "openssl: $(tail -n 3 /run/e2e/openssl)"
	cat /run/e2e/cert.pem /run/e2e/key.pem >/run/e2e/tls.pem
}

# tls_server haproxy|nginx: one worker, TLS by /run/e2e/tls.pem, no resumption, all else as the package has it
tls_server() {
	case $1 in
	haproxy)
		needs haproxy haproxy
		cat >/run/e2e/haproxy.cfg <<-EOF
			global
			    maxconn 8000
			    nbthread 1
			    tune.ssl.cachesize 0
			    ssl-default-bind-options no-tls-tickets
			defaults
			    mode http
			    timeout connect 5s
			    timeout client 30s
			    timeout server 30s
			frontend web
			    bind $DST:$PORT ssl crt /run/e2e/tls.pem ciphers ALL:@SECLEVEL=1
			    http-request return status 200 content-type text/plain string "served"
		EOF
		on_server_cpu server haproxy -db -f /run/e2e/haproxy.cfg
		;;
	nginx)
		needs nginx nginx
		cat >/run/e2e/nginx.conf <<-EOF
			daemon off;
			master_process off;
			pid /run/e2e/nginx.pid;
			error_log stderr crit;
			events { worker_connections 16000; }
			http {
			    access_log off;
			    client_body_temp_path /run/e2e/nginx-body;
			    proxy_temp_path /run/e2e/nginx-proxy;
			    fastcgi_temp_path /run/e2e/nginx-fastcgi;
			    uwsgi_temp_path /run/e2e/nginx-uwsgi;
			    scgi_temp_path /run/e2e/nginx-scgi;
			    server {
			        listen $DST:$PORT ssl;
			        ssl_certificate /run/e2e/cert.pem;
			        ssl_certificate_key /run/e2e/key.pem;
			        ssl_protocols TLSv1.2 TLSv1.3;
			        ssl_ciphers ALL:@SECLEVEL=1;
			        ssl_session_cache off;
			        ssl_session_tickets off;
			        location / { return 200 served; }
			    }
			}
		EOF
		on_server_cpu server nginx -c /run/e2e/nginx.conf
		;;
	*) fail "tls_server haproxy|nginx, not '$1'" ;;
	esac
	wait_listening server
}

tls_storm() { # key=value...
	on_client_cpus "$TOOLS/tls_storm" "$DST" "$PORT" "$@"
}

# node_server WORK_MS: socket.io on one event loop
node_server() {
	[ -x "$NODE" ] || fail "$NODE is not there: sudo tests/deps.sh installs the package nodejs"
	[ -d "$NODE_PATH/socket.io" ] || fail "no socket.io in $NODE_PATH: make e2e-binaries installs it (package npm, and the network)"
	on_server_cpu server "$NODE" "$NODE_DIR/server.js" "$DST" "$PORT" "$1"
	wait_listening server
}

# node_clients NAME COUNT PARALLEL LIMIT_S: in the background
node_clients() {
	local name=$1
	shift
	start "$name" cli taskset -c "$CLIENT_CPUS" "$NODE" "$NODE_DIR/clients.js" "http://$DST:$PORT" "$@"
}
