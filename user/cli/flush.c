// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/tell.h"
#include "lib/flush.h"
#include "lib/model.h"
#include "lib/sockets.h"

struct finding {
	const struct synhold_specs *specs;
	unsigned int listeners;
};

static void count_listener(void *ctx, const struct sockets_listener *listener)
{
	struct finding *f = ctx;

	f->listeners += sockets_serves(listener, f->specs) != 0;
}

static int flush_named(struct instance *inst, const char *name, struct flush_result *result, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *model = model_new();
	struct finding finding = {0};
	int id, ret;

	if (!model)
		return error_set(err, -ENOMEM, "out of memory");
	instance_load_model(inst, model);
	id = model_require(model, name, err);
	if (id < 0)
		return id;
	finding.specs = &model->specs[id];
	ret = sockets_listeners(count_listener, &finding);
	if (ret)
		return error_set(err, ret == -EINVAL ? -EIO : ret, "the listeners of %s cannot be read: %s", name,
				 strerror(-ret));
	ret = flush_service(finding.specs, result, err);
	if (ret || finding.listeners || result->reset)
		return ret == -EINVAL ? -EIO : ret;
	error_set(err, -ENOENT, "nothing listens for %s in this network namespace", name);
	return error_hint(err, -ENOENT, "run it in the server's own: nsenter --net=/proc/PID/ns/net synhold flush %s",
			  name);
}

int cli_flush(struct cli *cli, int argc, char **argv)
{
	struct flush_result result = {0};
	struct cli_words words;
	struct instance inst;
	struct error err = {0};
	int ret;

	ret = cli_parse(cli, argc, argv, NULL, &words, &err);
	if (!ret && words.count != 1)
		ret = cli_misuse(cli, &err, words.count ? "one service at a time" : "no service given");
	if (!ret)
		ret = cli_open_reader(cli, &inst, &err);
	if (!ret) {
		ret = flush_named(&inst, words.word[0], &result, &err);
		if (!ret)
			tell(&inst, "%s: flush, %u connections reset", words.word[0], result.reset);
		instance_close(&inst);
	}
	if (ret)
		return cli_fail(cli, &err);
	if (cli->json)
		return cli_print_json(cli, json_pack("{s:s,s:i,s:i,s:i}", "service", words.word[0], "waiting",
						     (int)result.waiting, "reset", (int)result.reset, "left",
						     (int)result.gone));
	printf("%s: %u connections that waited to be accepted were reset", words.word[0], result.reset);
	if (result.gone)
		printf("; %u were accepted or closed meanwhile and left alone", result.gone);
	printf(result.reset ? "; the server finds them closed as it accepts them\n" : "\n");
	return cli_finish(cli);
}
