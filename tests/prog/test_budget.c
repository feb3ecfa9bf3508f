// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The verifier's work on each program, against tests/prog/verifier_budget.txt (SYNHOLD_VERIFIER_BUDGET names another
 * file). Kernels before 5.16 do not tell (bpf_prog_info.verified_insns), and kernels differ: the budget leaves room,
 * and a million is the end on all of them.
 */
#include "tests/prog/world.h"

static uint32_t verified(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);

	world_ok(bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &size));
	return info.verified_insns;
}

static uint32_t budget_of(const char *name)
{
	const char *path = getenv("SYNHOLD_VERIFIER_BUDGET");
	char line[128], program[64];
	uint32_t budget = 0, value;
	FILE *file;

	file = fopen(path ? path : "tests/prog/verifier_budget.txt", "r");
	if (!file)
		fail_msg("no budget file: %s", strerror(errno));
	while (fgets(line, sizeof(line), file))
		if (line[0] != '#' && sscanf(line, "%63s %u", program, &value) == 2 && !strcmp(program, name))
			budget = value;
	fclose(file);
	return budget;
}

static void each_program_is_within_its_budget(void **state)
{
	struct bpf_program *prog;
	int programs = 0, over = 0;

	(void)state;
	bpf_object__for_each_program(prog, world.object)
	{
		const char *name = bpf_program__name(prog);
		uint32_t insns = verified(prog), budget = budget_of(name);

		print_message("%-18s %7u of %7u instructions\n", name, insns, budget);
		if (!budget)
			fail_msg("%s has no budget", name);
		over += insns > budget;
		programs++;
	}
	assert_true(programs >= 5);
	assert_int_equal(over, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_program_is_within_its_budget),
	};

	return world_run(tests);
}
