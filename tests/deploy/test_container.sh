#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The container image as its Containerfile says, on a base made of Debian's packages, and a pod of it as deploy/kubernetes
# has it: its privileges, mounts, memory and settings, as root of this machine and nothing more.
. "$(dirname "$0")/lib.sh"

MANIFEST=$DEPLOY_DIR/../../deploy/kubernetes/synhold.yaml

podman()
{
	in_srv env HOME="$OWN" CONTAINERS_CONF="$OWN/containers.conf" CONTAINERS_STORAGE_CONF="$OWN/storage.conf" podman "$@"
}

images_up()
{
	cat >"$OWN/containers.conf" <<-EOF
		[engine]
		cgroup_manager = "cgroupfs"
		events_logger = "file"
		runtime = "runc"
	EOF
	cat >"$OWN/storage.conf" <<-EOF
		[storage]
		driver = "overlay"
		graphroot = "$OWN/images"
		runroot = "/run/containers"
	EOF
	mkdir -p "$OWN/.config/containers" "$OWN/source"
	echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$OWN/.config/containers/policy.json"
	tar -C "$OWN/source" --strip-components=1 -xzf "${DIST:?is the archive of make dist}"
	TMPDIR=$OWN podman import -q "$ROOTS/base.tar" localhost/debian:12 >/run/e2e/build 2>&1 || fail "$(tail -n 5 /run/e2e/build)"
	# shellcheck disable=SC2046 # one image, as the manifest names it
	TMPDIR=$OWN podman build --build-arg BASE=localhost/debian:12 --volume "$ROOTS/debs:/debs:ro" --network=none \
		-f "$OWN/source/deploy/kubernetes/Containerfile" -t "$(of_daemonset .containers[0].image)" "$OWN/source" >/run/e2e/build 2>&1 ||
		fail "podman build: $(tail -n 20 /run/e2e/build)"
}

# of_daemonset FILTER: of the pod's specification
of_daemonset()
{
	yq -r 'select(.kind == "DaemonSet") | .spec.template.spec | '"$1" "$MANIFEST"
}

# What a cluster would make of the manifest, with an operator's interface and port. Probes are ours to make: podman would
# need systemd for them, and curl in the image.
pod_up()
{
	sed "s/eth0/s0/; s/port = 443/port = $PORT/; s/mode = monitor/mode = enforce/" "$MANIFEST" |
		yq -y 'if .kind == "ConfigMap" then . elif .kind == "DaemonSet" then
			{apiVersion: "v1", kind: "Pod", metadata: {name: .metadata.name, labels: .spec.template.metadata.labels},
			 spec: (.spec.template.spec | del(.containers[].livenessProbe, .containers[].readinessProbe, .containers[].ports, .nodeSelector, .priorityClassName))}
			else empty end' >/run/e2e/pod.yaml
	podman kube play --network=host /run/e2e/pod.yaml >/run/e2e/play 2>&1 || fail "$(tail -n 5 /run/e2e/play)"
	wait_until "probe readinessProbe" 30 "the pod to be ready"
	probe livenessProbe || fail "ready, and not alive"
}

probe() # KIND
{
	in_srv curl -sf -o /run/e2e/probe "http://10.9.0.2:9477$(of_daemonset ".containers[0].$1.httpGet.path")"
}

synhold()
{
	podman exec synhold-synhold synhold "$@"
}

test_pod()
{
	local before want have pid
	net_up
	images_up
	pod_up
	server
	expect_line "$(storm clients=20 patience=3000)" served=20
	expect -s web syn.seen=20 handshakes.settled=20
	pid=$(podman inspect -f '{{.State.Pid}}' synhold-synhold)
	# what is written in the manifest is what it was given
	have=$(podman inspect -f '{{range .EffectiveCaps}}{{.}} {{end}}' synhold-synhold | tr ' ' '\n' | sed 's/^CAP_//' | sort | xargs)
	want=$(of_daemonset '.containers[0].securityContext.capabilities.add[]' | sort | xargs)
	assert_eq "$have" "$want" "capabilities of the container"
	assert_eq "$(podman inspect -f '{{.HostConfig.ReadonlyRootfs}}' synhold-synhold)" true "root file system read only"
	assert_eq "$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$pid/status")" 1 NoNewPrivs
	assert_eq "$(podman inspect -f '{{.HostConfig.Memory}}' synhold-synhold)" $((256 << 20)) "bytes of memory"
	! podman logs synhold-synhold 2>&1 | grep -E 'sandbox refused|cannot be' || fail "see above"

	synhold close web >/run/e2e/out
	expect_line "$(storm clients=10 first=100 do=dial patience=500)" connected=0
	expect -s web over_limit.closed\>=10 state=closed
	assert_match "$(in_srv curl -sf http://10.9.0.2:9477/metrics)" 'synhold_over_limit_total\{[^}]*reason="closed"[^}]*\} [1-9]' metrics

	# the pod is rolled: the limits stay, and the next one goes on with them
	before=$(counters)
	podman pod stop -t 10 synhold >/run/e2e/out
	assert_eq "$(podman inspect -f '{{.State.ExitCode}}' synhold-synhold)" 0 "exit status of the daemon"
	expect_line "$(storm clients=10 first=200 do=dial patience=500)" connected=0
	podman kube down /run/e2e/pod.yaml >/run/e2e/out
	pod_up
	not_backwards "$before"
	synhold open web >/run/e2e/out
	expect_line "$(storm clients=20 first=300 patience=3000)" served=20
	wait_until quiet 20 "the counters to come to rest"
	synhold detach --all >/run/e2e/out
	podman kube down /run/e2e/pod.yaml >/run/e2e/out
	unset -f synhold
	no_trace s0
}

run_deploy "$@"
