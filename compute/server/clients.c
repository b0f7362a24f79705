/* SPDX-License-Identifier: MIT */
/* The clients of a compute device: their pages, and what of them is reported to the arbiter. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"
#include "compute/channel/memfd.h"
#include "compute/channel/text.h"
#include "compute/server/accelerator.h"

#define SCHEDSTAT_TEXT_MAX 64

void accelerator_set_grant(struct accelerator *accelerator, struct accelerator_client *client,
			   enum compute_grant grant, uint64_t turn_id)
{
	struct compute_slot *slot = &accelerator->beacon->slot[client->slot];

	client->turn_id = grant == COMPUTE_GRANT_NONE ? 0 : turn_id;
	client->word = ((client->word & ~COMPUTE_GRANT_MASK) + COMPUTE_GRANT_STEP) | grant;
	__atomic_store_n(&slot->grant, client->word, __ATOMIC_SEQ_CST);
	if (grant != COMPUTE_GRANT_NONE)
		(void)syscall(SYS_futex, &slot->grant, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int take_slot(struct accelerator *accelerator, struct accelerator_client *client)
{
	for (unsigned int i = 0; i < COMPUTE_SLOTS; i++) {
		if (accelerator->slots[i])
			continue;
		accelerator->slots[i] = client;
		client->slot = i;
		/* The sequence goes on, so that no old grant of the slot becomes valid again. */
		client->word = accelerator->beacon->slot[i].grant;
		accelerator_set_grant(accelerator, client, COMPUTE_GRANT_NONE, 0);
		return 0;
	}
	return -ENOSPC;
}

static void free_client(struct accelerator_client *client)
{
	compute_memfd_unmap_page(client->page);
	if (client->schedstat_fd >= 0)
		(void)close(client->schedstat_fd);
	free(client);
}

int accelerator_connect(struct accelerator *accelerator, const char *group,
			const struct compute_page *page, int schedstat_fd, uint64_t now_ns,
			struct accelerator_client **ret_client)
{
	struct accelerator_client *client = calloc(1, sizeof(*client));
	struct accelerator_tenant *tenant = accelerator_match(accelerator, group);
	int r;

	if (!client) {
		compute_memfd_unmap_page(page);
		if (schedstat_fd >= 0)
			(void)close(schedstat_fd);
		return -ENOMEM;
	}
	client->page = page;
	client->schedstat_fd = schedstat_fd;
	r = tenant->clients < ACCELERATOR_CLIENTS_MAX ? take_slot(accelerator, client) : -ENOSPC;
	if (r < 0) {
		free_client(client);
		return r;
	}
	compute_text_set(client->group, sizeof(client->group), group);
	compute_reading_begin(&client->reading, page, now_ns);
	client->progress_ns = now_ns;
	client->tenant = tenant;
	client->next = accelerator->clients;
	accelerator->clients = client;
	accelerator->n_clients++;
	tenant->clients++;
	tenant->changed = true;
	accelerator_read(accelerator, client, now_ns);
	accelerator_divide_memory(accelerator, tenant);
	*ret_client = client;
	return 0;
}

void accelerator_move(struct accelerator *accelerator, struct accelerator_client *client,
		      struct accelerator_tenant *tenant, uint64_t now_ns)
{
	struct accelerator_tenant *old = client->tenant;

	if (tenant == old)
		return;
	accelerator_read(accelerator, client, now_ns);
	accelerator_set_grant(accelerator, client, COMPUTE_GRANT_NONE, 0);
	old->clients--;
	old->memory_bytes -= client->reading.memory_bytes;
	old->changed = true;
	client->tenant = tenant;
	tenant->clients++;
	tenant->memory_bytes += client->reading.memory_bytes;
	tenant->changed = true;
	accelerator_divide_memory(accelerator, old);
	accelerator_divide_memory(accelerator, tenant);
}

void accelerator_disconnect(struct accelerator *accelerator, struct accelerator_client *client,
			    uint64_t now_ns)
{
	struct accelerator_tenant *tenant = client->tenant;
	struct accelerator_client **at = &accelerator->clients;

	accelerator_read(accelerator, client, now_ns);
	/* A process that holds the beacon without a connection must not have a turn. */
	accelerator_set_grant(accelerator, client, COMPUTE_GRANT_NONE, 0);
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	accelerator->n_clients--;
	accelerator->slots[client->slot] = NULL;
	tenant->clients--;
	tenant->memory_bytes -= client->reading.memory_bytes;
	tenant->changed = true;
	free_client(client);
	accelerator_report(accelerator, tenant, now_ns);
	accelerator_divide_memory(accelerator, tenant);
}

/* Whether the program has written something: a sign of life. */
static bool has_changed(const struct compute_reading *old, const struct compute_reading *new)
{
	return old->wants != new->wants || old->wants_ns != new->wants_ns ||
	       old->in_flight != new->in_flight || old->in_flight_ns != new->in_flight_ns ||
	       old->submit_ns != new->submit_ns || old->finish_ns != new->finish_ns ||
	       old->memory_bytes != new->memory_bytes ||
	       memcmp(&old->raw, &new->raw, sizeof(old->raw)) != 0;
}

/* Charges what was not charged in advance. */
static void charge(struct accelerator *accelerator, struct accelerator_tenant *tenant,
		   uint64_t device_ns, uint32_t units, uint64_t now_ns)
{
	uint64_t paid_ns = device_ns < tenant->advance_ns ? device_ns : tenant->advance_ns;

	tenant->advance_ns -= paid_ns;
	arbiter_charge(&accelerator->arbiter, &tenant->turn, device_ns - paid_ns, units, now_ns);
}

void accelerator_charge_in_advance(struct accelerator *accelerator,
				   struct accelerator_tenant *tenant, uint64_t now_ns)
{
	const struct arbiter_turn *turn = &accelerator->arbiter.turn;
	uint64_t held_ns = now_ns - turn->began_ns, in_flight_ns = 0;
	/* Whatever a client claims, the device cannot have worked longer for it. */
	uint64_t max_ns = held_ns > turn->used_ns ? held_ns - turn->used_ns : 0;

	EACH_CLIENT (client, accelerator)
		if (client->tenant == tenant && accelerator_is_busy(client, now_ns))
			in_flight_ns += client->reading.in_flight_ns;
	if (in_flight_ns > max_ns)
		in_flight_ns = max_ns;
	if (in_flight_ns <= tenant->advance_ns)
		return;
	arbiter_charge(&accelerator->arbiter, &tenant->turn, in_flight_ns - tenant->advance_ns, 0,
		       now_ns);
	tenant->advance_ns = in_flight_ns;
}

void accelerator_read(struct accelerator *accelerator, struct accelerator_client *client,
		      uint64_t now_ns)
{
	struct accelerator_tenant *tenant = client->tenant;
	struct compute_reading old = client->reading;
	const struct compute_reading *new = &client->reading;

	compute_reading_take(&client->reading, client->page, now_ns);
	if (!has_changed(&old, new))
		return;
	/* A thread that waits only shows that it is alive. */
	if (old.in_flight != new->in_flight || old.finish_ns != new->finish_ns ||
	    old.raw.submissions != new->raw.submissions || old.raw.units != new->raw.units)
		client->progress_ns = now_ns;
	tenant->changed = true;
	if (new->submissions != old.submissions)
		tenant->submitted = true;
	tenant->submissions += new->submissions - old.submissions;
	tenant->build_ns += new->build_ns - old.build_ns;
	tenant->memory_refused += new->memory_refused - old.memory_refused;
	tenant->kernels_whole += new->kernels_whole - old.kernels_whole;
	if (new->busy_ns != old.busy_ns || new->units != old.units)
		charge(accelerator, tenant, new->busy_ns - old.busy_ns,
		       (uint32_t)(new->units - old.units), now_ns);
	if (new->memory_bytes == old.memory_bytes)
		return;
	tenant->memory_bytes += new->memory_bytes - old.memory_bytes;
	accelerator_divide_memory(accelerator, tenant);
}

bool accelerator_is_busy(const struct accelerator_client *client, uint64_t now_ns)
{
	const struct compute_reading *reading = &client->reading;

	return reading->in_flight &&
	       now_ns - client->progress_ns < ACCELERATOR_STUCK_NS + reading->in_flight_ns;
}

/*
 * Time in which the host thread of @client was ready to run and did not run, and in which it
 * compiled. 0 if that is not known. Of several threads only the first one is known.
 */
static uint64_t excuses_ns(const struct accelerator_client *client)
{
	char text[SCHEDSTAT_TEXT_MAX];
	char *delay, *end;
	int64_t delay_ns;

	if (client->schedstat_fd < 0 ||
	    file_pread_text(client->schedstat_fd, text, sizeof(text)) < 0)
		return client->reading.build_ns;
	delay = strchr(text, ' '); /* "RUN_NS DELAY_NS TIMESLICES" */
	end = delay ? strchr(delay + 1, ' ') : NULL;
	if (!end)
		return client->reading.build_ns;
	*end = '\0';
	if (parse_int(delay + 1, 0, INT64_MAX, &delay_ns) < 0)
		return client->reading.build_ns;
	return client->reading.build_ns + (uint64_t)delay_ns;
}

/* Stores the excuses at the beginning of a gap. */
static void begin_gap(struct accelerator *accelerator, const struct accelerator_tenant *tenant)
{
	EACH_CLIENT (client, accelerator)
		if (client->tenant == tenant)
			client->excused_ns = excuses_ns(client);
}

/* Only a gap of this length can be taken for an idle period. */
static void end_gap(struct accelerator *accelerator, struct accelerator_tenant *tenant,
		    uint64_t now_ns)
{
	uint64_t most_ns = 0;

	if (now_ns - tenant->turn.changed_at_ns < accelerator->arbiter.options.idle_min_ns)
		return;
	EACH_CLIENT (client, accelerator) {
		uint64_t ns;

		if (client->tenant != tenant)
			continue;
		ns = excuses_ns(client);
		ns = ns > client->excused_ns ? ns - client->excused_ns : 0;
		most_ns = ns > most_ns ? ns : most_ns;
	}
	arbiter_excuse(&tenant->turn, most_ns);
}

/* Work that was reported as in flight can count as finished without a change of the page. */
static void see_stuck(struct accelerator_client *client, bool busy)
{
	bool stuck = client->reading.in_flight && !busy;

	if (stuck && !client->stuck)
		client->tenant->changed = true;
	client->stuck = stuck;
}

void accelerator_report(struct accelerator *accelerator, struct accelerator_tenant *tenant,
			uint64_t now_ns)
{
	struct arbiter *arbiter = &accelerator->arbiter;
	bool submitted = tenant->submitted, wants = false;
	uint64_t in_flight_ns = 0;

	EACH_CLIENT (client, accelerator) {
		bool busy = client->tenant == tenant && accelerator_is_busy(client, now_ns);

		if (client->tenant == tenant)
			see_stuck(client, busy);
		wants = wants || busy || (client->tenant == tenant && client->reading.wants);
		/* A first launch has no prediction, but is in flight. */
		if (busy)
			in_flight_ns += client->reading.in_flight_ns + 1;
	}
	if (!tenant->changed)
		return;
	tenant->changed = false;
	tenant->submitted = false;
	if (!tenant->turn.wants && (wants || submitted)) {
		end_gap(accelerator, tenant, now_ns);
		arbiter_want(arbiter, &tenant->turn, in_flight_ns, now_ns);
	}
	if (wants)
		arbiter_want(arbiter, &tenant->turn, in_flight_ns, now_ns);
	else if (tenant->turn.wants || tenant->turn.in_flight_ns > 0) {
		arbiter_idle(arbiter, &tenant->turn, now_ns);
		begin_gap(accelerator, tenant);
	}
}
