/* SPDX-License-Identifier: MIT */
/*
 * Lists in pages: each element appears once and in order, also if an element is removed between two
 * pages. Invalid cursors are rejected.
 */
#include "tests/unit/gover-d/api/test-api.h"

static void add(int gpu, const char *id)
{
	struct contract contract = {.terms = {.initial_cap_pct = 1, .weight = 1}};
	struct vgpu *vgpu = calloc(1, sizeof(*vgpu));

	assert_non_null(vgpu);
	vgpu->contract = contract;
	strcpy(vgpu->contract.id, id);
	strcpy(vgpu->contract.gpu, manager->host.gpus[gpu].config.name);
	host_gpu_insert(&manager->host.gpus[gpu], vgpu);
}

/* Five vGPUs on two GPUs. The second GPU and its vGPUs are not in alphabetical order. */
static int begin(void)
{
	struct host_gpu *second;

	stand_in_begin();
	second = &manager->host.gpus[manager->host.n_gpus++];
	strcpy(second->config.name, "another");

	fake_backend_add(second, &stand_in_ops, &stand_in_gpu);
	strcpy(second->config.backend, "sim");
	second->util_pct = NAN;
	second->traits = (struct gpu_traits){.step_pct = 1, .floor_pct = 1};
	add(0, "v10");
	add(0, "v9");
	add(1, "a1");
	add(1, "a2");
	return 0;
}

static int end(void)
{
	struct host_gpu *second = &manager->host.gpus[1];

	while (second->vgpus) {
		struct vgpu *vgpu = second->vgpus;

		host_gpu_remove(second, vgpu);
		vgpu_free(second, vgpu);
	}
	gpu_io_free(second->io);
	return stand_in_end();
}

FIXTURE(begin, end)

/*
 * Sends the request @line for a page of a list. Appends the ids of the page to @ids, as in "a v9
 * v10 | ". Replaces @line by the request for the next page; "": this was the last page.
 */
static void page(char *line, char *ids, const char *key, const char *name)
{
	json_t *answer = ask_json(line, NULL, 200), *next = json_object_get(answer, "next"), *e;
	char *query = strchr(line, '?');
	size_t i;

	json_array_foreach (json_object_get(answer, key), i, e) {
		json_t *id = json_object_get(e, name);

		if (json_is_string(id))
			sprintf(ids + strlen(ids), "%s ", json_string_value(id));
		else
			sprintf(ids + strlen(ids), "%d ", (int)json_integer_value(id));
	}
	strcat(ids, "| ");
	if (json_is_null(next))
		line[0] = '\0';
	else if (json_is_string(next))
		sprintf(strstr(query, "limit=") + strlen("limit=2"), "&after=%s",
			json_string_value(next));
	else
		sprintf(strstr(query, "limit=") + strlen("limit=2"), "&after=%d",
			(int)json_integer_value(next));
	json_decref(answer);
}

TEST(pages_contain_each_element_once)
{
	static const struct {
		const char *line, *key, *name, *ids;
	} cases[] = {
		{"GET /v1/vgpus?limit=1", "vgpus", "id", "a | v9 | v10 | a1 | a2 | "},
		{"GET /v1/vgpus?limit=2", "vgpus", "id", "a v9 | v10 a1 | a2 | "},
		{"GET /v1/vgpus?limit=3", "vgpus", "id", "a v9 v10 | a1 a2 | "},
		{"GET /v1/vgpus?limit=5", "vgpus", "id", "a v9 v10 a1 a2 | "},
		{"GET /v1/vgpus?gpu=another&limit=1", "vgpus", "id", "a1 | a2 | "},
		{"GET /v1/vgpus?gpu=gpu0&limit=2", "vgpus", "id", "a v9 | v10 | "},
		{"GET /v1/gpus?limit=1", "gpus", "name", "gpu0 | another | "},
		{"GET /v1/gpus?limit=2", "gpus", "name", "gpu0 another | "},
		{"GET /v1/alerts?limit=2", "alerts", "id", "1 2 | 3 | "},
		{"GET /v1/alerts?limit=3", "alerts", "id", "1 2 3 | "},
		{"GET /v1/offers?limit=1", "offers", "id", "1 | "},
	};

	for (int i = 0; i < 3; i++)
		alerts_hold(manager->alerts, ALERT_FOREIGN_WRITE, "gpu0",
			    stand_in_find((const char *[]){"a", "v9", "v10"}[i]), 1, "text");
	alerts_end_tick(manager->alerts, 1, false);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[128], ids[256] = "";

		strcpy(line, cases[i].line);
		for (int n = 0; line[0] && n < 10; n++)
			page(line, ids, cases[i].key, cases[i].name);
		assert_string_equal(ids, cases[i].ids);
	}
}

TEST(a_page_can_continue_after_a_removed_vgpu)
{
	char line[128] = "GET /v1/vgpus?limit=2", ids[256] = "";

	page(line, ids, "vgpus", "id");
	assert_int_equal(ask("DELETE /v1/vgpus/v9", NULL)->status, 204);
	page(line, ids, "vgpus", "id");
	page(line, ids, "vgpus", "id");
	assert_string_equal(ids, "a v9 | v10 a1 | a2 | ");
}

TEST(without_a_limit_the_list_is_complete)
{
	expect_reply("GET /v1/vgpus", NULL, 200, "{'vgpus': [{}, {}, {}, {}, {}], 'next': null}");
	expect_reply("GET /v1/vgpus?after=gpu0/v9", NULL, 200, "{'vgpus': [{}, {}, {}]}");
}

TEST(next_of_decisions_is_null_on_the_last_page)
{
	static const struct {
		const char *line;
		int n, next; /* 0: null */
	} cases[] = {
		{"GET /v1/decisions?after=0&limit=2", 2, 2},
		{"GET /v1/decisions?after=2&limit=2", 1, 0},
		{"GET /v1/decisions?after=1&limit=2", 2, 0},
		{"GET /v1/decisions?after=0&limit=1&vgpu=b", 1, 0},
		{"GET /v1/decisions?limit=2", 2, 0}, /* the newest */
		{"GET /v1/decisions", 3, 0},
	};

	for (int i = 0; i < 3; i++) {
		struct decision d = {
			.ts_ms = 1,
			.kind = DECISION_SET,
			.result = DECISION_NOTED,
			.why = "",
			.numbers = json_object(),
			.moves = json_array(),
		};

		strcpy(d.vgpu, i == 1 ? "b" : "a");
		add_decided(&d);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *answer = ask_json(cases[i].line, NULL, 200);

		assert_int_equal(json_array_size(json_object_get(answer, "decisions")), cases[i].n);
		assert_int_equal(json_integer_value(json_object_get(answer, "next")),
				 cases[i].next);
		json_decref(answer);
	}
}

TEST(an_invalid_cursor_or_limit_is_400)
{
	static const char *const lines[] = {
		"GET /v1/vgpus?after=a",       "GET /v1/vgpus?after=gpu1/a",
		"GET /v1/vgpus?after=gpu0",    "GET /v1/vgpus?after=gpu0/",
		"GET /v1/vgpus?after=gpu0/..", "GET /v1/vgpus?after=gpu/a",
		"GET /v1/gpus?after=gpu1",     "GET /v1/gpus?after=gpu0/a",
		"GET /v1/gpus?after",	       "GET /v1/alerts?after=gpu0",
		"GET /v1/offers?after=-1",     "GET /v1/vgpus?limit=0",
		"GET /v1/gpus?limit=1001",     "GET /v1/offers?limit=all",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_problem(lines[i], NULL, 400, "is invalid");
}
