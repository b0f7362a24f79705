/* SPDX-License-Identifier: MIT */
/*
 * Routes: the replies, rejected requests and deferred replies of each route. A stand-in replaces
 * the daemon (test-api.h).
 */
#include "gover-d/api/handler.h"
#include "tests/unit/gover-d/api/test-api.h"

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
	"name backend mode selling step_pct floor_pct unit limits_memory share steers truth "
	"sharing capacity_cores round_ms longest_wait_ms host_share_pct vgpus max_vgpus migrates "
	"sum_cap_pct free_pct sum_initial_cap_pct overbooking_ratio util_pct mean_util_pct "
	"load_pct calm_periods telemetry_valid telemetry_age_ms problem source";
static const char vgpu_members[] =
	"id gpu vm cid labels state found initial_cap_pct min_cap_pct target_fps fps_limit weight "
	"burst target_rate rate units mean_rate memory_mib memory_used_mib memory_max_mib flavor "
	"held floor_pct cap_pct expected_cap_pct load_pct util_pct fps fps_age_s frame_p99_ms "
	"frames frame_p50_ms frame_max_ms frame_gpu_ms short overloaded broken e promise cause "
	"counted_since seen_s broken_s broken_time_pct mean_fps cap_error_pct steals_in "
	"steals_out cap_writes last_decision_id created_at attach";
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

		assert_non_null(decisions_add(manager->decisions, &decision));
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
			     "history fps");
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
		.busy_valid = true,
		.load = 0.4,
		.util = NAN,
		.fps_valid = true,
		.fps = 59.94049,
	};
	expect_reply("GET /v1/vgpus/a", NULL, 200,
		     "{'load_pct': 40.0, 'util_pct': null, 'fps': 59.94}");
}

TEST(numbers_have_no_needless_digits)
{
	stand_in_find("a")->row = (struct monitor_row){.fps_valid = true, .fps = 0.1};
	assert_non_null(strstr(ask("GET /v1/vgpus/a", NULL)->text->data, "\"fps\":0.1,"));
}

TEST(a_vgpu_reports_its_state)
{
	static const struct {
		bool exists, newcomer;
		const char *state;
	} cases[] = {
		{true, false, "active"},
		{true, true, "probation"},
		{false, false, "missing"},
		{false, true, "missing"},
	};
	struct vgpu *vgpu = stand_in_find("a");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *answer;

		vgpu->device = cases[i].exists ? &device : NULL;
		vgpu->newcomer = cases[i].newcomer;
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
		json_t *answer;

		vgpu->contract.terms.min_cap_pct = cases[i].contract_pct;
		manager->config.params.cap_floor_pct = cases[i].policy_pct;
		manager->host.gpus[0].traits.floor_pct = cases[i].backend_pct;
		answer = ask_json("GET /v1/vgpus/a", NULL, 200);
		assert_int_equal(json_integer_value(json_object_get(answer, "floor_pct")),
				 cases[i].floor_pct);
		json_decref(answer);
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
	expect_reply("POST /v1/offers/1/claim", "{\"id\":\"other\"}", 200,
		     "{'vgpu': {'id': 'new'}}");
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
		api_tick(api);
		assert_ptr_not_equal(ask(lines[i], NULL)->text, text);
		api_text_unref(text);
		text = api_text_ref(ask(lines[i], NULL)->text);
		json_decref(ask_json("PATCH /v1/vgpus/a", "{\"target_fps\":30}", 200));
		assert_ptr_not_equal(ask(lines[i], NULL)->text, text);
		api_text_unref(text);
	}
}
