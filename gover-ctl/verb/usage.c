/* SPDX-License-Identifier: MIT */
/*
 * Usage text, made from the tables of verbs and options.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "gover-ctl/verb/usage.h"
#include "base/nearest.h"

#define TEXT_WIDTH  96
#define HELP_INDENT 22

/* Prints a word of a synopsis, on a new line if the present line is full. */
static void put_word(FILE *out, const char *word, int *column)
{
	int length = (int)strlen(word);

	if (*column + 1 + length > TEXT_WIDTH) {
		fputs("\n           ", out);
		*column = 11;
	}
	fprintf(out, " %s", word);
	*column += 1 + length;
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
		put_word(out, word, column);
	}
}

void usage_print_synopsis(FILE *out, const struct verb *verb)
{
	int column = fprintf(out, "gover-ctl %s", verb->words);

	if (!verb->command && verb->args[0])
		put_word(out, verb->args, &column);
	put_options(out, verb->required, true, &column);
	put_options(out, verb->optional, false, &column);
	if (verb->command) {
		put_word(out, "--", &column);
		put_word(out, verb->args, &column);
	}
	fputc('\n', out);
}

static void put_option_help(FILE *out, const struct option_set *set)
{
	char head[64];

	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = args_get_option((enum option_id)id);

		if (!set->has[id])
			continue;
		snprintf(head, sizeof(head), "--%s %s", info->name, info->arg ? info->arg : "");
		fprintf(out, "  %-*s %s\n", HELP_INDENT, head, info->help);
	}
}

void usage_print_all(FILE *out)
{
	struct option_set first = {.has = {[OPTION_VERSION] = true}};

	fputs("gover-ctl [--socket PATH | --url URL [--token-file FILE] [--cacert FILE]] "
	      "[--json]\n          VERB ...\n\n"
	      "Watch and control gover-d, which shares GPUs between virtual machines.\n\n",
	      out);
	for (size_t i = 0; verbs_at(i); i++)
		fprintf(out, "  %-14s %s\n", verbs_at(i)->words, verbs_at(i)->summary);
	fputs("\nOptions of every verb:\n", out);
	option_set_add(&first, options_global);
	put_option_help(out, &first);
	fputs("\n`gover-ctl help VERB` shows the options of a verb.\n"
	      "Exit status: 0 success, 1 refused or failed, 2 wrong usage, 3 daemon unreachable.\n",
	      out);
}

void usage_print_verb(FILE *out, const struct verb *verb)
{
	struct option_set own = {.has = {false}};

	option_set_add(&own, verb->required);
	option_set_add(&own, verb->optional);
	usage_print_synopsis(out, verb);
	fprintf(out, "\n%c%s.\n", toupper((unsigned char)verb->summary[0]), verb->summary + 1);
	if (verb->required || verb->optional) {
		fputs("\nOptions:\n", out);
		put_option_help(out, &own);
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

void usage_explain_unknown(char *const *words, int n_words, struct err *reterr)
{
	char typed[64], list[256];
	const char *guess = NULL;
	int best = NEAREST_FAR;

	if (usage_list_subverbs(words[0], list, sizeof(list))) {
		err_fail(reterr, EINVAL, "'%s': second word missing or unknown (allowed: %s)",
			 words[0], list);
		return;
	}
	snprintf(typed, sizeof(typed), "%s%s%s", words[0], n_words > 1 ? " " : "",
		 n_words > 1 ? words[1] : "");
	for (size_t i = 0; verbs_at(i); i++) {
		nearest_offer(words[0], verbs_at(i)->words, &best, &guess);
		nearest_offer(typed, verbs_at(i)->words, &best, &guess);
	}
	if (guess)
		err_fail(reterr, EINVAL, "'%s': unknown verb (did you mean '%s'?)", words[0],
			 guess);
	else
		err_fail(reterr, EINVAL, "'%s': unknown verb (`gover-ctl help` lists all)",
			 words[0]);
}
