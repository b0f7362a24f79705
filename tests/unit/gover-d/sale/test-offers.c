/* SPDX-License-Identifier: MIT */
/*
 * The lifecycle of offers, run by scripts of letters, the flavours that an offer lists, and claims
 * on a simulated GPU.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/cap/gpus.h"
#include "gover-d/change/control.h"
#include "gover-d/manager/parts.h"
#include "gover-d/tick/round.h"
#include "tests/unit/gover-d/store/test-save-at-once.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

#define TTL_S	    5
#define PROBATION_S 4
#define BROKEN_PCT  25
#define KEPT_MAX    256

#define HALF_TERMS                                                   \
	{                                                            \
		.initial_cap_pct = 50, .target_fps = 30, .weight = 1 \
	}

static const struct policy_terms flavor = HALF_TERMS;
static const struct offer_flavor half = {"default", HALF_TERMS, 30};

static struct offers *offers;
static const struct instant begun = {.mono_ns = 100 * NS_PER_S, .wall_ms = 1700000000000};
static struct instant now;
static struct err err;
static char events[64]; /* id and new state of each change, "1open 1probation " */

static void record_event(void *userdata, const struct offer *offer)
{
	size_t used = strlen(events);

	assert_ptr_equal(userdata, events);
	assert_int_equal(offer->changed_ms, now.wall_ms);
	snprintf(events + used, sizeof(events) - used, "%d%s ", (int)offer->id,
		 offer_state_name(offer->life.state));
}

static int set_up(void)
{
	now = begun;
	events[0] = '\0';
	offers = offers_new(0, record_event, events);
	return offers ? 0 : -1;
}

static int tear_down(void)
{
	offers = offers_free(offers);
	return offers ? -1 : 0;
}

FIXTURE(set_up, tear_down)

static struct offer *open_on(const char *gpu)
{
	return offers_open(offers, gpu, &half, 1, TTL_S, now);
}

static void tick_on(const char *gpu, double watched_s, double broken_s, bool severe)
{
	struct offer *offer = offers_live(offers, gpu);

	now.mono_ns += NS_PER_S;
	now.wall_ms += 1000;
	if (offer)
		offers_tick(
			offers, offer, &(struct offer_period){watched_s, broken_s, severe, 0},
			&(struct offer_limits){.min_newcomer_pct = 10, .broken_pct = BROKEN_PCT},
			now);
}

static void hold_for(struct offer *offer, int seconds)
{
	struct offer_hold hold = {
		.holder = "holder",
		.until_ms = now.wall_ms + seconds * 1000,
		.until_ns = now.mono_ns + (uint64_t)seconds * NS_PER_S,
	};

	offers_hold(offers, offer, &hold, now);
}

/* --- the lifecycle --- */

/*
 * Letters of a script:
 * o open the offer, h hold it for 8 s, H for 2 s, c claim it for vGPU "new", w withdraw it,
 * x remove "new", y remove another vGPU. One second passes with each of: t no problem, b every
 * contract is broken, s severe overload, n no measurement.
 */
static void run_script(const char *script)
{
	struct offer *offer = NULL;

	for (; *script; script++) {
		switch (*script) {
		case 'o':
			offer = open_on("gpu0");
			assert_non_null(offer);
			break;
		case 'c':
			offers_claim(offers, offer, "", "new", PROBATION_S, now);
			break;
		case 'w':
			offers_end(offers, offer, OFFER_CLOSED, now, "withdrawn by %s", "a client");
			break;
		case 'h':
		case 'H':
			hold_for(offer, *script == 'h' ? 8 : 2);
			break;
		case 'x':
			offers_vgpu_removed(offers, "new", now);
			break;
		case 'y':
			offers_vgpu_removed(offers, "old", now);
			break;
		case 'n':
			tick_on("gpu0", 0, 0, false);
			break;
		default:
			tick_on("gpu0", 2, *script == 'b' ? 2 : 0, *script == 's');
		}
	}
}

static const struct {
	const char *rule, *script;
	enum offer_state state;
	bool live; /* blocks another offer on the GPU */
	const char *reason;
} lifecycle_rows[] = {
	{"a new offer is open", "o", OFFER_OPEN, true, ""},
	{"an offer stays open until its expiry", "otttt", OFFER_OPEN, true, ""},
	{"an unclaimed offer expires", "ottttt", OFFER_EXPIRED, false, "not claimed"},
	{"overload does not end an open offer", "osss", OFFER_OPEN, true, ""},
	{"a withdrawn offer is closed", "otw", OFFER_CLOSED, false, "withdrawn by a client"},
	{"a claim starts the probation", "oc", OFFER_PROBATION, true, ""},
	{"a claim in the last second is accepted", "ottttc", OFFER_PROBATION, true, ""},
	{"a claimed offer does not expire", "ottttct", OFFER_PROBATION, true, ""},
	{"the probation lasts its full time", "octtt", OFFER_PROBATION, true, ""},
	{"the offer is kept after a good probation", "octttt", OFFER_KEPT, false, "vGPU new"},
	{"few broken seconds are accepted", "octbtt", OFFER_KEPT, false, "25.0 %"},
	{"too many broken seconds fail the offer", "octbbt", OFFER_FAILED, true, "50.0 %"},
	{"broken seconds are judged only at the end", "ocbbb", OFFER_PROBATION, true, ""},
	{"seconds before the claim do not count", "obbbbctttt", OFFER_KEPT, false, "0.0 %"},
	{"severe overload fails the offer", "ocsss", OFFER_FAILED, true, "3 consecutive"},
	{"short severe overload does not fail the offer", "ocsst", OFFER_PROBATION, true, ""},
	{"only consecutive severe seconds fail the offer", "ocssts", OFFER_KEPT, false, ""},
	{"severe overload before the claim does not count", "ossct", OFFER_PROBATION, true, ""},
	{"without measurements the probation goes on", "ocnnnnnn", OFFER_PROBATION, true, ""},
	{"a late first measurement ends the probation", "ocnnnnt", OFFER_KEPT, false, "vGPU new"},
	{"removing the new vGPU closes the offer", "octx", OFFER_CLOSED, false, "removed"},
	{"removing another vGPU does not close the offer", "octy", OFFER_PROBATION, true, ""},
	{"a failed offer stays failed", "ocssstttttttt", OFFER_FAILED, true, "3 consecutive"},
	{"removing the new vGPU lets the GPU open another offer", "ocsssx", OFFER_FAILED, false,
	 "3 consecutive"},
	{"removing another vGPU keeps the GPU blocked", "ocsssy", OFFER_FAILED, true,
	 "3 consecutive"},
	{"a kept offer stays kept", "octtttxtt", OFFER_KEPT, false, "vGPU new"},
	{"a held offer does not expire before its hold ends", "ohttttttt", OFFER_OPEN, true, ""},
	{"a hold delays the expiry to its end", "ohtttttttt", OFFER_EXPIRED, false, "not claimed"},
	{"a hold that ends early does not delay the expiry", "oHtttt", OFFER_OPEN, true, ""},
	{"after such a hold the offer expires", "oHttttt", OFFER_EXPIRED, false, "not claimed"},
	{"a repeated hold counts from its time", "ottthtttttthttttttt", OFFER_OPEN, true, ""},
	{"a held offer can be claimed", "ohtttttttc", OFFER_PROBATION, true, ""},
	{"a held offer can be withdrawn", "ohw", OFFER_CLOSED, false, "withdrawn by a client"},
	{"an expired offer stays expired", "otttttttt", OFFER_EXPIRED, false, "not claimed"},
};

TEST(an_offer_follows_its_state_table)
{
	for (size_t i = 0; i < ARRAY_SIZE(lifecycle_rows); i++) {
		const struct offer *offer;

		tear_down();
		assert_int_equal(set_up(), 0);
		run_script(lifecycle_rows[i].script);
		offer = offers_find(offers, 1);
		assert_non_null(offer);
		if (offer->life.state != lifecycle_rows[i].state)
			fail_msg("%s: the state is %s", lifecycle_rows[i].rule,
				 offer_state_name(offer->life.state));
		if ((offers_live(offers, "gpu0") == offer) != lifecycle_rows[i].live)
			fail_msg("%s: blocks another offer: %d", lifecycle_rows[i].rule,
				 !lifecycle_rows[i].live);
		if (!strstr(offer->reason, lifecycle_rows[i].reason) ||
		    (lifecycle_rows[i].reason[0] == '\0' && offer->reason[0] &&
		     offer->life.state != OFFER_KEPT))
			fail_msg("%s: the reason is '%s'", lifecycle_rows[i].rule, offer->reason);
	}
}

TEST(each_change_is_reported_once)
{
	run_script("otctttttttx");
	assert_string_equal(events, "1open 1probation 1kept ");
	events[0] = '\0';
	run_script("otttttt");
	assert_string_equal(events, "2open 2expired ");
	events[0] = '\0';
	run_script("ocx");
	assert_string_equal(events, "3open 3probation 3closed ");
	events[0] = '\0';
	run_script("oHttttt"); /* the hold begins, its end is reported, then the offer expires */
	assert_string_equal(events, "4open 4open 4open 4expired ");
}

TEST(a_hold_lasts_until_its_end_or_the_claim)
{
	struct offer *offer = open_on("gpu0");

	assert_false(offers_is_held(offer, now));
	hold_for(offer, 2);
	assert_true(offers_is_held(offer, now));
	assert_int_equal(offer->expires_ms, offer->created_ms + TTL_S * 1000);
	tick_on("gpu0", 2, 0, false);
	assert_true(offers_is_held(offer, now));
	tick_on("gpu0", 2, 0, false);
	assert_false(offers_is_held(offer, now));
	assert_string_equal(offer->hold.holder, "");
	hold_for(offer, 8);
	assert_int_equal(offer->expires_ms, now.wall_ms + 8000);
	offers_claim(offers, offer, "", "new", PROBATION_S, now);
	assert_false(offers_is_held(offer, now));
	assert_string_equal(offer->hold.holder, "");
}

TEST(a_new_offer_has_its_flavor_and_expiry)
{
	const struct offer *offer = open_on("gpu0");

	assert_int_equal(offer->id, 1);
	assert_string_equal(offer->gpu, "gpu0");
	assert_string_equal(offer->flavors[0].name, "default");
	assert_int_equal(offer->flavors[0].terms.initial_cap_pct, 50);
	assert_float_equal(offer->flavors[0].terms.target_fps, 30, 0);
	assert_int_equal(offer->flavors[0].fundable_pct, 30);
	assert_int_equal(offer->created_ms, now.wall_ms);
	assert_int_equal(offer->expires_ms, now.wall_ms + TTL_S * 1000);
	assert_string_equal(offer->vgpu, "");
}

TEST(a_claim_stores_the_vgpu_and_the_key)
{
	struct offer *offer = open_on("gpu0");

	now.wall_ms += 10;
	offers_claim(offers, offer, "", "new", PROBATION_S, now);
	assert_string_equal(offer->vgpu, "new");
	assert_int_equal(offer->changed_ms, now.wall_ms);
	assert_int_equal(offer->life.probation_ends_ns, now.mono_ns + PROBATION_S * NS_PER_S);
}

/* --- the list --- */

TEST(each_gpu_has_at_most_one_live_offer)
{
	struct offer *first = open_on("gpu0"), *second = open_on("gpu1");

	assert_non_null(first);
	assert_non_null(second);
	assert_ptr_equal(offers_live(offers, "gpu0"), first);
	assert_ptr_equal(offers_live(offers, "gpu1"), second);
	assert_null(offers_live(offers, "gpu2"));
	assert_null(open_on("gpu0"));
	offers_claim(offers, first, "", "new", PROBATION_S, now);
	assert_null(open_on("gpu0"));
	for (int i = 0; i < OFFER_SEVERE_PERIODS; i++)
		tick_on("gpu0", 2, 0, true);
	assert_int_equal(first->life.state, OFFER_FAILED);
	assert_int_equal(second->life.state, OFFER_OPEN); /* ticks of gpu0 do not affect gpu1 */
	assert_null(open_on("gpu0"));
	offers_vgpu_removed(offers, "new", now);
	assert_non_null(open_on("gpu0"));
	assert_int_equal(offers_count(offers), 3);
}

TEST(the_oldest_ended_offers_are_dropped_but_no_live_one)
{
	const int n = 1000;
	struct offer *live;

	assert_non_null(open_on("busy"));
	for (int i = 0; i < n; i++) {
		struct offer *offer = open_on("gpu0");

		assert_non_null(offer);
		offers_end(offers, offer, OFFER_CLOSED, now, "over");
		events[0] = '\0';
	}
	assert_int_equal(offers_count(offers), KEPT_MAX);
	live = offers_live(offers, "busy");
	assert_non_null(live);
	assert_int_equal(live->id, 1);
	assert_ptr_equal(offers_find(offers, 1), live);
	assert_null(offers_find(offers, 2));
	assert_non_null(offers_find(offers, n + 1));
	for (size_t i = 1; i < offers_count(offers); i++)
		assert_true(offers_at(offers, i)->id > offers_at(offers, i - 1)->id);
}

TEST(a_list_full_of_live_offers_rejects_a_new_one)
{
	char gpu[ID_MAX];

	for (int i = 0; i < KEPT_MAX; i++) {
		snprintf(gpu, sizeof(gpu), "gpu%d", i);
		assert_non_null(open_on(gpu));
		events[0] = '\0';
	}
	assert_null(open_on("one-more"));
	assert_int_equal(offers_count(offers), KEPT_MAX);
}

/* --- adoption after a restart --- */

TEST(an_adopted_offer_keeps_its_state)
{
	static const struct {
		enum offer_state state;
		bool live;
	} rows[] = {
		{OFFER_PROBATION, true}, {OFFER_FAILED, true},	{OFFER_KEPT, false},
		{OFFER_EXPIRED, false},	 {OFFER_CLOSED, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct offer left = {
			.id = 5,
			.gpu = "gpu0",
			.life.state = rows[i].state,
			.vgpu = "new",
			.life.probation_ends_ns = now.mono_ns + PROBATION_S * NS_PER_S,
		};
		struct offer *offer;

		tear_down();
		offers = offers_new(41, record_event, events);
		assert_non_null(offers);
		offer = offers_adopt(offers, &left);
		assert_non_null(offer);
		assert_int_equal(offer->id, 5);
		assert_string_equal(events, "");
		assert_int_equal(offers_live(offers, "gpu0") == offer, rows[i].live);
		offers_vgpu_removed(offers, "new", now);
		assert_null(offers_live(offers, "gpu0"));
		events[0] = '\0';
		assert_int_equal(open_on("gpu0")->id, 42);
		events[0] = '\0';
	}
}

TEST(adopted_offers_are_sorted_and_no_id_is_reused)
{
	static const int64_t ids[] = {30, 10, 50, 20, 40};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct offer *offer = offers_adopt(
			offers, &(struct offer){.id = ids[i], .life.state = OFFER_KEPT});

		assert_non_null(offer);
		assert_int_equal(offer->id, ids[i]);
	}
	for (size_t i = 0; i < offers_count(offers); i++)
		assert_int_equal(offers_at(offers, i)->id, 10 * (i + 1));
	assert_int_equal(offers_last_id(offers), 50);
	assert_int_equal(open_on("gpu0")->id, 51);
}

TEST(states_have_the_names_of_the_interface)
{
	static const char *const names[OFFER_STATES] = {"open",	  "probation", "kept",
							"failed", "expired",   "closed"};
	enum offer_state parsed;

	for (int i = 0; i < OFFER_STATES; i++) {
		assert_string_equal(offer_state_name((enum offer_state)i), names[i]);
		assert_int_equal(offer_state_parse(names[i], &parsed), 0);
		assert_int_equal(parsed, i);
	}
	assert_int_equal(offer_state_parse("", &parsed), -EINVAL);
	assert_int_equal(offer_state_parse("claimed", &parsed), -EINVAL);
	assert_null(offers_free(NULL));
}

/* --- the flavours that an offer lists: while it is open, and after a claim --- */

static const struct offer_flavor listed[] = {
	{"large", {.initial_cap_pct = 60, .target_fps = 60}, 50},
	{"half", {.initial_cap_pct = 50, .target_fps = 30}, 45},
	{"quarter", {.initial_cap_pct = 25}, 25},
};

static const struct offer_limits limits = {.min_newcomer_pct = 10};

static struct offer *flavored;
static int changes;

static void count_change(void *userdata, const struct offer *changed)
{
	(void)userdata, (void)changed;
	changes++;
}

static int set_up_listed(void)
{
	now = begun;
	offers = offers_new(0, count_change, NULL);
	flavored = offers_open(offers, "gpu0", listed, ARRAY_SIZE(listed), 60, now);
	changes = 0;
	return flavored ? 0 : -1;
}

static void expect_listed(const char *names)
{
	char text[128] = "";

	for (int i = 0; i < flavored->n_flavors; i++) {
		strcat(text, i ? " " : "");
		strcat(text, flavored->flavors[i].name);
	}
	assert_string_equal(text, names);
}

TEST_WITH(an_unfundable_flavour_is_removed, set_up_listed, tear_down)
{
	static const struct {
		int funded_pct[OFFERED_MAX];
		const char *names;
		int changes; /* so far */
		enum offer_state state;
	} rows[] = {
		{{50, 45, 25}, "large half quarter", 0, OFFER_OPEN},
		{{40, 44, 24}, "large half quarter", 0, OFFER_OPEN},
		{{-ENOSPC, 43, 23}, "half quarter", 1, OFFER_OPEN},
		{{42, -ENOSPC}, "half", 2, OFFER_OPEN},
		{{-ENOSPC}, "half", 3, OFFER_CLOSED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		offers_restate(offers, flavored, rows[i].funded_pct, &limits, now);
		expect_listed(rows[i].names);
		assert_int_equal(flavored->life.state, rows[i].state);
		assert_int_equal(changes, rows[i].changes);
	}
	assert_int_equal(flavored->flavors[0].fundable_pct, 42);
	assert_string_equal(flavored->reason, "less than 10 % of the GPU can be funded now");
}

TEST_WITH(an_unlisted_flavour_leaves_the_others, set_up_listed, tear_down)
{
	offers_unlist(offers, flavored, "half", "too late", now);
	expect_listed("large quarter");
	offers_unlist(offers, flavored, "half", "too late", now);
	expect_listed("large quarter");
	assert_int_equal(changes, 1);
	offers_unlist(offers, flavored, "quarter", "too late", now);
	expect_listed("large");
	assert_int_equal(flavored->life.state, OFFER_OPEN);
	offers_unlist(offers, flavored, "large", "too late", now);
	assert_int_equal(flavored->life.state, OFFER_CLOSED);
	assert_string_equal(flavored->reason, "too late");
	assert_int_equal(changes, 3);
}

TEST_WITH(only_a_listed_flavour_can_be_claimed, set_up_listed, tear_down)
{
	err.msg[0] = '\0';
	assert_string_equal(offers_flavor(flavored, "")->name, "large");
	assert_string_equal(offers_flavor(flavored, "quarter")->name, "quarter");
	assert_null(offers_flavor(flavored, "Quarter"));
	assert_int_equal(offers_check_flavor(flavored, "quarter", &err), 0);
	assert_int_equal(offers_check_flavor(flavored, "", &err), 0);
	assert_int_equal(offers_check_flavor(flavored, "tiny", &err), CONTROL_E_NOT_LISTED);
	assert_string_equal(err.msg, "flavor: offer 1 does not list tiny (allowed: large, half, "
				     "quarter)");
}

TEST_WITH(a_claim_leaves_the_sold_flavour, set_up_listed, tear_down)
{
	offers_claim(offers, flavored, "quarter", "new", 30, now);
	expect_listed("quarter");
	assert_int_equal(flavored->flavors[0].terms.initial_cap_pct, 25);
	assert_int_equal(flavored->flavors[0].fundable_pct, 25);
	assert_int_equal(flavored->life.state, OFFER_PROBATION);
	assert_int_equal(changes, 1);
}

/* --- claims --- */

static struct manager manager; /* only the fields that a claim needs */
static struct plan_round plan;

static int set_up_manager(void)
{
	char path[64];

	now = clock_now();
	offers = offers_new(0, ignore_offer, NULL);
	if (!offers || temp_folder_make() < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/caps", temp_folder);
	memset(&manager, 0, sizeof(manager));
	manager_wire(&manager);
	manager.tick.round = &plan;
	config_default(&manager.store.settings.config);
	strcpy(manager.store.settings.config.gpus[0].gpu.backend, "sim");
	settings_apply(&manager.store.settings);
	manager.recorder.decisions = decisions_new(0);
	manager.sales.alerts = manager.recorder.alerts = alerts_new(0, ignore_alert, NULL);
	manager.sales.offers = offers;
	if (!manager.recorder.decisions || !manager.recorder.alerts ||
	    cap_journal_open(path, &manager.caps.actuator.journal, &err) < 0)
		return -1;
	if (gpus_open(&manager.host, &manager.store.settings.config, NULL, false, &err) < 0)
		return -1;
	manager.host.gpus[0].telemetry_valid = true; /* as after a tick */
	return 0;
}

static int tear_down_manager(void)
{
	gpus_close(&manager.host);
	cap_journal_close(manager.caps.actuator.journal);
	alerts_free(manager.recorder.alerts);
	decisions_free(manager.recorder.decisions);
	sale_keys_fini(&manager.store.keys);
	(void)temp_folder_remove();
	return tear_down();
}

/* @key may be NULL */
static int claim(int64_t id, const char *key, const char *vgpu)
{
	struct contract contract = {.labels = json_object()};
	json_t *body = json_pack("{s:s}", "id", vgpu);
	int r;

	assert_int_equal(id_copy(contract.id, vgpu), 0);
	err.msg[0] = '\0';
	r = await_change(control_offer_claim(
		&manager.changes, &(struct control_claim){.offer = id, .key = {"root", key, body}},
		&contract, at_end, &err));
	json_decref(body);
	return r;
}

TEST_WITH(the_first_claim_wins_and_can_be_repeated_with_its_key, set_up_manager, tear_down_manager)
{
	const struct offer *offer = open_on("gpu0");
	struct vgpu *vgpu;

	assert_int_equal(claim(1, "first", "new"), 0);
	assert_int_equal(claim(1, "second", "late"), CONTROL_E_EXISTS);
	assert_non_null(strstr(err.msg, "new"));
	assert_int_equal(claim(1, "first", "new"), CONTROL_E_REPEATED);
	assert_int_equal(claim(1, "first", "late"), CONTROL_E_KEY_USED);
	assert_int_equal(claim(1, NULL, "new"),
			 CONTROL_E_EXISTS); /* no key: not a repeated claim */
	assert_int_equal(offer->life.state, OFFER_PROBATION);
	assert_string_equal(offer->vgpu, "new");
	vgpu = host_find_vgpu(&manager.host, "new", NULL);
	assert_non_null(vgpu);
	assert_string_equal(offers_newcomer(manager.sales.offers, "gpu0"), "new");
	assert_int_equal(vgpu->contract.terms.initial_cap_pct, flavor.initial_cap_pct);
	assert_float_equal(vgpu->contract.terms.target_fps, flavor.target_fps, 0);
	assert_string_equal(vgpu->contract.flavor, "default");
	assert_null(host_find_vgpu(&manager.host, "late", NULL));
}

TEST_WITH(a_repeated_claim_without_a_key_is_rejected, set_up_manager, tear_down_manager)
{
	assert_non_null(open_on("gpu0"));
	assert_int_equal(claim(1, NULL, "new"), 0);
	assert_int_equal(claim(1, NULL, "new"), CONTROL_E_EXISTS);
}

TEST_WITH(only_an_open_offer_can_be_claimed, set_up_manager, tear_down_manager)
{
	assert_int_equal(claim(1, "key", "new"), CONTROL_E_NOT_FOUND);
	run_script("ottttt");
	assert_int_equal(claim(1, "key", "new"), CONTROL_E_OFFER_OVER);
	assert_non_null(strstr(err.msg, "expired"));
	run_script("ow");
	assert_int_equal(claim(2, "key", "new"), CONTROL_E_OFFER_OVER);
	assert_non_null(strstr(err.msg, "withdrawn by a client"));
	assert_null(host_find_vgpu(&manager.host, "new", NULL));
}

/* Sells vGPU "old", and opens an offer. */
static void sell_old_and_open(int initial_cap_pct)
{
	struct contract contract = {
		.id = "old",
		.terms = {.initial_cap_pct = initial_cap_pct, .weight = 1},
		.labels = json_object(),
	};

	assert_int_equal(await_change(control_vgpu_add(&manager.changes, &no_key, 0, &contract,
						       at_end, &err)),
			 0);
	assert_non_null(open_on("gpu0"));
}

TEST_WITH(a_claim_with_a_used_id_leaves_the_offer_open, set_up_manager, tear_down_manager)
{
	sell_old_and_open(40);
	assert_int_equal(claim(1, "key", "old"), CONTROL_E_EXISTS);
	assert_int_equal(offers_find(offers, 1)->life.state, OFFER_OPEN);
	assert_int_equal(claim(1, "key", "new"), 0);
}

TEST_WITH(a_claim_that_no_longer_fits_closes_the_offer, set_up_manager, tear_down_manager)
{
	sell_old_and_open(95);
	assert_int_equal(claim(1, "key", "new"), CONTROL_E_DOES_NOT_FIT);
	assert_int_equal(offers_find(offers, 1)->life.state, OFFER_CLOSED);
	assert_null(offers_live(offers, "gpu0"));
	assert_null(host_find_vgpu(&manager.host, "new", NULL));
	assert_int_equal(host_gpu_sum_cap_pct(&manager.host.gpus[0]), 95);
}
