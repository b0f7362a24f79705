/* SPDX-License-Identifier: MIT */
/* Consumers are read from the cloud only if an allocation waits and its offer expires soon. */
#include <stdio.h>

#include "gover-fleet/hold-offers.h"
#include "gover-fleet/model/fleet-log.h"
#include "gover-fleet/model/hold.h"

#define CHOICES_MAX 16

static int hold_offer(struct client *client, const struct hold_choice *choice, int hold_s,
		      struct err *reterr)
{
	char path[64];
	struct client_call call = {.method = "POST", .path = path};
	CLEANUP_REPLY struct reply reply = {0};
	json_t *body = json_pack("{s:s, s:i}", "holder", choice->holder, "ttl_s", hold_s);
	int r;

	snprintf(path, sizeof(path), "/v1/offers/%lld/hold", (long long)choice->offer);
	call.body = body;
	r = client_request(client, &call, &reply, reterr);
	json_decref(body);
	return r;
}

static void hold_class(struct client *client, const struct host_state *state, const char *gpu,
		       const char *slot, const struct allocations *consumers, int64_t now_ms,
		       int hold_s)
{
	struct hold_choice choices[CHOICES_MAX];
	size_t n = hold_choose(state, gpu, slot, consumers->list, consumers->n, now_ms, choices,
			       CHOICES_MAX);

	for (size_t i = 0; i < n; i++) {
		const struct hold_choice *choice = &choices[i];
		struct err err = {""};

		if (hold_offer(client, choice, hold_s, &err) == 0)
			fleet_log_notice("offer %lld of GPU %s is held for server %s",
					 (long long)choice->offer, gpu, choice->holder);
		else
			fleet_log_warning("offer %lld of GPU %s cannot be held for server %s: %s",
					  (long long)choice->offer, gpu, choice->holder, err.msg);
	}
}

static void hold_gpu(struct cloud *cloud, struct client *client, const struct host_state *state,
		     const struct wanted_gpu *gpu, int64_t now_ms, int hold_s)
{
	struct allocations consumers;
	struct err err = {""};
	bool was_read = false;

	for (size_t i = 0; i < gpu->n_classes; i++) {
		const struct wanted_class *class = &gpu->classes[i];

		if (cloud_used(cloud, gpu->name, class->name) <= class->contracts ||
		    !hold_due(state, gpu->name, class->name, now_ms))
			continue;
		if (!was_read && cloud_consumers(cloud, gpu->name, &consumers, &err) < 0) {
			fleet_log_warning("cloud: the allocations of GPU %s cannot be read: %s",
					  gpu->name, err.msg);
			return;
		}
		was_read = true;
		hold_class(client, state, gpu->name, class->name, &consumers, now_ms, hold_s);
	}
}

void hold_offers_for_servers(struct cloud *cloud, struct client *client,
			     const struct host_state *state, const struct wanted *wanted,
			     int64_t now_ms, int hold_s)
{
	for (size_t i = 0; i < wanted->n_gpus; i++)
		hold_gpu(cloud, client, state, &wanted->gpus[i], now_ms, hold_s);
}
