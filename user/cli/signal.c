// SPDX-License-Identifier: GPL-2.0-or-later
/* `signal`: what an application says of its own load. The daemon listens on a datagram socket, which applications may
 * as well use themselves. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/cli.h"
#include "lib/model.h"
#include "lib/signal_line.h"
#include "lib/units.h"

static int parse(struct cli *cli, int argc, char **argv, struct signal_line *line, struct error *err)
{
	const char *target = NULL, *duration = NULL;
	const struct cli_option options[] = {{"target", 0, CLI_TEXT, &target}, {"for", 0, CLI_TEXT, &duration}, {0}};
	struct cli_words words;
	char *all[8];
	int count = 0, ret = cli_parse(cli, argc, argv, options, &words, err);

	if (ret)
		return ret;
	if (words.count != 3)
		return cli_misuse(cli, err,
				  words.count < 3 ? "SERVICE, NAME and VALUE are needed" : "one value at a time");
	for (unsigned int i = 0; i < words.count; i++)
		all[count++] = (char *)words.word[i];
	if (target) {
		all[count++] = (char *)"--target";
		all[count++] = (char *)target;
	}
	if (duration) {
		all[count++] = (char *)"--for";
		all[count++] = (char *)duration;
	}
	return signal_line_parse(count, all, line, err);
}

static int require_service(const struct instance *inst, const char *name, struct error *err)
{
	__attribute__((cleanup(model_cleanup))) struct model *model = model_new();
	int id;

	if (!model)
		return error_set(err, -ENOMEM, "out of memory");
	instance_load_model(inst, model);
	id = model_require(model, name, err);
	return id < 0 ? id : 0;
}

static int send_line(const struct instance *inst, const struct signal_line *line, struct error *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char text[SIGNAL_LINE_MAX];
	int fd, ret = 0;

	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/signal.sock", inst->run_dir) >=
	    (int)sizeof(addr.sun_path))
		return error_set(err, -ENAMETOOLONG, "%s/signal.sock: the path is too long", inst->run_dir);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_set(err, -errno, "no socket: %s", strerror(errno));
	signal_line_format(line, text, sizeof(text));
	/* a queue that is full is a daemon that hangs: not to be waited for */
	if (sendto(fd, text, strlen(text), MSG_DONTWAIT, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		ret = -errno;
	close(fd);
	if (!ret)
		return 0;
	if (ret == -ENOENT || ret == -ECONNREFUSED) {
		error_set(err, ret, "instance '%s' has no daemon that could take a signal", inst->name);
		return error_hint(err, ret, "synhold run starts one");
	}
	return error_set(err, ret == -EINVAL ? -EIO : ret, "%s: %s", addr.sun_path, strerror(-ret));
}

int cli_signal(struct cli *cli, int argc, char **argv)
{
	struct signal_line line;
	struct instance inst;
	struct error err = {0};
	char text[32];
	int ret = parse(cli, argc, argv, &line, &err);

	if (!ret)
		ret = cli_open_reader(cli, &inst, &err);
	if (!ret) {
		ret = require_service(&inst, line.service, &err);
		if (!ret && !instance_daemon_alive(&inst)) {
			error_set(&err, -ENOENT, "instance '%s' has no daemon that could take a signal", inst.name);
			ret = error_hint(&err, -ENOENT, "synhold run starts one");
		}
		if (!ret)
			ret = send_line(&inst, &line, &err);
		instance_close(&inst);
	}
	if (ret)
		return cli_fail(cli, &err);
	if (cli->json)
		return cli_print_json(cli,
				      json_pack("{s:s,s:s,s:f,s:f,s:f,s:f}", "service", line.service, "name", line.name,
						"value", line.value, "target", line.target, "ratio",
						line.value / line.target, "for_seconds", (double)line.for_ns / 1e9));
	printf("%s: %s is at %.3g of its target for %s\n", line.service, line.name, line.value / line.target,
	       units_format_duration(text, sizeof(text), line.for_ns));
	return cli_finish(cli);
}
