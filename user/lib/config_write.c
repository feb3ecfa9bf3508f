// SPDX-License-Identifier: GPL-2.0-or-later
/* Writing the config file. What is written is what config_read() reads back to the same. */
#include <errno.h>
#include <string.h>

#include "lib/config.h"
#include "lib/keys.h"
#include "lib/spec.h"
#include "lib/units.h"

#define LINE_PORTS_BYTES 100 /* inih reads lines of at most 197 bytes */

static void write_keys(FILE *out, const struct synhold_policy *service, const struct synhold_global_policy *global)
{
	char value[64];

	for (const struct key *key = keys_table; key->name; key++)
		if (key->global == !service && !keys_is_default(key, service, global))
			fprintf(out, "%s = %s\n", key->name, keys_format(key, service, global, value, sizeof(value)));
}

/* One address's ports, over as many lines as they need: split at commas, with the address in front of each part. */
static void write_ports(FILE *out, const char *spec)
{
	const char *ports = strrchr(spec, ':');
	int prefix;

	ports = ports ? ports + 1 : spec;
	prefix = (int)(ports - spec);
	while (*ports) {
		size_t part = strlen(ports);

		if (part > LINE_PORTS_BYTES)
			for (part = LINE_PORTS_BYTES; ports[part] != ','; part--)
				;
		fprintf(out, "port = %.*s%.*s\n", prefix, spec, (int)part, ports);
		ports += part + (ports[part] == ',');
	}
}

static int write_service(FILE *out, const struct synhold_policy *service, const struct synhold_specs *specs)
{
	char spec[SYNHOLD_SPECS * 16 + 64];
	int ret;

	fprintf(out, "\n[service %s]\n", service->name);
	for (unsigned int i = 0; (ret = spec_format(specs, i, spec, sizeof(spec))) == 0; i++)
		write_ports(out, spec);
	if (ret != -ENOENT)
		return ret;
	write_keys(out, service, NULL);
	if (service->closed_flip_ns ? !service->closed : service->closed) /* what `--for` undoes is not kept */
		fprintf(out, "closed = yes\n");
	return 0;
}

static void write_lists(FILE *out, const struct config_lists *lists)
{
	char addr[64], rate[32];

	for (int kind = 0; kind < LIST_KINDS; kind++)
		for (unsigned int i = 0; i < lists->count[kind]; i++) {
			const struct list_entry *entry = &lists->entry[kind][i];

			if (entry->value.until_ns != SYNHOLD_FOREVER)
				continue;
			fprintf(out, "%s = %s", lists_name((enum list_kind)kind),
				units_format_cidr(addr, sizeof(addr), entry->addr, entry->prefixlen));
			if (entry->value.rate_pps && kind != LIST_DENY)
				fprintf(out, kind == LIST_ALLOW ? " rate %s" : " %s",
					units_format_count(rate, sizeof(rate), entry->value.rate_pps));
			if (entry->value.note[0])
				fprintf(out, " # %.*s", (int)sizeof(entry->value.note), entry->value.note);
			fputc('\n', out);
		}
}

int config_write(FILE *out, const struct model *model, const struct config_lists *lists)
{
	int ret = 0;

	fprintf(out, "[synhold]\n");
	write_keys(out, NULL, &model->global);
	if (lists)
		write_lists(out, lists);
	for (int id = 0; id < SYNHOLD_SERVICES && !ret; id++)
		if (model->service[id].name[0])
			ret = write_service(out, &model->service[id], &model->specs[id]);
	if (!ret && (fflush(out) || ferror(out)))
		ret = -EIO;
	return ret;
}
