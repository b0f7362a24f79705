/* SPDX-License-Identifier: MIT */
/*
 * Prints what really happened on the device double: one line for the device, for each tenant and
 * for each client, with values as NAME=VALUE. Busy times include the part of a launch that runs.
 * With options it injects a fault first. With --watch it prints the state, then "end", for
 * each line of standard input, so that a test can measure without starting a program each time.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/double/store.h"

#define LABEL "double-truth"

static void print_tally(const struct device_tally *tally, uint64_t busy_ns)
{
	printf(" busy_ns=%" PRIu64 " launches=%" PRIu64 " longest_ns=%" PRIu64 " dropped=%" PRIu64
	       " bytes=%" PRIu64 " peak_bytes=%" PRIu64 " refused=%" PRIu64 "\n",
	       busy_ns, tally->launches, tally->longest_ns, tally->dropped, tally->bytes,
	       tally->peak_bytes, tally->refused);
}

static void print(const struct device_state *state)
{
	printf("device clock_ns=%" PRIu64 " memory_bytes=%" PRIu64 " queued=%" PRIu64
	       " lost=%" PRIu64,
	       state->clock_ns, state->memory_bytes, state->queued, state->faults.lost);
	print_tally(&state->total, device_busy_ns(state));
	for (unsigned i = 0; i < DEVICE_TENANTS && state->tenants[i].label[0] != '\0'; i++) {
		if (strcmp(state->tenants[i].label, LABEL) == 0)
			continue;
		printf("tenant label=%s", state->tenants[i].label);
		print_tally(&state->tenants[i].tally, device_tenant_busy_ns(state, i));
	}
	for (unsigned i = 0; i < DEVICE_CLIENTS; i++) {
		const struct device_client *client = &state->clients[i];
		const char *label = state->tenants[client->tenant].label;

		if (client->joined_ns == 0 || strcmp(label, LABEL) == 0)
			continue;
		printf("client pid=%" PRIu64 " label=%s alive=%" PRIu64 " queued=%" PRIu64,
		       client->pid, label, client->alive, client->queued);
		print_tally(&client->tally, device_client_busy_ns(state, i));
	}
}

/* The options that change the state, in this order. */
enum {
	LOSE,
	RESTORE,
	FAIL_ALLOCATION,
	FAIL_ENQUEUE,
	SLOW_FACTOR,
	SLOW_COUNT,
	MEMORY,
	N_CHANGES,
	WATCH = N_CHANGES,
};

struct changes {
	bool is_set[N_CHANGES];
	uint64_t value[N_CHANGES];
};

static int change(struct device_state *state, uint64_t now_ns, void *arg)
{
	const struct changes *changes = arg;
	uint64_t *const fields[N_CHANGES] = {
		[FAIL_ALLOCATION] = &state->faults.allocation,
		[FAIL_ENQUEUE] = &state->faults.enqueue,
		[SLOW_FACTOR] = &state->faults.slow_factor,
		[SLOW_COUNT] = &state->faults.slow_count,
		[MEMORY] = &state->memory_bytes,
	};

	device_settle(state, now_ns);
	if (changes->is_set[LOSE])
		device_lose(state, now_ns);
	if (changes->is_set[RESTORE])
		state->faults.lost = 0;
	for (int i = 0; i < N_CHANGES; i++) {
		if (changes->is_set[i] && fields[i])
			*fields[i] = changes->value[i];
	}
	return 0;
}

static const struct option options[] = {
	{"lose", no_argument, NULL, LOSE},
	{"restore", no_argument, NULL, RESTORE},
	{"fail-alloc", required_argument, NULL, FAIL_ALLOCATION},
	{"fail-enqueue", required_argument, NULL, FAIL_ENQUEUE},
	{"slow-factor", required_argument, NULL, SLOW_FACTOR},
	{"slow-count", required_argument, NULL, SLOW_COUNT},
	{"memory", required_argument, NULL, MEMORY},
	{"watch", no_argument, NULL, WATCH},
	{NULL, 0, NULL, 0},
};

static int usage(void)
{
	fputs("usage: double-truth [--lose | --restore] [--fail-alloc N] [--fail-enqueue N]\n"
	      "       [--slow-factor K --slow-count N] [--memory BYTES] [--watch] STATE\n",
	      stderr);
	return 2;
}

static int fail(const char *path, int rc)
{
	fprintf(stderr, "double-truth: %s: %s\n", path, strerror(-rc));
	return 1;
}

static void print_store(const struct store *store)
{
	static struct device_state state;

	store_read(store, &state);
	store_drop_ended(store, &state, state.clock_ns);
	print(&state);
}

static void watch(const struct store *store)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		print_store(store);
		puts("end");
		(void)fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	struct changes changes = {0};
	struct store *store = NULL;
	bool is_change = false, is_watch = false;
	int option, rc;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option > WATCH)
			return usage();
		if (option == WATCH) {
			is_watch = true;
			continue;
		}
		changes.is_set[option] = is_change = true;
		changes.value[option] = optarg ? strtoull(optarg, NULL, 10) : 0;
	}
	if (optind != argc - 1)
		return usage();
	rc = store_open(argv[optind], STORE_MEMORY, &store);
	if (rc < 0)
		return fail(argv[optind], rc);
	if (is_change) {
		rc = store_join(store, LABEL);
		if (rc < 0)
			return fail(argv[optind], rc);
		store_apply(store, change, &changes);
	}
	if (is_watch)
		watch(store);
	else
		print_store(store);
	store_close(store);
	return 0;
}
