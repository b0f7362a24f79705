/* SPDX-License-Identifier: MIT */
/* The queue, the memory and the tallies of the device double. */
#include <stdbool.h>
#include <string.h>

#include "tests/double/device/device.h"

size_t device_state_size(const struct device_state *state)
{
	uint64_t queued = state->queued < DEVICE_QUEUE ? state->queued : DEVICE_QUEUE;

	return offsetof(struct device_state, queue) + queued * sizeof(state->queue[0]);
}

void device_init(struct device_state *state, uint64_t memory_bytes)
{
	memset(state, 0, sizeof(*state));
	state->next_seq = 1;
	state->memory_bytes = memory_bytes;
}

/* The tallies in which an event is counted. */
struct tallies {
	struct device_tally *of[3];
};

static struct tallies tallies_of(struct device_state *state, uint64_t client, uint64_t tenant)
{
	return (struct tallies){
		{
			&state->total,
			&state->clients[client].tally,
			&state->tenants[tenant].tally,
		},
	};
}

static struct tallies tallies_of_client(struct device_state *state, unsigned client)
{
	return tallies_of(state, client, state->clients[client].tenant);
}

/* Counts @launch, which leaves the queue after it ran until @end_ns. */
static void count(struct device_state *state, const struct device_launch *launch, uint64_t end_ns)
{
	struct tallies tallies = tallies_of(state, launch->client, launch->tenant);

	for (size_t i = 0; i < 3; i++) {
		if (end_ns > launch->start_ns) {
			uint64_t ns = end_ns - launch->start_ns;

			tallies.of[i]->busy_ns += ns;
			if (ns > tallies.of[i]->longest_ns)
				tallies.of[i]->longest_ns = ns;
		}
		if (end_ns == launch->end_ns)
			tallies.of[i]->launches++;
		else
			tallies.of[i]->dropped++;
	}
	state->clients[launch->client].queued--;
}

void device_settle(struct device_state *state, uint64_t now_ns)
{
	uint64_t done = 0;

	if (now_ns > state->clock_ns)
		state->clock_ns = now_ns;
	for (; done < state->queued && state->queue[done].end_ns <= state->clock_ns; done++)
		count(state, &state->queue[done], state->queue[done].end_ns);
	if (done == 0)
		return;
	state->queued -= done;
	memmove(state->queue, state->queue + done, state->queued * sizeof(state->queue[0]));
}

/* Gives the launches that have not started the earliest times that the order allows. */
static void reserve_again(struct device_state *state)
{
	uint64_t free_ns = state->clock_ns;

	for (uint64_t i = 0; i < state->queued; i++) {
		struct device_launch *launch = &state->queue[i];

		if (launch->start_ns > state->clock_ns) {
			launch->start_ns = free_ns;
			launch->end_ns = free_ns + launch->ns;
		}
		free_ns = launch->end_ns;
	}
}

void device_leave(struct device_state *state, unsigned client, uint64_t now_ns)
{
	struct device_client *c = &state->clients[client];
	uint64_t kept = 0;

	device_settle(state, now_ns);
	if (!c->alive)
		return;
	for (uint64_t i = 0; i < state->queued; i++) {
		const struct device_launch *launch = &state->queue[i];

		if (launch->client != client || launch->start_ns <= state->clock_ns) {
			state->queue[kept++] = *launch;
			continue;
		}
		count(state, launch, launch->start_ns);
	}
	state->queued = kept;
	reserve_again(state);
	device_free(state, client, c->tally.bytes);
	c->alive = 0;
}

static unsigned tenant_of(struct device_state *state, const char *label)
{
	unsigned i;

	for (i = 0; i < DEVICE_TENANTS - 1 && state->tenants[i].label[0] != '\0'; i++) {
		if (strncmp(state->tenants[i].label, label, DEVICE_LABEL - 1) == 0)
			return i;
	}
	if (i == DEVICE_TENANTS - 1)
		label = "other";
	strncpy(state->tenants[i].label, label[0] != '\0' ? label : "?", DEVICE_LABEL - 1);
	return i;
}

/* A launch that still runs must not be counted for the next client with the number @client. */
static void release_number(struct device_state *state, unsigned client)
{
	if (state->queued == 0 || state->queue[0].client != client)
		return;
	state->queue[0].client = DEVICE_CLIENTS;
	state->clients[DEVICE_CLIENTS].queued++;
}

void device_join(struct device_state *state, unsigned client, uint64_t pid, const char *label,
		 uint64_t now_ns)
{
	device_leave(state, client, now_ns);
	release_number(state, client);
	state->clients[client] = (struct device_client){
		.joined_ns = state->clock_ns ? state->clock_ns : 1,
		.pid = pid,
		.alive = 1,
		.tenant = tenant_of(state, label),
	};
	state->joins++;
}

int device_submit(struct device_state *state, unsigned client, uint64_t ns, uint64_t now_ns,
		  struct device_launch *ret_launch)
{
	struct device_launch *launch;
	uint64_t free_ns;

	device_settle(state, now_ns);
	if (state->faults.lost)
		return DEVICE_E_LOST;
	if (state->queued == DEVICE_QUEUE || state->clients[client].queued == DEVICE_CLIENT_QUEUE)
		return DEVICE_E_FULL;
	ns = ns < DEVICE_LAUNCH_NS ? ns : DEVICE_LAUNCH_NS;
	if (state->faults.slow_count > 0) {
		state->faults.slow_count--;
		if (__builtin_mul_overflow(ns, state->faults.slow_factor, &ns) ||
		    ns > DEVICE_LAUNCH_NS)
			ns = DEVICE_LAUNCH_NS;
	}
	free_ns = state->queued > 0 ? state->queue[state->queued - 1].end_ns : state->clock_ns;
	launch = &state->queue[state->queued++];
	*launch = (struct device_launch){
		.seq = state->next_seq++,
		.submit_ns = state->clock_ns,
		.ns = ns,
		.start_ns = free_ns,
		.end_ns = free_ns + ns,
		.client = client,
		.tenant = (uint32_t)state->clients[client].tenant,
	};
	state->clients[client].queued++;
	*ret_launch = *launch;
	return 0;
}

/* Counts down to an injected fault. Returns true if it occurs now. */
static bool occurs(uint64_t *countdown)
{
	return *countdown > 0 && --*countdown == 0;
}

int device_enqueue(struct device_state *state)
{
	if (state->faults.lost)
		return DEVICE_E_LOST;
	return occurs(&state->faults.enqueue) ? DEVICE_E_FAULT : 0;
}

int device_allocate(struct device_state *state, unsigned client, uint64_t bytes)
{
	struct tallies tallies = tallies_of_client(state, client);
	int rc = 0;

	if (state->faults.lost)
		rc = DEVICE_E_LOST;
	else if (occurs(&state->faults.allocation))
		rc = DEVICE_E_FAULT;
	else if (state->total.bytes > state->memory_bytes ||
		 bytes > state->memory_bytes - state->total.bytes)
		rc = DEVICE_E_MEMORY;
	for (size_t i = 0; i < 3; i++) {
		struct device_tally *tally = tallies.of[i];

		if (rc != 0) {
			tally->refused++;
			continue;
		}
		tally->bytes += bytes;
		if (tally->bytes > tally->peak_bytes)
			tally->peak_bytes = tally->bytes;
	}
	return rc;
}

void device_free(struct device_state *state, unsigned client, uint64_t bytes)
{
	struct tallies tallies = tallies_of_client(state, client);

	for (size_t i = 0; i < 3; i++)
		tallies.of[i]->bytes -= bytes < tallies.of[i]->bytes ? bytes : tallies.of[i]->bytes;
}

void device_lose(struct device_state *state, uint64_t now_ns)
{
	device_settle(state, now_ns);
	for (uint64_t i = 0; i < state->queued; i++)
		count(state, &state->queue[i], state->clock_ns);
	state->queued = 0;
	state->faults.lost = 1;
	state->losses++;
}

const struct device_launch *device_find(const struct device_state *state, uint64_t seq)
{
	for (uint64_t i = 0; i < state->queued && state->queue[i].seq <= seq; i++) {
		if (state->queue[i].seq == seq)
			return &state->queue[i];
	}
	return NULL;
}

/* The part that has run of a launch, if it runs. */
static uint64_t running_ns(const struct device_state *state, uint64_t client, uint64_t tenant)
{
	const struct device_launch *launch = &state->queue[0];

	if (state->queued == 0 || launch->start_ns >= state->clock_ns)
		return 0;
	if ((client != UINT64_MAX && launch->client != client) ||
	    (tenant != UINT64_MAX && launch->tenant != tenant))
		return 0;
	return state->clock_ns - launch->start_ns;
}

uint64_t device_busy_ns(const struct device_state *state)
{
	return state->total.busy_ns + running_ns(state, UINT64_MAX, UINT64_MAX);
}

uint64_t device_client_busy_ns(const struct device_state *state, unsigned client)
{
	return state->clients[client].tally.busy_ns + running_ns(state, client, UINT64_MAX);
}

uint64_t device_tenant_busy_ns(const struct device_state *state, unsigned tenant)
{
	return state->tenants[tenant].tally.busy_ns + running_ns(state, UINT64_MAX, tenant);
}
