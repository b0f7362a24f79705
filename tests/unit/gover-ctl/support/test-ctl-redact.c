/* SPDX-License-Identifier: MIT */
/* What a bug report must not tell is not in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gover-ctl/support/redact.h"

static struct redact *make_redact(bool names)
{
	struct redact *redact = redact_new(names);
	json_t *json = json_pack("{s:[{s:s, s:s, s:i, s:{s:s, s:s}}, {s:s, s:s, s:i}]}", "vgpus",
				 "id", "web1", "vm", "db", "initial_cap_pct", 50, "labels",
				 "tenant", "acme-gmbh", "rack", "7", "id", "web10", "vm",
				 "kunde-m\u00fcller", "initial_cap_pct", 20);

	assert_non_null(redact);
	assert_non_null(json);
	assert_int_equal(redact_learn_json(redact, json), 0);
	json_decref(json);
	return redact;
}

static void names_in_texts_become_pseudonyms(void **state)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"vGPU web1 and web10.", "vGPU vgpu-1 and vgpu-2."},
		{"web100 webweb1 web1_x", "web100 webweb1 web1_x"},
		{"/sys/fs/cgroup/gover/web1/cgroup.procs",
		 "/sys/fs/cgroup/gover/vgpu-1/cgroup.procs"},
		{"x{vm=\"db\",vgpu=\"web1\"} 7", "x{vm=\"vm-1\",vgpu=\"vgpu-1\"} 7"},
		{"a db (VM db), 7 periods, rack=7", "a db (VM vm-1), 7 periods, rack=value-2"},
		{"kunde-m\u00fcller!", "vm-2!"},
		{"of acme-gmbh", "of value-1"},
		{"a tenant wants", "a tenant wants"},
		{"", ""},
	};
	struct redact *redact = make_redact(true);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *text = redact_text(redact, rows[i].text);

		assert_string_equal(text, rows[i].wanted);
	}
	redact_free(redact);
}

static void secrets_go_even_where_names_stay(void **state)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"see https://ops:hunter2@hooks.example.org/T0/B1?key=x now",
		 "see https://REDACTED@hooks.example.org/REDACTED now"},
		{"https://hooks.example.org/services/T0/B1", "https://hooks.example.org/REDACTED"},
		{"http://127.0.0.1:9788?token=abc", "http://127.0.0.1:9788?REDACTED"},
		{"plain https://example.org here", "plain https://example.org here"},
		{"made gvr_Ab-9_zzzzzz for ops", "made gvr_REDACTED for ops"},
		{"Authorization: Bearer abc.def", "Authorization: Bearer REDACTED"},
		{"authorization: basic b3BzOmh1bnRlcjI=", "authorization: basic REDACTED"},
		{"webhook_token = abc\nnext = 1", "webhook_token = REDACTED\nnext = 1"},
		{"Password: \"hunter 2\"", "Password: \"REDACTED 2\""},
		{"api_key=abc, x=1", "api_key=REDACTED, x=1"},
		{"vGPU a: label workload: no such thing, ignoring\nnext",
		 "vGPU a: label REDACTED\nnext"},
		{"web1 (VM db)", "web1 (VM db)"},
	};
	struct redact *redact = make_redact(false);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP_FREE char *text = redact_text(redact, rows[i].text);

		assert_string_equal(text, rows[i].wanted);
	}
	redact_free(redact);
}

static void answers_keep_their_form(void **state)
{
	struct redact *redact = make_redact(true);
	json_t *json = json_pack("{s:s, s:n, s:s, s:i, s:f, s:b, s:{s:s}, s:[{s:s, s:s}], s:s}",
				 "vm", "db", "vgpu", "state", "active", "vgpus", 7, "u_pct", 7.5,
				 "held", 1, "labels", "rack", "7", "moves", "vgpu", "web1", "why",
				 "web1 wants more", "webhook_secret", "x");
	json_t *copy = redact_json(redact, json);
	CLEANUP_FREE char *text = json_dumps(copy, JSON_COMPACT | JSON_REAL_PRECISION(3));

	(void)state;
	assert_string_equal(
		text,
		"{\"vm\":\"vm-1\",\"vgpu\":null,\"state\":\"active\",\"vgpus\":7,\"u_pct\":7."
		"5,\"held\":true,\"labels\":{\"label-2\":\"value-2\"},\"moves\":[{\"vgpu\":"
		"\"vgpu-1\",\"why\":\"vgpu-1 wants more\"}],\"webhook_secret\":\"REDACTED\"}");
	json_decref(copy);
	json_decref(json);
	redact_free(redact);
}

static void who_is_gone_is_learnt_from_the_log(void **state)
{
	struct redact *redact = redact_new(true);
	const char *log =
		"vGPU old-1 was gone; no vGPU needed help (VM alpha.x)\nvGPU old-1.\n"
		"steal acme: acme uses 99 % of 30 %: corp-2 40 -> 35 %, acme 30 -> 35 %\n";
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_non_null(redact);
	assert_int_equal(redact_learn_text(redact, log), 0);
	text = redact_text(redact, log);
	assert_string_equal(text,
			    "vGPU vgpu-3 was gone; no vGPU needed help (VM vm-1)\nvGPU vgpu-3.\n"
			    "steal vgpu-2: vgpu-2 uses 99 % of 30 %: vgpu-1 40 -> 35 %, vgpu-2 30 "
			    "-> 35 %\n");
	assert_int_equal(redact_count(redact, REDACT_VGPU), 3);
	redact_free(redact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_in_texts_become_pseudonyms),
		cmocka_unit_test(secrets_go_even_where_names_stay),
		cmocka_unit_test(answers_keep_their_form),
		cmocka_unit_test(who_is_gone_is_learnt_from_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
