/* SPDX-License-Identifier: MIT */
/* The operator's state in the contracts file: what is written is read back, and anything else is
 * rejected. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/store/operator-state.h"
#include "tests/unit/unit.h"

static struct err err;

TEST(state_is_read_back)
{
	struct operator_state *state = operator_state_new(), *again = NULL;
	struct db_silence quiet = {
		.created_ms = 5,
		.until_ms = 1763664596123,
		.alert = "contract_limit",
		.gpu = "gpu0",
		.vgpu = "a",
		.reason = "night shift \"1\"",
	};
	struct operator_hold hold = {
		.offer = 78,
		.gpu = "gpu0",
		.holder = "vm-1",
		.created_ms = 1,
		.expires_ms = 2,
		.until_ms = 3,
		.flavors = {{"half", 50, 30.5}, {"quarter", 25, 0}},
		.n_flavors = 2,
	};
	json_t *root = json_object();

	assert_non_null(state);
	(void)json_object_set_new(state->settings, "overload_pct", json_string("90"));
	state->silences.last_id = 6;
	assert_int_equal(silences_add(&state->silences, &quiet), 0);
	state->silences.last_id = 9; /* silences 8 and 9 were removed */
	assert_int_equal(operator_state_add_ack(state, 12, 34), 0);
	assert_int_equal(operator_state_add_withdrawn(state, 56), 0);
	assert_int_equal(operator_state_set_hold(state, &hold), 0);
	operator_state_encode(state, root);
	assert_int_equal(operator_state_decode(root, 10, &again, &err), 0);
	assert_true(json_equal(again->settings, state->settings));
	assert_int_equal(again->silences.n, 1);
	assert_int_equal(again->silences.last_id, 9);
	assert_memory_equal(&again->silences.list[0], &quiet, sizeof(quiet));
	assert_int_equal(operator_state_acked_ms(again, 12), 34);
	assert_int_equal(operator_state_acked_ms(again, 13), 0);
	assert_true(operator_state_is_withdrawn(again, 56));
	assert_false(operator_state_is_withdrawn(again, 12));
	assert_int_equal(again->n_holds, 1);
	assert_memory_equal(&again->holds[0], &hold, sizeof(hold));
	json_decref(root);
	operator_state_free(state);
	operator_state_free(again);
}

TEST(each_list_has_a_limit)
{
	struct operator_state *state = operator_state_new();

	for (int i = 1; i <= OPERATOR_WITHDRAWN_MAX; i++)
		assert_int_equal(operator_state_add_withdrawn(state, i), 0);
	assert_int_equal(operator_state_add_withdrawn(state, 1), -ENOSPC);
	for (int i = 1; i <= OPERATOR_ACKS_MAX; i++)
		assert_int_equal(operator_state_add_ack(state, i, 1), 0);
	assert_int_equal(operator_state_add_ack(state, 1, 1), -ENOSPC);
	for (int i = 1; i <= OPERATOR_HOLDS_MAX; i++)
		assert_int_equal(
			operator_state_set_hold(state, &(struct operator_hold){.offer = i}), 0);
	assert_int_equal(operator_state_set_hold(state, &(struct operator_hold){.offer = 0}),
			 -ENOSPC);
	operator_state_free(state);
}

TEST(an_offer_has_at_most_one_hold)
{
	struct operator_state *state = operator_state_new();

	for (int i = 1; i <= 6; i++) {
		struct operator_hold hold = {.offer = 1 + i % 3, .until_ms = i};

		assert_int_equal(operator_state_set_hold(state, &hold), 0);
	}
	assert_int_equal(state->n_holds, 3);
	operator_state_remove_hold(state, 9);
	assert_int_equal(state->n_holds, 3);
	operator_state_remove_hold(state, 2);
	assert_int_equal(state->n_holds, 2);
	assert_int_equal(state->holds[0].offer, 3);
	assert_int_equal(state->holds[0].until_ms, 5);
	assert_int_equal(state->holds[1].offer, 1);
	operator_state_free(state);
}

#define TEXT_32	 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define TEXT_256 TEXT_32 TEXT_32 TEXT_32 TEXT_32 TEXT_32 TEXT_32 TEXT_32 TEXT_32

#define SILENCE(id, vgpu, reason)                                                               \
	"{\"id\": " id ", \"created_ms\": 1, \"until_ms\": 2, \"alert\": \"\", \"gpu\": \"\", " \
	"\"vgpu\": \"" vgpu "\", \"reason\": \"" reason "\"}"
#define HOLD(offer, gpu, holder, cap)                                                              \
	"{\"offer\": " offer ", \"gpu\": \"" gpu "\", \"flavor\": \"half\", \"holder\": \"" holder \
	"\", \"created_ms\": 1, \"expires_ms\": 2, \"until_ms\": 3, \"initial_cap_pct\": " cap     \
	", \"target\": 0}"
#define SILENCES(list) "{\"last_id\": 4, \"list\": [" list "]}"

static const struct {
	const char *member, *value;
} malformed[] = {
	{"settings", "[]"},
	{"settings", "{\"overload_pct\": 90}"},
	{"settings", "{\"overload_pct\": \"" TEXT_256 "\"}"},
	{"settings", "{\"" TEXT_256 "\": \"90\"}"},
	{"silences", "[]"},
	{"silences", "{\"last_id\": 4}"},
	{"silences", "{\"last_id\": 4, \"list\": [], \"more\": 1}"},
	{"silences", "{\"last_id\": -1, \"list\": []}"},
	{"silences", SILENCES("{}")},
	{"silences", SILENCES("2")},
	{"silences", SILENCES(SILENCE("0", "a", "x"))},
	{"silences", SILENCES(SILENCE("2.5", "a", "x"))},
	{"silences", SILENCES(SILENCE("2", "", "x"))},
	{"silences", SILENCES(SILENCE("2", "a/b", "x"))},
	{"silences", SILENCES(SILENCE("2", "a", TEXT_256))},
	{"silences", SILENCES(SILENCE("2", "a", "x") ", " SILENCE("2", "b", "x"))},
	{"acks", "{}"},
	{"acks", "[2]"},
	{"acks", "[{\"alert\": 2}]"},
	{"acks", "[{\"alert\": 2, \"acked_ms\": 5, \"by\": 1}]"},
	{"acks", "[{\"alert\": 0, \"acked_ms\": 5}]"},
	{"withdrawn", "{}"},
	{"withdrawn", "[0]"},
	{"withdrawn", "[\"3\"]"},
	{"held_offers", "{}"},
	{"held_offers", "[3]"},
	{"held_offers", "[{\"offer\": 3}]"},
	{"held_offers", "[" HOLD("0", "gpu0", "k", "50") "]"},
	{"held_offers", "[" HOLD("3", "", "k", "50") "]"},
	{"held_offers", "[" HOLD("3", "gpu0", "", "50") "]"},
	{"held_offers", "[" HOLD("3", "gpu0", "k", "0") "]"},
};

TEST(malformed_members_are_rejected)
{
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		json_t *root =
			json_pack("{s:{}, s:{s:i, s:[]}, s:[], s:[], s:[]}", "settings", "silences",
				  "last_id", 0, "list", "acks", "withdrawn", "held_offers");
		struct operator_state *state = NULL;

		assert_int_equal(operator_state_decode(root, 10, &state, &err), 0);
		operator_state_free(state);
		state = NULL;
		(void)json_object_set_new(root, malformed[i].member,
					  json_loads(malformed[i].value, 0, NULL));
		if (operator_state_decode(root, 10, &state, &err) != -EINVAL || state ||
		    strncmp(err.msg, malformed[i].member, strlen(malformed[i].member)) != 0)
			fail_msg("%s: %s: '%s'", malformed[i].member, malformed[i].value, err.msg);
		json_decref(root);
	}
}
