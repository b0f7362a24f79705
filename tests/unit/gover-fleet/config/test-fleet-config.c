/* SPDX-License-Identifier: MIT */
/* The configuration of gover-fleet: files, rules about several keys, the path of the secret. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-fleet/config/fleet-config.h"
#include "tests/unit/temp-file.h"
#include "tests/unit/unit.h"

#define STACK "[cloud]\nkind = openstack\n"

FIXTURE_ONCE(temp_file_make, temp_file_remove)

TEST(files_are_accepted_or_explained)
{
	static const struct {
		const char *text, *problem; /* NULL: accepted */
	} rows[] = {
		{"", NULL},
		{"[fleet]\nhost = node-1\non_failure = closed\nhook_timeout_s = 60\n", NULL},
		{"[fleet]\nhold_s = 600\n", NULL},
		{"[fleet]\nhold_s = 601\n", "1..600"},
		{"[libvirt]\nuri =\n", NULL},
		{STACK "auth = none\nplacement_url = http://127.0.0.1:8778\n", NULL},
		{STACK "auth_url = https://k/v3\nusername = gover\nproject = service\n"
		       "secret_file = openstack\n",
		 NULL},
		{STACK "auth = application_credential\nauth_url = https://k/v3\n"
		       "application_credential_id = 1a\nsecret_file = /etc/gover/secret\n",
		 NULL},
		{"[migrate]\nby = libvirt\nto_uri = qemu+tls://b/system\n", NULL},
		{"[fleet]\non_failure = maybe\n", "open or closed"},
		{"[fleet]\nhook_timeout_s = 0\n", "1..60 s"},
		{"[fleet]\nhost = a b\n", "host"},
		{"[cloud]\nkind = azure\n", "openstack or none"},
		{"[cloud]\nauth_url = ftp://k\n", "auth_url"},
		{"[cloud]\npassword = x\n", "no key"},
		{STACK, "[cloud] auth_url: required with auth = password"},
		{STACK "auth_url = https://k/v3\nusername = gover\nproject = service\n",
		 "[cloud] secret_file: required"},
		{STACK "auth = none\n", "[cloud] placement_url: required with auth = none"},
		{STACK "auth = application_credential\nauth_url = https://k/v3\n",
		 "application_credential_id: required"},
		{"[fleet]\nhost =\n" STACK "auth = none\nplacement_url = http://p\n",
		 "[fleet] host: required"},
		{STACK "auth = none\nplacement_url = http://p\n[migrate]\nby = nova\n",
		 "[cloud] compute_url: required"},
		{STACK "auth = none\nplacement_url = http://p\ncompute_url = http://c\n"
		       "[migrate]\nby = nova\n",
		 NULL},
		{"[migrate]\nby = nova\n", "needs [cloud] kind = openstack"},
		{"[migrate]\nby = libvirt\n", "[migrate] to_uri: required"},
		{"[elsewhere]\n", "unknown section"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fleet_config config;
		struct err err = {""};
		int r;

		fleet_config_default(&config);
		temp_file_write(rows[i].text);
		r = fleet_config_load(&config, temp_file, &err);
		if (!rows[i].problem && r < 0)
			fail_msg("row %zu: %s", i, err.msg);
		if (rows[i].problem && (r != -EINVAL || !strstr(err.msg, rows[i].problem) ||
					!strstr(err.msg, temp_file)))
			fail_msg("row %zu: %d '%s'", i, r, err.msg);
	}
}

TEST(a_rejected_file_changes_nothing)
{
	struct fleet_config config, before;
	struct err err = {""};

	fleet_config_default(&config);
	before = config;
	temp_file_write("[fleet]\nhook_timeout_s = 9\n[migrate]\nby = nova\n");
	assert_int_equal(fleet_config_load(&config, temp_file, &err), -EINVAL);
	assert_int_equal(config.hook_timeout_s, before.hook_timeout_s);
	assert_int_equal(fleet_config_load(&config, "/nonexistent/file", &err), -ENOENT);
}

TEST(the_printed_configuration_is_read_back)
{
	struct fleet_config config, again;
	struct err err = {""};
	char *text = NULL, *text2 = NULL;
	size_t length;
	FILE *out;

	fleet_config_default(&config);
	temp_file_write("[fleet]\nhost = node-1\non_failure = closed\n" STACK
			"auth = none\nplacement_url = http://p:8778\ncompute_url = http://c:8774\n"
			"[migrate]\nby = nova\n");
	assert_int_equal(fleet_config_load(&config, temp_file, &err), 0);
	assert_false(fleet_config_fails_open(&config));
	assert_true(fleet_config_has_cloud(&config));
	out = open_memstream(&text, &length);
	fleet_config_print(&config, out);
	assert_int_equal(fclose(out), 0);
	temp_file_write(text);
	fleet_config_default(&again);
	assert_int_equal(fleet_config_load(&again, temp_file, &err), 0);
	out = open_memstream(&text2, &length);
	fleet_config_print(&again, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, text2);
	free(text);
	free(text2);
}

TEST(a_secret_is_a_file_or_a_credential)
{
	struct fleet_config config;
	struct err err = {""};
	char path[256];

	fleet_config_default(&config);
	strcpy(config.cloud.secret_file, "/etc/gover/secret");
	assert_int_equal(fleet_config_secret_path(&config.cloud, path, sizeof(path), &err), 0);
	assert_string_equal(path, "/etc/gover/secret");
	strcpy(config.cloud.secret_file, "openstack");
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
	assert_int_equal(fleet_config_secret_path(&config.cloud, path, sizeof(path), &err),
			 -ENOENT);
	assert_non_null(strstr(err.msg, "openstack"));
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/run/credentials/x", 1), 0);
	assert_int_equal(fleet_config_secret_path(&config.cloud, path, sizeof(path), &err), 0);
	assert_string_equal(path, "/run/credentials/x/openstack");
	assert_int_equal(fleet_config_secret_path(&config.cloud, path, 8, &err), -ENAMETOOLONG);
}
