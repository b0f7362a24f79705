/* SPDX-License-Identifier: MIT */
/* The mapping from the state of gover-d to classes and traits. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/model/mapping.h"
#include "tests/unit/unit.h"

#define NOW 1000000

static struct state_gpu gpus[] = {{"gpu0", true}, {"gpu1", true}};

#define SOLD(gpu_, flavor_)                                             \
	{                                                               \
		.id = "v", .gpu = gpu_, .flavor = flavor_, .sold = true \
	}
#define OFFER(gpu_, flavor_)                                          \
	{                                                             \
		.id = 1, .gpu = gpu_, .flavor = flavor_, .open = true \
	}

static struct host_state state_of(struct state_vgpu *vgpus, size_t n_vgpus,
				  struct state_offer *offers, size_t n_offers)
{
	return (struct host_state){
		.policy = "gover",
		.gpus = gpus,
		.n_gpus = ARRAY_SIZE(gpus),
		.vgpus = vgpus,
		.n_vgpus = n_vgpus,
		.offers = offers,
		.n_offers = n_offers,
	};
}

/* Writes "gpu0 CLASS=contracts+offers ...; gpu1 ..." */
static const char *print(const struct wanted *wanted)
{
	static char text[2048];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < wanted->n_gpus; i++) {
		const struct wanted_gpu *gpu = &wanted->gpus[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%s%s", i ? "; " : "",
				      gpu->name, gpu->overloaded ? " overloaded" : "",
				      gpu->draining ? " draining" : "");
		for (size_t k = 0; k < gpu->n_classes; k++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %s=%d+%d",
					      wanted_is_common(gpu->classes[k].name)
						      ? "all"
						      : gpu->classes[k].name +
								strlen(WANTED_CLASS_PREFIX),
					      gpu->classes[k].contracts, gpu->classes[k].offers);
	}
	return text;
}

TEST(contracts_and_offers_are_counted_by_gpu_and_flavour)
{
	struct state_vgpu vgpus[] = {SOLD("gpu0", "small"), SOLD("gpu1", "big"),
				     SOLD("gpu0", "small")};
	struct state_offer offers[] = {OFFER("gpu0", "small"), OFFER("gpu0", "big"),
				       OFFER("gpu1", "big"), OFFER("gpu1", "small")};
	struct host_state state = state_of(vgpus, 3, offers, 4);
	struct wanted wanted;

	offers[3].open = false; /* sold or ended */
	assert_int_equal(mapping_want(&state, true, NOW, &wanted), 0);
	assert_string_equal(print(&wanted), "gpu0 all=2+2 BIG=0+1 SMALL=2+1; gpu1 all=1+1 BIG=1+1");
	assert_string_equal(wanted.gpus[0].policy, "gover");
	assert_int_equal(mapping_want(&state, false, NOW, &wanted), 0);
	assert_string_equal(print(&wanted), "gpu0 all=2+0 BIG=0+0 SMALL=2+0; gpu1 all=1+0 BIG=1+0");
}

TEST(an_offer_counts_for_each_flavour_and_once)
{
	struct state_vgpu vgpus[] = {SOLD("gpu0", "small")};
	struct state_offer offers[] = {OFFER("gpu0", "big")};
	struct host_state state = state_of(vgpus, 1, offers, 1);
	struct wanted wanted;

	strcpy(offers[0].smaller[0], "mid");
	strcpy(offers[0].smaller[1], "small");
	offers[0].n_smaller = 2;
	assert_int_equal(mapping_want(&state, true, NOW, &wanted), 0);
	assert_string_equal(print(&wanted), "gpu0 all=1+1 BIG=0+1 MID=0+1 SMALL=1+1; gpu1");
	assert_true(mapping_offer_fits(&offers[0], "CUSTOM_GOVER_SLOT_MID", "gpu0"));
	assert_false(mapping_offer_fits(&offers[0], "CUSTOM_GOVER_SLOT", "gpu0"));
	assert_string_equal(mapping_offered_flavor(&offers[0], "CUSTOM_GOVER_SLOT_MID"), "mid");
	assert_string_equal(mapping_flavor_of(&state, "CUSTOM_GOVER_SLOT_MID"), "mid");
	assert_string_equal(mapping_flavor_of(&state, "CUSTOM_GOVER_SLOT"), "CUSTOM_GOVER_SLOT");
	offers[0].n_smaller = 1;
	assert_null(mapping_offered_flavor(&offers[0], "CUSTOM_GOVER_SLOT_SMALL"));
}

TEST(an_offer_near_its_end_takes_no_allocation)
{
	static const struct {
		int ttl_s;
		int64_t left_ms; /* -NOW: unknown */
		const char *held_by;
		int ending;
	} rows[] = {
		{60, 1001, "", 0}, {60, 1000, "", 1},  {60, 0, "", 1},
		{60, -5, "", 1},   {60, 500, "vm", 0}, {4, 201, "", 0},
		{4, 200, "", 1},   {60, -NOW, "", 0},  {3600, 1001, "", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct state_offer offers[] = {OFFER("gpu0", "small"), OFFER("gpu0", "small")};
		struct host_state state = state_of(NULL, 0, offers, 2);
		struct wanted wanted;

		state.offer_ttl_s = rows[i].ttl_s;
		offers[0].expires_ms = NOW + rows[i].left_ms;
		offers[1].expires_ms = NOW + 600000;
		snprintf(offers[0].held_by, sizeof(offers[0].held_by), "%s", rows[i].held_by);
		(void)mapping_want(&state, true, NOW, &wanted);
		for (size_t k = 0; k < wanted.gpus[0].n_classes; k++)
			if (wanted.gpus[0].classes[k].offers != 2 ||
			    wanted.gpus[0].classes[k].ending != rows[i].ending)
				fail_msg("row %zu", i);
		(void)mapping_want(&state, false, NOW, &wanted);
		assert_int_equal(wanted.gpus[0].classes[0].ending, 0);
	}
}

TEST(vgpus_of_others_are_not_counted)
{
	struct state_vgpu vgpus[] = {SOLD("gpu0", "small")};
	struct host_state state = state_of(vgpus, 1, NULL, 0);
	struct wanted wanted;

	vgpus[0].sold = false;
	assert_int_equal(mapping_want(&state, true, NOW, &wanted), 0);
	assert_string_equal(print(&wanted), "gpu0; gpu1");
}

TEST(the_order_of_the_lists_makes_no_difference)
{
	struct state_vgpu vgpus[] = {SOLD("gpu1", "c"), SOLD("gpu0", "a"), SOLD("gpu1", "b")};
	struct state_vgpu turned[] = {vgpus[2], vgpus[0], vgpus[1]};
	struct host_state state = state_of(vgpus, 3, NULL, 0);
	struct wanted one, other;

	(void)mapping_want(&state, true, NOW, &one);
	state.vgpus = turned;
	(void)mapping_want(&state, true, NOW, &other);
	assert_memory_equal(&one, &other, sizeof(one));
}

TEST(overload_and_draining_become_traits)
{
	static const struct {
		struct state_alert alert;
		bool overloaded;
	} rows[] = {
		{{.name = "severe_overload", .gpu = "gpu0"}, true},
		{{.name = "promise_broken", .gpu = "gpu0", .cause = "gpu_overcommitted"}, true},
		{{.name = "promise_broken", .gpu = "gpu0", .cause = "donors_at_floor"}, true},
		{{.name = "promise_broken", .gpu = "gpu0", .cause = "held"}, false},
		{{.name = "promise_broken", .gpu = "gpu0"}, false},
		{{.name = "telemetry_stale", .gpu = "gpu0"}, false},
	};
	struct host_state state = state_of(NULL, 0, NULL, 0);
	struct state_alert alert;
	struct wanted wanted;

	state.alerts = &alert;
	state.n_alerts = 1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		alert = rows[i].alert;
		(void)mapping_want(&state, true, NOW, &wanted);
		if (wanted.gpus[0].overloaded != rows[i].overloaded || wanted.gpus[1].overloaded)
			fail_msg("row %zu", i);
	}
	gpus[1].selling = false;
	(void)mapping_want(&state, true, NOW, &wanted);
	gpus[1].selling = true;
	assert_false(wanted.gpus[0].draining);
	assert_true(wanted.gpus[1].draining);
}

TEST(what_does_not_fit_is_counted)
{
	struct state_gpu many[WANTED_GPUS_MAX + 2] = {0};
	struct state_vgpu vgpus[WANTED_CLASSES_MAX + 3] = {0};
	struct host_state state = state_of(vgpus, WANTED_CLASSES_MAX + 2, NULL, 0);
	struct wanted wanted;

	for (int i = 0; i < WANTED_GPUS_MAX + 2; i++)
		snprintf(many[i].name, sizeof(many[i].name), "g%02d", i);
	for (int i = 0; i < WANTED_CLASSES_MAX + 2; i++) {
		vgpus[i] = (struct state_vgpu)SOLD("g00", "");
		snprintf(vgpus[i].flavor, sizeof(vgpus[i].flavor), "f%02d", i);
	}
	state.gpus = many;
	state.n_gpus = ARRAY_SIZE(many);
	assert_int_equal(mapping_want(&state, true, NOW, &wanted), 2 + 3);
	assert_int_equal(wanted.n_gpus, WANTED_GPUS_MAX);
	assert_int_equal(wanted.gpus[0].n_classes, WANTED_CLASSES_MAX);
}

TEST(class_names_have_the_characters_of_placement)
{
	char name[WANTED_CLASS_MAX] = "x", longest[WANTED_CLASS_MAX] = "";

	assert_int_equal(mapping_class_name("gpu-50.b_Z9", name), 0);
	assert_string_equal(name, "CUSTOM_GOVER_SLOT_GPU_50_B_Z9");
	assert_int_equal(mapping_class_name("", name), -EINVAL);
	memset(longest, 'a', WANTED_CLASS_MAX - strlen(WANTED_CLASS_PREFIX));
	assert_int_equal(mapping_class_name(longest, name), -ENAMETOOLONG);
	longest[WANTED_CLASS_MAX - strlen(WANTED_CLASS_PREFIX) - 1] = '\0';
	assert_int_equal(mapping_class_name(longest, name), 0);
	assert_int_equal(strlen(name), WANTED_CLASS_MAX - 1);
}

TEST(an_offer_fits_its_class_and_gpu)
{
	struct state_offer offer = OFFER("gpu0", "small");

	assert_true(mapping_offer_fits(&offer, "CUSTOM_GOVER_SLOT_SMALL", ""));
	assert_true(mapping_offer_fits(&offer, "CUSTOM_GOVER_SLOT_SMALL", "gpu0"));
	assert_false(mapping_offer_fits(&offer, "CUSTOM_GOVER_SLOT_SMALL", "gpu1"));
	assert_false(mapping_offer_fits(&offer, "CUSTOM_GOVER_SLOT_BIG", ""));
	offer.open = false;
	assert_false(mapping_offer_fits(&offer, "CUSTOM_GOVER_SLOT_SMALL", ""));
}

TEST(a_class_has_the_flavour_of_gover)
{
	struct state_vgpu vgpus[] = {SOLD("gpu0", "gpu-50.b")};
	struct state_offer offers[] = {OFFER("gpu0", "Small")};
	struct host_state state = state_of(vgpus, 1, offers, 1);

	strcpy(state.flavor, "half");
	assert_string_equal(mapping_flavor_of(&state, "CUSTOM_GOVER_SLOT_HALF"), "half");
	assert_string_equal(mapping_flavor_of(&state, "CUSTOM_GOVER_SLOT_SMALL"), "Small");
	assert_string_equal(mapping_flavor_of(&state, "CUSTOM_GOVER_SLOT_GPU_50_B"), "gpu-50.b");
	assert_string_equal(mapping_flavor_of(&state, "CUSTOM_GOVER_SLOT_GONE"), "GONE");
	assert_string_equal(mapping_flavor_of(&state, "VGPU"), "VGPU");
}
