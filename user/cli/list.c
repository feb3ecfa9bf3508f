// SPDX-License-Identifier: GPL-2.0-or-later
/* `allow` and `deny`: changing a list. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/list.h"
#include "cli/notice.h"
#include "cli/tell.h"
#include "lib/units.h"

struct list_options {
	uint64_t for_ns, rate, confirm_ns;
	const char *note;
	char monitor[160]; /* what the answer ends with when nothing is enforced */
};

int list_parse_cidr(const char *text, struct list_entry *entry, struct error *err)
{
	char masked[64];

	if (!units_parse_cidr(text, entry->addr, &entry->prefixlen))
		return 0;
	if (!units_mask_cidr(text, masked, sizeof(masked))) {
		error_set(err, -EINVAL, "'%s' has bits set beyond its prefix", text);
		return error_hint(err, -EINVAL, "accepted: %s for all of the prefix, or %.*s for the one address",
				  masked, (int)strcspn(text, "/"), text);
	}
	error_set(err, -EINVAL, "'%s' is no address or prefix", text);
	return error_hint(err, -EINVAL, "accepted: " UNITS_CIDR_FORM);
}

static int check_note(const char *note, struct error *err)
{
	int bad = strlen(note) >= sizeof(((struct list_value *)0)->note);

	for (const char *p = note; *p && !bad; p++)
		bad = iscntrl((unsigned char)*p);
	if (!bad)
		return 0;
	error_set(err, -EINVAL, "the note is not accepted");
	return error_hint(err, -EINVAL, "accepted: one line of up to %zu bytes",
			  sizeof(((struct list_value *)0)->note) - 1);
}

struct standing {
	const struct list_entry *wanted;
	int found;
	struct list_value value;
};

static int find_standing(void *ctx, const struct list_entry *entry)
{
	struct standing *s = ctx;

	if (entry->prefixlen != s->wanted->prefixlen || memcmp(entry->addr, s->wanted->addr, sizeof(entry->addr)))
		return 0;
	s->found = 1;
	s->value = entry->value;
	return 1;
}

static void tell_entry(struct instance *inst, enum list_kind kind, const char *cidr, const struct list_value *old,
		       const struct list_options *o)
{
	char rate[48] = "", before[48] = "", length[40] = "", text[32];

	if (o->rate)
		snprintf(rate, sizeof(rate), ", rate %s", units_format_count(text, sizeof(text), o->rate));
	if (old && old->rate_pps)
		snprintf(before, sizeof(before), ", rate %s", units_format_count(text, sizeof(text), old->rate_pps));
	if (o->for_ns)
		snprintf(length, sizeof(length), ", for %s", units_format_duration(text, sizeof(text), o->for_ns));
	tell(inst, "%s %s: %s%s -> listed%s%s%s%s%s", kind == LIST_DENY ? "deny" : "allow", cidr,
	     old ? "listed" : "absent", before, rate, length, o->note ? " # " : "", o->note ? o->note : "",
	     o->confirm_ns ? " (unless confirmed, undone soon)" : "");
}

static int add(struct cli *cli, enum list_kind kind, const char *cidr, struct list_options *o, struct error *err)
{
	struct list_entry entry = {0};
	struct standing standing = {.wanted = &entry};
	struct instance inst;
	uint64_t now, end;
	int ret = list_parse_cidr(cidr, &entry, err);

	if (!ret && o->note)
		ret = check_note(o->note, err);
	if (!ret)
		ret = cli_open_writer(cli, &inst, err);
	if (ret)
		return ret;
	now = instance_now_ns();
	end = o->for_ns ? now + o->for_ns : SYNHOLD_FOREVER;
	entry.value.until_ns = end;
	lists_each(&inst, kind, find_standing, &standing);
	if (o->confirm_ns && now + o->confirm_ns < end) {
		entry.value.until_ns = now + o->confirm_ns;
		if (standing.value.until_ns > entry.value.until_ns) /* what stood before stands on if nobody confirms */
			entry.value.until_ns = standing.value.until_ns;
		entry.value.confirmed_until_ns = end;
	}
	entry.value.rate_pps = o->rate;
	if (o->note)
		snprintf(entry.value.note, sizeof(entry.value.note), "%s", o->note);
	ret = lists_add(&inst, kind, &entry, err);
	if (!ret) {
		notice_entry(kind, &entry, o->confirm_ns > 0);
		if (kind == LIST_DENY)
			notice_monitor(&inst, NULL, o->monitor, sizeof(o->monitor));
		tell_entry(&inst, kind, cidr, standing.found ? &standing.value : NULL, o);
	}
	instance_close(&inst);
	return ret == -EINVAL ? -EIO : ret;
}

static int del(struct cli *cli, enum list_kind kind, const char *cidr, struct error *err)
{
	struct list_entry entry = {0};
	struct instance inst;
	int ret = list_parse_cidr(cidr, &entry, err);

	if (!ret)
		ret = cli_open_writer(cli, &inst, err);
	if (ret)
		return ret;
	ret = lists_del(&inst, kind, entry.addr, entry.prefixlen, err);
	if (!ret)
		tell(&inst, "%s %s: listed -> absent", kind == LIST_DENY ? "deny" : "allow", cidr);
	instance_close(&inst);
	return ret;
}

static int load(struct cli *cli, enum list_kind kind, const char *path, struct list_options *o, struct error *err)
{
	struct instance inst;
	int ret = cli_open_writer(cli, &inst, err);

	if (ret)
		return ret;
	ret = lists_load(&inst, kind, path, err);
	if (ret >= 0)
		tell(&inst, "%s load %s: %d entries", kind == LIST_DENY ? "deny" : "allow", path, ret);
	if (ret >= 0 && kind == LIST_DENY)
		notice_monitor(&inst, NULL, o->monitor, sizeof(o->monitor));
	instance_close(&inst);
	return ret;
}

static int change(struct cli *cli, enum list_kind kind, const struct cli_words *words, struct list_options *o,
		  struct error *err)
{
	const char *verb = words->word[0], *what = words->count > 1 ? words->word[1] : NULL;
	int adds = !strcmp(verb, "add"), ret;

	if (!adds && strcmp(verb, "del") && strcmp(verb, "load"))
		return cli_misuse(cli, err, "'%s' is none of add, del and load", verb);
	if (words->count != 2)
		return cli_misuse(cli, err, what ? "one %s at a time" : "%s needs one more word",
				  what ? "entry" : verb);
	if (!adds && (o->for_ns || o->rate || o->confirm_ns || o->note))
		return cli_misuse(cli, err, "these options go with add only");
	if (adds)
		ret = add(cli, kind, what, o, err);
	else if (!strcmp(verb, "del"))
		ret = del(cli, kind, what, err);
	else
		ret = load(cli, kind, what, o, err);
	return ret;
}

/* What was done, in a line. */
static int report(const struct cli *cli, enum list_kind kind, const struct cli_words *words,
		  const struct list_options *o, int count)
{
	const char *verb = words->word[0], *list = kind == LIST_DENY ? "deny" : "allow";
	int loaded = !strcmp(verb, "load");
	char text[32];

	if (cli->json)
		return cli_print_json(cli, json_pack("{s:s,s:s,s:s,s:i}", "list", list, "verb", verb,
						     loaded ? "file" : "cidr", words->word[1], "entries",
						     loaded ? count : 1));
	if (loaded)
		printf("%d entries of %s are in the %s list%s\n", count, words->word[1], list, o->monitor);
	else
		printf("%s %s the %s list", words->word[1], !strcmp(verb, "add") ? "is in" : "is removed from", list);
	if (!loaded)
		printf("%s%s%s\n", o->for_ns ? " for " : "",
		       o->for_ns ? units_format_duration(text, sizeof(text), o->for_ns) : "", o->monitor);
	if (o->confirm_ns)
		printf("undone in %s unless confirmed: synhold confirm\n",
		       units_format_duration(text, sizeof(text), o->confirm_ns));
	return cli_finish(cli);
}

static int list_command(struct cli *cli, int argc, char **argv, enum list_kind kind)
{
	struct list_options o = {0};
	const struct cli_option options[] = {
		{"for", 0, CLI_DURATION, &o.for_ns},
		{"note", 0, CLI_TEXT, &o.note},
		{kind == LIST_DENY ? "confirm" : "rate", 0, kind == LIST_DENY ? CLI_DURATION : CLI_COUNT,
		 kind == LIST_DENY ? &o.confirm_ns : &o.rate},
		{0},
	};
	struct cli_words words;
	struct error err = {0};
	int ret;

	ret = cli_parse(cli, argc, argv, options, &words, &err);
	if (!ret && !words.count && (o.for_ns || o.rate || o.confirm_ns || o.note))
		ret = cli_misuse(cli, &err, "these options go with add only");
	if (!ret && !words.count)
		ret = list_print(cli, kind, &err);
	else if (!ret)
		ret = change(cli, kind, &words, &o, &err);
	if (ret < 0)
		return cli_fail(cli, &err);
	return words.count ? report(cli, kind, &words, &o, ret) : ret;
}

int cli_allow(struct cli *cli, int argc, char **argv)
{
	return list_command(cli, argc, argv, LIST_ALLOW);
}

int cli_deny(struct cli *cli, int argc, char **argv)
{
	return list_command(cli, argc, argv, LIST_DENY);
}
