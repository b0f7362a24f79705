/* SPDX-License-Identifier: MIT */
/* Encodes the operator's state as members of the contracts file, and decodes it strictly. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/xalloc.h"
#include "gover-d/store/operator-state.h"
#include "gover-d/util/json.h"

/* 2^53: a double can represent every whole number up to this value. */
#define EXACT_MAX 9007199254740992.0

struct operator_state *operator_state_new(void)
{
	struct operator_state *state = xcalloc(1, sizeof(*state));

	state->settings = json_object();
	return state;
}

struct operator_state *operator_state_free(struct operator_state *state)
{
	if (!state)
		return NULL;
	json_decref(state->settings);
	free(state->acks);
	free(state);
	return NULL;
}

int operator_state_add_ack(struct operator_state *state, int64_t alert, int64_t acked_ms)
{
	size_t n = state->n_acks;

	if (n == OPERATOR_ACKS_MAX)
		return -ENOSPC;
	if ((n & (n - 1)) == 0) /* full: the size is the next power of two */
		state->acks = xreallocarray(state->acks, n ? 2 * n : 1, sizeof(*state->acks));
	state->acks[state->n_acks++] = (struct operator_ack){alert, acked_ms};
	return 0;
}

int operator_state_add_withdrawn(struct operator_state *state, int64_t offer)
{
	if (state->n_withdrawn == OPERATOR_WITHDRAWN_MAX)
		return -ENOSPC;
	state->withdrawn[state->n_withdrawn++] = offer;
	return 0;
}

int operator_state_set_hold(struct operator_state *state, const struct operator_hold *hold)
{
	size_t at = 0;

	while (at < state->n_holds && state->holds[at].offer != hold->offer)
		at++;
	if (at == OPERATOR_HOLDS_MAX)
		return -ENOSPC;
	state->holds[at] = *hold;
	if (at == state->n_holds)
		state->n_holds++;
	return 0;
}

void operator_state_remove_hold(struct operator_state *state, int64_t offer)
{
	for (size_t i = 0; i < state->n_holds; i++) {
		if (state->holds[i].offer != offer)
			continue;
		state->n_holds--;
		memmove(&state->holds[i], &state->holds[i + 1],
			(state->n_holds - i) * sizeof(state->holds[0]));
		return;
	}
}

int64_t operator_state_acked_ms(const struct operator_state *state, int64_t alert)
{
	for (size_t i = 0; i < state->n_acks; i++)
		if (state->acks[i].alert == alert)
			return state->acks[i].acked_ms;
	return 0;
}

bool operator_state_is_withdrawn(const struct operator_state *state, int64_t offer)
{
	for (size_t i = 0; i < state->n_withdrawn; i++)
		if (state->withdrawn[i] == offer)
			return true;
	return false;
}

/* --- encoding --- */

static json_t *encode_silence(const struct db_silence *s)
{
	return json_pack("{s:I, s:I, s:I, s:s, s:s, s:s, s:o}", "id", (json_int_t)s->id,
			 "created_ms", (json_int_t)s->created_ms, "until_ms",
			 (json_int_t)s->until_ms, "alert", s->alert, "gpu", s->gpu, "vgpu", s->vgpu,
			 "reason", json_encode_text(s->reason));
}

/* All flavours except the first one. */
static json_t *encode_smaller(const struct operator_hold *hold)
{
	json_t *list = json_array();

	for (int i = 1; i < hold->n_flavors; i++) {
		const struct operator_hold_flavor *flavor = &hold->flavors[i];

		json_array_append_new(list, json_pack("{s:s, s:i, s:f}", "flavor", flavor->flavor,
						      "initial_cap_pct", flavor->initial_cap_pct,
						      "target", flavor->target));
	}
	return list;
}

static json_t *encode_hold(const struct operator_hold *hold)
{
	const struct operator_hold_flavor *leading = &hold->flavors[0];

	return json_pack("{s:I, s:s, s:s, s:o, s:I, s:I, s:I, s:i, s:f, s:o}", "offer",
			 (json_int_t)hold->offer, "gpu", hold->gpu, "flavor", leading->flavor,
			 "holder", json_encode_text(hold->holder), "created_ms",
			 (json_int_t)hold->created_ms, "expires_ms", (json_int_t)hold->expires_ms,
			 "until_ms", (json_int_t)hold->until_ms, "initial_cap_pct",
			 leading->initial_cap_pct, "target", leading->target, "smaller_flavors",
			 encode_smaller(hold));
}

void operator_state_encode(const struct operator_state *state, json_t *root)
{
	json_t *silences = json_array(), *acks = json_array(), *withdrawn = json_array(),
	       *holds = json_array();

	for (int i = 0; i < state->silences.n; i++)
		json_array_append_new(silences, encode_silence(&state->silences.list[i]));
	for (size_t i = 0; i < state->n_acks; i++)
		json_array_append_new(acks, json_pack("{s:I, s:I}", "alert",
						      (json_int_t)state->acks[i].alert, "acked_ms",
						      (json_int_t)state->acks[i].acked_ms));
	for (size_t i = 0; i < state->n_withdrawn; i++)
		json_array_append_new(withdrawn, json_integer(state->withdrawn[i]));
	for (size_t i = 0; i < state->n_holds; i++)
		json_array_append_new(holds, encode_hold(&state->holds[i]));
	json_object_set(root, "settings", state->settings);
	json_object_set_new(root, "silences",
			    json_pack("{s:I, s:o}", "last_id", (json_int_t)state->silences.last_id,
				      "list", silences));
	json_object_set_new(root, "acks", acks);
	json_object_set_new(root, "withdrawn", withdrawn);
	json_object_set_new(root, "held_offers", holds);
}

/* --- decoding --- */

#define SILENCE_AT(member) offsetof(struct db_silence, member)

static const struct json_decode_field silence_fields[] = {
	{"id", JSON_DECODE_INT64, 1, EXACT_MAX, SILENCE_AT(id), 1 << 0},
	{"created_ms", JSON_DECODE_INT64, 0, EXACT_MAX, SILENCE_AT(created_ms), 1 << 1},
	{"until_ms", JSON_DECODE_INT64, 0, EXACT_MAX, SILENCE_AT(until_ms), 1 << 2},
	{"alert", JSON_DECODE_TEXT, 0, SILENCE_ALERT_MAX - 1, SILENCE_AT(alert), 1 << 3},
	{"gpu", JSON_DECODE_TEXT, 0, ID_MAX - 1, SILENCE_AT(gpu), 1 << 4},
	{"vgpu", JSON_DECODE_TEXT, 0, ID_MAX - 1, SILENCE_AT(vgpu), 1 << 5},
	{"reason", JSON_DECODE_TEXT, 0, SILENCE_REASON_MAX - 1, SILENCE_AT(reason), 1 << 6},
	{.name = NULL},
};

#define ACK_AT(member) offsetof(struct operator_ack, member)

static const struct json_decode_field ack_fields[] = {
	{"alert", JSON_DECODE_INT64, 1, EXACT_MAX, ACK_AT(alert), 1 << 0},
	{"acked_ms", JSON_DECODE_INT64, 1, EXACT_MAX, ACK_AT(acked_ms), 1 << 1},
	{.name = NULL},
};

#define HOLD_AT(member) offsetof(struct operator_hold, member)
#define TARGET_MAX	1e6

static const struct json_decode_field hold_fields[] = {
	{"offer", JSON_DECODE_INT64, 1, EXACT_MAX, HOLD_AT(offer), 1 << 0},
	{"gpu", JSON_DECODE_ID, 0, 0, HOLD_AT(gpu), 1 << 1},
	{"flavor", JSON_DECODE_ID, 0, 0, HOLD_AT(flavors[0].flavor), 1 << 2},
	{"holder", JSON_DECODE_TEXT, 0, CLAIM_MAX - 1, HOLD_AT(holder), 1 << 3},
	{"created_ms", JSON_DECODE_INT64, 0, EXACT_MAX, HOLD_AT(created_ms), 1 << 4},
	{"expires_ms", JSON_DECODE_INT64, 0, EXACT_MAX, HOLD_AT(expires_ms), 1 << 5},
	{"until_ms", JSON_DECODE_INT64, 0, EXACT_MAX, HOLD_AT(until_ms), 1 << 6},
	{"initial_cap_pct", JSON_DECODE_WHOLE, 1, 100, HOLD_AT(flavors[0].initial_cap_pct), 1 << 7},
	{"target", JSON_DECODE_NUMBER, 0, TARGET_MAX, HOLD_AT(flavors[0].target), 1 << 8},
	{.name = NULL},
};

#define FLAVOR_AT(member) offsetof(struct operator_hold_flavor, member)

static const struct json_decode_field flavor_fields[] = {
	{"flavor", JSON_DECODE_ID, 0, 0, FLAVOR_AT(flavor), 1 << 0},
	{"initial_cap_pct", JSON_DECODE_WHOLE, 1, 100, FLAVOR_AT(initial_cap_pct), 1 << 1},
	{"target", JSON_DECODE_NUMBER, 0, TARGET_MAX, FLAVOR_AT(target), 1 << 2},
	{.name = NULL},
};

static int decode_settings(struct operator_state *state, const json_t *root, struct err *reterr)
{
	json_t *settings = json_object_get(root, "settings"), *value;
	const char *key;

	if (!json_is_object(settings) || json_object_size(settings) > OPERATOR_SETTINGS_MAX)
		return err_fail(reterr, EINVAL,
				"settings: required (allowed: an object of at most %d texts)",
				OPERATOR_SETTINGS_MAX);
	json_object_foreach (settings, key, value)
		if (!json_is_string(value) || strlen(key) >= OPERATOR_TEXT_MAX ||
		    json_string_length(value) >= OPERATOR_TEXT_MAX)
			return err_fail(reterr, EINVAL,
					"settings: %.80s: not a text of at most %d characters", key,
					OPERATOR_TEXT_MAX - 1);
	json_decref(state->settings);
	state->settings = json_incref(settings);
	return 0;
}

static bool is_id_or_empty(const char *text)
{
	return text[0] == '\0' || id_valid(text);
}

static int decode_silence(struct silences *silences, json_t *object, struct err *reterr)
{
	struct db_silence silence = {.id = 0};
	int r = json_decode_all(object, silence_fields, &silence, reterr);

	if (r < 0)
		return r;
	if (silence.id <= (silences->n ? silences->list[silences->n - 1].id : 0))
		return err_fail(reterr, EINVAL, "id: %lld is not above the previous id",
				(long long)silence.id);
	if (!is_id_or_empty(silence.gpu) || !is_id_or_empty(silence.vgpu) ||
	    !(silence.alert[0] || silence.gpu[0] || silence.vgpu[0]))
		return err_fail(reterr, EINVAL, "alert, gpu and vgpu: no valid selector");
	(void)silences_adopt(silences, &silence); /* the caller has checked the number */
	return 0;
}

static int decode_silences(struct operator_state *state, const json_t *root, struct err *reterr)
{
	json_t *object = json_object_get(root, "silences");
	json_t *last_id = json_object_get(object, "last_id");
	json_t *list = json_object_get(object, "list");
	struct err inner = {""};

	if (json_object_size(object) != 2 || !json_is_integer(last_id) || !json_is_array(list) ||
	    json_integer_value(last_id) < 0 || json_array_size(list) > SILENCES_MAX)
		return err_fail(reterr, EINVAL,
				"silences: required (allowed: last_id, and a list of at most %d "
				"objects)",
				SILENCES_MAX);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (decode_silence(&state->silences, json_array_get(list, i), &inner) < 0)
			return err_fail(reterr, EINVAL, "silences: element %zu: %s", i, inner.msg);
	if (json_integer_value(last_id) > state->silences.last_id)
		state->silences.last_id = json_integer_value(last_id);
	return 0;
}

static int take_ack(void *userdata, json_t *object, struct err *reterr)
{
	struct operator_ack ack;
	int r = json_decode_all(object, ack_fields, &ack, reterr);

	return r < 0 ? r : operator_state_add_ack(userdata, ack.alert, ack.acked_ms);
}

static int decode_withdrawn(struct operator_state *state, const json_t *root, struct err *reterr)
{
	json_t *list = json_object_get(root, "withdrawn");

	if (!json_is_array(list) || json_array_size(list) > OPERATOR_WITHDRAWN_MAX)
		return err_fail(reterr, EINVAL,
				"withdrawn: required (allowed: a list of at most %d ids)",
				OPERATOR_WITHDRAWN_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *id = json_array_get(list, i);

		if (!json_is_integer(id) || json_integer_value(id) < 1)
			return err_fail(reterr, EINVAL, "withdrawn: element %zu is not an id", i);
		(void)operator_state_add_withdrawn(state, json_integer_value(id));
	}
	return 0;
}

static int take_smaller(void *userdata, json_t *object, struct err *reterr)
{
	struct operator_hold *hold = userdata;

	return json_decode_all(object, flavor_fields, &hold->flavors[hold->n_flavors++], reterr);
}

static int decode_hold(json_t *object, int version, struct operator_hold *hold, struct err *reterr)
{
	json_t *rest = json_copy(object); /* without "smaller_flavors" */
	bool has_smaller = version >= OPERATOR_SMALLER_SINCE;
	int r;

	hold->n_flavors = 1;
	if (has_smaller)
		(void)json_object_del(rest, "smaller_flavors");
	r = json_decode_all(rest, hold_fields, hold, reterr);
	json_decref(rest);
	if (r >= 0 && hold->holder[0] == '\0')
		r = err_fail(reterr, EINVAL, "holder: empty");
	if (r >= 0 && has_smaller)
		r = json_decode_list(object, "smaller_flavors", POLICY_FLAVORS_MAX - 1,
				     take_smaller, hold, reterr);
	return r;
}

struct hold_context {
	struct operator_state *state;
	int version;
};

static int take_hold(void *userdata, json_t *object, struct err *reterr)
{
	const struct hold_context *c = userdata;
	struct operator_hold hold = {.offer = 0};
	int r = decode_hold(object, c->version, &hold, reterr);

	return r < 0 ? r : operator_state_set_hold(c->state, &hold);
}

int operator_state_decode(const json_t *root, int version, struct operator_state **ret_state,
			  struct err *reterr)
{
	struct operator_state *state = operator_state_new();
	int r;

	r = decode_settings(state, root, reterr);
	if (r >= 0)
		r = decode_silences(state, root, reterr);
	if (r >= 0)
		r = json_decode_list(root, "acks", OPERATOR_ACKS_MAX, take_ack, state, reterr);
	if (r >= 0)
		r = decode_withdrawn(state, root, reterr);
	if (r >= 0 && version >= OPERATOR_HOLDS_SINCE)
		r = json_decode_list(root, "held_offers", OPERATOR_HOLDS_MAX, take_hold,
				     &(struct hold_context){state, version}, reterr);
	if (r < 0) {
		operator_state_free(state);
		return r;
	}
	*ret_state = state;
	return 0;
}
