// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/origin.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One line a word: a letter for its kind, a blank, the word. */
#define ORIGIN_CONFIG 'c'
#define ORIGIN_PORT 'p'
#define ORIGIN_KEY 'k'

static void origin_path(const struct instance *inst, char path[192], const char *suffix)
{
	snprintf(path, 192, "%s/origin%s", inst->run_dir, suffix);
}

int origin_write(const struct instance *inst, const struct attach_args *args)
{
	char path[192], fresh[192], whole[PATH_MAX];
	FILE *out;
	int ret;

	if (!args->config || !realpath(args->config, whole) || strchr(whole, '\n'))
		return -EINVAL;
	origin_path(inst, path, "");
	origin_path(inst, fresh, ".new");
	out = fopen(fresh, "we");
	if (!out)
		return -errno;
	fprintf(out, "%c %s\n", ORIGIN_CONFIG, whole);
	for (unsigned int i = 0; i < args->ports.count; i++)
		fprintf(out, "%c %s\n", ORIGIN_PORT, args->ports.word[i]);
	for (unsigned int i = 0; i < args->keys.count; i++)
		fprintf(out, "%c %s\n", ORIGIN_KEY, args->keys.word[i]);
	ret = ferror(out) ? -EIO : 0;
	if (fclose(out) || (!ret && rename(fresh, path)))
		ret = -errno;
	if (ret)
		unlink(fresh);
	return ret;
}

static int read_all(const char *path, char **text)
{
	FILE *in = fopen(path, "re");
	size_t size = 0;
	int ret = 0;

	*text = NULL;
	if (!in)
		return -errno;
	if (getdelim(text, &size, '\0', in) < 0)
		ret = -EIO;
	fclose(in);
	return ret;
}

int origin_read(const struct instance *inst, struct attach_args *args, char **text, struct error *err)
{
	char path[192], *save = NULL;

	origin_path(inst, path, "");
	if (!read_all(path, text))
		for (char *line = strtok_r(*text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
			struct cli_words *words = line[0] == ORIGIN_PORT ? &args->ports : &args->keys;

			if (line[0] == ORIGIN_CONFIG)
				args->config = line + 2;
			else if (words->count < CLI_WORDS_MAX)
				words->word[words->count++] = line + 2;
		}
	if (!args->config && !access(CONFIG_DEFAULT_PATH, F_OK))
		args->config = CONFIG_DEFAULT_PATH;
	if (args->config)
		return 0;
	error_set(err, -ENOENT, "instance '%s' runs without a config file, and there is no " CONFIG_DEFAULT_PATH,
		  inst->name);
	return error_hint(err, -ENOENT, "name one with -c FILE; synhold save writes the running policy as one");
}

void origin_remove(const struct instance *inst)
{
	static const char *const files[] = {"origin", "lock"};
	struct stat st;
	char path[192];

	if (!stat(inst->pin_dir, &st)) /* another command has made it anew */
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/%s", inst->run_dir, files[i]);
		unlink(path);
	}
	rmdir(inst->run_dir);
	rmdir(INSTANCE_RUN_ROOT);
}
