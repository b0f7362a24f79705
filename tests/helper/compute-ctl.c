/* SPDX-License-Identifier: MIT */
/*
 * compute-ctl SOCKET VERB...: sends control requests to gover-arbiter and prints the replies.
 *   add GROUP [weight=N] [cap=PCT] [guarantee=PCT] [memory=BYTES]    prints the index
 *   remove|set INDEX [weight=N|cap=PCT|guarantee=PCT|memory=BYTES]
 *   discipline NAME; slice NS
 *   list        one line for each tenant: "index=N group=G clients=N busy_ns=N ..."
 *   device      one line
 * Exits with 1 and prints the error if the arbiter has answered with one.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compute/channel/control.h"

#define LIMIT_MS    5000
#define TENANTS_MAX 1100

static struct compute_control control = COMPUTE_CONTROL_NULL;

static void fail(const char *what, int error)
{
	fprintf(stderr, "compute-ctl: %s: %s\n", what, strerrorname_np(error));
	exit(1);
}

static const char *value_of(char **words, const char *name)
{
	size_t n = strlen(name);

	for (; *words; words++)
		if (strncmp(*words, name, n) == 0 && (*words)[n] == '=')
			return *words + n + 1;
	return NULL;
}

static uint64_t number_of(char **words, const char *name, uint64_t usual)
{
	const char *value = value_of(words, name);

	return value ? strtoull(value, NULL, 10) : usual;
}

static void call(struct compute_request *request)
{
	struct compute_reply reply;
	int r = compute_control_call(&control, request, LIMIT_MS, &reply);

	if (r < 0)
		fail("no reply", -r);
	if (reply.error != 0)
		fail("error", (int)reply.error);
	if (request->verb == COMPUTE_ADD)
		printf("%u\n", reply.tenant[0].index);
}

static void set(uint32_t index, char **words)
{
	static const struct {
		const char *name;
		enum compute_verb verb;
	} rows[] = {
		{"weight", COMPUTE_SET_WEIGHT},
		{"cap", COMPUTE_SET_CAP},
		{"guarantee", COMPUTE_SET_GUARANTEE},
		{"memory", COMPUTE_SET_MEMORY},
	};
	struct compute_request request;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = number_of(words, rows[i].name, 0);

		if (!value_of(words, rows[i].name))
			continue;
		compute_control_make_request(rows[i].verb, 0, &request);
		request.tenant = index;
		if (rows[i].verb == COMPUTE_SET_WEIGHT)
			request.weight = (uint32_t)value;
		else if (rows[i].verb == COMPUTE_SET_CAP)
			request.cap_pct = (uint32_t)value;
		else if (rows[i].verb == COMPUTE_SET_GUARANTEE)
			request.guarantee_pct = (uint32_t)value;
		else
			request.memory_max_bytes = value;
		call(&request);
	}
}

static void print_tenant(const struct compute_tenant *t)
{
	static const char *const states[] = {"idle", "waiting", "running"};

	printf("index=%u group=%s state=%s clients=%u weight=%u cap=%u guarantee=%u memory=%" PRIu64
	       " units=%" PRIu64 " busy_ns=%" PRIu64 " granted_ns=%" PRIu64 " waited_ns=%" PRIu64
	       " build_ns=%" PRIu64 " submissions=%" PRIu64 " refused=%" PRIu64 " whole=%" PRIu64
	       " lost=%" PRIu64 "\n",
	       t->index, t->id, states[t->state], t->clients, t->weight, t->cap_pct,
	       t->guarantee_pct, t->memory_bytes, t->units, t->busy_ns, t->granted_ns, t->waited_ns,
	       t->build_ns, t->submissions, t->memory_refused, t->kernels_whole, t->leases_lost);
}

static void list(bool tenants)
{
	static struct compute_tenant all[TENANTS_MAX];
	struct compute_device device;
	unsigned int n = 0;
	int r = compute_control_list(&control, LIMIT_MS, all, TENANTS_MAX, &device, &n);

	if (r < 0)
		fail("list", -r);
	for (unsigned int i = 0; tenants && i < n; i++)
		print_tenant(&all[i]);
	if (!tenants)
		printf("name=%s discipline=%s slice_ns=%u tenants=%u clients=%u busy_ns=%" PRIu64
		       " now_ns=%" PRIu64 "\n",
		       device.name, device.discipline, device.slice_ns, device.tenants,
		       device.clients, device.busy_ns, device.now_ns);
}

static int run(const char *verb, char **words)
{
	struct compute_request request;

	if (strcmp(verb, "list") == 0 || strcmp(verb, "device") == 0) {
		list(verb[0] == 'l');
		return 0;
	}
	if (!words[0])
		return 2;
	if (strcmp(verb, "set") == 0) {
		set((uint32_t)strtoul(words[0], NULL, 10), words + 1);
		return 0;
	}
	if (strcmp(verb, "add") == 0) {
		compute_control_make_request(COMPUTE_ADD, 0, &request);
		(void)snprintf(request.id, sizeof(request.id), "%s", words[0]);
		request.weight = (uint32_t)number_of(words, "weight", 100);
		request.cap_pct = (uint32_t)number_of(words, "cap", 0);
		request.guarantee_pct = (uint32_t)number_of(words, "guarantee", 0);
		request.memory_max_bytes = number_of(words, "memory", COMPUTE_MEMORY_NO_LIMIT);
	} else if (strcmp(verb, "remove") == 0) {
		compute_control_make_request(COMPUTE_REMOVE, 0, &request);
		request.tenant = (uint32_t)strtoul(words[0], NULL, 10);
	} else if (strcmp(verb, "discipline") == 0) {
		compute_control_make_request(COMPUTE_SET_DISCIPLINE, 0, &request);
		(void)snprintf(request.id, sizeof(request.id), "%s", words[0]);
	} else if (strcmp(verb, "slice") == 0) {
		compute_control_make_request(COMPUTE_SET_SLICE, 0, &request);
		request.slice_ns = (uint32_t)strtoul(words[0], NULL, 10);
	} else {
		return 2;
	}
	call(&request);
	return 0;
}

int main(int argc, char **argv)
{
	char path[COMPUTE_CONTROL_PATH_MAX];
	int r;

	if (argc < 3)
		return 2;
	r = compute_control_path(argv[1], path);
	if (r == 0)
		r = compute_control_open(&control, path);
	if (r < 0)
		fail(argv[1], -r);
	r = run(argv[2], argv + 3);
	compute_control_close(&control);
	return r;
}
