// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "lib/config_lists.h"

/* Beside the file first, so that a full disk leaves the old one as it was. */
static int write_file(const char *path, const struct model *model, const struct config_lists *lists, struct error *err)
{
	char fresh[4096];
	struct stat st;
	FILE *out = NULL;
	int fd, ret;

	if (snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path) >= (int)sizeof(fresh))
		return error_set(err, -ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
	fd = mkostemp(fresh, O_CLOEXEC);
	if (fd >= 0)
		out = fdopen(fd, "w");
	if (!out)
		return error_set(err, errno == EINVAL ? -EIO : -errno, "%s: %s", path, strerror(errno));
	fchmod(fd, !stat(path, &st) ? st.st_mode & 0777 : 0644);
	ret = config_write(out, model, lists);
	if (!ret && fsync(fd))
		ret = -errno;
	if (fclose(out) && !ret)
		ret = -errno;
	if (!ret && rename(fresh, path))
		ret = -errno;
	if (!ret)
		return 0;
	unlink(fresh);
	return error_set(err, ret == -EINVAL ? -EIO : ret, "%s: %s", path, strerror(-ret));
}

static json_t *file_json(const struct model *model, const struct config_lists *lists)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *object = NULL;

	if (out && !config_write(out, model, lists) && !fclose(out))
		object = json_pack("{s:s}", "config", text);
	free(text);
	return object;
}

int cli_save(struct cli *cli, int argc, char **argv)
{
	const char *path = NULL;
	const struct cli_option options[] = {{"output", 'o', CLI_TEXT, &path}, {0}};
	__attribute__((cleanup(model_cleanup))) struct model *model = model_new();
	struct config_lists lists = {0};
	struct cli_words words;
	struct instance inst;
	struct error err = {0};
	int ret;

	ret = cli_parse(cli, argc, argv, options, &words, &err);
	if (!ret && words.count)
		ret = cli_misuse(cli, &err, "'%s' is not accepted here", words.word[0]);
	if (!ret && !model)
		ret = error_set(&err, -ENOMEM, "out of memory");
	if (!ret)
		ret = cli_open_reader(cli, &inst, &err);
	if (!ret) {
		instance_load_model(&inst, model);
		ret = config_lists_collect(&inst, &lists) ? error_set(&err, -ENOMEM, "out of memory") : 0;
		instance_close(&inst);
	}
	if (!ret && path)
		ret = write_file(path, model, &lists, &err);
	if (ret)
		ret = cli_fail(cli, &err);
	else if (cli->json)
		ret = cli_print_json(cli, file_json(model, &lists));
	else if (!path)
		ret = config_write(stdout, model, &lists) ? 1 : cli_finish(cli);
	config_lists_free(&lists);
	return ret;
}
