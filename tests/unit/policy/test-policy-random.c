/* SPDX-License-Identifier: MIT */
/*
 * Invariants of all policies. Random tenants arrive, work, are held, change their contracts and
 * leave, on GPUs with random steps and parameters. Sometimes the policy changes. Every call is
 * repeated, once unchanged and once with the vGPUs in another order. The results must be equal.
 * GOVER_TEST_SEED=N runs other histories, GOVER_TEST_PCT=N only that percentage of them.
 */

#include "tests/unit/policy/test-policy.h"

#define TENANTS_MAX 12
#define HISTORIES   1500
#define CALLS	    200 /* number of calls in a history */

enum call_kind { CALL_STEP, CALL_FUND, CALL_RETURN, CALL_FIT, CALL_HOLD, CALL_SET };

struct call {
	enum call_kind kind;
	struct policy_terms newcomer; /* for fund and set: the contract */
	const char *id;		      /* for hold and set: the vGPU */
	int cap_pct;
};

struct world {
	const struct policy *policy;
	struct policy_params params;
	struct policy_gpu gpu;
	struct policy_vgpu vgpus[TENANTS_MAX];
	struct policy_track tracks[TENANTS_MAX]; /* of vgpus[i] */
	int moods[TENANTS_MAX]; /* 0: idle, 1: working, 2: wants more than its cap */
	struct policy_out out;
	int result, largest_pct; /* results of the last call */
};

static char names[TENANTS_MAX][8];
static int seen[POLICY_KINDS];
static int refused_holds, refused_funds, refused_sets;

static double random_double(double low, double high)
{
	return low + (high - low) * (double)(random_next() >> 11) / 9007199254740992.0;
}

static bool one_in(int n)
{
	return random_int(1, n) == 1;
}

static void link_up(struct world *world)
{
	world->gpu.vgpus = world->vgpus;
	for (int i = 0; i < world->gpu.n_vgpus; i++)
		world->vgpus[i].track = &world->tracks[i];
}

static void copy_world(const struct world *from, struct world *to)
{
	*to = *from;
	link_up(to);
}

static void copy_shuffled(const struct world *from, struct world *to)
{
	int order[TENANTS_MAX], n = from->gpu.n_vgpus;

	copy_world(from, to);
	for (int i = 0; i < n; i++) {
		int j = random_int(0, i);

		order[i] = i;
		order[i] = order[j];
		order[j] = i;
	}
	for (int i = 0; i < n; i++) {
		to->vgpus[i] = from->vgpus[order[i]];
		to->tracks[i] = from->tracks[order[i]];
	}
	link_up(to);
}

static int find(const struct world *world, const char *id)
{
	int i = 0;

	while (world->vgpus[i].id != id)
		i++;
	return i;
}

static void make_call_on(struct world *world, struct policy_gpu *gpu, const struct call *call)
{
	world->result = 0;
	switch (call->kind) {
	case CALL_STEP:
		world->policy->step(&world->params, gpu, &world->out);
		break;
	case CALL_FUND:
		world->result =
			world->policy->fund(&world->params, gpu, &call->newcomer, &world->out);
		break;
	case CALL_RETURN:
		world->policy->give_back(&world->params, gpu, &world->out);
		break;
	case CALL_FIT:
		world->result = policy_fit(&world->params, gpu, &world->out);
		break;
	case CALL_HOLD:
		world->result = policy_hold(&world->params, gpu, find(world, call->id),
					    call->cap_pct, &world->out, &world->largest_pct);
		break;
	case CALL_SET:
		world->result = policy_set(&world->params, gpu, find(world, call->id),
					   &call->newcomer, &world->out, &world->largest_pct);
		break;
	}
}

/* Makes the call on an array without an element behind the last vGPU, so that AddressSanitizer
 * detects an access behind it. */
static void make_call(struct world *world, const struct call *call)
{
	size_t size = (size_t)world->gpu.n_vgpus * sizeof(struct policy_vgpu);
	struct policy_vgpu *exact = malloc(size);

	assert_true(exact || size == 0);
	memcpy(exact, world->vgpus, size);
	world->gpu.vgpus = exact;
	make_call_on(world, &world->gpu, call);
	memcpy(world->vgpus, exact, size);
	free(exact);
	world->gpu.vgpus = world->vgpus;
}

static const char *name_of(const struct world *world, int index)
{
	return index < 0 ? "no shares" : world->vgpus[index].id;
}

static void check_same_decisions(const struct world *a, const struct world *b)
{
	assert_int_equal(a->out.n_decisions, b->out.n_decisions);
	assert_int_equal(a->out.n_moves, b->out.n_moves);
	for (int i = 0; i < a->out.n_decisions; i++) {
		const struct policy_decision *x = &a->out.decisions[i], *y = &b->out.decisions[i];

		assert_int_equal(x->kind, y->kind);
		assert_string_equal(name_of(a, x->vgpu), name_of(b, y->vgpu));
		assert_string_equal(name_of(a, x->donor), name_of(b, y->donor));
		assert_string_equal(x->why, y->why);
		assert_int_equal(x->first_move, y->first_move);
		assert_int_equal(x->n_moves, y->n_moves);
		assert_int_equal(x->n_numbers, y->n_numbers);
		for (int j = 0; j < x->n_numbers; j++) {
			assert_string_equal(x->numbers[j].name, y->numbers[j].name);
			assert_true(x->numbers[j].value == y->numbers[j].value);
		}
	}
	for (int i = 0; i < a->out.n_moves; i++) {
		const struct policy_move *x = &a->out.moves[i], *y = &b->out.moves[i];

		assert_string_equal(name_of(a, x->vgpu), name_of(b, y->vgpu));
		assert_int_equal(x->from_pct, y->from_pct);
		assert_int_equal(x->to_pct, y->to_pct);
	}
}

static void check_same(const struct world *a, const struct world *b)
{
	assert_int_equal(a->result, b->result);
	assert_int_equal(a->largest_pct, b->largest_pct);
	assert_int_equal(a->gpu.conditions, b->gpu.conditions);
	assert_int_equal(a->gpu.calm_run, b->gpu.calm_run);
	assert_int_equal(a->gpu.severe_run, b->gpu.severe_run);
	assert_int_equal(a->gpu.severe_quiet, b->gpu.severe_quiet);
	assert_int_equal(a->gpu.severe_in_doubt, b->gpu.severe_in_doubt);
	assert_int_equal(a->gpu.free_pct, b->gpu.free_pct);
	assert_true(a->gpu.total_load == b->gpu.total_load);
	check_same_decisions(a, b);
	for (int i = 0; i < a->gpu.n_vgpus; i++) {
		const struct policy_vgpu *x = &a->vgpus[i], *y = &b->vgpus[find(b, x->id)];

		assert_int_equal(x->want_cap_pct, y->want_cap_pct);
		assert_int_equal(x->conditions, y->conditions);
		assert_int_equal(x->overloaded, y->overloaded);
		assert_int_equal(x->receiver, y->receiver);
		assert_int_equal(x->in_doubt, y->in_doubt);
		assert_int_equal(x->broken, y->broken);
		assert_true(x->e == y->e);
		assert_memory_equal(x->track, y->track, sizeof(*x->track));
	}
}

static int sum_pct(const struct world *world, bool wanted)
{
	int sum = 0;

	for (int i = 0; i < world->gpu.n_vgpus; i++)
		sum += wanted ? world->vgpus[i].want_cap_pct : world->vgpus[i].cap_pct;
	return sum;
}

static void check_bounds(const struct world *world, const struct call *call)
{
	for (int i = 0; i < world->gpu.n_vgpus; i++) {
		const struct policy_vgpu *v = &world->vgpus[i];
		bool set = call->kind == CALL_SET && call->id == v->id;
		const struct policy_terms *terms = set ? &call->newcomer : &v->terms;
		int least = policy_floor_pct(&world->params, &world->gpu, terms);
		int most = policy_ceiling_pct(&world->gpu, terms);

		assert_in_range(v->want_cap_pct, least, most);
		assert_int_equal(v->want_cap_pct % world->gpu.step_pct, 0);
		if (v->held && !(call->kind == CALL_HOLD && call->id == v->id))
			assert_int_equal(v->want_cap_pct, v->cap_pct);
	}
}

static void check_steal(const struct world *world, const struct policy_decision *decision)
{
	const struct policy_move *moves = world->out.moves + decision->first_move;
	const struct policy_vgpu *donor = &world->vgpus[decision->donor];

	assert_int_equal(decision->n_moves, 2);
	assert_int_equal(moves[0].vgpu, decision->donor);
	assert_int_equal(moves[1].vgpu, decision->vgpu);
	assert_true(moves[1].to_pct > moves[1].from_pct);
	assert_int_equal(moves[0].from_pct - moves[0].to_pct, moves[1].to_pct - moves[1].from_pct);
	assert_true(donor->sample.busy_valid && !donor->held && !donor->overloaded);
	assert_true(world->vgpus[decision->vgpu].receiver);
	if (!world->params.paper_mode)
		assert_true(100 * donor->sample.load <=
			    world->params.overload_pct / 100 * moves[0].to_pct + 0.01);
}

/* Checks that the first cap in an offer can be funded while nothing has changed. */
static void check_offer(const struct world *world, const struct policy_decision *decision)
{
	static struct world claimed;

	assert_int_equal(decision->n_moves, 0);
	assert_true(world->gpu.selling && !world->gpu.offered && !world->gpu.gap);
	for (int i = 0; i < world->gpu.n_vgpus; i++)
		assert_true(world->vgpus[i].sample.busy_valid);
	copy_world(world, &claimed);
	assert_int_equal(claimed.policy->fund(&claimed.params, &claimed.gpu,
					      &claimed.gpu.flavors[0], &claimed.out),
			 decision->fundable_pct[0]);
}

static void check_decisions(const struct world *world)
{
	for (int i = 0; i < world->out.n_decisions; i++) {
		const struct policy_decision *decision = &world->out.decisions[i];

		seen[decision->kind]++;
		assert_true(strlen(decision->why) > 0);
		if (decision->kind == POLICY_STEAL ||
		    (decision->kind == POLICY_WAKE && decision->donor >= 0))
			check_steal(world, decision);
		else if (decision->kind == POLICY_OFFER)
			check_offer(world, decision);
		else if (decision->kind == POLICY_SEVERE)
			assert_int_equal(decision->n_moves, 0);
	}
}

/* Checks the policies credit and fair: no cap changes without valid readings, no raise is smaller
 * than the dead band, and caps are cut only for a raise. */
static void check_by_demand(const struct world *world)
{
	bool readable = !world->gpu.gap;
	int largest = 0;

	if (strcmp(world->policy->name, "credit") != 0 && strcmp(world->policy->name, "fair") != 0)
		return;
	for (int i = 0; i < world->gpu.n_vgpus; i++)
		readable = readable && world->vgpus[i].sample.busy_valid;
	for (int i = 0; i < world->out.n_moves; i++) {
		const struct policy_move *move = &world->out.moves[i];

		if (move->to_pct < move->from_pct)
			continue;
		assert_true(move->to_pct - move->from_pct >= world->params.deadband_pct);
		largest = move->to_pct - move->from_pct;
	}
	assert_true(world->out.n_moves == 0 || (readable && largest > 0));
}

static void check_sum(const struct world *world, const struct call *call)
{
	int before = sum_pct(world, false), after = sum_pct(world, true);
	const struct policy_decision *first = &world->out.decisions[0];

	if (call->kind == CALL_STEP) {
		assert_true(after <= 100);
		if (world->policy->give_back != policy_return)
			return; /* this policy may cut caps without raising others */
		if (world->out.n_decisions && first->donor >= 0)
			assert_int_equal(after, before);
		else
			assert_true(after >= before);
	} else if (call->kind == CALL_FUND && world->result > 0) {
		assert_true(after + world->result <= 100);
		assert_true(world->result <= call->newcomer.initial_cap_pct);
		assert_true(world->result >= world->params.min_newcomer_pct);
	} else if (world->result == 0) {
		assert_true(after <= 100);
	}
}

/* Makes the call and all checks, and applies the wanted caps. */
static void play(struct world *world, const struct call *call)
{
	static struct world again, shuffled;

	copy_world(world, &again);
	copy_shuffled(world, &shuffled);
	make_call(world, call);
	make_call(&again, call);
	make_call(&shuffled, call);
	check_same(world, &again);
	check_same(world, &shuffled);
	if (world->result >= 0) {
		check_bounds(world, call);
		check_decisions(world);
		check_sum(world, call);
		if (call->kind == CALL_STEP)
			check_by_demand(world);
		for (int i = 0; i < world->gpu.n_vgpus; i++)
			world->vgpus[i].cap_pct = world->vgpus[i].want_cap_pct;
	}
}

static struct policy_terms random_terms(const struct world *world)
{
	return (struct policy_terms){
		.initial_cap_pct = random_int(world->gpu.step_pct, 60),
		.min_cap_pct = one_in(3) ? random_int(1, 12) : 0,
		.target_fps = one_in(2) ? 60 : 0,
		.weight = one_in(2) ? 1 : random_double(0.01, 100),
		.burst = one_in(4),
	};
}

static const struct policy *random_policy(void)
{
	int n = 0;

	while (policy_at((size_t)n))
		n++;
	return policy_at((size_t)random_int(0, n - 1));
}

static void begin(struct world *world)
{
	static const int steps[] = {1, 1, 2, 5, 7};

	memset(world, 0, sizeof(*world));
	world->policy = random_policy();
	policy_params_default(&world->params);
	world->params.steal_fraction = one_in(2) ? 0.2 : random_double(0.05, 1);
	world->params.fund_window_periods = one_in(2) ? 30 : random_int(1, 10);
	world->params.overload_periods = random_int(1, 4);
	world->params.qos_periods = random_int(1, 2);
	world->params.cap_floor_pct = random_int(1, 6);
	world->params.min_newcomer_pct = random_int(1, 15);
	world->params.lowload_pct = random_int(40, 90);
	world->params.paper_mode = one_in(4);
	world->params.none_vgpus = random_int(1, TENANTS_MAX);
	world->params.demand_periods = random_int(1, 10);
	world->params.demand_probe = random_double(0.01, 2);
	world->params.predict_periods = random_int(1, POLICY_WINDOW_MAX);
	world->params.predict_warm_periods = random_int(1, 40);
	world->params.static_ratio = random_double(1, 6);
	world->params.deadband_pct = random_int(0, 5);
	world->gpu.step_pct = steps[random_int(0, 4)];
	world->gpu.floor_pct = world->gpu.step_pct;
	link_up(world);
}

static void take_sample(struct world *world)
{
	static const double lows[] = {0, 0.3, 0.951}, highs[] = {0.3, 0.95, 1.02};

	if (one_in(60))
		world->policy = random_policy();
	world->gpu.gap = one_in(40);
	if (one_in(20) && !world->params.paper_mode)
		world->gpu.sharing = (enum policy_sharing)random_int(0, 1);
	world->gpu.selling = world->gpu.n_vgpus < TENANTS_MAX && one_in(2);
	if (one_in(8))
		world->gpu.offered = !world->gpu.offered;
	world->gpu.n_flavors = 1;
	world->gpu.flavors[0] = random_terms(world);
	for (int i = 0; i < world->gpu.n_vgpus; i++) {
		struct policy_vgpu *v = &world->vgpus[i];

		if (one_in(8))
			world->moods[i] = random_int(0, 2);
		v->sample.busy_valid = !one_in(50);
		v->sample.util =
			one_in(20) ? 0.95
				   : random_double(lows[world->moods[i]], highs[world->moods[i]]);
		if (world->gpu.sharing == POLICY_SHARING_GUARANTEE && one_in(3))
			v->sample.util *= random_double(1, 3);
		v->sample.load = v->sample.util * v->cap_pct / 100;
		v->sample.fps_valid = !one_in(10);
		v->sample.fps = one_in(2) ? 60 : random_double(0, 70);
	}
	play(world, &(struct call){.kind = CALL_STEP});
}

static const char *free_name(const struct world *world)
{
	for (;;) {
		const char *name = names[random_int(0, TENANTS_MAX - 1)];
		int i = 0;

		while (i < world->gpu.n_vgpus && world->vgpus[i].id != name)
			i++;
		if (i == world->gpu.n_vgpus)
			return name;
	}
}

static void arrive(struct world *world)
{
	struct call call = {.kind = CALL_FUND, .newcomer = random_terms(world)};
	int n = world->gpu.n_vgpus;

	if (n == TENANTS_MAX)
		return;
	play(world, &call);
	if (world->result < 0) {
		refused_funds++;
		return;
	}
	world->tracks[n] = (struct policy_track){0};
	world->moods[n] = 1;
	world->vgpus[n] = (struct policy_vgpu){
		.id = free_name(world), .terms = call.newcomer, .cap_pct = world->result};
	world->gpu.n_vgpus++;
	link_up(world);
}

static void leave(struct world *world)
{
	int last = world->gpu.n_vgpus - 1, gone;

	if (last < 0)
		return;
	gone = random_int(0, last);
	world->vgpus[gone] = world->vgpus[last];
	world->tracks[gone] = world->tracks[last];
	world->gpu.n_vgpus--;
	link_up(world);
	play(world, &(struct call){.kind = CALL_RETURN});
}

static int random_cap(const struct world *world, const struct policy_vgpu *v)
{
	int step = world->gpu.step_pct;

	return step * random_int(policy_floor_pct(&world->params, &world->gpu, &v->terms) / step,
				 policy_ceiling_pct(&world->gpu, &v->terms) / step);
}

static void hold_or_release(struct world *world)
{
	struct call call = {.kind = CALL_HOLD};
	struct policy_vgpu *v = &world->vgpus[random_int(0, TENANTS_MAX - 1)];

	if (v >= world->vgpus + world->gpu.n_vgpus)
		return;
	if (v->held) {
		v->held = false;
		return;
	}
	call.id = v->id;
	call.cap_pct = random_cap(world, v);
	play(world, &call);
	if (world->result < 0) {
		refused_holds++;
		assert_in_range(world->largest_pct, v->cap_pct, call.cap_pct - 1);
		call.cap_pct = world->largest_pct;
		play(world, &call);
		assert_int_equal(world->result, 0);
	}
	v->held = true;
}

static void change_contract(struct world *world)
{
	struct call call = {.kind = CALL_SET, .newcomer = random_terms(world)};
	struct policy_vgpu *v = &world->vgpus[random_int(0, TENANTS_MAX - 1)];
	struct policy_terms *terms = &call.newcomer;

	if (v >= world->vgpus + world->gpu.n_vgpus || v->held)
		return;
	if (one_in(3))
		terms->min_cap_pct = random_int(1, terms->initial_cap_pct);
	call.id = v->id;
	play(world, &call);
	if (world->result < 0) {
		refused_sets++;
		assert_in_range(world->largest_pct, v->cap_pct,
				policy_floor_pct(&world->params, &world->gpu, terms) - 1);
		return;
	}
	v->terms = *terms;
}

/* Changes a cap externally, as another program could. */
static void write_from_outside(struct world *world)
{
	struct policy_vgpu *v = &world->vgpus[random_int(0, TENANTS_MAX - 1)];
	int cap_pct = v->cap_pct;

	if (v >= world->vgpus + world->gpu.n_vgpus || v->held)
		return;
	v->cap_pct = random_cap(world, v);
	play(world, &(struct call){.kind = CALL_FIT});
	if (world->result < 0)
		v->cap_pct = cap_pct;
}

TEST(test_invariants_in_random_histories)
{
	static const struct {
		void (*act)(struct world *world);
		int share; /* of 100 */
	} acts[] = {{take_sample, 75},	  {arrive, 9},		{leave, 5},
		    {hold_or_release, 5}, {change_contract, 3}, {write_from_outside, 3}};
	int histories = bench_scaled(HISTORIES);
	static struct world world;
	bool all_seen = true;

	random_begin(20221101);
	assert_true(random_state != 0);
	print_message("GOVER_TEST_SEED=%llu\n", (unsigned long long)random_state);
	for (int i = 0; i < TENANTS_MAX; i++)
		snprintf(names[i], sizeof(names[i]), "vgpu%d", i + 1);
	for (int history = 0; history < histories; history++) {
		begin(&world);
		for (int n = 0; n < CALLS; n++) {
			int dice = random_int(0, 99), act = 0;

			while (dice >= acts[act].share)
				dice -= acts[act++].share;
			acts[act].act(&world);
			assert_true(sum_pct(&world, false) <= 100);
		}
	}
	for (int kind = 0; kind < POLICY_KINDS; kind++) {
		print_message("  %s: %d\n", policy_kind_name((enum policy_kind)kind), seen[kind]);
		all_seen = all_seen && seen[kind] > 0;
	}
	all_seen = all_seen && refused_holds > 0 && refused_funds > 0 && refused_sets > 0;
	assert_true(all_seen || histories < HISTORIES);
}
