// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/attach_args.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "lib/cpus.h"
#include "lib/chain.h"
#include "lib/keys.h"
#include "lib/spec.h"

static int parse_mode(const char *text, enum deploy_mode *mode, struct error *err)
{
	static const char *const words[] = {"auto", "native", "generic"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text, words[i])) {
			*mode = (enum deploy_mode)i;
			return 0;
		}
	error_set(err, -EINVAL, "--mode '%s' is not accepted", text);
	return error_hint(err, -EINVAL, "accepted: auto, native or generic");
}

static int parse_cpus(struct attach_args *args, struct error *err)
{
	long count = sysconf(_SC_NPROCESSORS_CONF);
	int ret = cpus_parse(args->cpus, count > 0 ? (unsigned int)count : 1, &args->cpu_set);

	if (!ret)
		return 0;
	error_set(err, -EINVAL, "--cpus '%s' is not accepted", args->cpus);
	if (ret == -ERANGE)
		return error_hint(err, -EINVAL, "accepted: " CPUS_FORM "; this machine has 0 to %ld", count - 1);
	return error_hint(err, -EINVAL, "accepted: " CPUS_FORM);
}

static int interface_word(const char *word, struct attach_args *args, struct error *err)
{
	size_t length = strlen(word);

	if (length == 0 || length >= IF_NAMESIZE || strpbrk(word, "/= \t\n:")) {
		error_set(err, -EINVAL, "'%s' is neither an interface nor KEY=VALUE", word);
		return error_hint(err, -EINVAL,
				  "an interface has up to 15 characters; synhold help keys lists the keys");
	}
	for (unsigned int i = 0; i < args->interfaces.count; i++)
		if (!strcmp(args->interfaces.word[i], word))
			return 0;
	args->interfaces.word[args->interfaces.count++] = word;
	return 0;
}

/* Keys and ports by themselves, so that a wrong one is refused whatever state the system is in. */
static int check_words(const struct attach_args *args, struct error *err)
{
	struct synhold_global_policy global = {0};
	struct synhold_policy service = {0};
	struct synhold_specs specs;
	char name[SYNHOLD_NAME_LEN];
	int ret = 0;

	for (unsigned int i = 0; i < args->ports.count && !ret; i++) {
		memset(&specs, 0, sizeof(specs));
		ret = spec_parse(args->ports.word[i], name, &specs, err);
	}
	for (unsigned int i = 0; i < args->keys.count && !ret; i++) {
		size_t length = strcspn(args->keys.word[i], "=");
		char key[32];

		snprintf(key, sizeof(key), "%.*s", (int)length, args->keys.word[i]);
		ret = keys_set(&service, &global, key, args->keys.word[i] + length + 1, err);
	}
	return ret;
}

int attach_args_parse(struct cli *cli, int argc, char **argv, int is_run, struct attach_args *args, struct error *err)
{
	const char *mode = NULL;
	const struct cli_option shared[] = {
		{"port", 'p', CLI_WORDS, &args->ports},
		{"config", 'c', CLI_TEXT, &args->config},
		{"mode", 0, CLI_TEXT, &mode},
		{is_run ? "metrics" : "confirm", 0, is_run ? CLI_TEXT : CLI_DURATION,
		 is_run ? (void *)&args->metrics : (void *)&args->confirm_ns},
		{"chain", 0, CLI_FLAG, &args->chain},
		{"allow-me", 0, CLI_FLAG, &args->allow_me},
		{is_run ? "detach-on-exit" : NULL, 0, CLI_FLAG, &args->detach_on_exit},
		{"cpus", 0, CLI_TEXT, &args->cpus},
		{"no-sandbox", 0, CLI_FLAG, &args->no_sandbox},
		{"group", 0, CLI_TEXT, &args->group},
		{0},
	};
	struct cli_words words;
	int ret;

	memset(args, 0, sizeof(*args));
	ret = cli_parse(cli, argc, argv, shared, &words, err);
	if (!ret && mode)
		ret = parse_mode(mode, &args->mode, err);
	if (!ret && args->cpus)
		ret = parse_cpus(args, err);
	for (unsigned int i = 0; i < words.count && !ret; i++) {
		if (model_is_assignment(words.word[i]))
			args->keys.word[args->keys.count++] = words.word[i];
		else
			ret = interface_word(words.word[i], args, err);
	}
	if (!ret && args->interfaces.count > ATTACH_INTERFACES_MAX)
		ret = cli_misuse(cli, err, "more than %d interfaces", ATTACH_INTERFACES_MAX);
	if (!ret && !args->interfaces.count && !is_run)
		ret = cli_misuse(cli, err, "no interface given");
	if (!ret)
		ret = check_words(args, err);
	return !ret && args->chain ? chain_supported(err) : ret;
}

/* A service that lives on keeps its id, and with it its counters and its handshakes in flight; new ones take places
 * nobody had. */
static int keep_ids(struct model *model, const struct model *running)
{
	__attribute__((cleanup(model_cleanup))) struct model *was = model_new();
	int place[SYNHOLD_SERVICES];

	if (!was)
		return -ENOMEM;
	*was = *model;
	memset(model->service, 0, sizeof(model->service));
	memset(model->specs, 0, sizeof(model->specs));
	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		place[id] = was->service[id].name[0] ? model_find(running, was->service[id].name) : -ENOENT;
	for (int strict = 1; strict >= 0; strict--)
		for (int id = 0; id < SYNHOLD_SERVICES; id++) {
			int to = place[id];

			if (!was->service[id].name[0])
				continue;
			for (int i = 0; to < 0 && i < SYNHOLD_SERVICES; i++) {
				int taken = strict && running->service[i].name[0];

				for (int j = 0; j < SYNHOLD_SERVICES && !taken; j++)
					taken = place[j] == i;
				if (!taken)
					to = i;
			}
			place[id] = to;
		}
	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		if (was->service[id].name[0] && place[id] >= 0) {
			model->service[place[id]] = was->service[id];
			model->specs[place[id]] = was->specs[id];
		}
	return 0;
}

static int set_keys(const struct attach_args *args, struct model *model, const unsigned char *fresh, struct error *err)
{
	int ret = cli_check_twice(args->keys.word, args->keys.count, err);

	for (unsigned int i = 0; i < args->keys.count && !ret; i++) {
		const char *word = args->keys.word[i];
		const struct key *key;
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
		key = keys_find(name);
		if (!args->ports.count || !key || key->global) {
			ret = model_set(model, "*", word, err);
			continue;
		}
		for (int id = 0; id < SYNHOLD_SERVICES && !ret; id++)
			if (fresh[id])
				ret = model_set(model, model->service[id].name, word, err);
	}
	return ret;
}

int attach_args_model(const struct attach_args *args, const struct model *running, struct model *model,
		      struct config_lists *lists, struct error *err)
{
	unsigned char fresh[SYNHOLD_SERVICES] = {0};
	int ret;

	if (args->config) {
		ret = config_read(args->config, model, lists, err);
		if (ret)
			return ret;
		if (running && keep_ids(model, running))
			return error_set(err, -ENOMEM, "out of memory");
	} else if (running) {
		*model = *running;
	}
	for (unsigned int i = 0; i < args->ports.count; i++) {
		ret = model_add_port(model, args->ports.word[i], fresh, err);
		if (ret < 0)
			return ret;
	}
	ret = set_keys(args, model, fresh, err);
	return ret ? ret : model_compile(model, err);
}
