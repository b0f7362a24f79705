/* SPDX-License-Identifier: MIT */
/*
 * Idempotency keys: which requests are equal, how long a key is valid, and the stored list. The
 * tests of the manager contain restarts.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/change/keys.h"
#include "gover-d/store/save.h"
#include "tests/unit/unit.h"

static struct host host;
static struct store store;
static struct changes changes;
static struct vgpu vgpu;
static struct err err;

static int set_up(void)
{
	memset(&host, 0, sizeof(host));
	memset(&store, 0, sizeof(store));
	memset(&vgpu, 0, sizeof(vgpu));
	changes = (struct changes){.host = &host, .store = &store};
	host.n_gpus = 1;
	strcpy(vgpu.contract.id, "a");
	host_gpu_insert(&host.gpus[0], &vgpu);
	return 0;
}

static int tear_down(void)
{
	host_gpu_remove(&host.gpus[0], &vgpu);
	sale_keys_fini(&store.keys);
	return 0;
}

FIXTURE(set_up, tear_down)

static struct sale_key key_of(const char *owner, const char *given, int64_t offer, const char *body)
{
	json_t *json = json_loads(body, 0, NULL);
	const struct control_key key = {owner, given, json};
	struct sale_key sale =
		keys_make(&key, offer, json_string_value(json_object_get(json, "id")));

	json_decref(json);
	return sale;
}

#define BODY "{\"id\": \"a\", \"weight\": 2}"

/* Stores the key of a sale of vGPU "a" that was made @age_ms ago. */
static void sell(const char *given, int64_t offer, int64_t age_ms)
{
	struct sale_key sale = key_of("root", given, offer, BODY);

	sale.created_ms = vgpu.contract.created_ms = clock_now().wall_ms - age_ms;
	sale_keys_add(&store.keys, &sale);
}

static int check(const char *owner, const char *given, int64_t offer, const char *body)
{
	struct sale_key sale = key_of(owner, given, offer, body);

	err.msg[0] = '\0';
	return keys_check(&changes, &sale, given ? given : "", &err);
}

TEST(only_an_equal_request_is_a_repetition)
{
	static const struct {
		const char *owner, *given;
		int64_t offer;
		const char *body;
		int result;
	} rows[] = {
		{"root", "k", 3, BODY, CONTROL_E_REPEATED},
		{"root", "k", 3, " {\"weight\": 2, \"id\": \"a\"}", CONTROL_E_REPEATED},
		{"root", "k", 3, "{\"id\": \"a\", \"weight\": 3}", CONTROL_E_KEY_USED},
		{"root", "k", 3, "{\"id\": \"b\", \"weight\": 2}", CONTROL_E_KEY_USED},
		{"root", "k", 4, BODY, CONTROL_E_KEY_USED},
		{"root", "k", 0, BODY, CONTROL_E_KEY_USED},
		{"root", "l", 3, BODY, 0},
		{"root", NULL, 3, BODY, 0},
		{"token robot", "k", 3, BODY, 0},
	};

	sell("k", 3, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = check(rows[i].owner, rows[i].given, rows[i].offer, rows[i].body);

		if (r != rows[i].result)
			fail_msg("row %zu: %d %s", i, r, err.msg);
		if (r == CONTROL_E_KEY_USED)
			assert_string_equal(err.msg, "Idempotency-Key: k was used for a different "
						     "request");
	}
}

TEST(a_claim_of_an_earlier_release_is_compared_by_its_vgpu)
{
	sell("k", 3, 0);
	store.keys.list[0].body[0] = '\0';
	assert_int_equal(check("root", "k", 3, "{\"id\": \"a\"}"), CONTROL_E_REPEATED);
	assert_int_equal(check("root", "k", 3, "{\"id\": \"b\"}"), CONTROL_E_KEY_USED);
	assert_int_equal(check("root", "k", 4, "{\"id\": \"a\"}"), CONTROL_E_KEY_USED);
}

TEST(another_vgpu_with_the_id_is_not_the_one_that_was_sold)
{
	sell("k", 0, 5);
	vgpu.contract.created_ms++;
	assert_int_equal(check("root", "k", 0, BODY), CONTROL_E_GONE);
	assert_string_equal(err.msg, "Idempotency-Key: vGPU a, which was sold with key k, was "
				     "removed (use a new key to sell it again)");
	vgpu.contract.created_ms--;
	assert_int_equal(check("root", "k", 0, BODY), CONTROL_E_REPEATED);
	vgpu.found = true; /* its contract was removed */
	assert_int_equal(check("root", "k", 0, BODY), CONTROL_E_GONE);
}

TEST(a_key_of_the_greatest_length_has_a_hash)
{
	char given[CLAIM_MAX] = "";

	memset(given, 'k', CLAIM_MAX - 1);
	assert_true(keys_valid(given));
	sell(given, 0, 0);
	assert_true(strlen(store.keys.list[0].key) < CLAIM_MAX - 1);
	assert_int_equal(check("root", given, 0, BODY), CONTROL_E_REPEATED);
	given[CLAIM_MAX - 2] = 'l';
	assert_int_equal(check("root", given, 0, BODY), 0);
}

TEST(a_key_is_valid_for_a_day)
{
	sell("k", 0, SALE_KEYS_VALID_MS - 60000);
	assert_int_equal(check("root", "k", 0, BODY), CONTROL_E_REPEATED);
	sell("l", 0, SALE_KEYS_VALID_MS);
	assert_int_equal(check("root", "l", 0, BODY), 0);
	assert_int_equal(store.keys.n, 1);
}

TEST(a_clock_that_is_set_back_neither_drops_nor_restores_a_key)
{
	const int64_t hour_ms = 3600000, now_ms = clock_now().wall_ms;

	sell("later", 0, -48 * hour_ms); /* sold before the clock was set back by two days */
	assert_int_equal(check("root", "later", 0, BODY), CONTROL_E_REPEATED);
	sell("k", 0, 0);
	sale_keys_expire(&store.keys, now_ms + 25 * hour_ms);
	assert_int_equal(store.keys.n, 1);
	sale_keys_expire(&store.keys, now_ms); /* one day back */
	assert_int_equal(check("root", "k", 0, BODY), 0);
	assert_non_null(sale_keys_find(&store.keys, "root later"));
}

TEST(the_oldest_key_is_dropped)
{
	char given[16];

	for (int i = 0; i <= SALE_KEYS_MAX; i++) {
		snprintf(given, sizeof(given), "k%d", i);
		sell(given, 0, i); /* the clock goes backwards: the order of the sales counts */
	}
	assert_int_equal(store.keys.n, SALE_KEYS_MAX);
	assert_null(sale_keys_find(&store.keys, "root k0"));
	assert_non_null(sale_keys_find(&store.keys, "root k1"));
	assert_non_null(sale_keys_find(&store.keys, "root k256"));
}

TEST(the_newest_keys_of_an_older_file_are_kept)
{
	struct sale_key old[] = {
		{.key = "root b", .vgpu = "b2", .created_ms = 30},
		{.key = "root a", .vgpu = "a", .created_ms = 20},
		{.key = "root b", .vgpu = "b1", .created_ms = 10},
	};

	sale_keys_add_old(&store.keys, old, ARRAY_SIZE(old));
	assert_int_equal(store.keys.n, 2);
	assert_string_equal(store.keys.list[0].vgpu, "a");
	assert_string_equal(store.keys.list[1].vgpu, "b2");
}
