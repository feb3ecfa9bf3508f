#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The package and its units, on a Debian that has never seen them and under its own systemd.
. "$(dirname "$0")/lib.sh"

SHUT=8001

apt()
{
	guest apt-get -q -y "$@" >>/run/e2e/apt 2>&1 || fail "apt-get $*: $(tail -n 20 /run/e2e/apt)"
}

install_package()
{
	apt update
	apt install /root/synhold.deb
}

# property NAME [UNIT]
property()
{
	guest systemctl show -P "$1" "${2:-synhold}"
}

# says UNIT PATTERN: in the journal
says()
{
	wait_until "journal $1 | grep -qE -- '$2'" 10 "the journal of $1 to say '$2': $(journal "$1" | tail -n 5)"
}

settings() # [KEY=VALUE...] of web
{
	cat >"$GUEST/etc/synhold/synhold.conf" <<-EOF
		[service web]
		port = $PORT
		$(printf '%s\n' "$@" | sed 's/=/ = /')
		[service shut]
		port = $SHUT
		action = drop
		closed = yes
	EOF
}

configure()
{
	settings "$@"
	guest sed -i 's/^INTERFACES=.*/INTERFACES="s0"/; s/^OPTIONS=.*/OPTIONS="--metrics 127.0.0.1:9477"/' /etc/default/synhold
}

# With clients at a closed port all the time: one that gets in was not kept out for a moment. And a connection from before.
fire() # SECONDS
{
	SERVER_PORT=$SHUT server shut
	SERVER_PORT=8002 server echo
	start outside cli "$TOOLS/storm" "$DST" "$SHUT" do=dial first=30000 clients=$(($1 * 100)) rate=100 patience=300 \
		limit=$(($1 * 1000))
	start stream cli "$TOOLS/stream" "$DST" 8002 "$1"
	wait_until "grep -q streaming $LOGS/stream.log" 5
	expect -q -s shut syn.dropped\>=20
}

# kept_out: the fire was on until now, and went on for nothing
kept_out()
{
	running outside || fail "the fire ended too early to say anything"
	finish stream 60
	expect_line "$(output stream)" wrong=0
	assert_eq "$(field received "$(output stream)")" "$(field sent "$(output stream)")" "bytes of the stream"
	finish outside 60
	expect_line "$(output outside)" connected=0
	stop shut
	stop echo
}

started() # [UNIT]
{
	guest systemctl start "${1:-synhold}" || fail "start of ${1:-synhold}: $(journal "${1:-synhold}" | tail -n 20)"
	assert_eq "$(property ActiveState "${1:-synhold}")" active "the unit, as soon as it is started"
}

# A newer package: this one, with programs whose types are those of a later version.
newer_package()
{
	guest dpkg-deb -R /root/synhold.deb /root/newer
	install -m 0755 "$(dirname "$SYNHOLD")/next/synhold" "$GUEST/root/newer/usr/sbin/synhold"
	guest sed -i 's/^Version: .*/&+next/' /root/newer/DEBIAN/control
	guest sed -i '/usr.sbin.synhold$/d' /root/newer/DEBIAN/md5sums
	guest dpkg-deb -b /root/newer /root/newer.deb >/run/e2e/out
}

test_lintian()
{
	lintian --allow-root --fail-on error,warning "$DEB" >/run/e2e/out 2>&1 || fail "$(cat /run/e2e/out)"
}

test_package_from_install_to_purge()
{
	local pid before link
	net_up
	guest_up
	install_package
	# nothing is done before somebody has said what
	assert_eq "$(property ActiveState)" inactive "the unit of a package that has just been installed"
	assert_eq "$(property UnitFileState)" disabled "the unit of a package that has just been installed"
	no_trace s0
	! guest systemctl start synhold || fail "it starts without an interface"
	says synhold "no interface given"
	assert_eq "$(property NRestarts)" 0 "restarts after a start with wrong words"
	configure
	server
	guest systemctl reset-failed synhold
	started
	guest systemctl enable synhold 2>/run/e2e/out
	expect_line "$(storm clients=20 patience=3000)" served=20
	expect -q -s web handshakes.settled\>=20

	newer_package
	pid=$(property MainPID)
	link=$(bpftool -j link show pinned "$(echo /sys/fs/bpf/synhold/default/link_*)" | jq .id)
	before=$(counters)
	fire 60
	apt install /root/newer.deb
	assert_eq "$(property ActiveState)" active "the unit after an upgrade"
	[ "$(property MainPID)" != "$pid" ] || fail "the upgrade left the old daemon running"
	assert_eq "$(property NRestarts)" 0 "restarts that nobody asked for"
	assert_eq "$(bpftool -j link show pinned "$(echo /sys/fs/bpf/synhold/default/link_*)" | jq .id)" "$link" "the link"
	not_backwards "$before"
	expect -q -s shut state=closed
	expect_line "$(storm clients=20 first=100 patience=3000)" served=20
	kept_out

	apt remove synhold
	no_trace s0
	assert_eq "$(instances)" "" "instances after the package was removed"
	assert_eq "$(grep -c s0 "$GUEST/etc/default/synhold")" 1 "settings that a removal keeps"
	apt purge synhold
	assert_eq "$(find "$GUEST"/etc "$GUEST"/var/lib "$GUEST"/usr "$GUEST"/lib/systemd -name '*synhold*' ! -path '*/dpkg/*')" "" \
		"what the package left behind"
	assert_eq "$(guest systemctl --failed --no-legend)" "" "units that failed"
	guest_down
}

# The daemon is stopped by SIGSTOP; nobody but the watchdog notices.
test_watchdog()
{
	local pid
	net_up
	guest_up
	install_package
	configure
	started
	pid=$(property MainPID)
	fire 40
	guest kill -STOP "$pid"
	wait_until '[ "$(json .daemon.alive)" = false ]' 10 "the heartbeat to grow stale"
	assert_eq "$(property ActiveState)" active "the unit, before its watchdog has noticed"
	wait_until "[ \$(property NRestarts) = 1 ] && [ \$(property SubState) = running ]" 25 "systemd to start it again"
	[ "$(property MainPID)" != "$pid" ] || fail "it is the same process"
	wait_until '[ "$(json .daemon.alive)" = true ]' 10 "the heartbeat"
	says synhold "Watchdog timeout"
	guest kill -KILL "$(property MainPID)"
	wait_until "[ \$(property NRestarts) = 2 ] && [ \$(property SubState) = running ]" 25 "systemd to start it again"
	wait_until '[ "$(json .daemon.alive)" = true ]' 10 "the heartbeat"
	kept_out
	server
	expect_line "$(storm clients=20 patience=3000)" served=20
	guest_down
	# the machine is down, the limits are not: with no daemon they are static
	assert_match "$(ip -n "$SRV" link show s0)" "prog/xdp" "s0 with the system shut down"
}

test_unit()
{
	local pid file
	net_up
	guest_up
	install_package
	guest systemd-analyze verify --man=no synhold.service synhold@s0.service synhold-metrics.service synhold-metrics.timer \
		>/run/e2e/out 2>&1 || fail "verify: $(cat /run/e2e/out)"
	assert_eq "$(grep -c synhold /run/e2e/out)" 0 "lines of verify ($(cat /run/e2e/out))"
	configure window=none
	started
	guest systemd-analyze security --no-pager synhold.service >/run/e2e/security
	echo "figure: $(tail -n 1 /run/e2e/security | sed 's/^[^A-Za-z]*//')"
	pid=$(property MainPID)
	# what the unit takes away, and what the daemon needs of what is left
	assert_eq "$(guest grep -c '^Seccomp:.*2' "/proc/$pid/status")" 1 "filter of system calls"
	! journal synhold | grep -E 'sandbox refused|cannot be |warning' || fail "see above"
	server
	expect_line "$(storm clients=20 patience=3000)" served=20
	wait_until 'in_srv curl -sf http://127.0.0.1:9477/readyz' 10
	assert_match "$(in_srv curl -sf http://127.0.0.1:9477/metrics)" "synhold_daemon_up\{shield=\"default\"\} 1" metrics

	# reload: a good file is in force at once, a bad one is refused as a whole and the journal says why
	settings mode=monitor
	guest systemctl reload synhold
	expect -s web state=monitor
	settings mode=sometimes
	guest systemctl reload synhold || true
	says synhold "sometimes"
	expect -s web state=monitor
	assert_eq "$(property MainPID)" "$pid" "the process after reloads"
	assert_eq "$(property ActiveState)" active "the unit after a reload of a bad file"
	settings mode=enforce

	# for the textfile collector
	guest mkdir -p /var/lib/prometheus/node-exporter
	started synhold-metrics.timer
	file=$GUEST/var/lib/prometheus/node-exporter/synhold.prom
	guest systemctl start synhold-metrics.service
	assert_eq "$(grep -c '^synhold_build_info' "$file")" 1 "metrics in the file"
	assert_eq "$(property Result synhold-metrics.service)" success "the unit of the metrics"

	fire 20
	guest systemctl stop synhold
	assert_eq "$(property Result)" success "the end of the daemon"
	assert_eq "$(property NRestarts)" 0 "restarts"
	expect -q -s shut state=closed
	kept_out
	# a file that is wrong: the reason, and no second try
	settings mode=sometimes
	! guest systemctl start synhold || fail "it starts with a wrong file"
	says synhold "sometimes"
	assert_eq "$(property NRestarts)" 0 "restarts after a wrong file"
	synhold detach --all >/run/e2e/out
	guest_down
}

run_deploy "$@"
