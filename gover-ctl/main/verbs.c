/* SPDX-License-Identifier: MIT */
/* The groups of verbs, and the search in the table of verbs. */
#include <stdio.h>
#include <string.h>

#include "gover-ctl/main/verbs.h"

static const struct verb_group_info groups[] = {
	[VERB_WATCH] = {"watch", "see the state, its reasons and its history"},
	[VERB_CONTRACTS] = {"contracts", "sell, change and use vGPUs"},
	[VERB_SELLING] = {"selling", "offers, revenue and simulations"},
	[VERB_POLICY] = {"policy", "parameters of the policy, and stops"},
	[VERB_HOST] = {"host", "checks, access and help"},
};

const struct verb_group_info *verbs_group(enum verb_group group)
{
	return &groups[group];
}

const struct verb *verbs_at(size_t index)
{
	return index < verbs_table_rows && !verbs_table[index].hidden ? &verbs_table[index] : NULL;
}

struct option_set verbs_options(const struct verb *verb)
{
	struct option_set set = {.has = {false}};

	option_set_add(&set, options_global);
	option_set_add(&set, verb->required);
	option_set_add(&set, verb->optional);
	return set;
}

const struct verb *verbs_find(char *const *words, int n_words, int *ret_used)
{
	char two[64] = "";

	if (n_words == 0)
		return NULL;
	if (n_words > 1)
		snprintf(two, sizeof(two), "%s %s", words[0], words[1]);
	for (size_t i = 0; i < verbs_table_rows; i++) {
		int used = strchr(verbs_table[i].words, ' ') ? 2 : 1;

		if (strcmp(verbs_table[i].words, used == 2 ? two : words[0]) != 0)
			continue;
		*ret_used = used;
		return &verbs_table[i];
	}
	return NULL;
}
