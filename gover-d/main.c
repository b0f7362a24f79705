/* SPDX-License-Identifier: MIT */
/*
 * gover-d: its command line, whose options override the configuration file; the findings about this
 * host and its configuration as JSON; and the daemon itself, which connects the manager,
 * authentication, REST and HTTP. All other code is in a library, so that tests can link it.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/finding.h"
#include "base/terminal/cmdline.h"
#include "base/xalloc.h"
#include "gover-d/api/api.h"
#include "gover-d/api/serve.h"
#include "gover-d/auth/authn.h"
#include "gover-d/auth/tls.h"
#include "gover-d/config/config.h"
#include "gover-d/http/http.h"
#include "gover-d/manager/manager.h"
#include "gover-d/manager/reload.h"
#include "gover-d/manager/view.h"
#include "gover-d/record/memory-mark.h"
#include "gover-d/util/log.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1 };

enum verb { VERB_RUN, VERB_CHECK_CONFIG, VERB_PRINT_CONFIG, VERB_RESTORE, VERB_DIAGNOSE };

struct options {
	int verb; /* enum verb */
	const char *config, *state_dir, *socket, *listen, *facts;
	bool dry_run, json;
};

/* --- the daemon: its parts are created in order, connected, and freed in reverse --- */

struct daemon {
	const struct options *options;
	struct manager *manager;
	struct authn *authn;
	struct api *api;
	struct http *http;
	sd_event_source *timer; /* of check_access() */
	/* what check_access() found; "": no problem */
	char socket_problem[ERR_MSG_MAX], tokens_problem[ERR_MSG_MAX],
		certificate_problem[ERR_MSG_MAX];
	struct reload *reload;
};

static void hold_access_conditions(void *userdata, struct alerts *alerts, struct instant now)
{
	const struct daemon *d = userdata;

	if (d->socket_problem[0])
		alerts_hold(alerts, ALERT_SOCKET_UNUSABLE, NULL, NULL, now.wall_ms,
			    "clients cannot connect: %s", d->socket_problem);
	if (d->tokens_problem[0])
		alerts_hold(alerts, ALERT_TOKENS_UNREADABLE, NULL, NULL, now.wall_ms,
			    "%s: all tokens are invalid until the file is repaired or removed",
			    d->tokens_problem);
	if (d->certificate_problem[0])
		alerts_hold(alerts, ALERT_CERTIFICATE_UNREADABLE, NULL, NULL, now.wall_ms,
			    "the previous certificate stays in use: %s", d->certificate_problem);
}

static const struct observer access_observer = {
	.conditions = hold_access_conditions,
};

/*
 * Checks the sockets, and the files of the authentication, once a period. The next tick reports
 * what is found.
 */
static int check_access(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct daemon *d = userdata;
	const struct view *view = manager_view(d->manager);
	const struct tls *tls = authn_tls(d->authn);
	const struct instant now = clock_now();
	const char *tokens, *certificate;

	(void)usec;
	http_tick(d->http);
	authn_tick(d->authn, view->queries, now.mono_ns);
	api_expire_tokens(d->api, now);
	tokens = authn_tokens_problem(d->authn);
	certificate = tls ? tls_problem(tls) : NULL;
	snprintf(d->socket_problem, sizeof(d->socket_problem), "%s", http_problem(d->http));
	snprintf(d->tokens_problem, sizeof(d->tokens_problem), "%s", tokens ? tokens : "");
	snprintf(d->certificate_problem, sizeof(d->certificate_problem), "%s",
		 certificate ? certificate : "");
	(void)sd_event_source_set_time_relative(source, (uint64_t)view->config->period_ms * 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int make_api(struct daemon *d, struct err *reterr)
{
	d->authn = authn_new();
	d->api = api_new(manager_changes(d->manager), manager_view(d->manager), d->authn);
	if (!d->api || manager_observe(d->manager, &access_observer, d) < 0 ||
	    manager_observe(d->manager, &api_observer, d->api) < 0)
		return err_fail(reterr, EIO, "the API cannot be created");
	return 0;
}

/*
 * Gives the next step of the start the time of TimeoutStartSec in gover-d.service. A step that
 * takes longer counts as hung.
 */
#define START_STEP_US 6000000

static void begin_step(void)
{
	(void)sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%d", START_STEP_US);
}

/* Opens the sockets before the GPUs, so that a second daemon fails before it accesses a vGPU. */
static int start(struct daemon *d, const struct config *config, bool dry_run, struct err *reterr)
{
	const struct config *in_force;
	int r;

	begin_step();
	r = manager_new(config, dry_run, &d->manager, reterr);
	if (r >= 0)
		r = make_api(d, reterr);
	if (r < 0)
		return r;
	begin_step();
	in_force = manager_view(d->manager)->config;
	r = authn_open(d->authn, in_force, reterr);
	if (r >= 0)
		r = http_new(manager_event(d->manager), in_force->socket, in_force->listen, d->api,
			     d->authn, &d->http, reterr);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(manager_event(d->manager), &d->timer, CLOCK_MONOTONIC, 0, 0,
				       check_access, d);
	if (r < 0)
		return err_fail(reterr, -r, "event loop: %s", strerror(-r));
	begin_step();
	return manager_start(d->manager, reterr);
}

static struct daemon *daemon_free(struct daemon *d)
{
	if (!d)
		return NULL;
	if (d->manager)
		/* Stop the manager before api and http are freed: deferred replies need both. */
		manager_stop(d->manager);
	sd_event_source_unref(d->timer);
	reload_free(d->reload);
	http_free(d->http);
	api_free(d->api);
	authn_free(d->authn);
	manager_free(d->manager);
	free(d);
	return NULL;
}

static int daemon_new(const struct config *config, bool dry_run, struct daemon **ret_daemon,
		      struct err *reterr)
{
	struct daemon *d = xcalloc(1, sizeof(*d));
	int r;

	r = start(d, config, dry_run, reterr);
	if (r < 0) {
		daemon_free(d);
		return r;
	}
	*ret_daemon = d;
	return 0;
}

/* --- findings about this host and its configuration --- */

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

/*
 * Prints the findings of all backends and a part of the configuration in the file @path (NULL: the
 * default) as JSON:
 *   {"config": {"socket", "operate_group", "read_group", "backends"} or null if it is invalid,
 *    "checks": [{"check", "state", "text", "advice"}]}
 * @facts: an object about the running daemon, whose members may be missing: pid; unit (true: its
 * unit is gover-d.service), user and protects_cgroups of the unit; backends in use (default: those
 * of the configuration); steered (true: it has set time slices). NULL: no daemon runs. Returns
 * -EINVAL with a message if @facts is invalid.
 */
static int print_diagnosis(const char *path, const char *facts, struct err *reterr)
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

/*
 * Prints all faults of the configuration in the file @path (NULL: the default) as JSON:
 *   {"files": [the files that were read], "faults": [{"file" or null, "line" or null, "text"}]}
 * Returns false if there is a fault.
 */
static bool print_faults(const char *path)
{
	json_t *answer = json_pack("{s:[], s:[]}", "files", "faults");
	const struct config_faults faults = {
		.userdata = answer, .file = add_file, .fault = add_fault};
	int n = config_find_faults(path, &faults);

	print_json(answer);
	return n == 0;
}

/* --- the command line --- */

static int check_options(const struct options *options, int argc, char *argv[])
{
	if (options->dry_run && options->verb == VERB_RESTORE) {
		fputs("gover-d: --restore and --dry-run cannot be combined\n", stderr);
		return CMDLINE_USAGE;
	}
	if (optind < argc) {
		fprintf(stderr, "gover-d: unexpected argument '%s'. Try 'gover-d --help'.\n",
			argv[optind]);
		return CMDLINE_USAGE;
	}
	return CMDLINE_GO_ON;
}

static int parse_options(int argc, char *argv[], struct options *o)
{
	const struct cmdline_row rows[] = {
		CMDLINE_LINES("Usage: gover-d [OPTION]...\n"
			      "Oversells GPUs and keeps every customer's contract.\n\n"),
		CMDLINE_ROW(WORD, "config", "FILE", &o->config,
			    "read FILE instead of " CONFIG_PATH_DEFAULT),
		CMDLINE_ROW(WORD, "state-dir", "DIR", &o->state_dir,
			    "store contracts, caps and history in DIR"),
		CMDLINE_ROW(WORD, "socket", "PATH", &o->socket,
			    "serve REST on the unix socket PATH"),
		CMDLINE_ROW(WORD, "listen", "ADDR:PORT", &o->listen, "also serve REST on TCP"),
		CMDLINE_ROW(FLAG, "dry-run", NULL, &o->dry_run,
			    "log decisions without applying them"),
		CMDLINE_ROW(CHOICE, "check-config", NULL, &o->verb,
			    "check the configuration and exit", .min = VERB_CHECK_CONFIG),
		CMDLINE_ROW(FLAG, "json", NULL, &o->json,
			    "print all faults that --check-config finds as JSON"),
		CMDLINE_ROW(CHOICE, "print-config", NULL, &o->verb,
			    "print the effective configuration and exit", .min = VERB_PRINT_CONFIG),
		CMDLINE_ROW(CHOICE, "diagnose", NULL, &o->verb,
			    "check what backends need on this host and exit", .min = VERB_DIAGNOSE),
		CMDLINE_ROW(WORD, "facts", "JSON", &o->facts,
			    "use these facts about the running daemon in --diagnose"),
		CMDLINE_ROW(CHOICE, "restore", NULL, &o->verb,
			    "set the initial cap of every contract and exit", .min = VERB_RESTORE),
		CMDLINE_ENDS,
		CMDLINE_LINES("\nExit status: 0 success, 1 failure, 2 wrong usage. See gover-d(8), "
			      "gover.conf(5).\n"),
	};
	int r = cmdline_parse("gover-d", rows, ARRAY_SIZE(rows), "", argc, argv, NULL);

	return r == CMDLINE_GO_ON ? check_options(o, argc, argv) : r;
}

static int override(char *field, size_t size, const char *value, const char *option,
		    struct err *reterr)
{
	if (!value)
		return 0;
	if (value[0] == '\0' || strlen(value) >= size)
		return err_fail(reterr, EINVAL, "%s: empty or too long", option);
	memcpy(field, value, strlen(value) + 1);
	return 0;
}

static int load_config(const struct options *options, struct config *config, struct err *reterr)
{
	int r;

	config_default(config);
	config->read_ms = clock_now().wall_ms;
	r = config_load(config, options->config, reterr);
	if (r >= 0)
		r = override(config->state_dir, sizeof(config->state_dir), options->state_dir,
			     "--state-dir", reterr);
	if (r >= 0)
		r = override(config->socket, sizeof(config->socket), options->socket, "--socket",
			     reterr);
	if (r >= 0)
		r = override(config->listen, sizeof(config->listen), options->listen, "--listen",
			     reterr);
	if (r >= 0)
		r = config_check(config, reterr);
	return r;
}

static int read_again(const void *userdata, struct config *config, struct err *reterr)
{
	const struct daemon *d = userdata;

	return load_config(d->options, config, reterr);
}

static void resume_requests(void *userdata)
{
	struct daemon *d = userdata;

	api_resume(d->api);
}

static const struct reload_calls reload_calls = {.read = read_again, .ended = resume_requests};

/*
 * The daemon must not end before it can handle these signals: SIGHUP waits for the event loop, and
 * the others, which other programs use for their own purposes, do nothing.
 */
static void defer_signals(void)
{
	static const int ignored[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGXFSZ};
	sigset_t waiting;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	sigemptyset(&waiting);
	sigaddset(&waiting, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &waiting, NULL);
}

/*
 * Limit of open files; each vGPU needs five files. The limit is finite, because hooks inherit it
 * and some programs close every possible descriptor when they start.
 */
#define FILES_MAX 131072

static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES_MAX)
		return;
	limit.rlim_cur = limit.rlim_max < FILES_MAX ? limit.rlim_max : FILES_MAX;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * Writes the path of the saved configuration of the last start. --restore uses that configuration
 * if the current configuration is invalid.
 */
static int last_config_path(const char *state_dir, char path[PATH_MAX])
{
	return (size_t)snprintf(path, PATH_MAX, "%s/config.last", state_dir) < PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

static void save_config(const struct config *config)
{
	CLEANUP_FREE char *text = NULL;
	char path[PATH_MAX];
	size_t length = 0;
	int r = last_config_path(config->state_dir, path);
	FILE *out = open_memstream(&text, &length);

	if (out)
		config_print(config, out);
	if (!out || fclose(out) != 0)
		xalloc_fail(0);
	if (r >= 0)
		r = file_replace(path, text, length);
	if (r < 0)
		log_warning("copy of the configuration for --restore: cannot be written: %s",
			    file_error(r));
}

/*
 * Frees *@config before the event loop runs: the struct is large, and the daemon has its own copy.
 */
static int run_daemon(const struct options *options, struct config **config, struct err *reterr)
{
	struct daemon *daemon;
	int r;

	raise_file_limit();
	r = daemon_new(*config, options->dry_run, &daemon, reterr);
	if (r >= 0 && !options->dry_run)
		save_config(*config);
	free(*config);
	*config = NULL;
	if (r < 0)
		return r;
	daemon->options = options;
	r = reload_new(manager_event(daemon->manager), manager_view(daemon->manager)->queries,
		       manager_changes(daemon->manager), &reload_calls, daemon, &daemon->reload);
	if (r >= 0)
		r = manager_run(daemon->manager);
	daemon_free(daemon);
	return r < 0 ? err_fail(reterr, -r, "event loop: %s", strerror(-r)) : 0;
}

/*
 * Loads the configuration of the last start, so that a typing error in the current configuration
 * does not prevent --restore. @reterr contains the error of the current configuration.
 */
static int load_last_config(const struct options *options, struct config *config,
			    struct err *reterr)
{
	struct err why = {""};
	char path[PATH_MAX];
	int r;

	config_default(config);
	r = last_config_path(options->state_dir ? options->state_dir : config->state_dir, path);
	if (r >= 0)
		r = config_load(config, path, &why);
	if (r >= 0)
		r = override(config->state_dir, sizeof(config->state_dir), options->state_dir,
			     "--state-dir", &why);
	if (r >= 0)
		r = config_check(config, &why);
	if (r < 0)
		return r;
	log_error("%s", reterr->msg);
	log_notice("restoring the caps with %s, the configuration of the last start", path);
	return 0;
}

static int run_verb(const struct options *options, struct config **config, struct err *reterr)
{
	switch ((enum verb)options->verb) {
	case VERB_RUN:
		return run_daemon(options, config, reterr);
	case VERB_CHECK_CONFIG:
		puts("the configuration is valid");
		return 0;
	case VERB_PRINT_CONFIG:
		config_print(*config, stdout);
		return 0;
	case VERB_RESTORE:
		return manager_restore(*config, reterr);
	case VERB_DIAGNOSE: /* needs no valid configuration */
		break;
	}
	return -EINVAL;
}

static int load_and_run(const struct options *options, struct err *reterr)
{
	CLEANUP_FREE struct config *config = xmalloc(sizeof(*config));
	int r = load_config(options, config, reterr);

	if (r < 0 && options->verb == VERB_RESTORE)
		r = load_last_config(options, config, reterr) < 0 ? r : 0;
	return r < 0 ? r : run_verb(options, &config, reterr);
}

int main(int argc, char *argv[])
{
	const char *unit_state_dir = getenv("STATE_DIRECTORY"); /* set by systemd */
	struct options options = {0};
	struct err err = {""};
	int r;

	xalloc_init("gover-d");
	json_set_alloc_funcs(xmalloc, free);
	r = parse_options(argc, argv, &options);
	if (r != CMDLINE_GO_ON)
		return r;
	if (options.verb == VERB_RUN || options.verb == VERB_RESTORE)
		defer_signals();
	if (options.verb == VERB_RUN && unit_state_dir)
		memory_mark_open(unit_state_dir); /* before the first allocation */
	if (options.verb == VERB_CHECK_CONFIG && options.json)
		return print_faults(options.config) ? EXIT_DONE : EXIT_FAILED;
	r = options.verb == VERB_DIAGNOSE ? print_diagnosis(options.config, options.facts, &err)
					  : load_and_run(&options, &err);
	if (r == -ENOMEM) /* of a library */
		xalloc_fail(0);
	if (r < 0)
		log_error("%s", err.msg[0] ? err.msg : strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
