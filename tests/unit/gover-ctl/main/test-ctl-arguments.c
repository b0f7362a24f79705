/* SPDX-License-Identifier: MIT */
/*
 * The command line: consistent tables of verbs and options, and strict parsing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "gover-ctl/main/usage.h"
#include "gover-ctl/main/verbs.h"
#include "tests/unit/unit.h"

#define WORDS_MAX 16

/* Splits @line at spaces into @argv. */
static int split(char *line, char *argv[WORDS_MAX])
{
	int argc = 0;

	for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return argc;
}

static const struct verb *verb_named(const char *words)
{
	for (size_t i = 0; verbs_at(i); i++)
		if (strcmp(verbs_at(i)->words, words) == 0)
			return verbs_at(i);
	fail_msg("no verb '%s'", words);
	return NULL;
}

TEST(every_verb_has_all_fields)
{
	for (size_t i = 0; verbs_at(i); i++) {
		struct option_set required = {0}, optional = {0}, global = {0};
		const struct verb *verb = verbs_at(i);

		if (!verb->words[0] || !verb->summary || !verb->summary[0] || !verb->run)
			fail_msg("verb %zu '%s': a field is missing", i, verb->words);
		if (verb->min_args > verb->max_args || (verb->max_args > 0) != (verb->args[0] != 0))
			fail_msg("'%s': arguments and their number disagree", verb->words);
		if (verb->table && !verb->json)
			fail_msg("'%s': a list without JSON", verb->words);
		option_set_add(&required, verb->required);
		option_set_add(&optional, verb->optional);
		option_set_add(&global, options_global);
		for (int id = 0; id < OPTION_COUNT; id++) {
			if (required.has[id] && optional.has[id])
				fail_msg("'%s': an option is both required and optional",
					 verb->words);
			if ((required.has[id] || optional.has[id]) && global.has[id])
				fail_msg("'%s': has a global option", verb->words);
		}
	}
}

TEST(lists_and_only_lists_have_the_options_of_lists)
{
	for (size_t i = 0; verbs_at(i); i++) {
		const struct verb *verb = verbs_at(i);
		const struct option_set options = verbs_options(verb);

		if (options.has[OPTION_LIST_SORT] != (verb->table != NULL) ||
		    options.has[OPTION_NO_HEADERS] != (verb->table != NULL))
			fail_msg("'%s': --sort or --no-headers", verb->words);
	}
}

TEST(verbs_have_unique_words)
{
	for (size_t i = 0; verbs_at(i); i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(verbs_at(i)->words, verbs_at(j)->words);
}

TEST(options_of_a_verb_have_unique_names)
{
	for (size_t i = 0; verbs_at(i); i++) {
		struct option_set set = verbs_options(verbs_at(i));

		for (int a = 0; a < OPTION_COUNT; a++)
			for (int b = 0; b < a; b++)
				if (set.has[a] && set.has[b])
					assert_string_not_equal(
						args_get_option((enum option_id)a)->name,
						args_get_option((enum option_id)b)->name);
	}
}

TEST(every_option_has_help_and_a_verb)
{
	struct option_set used = {.has = {[OPTION_VERSION] = true}};

	for (size_t i = 0; verbs_at(i); i++) {
		option_set_add(&used, verbs_at(i)->required);
		option_set_add(&used, verbs_at(i)->optional);
	}
	option_set_add(&used, options_global);
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = args_get_option((enum option_id)id);

		if (!info->name && !used.has[id])
			continue; /* a contract field without an option */
		if (!info->name || !info->help || !info->help[0])
			fail_msg("option %d: name or help missing", id);
		if (!used.has[id])
			fail_msg("--%s: no verb has this option", info->name);
		if ((info->type == OPTION_FLAG) != (info->arg == NULL))
			fail_msg("--%s: a flag with a value, or another option without",
				 info->name);
	}
}

TEST(a_verb_is_found_by_its_words)
{
	static const struct {
		const char *line, *verb;
		int used;
	} rows[] = {
		{"status", "status", 1},
		{"vgpu add web1", "vgpu add", 2},
		{"policy set a=1 b=2", "policy set", 2},
		{"run glxgears", "run", 1},
		{"vgpu", NULL, 0},
		{"vgpu ad", NULL, 0},
		{"add vgpu", NULL, 0},
		{"Status", NULL, 0},
		{"stat", NULL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[64], *argv[WORDS_MAX];
		const struct verb *verb;
		int used = 0, argc;

		snprintf(line, sizeof(line), "%s", rows[i].line);
		argc = split(line, argv);
		verb = verbs_find(argv, argc, &used);
		if (!rows[i].verb != !verb || (verb && strcmp(verb->words, rows[i].verb) != 0) ||
		    used != rows[i].used)
			fail_msg("'%s' is '%s', %d words", rows[i].line,
				 verb ? verb->words : "none", used);
	}
}

static const struct {
	const char *verb, *line; /* @line: arguments; its first word serves as argv[0] */
	int result;
	const char *message; /* part of the expected message */
} option_rows[] = {
	{"vgpu add", "- web1 --cap 40", 0, NULL},
	{"vgpu add", "- --cap=40 web1", 0, NULL},
	{"vgpu add", "- web1 --cap 40 --label a=b --label c=", 0, NULL},
	{"vgpu add", "- web1 --cap 40 --burst --burst", 0, NULL},
	{"vgpu add", "- web1 --cap 100 --target-fps 59.94", 0, NULL},
	{"vgpu add", "- web1 --cap 0", -EINVAL,
	 "--cap '0': not allowed (allowed: a whole number from 1 to 100)"},
	{"vgpu add", "- web1 --cap 101", -EINVAL, "--cap '101'"},
	{"vgpu add", "- web1 --cap -1", -EINVAL, "--cap '-1'"},
	{"vgpu add", "- web1 --cap ten", -EINVAL, "--cap 'ten'"},
	{"vgpu add", "- web1 --cap nan", -EINVAL, "--cap 'nan'"},
	{"vgpu add", "- web1 --cap 40.5", -EINVAL, "--cap '40.5'"},
	{"vgpu add", "- web1 --cap= ", -EINVAL, "--cap ''"},
	{"vgpu add", "- web1 --target-fps -3", -EINVAL, "--target-fps '-3'"},
	{"vgpu add", "- web1 --target-fps 10000 --weight 0.01 --cid 3", 0, NULL},
	{"vgpu add", "- web1 --target-fps 0 --weight 100 --cid 4294967294", 0, NULL},
	{"vgpu add", "- web1 --target-fps 10001", -EINVAL,
	 "--target-fps '10001': not allowed (allowed: a number from 0 to 10000)"},
	{"vgpu add", "- web1 --weight 0", -EINVAL,
	 "--weight '0': not allowed (allowed: a number from 0.01 to 100)"},
	{"vgpu add", "- web1 --weight 101", -EINVAL, "--weight '101'"},
	{"vgpu add", "- web1 --cid 2", -EINVAL,
	 "--cid '2': not allowed (allowed: a whole number from 3 to 4294967294)"},
	{"vgpu add", "- web1 --cid 4294967295", -EINVAL, "--cid '4294967295'"},
	{"vgpu add", "- web1 --cap 4 --cap 5", -EINVAL, "--cap: given twice"},
	{"vgpu add", "- web1 --vm= ", -EINVAL, "--vm: empty"},
	{"vgpu add", "- web1 --label =b", -EINVAL,
	 "--label '=b': not allowed (allowed: KEY=VALUE)"},
	{"vgpu add", "- web1 --label b", -EINVAL, "--label 'b'"},
	{"vgpu add", "- web1 --label a=\xff", -EINVAL, "--label: not UTF-8"},
	{"vgpu add", "- web1 --vm \xff", -EINVAL, "--vm: not UTF-8"},
	{"policy set", "- a=b name=\xff", -EINVAL, "argument 2: not UTF-8"},
	{"token add", "- a --scope read --out \xff", 0, NULL},
	{"run", "- --vgpu a prog \xff", 0, NULL},
	{"vgpu add", "- web1 --cap", -ENOENT, "--cap: value missing (usage: --cap PCT)"},
	{"vgpu add", "- web1 --burst=1", -ENOENT, "--burst: takes no value"},
	{"vgpu add", "- web1 --lable a=b", -ENOENT, "did you mean --label?"},
	{"vgpu add", "- web1 --wobble", -ENOENT, "--wobble: unknown option"},
	{"vgpu add", "- web1 -x", -ENOENT, "-x: unknown option"},
	{"vgpu add", "- web1 --from -1h", -ENOENT, "--from: unknown option"},
	{"history", "- web1 --from -1h --to now", 0, NULL},
	{"run", "- --vgpu a -- prog --cap ten", 0, NULL},
	{"run", "- --vgpu a prog --wobble", 0, NULL},
	{"status", "- --json --socket /run/x", 0, NULL},
};

TEST(options_are_parsed_strictly)
{
	for (size_t i = 0; i < ARRAY_SIZE(option_rows); i++) {
		const struct verb *verb = verb_named(option_rows[i].verb);
		const struct option_set allowed = verbs_options(verb);
		char line[128], *argv[WORDS_MAX];
		struct args args = {0};
		struct err err = {.msg = ""};
		int argc, r;

		snprintf(line, sizeof(line), "%s", option_rows[i].line);
		argc = split(line, argv);
		r = args_parse(&args, &allowed, verb->command, argc, argv, &err);
		if (r != option_rows[i].result ||
		    (option_rows[i].message && !strstr(err.msg, option_rows[i].message)))
			fail_msg("%s: '%s' gave %d, '%s'", option_rows[i].verb, option_rows[i].line,
				 r, err.msg);
	}
}

TEST(options_of_the_program_are_not_parsed)
{
	const struct verb *verb = verb_named("run");
	const struct option_set allowed = verbs_options(verb);
	char line[] = "- --vgpu a --cap 30 -- glxgears -info --vgpu b", *argv[WORDS_MAX];
	struct args args = {0};
	int argc = split(line, argv);

	assert_int_equal(args_parse(&args, &allowed, true, argc, argv, NULL), 0);
	assert_int_equal(args.n_words, 4);
	assert_string_equal(args.words[0], "glxgears");
	assert_string_equal(args.words[1], "-info");
	assert_string_equal(args.values[OPTION_VGPU], "a");
	assert_int_equal((int)args_get_number(&args, OPTION_RUN_CAP), 30);
}

TEST(too_many_labels_are_rejected)
{
	const struct option_set allowed = {.has = {[OPTION_LABELS] = true}};
	char *argv[2 * ARGS_LABELS_MAX + 4], dash[] = "-", option[] = "--label", pair[] = "a=b";
	struct args args = {0};
	struct err err;
	int argc = 0;

	argv[argc++] = dash;
	for (int i = 0; i <= ARGS_LABELS_MAX; i++) {
		argv[argc++] = option;
		argv[argc++] = pair;
	}
	argv[argc] = NULL;
	assert_int_equal(args_parse(&args, &allowed, false, argc, argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "too many (limit 32)"));
}

/* Replaces each sequence of spaces and newlines by one space, so that wrapped texts can be found.
 */
static void join_lines(char *text)
{
	char *to = text;

	for (const char *c = text; *c; c++) {
		bool blank = *c == ' ' || *c == '\n';

		if (!blank || (to > text && to[-1] != ' '))
			*to++ = blank ? ' ' : *c;
	}
	*to = '\0';
}

/* Prints the help of all verbs. The caller frees the text. */
static char *print_help(void)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	usage_print_all(out);
	for (size_t i = 0; verbs_at(i); i++)
		usage_print_verb(out, verbs_at(i));
	fclose(out);
	return text;
}

TEST(help_lists_every_verb_and_option)
{
	CLEANUP_FREE char *text = print_help();
	char summary[256];

	join_lines(text);
	for (size_t i = 0; verbs_at(i); i++) {
		snprintf(summary, sizeof(summary), "%s %s", verbs_at(i)->words,
			 verbs_at(i)->summary);
		assert_non_null(strstr(text, summary));
	}
	for (int id = 0; id < OPTION_COUNT; id++)
		if (args_get_option((enum option_id)id)->name)
			assert_non_null(strstr(text, args_get_option((enum option_id)id)->help));
}

TEST(help_fits_80_columns_and_its_overview_has_every_verb_in_24_lines)
{
	CLEANUP_FREE char *all = print_help(), *overview = NULL;
	int lines = 0;
	size_t length;
	FILE *out = open_memstream(&overview, &length);

	usage_print_overview(out);
	fclose(out);
	for (int group = 0; group < VERB_GROUPS; group++)
		assert_non_null(strstr(overview, verbs_group((enum verb_group)group)->name));
	/* Each verb is there alone or as a further word: "vgpu list|show". */
	for (size_t i = 0; verbs_at(i); i++) {
		const char *blank = strchr(verbs_at(i)->words, ' ');

		if (!strstr(overview, blank ? blank + 1 : verbs_at(i)->words))
			fail_msg("'%s' is not in the overview", verbs_at(i)->words);
	}
	for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"))
		if (strlen(line) > 80)
			fail_msg("'%s': line too long", line);
	for (const char *c = overview; *c; c++)
		lines += *c == '\n';
	assert_in_range(lines, 10, 23); /* one line is left for the prompt */
	for (char *line = strtok(overview, "\n"); line; line = strtok(NULL, "\n"))
		if (strlen(line) > 80)
			fail_msg("'%s': line too long", line);
}

TEST(a_family_is_a_group_or_a_first_word)
{
	static const struct {
		const char *word, *has, *lacks;
		bool any;
	} rows[] = {
		{"vgpu", "  vgpu add", "  run", true},
		{"contracts", "  run", "vgpu list", true},
		{"policy", "  policy set", "  run", true},
		{"policy", "  freeze", "  run", true},
		{"watch", "  silence add", "  run", true},
		{"status", "", "", false},
		{"vgp", "", "", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *text = NULL;
		size_t length;
		FILE *out = open_memstream(&text, &length);
		bool any = usage_print_family(out, rows[i].word);

		fclose(out);
		assert_int_equal(any, rows[i].any);
		assert_int_equal(text[0] != '\0', any);
		if (any && (!strstr(text, rows[i].has) || strstr(text, rows[i].lacks)))
			fail_msg("%s: %s", rows[i].word, text);
	}
}

TEST(an_error_names_the_option_of_a_field)
{
	static const struct {
		const char *verb, *message, *text;
	} rows[] = {
		{"vgpu add", "initial_cap_pct: 0 is not allowed", "--cap: 0 is not allowed"},
		{"vgpu add", "gpu: required (this host has 2 GPUs)",
		 "--gpu: required (this host has 2 GPUs)"},
		{"vgpu add", "labels: too many", "--label: too many"},
		{"vgpu set", "vGPU a: target_fps and target_rate exclude each other",
		 "vGPU a: --target-fps and --target-rate exclude each other"},
		{"vgpu set", "the gpu of a vGPU is full", "the gpu of a vGPU is full"},
		{"vgpu set", "gpu: not allowed", "gpu: not allowed"},
		{"vgpu hold", "held_cap_pct: 90 is not allowed", "--cap: 90 is not allowed"},
		{"run", "initial_cap_pct: required", "--cap: required"},
		{"policy set", "flavor_cap_pct: 0 is not allowed",
		 "flavor_cap_pct: 0 is not allowed"},
		{"policy set", "target_fps: unknown", "target_fps: unknown"},
		{"token add", "scope: \"root\" is invalid", "--scope: \"root\" is invalid"},
		{"token add", "ttl_s: 59 is not allowed", "--expires: 59 is not allowed"},
		{"token add", "token viewer: already exists", "token viewer: already exists"},
		{"vgpu set", "vGPU xtarget_fps2: full", "vGPU xtarget_fps2: full"},
		{"vgpu add", "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct option_set options = verbs_options(verb_named(rows[i].verb));
		char text[2 * ERR_MSG_MAX];

		ctl_name_options(&options, rows[i].message, text);
		assert_string_equal(text, rows[i].text);
	}
}

TEST(a_synopsis_shows_required_options_without_brackets)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	usage_print_synopsis(out, verb_named("claim"));
	usage_print_synopsis(out, verb_named("run"));
	fclose(out);
	assert_non_null(strstr(text, "gover-ctl claim OFFER --id ID ["));
	assert_non_null(strstr(text, "[--label KEY=VALUE]..."));
	assert_non_null(strstr(text, "-- COMMAND...\n"));
}

TEST(a_mistyped_verb_gives_a_suggestion)
{
	static const struct {
		const char *line, *message;
	} rows[] = {
		{"statsu", "did you mean 'status'?"},
		{"ofers", "did you mean 'offers'?"},
		{"vgpuadd x", "did you mean 'vgpu add'?"},
		{"vgpu",
		 "'vgpu': second word missing (allowed: list, show, add, set, remove, hold, "
		 "release)"},
		{"vgpu lst", "'vgpu lst': unknown verb (did you mean 'vgpu list'?)"},
		{"vgpu rm a", "'vgpu rm': unknown verb (did you mean 'vgpu remove'?)"},
		{"vgpu paint", "'vgpu paint': unknown verb (allowed after 'vgpu': list, show"},
		{"list", "(did you mean 'vgpu list' or 'silence list' or 'token list'?)"},
		{"list vgpu", "(did you mean 'vgpu list'?)"},
		{"show", "(did you mean 'vgpu show' or 'policy show'?)"},
		{"add web1", "(did you mean 'vgpu add' or 'silence add' or 'token add'?)"},
		{"release web1", "(did you mean 'vgpu release'?)"},
		{"relase web1", "(did you mean 'vgpu release'?)"},
		{"selling", "'selling': a group of verbs (`gover-ctl help selling` lists them)"},
		{"foo", "'foo': unknown verb (`gover-ctl help` lists all)"},
		{"zzzzzzzz", "'zzzzzzzz': unknown verb (`gover-ctl help` lists all)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char line[64], *argv[WORDS_MAX];
		struct err err = {.msg = ""};
		int argc;

		snprintf(line, sizeof(line), "%s", rows[i].line);
		argc = split(line, argv);
		usage_explain_unknown(argv, argc, &err);
		if (!strstr(err.msg, rows[i].message))
			fail_msg("'%s' gave \"%s\"", rows[i].line, err.msg);
	}
}

TEST(distance_counts_typing_errors)
{
	static const struct {
		const char *a, *b;
		int distance;
	} rows[] = {
		{"top", "top", 0},	     {"top", "tpo", 1},
		{"top", "stop", 1},	     {"top", "to", 1},
		{"claim", "blaim", 1},	     {"", "ab", 2},
		{"top", "why", NEAREST_FAR}, {"a", "abcdef", NEAREST_FAR},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(nearest_distance(rows[i].a, rows[i].b), rows[i].distance);
		assert_int_equal(nearest_distance(rows[i].b, rows[i].a), rows[i].distance);
	}
}
