// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/model.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/keys.h"
#include "lib/spec.h"

struct model *model_new(void)
{
	struct model *model = calloc(1, sizeof(*model));

	if (model)
		keys_global_defaults(&model->global);
	return model;
}

void model_free(struct model *model)
{
	free(model);
}

void model_cleanup(struct model **model)
{
	model_free(*model);
}

int model_find(const struct model *model, const char *name)
{
	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		if (model->service[id].name[0] && !strcmp(model->service[id].name, name))
			return id;
	return -ENOENT;
}

unsigned int model_count(const struct model *model)
{
	unsigned int count = 0;

	for (int id = 0; id < SYNHOLD_SERVICES; id++)
		count += model->service[id].name[0] != '\0';
	return count;
}

int model_require(const struct model *model, const char *name, struct error *err)
{
	int id = model_find(model, name);
	char names[200] = "";
	size_t used = 0;

	if (id >= 0)
		return id;
	for (int i = 0; i < SYNHOLD_SERVICES && used + SYNHOLD_NAME_LEN + 2 < sizeof(names); i++)
		if (model->service[i].name[0])
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
						 model->service[i].name);
	error_set(err, -ENOENT, "no service '%s'", name);
	return error_hint(err, -EINVAL,
			  names[0] ? "services: %s" : "no service is protected yet; add one with --port%s", names);
}

int model_add_port(struct model *model, const char *spec, unsigned char *fresh, struct error *err)
{
	struct synhold_specs specs = {0};
	char name[SYNHOLD_NAME_LEN];
	int id, ret;

	ret = spec_parse(spec, name, &specs, err);
	if (ret)
		return ret;
	id = model_find(model, name);
	if (id >= 0 && fresh[id]) { /* named before in this command: both count */
		specs = model->specs[id];
		ret = spec_parse(spec, name, &specs, err);
		if (ret)
			return ret;
	}
	if (id < 0) {
		for (id = 0; id < SYNHOLD_SERVICES && model->service[id].name[0]; id++)
			;
		if (id == SYNHOLD_SERVICES) {
			error_set(err, -EINVAL, "service '%s': %d services are in use already", name, SYNHOLD_SERVICES);
			return error_hint(err, -EINVAL, "put several ports into one service");
		}
		memset(&model->service[id], 0, sizeof(model->service[id]));
		keys_defaults(&model->service[id]);
		snprintf(model->service[id].name, sizeof(model->service[id].name), "%s", name);
	}
	model->specs[id] = specs;
	fresh[id] = 1;
	return id;
}

int model_remove(struct model *model, const char *name, struct error *err)
{
	int id = model_require(model, name, err);

	if (id < 0)
		return id;
	memset(&model->service[id], 0, sizeof(model->service[id]));
	memset(&model->specs[id], 0, sizeof(model->specs[id]));
	return 0;
}

int model_is_assignment(const char *word)
{
	return isalpha((unsigned char)word[0]) && strchr(word, '=');
}

int model_set(struct model *model, const char *name, const char *assignment, struct error *err)
{
	const char *equals = strchr(assignment, '=');
	const struct key *key;
	char word[32];
	int id, ret = 0;

	if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof(word)) {
		error_set(err, -EINVAL, "'%s' is not KEY=VALUE", assignment);
		return error_hint(err, -EINVAL, "accepted: KEY=VALUE, such as rate=450");
	}
	memcpy(word, assignment, (size_t)(equals - assignment));
	word[equals - assignment] = '\0';
	if (name && strcmp(name, "*")) {
		id = model_require(model, name, err);
		return id < 0 ? id : keys_set(&model->service[id], NULL, word, equals + 1, err);
	}
	key = keys_find(word);
	if (!key || key->global)
		return keys_set(NULL, &model->global, word, equals + 1, err);
	for (id = 0; id < SYNHOLD_SERVICES && !ret; id++)
		if (model->service[id].name[0]) /* the same value for all: it is refused for the first or for none */
			ret = keys_set(&model->service[id], NULL, word, equals + 1, err);
	return ret;
}

static int specs_collide(const struct synhold_spec *a, const struct synhold_spec *b)
{
	if (a->port_lo > b->port_hi || b->port_lo > a->port_hi || a->any != b->any)
		return 0;
	return a->any || (a->prefixlen == b->prefixlen && !memcmp(a->addr, b->addr, 16));
}

static int check_collisions(const struct model *model, int id, struct error *err)
{
	const struct synhold_specs *mine = &model->specs[id];

	for (int other = 0; other <= id; other++)
		for (unsigned int i = 0; model->service[other].name[0] && i < model->specs[other].count; i++)
			for (unsigned int j = 0; j < (other == id ? i : mine->count); j++)
				if (specs_collide(&model->specs[other].spec[i], &mine->spec[j])) {
					error_set(err, -EINVAL,
						  "services '%s' and '%s' both claim port %u of the same address",
						  model->service[other].name, model->service[id].name,
						  mine->spec[j].port_lo > model->specs[other].spec[i].port_lo ?
							  mine->spec[j].port_lo :
							  model->specs[other].spec[i].port_lo);
					return error_hint(err, -EINVAL,
							  "each port belongs to one service for each address prefix");
				}
	return 0;
}

int model_compile(struct model *model, struct error *err)
{
	int ret;

	keys_compile_global(&model->global);
	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		if (!model->service[id].name[0])
			continue;
		ret = keys_compile(&model->service[id], err);
		if (!ret)
			ret = check_collisions(model, id, err);
		if (ret)
			return ret;
	}
	return 0;
}

int model_limits_alone(const struct model *model)
{
	if (model->global.global_rate_pps)
		return 1;
	for (int id = 0; id < SYNHOLD_SERVICES; id++) {
		const struct synhold_policy *pol = &model->service[id];

		if (pol->name[0] && (pol->rate_pps || pol->source_rate_pps || pol->share_ppm < 1000000 || pol->closed ||
				     pol->window_mode == SYNHOLD_WINDOW_FIXED))
			return 1;
	}
	return 0;
}
