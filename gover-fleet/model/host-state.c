/* SPDX-License-Identifier: MIT */
/* Reads the JSON of gover-d strictly: a member that is used must have its type and fit. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/xalloc.h"
#include "gover-fleet/model/host-state.h"

#define LIST_MAX 65536 /* maximum number of elements of a list */

/* --- members --- */

/* Copies a text. A member that is missing or null is "" unless @required. */
static int get_text(const json_t *object, const char *name, bool required, char *ret_text,
		    size_t size, struct err *reterr)
{
	const json_t *value = json_object_get(object, name);

	ret_text[0] = '\0';
	if ((!value || json_is_null(value)) && !required)
		return 0;
	if (!json_is_string(value))
		return err_fail(reterr, EPROTO, "gover-d: %s is missing or not a text", name);
	if (json_string_length(value) >= size || strlen(json_string_value(value)) >= size)
		return err_fail(reterr, EPROTO, "gover-d: %s is longer than %zu bytes", name,
				size - 1);
	strcpy(ret_text, json_string_value(value));
	return 0;
}

static int get_id(const json_t *object, const char *name, char ret_id[ID_MAX], struct err *reterr)
{
	int r = get_text(object, name, true, ret_id, ID_MAX, reterr);

	if (r == 0 && !id_valid(ret_id))
		return err_fail(reterr, EPROTO, "gover-d: %s is not a valid name", name);
	return r;
}

static int get_whole(const json_t *object, const char *name, int64_t *ret_value, struct err *reterr)
{
	const json_t *value = json_object_get(object, name);

	if (!json_is_integer(value))
		return err_fail(reterr, EPROTO, "gover-d: %s is missing or not a whole number",
				name);
	*ret_value = json_integer_value(value);
	return 0;
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

int host_state_parse_time(const char *text, int64_t *ret_ms)
{
	struct tm tm = {0};
	int ms, end = 0;

	if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		   &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &end) != 7 ||
	    end != 24 || text[end] != '\0' || tm.tm_year < 1970 || tm.tm_mon < 1 ||
	    tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour < 0 ||
	    tm.tm_hour > 23 || tm.tm_min < 0 || tm.tm_min > 59 || tm.tm_sec < 0 || tm.tm_sec > 60 ||
	    ms < 0)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	*ret_ms = (int64_t)timegm(&tm) * 1000 + ms;
	return 0;
}

static int64_t time_or_0(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	int64_t ms;

	return text && host_state_parse_time(text, &ms) == 0 ? ms : 0;
}

/* --- elements of lists --- */

static int parse_gpu(const json_t *object, void *element, struct err *reterr)
{
	struct state_gpu *gpu = element;

	gpu->selling = text_is(object, "selling", "on");
	return get_id(object, "name", gpu->name, reterr);
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
	int r = get_id(object, "id", vgpu.id, reterr);

	if (r == 0)
		r = get_id(object, "gpu", vgpu.gpu, reterr);
	if (r == 0)
		r = get_text(object, "flavor", false, vgpu.flavor, sizeof(vgpu.flavor), reterr);
	if (r == 0)
		r = get_text(object, "vm", false, vgpu.vm, sizeof(vgpu.vm), reterr);
	/* A label of another program may be longer; it is then no UUID. */
	if (get_text(labels, HOST_STATE_LABEL_DOMAIN, false, vgpu.domain, sizeof(vgpu.domain),
		     NULL) < 0)
		vgpu.domain[0] = '\0';
	if (r == 0)
		*ret_vgpu = vgpu;
	return r;
}

static int parse_vgpu(const json_t *object, void *element, struct err *reterr)
{
	return host_state_parse_vgpu(object, element, reterr);
}

/* An older gover-d has no list "flavors". */
static int parse_smaller(const json_t *object, struct state_offer *offer, struct err *reterr)
{
	const json_t *flavors = json_object_get(object, "flavors");
	size_t n = json_array_size(flavors);
	int r = 0;

	if (n > HOST_STATE_SMALLER_MAX + 1)
		return err_fail(reterr, EPROTO, "gover-d: flavors: more than %d",
				HOST_STATE_SMALLER_MAX + 1);
	for (size_t i = 1; r == 0 && i < n; i++)
		r = get_id(json_array_get(flavors, i), "flavor", offer->smaller[i - 1], reterr);
	offer->n_smaller = n > 0 ? n - 1 : 0;
	return r;
}

int host_state_parse_offer(const json_t *object, struct state_offer *ret_offer, struct err *reterr)
{
	struct state_offer offer = {
		.open = text_is(object, "state", "open"),
		.failed = text_is(object, "state", "failed"),
		.expires_ms = time_or_0(object, "expires_at"),
	};
	int r = get_whole(object, "id", &offer.id, reterr);

	if (r == 0)
		r = get_id(object, "gpu", offer.gpu, reterr);
	if (r == 0)
		r = get_text(object, "flavor", false, offer.flavor, sizeof(offer.flavor), reterr);
	if (r == 0)
		r = get_text(object, "vgpu", false, offer.vgpu, sizeof(offer.vgpu), reterr);
	if (r == 0)
		r = get_text(object, "held_by", false, offer.held_by, sizeof(offer.held_by),
			     reterr);
	if (r == 0)
		r = parse_smaller(object, &offer, reterr);
	if (r == 0)
		*ret_offer = offer;
	return r;
}

static int parse_offer(const json_t *object, void *element, struct err *reterr)
{
	return host_state_parse_offer(object, element, reterr);
}

static int parse_alert(const json_t *object, void *element, struct err *reterr)
{
	struct state_alert *alert = element;
	int r = get_text(object, "name", true, alert->name, sizeof(alert->name), reterr);

	alert->silenced = get_flag(object, "silenced");
	if (r == 0)
		r = get_text(object, "cause", false, alert->cause, sizeof(alert->cause), reterr);
	if (r == 0)
		r = get_text(object, "gpu", false, alert->gpu, sizeof(alert->gpu), reterr);
	if (r == 0)
		r = get_text(object, "vgpu", false, alert->vgpu, sizeof(alert->vgpu), reterr);
	return r;
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
	const json_t *params = json_object_get(policy, "params");
	int64_t ttl_s = 0;
	int r = get_text(policy, "name", true, state->policy, sizeof(state->policy), reterr);

	if (r == 0)
		r = get_text(params, "flavor", true, state->flavor, sizeof(state->flavor), reterr);
	if (r == 0)
		r = get_whole(params, "ttl_s", &ttl_s, reterr);
	if (r == 0 && (ttl_s < 0 || ttl_s > 1000000000))
		return err_fail(reterr, EPROTO, "gover-d: ttl_s is out of range");
	if (r == 0)
		state->offer_ttl_s = (int)ttl_s;
	return r;
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
