/* SPDX-License-Identifier: MIT */
/* The table of summary fields, JSON of a summary, and sums over GPUs. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/experiment/summary.h"

#define FIELD(name, title, member, recorded, whole, decimals, sum)                          \
	{                                                                                   \
#name, title, offsetof(struct experiment_summary, member), recorded, whole, \
			decimals, SUMMARY_##sum                                             \
	}
#define ACCOUNT(name, title, decimals, sum) \
	FIELD(name, title, account.name, true, false, decimals, sum)
/* A recording does not contain the demand that such a value requires. */
#define PLAYED(name, title, decimals, sum) \
	FIELD(name, title, account.name, false, false, decimals, sum)
#define PLAYED_INT(name, title)	     FIELD(name, title, account.name, false, true, 0, TOTAL)
#define ACCOUNT_INT(name, title)     FIELD(name, title, account.name, true, true, 0, TOTAL)
#define COUNT(name, title, recorded) FIELD(name, title, name, recorded, true, 0, TOTAL)
#define NUMBER(name, title, recorded, decimals, sum) \
	FIELD(name, title, name, recorded, false, decimals, sum)

static const struct summary_field fields[] = {
	ACCOUNT(seconds, "seconds", 0, TOTAL),
	ACCOUNT(util_avg_pct, "utilisation %", 1, MEAN),
	ACCOUNT(util_final_pct, "utilisation %, last tenth", 1, MEAN),
	ACCOUNT(broken_pct, "broken time %", 2, TOTAL),
	ACCOUNT(worst_broken_pct, "broken time %, worst vGPU", 2, MOST),
	ACCOUNT(broken_s, "broken vGPU-seconds", 0, TOTAL),
	ACCOUNT(vgpu_s, "vGPU-seconds", 0, TOTAL),
	PLAYED(shortfall_pct, "shortfall %", 2, TOTAL),
	PLAYED(worst_shortfall_pct, "shortfall %, worst vGPU", 2, MOST),
	PLAYED(shortfall_s, "shortfall, vGPU-seconds", 1, TOTAL),
	PLAYED(promised_s, "promised vGPU-seconds", 0, TOTAL),
	ACCOUNT_INT(vgpus_start, "vGPUs at the start"),
	ACCOUNT_INT(vgpus_end, "vGPUs at the end"),
	ACCOUNT_INT(vgpus_most, "vGPUs, maximum"),
	ACCOUNT(vgpus_avg, "vGPUs, mean", 2, TOTAL),
	ACCOUNT(overbooking_avg, "overbooking ratio", 2, TOTAL),
	ACCOUNT(overbooking_final, "overbooking, last tenth", 2, MEAN),
	ACCOUNT(sold_cap_pct_s, "sold capacity, % x s", 0, TOTAL),
	COUNT(offers, "offers", false),
	COUNT(sales, "sales", false),
	COUNT(kept, "sales kept", false),
	COUNT(failed, "sales failed", false),
	COUNT(closed, "offers closed", false),
	COUNT(refused, "tenants refused", false),
	COUNT(left, "tenants left", true),
	COUNT(cap_moves, "cap moves", true),
	NUMBER(cap_moves_per_min, "cap moves per minute", true, 2, TOTAL),
	NUMBER(severe_s, "seconds of severe overload", false, 0, TOTAL),
	ACCOUNT(mmr, "MMR", 3, LEAST),
	ACCOUNT(lambda, "lambda", 3, MOST),
	ACCOUNT(revenue, "revenue", 4, TOTAL),
	ACCOUNT(penalty, "penalty", 4, TOTAL),
	ACCOUNT(profit, "profit", 4, TOTAL),
	PLAYED_INT(moves, "moves to other hosts"),
	PLAYED(blackout_s, "blackout of moves, seconds", 1, TOTAL),
	NUMBER(stay_median_s, "stay, median, seconds", false, 0, LEAST),
	PLAYED(shortfall_penalty, "penalty by shortfall", 4, TOTAL),
	PLAYED(move_cost, "cost of moves", 4, TOTAL),
	PLAYED(net_income, "net income", 4, TOTAL),
};

const struct summary_field *summary_field_at(size_t index)
{
	return index < ARRAY_SIZE(fields) ? &fields[index] : NULL;
}

const struct summary_field *summary_find_field(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	return NULL;
}

double summary_value(const struct summary_field *field, const struct experiment_summary *summary)
{
	const void *at = (const char *)summary + field->offset;

	return field->whole ? *(const int *)at : *(const double *)at;
}

/* --- JSON --- */

static json_t *encode_real(double value, int decimals)
{
	double scale = pow(10, decimals);

	return json_real(decimals == SUMMARY_EXACT ? value : round(value * scale) / scale);
}

json_t *summary_encode_depths(const double *depth_s, int decimals)
{
	json_t *object = json_object();

	for (int i = 0; i < ACCOUNT_DEPTHS; i++)
		(void)json_object_set_new(object, account_depth_name(i),
					  encode_real(depth_s[i], decimals));
	return object;
}

void summary_encode(const struct experiment_summary *summary, bool recorded, int decimals,
		    json_t *object)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		double value = summary_value(&fields[i], summary);

		(void)json_object_set_new(object, fields[i].name,
					  recorded && !fields[i].recorded ? json_null()
					  : fields[i].whole ? json_integer((json_int_t)value)
							    : encode_real(value, decimals));
	}
	(void)json_object_set_new(object, "broken_s_at_depth",
				  summary_encode_depths(summary->account.depth_s, decimals));
}

/* --- several GPUs --- */

static void add(const struct summary_field *field, const struct experiment_summary *part,
		bool first, struct experiment_summary *sum)
{
	void *at = (char *)sum + field->offset;
	double value = summary_value(field, part), *to = at;

	if (field->whole)
		*(int *)at += (int)value;
	else if (field->sum == SUMMARY_MEAN)
		*to += value * part->account.seconds;
	else if (first || field->sum == SUMMARY_TOTAL)
		*to += value;
	else
		*to = field->sum == SUMMARY_LEAST ? fmin(*to, value) : fmax(*to, value);
}

void summary_add_up(const struct experiment_summary *const *parts, int n,
		    struct experiment_summary *ret_sum)
{
	struct experiment_summary sum = {.offers = 0};
	struct account_summary *account = &sum.account;

	for (int i = 0; i < n; i++) {
		for (size_t f = 0; f < ARRAY_SIZE(fields); f++)
			add(&fields[f], parts[i], i == 0, &sum);
		for (int d = 0; d < ACCOUNT_DEPTHS; d++)
			account->depth_s[d] += parts[i]->account.depth_s[d];
	}
	account->util_avg_pct /= account->seconds;
	account->util_final_pct /= account->seconds;
	account->overbooking_final /= account->seconds;
	account->overbooking_avg = account->sold_cap_pct_s / account->seconds / 100;
	account->broken_pct = account->vgpu_s > 0 ? 100 * account->broken_s / account->vgpu_s : 0;
	account->shortfall_pct =
		account->promised_s > 0 ? 100 * account->shortfall_s / account->promised_s : 0;
	*ret_sum = sum;
}
