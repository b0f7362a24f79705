/* SPDX-License-Identifier: MIT */
/*
 * Publishes for many simulated hosts, named host-0000 and so on, each with its own publisher. Reads
 * commands, one per line, and prints one JSON object for each host that has finished:
 *
 * publish FIRST LAST SPAN_MS TRIES SHOW WANTED
 *   Gives the hosts a wanted state, one after another within SPAN_MS, and publishes it until it
 *   succeeds, or at most TRIES times (0: no limit). SHOW: "-", or CLASS:N: every Nth host then
 *   waits until a slot of this class is an allocation candidate.
 * check FIRST LAST TRIES
 *   Publishes the same state again.
 * withdraw FIRST LAST TRIES
 *
 * WANTED: GPU:FLAVOUR=CONTRACTS+OFFERS,...:FLAGS;GPU:...
 * FLAGS: o (overloaded), d (draining), or "-".
 *
 * Options: PLACEMENT-URL HOSTS THREADS TIMEOUT-MS RETRY-MAX-MS [KEYSTONE-URL SECRET-FILE]
 * Environment: FLEET_READ_MS is the read_ms of publisher_set_times().
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "gover-fleet/cloud/keystone.h"
#include "gover-fleet/cloud/publisher.h"

#define LINE_MAX_BYTES 4096
#define SHOW_TRIES_MAX 1000

enum work { NOTHING, PUBLISH, WITHDRAW };

struct host {
	struct publisher *publisher;
	struct keystone *keystone;
	struct service *service;
	struct wanted wanted;
	enum work work;
	bool busy;   /* a thread works on it */
	int version; /* number of the command that set the state */
	int tries, tries_max;
	uint64_t due_ns; /* of the next try */
	uint64_t asked_ns;
	char show[WANTED_CLASS_MAX];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct host *hosts;
	size_t n_hosts;
	int version;
	bool ending; /* end when no host has work */
} fleet = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "fleet-hosts: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(2);
}

/* --- commands --- */

static void parse_classes(char *text, struct wanted_gpu *gpu)
{
	char *end = NULL;

	for (char *one = strtok_r(text, ",", &end); one; one = strtok_r(NULL, ",", &end)) {
		struct wanted_class *class = &gpu->classes[gpu->n_classes];
		char flavour[32];

		if (gpu->n_classes == WANTED_CLASSES_MAX ||
		    sscanf(one, "%31[A-Z0-9_]=%d+%d", flavour, &class->contracts, &class->offers) !=
			    3)
			die("class '%s'", one);
		snprintf(class->name, sizeof(class->name), "%s%s", WANTED_CLASS_PREFIX, flavour);
		gpu->n_classes++;
	}
}

static void parse_wanted(char *text, struct wanted *ret_wanted)
{
	char *end = NULL;

	memset(ret_wanted, 0, sizeof(*ret_wanted));
	for (char *one = strtok_r(text, ";\n", &end); one; one = strtok_r(NULL, ";\n", &end)) {
		struct wanted_gpu *gpu = &ret_wanted->gpus[ret_wanted->n_gpus];
		char *classes = strchr(one, ':'),
		     *flags = classes ? strchr(classes + 1, ':') : NULL;

		if (strcmp(one, "-") == 0)
			return;
		if (!flags || ret_wanted->n_gpus == WANTED_GPUS_MAX)
			die("wanted '%s'", one);
		*classes = *flags = '\0';
		snprintf(gpu->name, sizeof(gpu->name), "%s", one);
		snprintf(gpu->policy, sizeof(gpu->policy), "qos");
		gpu->overloaded = strchr(flags + 1, 'o');
		gpu->draining = strchr(flags + 1, 'd');
		parse_classes(classes + 1, gpu);
		ret_wanted->n_gpus++;
	}
}

static void give(size_t first, size_t last, enum work work, int tries_max, unsigned int span_ms,
		 const char *show, size_t show_step, const struct wanted *wanted)
{
	uint64_t now_ns = clock_now().mono_ns;
	size_t n = last - first + 1;

	pthread_mutex_lock(&fleet.lock);
	fleet.version++;
	for (size_t i = first; i <= last; i++) {
		struct host *host = &fleet.hosts[i];

		host->work = work;
		host->version = fleet.version;
		host->tries = 0;
		host->tries_max = tries_max;
		host->asked_ns = now_ns + (i - first) * span_ms * NS_PER_MS / n;
		host->due_ns = host->asked_ns;
		snprintf(host->show, sizeof(host->show), "%s", i % show_step == 0 ? show : "");
		if (wanted)
			host->wanted = *wanted;
	}
	pthread_cond_broadcast(&fleet.wake);
	pthread_mutex_unlock(&fleet.lock);
}

static void take_command(char *line)
{
	char verb[16], show[WANTED_CLASS_MAX] = "";
	size_t first, last, step = 1;
	unsigned int span_ms = 0;
	int tries = 0, used = 0;
	static struct wanted wanted;

	if (sscanf(line, "%15s %zu %zu%n", verb, &first, &last, &used) != 3 || first > last ||
	    last >= fleet.n_hosts)
		die("command '%s'", line);
	line += used;
	used = 0;
	if (strcmp(verb, "publish") == 0) {
		if (sscanf(line, "%u %d - %n", &span_ms, &tries, &used) != 2 || used == 0) {
			used = 0;
			if (sscanf(line, "%u %d %63[A-Z0-9_]:%zu %n", &span_ms, &tries, show, &step,
				   &used) != 4)
				die("publish '%s'", line);
		}
		parse_wanted(line + used, &wanted);
		give(first, last, PUBLISH, tries, span_ms, show, step, &wanted);
	} else if (sscanf(line, "%d", &tries) == 1) {
		give(first, last, strcmp(verb, "withdraw") ? PUBLISH : WITHDRAW, tries, 0, "", 1,
		     NULL);
	} else {
		die("command '%s'", verb);
	}
}

/* --- work --- */

/* True if a slot of the class can be allocated on the host. */
static bool is_schedulable(struct host *host, size_t index, const char *class)
{
	CLEANUP_REPLY struct reply reply = {0};
	struct err err;
	char path[256];

	snprintf(path, sizeof(path),
		 "/allocation_candidates?resources=%s:1&in_tree=00000000-0000-4000-8000-%012zx",
		 class, index);
	return service_request(host->service, "GET", path, NULL, &reply, &err) == 0 &&
	       json_array_size(json_object_get(reply.json, "allocation_requests")) > 0;
}

static void sum(const struct published *published, int *used, int *sold, int *leaks)
{
	for (size_t i = 0; i < published->n_gpus; i++)
		for (size_t j = 0; j < published->gpus[i].n_classes; j++) {
			const struct published_class *class = &published->gpus[i].classes[j];

			*used += class->used;
			*sold += class->sold;
			*leaks += class->used > class->sold;
		}
}

struct attempt {
	size_t index;
	struct wanted wanted;
	enum work work;
	int version, tries;
	uint64_t asked_ns;
	char show[WANTED_CLASS_MAX];
};

/* Prints the result of the last attempt. */
static void print_result(const struct attempt *attempt, int result, int pause_ms,
			 const struct published *published, uint64_t end_ns, uint64_t shown_ns,
			 const char *error)
{
	int used = 0, sold = 0, leaks = 0;
	json_t *line;
	char *text;

	if (result == 0)
		sum(published, &used, &sold, &leaks);
	line = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:s}",
			 "host", (int)attempt->index, "version", attempt->version, "result", result,
			 "tries", attempt->tries, "pause_ms", pause_ms, "writes",
			 result == 0 ? published->writes : 0, "used", used, "sold", sold, "leaks",
			 leaks, "ms", (double)(end_ns - attempt->asked_ns) / 1e6, "shown_ms",
			 shown_ns ? (double)(shown_ns - attempt->asked_ns) / 1e6 : -1.0, "at_s",
			 (double)end_ns / 1e9, "error", result == 0 ? "" : error);
	text = json_dumps(line, JSON_COMPACT);
	pthread_mutex_lock(&fleet.lock);
	puts(text ? text : "{}");
	fflush(stdout);
	pthread_mutex_unlock(&fleet.lock);
	free(text);
	json_decref(line);
}

/* Publishes the last state without its offers. */
static int withdraw(struct host *host, struct wanted wanted, struct published *published,
		    struct err *reterr)
{
	for (size_t i = 0; i < wanted.n_gpus; i++)
		for (size_t j = 0; j < wanted.gpus[i].n_classes; j++)
			wanted.gpus[i].classes[j].offers = wanted.gpus[i].classes[j].ending = 0;
	return wanted.n_gpus > 0 ? publisher_publish(host->publisher, &wanted, published, reterr)
				 : publisher_withdraw(host->publisher, reterr);
}

/* Does one attempt without the lock. Returns true if the work is done. */
static bool attempt_once(struct host *host, const struct attempt *attempt, int tries_max,
			 struct published *published)
{
	struct err err = {.msg = ""};
	uint64_t end_ns, shown_ns = 0;
	int r;

	published->writes = 0;
	published->n_gpus = 0;
	r = attempt->work == WITHDRAW
		    ? withdraw(host, attempt->wanted, published, &err)
		    : publisher_publish(host->publisher, &attempt->wanted, published, &err);
	end_ns = clock_now().mono_ns;
	for (int i = 0; r == 0 && attempt->show[0] && !shown_ns && i < SHOW_TRIES_MAX; i++)
		if (is_schedulable(host, attempt->index, attempt->show))
			shown_ns = clock_now().mono_ns;
	if (r != 0 && (tries_max == 0 || attempt->tries < tries_max))
		return false;
	print_result(attempt, r, publisher_pause_ms(host->publisher), published, end_ns, shown_ns,
		     err.msg);
	return true;
}

/* Returns the host that is due first and free, or NULL if no host has work. */
static struct host *first_due(bool *ret_any_work)
{
	struct host *first = NULL;

	*ret_any_work = false;
	for (size_t i = 0; i < fleet.n_hosts; i++) {
		struct host *host = &fleet.hosts[i];

		*ret_any_work |= host->work != NOTHING;
		if (host->work != NOTHING && !host->busy &&
		    (!first || host->due_ns < first->due_ns))
			first = host;
	}
	return first;
}

static void serve_host(struct host *host, struct attempt *attempt, struct published *published)
{
	int tries_max = host->tries_max;
	bool done;

	host->busy = true;
	host->tries++;
	*attempt = (struct attempt){.index = (size_t)(host - fleet.hosts),
				    .wanted = host->wanted,
				    .work = host->work,
				    .version = host->version,
				    .tries = host->tries,
				    .asked_ns = host->asked_ns};
	strcpy(attempt->show, host->show);
	pthread_mutex_unlock(&fleet.lock);
	done = attempt_once(host, attempt, tries_max, published);
	pthread_mutex_lock(&fleet.lock);
	host->busy = false;
	/* a command that arrived in the meantime has its own due time */
	if (host->version == attempt->version && done)
		host->work = NOTHING;
	else if (host->version == attempt->version)
		host->due_ns = clock_now().mono_ns +
			       (uint64_t)publisher_pause_ms(host->publisher) * NS_PER_MS;
	pthread_cond_broadcast(&fleet.wake);
}

static void *run(void *userdata)
{
	struct published *published = calloc(1, sizeof(*published));
	struct attempt *attempt = calloc(1, sizeof(*attempt));
	bool any_work = false;

	(void)userdata;
	if (!published || !attempt)
		die("out of memory");
	pthread_mutex_lock(&fleet.lock);
	for (;;) {
		struct host *host = first_due(&any_work);
		uint64_t now_ns = clock_now().mono_ns;

		if (host && host->due_ns <= now_ns) {
			serve_host(host, attempt, published);
		} else if (host) {
			struct timespec until = {(time_t)(host->due_ns / NS_PER_S),
						 (long)(host->due_ns % NS_PER_S)};

			pthread_cond_clockwait(&fleet.wake, &fleet.lock, CLOCK_MONOTONIC, &until);
		} else if (fleet.ending && !any_work) {
			break;
		} else {
			pthread_cond_wait(&fleet.wake, &fleet.lock);
		}
	}
	pthread_mutex_unlock(&fleet.lock);
	free(published);
	free(attempt);
	return NULL;
}

/* --- start --- */

static void make_host(struct host *host, size_t index, char **argv, int argc)
{
	const struct service_config service = {"placement", "Placement", "placement 1.36"};
	struct fleet_config_cloud keystone = {.auth = "none"};
	const char *read_ms = getenv("FLEET_READ_MS");
	char name[32];
	struct err err;

	snprintf(name, sizeof(name), "host-%04zu", index);
	snprintf(keystone.placement_url, sizeof(keystone.placement_url), "%s", argv[1]);
	if (argc > 7) {
		strcpy(keystone.auth, "password");
		snprintf(keystone.auth_url, sizeof(keystone.auth_url), "%s", argv[6]);
		snprintf(keystone.secret_file, sizeof(keystone.secret_file), "%s", argv[7]);
		snprintf(keystone.username, sizeof(keystone.username), "gover");
		snprintf(keystone.user_domain, sizeof(keystone.user_domain), "Default");
		snprintf(keystone.project, sizeof(keystone.project), "service");
		snprintf(keystone.project_domain, sizeof(keystone.project_domain), "Default");
	}
	if (keystone_new(&keystone, atoi(argv[4]), &host->keystone, &err) < 0 ||
	    publisher_new(name, host->keystone, &host->publisher, &err) < 0)
		die("%s", err.msg);
	publisher_set_times(host->publisher, read_ms ? atoi(read_ms) : 60000, atoi(argv[5]));
	host->service = service_new(&service, host->keystone);
}

int main(int argc, char **argv)
{
	static char line[LINE_MAX_BYTES];
	pthread_t *threads;
	size_t n_threads;

	if (argc < 6)
		die("PLACEMENT-URL HOSTS THREADS TIMEOUT-MS RETRY-MAX-MS [KEYSTONE-URL "
		    "SECRET-FILE]");
	fleet.n_hosts = (size_t)atoi(argv[2]);
	n_threads = (size_t)atoi(argv[3]);
	fleet.hosts = calloc(fleet.n_hosts, sizeof(*fleet.hosts));
	threads = calloc(n_threads, sizeof(*threads));
	if (!fleet.hosts || !threads)
		die("out of memory");
	for (size_t i = 0; i < fleet.n_hosts; i++)
		make_host(&fleet.hosts[i], i, argv, argc);
	for (size_t i = 0; i < n_threads; i++)
		if (pthread_create(&threads[i], NULL, run, NULL) != 0)
			die("no thread");
	while (fgets(line, sizeof(line), stdin))
		take_command(line);
	pthread_mutex_lock(&fleet.lock);
	fleet.ending = true;
	pthread_cond_broadcast(&fleet.wake);
	pthread_mutex_unlock(&fleet.lock);
	for (size_t i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < fleet.n_hosts; i++) {
		publisher_free(fleet.hosts[i].publisher);
		service_free(fleet.hosts[i].service);
		keystone_free(fleet.hosts[i].keystone);
	}
	free(threads);
	free(fleet.hosts);
	return 0;
}
