/* SPDX-License-Identifier: MIT */
/* Usage text, made from the table of verbs. */
#ifndef GOVER_CTL_VERB_USAGE_H
#define GOVER_CTL_VERB_USAGE_H

#include <stdio.h>

#include "gover-ctl/verb/verbs.h"

/* All verbs with their summaries. */
void usage_print_all(FILE *out);
/* One verb: synopsis, summary, options. */
void usage_print_verb(FILE *out, const struct verb *verb);
/* Its synopsis: "gover-ctl vgpu add ID --cap PCT [--gpu GPU] ...". */
void usage_print_synopsis(FILE *out, const struct verb *verb);
/* "list, show, add": the words that can follow @word. False: none. */
bool usage_list_subverbs(const char *word, char *list, size_t size);
/* A sentence about words that are no verb, with the nearest one. */
void usage_explain_unknown(char *const *words, int n_words, struct err *reterr);

#endif
