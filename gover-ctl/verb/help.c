/* SPDX-License-Identifier: MIT */
/*
 * `help`: prints the groups of verbs, the verbs of a group or with the same first word such as
 * "vgpu", or the usage of one verb.
 */
#include <string.h>

#include "gover-ctl/verb/usage.h"
#include "gover-ctl/verb/verbs.h"

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
