// SPDX-License-Identifier: GPL-2.0-or-later
/* What `check` finds about cards that a test machine does not have: what, how bad, and the command that helps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/check.h"

static struct check check;

static struct nic card(const char *driver)
{
	struct nic nic = {.index = 7,
			  .mtu = 1500,
			  .name = "eth0",
			  .up = 1,
			  .queues = 4,
			  .queues_max = 8,
			  .queues_word = "combined",
			  .xdp_features = NIC_XDP_BASIC | NIC_XDP_RX_SG};

	snprintf(nic.driver, sizeof(nic.driver), "%s", driver);
	return nic;
}

/* The finding of that name about the card must be of this level, with this command, and mention this. */
static void expect(const struct nic *nic, const char *what, const char *level, const char *fix, const char *why)
{
	json_t *finding, *found = NULL;
	size_t i;

	json_decref(check.findings);
	check = (struct check){.instance = "default", .findings = json_array()};
	check_nic(&check, nic);
	json_array_foreach (check.findings, i, finding)
		if (!strcmp(json_string_value(json_object_get(finding, "what")), what)) {
			assert_null(found);
			found = finding;
		}
	if (!level) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(json_string_value(json_object_get(found, "level")), level);
	assert_string_equal(json_string_value(json_object_get(found, "fix")), fix);
	assert_non_null(strstr(json_string_value(json_object_get(found, "why")), why));
}

static void good_card(void **state)
{
	struct nic nic = card("mlx5_core");
	json_t *finding;
	size_t i;

	(void)state;
	expect(&nic, "driver", "ok", "", "mlx5_core runs XDP natively, with frames of several pages");
	expect(&nic, "MTU", "ok", "", "1500");
	assert_int_equal(check.worst, CHECK_OK);
	json_array_foreach (check.findings, i, finding)
		assert_string_equal(json_string_value(json_object_get(finding, "level")), "ok");
}

static void driver_and_mtu(void **state)
{
	struct nic nic = card("r8169");

	(void)state;
	nic.xdp_features = 0;
	expect(&nic, "driver", "warn", "--mode generic says that you know; another card or driver if the load is high",
	       "r8169 does not run XDP natively");
	nic.xdp_features = NIC_XDP_UNKNOWN;
	expect(&nic, "driver", "ok", "", "shows when attaching");
	nic = card("virtio_net");
	nic.xdp_features = NIC_XDP_BASIC;
	nic.mtu = 3498;
	expect(&nic, "MTU", "ok", "", "3498");
	nic.mtu = 9000;
	expect(&nic, "MTU", "warn", "ip link set dev eth0 mtu 3498, or --mode generic", "9000");
	assert_int_equal(check.worst, CHECK_WARN);
	nic.xdp_features |= NIC_XDP_RX_SG;
	expect(&nic, "MTU", "ok", "", "9000");
	nic.up = 0;
	expect(&nic, "link", "warn", "ip link set dev eth0 up", "is down");
}

static void offloads(void **state)
{
	struct nic nic = card("ixgbe");

	(void)state;
	nic.lro = nic.gro_hw = nic.rxvlan = -1;
	expect(&nic, "LRO", NULL, NULL, NULL);
	nic.lro = 1;
	expect(&nic, "LRO", "warn", "ethtool -K eth0 lro off", "refuse native XDP");
	nic.lro = 0;
	expect(&nic, "LRO", "ok", "", "off");
	nic.gro_hw = 1;
	expect(&nic, "hardware GRO", "warn", "ethtool -K eth0 rx-gro-hw off", "refuse native XDP");
	nic.gro_hw = 0;
	expect(&nic, "hardware GRO", NULL, NULL, NULL);
}

static void vlan_tags(void **state)
{
	struct nic nic = card("igb");

	(void)state;
	nic.rxvlan = 1;
	expect(&nic, "VLAN tags", NULL, NULL, NULL);
	strcpy(nic.vlan, "eth0.5");
	expect(&nic, "VLAN tags", "fail", "ethtool -K eth0 rxvlan off", "eth0.5 is on top of eth0, which strips");
	assert_int_equal(check.worst, CHECK_FAIL);
	nic.rxvlan = 0;
	expect(&nic, "VLAN tags", "ok", "", "stay in the frame");
	strcpy(nic.kind, "veth");
	expect(&nic, "VLAN tags", "warn", "ethtool -K PEER txvlan off, on the other end of the veth pair",
	       "loses its tag");
}

static void queues(void **state)
{
	struct nic nic = card("ena");
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char fix[64];

	(void)state;
	expect(&nic, "queues", NULL, NULL, NULL);
	nic.queues = 8;
	expect(&nic, "queues", "warn", "ethtool -L eth0 combined 4", "8 of 8 in use: native XDP on ena wants half");
	strcpy(nic.driver, "virtio_net");
	expect(&nic, "queues", "warn", "ethtool -L eth0 combined 4", "on virtio_net");
	strcpy(nic.driver, "ice");
	expect(&nic, "queues", NULL, NULL, NULL);
	nic.queues = 0;
	expect(&nic, "RSS", NULL, NULL, NULL);
	nic.queues = 1;
	if (cpus > 1) {
		snprintf(fix, sizeof(fix), "ethtool -L eth0 combined %ld", cpus < 8 ? cpus : 8);
		expect(&nic, "RSS", "warn", fix, "1 of 8 queues in use: one CPU judges every packet");
	}
	strcpy(nic.kind, "veth");
	expect(&nic, "RSS", "ok", "", "1 of 8 queues in use");
	nic.xdp_features = 0;
	strcpy(nic.queues_word, "rx");
	expect(&nic, "driver", "warn", "ethtool -L eth0 rx 8",
	       "as many receive queues as its peer sends by; eth0 has 1");
}

static void place(void **state)
{
	struct nic nic = card("bonding");

	(void)state;
	strcpy(nic.kind, "bond");
	strcpy(nic.below, "eth1 eth2");
	expect(&nic, "place", "warn", "synhold attach eth1 eth2", "eth0 is a bond");
	strcpy(nic.kind, "team");
	expect(&nic, "place", "warn", "synhold attach eth1 eth2", "eth0 is a team");
	strcpy(nic.kind, "ipvlan");
	strcpy(nic.below, "eth1");
	expect(&nic, "place", "warn", "synhold attach eth1", "eth0 is a ipvlan");
	strcpy(nic.kind, "vlan");
	nic.below[0] = '\0';
	expect(&nic, "place", "warn", "synhold attach CARD, the card below it", "generic mode only");
	nic = card("ixgbe");
	strcpy(nic.master, "bond0");
	strcpy(nic.master_kind, "bond");
	expect(&nic, "place", "ok", "", "eth0 is a member of bond0: attach to every member");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_card), cmocka_unit_test(driver_and_mtu), cmocka_unit_test(offloads),
		cmocka_unit_test(vlan_tags), cmocka_unit_test(queues),         cmocka_unit_test(place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
