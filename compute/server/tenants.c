/* SPDX-License-Identifier: MIT */
/* The tenants of a compute device, and the answers to control requests about them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compute/channel/text.h"
#include "compute/server/accelerator.h"

struct accelerator_tenant *accelerator_find(const struct accelerator *accelerator, uint32_t index)
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

struct accelerator_tenant *accelerator_match(const struct accelerator *accelerator,
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

/* Each client belongs to the tenant of its group, also if the tenant was added or removed later. */
static void match_clients(struct accelerator *accelerator, uint64_t now_ns)
{
	EACH_CLIENT (client, accelerator)
		accelerator_move(accelerator, client, accelerator_match(accelerator, client->group),
				 now_ns);
}

void accelerator_divide_memory(struct accelerator *accelerator,
			       const struct accelerator_tenant *tenant)
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

int accelerator_add(struct accelerator *accelerator, const char *id,
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
	compute_text_set(tenant->id, sizeof(tenant->id), id);
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

int accelerator_remove(struct accelerator *accelerator, struct accelerator_tenant *tenant,
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
	compute_text_set(ret->discipline, sizeof(ret->discipline),
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
		return accelerator_remove(accelerator, tenant, now_ns);
	case COMPUTE_SET_MEMORY:
		tenant->memory_max_bytes = request->memory_max_bytes;
		accelerator_divide_memory(accelerator, tenant);
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

static int add(struct accelerator *accelerator, const struct compute_request *request,
	       uint64_t now_ns, struct accelerator_tenant **ret_tenant)
{
	const struct arbiter_share share = {
		.weight = request->weight,
		.cap_pct = request->cap_pct,
		.guarantee_pct = request->guarantee_pct,
	};

	return accelerator_add(accelerator, request->id, &share, request->memory_max_bytes, now_ns,
			       ret_tenant);
}

static int set_discipline(struct accelerator *accelerator, const char *name, uint64_t now_ns)
{
	const struct arbiter_discipline *discipline = arbiter_discipline_find(name);

	if (!discipline)
		return -EINVAL;
	arbiter_set_discipline(&accelerator->arbiter, discipline, now_ns);
	return 0;
}

/* Requests that name no tenant. @ret_tenant: the new tenant. */
static int execute(struct accelerator *accelerator, const struct compute_request *request,
		   uint64_t now_ns, struct compute_reply *reply,
		   struct accelerator_tenant **ret_tenant)
{
	struct accelerator_tenant *tenant;
	int r;

	switch (request->verb) {
	case COMPUTE_GET_DEVICE:
		return 0;
	case COMPUTE_LIST:
		list(accelerator, request->tenant, reply);
		return 0;
	case COMPUTE_ADD:
		return add(accelerator, request, now_ns, ret_tenant);
	case COMPUTE_SET_DISCIPLINE:
		return set_discipline(accelerator, request->id, now_ns);
	case COMPUTE_SET_SLICE:
		arbiter_set_slice(&accelerator->arbiter, request->slice_ns, now_ns);
		return 0;
	default:
		tenant = accelerator_find(accelerator, request->tenant);
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
		accelerator_read(accelerator, client, now_ns);
	r = execute(accelerator, request, now_ns, ret_reply, &tenant);
	if (r == 0 && tenant)
		describe(accelerator, tenant, &ret_reply->tenant[ret_reply->tenants++]);
	ret_reply->error = (uint32_t)-r;
	describe_device(accelerator, now_ns, &ret_reply->device);
	return COMPUTE_REPLY_BYTES(ret_reply->tenants);
}
