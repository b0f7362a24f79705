/* SPDX-License-Identifier: MIT */
/*
 * Usage text, made from the tables of verbs, groups and options. Lines have at most 80 columns.
 */
#ifndef GOVER_CTL_MAIN_USAGE_H
#define GOVER_CTL_MAIN_USAGE_H

#include <stdio.h>

#include "gover-ctl/main/verbs.h"

/* Prints the groups with the names of their verbs; fits a screen of 24 lines. */
void usage_print_overview(FILE *out);
/* Prints all verbs with their summaries, and the options of every verb. */
void usage_print_all(FILE *out);
/* Prints the synopsis, summary and options of one verb. */
void usage_print_verb(FILE *out, const struct verb *verb);
/* Prints "gover-ctl vgpu add ID --cap PCT [--gpu GPU] ...". */
void usage_print_synopsis(FILE *out, const struct verb *verb);
/*
 * Prints the verbs of the group @word, such as "selling", and the verbs with the first word @word,
 * such as "vgpu". Returns false and prints nothing if there are none.
 */
bool usage_print_family(FILE *out, const char *word);
/* Lists the words that can follow @word: "list, show, add". Returns false if there are none. */
bool usage_list_subverbs(const char *word, char *list, size_t size);
/* Writes the error for words that name no verb, with the verbs that may be meant. */
void usage_explain_unknown(char *const *words, int n_words, struct err *reterr);

/* The verb `help`. */
enum ctl_exit verb_help(struct ctl *ctl, const struct args *args);

#endif
