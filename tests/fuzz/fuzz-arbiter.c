/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the arbiter of compute devices with any sequence of calls, as from tenants with false
 * reports. The first byte is the discipline; each further call is three bytes: call, tenant,
 * amount. After each call: at most one turn, the sum of the charges is the device time, the device
 * idles only if no tenant may use it, no turn outlives its limits, and no turn allows more than a
 * cap.
 */
#include "compute/arbiter/arbiter.h"
#include "tests/fuzz/fuzz.h"

#define ARBITER_TENANTS 6

struct arbiter_world {
	uint64_t now_ns;
	uint64_t charged_ns;
	struct arbiter arbiter;
	struct arbiter_turn turn; /* as of the last pick */
	struct {
		struct arbiter_tenant tenant;
		bool added;
		/* Charges x 100 - cap x time: now, and the least since the cap was set. */
		__int128 lead, least;
	} slots[ARBITER_TENANTS];
};

/* Amounts of all sizes: a mantissa of four bits, shifted by up to 45. */
static uint64_t arbiter_amount(uint8_t byte)
{
	return (uint64_t)(byte & 15) << (byte >> 4) * 3;
}

static void arbiter_world_advance(struct arbiter_world *world, uint64_t ns)
{
	world->now_ns += ns;
	for (int i = 0; i < ARBITER_TENANTS; i++) {
		world->slots[i].lead -= (__int128)ns * world->slots[i].tenant.share.cap_pct;
		if (world->slots[i].lead < world->slots[i].least)
			world->slots[i].least = world->slots[i].lead;
	}
}

static void arbiter_world_share(struct arbiter_world *world, int i, uint8_t byte)
{
	const struct arbiter_share share = {
		.weight = 1U << (byte & 15),
		.cap_pct = byte & 64 ? byte % 100 : 0,
		.guarantee_pct = byte & 128 ? byte % 90 : 0,
	};
	struct arbiter_tenant *tenant = &world->slots[i].tenant;

	if (world->slots[i].added)
		arbiter_set_share(&world->arbiter, tenant, &share, world->now_ns);
	else
		arbiter_add(&world->arbiter, tenant, &share, world->now_ns);
	world->slots[i].added = true;
	world->slots[i].least = world->slots[i].lead;
}

static void arbiter_world_call(struct arbiter_world *world, const uint8_t call[3])
{
	int i = call[1] % ARBITER_TENANTS;
	struct arbiter_tenant *tenant = &world->slots[i].tenant;
	struct arbiter *arbiter = &world->arbiter;
	uint64_t ns = arbiter_amount(call[2]), now_ns = world->now_ns;

	if (call[0] % 11 == 0 || !world->slots[i].added) {
		arbiter_world_share(world, i, call[2]);
		return;
	}
	switch (call[0] % 11) { /* 6 and 8 are unused, so that the corpus keeps its meaning */
	case 1:
		arbiter_world_advance(world, ns);
		break;
	case 2:
		arbiter_want(arbiter, tenant, call[1] & 128 ? ns : 0, now_ns);
		break;
	case 3:
		arbiter_idle(arbiter, tenant, now_ns);
		break;
	case 4:
		ns = ns < ARBITER_CHARGE_MAX_NS ? ns : ARBITER_CHARGE_MAX_NS;
		arbiter_charge(arbiter, tenant, ns, call[1] >> 5, now_ns);
		world->charged_ns += ns;
		world->slots[i].lead += (__int128)ns * 100;
		break;
	case 5:
		arbiter_end_turn(arbiter, now_ns);
		break;
	case 7:
		arbiter_excuse(tenant, ns);
		break;
	case 9:
		arbiter_set_load(tenant, &(struct arbiter_load){call[2], call[2] * 8U, 900, ns});
		break;
	case 10:
		if (call[2] == 255) {
			arbiter_set_discipline(arbiter, &arbiter_disciplines[call[1] % 7], now_ns);
			break;
		}
		arbiter_remove(arbiter, tenant, now_ns);
		world->slots[i].added = false;
		break;
	}
}

/*
 * True if a tenant may run now by its own report. A suspect one may have to wait for gaps of
 * others, but not without end.
 */
static bool arbiter_world_has_waiting(const struct arbiter_world *world)
{
	uint64_t event_ns = arbiter_next_event_ns(&world->arbiter);
	bool is_due_soon = event_ns <= world->now_ns + 2 * world->arbiter.options.idle_max_ns;

	for (int i = 0; i < ARBITER_TENANTS; i++) {
		const struct arbiter_tenant *tenant = &world->slots[i].tenant;

		if (world->slots[i].added && tenant->wants && !tenant->stalled &&
		    !tenant->unfinished && tenant->share.cap_pct == 0 &&
		    !(tenant->suspect && is_due_soon))
			return true;
	}
	return false;
}

static void arbiter_check_turn(const struct arbiter_world *world, const struct arbiter_turn *before)
{
	const struct arbiter_turn *turn = &world->turn;
	uint64_t since_ns = turn->began_ns;
	size_t i = 0;

	FUZZ_CHECK(turn->id >= before->id);
	if (before->tenant && turn->id == before->id)
		FUZZ_CHECK(!turn->tenant || turn->tenant == before->tenant);
	if (turn->state == ARBITER_FREE) {
		FUZZ_CHECK(!turn->tenant);
		FUZZ_CHECK(!world->arbiter.discipline->work_conserving ||
			   !arbiter_world_has_waiting(world));
		return;
	}
	while (i < ARBITER_TENANTS && &world->slots[i].tenant != turn->tenant)
		i++;
	FUZZ_CHECK(i < ARBITER_TENANTS && world->slots[i].added);
	if (turn->state == ARBITER_DRAIN)
		since_ns = turn->drains_since_ns;
	if (since_ns < world->arbiter.contended_since_ns)
		since_ns = world->arbiter.contended_since_ns;
	if (world->arbiter.contended)
		FUZZ_CHECK(world->now_ns - since_ns < (turn->state == ARBITER_DRAIN
							       ? world->arbiter.options.lease_ns
							       : 2 * world->arbiter.base_ns));
	if (turn->state == ARBITER_RUN && turn->tenant->share.cap_pct > 0 &&
	    turn->used_ns < turn->slice_ns)
		FUZZ_CHECK(world->slots[i].lead +
				   (__int128)(turn->slice_ns - turn->used_ns) * 100 <=
			   world->slots[i].least +
				   (__int128)(ARBITER_WINDOW_NS * turn->tenant->share.cap_pct));
}

FUZZ(arbiter)
{
	static struct arbiter_world world;

	memset(&world, 0, sizeof(world));
	arbiter_start(&world.arbiter, size > 0 ? &arbiter_disciplines[data[0] % 7] : NULL, NULL, 0);
	for (size_t at = 1; at + 3 <= size; at += 3) {
		struct arbiter_turn before = world.turn;

		arbiter_world_call(&world, data + at);
		FUZZ_CHECK(arbiter_pick(&world.arbiter, world.now_ns, &world.turn) ==
			   (world.turn.tenant != NULL));
		arbiter_check_turn(&world, &before);
		FUZZ_CHECK(world.arbiter.busy_ns == world.charged_ns);
		FUZZ_CHECK(arbiter_next_event_ns(&world.arbiter) > world.now_ns);
	}
	return 0;
}
