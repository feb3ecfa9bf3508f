// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/changes.h"
#include "cli/notice.h"
#include "cli/session.h"
#include "cli/tell.h"
#include "lib/units.h"

static const struct key *key_of(const char *assignment)
{
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(assignment, "="), assignment);
	return keys_find(name);
}

/* Keys and values by themselves: wrong ones are refused whatever state the instance is in. */
static int check_words(const struct cli_words *words, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *scratch = model_new();
	int ret = cli_check_twice(words->word + 1, words->count - 1, err);

	if (ret)
		return ret;
	if (!scratch)
		return error_set(err, -ENOMEM, "out of memory");
	snprintf(scratch->service[0].name, sizeof(scratch->service[0].name), "scratch");
	for (unsigned int i = 1; i < words->count && !ret; i++) {
		const struct key *key = key_of(words->word[i]);

		/* a global key of a service is refused as such */
		ret = model_set(scratch, key && key->global && strcmp(words->word[0], "*") ? "scratch" : "*",
				words->word[i], err);
	}
	return ret;
}

static void describe(json_t *list, const struct cli_words *words, const struct model *old, const struct model *now)
{
	for (unsigned int i = 1; i < words->count; i++) {
		const struct key *key = key_of(words->word[i]);

		if (key->global) {
			changes_key(list, key, "*", NULL, NULL, &old->global, &now->global);
			continue;
		}
		for (int id = 0; id < SYNHOLD_SERVICES; id++)
			if (now->service[id].name[0] &&
			    (!strcmp(words->word[0], "*") || !strcmp(words->word[0], now->service[id].name)))
				changes_key(list, key, now->service[id].name, &old->service[id], &now->service[id],
					    NULL, NULL);
	}
}

static int sets(const struct cli_words *words, const char *prefix)
{
	for (unsigned int i = 1; i < words->count; i++)
		if (!strncmp(words->word[i], prefix, strlen(prefix)))
			return 1;
	return 0;
}

/* What is worth saying of the change besides. note: the end of the answer, may become empty. */
static void remark(const struct instance *inst, const struct cli_words *words, const struct model *now, char *note,
		   size_t size)
{
	const char *service = strcmp(words->word[0], "*") ? words->word[0] : NULL;

	if (!sets(words, "mode="))
		notice_monitor(inst, service, note, size);
	if (sets(words, "window"))
		notice_windows(now, service, notice_warn);
	if (sets(words, "action="))
		notice_hold(inst, now, service, notice_warn);
	session_notice(inst, now, notice_warn);
}

/* The policy, and with --allow-me the address of the session, as one change. */
static int commit(struct instance *inst, const struct model *model, int allow_me, uint64_t confirm_ns,
		  struct error *err)
{
	struct config_lists lists = {0};
	int ret;

	if (!allow_me)
		return instance_commit(inst, model, confirm_ns, err);
	ret = lists_read(inst, &lists);
	if (!ret)
		ret = session_allow(&lists);
	if (ret)
		error_set(err, ret, "--allow-me: %s",
			  ret == -ENOENT ? "this is no SSH session, as far as can be seen" : strerror(-ret));
	else
		ret = instance_commit_lists(inst, model, &lists, confirm_ns, err);
	config_lists_free(&lists);
	return ret;
}

static int change(struct instance *inst, const struct cli_words *words, int allow_me, uint64_t confirm_ns, json_t *list,
		  char *note, size_t size, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *old = model_new(), *now = model_new();
	int ret = 0;

	if (!old || !now)
		return error_set(err, -ENOMEM, "out of memory");
	instance_load_model(inst, old);
	*now = *old;
	for (unsigned int i = 1; i < words->count && !ret; i++)
		ret = model_set(now, words->word[0], words->word[i], err);
	if (!ret)
		ret = model_compile(now, err);
	if (ret)
		return ret;
	ret = commit(inst, now, allow_me, confirm_ns, err);
	if (!ret) {
		describe(list, words, old, now);
		remark(inst, words, now, note, size);
	}
	return ret == -EINVAL ? -EIO : ret;
}

int cli_set(struct cli *cli, int argc, char **argv)
{
	uint64_t confirm_ns = 0;
	int allow_me = 0;
	const struct cli_option options[] = {{"confirm", 0, CLI_DURATION, &confirm_ns},
					     {"allow-me", 0, CLI_FLAG, &allow_me},
					     {0}};
	json_t *list = json_array();
	struct cli_words words;
	struct instance inst;
	struct error err = {0};
	char wait[32], note[160] = "";
	int ret;

	ret = cli_parse(cli, argc, argv, options, &words, &err);
	if (!ret && words.count < 2)
		ret = cli_misuse(cli, &err, words.count ? "no KEY=VALUE given" : "no service given");
	if (!ret)
		ret = check_words(&words, &err);
	if (!ret)
		ret = cli_open_writer(cli, &inst, &err);
	if (!ret) {
		ret = change(&inst, &words, allow_me, confirm_ns, list, note, sizeof(note), &err);
		if (!ret)
			tell_changes(&inst, "set", list, confirm_ns ? " (unless confirmed, undone soon)" : "");
		instance_close(&inst);
	}
	if (ret) {
		json_decref(list);
		return cli_fail(cli, &err);
	}
	if (cli->json)
		return cli_print_json(cli, json_pack("{s:o,s:f}", "changes", list, "confirm_seconds",
						     (double)confirm_ns / 1e9));
	changes_print(list, note);
	json_decref(list);
	if (confirm_ns)
		printf("undone in %s unless confirmed: synhold confirm\n",
		       units_format_duration(wait, sizeof(wait), confirm_ns));
	return cli_finish(cli);
}
