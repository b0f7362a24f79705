/* SPDX-License-Identifier: MIT */
/* Threads take the hosts in order, one at a time. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "gover-ctl/ctl.h"
#include "gover-ctl/field.h"
#include "gover-ctl/fleet/gather.h"
#include "gover-ctl/fleet/row.h"

#define THREADS_MAX 64
#define VERSION	    "OpenStack-API-Version: placement 1.14" /* the tree of a provider */

struct gather {
	const struct fleet_hosts *hosts;
	const struct gather_options *options;
	json_t **rows; /* NULL: out of memory */
	atomic_size_t next;
	atomic_size_t problems;
};

/* The requests to one host. */
struct visit {
	const struct gather *gather;
	const struct fleet_host *host;
	uint64_t deadline_ns; /* monotonic time */
	struct reply state, policy, fleet;
	json_t *published;
	struct err err;
	bool has_problem;
};

/* Sets the time that is left. Returns false if there is none. */
static bool limit_time(struct visit *v, struct client *client)
{
	uint64_t now_ns = clock_now().mono_ns;

	if (now_ns >= v->deadline_ns) {
		(void)err_fail(&v->err, 0, "no answer within %.3g s",
			       (double)v->gather->options->limit_ms / 1000);
		return false;
	}
	client_set_timeout(client, (long)((v->deadline_ns - now_ns) / NS_PER_MS) + 1);
	return true;
}

static int fetch(struct visit *v, struct client *client, const char *path, struct reply *ret_reply)
{
	struct client_call call = {.method = "GET", .path = path};

	if (!limit_time(v, client))
		return -ETIMEDOUT;
	return client_request(client, &call, ret_reply, &v->err);
}

static int open_host(struct visit *v, struct client **ret_client)
{
	const struct gather_options *options = v->gather->options;
	bool socket = hosts_is_socket(v->host);
	struct ctl_files files = options->files;
	int r;

	if (v->host->token_file[0])
		files.token = v->host->token_file;
	r = ctl_new_client(socket ? v->host->address : NULL, socket ? NULL : v->host->address,
			   &files, ret_client, &v->err);
	if (r == 0) /* the advice about a single daemon does not fit */
		client_set_service(*ret_client, "gover-d");
	return r;
}

static int ask_host(struct visit *v)
{
	struct client *client = NULL;
	int r = open_host(v, &client);

	if (r == 0)
		r = fetch(v, client, "/v1/host", &v->state);
	if (r == 0)
		r = fetch(v, client, "/v1/policy", &v->policy);
	if (r == 0)
		r = fetch(v, client, "/v1/fleet", &v->fleet);
	/* An older gover-d has no such route. */
	if (r == CLIENT_REFUSED && v->fleet.status == 404)
		r = 0;
	client_free(client);
	return r;
}

/* --- Placement --- */

static int fetch_placement(struct visit *v, struct client *client, const char *path,
			   struct reply *ret_reply)
{
	char token[CLIENT_HEADER_MAX + 1];
	const char *const headers[] = {token, VERSION};
	struct client_call call = {.method = "GET",
				   .path = path,
				   .headers = headers,
				   .n_headers = ARRAY_SIZE(headers)};
	int r;

	if (!limit_time(v, client))
		return -ETIMEDOUT;
	snprintf(token, sizeof(token), "X-Auth-Token: %s", v->gather->options->placement_token);
	r = client_request(client, &call, ret_reply, &v->err);
	explicit_bzero(token, sizeof(token));
	return r;
}

static int add_provider(struct visit *v, struct client *client, const char *uuid)
{
	CLEANUP_REPLY struct reply inventories = {0};
	CLEANUP_REPLY struct reply usages = {0};
	char path[CLIENT_PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "/resource_providers/%s/inventories", uuid);
	r = fetch_placement(v, client, path, &inventories);
	snprintf(path, sizeof(path), "/resource_providers/%s/usages", uuid);
	if (r == 0)
		r = fetch_placement(v, client, path, &usages);
	return r == 0 ? row_add_provider(v->published, inventories.json, usages.json) : r;
}

static int add_tree(struct visit *v, struct client *client, const char *root)
{
	CLEANUP_REPLY struct reply tree = {0};
	char path[CLIENT_PATH_MAX], prefix[HOSTS_NAME_MAX + 16];
	json_t *provider;
	size_t i;
	int r;

	snprintf(path, sizeof(path), "/resource_providers?in_tree=%s", root);
	r = fetch_placement(v, client, path, &tree);
	snprintf(prefix, sizeof(prefix), "%s_gover_", v->host->name);
	json_array_foreach (json_object_get(tree.json, "resource_providers"), i, provider) {
		if (r == 0 && strncmp(field_text(provider, "name"), prefix, strlen(prefix)) == 0)
			r = add_provider(v, client, field_text(provider, "uuid"));
	}
	return r;
}

static int ask_placement(struct visit *v)
{
	CLEANUP_REPLY struct reply roots = {0};
	const struct gather_options *options = v->gather->options;
	char path[CLIENT_PATH_MAX];
	struct client *client = NULL;
	const char *root;
	const struct ctl_files files = {.cacert = options->files.cacert};
	int r = ctl_new_client(NULL, options->placement, &files, &client, &v->err);

	if (r == 0)
		client_set_service(client, "Placement");
	snprintf(path, sizeof(path), "/resource_providers?name=%s", v->host->name);
	if (r == 0)
		r = fetch_placement(v, client, path, &roots);
	root = field_text(json_array_get(json_object_get(roots.json, "resource_providers"), 0),
			  "uuid");
	if (r == 0 && !root[0])
		r = err_fail(&v->err, ENOENT, "Placement has no provider %s", v->host->name);
	if (r == 0)
		r = add_tree(v, client, root);
	client_free(client);
	return r;
}

/* --- the threads --- */

static json_t *visit_host(struct gather *gather, const struct fleet_host *host)
{
	struct visit v = {
		.gather = gather,
		.host = host,
		.deadline_ns =
			clock_now().mono_ns + (uint64_t)gather->options->limit_ms * NS_PER_MS,
		.published = json_array(),
	};
	bool answered = ask_host(&v) == 0;
	bool published = answered && gather->options->placement && ask_placement(&v) == 0;
	bool has_problem = !answered || (gather->options->placement && !published);
	const struct row_replies replies = {
		.host = answered ? v.state.json : NULL,
		.policy = v.policy.json,
		.fleet = v.fleet.status == 200 ? v.fleet.json : NULL,
		.published = published ? v.published : NULL,
		.problem = has_problem ? v.err.msg : NULL,
	};
	json_t *row = row_make(host, &replies);

	if (has_problem)
		atomic_fetch_add(&gather->problems, 1);
	json_decref(v.published);
	reply_fini(&v.state);
	reply_fini(&v.policy);
	reply_fini(&v.fleet);
	return row;
}

static void *work(void *userdata)
{
	struct gather *gather = userdata;
	size_t i;

	while ((i = atomic_fetch_add(&gather->next, 1)) < gather->hosts->n)
		gather->rows[i] = visit_host(gather, &gather->hosts->hosts[i]);
	return NULL;
}

static json_t *collect(struct gather *gather)
{
	json_t *list = json_array(), *result;
	int r = list ? 0 : -1;

	for (size_t i = 0; i < gather->hosts->n; i++) {
		if (r == 0)
			r = json_array_append(list, gather->rows[i]);
		json_decref(gather->rows[i]);
	}
	result = r == 0 ? json_pack("{s:O}", "hosts", list) : NULL;
	json_decref(list);
	return result;
}

json_t *gather_rows(const struct fleet_hosts *hosts, const struct gather_options *options,
		    size_t *ret_problems)
{
	struct gather gather = {.hosts = hosts, .options = options};
	pthread_t threads[THREADS_MAX];
	size_t n = 0, wanted = hosts->n < THREADS_MAX ? hosts->n : THREADS_MAX;
	struct client *first = NULL;
	json_t *result = NULL;

	/* libcurl is initialised by the first client, which is not safe in several threads. */
	if (client_new("/", NULL, &first, NULL) < 0)
		return NULL;
	gather.rows = calloc(hosts->n + 1, sizeof(json_t *));
	while (gather.rows && n < wanted && thread_start(&threads[n], work, &gather, "fleet") >= 0)
		n++;
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	if (n > 0)
		result = collect(&gather);
	free(gather.rows);
	client_free(first);
	*ret_problems = gather.problems;
	return result;
}
