/* SPDX-License-Identifier: MIT */
/*
 * Usage text, made from the tables of verbs and options, and the verb `help`.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "gover-ctl/main/usage.h"

#define TEXT_WIDTH	80
#define SYNOPSIS_INDENT 11 /* column of the further lines of a synopsis */
#define HELP_INDENT	25 /* column of the help of an option */
#define VERB_INDENT	17 /* column of the summary of a verb */
#define LIST_INDENT	11 /* column of the verbs of a group */

/* Prints a word after a space, on a new line with @indent spaces if the present line is full. */
static void put_word(FILE *out, const char *word, int indent, int *column)
{
	if (*column + 1 + (int)strlen(word) > TEXT_WIDTH) {
		fprintf(out, "\n%*s", indent, "");
		*column = indent;
	}
	*column += fprintf(out, "%s%s", *column > 0 ? " " : "", word);
}

/* Prints @head, and @text wrapped at column @indent, and a newline. */
static void put_text(FILE *out, const char *head, int indent, const char *text)
{
	int start = indent > 0 ? indent - 1 : 0;
	int column = fprintf(out, "%-*s", start, head);
	char word[64];

	if (column > start) {
		fprintf(out, "\n%*s", start, "");
		column = start;
	}
	while (*text) {
		size_t length = strcspn(text, " ");

		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		put_word(out, word, start, &column);
		text += length + strspn(text + length, " ");
	}
	fputc('\n', out);
}

static void put_options(FILE *out, const enum option_id *list, bool required, int *column)
{
	struct option_set set = {.has = {false}};
	char word[64];

	option_set_add(&set, list);
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = args_get_option((enum option_id)id);

		if (!set.has[id])
			continue;
		snprintf(word, sizeof(word), "%s--%s%s%s%s%s", required ? "" : "[", info->name,
			 info->arg ? " " : "", info->arg ? info->arg : "", required ? "" : "]",
			 info->type == OPTION_PAIR ? "..." : "");
		put_word(out, word, SYNOPSIS_INDENT, column);
	}
}

void usage_print_synopsis(FILE *out, const struct verb *verb)
{
	int column = fprintf(out, "gover-ctl %s", verb->words);

	if (!verb->command && verb->args[0])
		put_word(out, verb->args, SYNOPSIS_INDENT, &column);
	put_options(out, verb->required, true, &column);
	put_options(out, verb->optional, false, &column);
	if (verb->command) {
		put_word(out, "--", SYNOPSIS_INDENT, &column);
		put_word(out, verb->args, SYNOPSIS_INDENT, &column);
	}
	fputc('\n', out);
}

static void put_option_help(FILE *out, const struct option_set *set)
{
	char head[64], letter[8];

	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = args_get_option((enum option_id)id);

		if (!set->has[id])
			continue;
		snprintf(letter, sizeof(letter), "-%c, ", info->letter);
		snprintf(head, sizeof(head), "  %s--%s%s%s", info->letter ? letter : "", info->name,
			 info->arg ? " " : "", info->arg ? info->arg : "");
		put_text(out, head, HELP_INDENT, info->help);
	}
}

static void put_summary(FILE *out, const struct verb *verb)
{
	char head[64];

	snprintf(head, sizeof(head), "  %s", verb->words);
	put_text(out, head, VERB_INDENT, verb->summary);
}

/* Prints the first word of a verb, or "vgpu list|show" for all verbs of a group with this word. */
static void put_names(FILE *out, enum verb_group group, size_t *index, int *column)
{
	const struct verb *verb = verbs_at(*index), *next;
	size_t first = strcspn(verb->words, " "), used;
	char word[64];

	snprintf(word, sizeof(word), "%s", verb->words);
	while (verb->words[first] && (next = verbs_at(*index + 1)) && next->group == group &&
	       strncmp(next->words, verb->words, first + 1) == 0) {
		used = strlen(word);
		snprintf(word + used, sizeof(word) - used, "|%s", next->words + first + 1);
		(*index)++;
	}
	for (size_t i = *index + 1; (next = verbs_at(i)); i++)
		if (next->group == group) {
			used = strlen(word);
			snprintf(word + used, sizeof(word) - used, ",");
			break;
		}
	put_word(out, word, LIST_INDENT - 1, column);
}

static void put_group(FILE *out, enum verb_group group)
{
	int column = fprintf(out, "%-*s", LIST_INDENT - 1, verbs_group(group)->name);

	for (size_t i = 0; verbs_at(i); i++)
		if (verbs_at(i)->group == group)
			put_names(out, group, &i, &column);
	fputc('\n', out);
}

void usage_print_overview(FILE *out)
{
	fputs("Usage: gover-ctl [OPTION...] VERB [ARGUMENT...]\n"
	      "Watch and control gover-d, which shares GPUs between virtual machines.\n\n",
	      out);
	for (int group = 0; group < VERB_GROUPS; group++)
		put_group(out, (enum verb_group)group);
	fputs("\nStart with `gover-ctl status`, `gover-ctl alerts` and `gover-ctl why VGPU`.\n"
	      "gover-ctl help GROUP   lists its verbs, for example `gover-ctl help watch`\n"
	      "gover-ctl help VERB    shows its options; also `gover-ctl VERB --help`\n"
	      "gover-ctl help all     lists all verbs and the options of every verb\n\n"
	      "Lists take -o table|wide|json|name and --sort KEY; vgpu list also -l KEY=VALUE.\n"
	      "Units: SOLD%, CAP% and LOAD% are % of the GPU; USED% is % of the cap; BUSY% is\n"
	      "% of the time in which the GPU works; FPS is frames per second.\n"
	      "Exit status: 0 success, 1 refused or failed, 2 wrong usage, 3 no daemon.\n",
	      out);
}

void usage_print_all(FILE *out)
{
	struct option_set first = {.has = {[OPTION_VERSION] = true}};

	for (int group = 0; group < VERB_GROUPS; group++) {
		fprintf(out, "%s: %s\n", verbs_group((enum verb_group)group)->name,
			verbs_group((enum verb_group)group)->summary);
		for (size_t i = 0; verbs_at(i); i++)
			if ((int)verbs_at(i)->group == group)
				put_summary(out, verbs_at(i));
		fputc('\n', out);
	}
	fputs("Options of every verb:\n", out);
	option_set_add(&first, options_global);
	put_option_help(out, &first);
}

/* Returns true if @verb is in the group @word or begins with this word and has a second word. */
static bool is_in_family(const struct verb *verb, const char *word)
{
	size_t length = strlen(word);

	return strcmp(verbs_group(verb->group)->name, word) == 0 ||
	       (strncmp(verb->words, word, length) == 0 && verb->words[length] == ' ');
}

bool usage_print_family(FILE *out, const char *word)
{
	bool any = false;

	for (size_t i = 0; verbs_at(i); i++)
		if (is_in_family(verbs_at(i), word)) {
			if (!any)
				fprintf(out, "Verbs of %s:\n", word);
			put_summary(out, verbs_at(i));
			any = true;
		}
	if (any)
		fputs("\n`gover-ctl help VERB` shows the options of a verb.\n", out);
	return any;
}

void usage_print_verb(FILE *out, const struct verb *verb)
{
	struct option_set own = {.has = {false}};
	char summary[256];

	option_set_add(&own, verb->required);
	option_set_add(&own, verb->optional);
	usage_print_synopsis(out, verb);
	snprintf(summary, sizeof(summary), "%c%s.", toupper((unsigned char)verb->summary[0]),
		 verb->summary + 1);
	fputc('\n', out);
	put_text(out, "", 0, summary);
	if (verb->required || verb->optional) {
		fputs("\nOptions:\n", out);
		put_option_help(out, &own);
		if (verb->table)
			fputs("  -o FORMAT              print table, wide, json or name\n", out);
	}
}

bool usage_list_subverbs(const char *word, char *list, size_t size)
{
	size_t length = strlen(word), used = 0;

	for (size_t i = 0; verbs_at(i); i++) {
		const char *words = verbs_at(i)->words;

		if (strncmp(words, word, length) != 0 || words[length] != ' ')
			continue;
		if (used < size)
			used += (size_t)snprintf(list + used, size - used, "%s%s", used ? ", " : "",
						 words + length + 1);
	}
	return used > 0;
}

/* Words of other programs for the second words of verbs. */
static const struct {
	const char *word, *ours;
} synonyms[] = {
	{"ls", "list"},	       {"get", "list"},	     {"describe", "show"}, {"info", "show"},
	{"create", "add"},     {"new", "add"},	     {"edit", "set"},	   {"update", "set"},
	{"change", "set"},     {"rm", "remove"},     {"del", "remove"},	   {"delete", "remove"},
	{"unhold", "release"}, {"revoke", "remove"},
};

static const char *translate(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(synonyms); i++)
		if (strcmp(synonyms[i].word, word) == 0)
			return synonyms[i].ours;
	return word;
}

/*
 * Lists the verbs with this second word: "'vgpu list', 'silence list'"; only those that begin with
 * @first if it is not NULL. Returns their number.
 */
static int list_by_second(const char *second, const char *first, char *list, size_t size)
{
	int n = 0;

	list[0] = '\0';
	for (size_t i = 0; verbs_at(i); i++) {
		const char *words = verbs_at(i)->words, *blank = strchr(words, ' ');
		size_t used = strlen(list);

		if (!blank || strcmp(blank + 1, second) != 0 ||
		    (first &&
		     (strncmp(words, first, strlen(first)) != 0 || words + strlen(first) != blank)))
			continue;
		snprintf(list + used, size - used, "%s'%s'", used ? " or " : "", words);
		n++;
	}
	return n;
}

/* Writes the nearest verb to @guess, quoted. Returns false if none is near. */
static bool find_nearest(const char *typed, const char *first, char *list, size_t size)
{
	const char *guess = NULL;
	int best = NEAREST_FAR;

	for (size_t i = 0; verbs_at(i); i++) {
		nearest_offer(first, verbs_at(i)->words, &best, &guess);
		nearest_offer(typed, verbs_at(i)->words, &best, &guess);
	}
	for (size_t i = 0; !guess && verbs_at(i); i++) {
		const char *blank = strchr(verbs_at(i)->words, ' ');
		const char *second = NULL;

		if (blank)
			nearest_offer(first, blank + 1, &best, &second);
		guess = second ? verbs_at(i)->words : NULL;
	}
	if (guess)
		snprintf(list, size, "'%s'", guess);
	return guess;
}

static bool is_group(const char *word)
{
	for (int group = 0; group < VERB_GROUPS; group++)
		if (strcmp(verbs_group((enum verb_group)group)->name, word) == 0)
			return true;
	return false;
}

void usage_explain_unknown(char *const *words, int n_words, struct err *reterr)
{
	const char *second = n_words > 1 ? words[1] : "";
	char typed[64], list[256], allowed[256];
	bool family = usage_list_subverbs(words[0], allowed, sizeof(allowed));

	snprintf(typed, sizeof(typed), "%s%s%s", words[0], second[0] ? " " : "", second);
	if (family && !second[0])
		err_fail(reterr, EINVAL, "'%s': second word missing (allowed: %s)", words[0],
			 allowed);
	else if (list_by_second(translate(second), family ? words[0] : NULL, list, sizeof(list)) ==
			 1 &&
		 family)
		err_fail(reterr, EINVAL, "'%s': unknown verb (did you mean %s?)", typed, list);
	else if (!family && second[0] &&
		 list_by_second(translate(words[0]), second, list, sizeof(list)) > 0)
		err_fail(reterr, EINVAL, "'%s': unknown verb (did you mean %s?)", typed, list);
	else if (!family && list_by_second(translate(words[0]), NULL, list, sizeof(list)) > 0)
		err_fail(reterr, EINVAL, "'%s': unknown verb (did you mean %s?)", words[0], list);
	else if (find_nearest(typed, words[0], list, sizeof(list)))
		err_fail(reterr, EINVAL, "'%s': unknown verb (did you mean %s?)",
			 family ? typed : words[0], list);
	else if (is_group(words[0]))
		err_fail(reterr, EINVAL, "'%s': a group of verbs (`gover-ctl help %s` lists them)",
			 words[0], words[0]);
	else if (family)
		err_fail(reterr, EINVAL, "'%s': unknown verb (allowed after '%s': %s)", typed,
			 words[0], allowed);
	else
		err_fail(reterr, EINVAL, "'%s': unknown verb (`gover-ctl help` lists all)",
			 words[0]);
}

/* Prints the groups, the verbs of a group or with the same first word, or the usage of a verb. */
enum ctl_exit verb_help(struct ctl *ctl, const struct args *args)
{
	const char *word = args->n_words > 0 ? args->words[0] : "";
	FILE *out = ctl->writer.out;
	const struct verb *verb;
	struct err err;
	int used = 0;

	if (!word[0]) {
		usage_print_overview(out);
		return CTL_DONE;
	}
	if (args->n_words == 1 && strcmp(word, "all") == 0) {
		usage_print_all(out);
		return CTL_DONE;
	}
	verb = verbs_find(args->words, args->n_words, &used);
	if (verb && used == args->n_words)
		usage_print_verb(out, verb);
	if (verb && args->n_words == 1 && strcmp(verbs_group(VERB_WATCH)->name, word) == 0)
		fputc('\n', out); /* the name of a verb and of a group */
	if ((args->n_words == 1 && usage_print_family(out, word)) ||
	    (verb && used == args->n_words))
		return CTL_DONE;
	usage_explain_unknown(args->words, args->n_words, &err);
	return ctl_fail(CTL_USAGE, "%s", err.msg);
}
