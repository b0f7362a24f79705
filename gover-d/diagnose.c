/* SPDX-License-Identifier: MIT */
/* Runs the checks of all backends and of the configuration, and prints what they find. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/finding.h"
#include "base/xalloc.h"
#include "gover-d/config/config.h"
#include "gover-d/diagnose.h"

/* What the checks get; owns the arrays of @host. */
struct input {
	struct gpu_host host;
	const char *used[GPUS_MAX];
	const struct gpu_config *gpus[GPUS_MAX];
	char exe[PATH_MAX];
};

static void add_used(struct input *input, const char *backend)
{
	if (backend && input->host.n_used < GPUS_MAX)
		input->used[input->host.n_used++] = backend;
}

/* Takes the members of @facts, and the backends of @config if the daemon has reported none. */
static int take_facts(struct input *input, json_t *facts, const struct config *config,
		      struct err *reterr)
{
	struct gpu_host *host = &input->host;
	json_t *backends = NULL, *backend;
	int pid = 0, unit = 0, protects = 0, steered = 0;
	json_error_t error;
	size_t i;

	if (facts && json_unpack_ex(facts, &error, 0, "{s?i, s?b, s?s, s?b, s?b, s?o}", "pid", &pid,
				    "unit", &unit, "user", &host->user, "protects_cgroups",
				    &protects, "steered", &steered, "backends", &backends) < 0)
		return err_fail(reterr, EINVAL, "--facts: %s", error.text);
	host->pid = pid;
	host->unit = unit;
	host->protects_cgroups = protects;
	host->steered = steered;
	json_array_foreach (backends, i, backend) {
		add_used(input, json_string_value(backend));
	}
	for (int n = 0; config && n < config->n_gpus; n++) {
		input->gpus[host->n_gpus++] = &config->gpus[n].gpu;
		if (!backends)
			add_used(input, config->gpus[n].gpu.backend);
	}
	return 0;
}

static json_t *encode_config(const struct config *config)
{
	json_t *backends = json_array();

	for (int i = 0; i < config->n_gpus; i++)
		(void)json_array_append_new(backends, json_string(config->gpus[i].gpu.backend));
	return json_pack("{s:s, s:s, s:s, s:o}", "socket", config->socket, "operate_group",
			 config->operate_group, "read_group", config->read_group, "backends",
			 backends);
}

static json_t *run_checks(const struct gpu_host *host)
{
	json_t *list = json_array();
	const struct gpu_ops *ops;

	for (size_t i = 0; (ops = gpu_at(i)); i++)
		for (const struct gpu_check *check = ops->checks; check && check->name; check++) {
			struct finding finding = {.state = FINDING_OK};

			check->run(host, &finding);
			finding_add(list, check->name, &finding);
		}
	return list;
}

static void print_json(json_t *json)
{
	(void)json_dumpf(json, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(json);
}

int diagnose_print(const char *path, const char *facts, struct err *reterr)
{
	const char *search_path = getenv("PATH");
	CLEANUP_FREE struct config *config = xmalloc(sizeof(*config));
	json_t *object = facts ? json_loads(facts, 0, NULL) : NULL, *answer;
	struct input input = {.exe = ""};
	bool valid;
	int r;

	if (facts && !object)
		return err_fail(reterr, EINVAL, "--facts: not a JSON object");
	config_default(config);
	valid = config_load(config, path, NULL) >= 0;
	input.host = (struct gpu_host){.root = "",
				       .search_path = search_path ? search_path : "/bin:/usr/bin",
				       .exe = input.exe,
				       .user = "",
				       .used = input.used,
				       .configured = valid,
				       .gpus = input.gpus};
	if (!realpath("/proc/self/exe", input.exe))
		input.exe[0] = '\0';
	r = take_facts(&input, object, valid ? config : NULL, reterr);
	if (r == 0) {
		answer = json_pack("{s:o, s:o}", "config",
				   valid ? encode_config(config) : json_null(), "checks",
				   run_checks(&input.host));
		print_json(answer);
	}
	json_decref(object);
	return r;
}

/* --- the configuration --- */

static void add_file(void *userdata, const char *file)
{
	(void)json_array_append_new(json_object_get(userdata, "files"), json_string(file));
}

static void add_fault(void *userdata, const char *file, int line, const char *text)
{
	(void)json_array_append_new(json_object_get(userdata, "faults"),
				    json_pack("{s:s?, s:o, s:s}", "file", file, "line",
					      line > 0 ? json_integer(line) : json_null(), "text",
					      text));
}

bool diagnose_print_config(const char *path)
{
	json_t *answer = json_pack("{s:[], s:[]}", "files", "faults");
	const struct config_faults faults = {
		.userdata = answer, .file = add_file, .fault = add_fault};
	int n = config_find_faults(path, &faults);

	print_json(answer);
	return n == 0;
}
