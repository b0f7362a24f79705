/* SPDX-License-Identifier: MIT */
/* The table of summary fields, JSON of a summary, and sums over GPUs. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/experiment/summary.h"

#define FIELD(name, title, member, recorded, whole, decimals)                               \
	{                                                                                   \
#name, title, offsetof(struct experiment_summary, member), recorded, whole, \
			decimals                                                            \
	}
#define ACCOUNT(name, title, decimals) FIELD(name, title, account.name, true, false, decimals)
/* A recording does not contain the demand that such a value requires. */
#define PLAYED(name, title, decimals)		FIELD(name, title, account.name, false, false, decimals)
#define PLAYED_INT(name, title)			FIELD(name, title, account.name, false, true, 0)
#define ACCOUNT_INT(name, title)		FIELD(name, title, account.name, true, true, 0)
#define COUNT(name, title, recorded)		FIELD(name, title, name, recorded, true, 0)
#define NUMBER(name, title, recorded, decimals) FIELD(name, title, name, recorded, false, decimals)

static const struct summary_field fields[] = {
	ACCOUNT(seconds, "seconds", 0),
	ACCOUNT(util_avg_pct, "utilisation %", 1),
	ACCOUNT(util_final_pct, "utilisation %, last tenth", 1),
	ACCOUNT(broken_pct, "broken time %", 2),
	ACCOUNT(worst_broken_pct, "broken time %, worst vGPU", 2),
	ACCOUNT(broken_s, "broken vGPU-seconds", 0),
	ACCOUNT(vgpu_s, "vGPU-seconds", 0),
	PLAYED(shortfall_pct, "shortfall %", 2),
	PLAYED(worst_shortfall_pct, "shortfall %, worst vGPU", 2),
	PLAYED(shortfall_s, "shortfall, vGPU-seconds", 1),
	PLAYED(promised_s, "promised vGPU-seconds", 0),
	ACCOUNT_INT(vgpus_start, "vGPUs at the start"),
	ACCOUNT_INT(vgpus_end, "vGPUs at the end"),
	ACCOUNT_INT(vgpus_most, "vGPUs, maximum"),
	ACCOUNT(vgpus_avg, "vGPUs, mean", 2),
	ACCOUNT(overbooking_avg, "overbooking ratio", 2),
	ACCOUNT(overbooking_final, "overbooking, last tenth", 2),
	ACCOUNT(sold_cap_pct_s, "sold capacity, % x s", 0),
	COUNT(offers, "offers", false),
	COUNT(sales, "sales", false),
	COUNT(kept, "sales kept", false),
	COUNT(failed, "sales failed", false),
	COUNT(closed, "offers closed", false),
	COUNT(refused, "tenants refused", false),
	COUNT(left, "tenants left", true),
	COUNT(cap_moves, "cap moves", true),
	NUMBER(cap_moves_per_min, "cap moves per minute", true, 2),
	NUMBER(severe_s, "seconds of severe overload", false, 0),
	ACCOUNT(mmr, "MMR", 3),
	ACCOUNT(lambda, "lambda", 3),
	ACCOUNT(revenue, "revenue", 4),
	ACCOUNT(penalty, "penalty", 4),
	ACCOUNT(profit, "profit", 4),
	PLAYED_INT(moves, "moves to other hosts"),
	PLAYED(blackout_s, "blackout of moves, seconds", 1),
	NUMBER(stay_median_s, "stay, median, seconds", false, 0),
	PLAYED(shortfall_penalty, "penalty by shortfall", 4),
	PLAYED(move_cost, "cost of moves", 4),
	PLAYED(net_income, "net income", 4),
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

static void add_account(struct account_summary *sum, const struct account_summary *one)
{
	sum->util_avg_pct += one->util_avg_pct * one->seconds;
	sum->util_final_pct += one->util_final_pct * one->seconds;
	sum->overbooking_final += one->overbooking_final * one->seconds;
	sum->seconds += one->seconds;
	sum->vgpu_s += one->vgpu_s;
	sum->broken_s += one->broken_s;
	sum->promised_s += one->promised_s;
	sum->shortfall_s += one->shortfall_s;
	for (int i = 0; i < ACCOUNT_DEPTHS; i++)
		sum->depth_s[i] += one->depth_s[i];
	sum->vgpus_avg += one->vgpus_avg;
	sum->vgpus_start += one->vgpus_start;
	sum->vgpus_end += one->vgpus_end;
	sum->vgpus_most += one->vgpus_most;
	sum->sold_cap_pct_s += one->sold_cap_pct_s;
	sum->revenue += one->revenue;
	sum->penalty += one->penalty;
	sum->profit += one->profit;
	sum->moves += one->moves;
	sum->blackout_s += one->blackout_s;
	sum->shortfall_penalty += one->shortfall_penalty;
	sum->move_cost += one->move_cost;
	sum->net_income += one->net_income;
	sum->mmr = fmin(sum->mmr, one->mmr);
	sum->lambda = fmax(sum->lambda, one->lambda);
	sum->worst_broken_pct = fmax(sum->worst_broken_pct, one->worst_broken_pct);
	sum->worst_shortfall_pct = fmax(sum->worst_shortfall_pct, one->worst_shortfall_pct);
}

void summary_add_up(const struct experiment_summary *const *parts, int n,
		    struct experiment_summary *ret_sum)
{
	struct experiment_summary sum = {.account = {.mmr = 1}};
	struct account_summary *account = &sum.account;

	for (int i = 0; i < n; i++) {
		add_account(account, &parts[i]->account);
		sum.offers += parts[i]->offers;
		sum.sales += parts[i]->sales;
		sum.kept += parts[i]->kept;
		sum.failed += parts[i]->failed;
		sum.closed += parts[i]->closed;
		sum.refused += parts[i]->refused;
		sum.left += parts[i]->left;
		sum.cap_moves += parts[i]->cap_moves;
		sum.cap_moves_per_min += parts[i]->cap_moves_per_min;
		sum.severe_s += parts[i]->severe_s;
		if (i == 0 || parts[i]->stay_median_s < sum.stay_median_s)
			sum.stay_median_s = parts[i]->stay_median_s;
	}
	account->util_avg_pct /= account->seconds;
	account->util_final_pct /= account->seconds;
	account->overbooking_final /= account->seconds;
	account->overbooking_avg = account->sold_cap_pct_s / account->seconds / 100;
	account->broken_pct = account->vgpu_s > 0 ? 100 * account->broken_s / account->vgpu_s : 0;
	if (account->promised_s > 0)
		account->shortfall_pct = 100 * account->shortfall_s / account->promised_s;
	*ret_sum = sum;
}
