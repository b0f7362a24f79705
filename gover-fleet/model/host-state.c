/* SPDX-License-Identifier: MIT */
/* Reads the JSON of gover-d strictly: a member that is used must have its type and fit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rfc3339.h"
#include "base/xalloc.h"
#include "gover-fleet/model/host-state.h"

#define LIST_MAX 65536 /* maximum number of elements of a list */

/* --- members --- */

/* An object that is read. The first error stays, and later members are not read. */
struct reading {
	const json_t *object;
	struct err *reterr;
	int result;
};

/* Copies a text. A member that is missing or null is "" unless @required. */
static void take_text(struct reading *in, const char *name, bool required, char *ret_text,
		      size_t size)
{
	const json_t *value = json_object_get(in->object, name);

	ret_text[0] = '\0';
	if (in->result < 0 || ((!value || json_is_null(value)) && !required))
		return;
	if (!json_is_string(value))
		in->result =
			err_fail(in->reterr, EPROTO, "gover-d: %s is missing or not a text", name);
	else if (json_string_length(value) >= size || strlen(json_string_value(value)) >= size)
		in->result = err_fail(in->reterr, EPROTO, "gover-d: %s is longer than %zu bytes",
				      name, size - 1);
	else
		strcpy(ret_text, json_string_value(value));
}

static void take_id(struct reading *in, const char *name, char ret_id[ID_MAX])
{
	take_text(in, name, true, ret_id, ID_MAX);
	if (in->result == 0 && !id_valid(ret_id))
		in->result = err_fail(in->reterr, EPROTO, "gover-d: %s is not a valid name", name);
}

static int64_t take_whole(struct reading *in, const char *name)
{
	const json_t *value = json_object_get(in->object, name);

	if (in->result == 0 && !json_is_integer(value))
		in->result = err_fail(in->reterr, EPROTO,
				      "gover-d: %s is missing or not a whole number", name);
	return json_integer_value(value);
}

static bool get_flag(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

static bool text_is(const json_t *object, const char *name, const char *text)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value && strcmp(value, text) == 0;
}

static int whole_or_0(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 && value < 1000000 ? (int)value : 0;
}

static int64_t time_or_0(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	int64_t ms;

	return text && rfc3339_parse(text, &ms) == 0 ? ms : 0;
}

/* --- elements of lists --- */

static int parse_gpu(const json_t *object, void *element, struct err *reterr)
{
	struct reading in = {object, reterr, 0};
	struct state_gpu *gpu = element;

	gpu->selling = text_is(object, "selling", "on");
	take_id(&in, "name", gpu->name);
	return in.result;
}

int host_state_parse_vgpu(const json_t *object, struct state_vgpu *ret_vgpu, struct err *reterr)
{
	const json_t *labels = json_object_get(object, "labels");
	struct state_vgpu vgpu = {
		.sold = json_is_false(json_object_get(object, "found")) &&
			text_is(labels, HOST_STATE_LABEL, HOST_STATE_BY_FLEET),
		.unverified = json_object_get(labels, HOST_STATE_LABEL_DOUBT),
		.migrated = json_object_get(labels, HOST_STATE_LABEL_MOVED),
		.held = get_flag(object, "held"),
		.broken = get_flag(object, "broken"),
		.overloaded = get_flag(object, "overloaded"),
		.initial_cap_pct = whole_or_0(object, "initial_cap_pct"),
		.min_cap_pct = whole_or_0(object, "min_cap_pct"),
		.created_ms = time_or_0(object, "created_at"),
	};
	struct reading in = {object, reterr, 0}, in_labels = {labels, NULL, 0};

	take_id(&in, "id", vgpu.id);
	take_id(&in, "gpu", vgpu.gpu);
	take_text(&in, "flavor", false, vgpu.flavor, sizeof(vgpu.flavor));
	take_text(&in, "vm", false, vgpu.vm, sizeof(vgpu.vm));
	/* A label of another program may be longer; it is then no UUID. */
	take_text(&in_labels, HOST_STATE_LABEL_DOMAIN, false, vgpu.domain, sizeof(vgpu.domain));
	if (in.result == 0)
		*ret_vgpu = vgpu;
	return in.result;
}

static int parse_vgpu(const json_t *object, void *element, struct err *reterr)
{
	return host_state_parse_vgpu(object, element, reterr);
}

/* Ends the reading of the offer. An older gover-d has no list "flavors". */
static void take_smaller(struct reading *in, struct state_offer *offer)
{
	const json_t *flavors = json_object_get(in->object, "flavors");
	size_t n = json_array_size(flavors);

	if (in->result == 0 && n > HOST_STATE_SMALLER_MAX + 1)
		in->result = err_fail(in->reterr, EPROTO, "gover-d: flavors: more than %d",
				      HOST_STATE_SMALLER_MAX + 1);
	for (size_t i = 1; in->result == 0 && i < n; i++) {
		in->object = json_array_get(flavors, i);
		take_id(in, "flavor", offer->smaller[i - 1]);
	}
	offer->n_smaller = n > 0 ? n - 1 : 0;
}

int host_state_parse_offer(const json_t *object, struct state_offer *ret_offer, struct err *reterr)
{
	struct state_offer offer = {
		.open = text_is(object, "state", "open"),
		.failed = text_is(object, "state", "failed"),
		.expires_ms = time_or_0(object, "expires_at"),
	};
	struct reading in = {object, reterr, 0};

	offer.id = take_whole(&in, "id");
	take_id(&in, "gpu", offer.gpu);
	take_text(&in, "flavor", false, offer.flavor, sizeof(offer.flavor));
	take_text(&in, "vgpu", false, offer.vgpu, sizeof(offer.vgpu));
	take_text(&in, "held_by", false, offer.held_by, sizeof(offer.held_by));
	take_smaller(&in, &offer);
	if (in.result == 0)
		*ret_offer = offer;
	return in.result;
}

static int parse_offer(const json_t *object, void *element, struct err *reterr)
{
	return host_state_parse_offer(object, element, reterr);
}

static int parse_alert(const json_t *object, void *element, struct err *reterr)
{
	struct reading in = {object, reterr, 0};
	struct state_alert *alert = element;

	alert->silenced = get_flag(object, "silenced");
	take_text(&in, "name", true, alert->name, sizeof(alert->name));
	take_text(&in, "cause", false, alert->cause, sizeof(alert->cause));
	take_text(&in, "gpu", false, alert->gpu, sizeof(alert->gpu));
	take_text(&in, "vgpu", false, alert->vgpu, sizeof(alert->vgpu));
	return in.result;
}

/* --- the whole --- */

typedef int (*parse_fn)(const json_t *object, void *element, struct err *reterr);

/* Parses the list @name into an array from xcalloc(). */
static int parse_list(const json_t *host, const char *name, size_t size, parse_fn parse,
		      void *ret_array, size_t *ret_n, struct err *reterr)
{
	const json_t *list = json_object_get(host, name);
	size_t n = json_array_size(list);
	char *array;
	int r = 0;

	if (!json_is_array(list) || n > LIST_MAX)
		return err_fail(reterr, EPROTO, "gover-d: %s is missing, no list or too long",
				name);
	array = xcalloc(n + 1, size);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = parse(json_array_get(list, i), array + i * size, reterr);
	if (r < 0) {
		free(array);
		return r;
	}
	*(void **)ret_array = array;
	*ret_n = n;
	return 0;
}

static int parse_policy(const json_t *policy, struct host_state *state, struct err *reterr)
{
	struct reading in = {policy, reterr, 0};
	int64_t ttl_s;

	take_text(&in, "name", true, state->policy, sizeof(state->policy));
	in.object = json_object_get(policy, "params");
	take_text(&in, "flavor", true, state->flavor, sizeof(state->flavor));
	ttl_s = take_whole(&in, "ttl_s");
	if (in.result == 0 && (ttl_s < 0 || ttl_s > 1000000000))
		return err_fail(reterr, EPROTO, "gover-d: ttl_s is out of range");
	state->offer_ttl_s = (int)ttl_s;
	return in.result;
}

static int parse_all(const json_t *host, const json_t *policy, struct host_state *state,
		     struct err *reterr)
{
	int r = parse_policy(policy, state, reterr);

	state->time_ms = time_or_0(host, "time");
	if (r == 0)
		r = parse_list(host, "gpus", sizeof(state->gpus[0]), parse_gpu, &state->gpus,
			       &state->n_gpus, reterr);
	if (r == 0)
		r = parse_list(host, "vgpus", sizeof(state->vgpus[0]), parse_vgpu, &state->vgpus,
			       &state->n_vgpus, reterr);
	if (r == 0)
		r = parse_list(host, "offers", sizeof(state->offers[0]), parse_offer,
			       &state->offers, &state->n_offers, reterr);
	for (size_t i = 0; i < state->n_offers; i++)
		if (!state->offers[i].flavor[0])
			memcpy(state->offers[i].flavor, state->flavor, sizeof(state->flavor));
	if (r == 0)
		r = parse_list(host, "alerts", sizeof(state->alerts[0]), parse_alert,
			       &state->alerts, &state->n_alerts, reterr);
	return r;
}

int host_state_parse(const json_t *host, const json_t *policy, struct host_state **ret_state,
		     struct err *reterr)
{
	struct host_state *state = xcalloc(1, sizeof(*state));
	int r;

	atomic_init(&state->references, 1);
	r = parse_all(host, policy, state, reterr);
	if (r < 0) {
		host_state_unref(state);
		return r;
	}
	*ret_state = state;
	return 0;
}

struct host_state *host_state_ref(struct host_state *state)
{
	if (state)
		atomic_fetch_add(&state->references, 1);
	return state;
}

struct host_state *host_state_unref(struct host_state *state)
{
	if (!state || atomic_fetch_sub(&state->references, 1) > 1)
		return NULL;
	free(state->gpus);
	free(state->vgpus);
	free(state->offers);
	free(state->alerts);
	free(state);
	return NULL;
}

const char *host_state_offer_flavor(const struct state_offer *offer, size_t index)
{
	if (index == 0)
		return offer->flavor;
	return index <= offer->n_smaller ? offer->smaller[index - 1] : NULL;
}

const struct state_vgpu *host_state_find_vgpu(const struct host_state *state, const char *id)
{
	for (size_t i = 0; i < state->n_vgpus; i++)
		if (strcmp(state->vgpus[i].id, id) == 0)
			return &state->vgpus[i];
	return NULL;
}

const struct state_vgpu *host_state_find_sold(const struct host_state *state, const char *domain)
{
	for (size_t i = 0; i < state->n_vgpus; i++)
		if (state->vgpus[i].sold &&
		    strcmp(host_state_domain(&state->vgpus[i]), domain) == 0)
			return &state->vgpus[i];
	return NULL;
}

const char *host_state_domain(const struct state_vgpu *vgpu)
{
	return vgpu->domain[0] ? vgpu->domain : vgpu->id;
}
