/* SPDX-License-Identifier: MIT */
/*
 * The probability that a vGPU which was observed for a time T reaches its contract within a time t
 * is 1 - ((QUIET_S + T) / (QUIET_S + T + t))^shape: a rate that falls as 1 / T. With a shape of 1
 * this is the rule of succession. The shape is learned on each GPU (a Gamma prior of
 * PRIOR_RISEN / PRIOR_QUIET), and multiplied by a factor for the kind of vGPU (relative_shape()).
 *
 * Random numbers depend on the time, the number of the sample and the id of the vGPU only.
 */
#include <math.h>
#include <stdint.h>

#include "base/id.h"
#include "base/number.h"
#include "policy/plan.h"
#include "policy/qos/demand.h"
#include "policy/qos/futures.h"
#include "policy/share.h"

#define SAMPLES	     1024
#define TIMES	     16 /* number of different instants of the samples */
#define QUIET_S	     60
#define PRIOR_RISEN  0.6  /* number of rises that are assumed before the first one was seen */
#define PRIOR_QUIET  10.0 /* sum of ln(1 + T / QUIET_S) that is assumed before */
#define RISE	     0.2  /* a rise by more than this fraction of the contract counts */
#define IDLE	     0.05 /* a vGPU is idle if its largest demand is at most this part of the contract */
#define WORKS	     0.1 /* a vGPU works if its mean demand is at least this part of the contract */
#define STEADY	     1.5 /* it works steadily if no demand exceeds this multiple of the mean */
#define SHAPE_STEADY 0.6 /* relative rate of rises of vGPUs that are idle or work steadily */
#define SHAPE_RATED  1.0 /* relative rate of rises of vGPUs with a target and a measured rate */
#define RATED_GROWTH 1.5 /* their demand after a rise / largest demand so far */
#define SHAPE_OTHERS 3.0 /* relative rate of rises of the other vGPUs */
#define RISE_AGE_S   30	 /* rises of a younger vGPU do not count */
#define ABOUT_ALL    0.8 /* a demand of this fraction of the contract cannot rise much */
#define MILLION	     1e6
#define NEWCOMERS    16.0 /* assumed newcomers, besides one like each present vGPU; */
#define WANTS_ALL    4.0  /* of them, those that want the whole contract */
#define USUAL	     0.95 /* the usual demand is not exceeded in this part of the past */
#define RISEN	     0.8  /* mean demand after a rise / largest demand after a rise */
#define SURVIVES     0.1  /* weight of futures with rises if the GPU survives two rises at once */
#define TREND_SLOTS  75	  /* largest length of the three parts that show a trend */
#define TREND_LEAST  8	  /* smallest length of these parts */
#define TREND_PCT    0.5  /* smallest difference between the means of two parts, percent */
#define TREND_STEADY 3.0  /* largest ratio of the two differences */

struct member {
	const struct policy_vgpu *vgpu;
	const struct policy_past *past;
	uint64_t hash;
	bool rated;   /* it has a target and a measured rate */
	bool settled; /* it is idle or works steadily */
	int most_pct; /* demand after a rise */
	int floor_pct;
	int usual_pct;	   /* see find_usual_pct(); -1: not computed */
	double rise_pct_s; /* steady rise of the demand per second, percent of the GPU */
	double unseen[TIMES];
};

struct sampler {
	const struct policy_gpu *gpu;
	unsigned int slot;
	uint64_t seed;
	int n, rows, peak_pct;
	/* in the present sample, a present vGPU, or any vGPU, has a demand that was never seen */
	bool present_rises, rises;
	double newcomer_unseen[TIMES], newcomer_wants_all;
	/* The last element is the newcomer. */
	int demand_pct[POLICY_VGPUS_MAX + 1], share[POLICY_VGPUS_MAX + 1];
	struct member members[POLICY_VGPUS_MAX];
};

static unsigned int slot_at(double past_s)
{
	return (unsigned int)(past_s / FUTURES_SLOT_S);
}

static int past_pct(const struct policy_past *past, unsigned int slot, int age)
{
	return past->pct[(slot - (unsigned int)age) % POLICY_PAST_SLOTS];
}

/* --- storing --- */

static int tolerated_pct(const struct policy_vgpu *vgpu)
{
	double pct = demand_tolerance(vgpu) * demand_now_pct(vgpu);

	if (vgpu->held)
		return min_int(vgpu->cap_pct, 100);
	if (vgpu->track->demand.source == POLICY_DEMAND_PROBED)
		pct = demand_tolerance(vgpu) * policy_terms_ceiling_pct(&vgpu->terms);
	return (int)fmin(100, ceil(pct - 1e-6));
}

/* After a rise far above all earlier demands, the vGPU is judged like a new one, by its demands
 * since then. Counts the rises on this GPU, and the time without rises. Integers are added, so that
 * the order of the vGPUs has no effect. */
static void learn_rise(struct policy_gpu *gpu, const struct policy_vgpu *vgpu, int pct)
{
	struct policy_past *past = &vgpu->track->past;
	double contract_pct = policy_terms_ceiling_pct(&vgpu->terms);

	if (past->peak_pct < ABOUT_ALL * contract_pct)
		gpu->quiet += llround(MILLION * log1p(gpu->period_s / (QUIET_S + past->seen_s)));
	if (past->slots == 0 || pct <= past->peak_pct + RISE * contract_pct)
		return;
	gpu->risen += past->seen_s > RISE_AGE_S;
	past->slots = 0;
	past->seen_s = 0;
}

static void store(struct policy_gpu *gpu, struct policy_vgpu *vgpu, unsigned int slot,
		  unsigned int before)
{
	struct policy_past *past = &vgpu->track->past;
	int pct = tolerated_pct(vgpu);
	/* Neither a hold nor an unknown demand is a rise that was seen. */
	bool seen = !vgpu->held && vgpu->track->demand.source != POLICY_DEMAND_PROBED;

	if (seen)
		learn_rise(gpu, vgpu, pct);
	if (past->slots == 0)
		before = slot - 1;
	/* A period that is longer than a slot fills several slots. */
	while (before != slot) {
		before++;
		past->pct[before % POLICY_PAST_SLOTS] = (unsigned char)(before == slot ? 0 : pct);
		past->slots = min_int(past->slots + 1, POLICY_PAST_SLOTS);
	}
	past->pct[slot % POLICY_PAST_SLOTS] =
		(unsigned char)max_int(past->pct[slot % POLICY_PAST_SLOTS], pct);
	if (seen)
		past->peak_pct = (unsigned char)max_int(past->peak_pct, pct);
	past->seen_s += gpu->period_s;
}

void futures_learn(struct policy_gpu *gpu)
{
	unsigned int before = slot_at(gpu->past_s);

	gpu->past_s += gpu->period_s;
	for (int i = 0; i < gpu->n_vgpus; i++)
		store(gpu, &gpu->vgpus[i], slot_at(gpu->past_s), before);
}

void futures_fill(const struct policy_gpu *gpu, struct policy_vgpu *vgpu, const unsigned char *pct,
		  int n)
{
	struct policy_past *past = &vgpu->track->past;
	unsigned int slot = slot_at(gpu->past_s);

	past->slots = min_int(n, POLICY_PAST_SLOTS - 1) + 1;
	past->seen_s = FUTURES_SLOT_S * n;
	past->pct[slot % POLICY_PAST_SLOTS] = 0;
	for (int i = 0; i < n; i++) {
		past->peak_pct = (unsigned char)max_int(past->peak_pct, pct[i]);
		if (n - i < POLICY_PAST_SLOTS)
			past->pct[(slot - (unsigned int)(n - i)) % POLICY_PAST_SLOTS] = pct[i];
	}
}

/* --- random numbers --- */

/* SplitMix64 (Steele, Lea, Flood, 2014). */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Returns a number from 0 to below 1. */
static double fraction(uint64_t random)
{
	return (double)(random >> 11) / 9007199254740992.0;
}

/* Returns an age in slots, below @n. Each doubling of the age has the same probability. */
static int draw_age(double random, int n)
{
	return min_int((int)exp2(random * log2(n + 1)) - 1, n - 1);
}

/* --- sampling --- */

static double mean_pct(const struct sampler *sampler, const struct policy_past *past, int age,
		       int slots)
{
	int sum = 0;

	for (int i = 0; i < slots; i++)
		sum += past_pct(past, sampler->slot, age + i);
	return (double)sum / slots;
}

/* Returns the steady rise of the demand per second, or 0. The last three parts of the past, of the
 * same length, must differ by similar amounts. */
static double find_trend(const struct sampler *sampler, const struct policy_past *past)
{
	int part = min_int((past->slots - 1) / 3, TREND_SLOTS);
	double newest, oldest, late, early;

	if (part < TREND_LEAST)
		return 0;
	newest = mean_pct(sampler, past, 1, part);
	late = newest - mean_pct(sampler, past, 1 + part, part);
	oldest = mean_pct(sampler, past, 1 + 2 * part, part);
	early = newest - late - oldest;
	if (late < TREND_PCT || early < TREND_PCT ||
	    fmax(late, early) > TREND_STEADY * fmin(late, early))
		return 0;
	return (newest - oldest) / (2 * part * FUTURES_SLOT_S);
}

static void find_unseen(double shape, double seen_s, double unseen[TIMES])
{
	for (int i = 0; i < TIMES; i++) {
		double t_s = FUTURES_HORIZON_S * (i + 0.5) / TIMES;

		unseen[i] = 1 - pow((QUIET_S + seen_s) / (QUIET_S + seen_s + t_s), shape);
	}
}

static int whole_share(double pct)
{
	return max_int(1, (int)ceil(pct - 1e-6));
}

static int most_pct(const struct member *member, int contract_pct)
{
	int pct = whole_share(demand_tolerance(member->vgpu) * contract_pct);

	if (!member->rated || !member->vgpu->track->demand.known)
		return pct;
	return min_int(pct, (int)ceil(RATED_GROWTH * member->past->peak_pct));
}

/* An idle vGPU mostly stays idle, and steady work goes on. Work that has grown since the oldest
 * third of the past is not steady. */
static bool is_settled(const struct sampler *sampler, const struct member *member, int contract_pct)
{
	const struct policy_past *past = member->past;
	int slots = past->slots, part = (slots + 2) / 3;
	double mean = slots > 0 ? mean_pct(sampler, past, 0, slots) : 0;
	double oldest = slots > 0 ? mean_pct(sampler, past, slots - part, part) : 0;
	bool idle = past->peak_pct <= IDLE * contract_pct;
	bool steady = mean >= WORKS * contract_pct && past->peak_pct <= STEADY * fmin(mean, oldest);

	return idle || steady;
}

static double relative_shape(const struct member *member)
{
	if (member->rated)
		return SHAPE_RATED;
	return member->settled ? SHAPE_STEADY : SHAPE_OTHERS;
}

static void sampler_init(struct sampler *sampler, const struct policy_params *params,
			 const struct policy_gpu *gpu)
{
	double shape = (PRIOR_RISEN + gpu->risen) / (PRIOR_QUIET + (double)gpu->quiet / MILLION);
	int by_id[POLICY_VGPUS_MAX], n_rated = 0;

	sampler->gpu = gpu;
	sampler->slot = slot_at(gpu->past_s);
	sampler->seed = mix(sampler->slot);
	sampler->n = gpu->n_vgpus;
	sampler->rows = 1;
	sampler->peak_pct = 0;
	sort_all_by_id(gpu, by_id);
	for (int i = 0; i < sampler->n; i++) {
		struct member *member = &sampler->members[i];
		member->vgpu = &gpu->vgpus[by_id[i]];
		member->past = &member->vgpu->track->past;
		member->hash = id_hash(member->vgpu->id);
		member->usual_pct = -1;
		member->floor_pct = policy_floor_pct(params, gpu, &member->vgpu->terms);
		sampler->share[i] = whole_share(policy_terms_ceiling_pct(&member->vgpu->terms));
		member->rated =
			member->vgpu->terms.target_fps > 0 && member->vgpu->sample.fps_valid;
		n_rated += member->rated;
		member->most_pct = most_pct(member, sampler->share[i]);
		member->rise_pct_s = find_trend(sampler, member->past);
		member->settled = is_settled(sampler, member, sampler->share[i]);
		find_unseen(shape * relative_shape(member), member->past->seen_s, member->unseen);
		sampler->rows = max_int(sampler->rows, member->past->slots);
		sampler->peak_pct = max_int(sampler->peak_pct, member->past->peak_pct);
	}
	find_unseen(shape, 0, sampler->newcomer_unseen);
	sampler->newcomer_wants_all = WANTS_ALL / (NEWCOMERS + sampler->n) *
				      (sampler->n - n_rated) / max_int(1, sampler->n);
}

static int draw_demand(struct sampler *sampler, const struct member *member, int age, int sample,
		       uint64_t random)
{
	const struct policy_past *past = member->past;
	double t_s = FUTURES_HORIZON_S * (sample % TIMES + 0.5) / TIMES;
	double pct;

	if (member->vgpu->held)
		return member->vgpu->cap_pct;
	if (past->slots == 0 || !member->vgpu->track->demand.known ||
	    fraction(random) < member->unseen[sample % TIMES]) {
		sampler->present_rises = true;
		return member->most_pct;
	}
	/* The vGPU arrived later: an age of its own. */
	if (age >= past->slots)
		age = draw_age(fraction(mix(random)), past->slots);
	pct = past_pct(past, sampler->slot, age);
	if (member->rise_pct_s > 0)
		pct = fmin(member->most_pct,
			   pct + member->rise_pct_s * (t_s + FUTURES_SLOT_S * age));
	return max_int((int)ceil(pct), member->floor_pct);
}

/* A newcomer wants its contract with a probability that hardly depends on the present vGPUs, since
 * idle vGPUs show little about others. vGPUs with a rate show more. Otherwise, each present vGPU
 * weighs as much as all unseen kinds together, and a newcomer that resembles a vGPU with a rate
 * cannot rise further than it. */
static int draw_newcomer(struct sampler *sampler, int sample, uint64_t random)
{
	int contract_pct = sampler->share[sampler->n];
	int like = (int)(fraction(mix(random + 1)) * (sampler->n + 1));
	const struct member *member = like < sampler->n ? &sampler->members[like] : NULL;
	bool rises = fraction(mix(random + 2)) < sampler->newcomer_unseen[sample % TIMES];
	int pct;

	random = mix(random + 3);
	if (fraction(mix(random + 1)) < sampler->newcomer_wants_all) {
		sampler->rises = true;
		return contract_pct;
	}
	sampler->rises = sampler->present_rises || rises || !member;
	if (member && member->past->slots > 0 && (member->rated || !rises))
		pct = rises ? member->most_pct
			    : past_pct(member->past, sampler->slot,
				       draw_age(fraction(random), member->past->slots));
	else if (member || rises)
		pct = contract_pct;
	else
		pct = sampler->peak_pct +
		      (int)(fraction(random) * (contract_pct - sampler->peak_pct));
	return min_int(contract_pct, pct);
}

static int find_usual_pct(const struct sampler *sampler, const struct member *member)
{
	const struct policy_past *past = &member->vgpu->track->past;
	int counts[101] = {0}, pct = 100;
	int above = past->slots - 1 - (int)(USUAL * past->slots);

	if (member->vgpu->held)
		return member->vgpu->cap_pct;
	if (past->slots == 0 || !member->vgpu->track->demand.known)
		return member->most_pct;
	for (int age = 0; age < past->slots; age++)
		counts[past_pct(past, sampler->slot, age)]++;
	while (above >= counts[pct])
		above -= counts[pct--];
	/* The past of a vGPU that changes often does not show how far it will rise. */
	if (!member->settled)
		pct = max_int(pct, (int)ceil(RISEN * member->most_pct));
	return max_int(pct, member->floor_pct);
}

/*
 * Returns true if the GPU is large enough for two rises at once: the newcomer rises to its
 * contract, and so does the present vGPU whose rise is the largest. The others have their usual
 * demands. Power grids are planned in this way: the loss of any one or two parts is survived,
 * however small the estimated probability of the loss is.
 */
static bool survives_rises(struct sampler *sampler)
{
	double sum_pct = sampler->gpu->absent.demand_pct + RISEN * sampler->share[sampler->n];
	double rise_pct = 0;

	for (int i = 0; i < sampler->n; i++) {
		struct member *member = &sampler->members[i];
		int pct;

		if (member->usual_pct < 0)
			member->usual_pct = find_usual_pct(sampler, member);
		pct = member->usual_pct;
		sum_pct += pct;
		if (sum_pct + rise_pct > 100)
			return false;
		if (!member->vgpu->held)
			rise_pct = fmax(rise_pct, RISEN * member->most_pct - pct);
	}
	return sum_pct + rise_pct <= 100;
}

/* Returns the number of vGPUs whose demand exceeds their weighted max-min fair share. */
static int count_broken(const struct sampler *sampler)
{
	int left_pct = 100 - sampler->gpu->absent.demand_pct, share = 0, n_broken = sampler->n + 1;
	bool served[POLICY_VGPUS_MAX + 1] = {false};
	bool again = true;

	for (int i = 0; i <= sampler->n; i++)
		share += sampler->share[i];
	while (again) {
		again = false;
		for (int i = 0; i <= sampler->n; i++) {
			if (served[i] ||
			    sampler->demand_pct[i] * share > left_pct * sampler->share[i])
				continue;
			served[i] = again = true;
			left_pct -= sampler->demand_pct[i];
			share -= sampler->share[i];
			n_broken--;
		}
	}
	return n_broken;
}

/* Draws the demands of the present vGPUs. Returns their sum, with the absent vGPUs. */
static int draw_present(struct sampler *sampler, int sample, uint64_t random)
{
	int age = draw_age((sample + fraction(random)) / SAMPLES, sampler->rows);
	int sum_pct = sampler->gpu->absent.demand_pct;

	sampler->present_rises = false;
	for (int i = 0; i < sampler->n; i++) {
		sampler->demand_pct[i] = draw_demand(sampler, &sampler->members[i], age, sample,
						     mix(random ^ sampler->members[i].hash));
		sum_pct += sampler->demand_pct[i];
	}
	return sum_pct;
}

/* The futures with one newcomer, as numbers. */
struct tally {
	int contract_pct;
	int over, broken, broken_by_rises;
};

static void count_sample(struct sampler *sampler, int sample, uint64_t random, int present_pct,
			 struct tally *tally)
{
	sampler->share[sampler->n] = tally->contract_pct;
	sampler->demand_pct[sampler->n] = draw_newcomer(sampler, sample, random);
	if (present_pct + sampler->demand_pct[sampler->n] <= 100)
		return;
	tally->over++;
	*(sampler->rises ? &tally->broken_by_rises : &tally->broken) += count_broken(sampler);
}

static struct futures judge(struct sampler *sampler, const struct tally *tally)
{
	double weight;

	sampler->share[sampler->n] = tally->contract_pct;
	weight = survives_rises(sampler) ? SURVIVES : 1;
	return (struct futures){
		.over = (double)tally->over / SAMPLES,
		.broken = (tally->broken + tally->broken_by_rises * weight) / SAMPLES /
			  (sampler->n + 1),
	};
}

void futures_sample(const struct policy_params *params, const struct policy_gpu *gpu,
		    const struct policy_terms *terms, int n, struct futures *ret_futures)
{
	struct tally tallies[POLICY_FLAVORS_MAX];
	struct sampler sampler;

	sampler_init(&sampler, params, gpu);
	for (int i = 0; i < n; i++)
		tallies[i] = (struct tally){.contract_pct = plan_contract_pct(gpu, &terms[i])};
	for (int sample = 0; sample < SAMPLES; sample++) {
		uint64_t random = mix(sampler.seed + (uint64_t)sample);
		int present_pct = draw_present(&sampler, sample, random);

		for (int i = 0; i < n; i++)
			count_sample(&sampler, sample, random, present_pct, &tallies[i]);
	}
	for (int i = 0; i < n; i++)
		ret_futures[i] = judge(&sampler, &tallies[i]);
}
