/* SPDX-License-Identifier: MIT */
/* The table of disciplines. Their files contain what each does and its source. */
#include "compute/arbiter/rule.h"

const struct arbiter_discipline arbiter_disciplines[] = {
	{"fair", "shares in proportion to weights; idle time is shared", true, &arbiter_rule_fair},
	{"cap", "caps are hard limits; idle time stays unused", false, &arbiter_rule_cap},
	{"guarantee", "guaranteed shares first; the rest is shared by weight", true,
	 &arbiter_rule_guarantee},
	{"credit", "credit in proportion to weights every 30 ms, as in Xen", true,
	 &arbiter_rule_credit},
	{"vmcg", "rounds of slices and credits by measured load, as in VMCG", true,
	 &arbiter_rule_vmcg},
	{"rr", "round robin with slices in proportion to weights", true, &arbiter_rule_rr},
	{"fcfs", "one unit after the other in the order of requests", true, &arbiter_rule_fcfs},
	{NULL, NULL, false, NULL},
};

static bool same_name(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const struct arbiter_discipline *arbiter_discipline_find(const char *name)
{
	const struct arbiter_discipline *discipline;

	for (discipline = arbiter_disciplines; discipline->name; discipline++)
		if (same_name(discipline->name, name))
			return discipline;
	return NULL;
}
