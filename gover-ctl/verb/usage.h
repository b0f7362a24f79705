/* SPDX-License-Identifier: MIT */
/*
 * Usage text, made from the tables of verbs and options.
 */
#ifndef GOVER_CTL_VERB_USAGE_H
#define GOVER_CTL_VERB_USAGE_H

#include <stdio.h>

#include "gover-ctl/verb/verbs.h"

/* Prints all verbs with their summaries. */
void usage_print_all(FILE *out);
/* Prints the synopsis, summary and options of one verb. */
void usage_print_verb(FILE *out, const struct verb *verb);
/* Prints "gover-ctl vgpu add ID --cap PCT [--gpu GPU] ...". */
void usage_print_synopsis(FILE *out, const struct verb *verb);
/* Lists the words that can follow @word: "list, show, add". Returns false if there are none. */
bool usage_list_subverbs(const char *word, char *list, size_t size);
/* Prints the error for words that name no verb, with the most similar verb. */
void usage_explain_unknown(char *const *words, int n_words, struct err *reterr);

#endif
