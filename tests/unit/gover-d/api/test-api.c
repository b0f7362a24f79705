/* SPDX-License-Identifier: MIT */
/*
 * Routes: the replies, rejected requests and deferred replies of each route; Accept-Encoding,
 * invalid bodies, audit rows, and times in requests. The daemon is a fake (test-api.h).
 */
#include "tests/unit/gover-d/api/test-api.h"

#include <errno.h>

#include "base/cleanup.h"
#include "gover-d/api/audit.h"
#include "gover-d/api/handler.h"
#include "tests/unit/unit.h"

static void assert_members(json_t *object, const char *names)
{
	CLEANUP_FREE char *list = strdup(names);
	size_t n = 0;

	for (char *name = strtok(list, " "); name; name = strtok(NULL, " "), n++) {
		if (!json_object_get(object, name))
			print_error("%s is missing\n", name);
		assert_non_null(json_object_get(object, name));
	}
	assert_int_equal(json_object_size(object), n);
}

static const char gpu_members[] =
	"name backend mode selling no_sale_reason step_pct floor_pct unit limits_memory share "
	"steers truth sharing capacity_cores round_ms longest_wait_ms host_share_pct vgpus "
	"max_vgpus migrates sum_cap_pct free_pct sum_initial_cap_pct overbooking_ratio util_pct "
	"mean_util_pct load_pct calm_periods telemetry_valid telemetry_age_ms problem source "
	"frozen_since";
static const char vgpu_members[] =
	"id gpu vm cid labels state found initial_cap_pct min_cap_pct target_fps fps_limit weight "
	"burst target_rate rate units mean_rate memory_mib memory_used_mib memory_max_mib flavor "
	"held floor_pct cap_pct expected_cap_pct load_pct util_pct fps fps_age_s frame_p99_ms "
	"frames frame_p50_ms frame_max_ms frame_gpu_ms short overloaded broken e promise cause "
	"counted_since seen_s broken_s broken_time_pct mean_fps cap_error_pct steals_in "
	"steals_out cap_writes last_decision_id created_at held_since attach";
static const char alert_members[] =
	"id name severity gpu vgpu vm instance project raised_at cleared_at acked_at acked_by "
	"silenced text cause next runbook_url";
static const char decision_members[] = "id time gpu kind vgpu donor numbers moves result why";
static const char offer_members[] =
	"id gpu state flavor flavors initial_cap_pct target_fps fundable_pct created_at "
	"expires_at changed_at held_by held_until vgpu reason probation_left_s target_rate";

static int64_t raise_alert(void)
{
	struct instant now = clock_now();

	for (int i = 0; i < 3; i++) {
		alerts_hold(manager->alerts, ALERT_VGPU_MISSING, "gpu0", stand_in_find("a"),
			    now.wall_ms, "vGPU a does not exist");
		alerts_end_tick(manager->alerts, now.wall_ms, false);
	}
	assert_int_equal(alerts_count(manager->alerts), 1);
	return alerts_at(manager->alerts, 0)->id;
}

static void add_decisions(int n)
{
	for (int i = 0; i < n; i++) {
		struct decision decision = {
			.ts_ms = 1000 + i,
			.gpu = "gpu0",
			.kind = (enum decision_kind)POLICY_STEAL,
			.vgpu = "a",
			.donor = "b",
			.result = DECISION_WRITTEN,
			.why = "it was short",
			.numbers = json_pack("{s:f}", "u_pct", 97.5),
			.moves = json_pack("[{s:s,s:i,s:i,s:n}]", "vgpu", i % 2 ? "c" : "b",
					   "from_pct", 50, "to_pct", 45, "read_back_pct"),
		};

		add_decided(&decision);
	}
}

FIXTURE(stand_in_begin, stand_in_end)

TEST(the_host_has_all_members)
{
	json_t *host;

	(void)raise_alert();
	host = ask_json("GET /v1/host", NULL, 200);
	assert_members(host, "version pid uptime_s time ticked_at ready period_ms dry_run ticks "
			     "late_ticks gaps tick_p50_us tick_p99_us gpus vgpus alerts offers "
			     "history fps config");
	assert_members(json_object_get(host, "config"), "read_at restart_keys");
	assert_members(json_array_get(json_object_get(host, "gpus"), 0), gpu_members);
	assert_members(json_array_get(json_object_get(host, "vgpus"), 0), vgpu_members);
	assert_members(json_array_get(json_object_get(host, "alerts"), 0), alert_members);
	assert_members(json_array_get(json_object_get(host, "offers"), 0), offer_members);
	assert_members(json_object_get(host, "history"),
		       "enabled queued written dropped damaged error clock_ahead_s");
	assert_members(json_object_get(host, "fps"),
		       "open unmatched refused over_limit dropped bpf_files bpf_refused bpf_error");
	json_decref(host);
}

TEST(an_invalid_value_is_null)
{
	static const char *const before[] = {"load_pct",     "util_pct",	 "fps",
					     "fps_age_s",    "frame_p99_ms",	 "cid",
					     "frame_p50_ms", "frame_max_ms",	 "frame_gpu_ms",
					     "mean_fps",     "last_decision_id", "broken_time_pct",
					     "cap_error_pct"};
	struct vgpu *vgpu = stand_in_find("a");
	json_t *answer = ask_json("GET /v1/vgpus/a", NULL, 200);

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		assert_true(json_is_null(json_object_get(answer, before[i])));
	json_decref(answer);
	vgpu->row = (struct monitor_row){
		.sample.busy_valid = true,
		.sample.load = 0.4,
		.sample.util = NAN,
		.sample.fps_valid = true,
		.sample.fps = 59.94049,
	};
	expect_reply("GET /v1/vgpus/a", NULL, 200,
		     "{'load_pct': 40.0, 'util_pct': null, 'fps': 59.94}");
}

TEST(numbers_have_no_needless_digits)
{
	stand_in_find("a")->row = (struct monitor_row){.sample.fps_valid = true, .sample.fps = 0.1};
	assert_non_null(strstr(ask("GET /v1/vgpus/a", NULL)->text->data, "\"fps\":0.1,"));
}

TEST(a_vgpu_reports_its_state)
{
	static const struct {
		bool exists, sold;
		const char *state;
	} cases[] = {
		{true, false, "active"},
		{false, false, "missing"},
		{true, true, "probation"},
		{false, false, "missing"},
	};
	struct vgpu *vgpu = stand_in_find("a");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *answer;

		vgpu->device = cases[i].exists ? &device : NULL;
		if (cases[i].sold)
			offers_claim(manager->offers, offers_find(manager->offers, 1), "", "a", 30,
				     clock_now());
		answer = ask_json("GET /v1/vgpus/a", NULL, 200);
		assert_string_equal(json_string_value(json_object_get(answer, "state")),
				    cases[i].state);
		assert_int_equal(json_array_size(json_object_get(json_object_get(answer, "attach"),
								 "cgroup_procs")),
				 cases[i].exists);
		json_decref(answer);
	}
}

TEST(a_vgpu_reports_its_effective_floor)
{
	static const struct {
		int contract_pct, policy_pct, backend_pct, floor_pct;
	} cases[] = {{5, 1, 1, 5}, {0, 1, 1, 1}, {0, 3, 1, 3}, {0, 3, 10, 10}, {5, 1, 10, 10}};
	struct vgpu *vgpu = stand_in_find("a");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char floor[32];

		vgpu->contract.terms.min_cap_pct = cases[i].contract_pct;
		manager->config.params.cap_floor_pct = cases[i].policy_pct;
		manager->host.gpus[0].traits.floor_pct = cases[i].backend_pct;
		snprintf(floor, sizeof(floor), "{'floor_pct': %d}", cases[i].floor_pct);
		expect_reply("GET /v1/vgpus/a", NULL, 200, floor);
	}
}

TEST(each_list_has_its_elements)
{
	static const struct {
		const char *line, *key;
		size_t n;
	} cases[] = {
		{"GET /v1/gpus", "gpus", 1},
		{"GET /v1/vgpus", "vgpus", 1},
		{"GET /v1/vgpus?gpu=gpu0", "vgpus", 1},
		{"GET /v1/alerts", "alerts", 0},
		{"GET /v1/offers", "offers", 1},
		{"GET /v1/decisions", "decisions", 3},
	};

	add_decisions(3);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *answer = ask_json(cases[i].line, NULL, 200);

		assert_int_equal(json_array_size(json_object_get(answer, cases[i].key)),
				 cases[i].n);
		json_decref(answer);
	}
}

TEST(readiness_begins_with_the_first_tick)
{
	assert_string_equal(ask("GET /healthz", NULL)->text->data, "ok\n");
	assert_problem("GET /readyz", NULL, 503, "first tick");
	manager->host.ready = true;
	assert_int_equal(ask("GET /readyz", NULL)->status, 200);
	assert_int_equal(ask("HEAD /v1/host", NULL)->status, 200);
}

TEST(an_unknown_path_is_404)
{
	static const char *const paths[] = {
		"//",		"/v1",		 "/v1/host/",	    "/v1/vgpus/",
		"/v1/vgpus/a/", "/v1/vgpus/a/b", "/v1//vgpus",	    "//v1/host",
		"/v2/host",	"/v1/alerts/1",	 "/v1/alerts//ack", "/healthz/x",
		"/web/",	"/web/none.js"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char line[64];

		snprintf(line, sizeof(line), "GET %s", paths[i]);
		assert_problem(line, NULL, 404, "not found");
	}
	assert_problem("GET /v1/vgpus/none", NULL, 404, "none");
	assert_problem("PATCH /v1/vgpus/none", "{}", 404, "none");
	assert_problem("DELETE /v1/vgpus/none", NULL, 404, "none");
	assert_problem("GET /v1/vgpus?gpu=none", NULL, 404, "none");
	assert_problem("PATCH /v1/gpus/none", "{}", 404, "none");
	assert_problem("POST /v1/alerts/7/ack", NULL, 404, "7");
	assert_problem("POST /v1/alerts/x/ack", NULL, 404, "x");
	assert_problem("DELETE /v1/offers/7", NULL, 404, "7");
	assert_problem("DELETE /v1/offers/99999999999999999999", NULL, 404, "number");
}

TEST(a_wrong_method_is_405_with_the_allowed_ones)
{
	static const struct {
		const char *line, *allow;
	} cases[] = {
		{"POST /v1/host", "GET, HEAD"},
		{"PUT /v1/vgpus", "GET, HEAD, POST"},
		{"POST /v1/vgpus/a", "GET, HEAD, PATCH, DELETE"},
		{"PUT /v1/gpus/gpu0", "GET, HEAD, PATCH"},
		{"GET /v1/offers/1/claim", "POST"},
		{"GET /v1/offers/1", "DELETE"},
		{"DELETE /v1/policy", "GET, HEAD, PATCH"},
		{"OPTIONS /metrics", "GET, HEAD"},
		{"get /healthz", "GET, HEAD"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_problem(cases[i].line, NULL, 405, cases[i].allow);
		assert_string_equal(ask(cases[i].line, NULL)->allow, cases[i].allow);
	}
}

TEST(an_invalid_query_parameter_is_400)
{
	static const struct {
		const char *line, *words;
	} cases[] = {
		{"GET /v1/host?x=1", "x"},
		{"GET /v1/vgpus/a?gpu=gpu0", "gpu"},
		{"GET /v1/alerts?all=true&all=true", "twice"},
		{"GET /v1/alerts?all", "true, false"},
		{"GET /v1/offers?all=maybe", "maybe"},
		{"GET /v1/decisions?limit=0", "1..1000"},
		{"GET /v1/decisions?limit=1001", "1..1000"},
		{"GET /v1/decisions?limit=ten", "ten"},
		{"GET /v1/decisions?after=-1", "after"},
		{"GET /v1/decisions?vgpu=%2F", "vgpu"},
		{"GET /v1/decisions?a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1", "a"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_problem(cases[i].line, NULL, 400, cases[i].words);
}

TEST(a_new_vgpu_is_201_with_its_location)
{
	const struct api_reply *reply;
	json_t *vgpu;

	reply = ask("POST /v1/vgpus",
		    "{\"id\":\"b\",\"gpu\":\"gpu0\",\"vm\":\"vm-b\",\"cid\":7,"
		    "\"labels\":{\"k\":\"v\"},\"initial_cap_pct\":40,"
		    "\"min_cap_pct\":5,\"target_fps\":59.5,\"fps_limit\":62.5,\"weight\":2,"
		    "\"burst\":true}");
	assert_int_equal(reply->status, 201);
	assert_string_equal(reply->location, "/v1/vgpus/b");
	vgpu = json_loads(reply->text->data, 0, NULL);
	assert_members(vgpu, vgpu_members);
	json_decref(vgpu);
	assert_int_equal(manager->values.cid, 7);
	assert_string_equal(manager->values.vm, "vm-b");
	assert_int_equal(manager->values.terms.initial_cap_pct, 40);
	assert_int_equal(manager->values.terms.min_cap_pct, 5);
	assert_true(manager->values.terms.target_fps == 59.5);
	assert_true(manager->values.terms.weight == 2);
	assert_true(manager->values.fps_limit == 62.5);
	assert_true(manager->values.terms.burst);
}

TEST(a_field_without_a_value_has_a_default)
{
	assert_int_equal(ask("POST /v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":40}")->status,
			 201);
	assert_string_equal(manager->values.vm, "");
	assert_int_equal(manager->values.cid, 0);
	assert_int_equal(manager->values.terms.min_cap_pct, 0);
	assert_true(manager->values.terms.target_fps == 0);
	assert_true(manager->values.terms.weight == 1);
	assert_false(manager->values.terms.burst);
	assert_int_equal(json_object_size(stand_in_find("b")->contract.labels), 0);
}

TEST(only_the_given_fields_are_changed)
{
	static const struct {
		const char *body;
		unsigned int fields;
	} cases[] = {
		{"{}", 0},
		{"{\"target_fps\":30}", CONTRACT_TARGET_FPS},
		{"{\"held\":true,\"held_cap_pct\":40}", CONTRACT_HELD | CONTRACT_HELD_CAP},
		{"{\"held\":false}", CONTRACT_HELD},
		{"{\"cid\":null,\"vm\":\"\"}", CONTRACT_CID | CONTRACT_VM},
		{"{\"labels\":{}}", CONTRACT_LABELS},
		{"{\"initial_cap_pct\":50.0,\"min_cap_pct\":1e1}",
		 CONTRACT_INITIAL_CAP | CONTRACT_MIN_CAP},
		{"{\"fps_limit\":0}", CONTRACT_FPS_LIMIT},
		{"{\"weight\":0.5,\"burst\":false}", CONTRACT_WEIGHT | CONTRACT_BURST},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_decref(ask_json("PATCH /v1/vgpus/a", cases[i].body, 200));
		assert_int_equal(manager->fields, cases[i].fields);
	}
	assert_true(stand_in_find("a")->contract.terms.target_fps == 30);
}

TEST(a_removed_vgpu_is_404)
{
	assert_int_equal(ask("DELETE /v1/vgpus/a", NULL)->status, 204);
	assert_null(ask("DELETE /v1/vgpus/a", NULL)->location[0] ? "location" : NULL);
	assert_problem("GET /v1/vgpus/a", NULL, 404, "a");
}

TEST(a_gpu_that_sells_nothing_says_why)
{
	struct host_gpu *gpu = &manager->host.gpus[0];

	gpu->telemetry_valid = true;
	expect_reply("GET /v1/gpus", NULL, 200, "{'gpus': [{'no_sale_reason': null}]}");
	gpu->mode = GPU_MODE_FROZEN;
	expect_reply(
		"GET /v1/gpus", NULL, 200,
		"{'gpus': [{'selling': 'on', 'no_sale_reason': 'GPU gpu0 is in mode frozen'}]}");
	gpu->selling = false;
	expect_reply(
		"GET /v1/gpus", NULL, 200,
		"{'gpus': [{'selling': 'off', 'no_sale_reason': 'selling on GPU gpu0 is off'}]}");
	gpu->selling = true;
	gpu->mode = GPU_MODE_OBSERVE;
	gpu->traits.observes = true;
	expect_reply("GET /v1/gpus", NULL, 200,
		     "{'gpus': [{'no_sale_reason': 'GPU gpu0 is only observed'}]}");
}

TEST(mode_and_selling_of_a_gpu_can_be_changed)
{
	json_t *gpu = ask_json("PATCH /v1/gpus/gpu0", "{\"mode\":\"frozen\"}", 200);

	assert_members(gpu, gpu_members);
	expect_json(gpu, "{'mode': 'frozen'}");
	assert_true(manager->mode_given && !manager->selling_given);
	json_decref(gpu);
	expect_reply("PATCH /v1/gpus/gpu0", "{\"selling\":\"off\"}", 200, "{'selling': 'off'}");
	assert_true(!manager->mode_given && manager->selling_given);
	assert_problem("PATCH /v1/gpus/gpu0", "{\"mode\":\"fast\"}", 422, "observe");
	assert_problem("PATCH /v1/gpus/gpu0", "{\"selling\":\"maybe\"}", 422, "on, off");
	assert_problem("PATCH /v1/gpus/gpu0", "{\"selling\":true}", 422, "selling: true");
}

TEST(each_condition_has_a_status_and_an_errno_is_500)
{
	static const struct {
		int result;
		unsigned int status;
	} cases[] = {
		{CONTROL_E_INVALID, 422},
		{CONTROL_E_NOT_FOUND, 404},
		{CONTROL_E_EXISTS, 409},
		{CONTROL_E_DOES_NOT_FIT, 409},
		{CONTROL_E_TOO_MANY, 409},
		{CONTROL_E_IN_USE, 409},
		{CONTROL_E_OFFER_OVER, 409},
		{CONTROL_E_OFFER_HELD, 409},
		{CONTROL_E_FOREIGN_CAP, 409},
		{CONTROL_E_UNSUPPORTED, 409},
		{CONTROL_E_DRY_RUN, 409},
		{CONTROL_E_NOT_STORED, 507},
		{CONTROL_E_KEY_USED, 422},
		{CONTROL_E_GONE, 410},
		{CONTROL_N_ERRORS, 500},
		/* A system error is not the fault of the client, so the status is never 4xx. */
		{-EINVAL, 500},
		{-ENOENT, 500},
		{-ENOSPC, 500},
		{-EACCES, 500},
		{-EIO, 500},
		{-ENOMEM, 500},
	};
	static const struct {
		const char *line, *body;
	} requests[] = {
		{"POST /v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":40}"},
		{"PATCH /v1/vgpus/a", "{}"},
		{"DELETE /v1/vgpus/a", NULL},
		{"PATCH /v1/gpus/gpu0", "{}"},
		{"POST /v1/offers/1/claim", "{\"id\":\"b\"}"},
		{"POST /v1/offers/1/hold", "{\"holder\":\"k\",\"ttl_s\":5}"},
		{"DELETE /v1/offers/1", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases) * ARRAY_SIZE(requests); i++) {
		manager->fail = cases[i / ARRAY_SIZE(requests)].result;
		assert_problem(requests[i % ARRAY_SIZE(requests)].line,
			       requests[i % ARRAY_SIZE(requests)].body,
			       cases[i / ARRAY_SIZE(requests)].status, "wanted by the test");
	}
	assert_int_equal(manager->changes, 0);
}

TEST(a_duplicate_id_or_unknown_gpu_is_named)
{
	assert_problem("POST /v1/vgpus", "{\"id\":\"a\",\"initial_cap_pct\":40}", 409, "vGPU a");
	assert_problem("POST /v1/vgpus", "{\"id\":\"b\",\"gpu\":\"x\",\"initial_cap_pct\":4}", 422,
		       "no GPU x");
}

TEST(an_offer_is_claimed_once)
{
	json_t *sale;

	sale = ask_json("POST /v1/offers/1/claim", "{\"id\":\"new\",\"vm\":\"vm-new\"}", 200);
	assert_members(sale, "offer vgpu");
	assert_members(json_object_get(sale, "offer"), offer_members);
	assert_members(json_object_get(sale, "vgpu"), vgpu_members);
	assert_int_equal(manager->fields, CONTRACT_ID | CONTRACT_VM);
	manager->fail = CONTROL_E_REPEATED;
	expect_reply("POST /v1/offers/1/claim", "{\"id\":\"new\"}", 200, "{'vgpu': {'id': 'new'}}");
	manager->fail = 0;
	json_decref(sale);
	assert_problem("POST /v1/offers/1/claim", "{\"id\":\"b\",\"initial_cap_pct\":50}", 422,
		       "initial_cap_pct");
	assert_problem("POST /v1/offers/1/claim", "{}", 422, "id: required");
	assert_problem("POST /v1/offers/2/claim", "{\"id\":\"b\"}", 404, "2");
}

TEST(ended_offers_are_listed_with_all)
{
	assert_int_equal(ask("DELETE /v1/offers/1", NULL)->status, 204);
	expect_reply("GET /v1/offers", NULL, 200, "{'offers': []}");
	expect_reply("GET /v1/offers?all=true", NULL, 200, "{'offers': [{}]}");
}

TEST(an_alert_is_acknowledged)
{
	char line[64];
	json_t *alert;

	snprintf(line, sizeof(line), "POST /v1/alerts/%d/ack", (int)raise_alert());
	alert = ask_json(line, NULL, 200);
	assert_members(alert, alert_members);
	assert_true(json_is_string(json_object_get(alert, "acked_at")));
	expect_json(alert, "{'vm': 'vm-a'}");
	json_decref(alert);
}

TEST(decisions_come_in_pages)
{
	static const struct {
		const char *query;
		int first, n, next_after; /* first: id of the first decision; 0: none */
	} cases[] = {
		{"", 51, 100, 150},
		{"?limit=10", 141, 10, 150},
		{"?after=0", 1, 100, 100},
		{"?after=100", 101, 50, 150},
		{"?after=148&limit=1000", 149, 2, 150},
		{"?after=150", 0, 0, 150},
		{"?after=9000", 0, 0, 150},
		{"?vgpu=c&limit=3", 146, 3, 150},
		{"?vgpu=c&after=0&limit=2", 2, 2, 4},
		{"?vgpu=a&limit=1000", 1, 150, 150},
		{"?vgpu=b&limit=1000", 1, 150, 150},
		{"?vgpu=none", 0, 0, 150},
	};

	add_decisions(150);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[64];
		json_t *answer, *list;

		snprintf(line, sizeof(line), "GET /v1/decisions%s", cases[i].query);
		answer = ask_json(line, NULL, 200);
		list = json_object_get(answer, "decisions");
		assert_int_equal(json_array_size(list), cases[i].n);
		assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "id")),
				 cases[i].first);
		assert_int_equal(json_integer_value(json_object_get(answer, "next_after")),
				 cases[i].next_after);
		if (cases[i].n)
			assert_members(json_array_get(list, 0), decision_members);
		json_decref(answer);
	}
}

TEST(the_policy_lists_its_changed_parameters)
{
	json_t *answer = ask_json("GET /v1/policy", NULL, 200);
	json_t *params = json_object_get(answer, "params");

	assert_members(answer, "name params file differs policies");
	expect_json(answer, "{'differs': []}");
	assert_true(json_is_number(json_object_get(params, "overload_pct")));
	assert_true(json_is_boolean(json_object_get(params, "paper_mode")));
	assert_true(json_is_number(json_object_get(json_object_get(answer, "file"), "ttl_s")));
	json_decref(answer);
	expect_reply("PATCH /v1/policy", "{\"overload_pct\":90}", 200,
		     "{'differs': ['overload_pct']}");
	assert_problem("PATCH /v1/policy", "{\"no_such\":1}", 422, "no_such");
}

TEST(a_reply_is_reused_until_the_state_changes)
{
	static const char *const lines[] = {"GET /v1/host", "GET /v1/vgpus", "GET /metrics"};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct api_text *text = api_text_ref(ask(lines[i], NULL)->text);

		assert_ptr_equal(ask(lines[i], NULL)->text, text);
		assert_ptr_equal(ask("HEAD /v1/host", NULL)->text == text, i == 0);
		manager->generation++;
		assert_ptr_not_equal(ask(lines[i], NULL)->text, text);
		api_text_unref(text);
		text = api_text_ref(ask(lines[i], NULL)->text);
		tick_api();
		assert_ptr_not_equal(ask(lines[i], NULL)->text, text);
		api_text_unref(text);
		text = api_text_ref(ask(lines[i], NULL)->text);
		json_decref(ask_json("PATCH /v1/vgpus/a", "{\"target_fps\":30}", 200));
		assert_ptr_not_equal(ask(lines[i], NULL)->text, text);
		api_text_unref(text);
	}
}

/* --- deferred replies --- */

static int n_answered;

static void count_answer(struct api_request *request)
{
	assert_null(request->deferred);
	n_answered++;
}

static struct api_request request_to(const char *method, const char *path, const char *body)
{
	n_answered = 0;
	return (struct api_request){
		.method = method,
		.path = path,
		.principal = {.name = "root", .scope = ACCESS_OPERATE},
		.content_type = "application/json; charset=utf-8",
		.body = body,
		.body_length = strlen(body),
		.answered = count_answer,
	};
}

static struct api_request sale(void)
{
	return request_to("POST", "/v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":40}");
}

TEST(a_change_is_answered_after_it_is_on_disk)
{
	struct api_request request = sale();

	api_serve(api, &request);
	assert_non_null(request.deferred);
	assert_null(stand_in_find("b"));
	assert_int_equal(n_answered, 0);
	stand_in_save(0);
	assert_non_null(stand_in_find("b"));
	assert_int_equal(n_answered, 1);
	assert_int_equal(request.reply.status, 201);
	assert_string_equal(request.reply.location, "/v1/vgpus/b");
	api_request_fini(&request);
}

TEST(a_change_that_is_not_on_disk_is_507)
{
	struct api_request request = sale();

	api_serve(api, &request);
	stand_in_save(-EROFS);
	assert_int_equal(n_answered, 1);
	assert_int_equal(request.reply.status, 507);
	assert_string_equal(request.reply.type, "application/problem+json");
	assert_non_null(strstr(request.reply.text->data, strerror(EROFS)));
	assert_string_equal(request.reply.location, "");
	assert_null(stand_in_find("b"));
	api_request_fini(&request);
}

TEST(a_save_that_cannot_start_is_507_immediately)
{
	struct api_request request = sale();

	manager->save_result = -ENOMEM;
	api_serve(api, &request);
	assert_null(request.deferred);
	assert_int_equal(request.reply.status, 507);
	api_request_fini(&request);
}

TEST(a_closed_request_gets_no_reply)
{
	struct api_request request = sale();

	api_serve(api, &request);
	api_request_fini(&request);
	memset(&request, 0xff, sizeof(request));
	stand_in_save(0);
	assert_int_equal(n_answered, 0);
}

static struct api_request change_of_a(const char *body)
{
	return request_to("PATCH", "/v1/vgpus/a", body);
}

TEST(the_condition_of_a_change_holds_when_it_is_made)
{
	struct api_request first = change_of_a("{\"target_fps\":10}");
	struct api_request second = change_of_a("{\"target_fps\":20}");
	struct api_request third = change_of_a("{\"target_fps\":30}");
	char tag[API_ETAG_MAX];

	strcpy(tag, ask("GET /v1/vgpus/a", NULL)->etag);
	first.if_match = second.if_match = tag;
	api_serve(api, &first);
	api_serve(api, &second);
	api_serve(api, &third);
	assert_non_null(second.deferred);
	assert_non_null(third.deferred);
	stand_in_save(0);
	assert_int_equal(n_answered, 3);
	assert_int_equal(first.reply.status, 200);
	assert_int_equal(second.reply.status, 412);
	assert_int_equal(third.reply.status, 200);
	assert_true(stand_in_find("a")->contract.terms.target_fps == 30);
	assert_int_equal(manager->changes, 2);
	api_request_fini(&first);
	api_request_fini(&second);
	api_request_fini(&third);
}

TEST(a_waiting_change_of_a_closed_request_is_not_made)
{
	struct api_request first = change_of_a("{\"target_fps\":10}");
	struct api_request second = change_of_a("{\"target_fps\":20}");

	api_serve(api, &first);
	api_serve(api, &second);
	api_request_fini(&second);
	memset(&second, 0xff, sizeof(second));
	stand_in_save(0);
	assert_int_equal(n_answered, 1);
	assert_true(stand_in_find("a")->contract.terms.target_fps == 10);
	api_request_fini(&first);
	/* a request that still waits when the daemon ends */
	first = change_of_a("{\"target_fps\":30}");
	second = change_of_a("{\"target_fps\":40}");
	api_serve(api, &first);
	api_serve(api, &second);
	api_request_fini(&first);
	api_request_fini(&second);
}

TEST(an_invalid_idempotency_key_is_400)
{
	static char long_key[129];
	static const struct {
		const char *key;
		unsigned int status;
	} cases[] = {
		{"", 400}, {"two words", 400}, {"\xc3\xa9", 400}, {long_key, 400}, {"k-1", 200},
	};

	memset(long_key, 'k', sizeof(long_key) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct api_request request =
			request_to("POST", "/v1/offers/1/claim", "{\"id\":\"b\"}");

		request.idempotency_key = cases[i].key;
		api_serve(api, &request);
		stand_in_save(0);
		assert_int_equal(request.reply.status, cases[i].status);
		api_request_fini(&request);
	}
	assert_string_equal(manager->key, "root k-1");
}

/* --- Accept-Encoding, and the two forms of embedded files --- */

TEST(only_gzip_without_a_weight_selects_the_compressed_file)
{
	static const struct {
		const char *accept;
		bool gzip;
	} rows[] = {
		{NULL, false},
		{"", false},
		{"gzip", true},
		{"GZip", true},
		{"gzip, deflate, br, zstd", true},
		{"br,gzip", true},
		{" ,\t, gzip\t,,", true},
		{"br;q=0.1, gzip", true},
		{"*", false},
		{"gzip;q=0", false},
		{"gzip ;q=1", false},
		{"x-gzip", false},
		{"gzipped", false},
		{"br;gzip", false},
		{"identity", false},
		{"gzip deflate", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ask_accept_encoding = rows[i].accept;
		if ((ask("GET /", NULL)->encoding != NULL) != rows[i].gzip)
			fail_msg("%s", rows[i].accept);
		ask_accept_encoding = NULL;
	}
}

TEST(each_form_of_a_file_has_its_own_etag)
{
	static const char *const paths[] = {"/", "/web/main.js", "/openapi.json"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char line[64], plain_tag[API_ETAG_MAX];
		const struct api_reply *reply;
		size_t plain_size;

		snprintf(line, sizeof(line), "GET %s", paths[i]);
		reply = ask(line, NULL);
		assert_true(reply->varies);
		assert_null(reply->encoding);
		plain_size = reply->fixed_size;
		strcpy(plain_tag, reply->etag);
		ask_accept_encoding = "br, gzip";
		reply = ask(line, NULL);
		ask_accept_encoding = NULL;
		assert_string_equal(reply->encoding, "gzip");
		assert_true(reply->varies);
		assert_string_not_equal(reply->etag, plain_tag);
		assert_true(reply->fixed_size < plain_size);
		assert_memory_equal(reply->fixed, "\x1f\x8b", 2);
	}
}

/* Returns the status of GET / with an Accept-Encoding and an If-None-Match. */
static unsigned int status_with(const char *accept, const char *if_none_match,
				char tag[API_ETAG_MAX])
{
	struct api_request request = {
		.method = "GET",
		.path = "/",
		.accept_encoding = accept,
		.if_none_match = if_none_match,
	};
	unsigned int status;

	api_serve(api, &request);
	status = request.reply.status;
	assert_true(request.reply.varies);
	if (status == 304) /* a 304 has no body, and so no coding */
		assert_null(request.reply.encoding);
	strcpy(tag, request.reply.etag);
	api_request_fini(&request);
	return status;
}

TEST(an_etag_is_current_only_for_its_form)
{
	char plain[API_ETAG_MAX], packed[API_ETAG_MAX], tag[API_ETAG_MAX], both[64];

	assert_int_equal(status_with(NULL, NULL, plain), 200);
	assert_int_equal(status_with("gzip", NULL, packed), 200);
	assert_int_equal(status_with(NULL, plain, tag), 304);
	assert_string_equal(tag, plain);
	assert_int_equal(status_with("gzip", packed, tag), 304);
	assert_string_equal(tag, packed);
	assert_int_equal(status_with("gzip", plain, tag), 200);
	assert_string_equal(tag, packed);
	assert_int_equal(status_with(NULL, packed, tag), 200);
	snprintf(both, sizeof(both), "\"x\", W/%s, %s", plain, packed);
	assert_int_equal(status_with("gzip", both, tag), 304);
	assert_int_equal(status_with(NULL, both, tag), 304);
	assert_int_equal(status_with(NULL, "*", tag), 304);
}

/* --- invalid bodies: the message contains the field and the value --- */

TEST(a_body_that_is_not_an_object_is_400)
{
	static const struct {
		const char *body, *words;
	} cases[] = {
		{"", "not JSON: line 1, column 0"},
		{"{", "line 1"},
		{"{\n\"id\": }", "line 2"},
		{"not json", "line 1"},
		{"{\"id\":\"b\"} x", "line 1"},
		{"{'id':'b'}", "line 1"},
		{"{\"initial_cap_pct\":NaN}", "line 1"},
		{"{\"initial_cap_pct\":0x10}", "line 1"},
		{"{\"initial_cap_pct\":+1}", "line 1"},
		{"{\"id\":\"b\",\"id\":\"c\"}", "duplicate"},
		{"{\"id\":\"b\\u0000\"}", "line 1"},
		{"{\"id\":\"\xff\"}", "line 1"},
		{"[]", "not a JSON object"},
		{"7", "not a JSON object"},
		{"null", "not a JSON object"},
		{"\"text\"", "not a JSON object"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_problem("POST /v1/vgpus", cases[i].body, 400, cases[i].words);
		assert_problem("PATCH /v1/vgpus/a", cases[i].body, 400, cases[i].words);
		assert_problem("PATCH /v1/policy", cases[i].body, 400, cases[i].words);
	}
	assert_int_equal(manager->changes, 0);
}

TEST(an_invalid_value_is_422_and_quoted)
{
	static const char whole[] = " is not allowed (allowed: a whole number 1..100)";
	static const struct {
		const char *field, *value, *shown;
	} cases[] = {
		{"initial_cap_pct", "0",
		 "initial_cap_pct: 0 is not allowed (allowed: a whole number 1..100)"},
		{"initial_cap_pct", "-1", "initial_cap_pct: -1 is"},
		{"initial_cap_pct", "101", "initial_cap_pct: 101 is"},
		{"initial_cap_pct", "1.5", "initial_cap_pct: 1.5 is"},
		{"initial_cap_pct", "\"ten\"", "initial_cap_pct: \"ten\" is"},
		{"initial_cap_pct", "null", "initial_cap_pct: null is"},
		{"initial_cap_pct", "true", "initial_cap_pct: true is"},
		{"initial_cap_pct", "[50]", "initial_cap_pct: [50] is"},
		{"initial_cap_pct", "1e300", whole},
		{"initial_cap_pct", "99999999999999999999", "too big"},
		{"initial_cap_pct", "1e400", "overflow"},
		{"held_cap_pct", "0", whole},
		{"held_cap_pct", "100.5", whole},
		{"min_cap_pct", "-1", "a whole number 0..100"},
		{"min_cap_pct", "101", "a whole number 0..100"},
		{"target_fps", "-1", "a number 0..10000"},
		{"target_fps", "10001", "a number 0..10000"},
		{"target_fps", "\"60\"", "target_fps: \"60\" is"},
		{"weight", "0", "weight: 0 is"},
		{"fps_limit", "1000.5", "fps_limit: 1000.5 is"},
		{"fps_limit", "-1", "fps_limit: -1 is"},
		{"weight", "101", "weight: 101 is"},
		{"burst", "1", "burst: 1 is not allowed (allowed: true or false)"},
		{"burst", "\"on\"", "true or false"},
		{"held", "null", "true or false"},
		{"cid", "2",
		 "cid: 2 is not allowed (allowed: a whole number 3..4294967294, or null)"},
		{"cid", "4294967295", "cid: 4294967295 is"},
		{"cid", "\"7\"", "cid: \"7\" is"},
		{"vm", "7", "vm: 7 is"},
		{"vm", "null", "vm: null is"},
		{"vm", "\"a\\nb\"", "no control characters"},
		{"vm", "\"a\\u007fb\"", "no control characters"},
		{"labels", "[]", "labels: [] is"},
		{"labels", "null", "labels: null is"},
		{"labels", "{\"k\":1}", "labels: {\"k\":1} is"},
		{"labels", "{\"\":\"v\"}", "keys of 1 to 63"},
		{"labels", "{\"a\\tb\":\"v\"}", "no control characters"},
		{"no_such", "1", "no_such: unknown field (allowed: "},
		{"id", "\"b\"", "id: unknown field"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char body[128];

		snprintf(body, sizeof(body), "{\"%s\":%s}", cases[i].field, cases[i].value);
		assert_problem("PATCH /v1/vgpus/a", body, 422, cases[i].shown);
	}
	assert_int_equal(manager->changes, 0);
}

#define TEN "0123456789"

TEST(an_invalid_id_is_422)
{
	static const char *const ids[] = {"\"\"",
					  "\".a\"",
					  "\"-a\"",
					  "\"a b\"",
					  "\"a/b\"",
					  "\"../x\"",
					  "\"\xc3\xa9\"",
					  "7",
					  "null",
					  "{}",
					  "\"" TEN TEN TEN TEN TEN TEN "0123\""};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		char body[160];

		snprintf(body, sizeof(body), "{\"id\":%s,\"initial_cap_pct\":50}", ids[i]);
		assert_problem("POST /v1/vgpus", body, 422, "id: ");
	}
	assert_int_equal(manager->changes, 0);
}

TEST(a_missing_required_field_is_422)
{
	assert_problem("POST /v1/vgpus", "{}", 422, "id: required (allowed: 1 to 63");
	assert_problem("POST /v1/vgpus", "{\"id\":\"b\"}", 422,
		       "initial_cap_pct: required (allowed: a whole number 1..100)");
	assert_problem("POST /v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":5,\"held\":true}", 422,
		       "held");
}

/* Writes a JSON string that contains the character @c @n times. */
static void make_text(char *text, char c, size_t n)
{
	text[0] = '"';
	memset(text + 1, c, n);
	strcpy(text + 1 + n, "\"");
}

TEST(texts_and_labels_are_limited)
{
	static char body[16384], text[512];
	size_t n;

	make_text(text, 'v', VM_MAX - 1);
	snprintf(body, sizeof(body), "{\"vm\":%s}", text);
	json_decref(ask_json("PATCH /v1/vgpus/a", body, 200));
	make_text(text, 'v', VM_MAX);
	snprintf(body, sizeof(body), "{\"vm\":%s}", text);
	assert_problem("PATCH /v1/vgpus/a", body, 422, "vm: ");

	make_text(text, 'k', 63);
	snprintf(body, sizeof(body), "{\"labels\":{%s:\"\"}}", text);
	json_decref(ask_json("PATCH /v1/vgpus/a", body, 200));
	make_text(text, 'k', 64);
	snprintf(body, sizeof(body), "{\"labels\":{%s:\"\"}}", text);
	assert_problem("PATCH /v1/vgpus/a", body, 422, "labels: ");

	make_text(text, 'v', 255);
	snprintf(body, sizeof(body), "{\"labels\":{\"k\":%s}}", text);
	json_decref(ask_json("PATCH /v1/vgpus/a", body, 200));
	make_text(text, 'v', 256);
	snprintf(body, sizeof(body), "{\"labels\":{\"k\":%s}}", text);
	assert_problem("PATCH /v1/vgpus/a", body, 422, "labels: ");

	for (int labels = LABELS_MAX; labels <= LABELS_MAX + 1; labels++) {
		n = (size_t)snprintf(body, sizeof(body), "{\"labels\":{");
		for (int i = 0; i < labels; i++)
			n += (size_t)snprintf(body + n, sizeof(body) - n, "%s\"k%d\":\"v\"",
					      i ? "," : "", i);
		snprintf(body + n, sizeof(body) - n, "}}");
		assert_int_equal(ask("PATCH /v1/vgpus/a", body)->status,
				 labels == LABELS_MAX ? 200 : 422);
	}
}

TEST(a_body_with_another_content_type_is_415)
{
	static const struct {
		const char *type;
		unsigned int status;
	} cases[] = {
		{NULL, 415},
		{"", 415},
		{"text/plain", 415},
		{"application/jsonx", 415},
		{"application/x-www-form-urlencoded", 415},
		{"application/json", 200},
		{"Application/JSON;charset=utf-8", 200},
		{"application/merge-patch+json", 200},
		{"application/merge-patch", 415},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct api_request request = change_of_a("{}");

		request.content_type = cases[i].type;
		api_serve(api, &request);
		stand_in_save(0);
		assert_int_equal(request.reply.status, cases[i].status);
		api_request_fini(&request);
	}
}

TEST(only_a_patch_may_be_a_merge_patch)
{
	const struct api_reply *reply;

	ask_type = "application/merge-patch+json";
	reply = ask("POST /v1/vgpus", "{\"id\":\"b\",\"initial_cap_pct\":5}");
	assert_int_equal(reply->status, 415);
	assert_string_equal(reply->headers[0].name, "Accept");
	assert_string_equal(reply->headers[0].value, "application/json");
	reply = ask("PATCH /v1/vgpus/a", "{\"target_fps\":null,\"labels\":{\"tier\":null}}");
	assert_int_equal(reply->status, 200);
	assert_float_equal(stand_in_find("a")->contract.terms.target_fps, 0, 0);
	ask_type = "application/json";
}

TEST(a_coded_body_is_415)
{
	const struct api_reply *reply;

	ask_content_encoding = "gzip";
	reply = ask("PATCH /v1/vgpus/a", "{}");
	assert_int_equal(reply->status, 415);
	assert_string_equal(reply->headers[0].name, "Accept-Encoding");
	ask_content_encoding = "identity";
	assert_int_equal(ask("PATCH /v1/vgpus/a", "{}")->status, 200);
	ask_content_encoding = NULL;
}

TEST(a_long_value_is_quoted_in_part)
{
	static char body[40000], text[30000];
	json_t *problem;

	make_text(text, 'v', sizeof(text) - 3);
	snprintf(body, sizeof(body), "{\"initial_cap_pct\":%s}", text);
	problem = ask_json("PATCH /v1/vgpus/a", body, 422);
	assert_in_range(json_string_length(json_object_get(problem, "detail")), 100, 400);
	assert_non_null(strstr(json_string_value(json_object_get(problem, "detail")),
			       "... is not allowed"));
	json_decref(problem);
}

/* A xorshift generator: every run of the test sends the same random bytes. */
static uint32_t next_random(void)
{
	static uint32_t x = 2463534242u;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x;
}

TEST(garbage_is_rejected_without_partial_changes)
{
	static const char good[] =
		"{\"id\":\"b\",\"gpu\":\"gpu0\",\"vm\":\"v\",\"cid\":7,\"labels\":"
		"{\"a\":\"b\"},\"initial_cap_pct\":40,\"target_fps\":5e1,"
		"\"weight\":2,\"burst\":true}";
	static const char letters[] = "{}[]\",:0123456789eE+-.\\utrfalsn \xff\xc3";
	int accepted = 0, rejected = 0;

	for (int round = 0; round < 4000; round++) {
		char body[sizeof(good)];
		unsigned int status;

		strcpy(body, good);
		for (uint32_t k = next_random() % 4; k > 0; k--)
			body[next_random() % (sizeof(good) - 1)] =
				letters[next_random() % (sizeof(letters) - 1)];
		body[next_random() % 2 ? sizeof(good) - 1 : next_random() % sizeof(good)] = '\0';
		status = ask("POST /v1/vgpus", body)->status;
		if (status == 201) {
			char line[128];

			snprintf(line, sizeof(line), "DELETE /v1/vgpus/%s", manager->values.id);
			assert_int_equal(ask(line, NULL)->status, 204);
			accepted++;
		} else {
			assert_true(status == 400 || status == 409 || status == 422);
			rejected++;
		}
		assert_int_equal(manager->host.gpus[0].n_vgpus, 1);
	}
	assert_true(accepted > 100 && rejected > 1000);
}

/* --- audit rows: only the changed fields are recorded, and they fit into the row --- */

static const struct {
	const char *before, *after; /* NULL: the object does not exist */
	const char *was, *became;
} audits[] = {
	{"{\"a\": 1, \"b\": 2}", "{\"a\": 1, \"b\": 3}", "{\"b\":2}", "{\"b\":3}"},
	{"{\"a\": 1}", "{\"a\": 1}", "{}", "{}"},
	{"{\"a\": 1}", "{\"b\": 1}", "{\"a\":1}", "{\"b\":1}"},
	{"{\"a\": {\"x\": 1}}", "{\"a\": {\"x\": 1, \"y\": 2}}", "{\"a\":{\"x\":1}}",
	 "{\"a\":{\"x\":1,\"y\":2}}"},
	{NULL, "{\"a\": 1}", "", "{\"a\":1}"},
	{"{\"a\": 1}", NULL, "{\"a\":1}", ""},
	{NULL, NULL, "", ""},
};

TEST(only_changed_fields_are_recorded)
{
	char was[64], became[64];

	for (size_t i = 0; i < ARRAY_SIZE(audits); i++) {
		json_t *before = audits[i].before ? json_loads(audits[i].before, 0, NULL) : NULL;
		json_t *after = audits[i].after ? json_loads(audits[i].after, 0, NULL) : NULL;

		api_audit_differ(before, after, was, became, sizeof(was));
		assert_string_equal(was, audits[i].was);
		assert_string_equal(became, audits[i].became);
	}
}

TEST(long_values_are_shortened)
{
	char was[40], became[40], name[64];
	json_t *many = json_object();

	api_audit_differ(json_pack("{s:s, s:i}", "long",
				   "12345678901234567890123456789012345678901234567890", "b", 1),
			 NULL, was, became, sizeof(was));
	assert_string_equal(was, "{\"long\":\"...\",\"b\":1}");
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "a-name-of-some-length-%d", i);
		(void)json_object_set_new(many, name, json_integer(i));
	}
	api_audit_differ(NULL, many, was, became, sizeof(was));
	assert_string_equal(became, "{}");
}

/* --- the times in requests --- */

#define BEGIN_MS INT64_C(1700000000000) /* 2023-11-14T22:13:20Z */

TEST(a_time_is_parsed_strictly)
{
	static const struct {
		const char *text;
		int64_t wall_ms; /* expected time; -1: the text is rejected */
	} cases[] = {
		{"0", 0},
		{"1700000000", BEGIN_MS},
		{"1700000000.25", BEGIN_MS + 250},
		{"2023-11-14T22:13:20Z", BEGIN_MS},
		{"2023-11-14t22:13:20.5z", BEGIN_MS + 500},
		{"2023-11-14T22:13:20.123456Z", BEGIN_MS + 123},
		{"2023-11-14T23:13:20+01:00", BEGIN_MS},
		{"2023-11-14T23:13:20 01:00", BEGIN_MS}, /* '+' in a URL is a space */
		{"2023-11-14T17:43:20-04:30", BEGIN_MS},
		{"2024-02-29T00:00:00Z", INT64_C(1709164800000)},
		{"2016-12-31T23:59:60Z", INT64_C(1483228799000)},
		{"", -1},
		{"now", -1},
		{"-1", -1},
		{"1e300", -1},
		{"nan", -1},
		{"2023-11-14", -1},
		{"2023-11-14T22:13:20", -1},
		{"2023-11-14 22:13:20Z", -1},
		{"2023-11-14T22:13Z", -1},
		{"2023-11-14T22:13:20.Z", -1},
		{"2023-11-14T22:13:20Zx", -1},
		{"2023-02-29T00:00:00Z", -1},
		{"2023-13-01T00:00:00Z", -1},
		{"2023-00-01T00:00:00Z", -1},
		{"2023-01-01T24:00:00Z", -1},
		{"2023-1-1T00:00:00Z", -1},
		{"1969-12-31T23:59:59Z", -1},
		{"1970-01-01T00:00:00+00:01", -1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t wall_ms = -1;
		int r = api_time_parse(cases[i].text, &wall_ms);

		if (wall_ms != cases[i].wall_ms)
			print_error("\"%s\"\n", cases[i].text);
		assert_int_equal(r, cases[i].wall_ms < 0 ? -EINVAL : 0);
		assert_int_equal(wall_ms, cases[i].wall_ms);
	}
}
