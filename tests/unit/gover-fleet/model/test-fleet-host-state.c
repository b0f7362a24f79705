/* SPDX-License-Identifier: MIT */
/* The parser of gover-d's answers, with an answer of gover-d. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/model/host-state.h"
#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

#define UUID "11111111-2222-3333-4444-555555555555"

/* Printed by gover-d 0.1.0; members that are not read are shortened. */
static const char host_text[] =
	"{'version':'0.1.0','time':'2026-11-27T04:07:28.439Z','ready':true,"
	"'gpus':[{'name':'gpu0','backend':'sim','mode':'act','selling':'on'},{'name':'gpu1',"
	"'backend':'sim','mode':'act','selling':'off'}],'vgpus':[{'id':'a','gpu':'gpu0',"
	"'vm':'vm-a','cid':null,'labels':{'fleet':'libvirt','domain':'" UUID "'},"
	"'initial_cap_pct':50,'flavor':'default','created_at':'2026-11-27T04:07:24.291Z',"
	"'state':'active','found':false,'cap_pct':40,'load_pct':12.5,'overloaded':true,"
	"'broken':false},{'id':'b','gpu':'gpu1','vm':null,'labels':{'fleet':'other',"
	"'unverified':'yes'},'initial_cap_pct':0,'flavor':'default','created_at':null,"
	"'state':'missing','found':true,'cap_pct':10,'load_pct':null,'overloaded':false,"
	"'broken':true}],'alerts':[{'id':3,'name':'promise_broken','severity':'critical',"
	"'gpu':'gpu0','vgpu':'a','vm':'vm-a','cause':'donors_at_floor'},{'id':4,"
	"'name':'history_failing','severity':'warning','gpu':null,'vgpu':null,'cause':null}],"
	"'offers':[{'id':1,'gpu':'gpu0','state':'open','initial_cap_pct':50,'vgpu':null,"
	"'reason':''},{'id':2,'gpu':'gpu1','state':'probation','flavor':'large',"
	"'flavors':[{'flavor':'large','fundable_pct':40},{'flavor':'small'}],"
	"'held_by':'" UUID "','vgpu':'b','expires_at':'1970-01-01T00:00:02.003Z'}]}";
static const char policy_text[] =
	"{'name':'gover','params':{'overload_pct':95,'flavor':'default','ttl_s':60}}";

static int parse(const char *host, const char *policy, struct host_state **ret_state,
		 struct err *reterr)
{
	json_t *h = quoted_json(host), *p = quoted_json(policy);
	int r = host_state_parse(h, p, ret_state, reterr);

	json_decref(h);
	json_decref(p);
	return r;
}

TEST(an_answer_of_gover_d_is_read)
{
	struct host_state *state = NULL;
	const struct state_vgpu *a, *b;
	struct err err = {""};

	assert_int_equal(parse(host_text, policy_text, &state, &err), 0);
	assert_int_equal(state->time_ms, 1795752448439);
	assert_string_equal(state->policy, "gover");
	assert_int_equal(state->offer_ttl_s, 60);
	assert_int_equal(state->n_gpus, 2);
	assert_true(state->gpus[0].selling);
	assert_false(state->gpus[1].selling);
	a = host_state_find_vgpu(state, "a");
	b = host_state_find_vgpu(state, "b");
	assert_true(a->sold && !a->unverified && a->overloaded && !a->broken);
	assert_string_equal(a->domain, UUID);
	assert_string_equal(a->vm, "vm-a");
	assert_int_equal(a->initial_cap_pct, 50);
	assert_int_equal(a->created_ms, 1795752444291);
	assert_false(b->sold || b->overloaded || b->created_ms);
	assert_true(b->unverified && b->broken);
	assert_null(host_state_find_vgpu(state, "c"));
	host_state_unref(state);
}

TEST(a_vgpu_is_sold_if_it_has_a_contract_of_gover_fleet)
{
	static const struct {
		const char *found, *label;
		bool sold;
	} rows[] = {
		{"false", "libvirt", true},
		{"false", "other", false},
		{"true", "libvirt", false},
		{"null", "libvirt", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *json = json_pack("{s:s, s:s, s:{s:s}}", "id", "a", "gpu", "gpu0", "labels",
					 "fleet", rows[i].label);
		struct state_vgpu vgpu;
		struct err err = {""};

		(void)json_object_set_new(
			json, "found",
			json_loadb(rows[i].found, strlen(rows[i].found), JSON_DECODE_ANY, NULL));
		assert_int_equal(host_state_parse_vgpu(json, &vgpu, &err), 0);
		if (vgpu.sold != rows[i].sold)
			fail_msg("row %zu", i);
		json_decref(json);
	}
}

TEST(a_sold_vgpu_is_found_by_its_domain)
{
	struct state_vgpu vgpus[] = {
		{.id = UUID}, {.id = "a", .domain = UUID, .sold = true}, {.id = "b", .sold = true}};
	const struct host_state state = {.vgpus = vgpus, .n_vgpus = ARRAY_SIZE(vgpus)};

	assert_ptr_equal(host_state_find_sold(&state, UUID), &vgpus[1]);
	assert_ptr_equal(host_state_find_sold(&state, "b"), &vgpus[2]);
	assert_null(host_state_find_sold(&state, "a"));
}

TEST(alerts_and_offers_are_read)
{
	struct host_state *state = NULL;
	struct err err = {""};

	assert_int_equal(parse(host_text, policy_text, &state, &err), 0);
	assert_int_equal(state->n_alerts, 2);
	assert_string_equal(state->alerts[0].cause, "donors_at_floor");
	assert_string_equal(state->alerts[0].vgpu, "a");
	assert_string_equal(state->alerts[1].gpu, "");
	assert_int_equal(state->n_offers, 2);
	assert_true(state->offers[0].open);
	assert_false(state->offers[1].open);
	/* an older gover-d does not name the flavour */
	assert_string_equal(state->offers[0].flavor, "default");
	assert_string_equal(state->offers[1].flavor, "large");
	assert_null(host_state_offer_flavor(&state->offers[0], 1));
	assert_string_equal(host_state_offer_flavor(&state->offers[1], 0), "large");
	assert_string_equal(host_state_offer_flavor(&state->offers[1], 1), "small");
	assert_null(host_state_offer_flavor(&state->offers[1], 2));
	assert_string_equal(state->offers[1].held_by, UUID);
	assert_int_equal(state->offers[0].expires_ms, 0);
	assert_int_equal(state->offers[1].expires_ms, 2003);
	host_state_unref(state);
}

TEST(a_wrong_answer_is_rejected_and_named)
{
	static const struct {
		const char *host, *policy, *named;
	} rows[] = {
		{"{}", policy_text, "gpus"},
		{host_text, "{}", "name"},
		{host_text, "{'name':'gover'}", "flavor"},
		{host_text, "{'name':'gover','params':{'flavor':'x'}}", "ttl_s"},
		{host_text, "{'name':'gover','params':{'flavor':'x','ttl_s':-1}}", "ttl_s"},
		{host_text, "{'name':7,'params':{'flavor':'x','ttl_s':1}}", "name"},
		{"{'gpus':[{'name':'../x'}],'vgpus':[],'offers':[],'alerts':[]}", policy_text,
		 "name"},
		{"{'gpus':[],'vgpus':[{'id':'a'}],'offers':[],'alerts':[]}", policy_text, "gpu"},
		{"{'gpus':[],'vgpus':[],'offers':[{'id':'1'}],'alerts':[]}", policy_text, "id"},
		{"{'gpus':[],'vgpus':[],'alerts':[],'offers':[{'id':1,'gpu':'g','flavor':'a',"
		 "'flavors':[{'flavor':'a'},{'flavor':'../b'}]}]}",
		 policy_text, "flavor"},
		{"{'gpus':[],'vgpus':{},'offers':[],'alerts':[]}", policy_text, "vgpus"},
		{"{'gpus':[],'vgpus':[],'offers':[],'alerts':[{'id':1}]}", policy_text, "name"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_state *state = NULL;
		struct err err = {""};

		assert_int_equal(parse(rows[i].host, rows[i].policy, &state, &err), -EPROTO);
		assert_null(state);
		if (!strstr(err.msg, rows[i].named))
			fail_msg("row %zu: '%s' does not name %s", i, err.msg, rows[i].named);
	}
}

TEST(the_last_reference_frees_the_state)
{
	struct host_state *state = NULL, *second;
	struct err err = {""};

	assert_int_equal(parse(host_text, policy_text, &state, &err), 0);
	second = host_state_ref(state);
	assert_null(host_state_unref(state));
	assert_string_equal(second->policy, "gover");
	assert_null(host_state_unref(second)); /* AddressSanitizer finds a leak */
	assert_null(host_state_unref(NULL));
	assert_null(host_state_ref(NULL));
}
