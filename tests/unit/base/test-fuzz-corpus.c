/* SPDX-License-Identifier: MIT */
/*
 * Runs each fuzz target on each file of its corpus, without libFuzzer, so that an input that once
 * broke a parser is tested again. A failed FUZZ_CHECK() ends this program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

#include "base/file.h"
#include "tests/unit/unit.h"

#define FUZZ_CORPUS
#include "tests/fuzz/fuzz-limit.c"
#include "tests/fuzz/fuzz-accelerator.c"
#include "tests/fuzz/fuzz-arbiter.c"
#include "tests/fuzz/fuzz-cap-journal.c"
#include "tests/fuzz/fuzz-config.c"
#include "tests/fuzz/fuzz-contracts.c"
#include "tests/fuzz/fuzz-igt.c"
#include "tests/fuzz/fuzz-fdinfo.c"
#define feed feed_messages
#include "tests/fuzz/fuzz-message.c"
#undef feed
#include "tests/fuzz/fuzz-page.c"
#include "tests/fuzz/fuzz-parse.c"
#include "tests/fuzz/fuzz-query.c"
#include "tests/fuzz/fuzz-request.c"
#define run  run_statement
#define load load_rows
#include "tests/fuzz/fuzz-rows.c"
#undef run
#undef load
#include "tests/fuzz/fuzz-scenario.c"
#include "tests/fuzz/fuzz-sysfs.c"
#include "tests/fuzz/fuzz-tokens.c"
#include "tests/fuzz/fuzz-trace.c"
#include "tests/fuzz/fuzz-time-arg.c"
#include "tests/fuzz/fuzz-workload.c"
#include "tests/fuzz/fuzz-compute-message.c"
#include "tests/fuzz/fuzz-compute-page.c"
#include "tests/fuzz/fuzz-slice.c"
#include "tests/fuzz/fuzz-placement.c"
#include "tests/fuzz/fuzz-domain-xml.c"

#define CORPUS	     "tests/fuzz/corpus"
#define INPUT_MAX    (1024 * 1024)
#define CORPUS_FILES 5 /* at least */

static struct target { /* not const, because cmocka needs a pointer to non-const data */
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
} targets[] = {
	{"limit", fuzz_limit},
	{"cap-journal", fuzz_cap_journal},
	{"config", fuzz_config},
	{"contracts", fuzz_contracts},
	{"igt", fuzz_igt},
	{"fdinfo", fuzz_fdinfo},
	{"message", fuzz_message},
	{"page", fuzz_page},
	{"parse", fuzz_parse},
	{"query", fuzz_query},
	{"request", fuzz_request},
	{"trace", fuzz_trace},
	{"time-arg", fuzz_time_arg},
	{"workload", fuzz_workload},
	{"scenario", fuzz_scenario},
	{"tokens", fuzz_tokens},
	{"sysfs", fuzz_sysfs},
	{"rows", fuzz_rows},
	{"accelerator", fuzz_accelerator},
	{"arbiter", fuzz_arbiter},
	{"compute-message", fuzz_compute_message},
	{"compute-page", fuzz_compute_page},
	{"slice", fuzz_slice},
	{"placement", fuzz_placement},
	{"domain-xml", fuzz_domain_xml},
};

static void replay(const struct target *target, const char *file)
{
	CLEANUP_FREE char *bytes = NULL;
	char path[PATH_MAX];
	size_t length;

	snprintf(path, sizeof(path), CORPUS "/%s/%s", target->name, file);
	assert_int_equal(file_read(path, INPUT_MAX, &bytes, &length), 0);
	fprintf(stderr, "%s\n", path); /* the last printed path is the path of the failed input */
	assert_int_equal(target->run((const uint8_t *)bytes, length), 0);
}

static void test_corpus(void **state)
{
	const struct target *target = *state;
	char path[PATH_MAX];
	struct dirent *entry;
	int files = 0;
	DIR *folder;

	snprintf(path, sizeof(path), CORPUS "/%s", target->name);
	folder = opendir(path);
	if (!folder)
		fail_msg("%s: cannot be opened (tests must run in the root of the source tree)",
			 path);
	assert_int_equal(target->run((const uint8_t *)"", 0), 0);
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.') {
			replay(target, entry->d_name);
			files++;
		}
	closedir(folder);
	assert_true(files >= CORPUS_FILES);
}

static void test_every_corpus_has_its_target(void **state)
{
	DIR *folder = opendir(CORPUS);
	struct dirent *entry;
	size_t found = 0;

	(void)state;
	assert_non_null(folder);
	while ((entry = readdir(folder)))
		for (size_t i = 0; entry->d_name[0] != '.'; i++) {
			if (i == ARRAY_SIZE(targets))
				fail_msg("%s: no such target", entry->d_name);
			if (strcmp(targets[i].name, entry->d_name) == 0) {
				found++;
				break;
			}
		}
	closedir(folder);
	assert_int_equal(found, ARRAY_SIZE(targets));
}

int main(void)
{
	struct CMUnitTest tests[ARRAY_SIZE(targets) + 1] = {
		cmocka_unit_test(test_every_corpus_has_its_target),
	};

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		tests[i + 1] = (struct CMUnitTest){
			.name = targets[i].name,
			.test_func = test_corpus,
			.initial_state = &targets[i],
		};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
