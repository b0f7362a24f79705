/* SPDX-License-Identifier: MIT */
/* gover-ctl/fleet/hosts.h: lists and files of hosts, and the messages about wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/fleet/hosts.h"
#include "tests/unit/temp-file.h"

static void test_a_list_names_each_host_by_its_url(void **state)
{
	struct fleet_hosts hosts;
	struct err err;

	(void)state;
	assert_int_equal(hosts_read("https://gpu1:9788,http://127.0.0.1:9788/", &hosts, &err), 0);
	assert_int_equal(hosts.n, 2);
	assert_string_equal(hosts.hosts[0].name, "gpu1:9788");
	assert_string_equal(hosts.hosts[0].address, "https://gpu1:9788");
	assert_string_equal(hosts.hosts[0].token_file, "");
	assert_string_equal(hosts.hosts[1].name, "127.0.0.1:9788");
	hosts_free(&hosts);
}

static void test_a_file_has_names_addresses_and_tokens(void **state)
{
	struct fleet_hosts hosts;
	struct err err;

	(void)state;
	temp_file_write("# the rack\n\n gpu1\thttps://gpu1:9788  /etc/gover/token\r\n"
			"gpu2 /run/gover/gover.sock\n  # end");
	assert_int_equal(hosts_read(temp_file, &hosts, &err), 0);
	assert_int_equal(hosts.n, 2);
	assert_string_equal(hosts.hosts[0].name, "gpu1");
	assert_string_equal(hosts.hosts[0].address, "https://gpu1:9788");
	assert_string_equal(hosts.hosts[0].token_file, "/etc/gover/token");
	assert_false(hosts_is_socket(&hosts.hosts[0]));
	assert_string_equal(hosts.hosts[1].address, "/run/gover/gover.sock");
	assert_true(hosts_is_socket(&hosts.hosts[1]));
	hosts_free(&hosts);
}

static void test_many_hosts_keep_their_order(void **state)
{
	char *text = calloc(1000, 32);
	struct fleet_hosts hosts;
	size_t used = 0;
	struct err err;

	(void)state;
	for (int i = 0; i < 1000; i++)
		used += (size_t)sprintf(text + used, "h%d http://h%d\n", i, i);
	temp_file_write(text);
	free(text);
	assert_int_equal(hosts_read(temp_file, &hosts, &err), 0);
	assert_int_equal(hosts.n, 1000);
	assert_string_equal(hosts.hosts[0].name, "h0");
	assert_string_equal(hosts.hosts[999].name, "h999");
	hosts_free(&hosts);
}

static void test_wrong_files_are_rejected_with_the_line(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"gpu1\n", ":1: not a host (allowed: NAME ADDRESS [TOKEN-FILE])"},
		{"gpu1 http://a b c\n", ":1: not a host (allowed: NAME ADDRESS [TOKEN-FILE])"},
		{"\ngpu1 gpu1:9788\n",
		 ":2: 'gpu1:9788': not an address (allowed: a URL, or the path of a unix socket)"},
		{"gpu1 http://a\ngpu1 http://b\n", ":2: host gpu1: given twice"},
		{"# nothing\n", ": no hosts"},
		{"", ": no hosts"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char expected[256];
		struct fleet_hosts hosts;
		struct err err;

		temp_file_write(rows[i].text);
		assert_int_equal(hosts_read(temp_file, &hosts, &err), -EINVAL);
		snprintf(expected, sizeof(expected), "%s%s", temp_file, rows[i].message);
		assert_string_equal(err.msg, expected);
	}
}

static void test_wrong_lists_are_rejected(void **state)
{
	static const char *const rows[] = {"http://a,", "http://a,b", "ftp://a",
					   "http://a,http://a", ",http://a"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fleet_hosts hosts;
		struct err err;

		if (hosts_read(rows[i], &hosts, &err) != -EINVAL)
			fail_msg("%s", rows[i]);
	}
}

static void test_long_words_are_rejected(void **state)
{
	char text[2 * CLIENT_PATH_MAX];
	struct fleet_hosts hosts;
	struct err err;

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text, "http://", 7);
	text[HOSTS_NAME_MAX + 7] = '\0';
	assert_int_equal(hosts_read(text, &hosts, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "too long (limit 255 characters)"));
	text[HOSTS_NAME_MAX + 7] = 'a';
	text[CLIENT_PATH_MAX] = '\0';
	assert_int_equal(hosts_read(text, &hosts, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "too long (limit 511 characters)"));
}

static void test_a_missing_file_is_named(void **state)
{
	struct fleet_hosts hosts;
	struct err err;

	(void)state;
	assert_int_equal(hosts_read("/none/such", &hosts, &err), -EINVAL);
	assert_string_equal(err.msg, "--hosts '/none/such': No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_list_names_each_host_by_its_url),
		cmocka_unit_test(test_a_file_has_names_addresses_and_tokens),
		cmocka_unit_test(test_many_hosts_keep_their_order),
		cmocka_unit_test(test_wrong_files_are_rejected_with_the_line),
		cmocka_unit_test(test_wrong_lists_are_rejected),
		cmocka_unit_test(test_long_words_are_rejected),
		cmocka_unit_test(test_a_missing_file_is_named),
	};

	return cmocka_run_group_tests(tests, temp_file_make, temp_file_remove);
}
