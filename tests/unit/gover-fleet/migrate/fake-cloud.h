/* SPDX-License-Identifier: MIT */
/* Runs tests/fleet/fake-nova.py for the tests of one program, and reads what it has recorded. */
#ifndef TESTS_UNIT_GOVER_FLEET_MIGRATE_FAKE_CLOUD_H
#define TESTS_UNIT_GOVER_FLEET_MIGRATE_FAKE_CLOUD_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/http/client.h"
#include "gover-fleet/cloud/keystone.h"
#include "tests/unit/quoted-json.h"
#include "tests/unit/unit.h"

#define FAKE_SERVER "aaaaaaaa-0000-4000-8000-000000000001"
#define FAKE_OTHER  "aaaaaaaa-0000-4000-8000-000000000002"

static char fake_folder[] = "/tmp/gover-fake-nova.XXXXXX";
static char fake_socket[64], fake_url[64];
static pid_t fake_pid;
static int fake_stdin;
static struct client *fake_client; /* of this test; Nova has its own */

static inline void fake_run(int input, int output)
{
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	execlp("python3", "python3", "tests/fleet/fake-nova.py", fake_socket, (char *)NULL);
	_exit(127);
}

/* The setup of a group of tests: starts the program. Returns -1 if it does not start. */
static inline int fake_start(void)
{
	int input[2], output[2], port = 0;
	FILE *answer;

	if (!mkdtemp(fake_folder) || pipe2(input, O_CLOEXEC) < 0 || pipe2(output, O_CLOEXEC) < 0)
		return -1;
	snprintf(fake_socket, sizeof(fake_socket), "%s/gover.sock", fake_folder);
	fake_pid = fork();
	if (fake_pid == 0)
		fake_run(input[0], output[1]);
	close(input[0]);
	close(output[1]);
	fake_stdin = input[1];
	answer = fdopen(output[0], "r");
	if (fscanf(answer, "%d", &port) != 1)
		return -1;
	fclose(answer);
	snprintf(fake_url, sizeof(fake_url), "http://127.0.0.1:%d", port);
	return client_new(NULL, fake_url, &fake_client, NULL);
}

/* The teardown of the group. */
static inline int fake_stop(void)
{
	close(fake_stdin);
	waitpid(fake_pid, NULL, 0);
	client_free(fake_client);
	(void)unlink(fake_socket);
	(void)rmdir(fake_folder);
	return 0;
}

/* Sets the behaviour: a JSON object with members of the class Behaviour, in single quotes. */
static inline void fake_set(const char *quoted)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct client_call call = {.method = "POST", .path = "/_set"};
	json_t *body = quoted_json(quoted);
	struct err err;

	call.body = body;
	if (client_request(fake_client, &call, &reply, &err) != 0)
		fail_msg("%s: %s", quoted, err.msg);
	json_decref(body);
}

/* Returns the requests since fake_set(), which the caller frees. */
static inline json_t *fake_log(void)
{
	struct client_call call = {.method = "GET", .path = "/_log"};
	struct reply reply = {0};
	struct err err;
	json_t *log;

	if (client_request(fake_client, &call, &reply, &err) != 0)
		fail_msg("%s", err.msg);
	log = json_incref(json_object_get(reply.json, "log"));
	reply_fini(&reply);
	return log;
}

/* Returns the number of requests with this method whose path contains @part. */
static inline int fake_count(const char *method, const char *part)
{
	json_t *log = fake_log(), *entry;
	size_t i;
	int n = 0;

	json_array_foreach (log, i, entry) {
		const char *m = json_string_value(json_object_get(entry, "method"));
		const char *path = json_string_value(json_object_get(entry, "path"));

		n += strcmp(m, method) == 0 && strstr(path, part) != NULL;
	}
	json_decref(log);
	return n;
}

/* Keystone without authentication, so that no further service is needed. */
static inline struct keystone *fake_new_keystone(int timeout_ms)
{
	struct fleet_config_cloud config = {.auth = "none"};
	struct keystone *keystone = NULL;

	snprintf(config.placement_url, sizeof(config.placement_url), "%s", fake_url);
	snprintf(config.compute_url, sizeof(config.compute_url), "%s", fake_url);
	assert_int_equal(keystone_new(&config, timeout_ms, &keystone, NULL), 0);
	return keystone;
}

#endif
