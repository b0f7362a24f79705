/* SPDX-License-Identifier: MIT */
/*
 * `help`: prints the usage of all verbs, of one verb, or of a family of verbs such as "vgpu".
 */
#include <string.h>

#include "gover-ctl/verb/usage.h"
#include "gover-ctl/verb/verbs.h"

/* Prints all verbs with this first word. Returns false if there are none. */
static bool help_family(const struct writer *writer, const char *word)
{
	size_t length = strlen(word);
	bool any = false;

	for (size_t i = 0; verbs_at(i); i++) {
		const char *words = verbs_at(i)->words;

		if (strncmp(words, word, length) != 0 || words[length] != ' ')
			continue;
		if (any)
			fputc('\n', writer->out);
		usage_print_verb(writer->out, verbs_at(i));
		any = true;
	}
	return any;
}

enum ctl_exit verb_help(struct ctl *ctl, const struct args *args)
{
	const struct verb *verb;
	struct err err;
	int used;

	if (args->n_words == 0) {
		usage_print_all(ctl->writer.out);
		return CTL_DONE;
	}
	verb = verbs_find(args->words, args->n_words, &used);
	if (verb && used == args->n_words) {
		usage_print_verb(ctl->writer.out, verb);
		return CTL_DONE;
	}
	if (args->n_words == 1 && help_family(&ctl->writer, args->words[0]))
		return CTL_DONE;
	usage_explain_unknown(args->words, args->n_words, &err);
	return ctl_fail(CTL_USAGE, "%s", err.msg);
}
