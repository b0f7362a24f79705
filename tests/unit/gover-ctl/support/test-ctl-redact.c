/* SPDX-License-Identifier: MIT */
/* Redaction of a bug report: pseudonyms for names and addresses, removal of secrets. */
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
	json_t *json = json_pack("{s:[{s:s, s:s, s:i, s:{s:s, s:s}}, {s:s, s:s, s:i}, {s:s}]}",
				 "vgpus", "id", "web1", "vm", "db", "initial_cap_pct", 50, "labels",
				 "tenant", "acme-gmbh", "rack", "7", "id", "web10", "vm",
				 "kunde-m\u00fcller", "initial_cap_pct", 20, "vm", "101");

	assert_non_null(redact);
	assert_non_null(json);
	assert_int_equal(redact_learn_json(redact, json), 0);
	json_decref(json);
	return redact;
}

static void names_and_addresses_in_text_become_pseudonyms(void **state)
{
	static const struct {
		const char *text, *wanted;
	} rows[] = {
		{"vGPU web1 and web10.", "vGPU vgpu-1 and vgpu-2."},
		{"web100 webweb1 web1_x", "web100 webweb1 web1_x"},
		{"/sys/fs/cgroup/gover/web1/cgroup.procs",
		 "/sys/fs/cgroup/gover/vgpu-1/cgroup.procs"},
		{"x{vm=\"db\",vgpu=\"web1\"} 7", "x{vm=\"vm-1\",vgpu=\"vgpu-1\"} 7"},
		{"a db (VM db), 7 periods, VM 101.", "a vm-1 (VM vm-1), 7 periods, VM vm-3."},
		{"x{vm=\"101\"} 101\ny 7", "x{vm=\"vm-3\"} 101\ny 7"},
		{"kunde-m\u00fcller!", "vm-2!"},
		{"of acme-gmbh", "of value-1"},
		{"a tenant wants", "a label-1 wants"},
		{"at 12:101:15, 0.101 and 101.5 %", "at 12:101:15, 0.101 and 101.5 %"},
		{"from 192.0.2.17, [2001:db8::5]:443 and 192.0.2.17.",
		 "from addr-1, [addr-2]:443 and addr-1."},
		{"GPU 0000:00:02.0 at 10:20:30", "GPU 0000:00:02.0 at 10:20:30"},
		{"see https://gpu.acme.example:9788/v1", "see https://addr-3/REDACTED"},
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

static void secrets_are_removed_without_redacting_names(void **state)
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
		{"from 192.0.2.17", "from 192.0.2.17"},
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

static void json_keeps_its_structure(void **state)
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

static void assert_redacts(struct redact *redact, const char *text, const char *wanted)
{
	CLEANUP_FREE char *now = redact_text(redact, text);

	assert_string_equal(now, wanted);
}

/* Sections as support_host_config() makes them. */
static void names_in_the_configuration_are_learned(void **state)
{
	struct redact *redact = redact_new(true);
	json_t *config =
		json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s, s:s}]",
			  "section", "daemon", "on_alert", "/opt/acme/page", "section", "gpu",
			  "gpu", "corp-0", "section", "flavor", "flavor", "acme-large", "section",
			  "offer", "flavor", "acme-small", "section", "client", "client",
			  "acme-nova", "subject", "CN=nova,O=acme");

	(void)state;
	assert_int_equal(redact_learn_json(redact, config), 0);
	assert_redacts(
		redact,
		"corp-0 acme-large acme-small acme-nova (CN=nova,O=acme) sim '/opt/acme/page'",
		"gpu-1 flavor-1 flavor-2 client-1 (client-2) sim 'path-1'");
	json_decref(config);
	redact_free(redact);
}

static void names_in_the_audit_are_learned(void **state)
{
	struct redact *redact = redact_new(true);
	json_t *audit =
		json_pack("[{s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:s}, {s:s, s:{s:s, s:s}}]", "who",
			  "client old-nova", "who", "token robot", "path",
			  "/v1/vgpus/old-1?force=true", "who", "root", "path",
			  "/v1/tokens/ops-pager", "who", "uid 1000", "path", "/v1/policy", "path",
			  "/v1/tokens", "after", "name", "grafana-acme", "scope", "read");

	(void)state;
	assert_int_equal(redact_learn_json(redact, audit), 0);
	assert_redacts(redact,
		       "client old-nova; token robot (192.0.2.7): DELETE /v1/vgpus/old-1: 204; "
		       "root; uid 1000; "
		       "ops-pager; grafana-acme",
		       "client client-1; token token-1 (addr-1): DELETE /v1/vgpus/vgpu-1: 204; "
		       "root; uid 1000; "
		       "token-2; token-3");
	assert_int_equal(redact_count(redact, REDACT_TOKEN), 3);
	json_decref(audit);
	redact_free(redact);
}

/* An entry as support_host_journal() makes it. */
static void journal_fields_name_what_the_message_contains(void **state)
{
	struct redact *redact = redact_new(true);
	json_t *entry = json_pack("{s:s, s:s, s:s, s:s}", "message",
				  "steal acme (VM corp-2): acme uses 99 % of 30 %", "vgpu", "acme",
				  "vm", "corp-2", "message_id", "082a15c879ca4256881a6052a9575601");
	json_t *copy;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	assert_int_equal(redact_learn_json(redact, entry), 0);
	copy = redact_json(redact, entry);
	text = json_dumps(copy, JSON_COMPACT);
	assert_string_equal(text, "{\"message\":\"steal vgpu-1 (VM vm-1): vgpu-1 uses 99 % of 30 "
				  "%\",\"vgpu\":\"vgpu-1\",\"vm\":\"vm-1\",\"message_id\":"
				  "\"082a15c879ca4256881a6052a9575601\"}");
	json_decref(copy);
	json_decref(entry);
	redact_free(redact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_addresses_in_text_become_pseudonyms),
		cmocka_unit_test(secrets_are_removed_without_redacting_names),
		cmocka_unit_test(json_keeps_its_structure),
		cmocka_unit_test(names_in_the_configuration_are_learned),
		cmocka_unit_test(names_in_the_audit_are_learned),
		cmocka_unit_test(journal_fields_name_what_the_message_contains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
