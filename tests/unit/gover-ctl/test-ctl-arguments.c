/* SPDX-License-Identifier: MIT */
/*
 * The command line: consistent tables of verbs and options, and strict parsing.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/nearest.h"
#include "gover-ctl/verb/usage.h"
#include "gover-ctl/verb/verbs.h"

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

static void every_verb_has_all_fields(void **state)
{
	(void)state;
	for (size_t i = 0; verbs_at(i); i++) {
		struct option_set required = {0}, optional = {0}, global = {0};
		const struct verb *verb = verbs_at(i);

		if (!verb->words[0] || !verb->summary || !verb->summary[0] || !verb->run)
			fail_msg("verb %zu '%s': a field is missing", i, verb->words);
		if (verb->min_args > verb->max_args || (verb->max_args > 0) != (verb->args[0] != 0))
			fail_msg("'%s': arguments and their number disagree", verb->words);
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

static void verbs_have_unique_words(void **state)
{
	(void)state;
	for (size_t i = 0; verbs_at(i); i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(verbs_at(i)->words, verbs_at(j)->words);
}

static void options_of_a_verb_have_unique_names(void **state)
{
	(void)state;
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

static void every_option_has_help_and_a_verb(void **state)
{
	struct option_set used = {.has = {[OPTION_VERSION] = true}};

	(void)state;
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

static void a_verb_is_found_by_its_words(void **state)
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

	(void)state;
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

static void options_are_parsed_strictly(void **state)
{
	(void)state;
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

static void options_of_the_program_are_not_parsed(void **state)
{
	const struct verb *verb = verb_named("run");
	const struct option_set allowed = verbs_options(verb);
	char line[] = "- --vgpu a --cap 30 -- glxgears -info --vgpu b", *argv[WORDS_MAX];
	struct args args = {0};
	int argc = split(line, argv);

	(void)state;
	assert_int_equal(args_parse(&args, &allowed, true, argc, argv, NULL), 0);
	assert_int_equal(args.n_words, 4);
	assert_string_equal(args.words[0], "glxgears");
	assert_string_equal(args.words[1], "-info");
	assert_string_equal(args.values[OPTION_VGPU], "a");
	assert_int_equal((int)args_get_number(&args, OPTION_RUN_CAP), 30);
}

static void too_many_labels_are_rejected(void **state)
{
	const struct option_set allowed = {.has = {[OPTION_LABELS] = true}};
	char *argv[2 * ARGS_LABELS_MAX + 4], dash[] = "-", option[] = "--label", pair[] = "a=b";
	struct args args = {0};
	struct err err;
	int argc = 0;

	(void)state;
	argv[argc++] = dash;
	for (int i = 0; i <= ARGS_LABELS_MAX; i++) {
		argv[argc++] = option;
		argv[argc++] = pair;
	}
	argv[argc] = NULL;
	assert_int_equal(args_parse(&args, &allowed, false, argc, argv, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "too many (limit 32)"));
}

static void help_lists_every_verb_and_option(void **state)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	usage_print_all(out);
	fflush(out);
	for (size_t i = 0; verbs_at(i); i++) {
		assert_non_null(strstr(text, verbs_at(i)->words));
		assert_non_null(strstr(text, verbs_at(i)->summary));
	}
	for (size_t i = 0; verbs_at(i); i++)
		usage_print_verb(out, verbs_at(i));
	fclose(out);
	for (int id = 0; id < OPTION_COUNT; id++)
		if (args_get_option((enum option_id)id)->name)
			assert_non_null(strstr(text, args_get_option((enum option_id)id)->help));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strlen(line) > 110)
			fail_msg("'%s': line too long", line);
}

static void a_synopsis_shows_required_options_without_brackets(void **state)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	(void)state;
	usage_print_synopsis(out, verb_named("claim"));
	usage_print_synopsis(out, verb_named("run"));
	fclose(out);
	assert_non_null(strstr(text, "gover-ctl claim OFFER --id ID ["));
	assert_non_null(strstr(text, "[--label KEY=VALUE]..."));
	assert_non_null(strstr(text, "-- COMMAND...\n"));
}

static void a_mistyped_verb_gives_a_suggestion(void **state)
{
	static const struct {
		const char *line, *message;
	} rows[] = {
		{"statsu", "did you mean 'status'?"},
		{"ofers", "did you mean 'offers'?"},
		{"vgpuadd x", "did you mean 'vgpu add'?"},
		{"vgpu",
		 "'vgpu': second word missing or unknown (allowed: list, show, add, set, remove, "
		 "hold, release)"},
		{"vgpu lst", "'vgpu': second word missing or unknown (allowed: list"},
		{"foo", "'foo': unknown verb (`gover-ctl help` lists all)"},
		{"zzzzzzzz", "'zzzzzzzz': unknown verb (`gover-ctl help` lists all)"},
	};

	(void)state;
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

static void distance_counts_typing_errors(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(nearest_distance(rows[i].a, rows[i].b), rows[i].distance);
		assert_int_equal(nearest_distance(rows[i].b, rows[i].a), rows[i].distance);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_verb_has_all_fields),
		cmocka_unit_test(verbs_have_unique_words),
		cmocka_unit_test(options_of_a_verb_have_unique_names),
		cmocka_unit_test(every_option_has_help_and_a_verb),
		cmocka_unit_test(a_verb_is_found_by_its_words),
		cmocka_unit_test(options_are_parsed_strictly),
		cmocka_unit_test(options_of_the_program_are_not_parsed),
		cmocka_unit_test(too_many_labels_are_rejected),
		cmocka_unit_test(help_lists_every_verb_and_option),
		cmocka_unit_test(a_synopsis_shows_required_options_without_brackets),
		cmocka_unit_test(a_mistyped_verb_gives_a_suggestion),
		cmocka_unit_test(distance_counts_typing_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
