/* SPDX-License-Identifier: MIT */
/* The tenants of a compute device, their clients and turns, and the answers to control requests. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "compute/channel/memfd.h"
#include "compute/channel/message.h"
#include "compute/server/accelerator.h"

#define SCHEDSTAT_TEXT_MAX 64

/* A holder gets a later end of its lease when less than half of it is left. */
#define LEASE_NS COMPUTE_STAMP_OLD_NS
/* Turns that can begin and end in one step. More than a few mean that no work is left. */
#define TURNS_MAX 8

static void set_grant(struct accelerator *accelerator, struct accelerator_client *client,
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
		set_grant(accelerator, client, COMPUTE_GRANT_NONE, 0);
		return 0;
	}
	return -ENOSPC;
}

static void free_client(struct accelerator_client *client)
{
	compute_memfd_unmap_page(client->page);
	cleanup_closep(&client->schedstat_fd);
	free(client);
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

static void divide_memory(struct accelerator *accelerator, const struct accelerator_tenant *tenant)
{
	uint64_t max = tenant->memory_max_bytes;

	EACH_CLIENT (client, accelerator) {
		struct compute_slot *slot = &accelerator->beacon->slot[client->slot];
		uint64_t others = tenant->memory_bytes - client->reading.memory_bytes;
		uint64_t own = max > others ? max - others : 0;

		if (client->tenant != tenant)
			continue;
		if (max == COMPUTE_MEMORY_NO_LIMIT)
			own = UINT64_MAX;
		__atomic_store_n(&slot->memory_max_bytes, own, __ATOMIC_RELAXED);
	}
}

static void read_client(struct accelerator *accelerator, struct accelerator_client *client,
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
	divide_memory(accelerator, tenant);
}

static struct accelerator_tenant *match_group(const struct accelerator *accelerator,
					      const char *group)
{
	struct accelerator_tenant *best = accelerator->tenants;
	size_t longest = 0;

	EACH_TENANT (tenant, accelerator) {
		size_t n = strlen(tenant->id);

		if (n > longest && strncmp(group, tenant->id, n) == 0 &&
		    (group[n] == '\0' || group[n] == '/')) {
			best = tenant;
			longest = n;
		}
	}
	return best;
}

int accelerator_connect(struct accelerator *accelerator, const char *group,
			const struct compute_page *page, int schedstat_fd, uint64_t now_ns,
			struct accelerator_client **ret_client)
{
	struct accelerator_client *client = calloc(1, sizeof(*client));
	struct accelerator_tenant *tenant = match_group(accelerator, group);
	int r;

	if (!client) {
		compute_memfd_unmap_page(page);
		cleanup_closep(&schedstat_fd);
		return -ENOMEM;
	}
	client->page = page;
	client->schedstat_fd = schedstat_fd;
	r = tenant->clients < ACCELERATOR_CLIENTS_MAX ? take_slot(accelerator, client) : -ENOSPC;
	if (r < 0) {
		free_client(client);
		return r;
	}
	compute_message_set_text(client->group, sizeof(client->group), group);
	compute_reading_begin(&client->reading, page, now_ns);
	client->progress_ns = now_ns;
	client->tenant = tenant;
	client->next = accelerator->clients;
	accelerator->clients = client;
	accelerator->n_clients++;
	tenant->clients++;
	tenant->changed = true;
	read_client(accelerator, client, now_ns);
	divide_memory(accelerator, tenant);
	*ret_client = client;
	return 0;
}

static void move_client(struct accelerator *accelerator, struct accelerator_client *client,
			struct accelerator_tenant *tenant, uint64_t now_ns)
{
	struct accelerator_tenant *old = client->tenant;

	if (tenant == old)
		return;
	read_client(accelerator, client, now_ns);
	set_grant(accelerator, client, COMPUTE_GRANT_NONE, 0);
	old->clients--;
	old->memory_bytes -= client->reading.memory_bytes;
	old->changed = true;
	client->tenant = tenant;
	tenant->clients++;
	tenant->memory_bytes += client->reading.memory_bytes;
	tenant->changed = true;
	divide_memory(accelerator, old);
	divide_memory(accelerator, tenant);
}

static bool is_busy(const struct accelerator_client *client, uint64_t now_ns)
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
	if (end)
		*end = '\0';
	if (!end || parse_int(delay + 1, 0, INT64_MAX, &delay_ns) < 0)
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

static void report(struct accelerator *accelerator, struct accelerator_tenant *tenant,
		   uint64_t now_ns)
{
	struct arbiter *arbiter = &accelerator->arbiter;
	bool submitted = tenant->submitted, wants = false;
	uint64_t in_flight_ns = 0;

	EACH_CLIENT (client, accelerator) {
		bool busy = client->tenant == tenant && is_busy(client, now_ns);

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

void accelerator_disconnect(struct accelerator *accelerator, struct accelerator_client *client,
			    uint64_t now_ns)
{
	struct accelerator_tenant *tenant = client->tenant;
	struct accelerator_client **at = &accelerator->clients;

	read_client(accelerator, client, now_ns);
	/* A process that holds the beacon without a connection must not have a turn. */
	set_grant(accelerator, client, COMPUTE_GRANT_NONE, 0);
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	accelerator->n_clients--;
	accelerator->slots[client->slot] = NULL;
	tenant->clients--;
	tenant->memory_bytes -= client->reading.memory_bytes;
	tenant->changed = true;
	free_client(client);
	report(accelerator, tenant, now_ns);
	divide_memory(accelerator, tenant);
}

static void charge_in_advance(struct accelerator *accelerator, struct accelerator_tenant *tenant,
			      uint64_t now_ns)
{
	const struct arbiter_turn *turn = &accelerator->arbiter.turn;
	uint64_t held_ns = now_ns - turn->began_ns, in_flight_ns = 0;
	/* Whatever a client claims, the device cannot have worked longer for it. */
	uint64_t max_ns = held_ns > turn->used_ns ? held_ns - turn->used_ns : 0;

	EACH_CLIENT (client, accelerator)
		if (client->tenant == tenant && is_busy(client, now_ns))
			in_flight_ns += client->reading.in_flight_ns;
	if (in_flight_ns > max_ns)
		in_flight_ns = max_ns;
	if (in_flight_ns <= tenant->advance_ns)
		return;
	arbiter_charge(&accelerator->arbiter, &tenant->turn, in_flight_ns - tenant->advance_ns, 0,
		       now_ns);
	tenant->advance_ns = in_flight_ns;
}

static struct accelerator_tenant *find_tenant(const struct accelerator *accelerator, uint32_t index)
{
	EACH_TENANT (tenant, accelerator)
		if (tenant->index == index)
			return tenant;
	return NULL;
}

static struct accelerator_tenant *find_id(const struct accelerator *accelerator, const char *id)
{
	EACH_TENANT (tenant, accelerator)
		if (strcmp(tenant->id, id) == 0)
			return tenant;
	return NULL;
}

/* Each client belongs to the tenant of its group, also if the tenant was added or removed later. */
static void match_clients(struct accelerator *accelerator, uint64_t now_ns)
{
	EACH_CLIENT (client, accelerator)
		move_client(accelerator, client, match_group(accelerator, client->group), now_ns);
}

static int add_tenant(struct accelerator *accelerator, const char *id,
		      const struct arbiter_share *share, uint64_t memory_max_bytes, uint64_t now_ns,
		      struct accelerator_tenant **ret_tenant)
{
	struct accelerator_tenant *tenant, **at = &accelerator->tenants;

	if (find_id(accelerator, id))
		return -EEXIST;
	if (accelerator->n_tenants >= ACCELERATOR_TENANTS_MAX ||
	    accelerator->next_index == COMPUTE_TENANT_NONE)
		return -ENOSPC;
	tenant = calloc(1, sizeof(*tenant));
	if (!tenant)
		return -ENOMEM;
	compute_message_set_text(tenant->id, sizeof(tenant->id), id);
	tenant->index = accelerator->next_index++;
	tenant->memory_max_bytes = memory_max_bytes;
	arbiter_add(&accelerator->arbiter, &tenant->turn, share, now_ns);
	while (*at)
		at = &(*at)->next;
	*at = tenant;
	accelerator->n_tenants++;
	match_clients(accelerator, now_ns);
	*ret_tenant = tenant;
	return 0;
}

static int remove_tenant(struct accelerator *accelerator, struct accelerator_tenant *tenant,
			 uint64_t now_ns)
{
	struct accelerator_tenant **at = &accelerator->tenants;

	if (tenant == accelerator->tenants)
		return -EBUSY;
	while (*at != tenant)
		at = &(*at)->next;
	*at = tenant->next;
	accelerator->n_tenants--;
	match_clients(accelerator, now_ns);
	arbiter_remove(&accelerator->arbiter, &tenant->turn, now_ns);
	free(tenant);
	return 0;
}

static enum compute_state state_of(const struct accelerator *accelerator,
				   const struct accelerator_tenant *tenant)
{
	if (tenant->turn.in_flight_ns > 0 ||
	    (tenant->turn.wants && accelerator->arbiter.turn.tenant == &tenant->turn))
		return COMPUTE_RUNNING;
	return tenant->turn.wants ? COMPUTE_WAITING : COMPUTE_IDLE;
}

static void describe(const struct accelerator *accelerator, const struct accelerator_tenant *tenant,
		     struct compute_tenant *ret)
{
	*ret = (struct compute_tenant){
		.index = tenant->index,
		.state = state_of(accelerator, tenant),
		.clients = tenant->clients,
		.weight = tenant->turn.share.weight,
		.cap_pct = tenant->turn.share.cap_pct,
		.guarantee_pct = tenant->turn.share.guarantee_pct,
		.memory_max_bytes = tenant->memory_max_bytes,
		.memory_bytes = tenant->memory_bytes,
		.units = tenant->turn.units,
		.busy_ns = tenant->turn.busy_ns,
		.granted_ns = tenant->granted_ns,
		.waited_ns = tenant->turn.wait_ns,
		.build_ns = tenant->build_ns,
		.submissions = tenant->submissions,
		.memory_refused = tenant->memory_refused,
		.kernels_whole = tenant->kernels_whole,
		.leases_lost = tenant->turn.revoked,
	};
	memcpy(ret->id, tenant->id, sizeof(ret->id));
}

static void describe_device(const struct accelerator *accelerator, uint64_t now_ns,
			    struct compute_device *ret)
{
	*ret = (struct compute_device){
		.now_ns = now_ns,
		.begin_ns = accelerator->begin_ns,
		.busy_ns = accelerator->arbiter.busy_ns,
		.slice_ns = (uint32_t)accelerator->arbiter.options.slice_ns,
		.tenants = accelerator->n_tenants,
		.clients = accelerator->n_clients,
	};
	EACH_TENANT (tenant, accelerator)
		ret->memory_bytes += tenant->memory_bytes;
	memcpy(ret->name, accelerator->name, sizeof(ret->name));
	compute_message_set_text(ret->discipline, sizeof(ret->discipline),
				 accelerator->arbiter.discipline->name);
}

static void list(const struct accelerator *accelerator, uint32_t first, struct compute_reply *reply)
{
	EACH_TENANT (tenant, accelerator) {
		if (tenant->index < first)
			continue;
		if (reply->tenants == COMPUTE_LIST_MAX) {
			reply->next = tenant->index;
			return;
		}
		describe(accelerator, tenant, &reply->tenant[reply->tenants++]);
	}
}

/* Changes what @request names. Returns 0 or a negative errno. */
static int change(struct accelerator *accelerator, const struct compute_request *request,
		  struct accelerator_tenant *tenant, uint64_t now_ns)
{
	struct arbiter_share share = tenant->turn.share;

	switch (request->verb) {
	case COMPUTE_REMOVE:
		return remove_tenant(accelerator, tenant, now_ns);
	case COMPUTE_SET_MEMORY:
		tenant->memory_max_bytes = request->memory_max_bytes;
		divide_memory(accelerator, tenant);
		return 0;
	case COMPUTE_SET_CAP:
		share.cap_pct = request->cap_pct;
		break;
	case COMPUTE_SET_WEIGHT:
		share.weight = request->weight;
		break;
	case COMPUTE_SET_GUARANTEE:
		share.guarantee_pct = request->guarantee_pct;
		break;
	default:
		return -EINVAL;
	}
	arbiter_set_share(&accelerator->arbiter, &tenant->turn, &share, now_ns);
	return 0;
}

/* @ret_tenant: the tenant that was added or changed. */
static int execute(struct accelerator *accelerator, const struct compute_request *request,
		   uint64_t now_ns, struct compute_reply *reply,
		   struct accelerator_tenant **ret_tenant)
{
	const struct arbiter_share share = {
		.weight = request->weight,
		.cap_pct = request->cap_pct,
		.guarantee_pct = request->guarantee_pct,
	};
	const struct arbiter_discipline *discipline;
	struct accelerator_tenant *tenant;
	int r;

	switch (request->verb) {
	case COMPUTE_GET_DEVICE:
		return 0;
	case COMPUTE_LIST:
		list(accelerator, request->tenant, reply);
		return 0;
	case COMPUTE_ADD:
		return add_tenant(accelerator, request->id, &share, request->memory_max_bytes,
				  now_ns, ret_tenant);
	case COMPUTE_SET_DISCIPLINE:
		discipline = arbiter_discipline_find(request->id);
		if (!discipline)
			return -EINVAL;
		arbiter_set_discipline(&accelerator->arbiter, discipline, now_ns);
		return 0;
	case COMPUTE_SET_SLICE:
		arbiter_set_slice(&accelerator->arbiter, request->slice_ns, now_ns);
		return 0;
	default:
		tenant = find_tenant(accelerator, request->tenant);
		if (!tenant)
			return -ENOENT;
		r = change(accelerator, request, tenant, now_ns);
		if (r == 0 && request->verb != COMPUTE_REMOVE)
			*ret_tenant = tenant;
		return r;
	}
}

/* Starts the reply to @request, without tenants. */
static void begin_reply(const struct compute_request *request, int error,
			struct compute_reply *reply)
{
	memset(reply, 0, COMPUTE_REPLY_BYTES(0));
	reply->magic = COMPUTE_CONTROL_MAGIC;
	reply->version = COMPUTE_CONTROL_VERSION;
	reply->verb = request->verb;
	reply->serial = request->serial;
	reply->error = (uint32_t)-error;
	reply->next = COMPUTE_TENANT_NONE;
}

size_t accelerator_reject(const struct accelerator *accelerator,
			  const struct compute_request *request, int error, uint64_t now_ns,
			  struct compute_reply *ret_reply)
{
	begin_reply(request, error, ret_reply);
	describe_device(accelerator, now_ns, &ret_reply->device);
	return COMPUTE_REPLY_BYTES(0);
}

size_t accelerator_answer(struct accelerator *accelerator, const struct compute_request *request,
			  uint64_t now_ns, struct compute_reply *ret_reply)
{
	struct accelerator_tenant *tenant = NULL;
	int r;

	begin_reply(request, 0, ret_reply);
	/* All totals of the reply are of this instant. */
	EACH_CLIENT (client, accelerator)
		read_client(accelerator, client, now_ns);
	r = execute(accelerator, request, now_ns, ret_reply, &tenant);
	if (r == 0 && tenant)
		describe(accelerator, tenant, &ret_reply->tenant[ret_reply->tenants++]);
	ret_reply->error = (uint32_t)-r;
	describe_device(accelerator, now_ns, &ret_reply->device);
	return COMPUTE_REPLY_BYTES(ret_reply->tenants);
}

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
	compute_message_set_text(accelerator->name, sizeof(accelerator->name), options->name);
	arbiter_start(&accelerator->arbiter, options->discipline, &given, now_ns);
	r = add_tenant(accelerator, "", NULL, COMPUTE_MEMORY_NO_LIMIT, now_ns, &others);
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
	cleanup_closep(&accelerator->beacon_fd);
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
		set_grant(accelerator, client, COMPUTE_GRANT_TURN, turn->id);
}

/* Withdraws the grants of all other turns, then grants @turn. */
static void write_grants(struct accelerator *accelerator, const struct arbiter_turn *turn,
			 uint64_t now_ns)
{
	bool running = turn->state == ARBITER_RUN;

	EACH_CLIENT (client, accelerator)
		if (client->turn_id != 0 && !(running && &client->tenant->turn == turn->tenant))
			set_grant(accelerator, client, COMPUTE_GRANT_NONE, 0);
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
		read_client(accelerator, client, now_ns);
		busy = busy || is_busy(client, now_ns);
		if (is_busy(client, now_ns) && client->reading.ends_ns > ends_ns)
			ends_ns = client->reading.ends_ns;
	}
	report(accelerator, tenant, now_ns);
	if (!busy)
		return true;
	/* The end of work that takes longer than predicted is not known. */
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
		charge_in_advance(accelerator, accelerator_tenant_with(turn.tenant), now_ns);
		arbiter_end_turn(arbiter, now_ns);
	}
}

static void read_pages(struct accelerator *accelerator, uint64_t now_ns)
{
	EACH_CLIENT (client, accelerator)
		read_client(accelerator, client, now_ns);
	EACH_TENANT (tenant, accelerator)
		report(accelerator, tenant, now_ns);
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
