/* SPDX-License-Identifier: MIT */
/* The turns of a compute device, written into the beacon. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "compute/channel/memfd.h"
#include "compute/channel/text.h"
#include "compute/server/accelerator.h"

/* A holder gets a later end of its lease when less than half of it is left. */
#define LEASE_NS COMPUTE_STAMP_OLD_NS
/* Turns that can begin and end in one step. More than a few mean that no work is left. */
#define TURNS_MAX 8

int accelerator_new(const struct accelerator_options *options, uint64_t now_ns,
		    struct accelerator **ret_accelerator)
{
	const struct arbiter_options given = {.slice_ns = options->slice_ns};
	struct accelerator *accelerator = calloc(1, sizeof(*accelerator));
	struct accelerator_tenant *others;
	int r;

	if (!accelerator)
		return -ENOMEM;
	accelerator->beacon_fd = -1;
	accelerator->begin_ns = accelerator->stepped_ns = now_ns;
	compute_text_set(accelerator->name, sizeof(accelerator->name), options->name);
	arbiter_start(&accelerator->arbiter, options->discipline, &given, now_ns);
	r = accelerator_add(accelerator, "", NULL, COMPUTE_MEMORY_NO_LIMIT, now_ns, &others);
	if (r == 0)
		r = compute_memfd_create_beacon(&accelerator->beacon_fd, &accelerator->beacon);
	if (r < 0) {
		accelerator_free(accelerator);
		return r;
	}
	*ret_accelerator = accelerator;
	return 0;
}

void accelerator_free(struct accelerator *accelerator)
{
	struct accelerator_tenant *next;

	if (!accelerator)
		return;
	while (accelerator->clients)
		accelerator_disconnect(accelerator, accelerator->clients, accelerator->stepped_ns);
	for (struct accelerator_tenant *tenant = accelerator->tenants; tenant; tenant = next) {
		next = tenant->next;
		free(tenant);
	}
	if (accelerator->beacon)
		__atomic_store_n(&accelerator->beacon->stamp_ns, 0, __ATOMIC_RELEASE);
	compute_memfd_unmap_beacon(accelerator->beacon);
	if (accelerator->beacon_fd >= 0)
		(void)close(accelerator->beacon_fd);
	free(accelerator);
}

/* Device time that @client may still submit in @turn, with what it has in flight. */
static uint64_t left_ns(const struct arbiter_turn *turn, const struct accelerator_client *client)
{
	uint64_t left = turn->slice_ns > turn->used_ns ? turn->slice_ns - turn->used_ns : 0;
	uint64_t total_ns = turn->tenant->in_flight_ns, own_ns = client->reading.in_flight_ns;
	uint64_t others_ns = total_ns > own_ns ? total_ns - own_ns : 0;

	return left > others_ns ? left - others_ns : 0;
}

/* The bounds of a turn in a slot. */
struct bounds {
	uint64_t in_flight_max_ns, submissions_end, busy_end_ns;
};

static struct bounds bounds_of(const struct accelerator *accelerator,
			       const struct accelerator_client *client,
			       const struct arbiter_turn *turn)
{
	struct bounds bounds = {.in_flight_max_ns = turn->in_flight_ns};

	if (turn->units > 0)
		bounds.submissions_end = client->begin + turn->units;
	/* No tenant waits for the end of this slice otherwise, and the arbiter extends it. */
	if (accelerator->arbiter.contended || turn->tenant->share.cap_pct > 0)
		bounds.busy_end_ns = client->reading.raw.busy_ns + left_ns(turn, client);
	return bounds;
}

/* Whether the end of a turn has moved on, while the client may wait because of the old one. */
static bool is_later(uint64_t end, uint64_t old)
{
	return old != 0 && (end == 0 || end > old);
}

static void extend_lease(struct compute_slot *slot, uint64_t now_ns)
{
	uint64_t end_ns = __atomic_load_n(&slot->lease_end_ns, __ATOMIC_RELAXED);

	if (end_ns < now_ns + LEASE_NS / 2)
		__atomic_store_n(&slot->lease_end_ns, now_ns + LEASE_NS, __ATOMIC_RELAXED);
}

static void grant(struct accelerator *accelerator, struct accelerator_client *client,
		  const struct arbiter_turn *turn, uint64_t now_ns)
{
	struct compute_slot *slot = &accelerator->beacon->slot[client->slot];
	/* A lease that has ended needs a new grant word: see wire.h. */
	bool ended = __atomic_load_n(&slot->lease_end_ns, __ATOMIC_RELAXED) <= now_ns;
	bool fresh = client->turn_id != turn->id, later;
	struct bounds bounds;

	if (fresh)
		client->begin = __atomic_load_n(&client->page->submissions, __ATOMIC_RELAXED);
	bounds = bounds_of(accelerator, client, turn);
	later = is_later(bounds.submissions_end, slot->submissions_end) ||
		is_later(bounds.busy_end_ns, slot->busy_end_ns);
	extend_lease(slot, now_ns);
	__atomic_store_n(&slot->slice_ns, turn->slice_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->in_flight_max, turn->units_in_flight, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->in_flight_max_ns, bounds.in_flight_max_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->submissions_end, bounds.submissions_end, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->busy_end_ns, bounds.busy_end_ns, __ATOMIC_RELAXED);
	if (fresh || ended || (later && client->reading.wants))
		accelerator_set_grant(accelerator, client, COMPUTE_GRANT_TURN, turn->id);
}

/* Withdraws the grants of all other turns, then grants @turn. */
static void write_grants(struct accelerator *accelerator, const struct arbiter_turn *turn,
			 uint64_t now_ns)
{
	bool running = turn->state == ARBITER_RUN;

	EACH_CLIENT (client, accelerator)
		if (client->turn_id != 0 && !(running && &client->tenant->turn == turn->tenant))
			accelerator_set_grant(accelerator, client, COMPUTE_GRANT_NONE, 0);
	if (!running)
		return;
	EACH_CLIENT (client, accelerator)
		if (&client->tenant->turn == turn->tenant)
			grant(accelerator, client, turn, now_ns);
}

/*
 * Returns whether the work of the draining @tenant is finished, or is about to finish as predicted.
 * Otherwise *@next_ns becomes the time at which it will be, if that is earlier.
 */
static bool is_drained(struct accelerator *accelerator, struct accelerator_tenant *tenant,
		       uint64_t now_ns, uint64_t *next_ns)
{
	uint64_t ends_ns = 0;
	bool busy = false;

	/* A client can have submitted until its grant was withdrawn. */
	EACH_CLIENT (client, accelerator) {
		if (client->tenant != tenant)
			continue;
		accelerator_read(accelerator, client, now_ns);
		busy = busy || accelerator_is_busy(client, now_ns);
		if (accelerator_is_busy(client, now_ns) && client->reading.ends_ns > ends_ns)
			ends_ns = client->reading.ends_ns;
	}
	accelerator_report(accelerator, tenant, now_ns);
	if (!busy)
		return true;
	/* Work that takes longer than predicted says nothing about its end. */
	if (ends_ns <= now_ns)
		return false;
	if (ends_ns <= now_ns + ACCELERATOR_HANDOVER_NS)
		return true;
	ends_ns -= ACCELERATOR_HANDOVER_NS;
	if (ends_ns < *next_ns)
		*next_ns = ends_ns;
	return false;
}

/* Clients ring when they become idle only if it can change a decision, because it costs them. */
static void write_flags(struct accelerator *accelerator)
{
	bool idle =
		accelerator->arbiter.contended || accelerator->arbiter.turn.state == ARBITER_DRAIN;

	EACH_CLIENT (client, accelerator) {
		const struct accelerator_tenant *tenant = client->tenant;
		bool memory =
			tenant->memory_max_bytes != COMPUTE_MEMORY_NO_LIMIT && tenant->clients > 1;

		__atomic_store_n(&accelerator->beacon->slot[client->slot].flags,
				 (idle ? COMPUTE_RING_IDLE : 0) |
					 (memory ? COMPUTE_RING_MEMORY : 0),
				 __ATOMIC_RELAXED);
	}
}

/* Picks until a turn runs or waits for its work. */
static void decide(struct accelerator *accelerator, uint64_t now_ns, uint64_t *next_ns)
{
	struct arbiter *arbiter = &accelerator->arbiter;
	struct arbiter_turn turn;

	for (int i = 0; i < TURNS_MAX; i++) {
		bool held = arbiter_pick(arbiter, now_ns, &turn);

		write_grants(accelerator, &turn, now_ns);
		if (!held || turn.state != ARBITER_DRAIN ||
		    !is_drained(accelerator, accelerator_tenant_with(turn.tenant), now_ns, next_ns))
			break;
		accelerator_charge_in_advance(accelerator, accelerator_tenant_with(turn.tenant),
					      now_ns);
		arbiter_end_turn(arbiter, now_ns);
	}
}

static void read_pages(struct accelerator *accelerator, uint64_t now_ns)
{
	EACH_CLIENT (client, accelerator)
		accelerator_read(accelerator, client, now_ns);
	EACH_TENANT (tenant, accelerator)
		accelerator_report(accelerator, tenant, now_ns);
}

uint64_t accelerator_step(struct accelerator *accelerator, uint64_t now_ns)
{
	struct arbiter_tenant *holder = accelerator->arbiter.turn.tenant;
	uint64_t next_ns = ARBITER_NEVER, event_ns;

	__atomic_store_n(&accelerator->beacon->stamp_ns, now_ns, __ATOMIC_RELEASE);
	if (holder && now_ns > accelerator->stepped_ns)
		accelerator_tenant_with(holder)->granted_ns += now_ns - accelerator->stepped_ns;
	accelerator->stepped_ns = now_ns;
	read_pages(accelerator, now_ns);
	decide(accelerator, now_ns, &next_ns);
	write_flags(accelerator);
	event_ns = arbiter_next_event_ns(&accelerator->arbiter);
	if (event_ns < next_ns)
		next_ns = event_ns;
	/* With a margin for a host that is busy. */
	if (accelerator->clients && now_ns + COMPUTE_STAMP_PERIOD_NS / 2 < next_ns)
		next_ns = now_ns + COMPUTE_STAMP_PERIOD_NS / 2;
	return next_ns;
}
