/* SPDX-License-Identifier: MIT */
/*
 * The discipline vmcg: VMCG (IEEE TPDS 2018) sections 4 and 5, Algorithm 1. In each round, every
 * tenant with work and credit has one turn, the longest slice first. A slice is 16 ms x the host
 * CPU time of the tenant / the largest one (section 5.2). Submissions are dispatched in fours, and
 * a dispatch costs one credit; a tenant without credit waits for the next round, in which tenants
 * without credit get credits by Eq. 2. The credits of a tenant that becomes idle are transferred to
 * the tenants with work. Work-conserving.
 *
 * Where the paper is silent or unclear:
 * - Eq. 2 as printed does not add up to CREDIT, because its denominator has one exponential and the
 *   numerators have N. Here the numerators are divided by their sum. CREDIT is 100, as in section
 *   6.3.
 * - The equations contain no priority, but section 6.6 sets priorities of 4:2:1. The numerator is
 *   multiplied by the weight. Without measured CPU time, slices are in proportion to the weights:
 *   the CPU time that Xen gives to saturating machines of these weights.
 * - "Four requests are dispatched each time", after CFQ, where this is the number of requests of
 *   one queue in the device. Therefore four units are in flight at most, in the whole slice.
 * - A turn is not charged for an over-run: the paper measures no device time.
 */
#include "compute/arbiter/rule.h"

#define SLICE_MAX_NS 16000000ULL
#define SLICE_MIN_NS 100000ULL
#define DISPATCH     4
#define CREDIT	     100ULL
#define ONE	     65536ULL /* fixed point */
#define BLOCKS_MAX   1000000  /* products with weights and CREDIT must not overflow */

/* Returns e^x for 0 <= x <= 1 in fixed point, by its power series. */
static uint64_t exponential(uint64_t x)
{
	uint64_t sum = ONE, term = ONE;

	for (unsigned int i = 1; i <= 8; i++) {
		term = term * x / (ONE * i);
		sum += term;
	}
	return sum;
}

/* The numerator of Eq. 2, times the weight. */
static uint64_t claim_of(const struct arbiter_tenant *tenant)
{
	const struct arbiter_load *load = &tenant->load;
	uint64_t x = (uint64_t)load->bandwidth_permille * load->memory_permille * ONE / 1000000;

	return (exponential(x) + arbiter_min(load->blocks, BLOCKS_MAX) * ONE) *
	       tenant->share.weight;
}

static void allocate(struct arbiter *arbiter)
{
	uint64_t sum = 0, pool = (uint64_t)arbiter->credit_pool;

	ARBITER_FOR_EACH (tenant, arbiter)
		sum += tenant->wants ? claim_of(tenant) : 0;
	ARBITER_FOR_EACH (tenant, arbiter) {
		uint64_t claim = claim_of(tenant), moved;

		if (!tenant->wants)
			continue;
		if (tenant->credit <= 0)
			tenant->credit = (int64_t)arbiter_max(CREDIT * claim / sum, 1);
		moved = pool * claim / sum;
		tenant->credit += (int64_t)moved;
		arbiter->credit_pool -= (int64_t)moved;
	}
}

static void vmcg_join(struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	(void)arbiter;
	tenant->credit = 0;
	tenant->blocks = 0;
	tenant->round = 0;
}

/* The pool never exceeds what one allocation has handed out. */
static void transfer(struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	if (tenant->credit > 0)
		arbiter->credit_pool = (int64_t)arbiter_min(
			(uint64_t)(arbiter->credit_pool + tenant->credit), CREDIT);
	tenant->credit = 0;
}

/* A holder that pauses keeps its credit until its turn ends. */
static void vmcg_sleep(struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	if (!arbiter_holds(arbiter, tenant))
		transfer(arbiter, tenant);
}

/* The measured CPU time counts only if it is known of all tenants with work. */
static bool has_cpu_time(const struct arbiter *arbiter)
{
	ARBITER_FOR_EACH (tenant, arbiter)
		if (tenant->wants && tenant->load.cpu_ns == 0)
			return false;
	return true;
}

static uint64_t vmcg_slice(const struct arbiter *arbiter, const struct arbiter_tenant *tenant)
{
	bool cpu = has_cpu_time(arbiter);
	uint64_t max = 1, own = cpu ? tenant->load.cpu_ns : tenant->share.weight;

	ARBITER_FOR_EACH (other, arbiter)
		if (other->wants)
			max = arbiter_max(max, cpu ? other->load.cpu_ns : other->share.weight);
	while (max > UINT64_MAX / SLICE_MAX_NS) {
		max /= 2;
		own /= 2;
	}
	return arbiter_max(arbiter_min(own, max) * SLICE_MAX_NS / max, SLICE_MIN_NS);
}

static struct arbiter_tenant *next_of_round(const struct arbiter *arbiter)
{
	struct arbiter_tenant *first = NULL;
	uint64_t longest_ns = 0;

	ARBITER_FOR_EACH (tenant, arbiter) {
		uint64_t slice_ns;

		if (!arbiter_can_run(arbiter, tenant) || tenant->credit <= 0 ||
		    tenant->round == arbiter->round)
			continue;
		slice_ns = vmcg_slice(arbiter, tenant);
		if (slice_ns > longest_ns) {
			longest_ns = slice_ns;
			first = tenant;
		}
	}
	return first;
}

static struct arbiter_tenant *vmcg_choose(struct arbiter *arbiter)
{
	struct arbiter_tenant *tenant = next_of_round(arbiter);

	if (!tenant) {
		arbiter->round++;
		allocate(arbiter);
		tenant = next_of_round(arbiter);
	}
	tenant->round = arbiter->round;
	return tenant;
}

static void pay(struct arbiter_tenant *tenant, uint64_t dispatches)
{
	if (tenant->credit > 0)
		tenant->credit -= (int64_t)arbiter_min(dispatches, (uint64_t)tenant->credit);
}

static void vmcg_charge(struct arbiter *arbiter, struct arbiter_tenant *tenant, uint64_t device_ns,
			uint32_t units)
{
	(void)arbiter;
	(void)device_ns;
	tenant->blocks += units;
	pay(tenant, tenant->blocks / DISPATCH);
	tenant->blocks %= DISPATCH;
}

/* A dispatch of fewer than four units costs the same. */
static void vmcg_end(struct arbiter *arbiter, struct arbiter_tenant *tenant)
{
	pay(tenant, tenant->blocks > 0);
	tenant->blocks = 0;
	if (!tenant->wants)
		transfer(arbiter, tenant);
}

static bool vmcg_is_spent(const struct arbiter_tenant *tenant)
{
	return tenant->credit <= 0;
}

const struct arbiter_rule arbiter_rule_vmcg = {
	.join = vmcg_join,
	.sleep = vmcg_sleep,
	.choose = vmcg_choose,
	.slice = vmcg_slice,
	.charge = vmcg_charge,
	.is_spent = vmcg_is_spent,
	.end = vmcg_end,
	.units_in_flight = DISPATCH,
};
