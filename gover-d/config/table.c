/* SPDX-License-Identifier: MIT */
/*
 * The table of configuration keys, with functions for defaults, printing and changes at run time,
 * and the rules about several keys. config_load() must accept the output of config_print(). Files
 * and their drop-ins are read with the same table. If a section has a fault, rules about several
 * keys are not reported for that section, because the fault may be the cause.
 */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/config/inifile.h"
#include "base/gpu/backend.h"
#include "base/gpu/drm-name.h"
#include "base/parse.h"
#include "base/unix-listener.h"
#include "base/xalloc.h"
#include "compute/channel/control.h"
#include "gover-d/config/config.h"
#include "gover-d/config/flavor.h"

#define FILE_BYTES_MAX (256 * 1024)

/* Values of setting.section for sections whose title contains a name, such as [gpu NAME]. */
#define GPU_SECTION    "gpu NAME"
#define FLAVOR_SECTION "flavor NAME"
#define CLIENT_SECTION "client NAME"
#define TITLE_MAX      (sizeof("flavor ") + ID_MAX) /* size of the title of a section */
#define SECTIONS_MAX   64			    /* limit of the sections of one kind */

/* A kind of section whose title contains a name. struct config has an array for each kind. */
struct kind {
	const char *section;	  /* value of setting.section */
	const char *word;	  /* first word of the title: "gpu" */
	const char *noun;	  /* for messages: "a GPU" */
	const char *default_name; /* name of a section without a name; NULL: a name is required */
	size_t list_at;		  /* offset of the array in struct config */
	size_t n_at;		  /* offset of the number of sections in struct config */
	size_t size;		  /* size of one section */
	size_t name_at;		  /* offset of the name in a section */
	int max;		  /* limit of sections */
	/* sets the name and the defaults of a section; @name must be a valid id */
	void (*set_default)(void *section, const char *name);
};

enum { KIND_GPU, KIND_FLAVOR, KIND_CLIENT, KINDS };

static void default_gpu(void *section, const char *name)
{
	struct gpu_section *gpu = section;

	*gpu = (struct gpu_section){
		.gpu = {.backend = "auto",
			.truth = "auto",
			.proc = "/proc",
			.socket = COMPUTE_SERVED_SOCKET,
			.discipline = "fair",
			.sharing = "auto",
			.lease_ms = 60000,
			.least_slice_ms = XE_LEAST_SLICE_MS,
			.longest_round_ms = XE_LONGEST_ROUND_MS,
			.preempt_timeout_ms = XE_PREEMPT_TIMEOUT_MS,
			.capacity_cores = 1,
			.speed = 1,
			.unit = "frames"},
		.intel_gpu_top = "auto",
		.fps_source = "preload",
	};
	memcpy(gpu->gpu.name, name, strlen(name) + 1);
}

static void default_flavor(void *section, const char *name)
{
	struct flavor *flavor = section;

	*flavor = (struct flavor){
		.cap_pct = 50,
		.price_per_cap_hour = PRICE_UNSET,
		.penalty_per_broken_s = PRICE_UNSET,
	};
	memcpy(flavor->name, name, strlen(name) + 1);
}

static void default_client(void *section, const char *name)
{
	struct client_section *client = section;

	*client = (struct client_section){.scope = "read"};
	memcpy(client->name, name, strlen(name) + 1);
}

static const struct kind kinds[KINDS] = {
	[KIND_GPU] = {.section = GPU_SECTION,
		      .word = "gpu",
		      .noun = "a GPU",
		      .default_name = "gpu0",
		      .list_at = offsetof(struct config, gpus),
		      .n_at = offsetof(struct config, n_gpus),
		      .size = sizeof(struct gpu_section),
		      .name_at = offsetof(struct gpu_section, gpu.name),
		      .max = GPUS_MAX,
		      .set_default = default_gpu},
	[KIND_FLAVOR] = {.section = FLAVOR_SECTION,
			 .word = "flavor",
			 .noun = "a flavour",
			 .list_at = offsetof(struct config, flavors),
			 .n_at = offsetof(struct config, n_flavors),
			 .size = sizeof(struct flavor),
			 .name_at = offsetof(struct flavor, name),
			 .max = FLAVORS_MAX,
			 .set_default = default_flavor},
	[KIND_CLIENT] = {.section = CLIENT_SECTION,
			 .word = "client",
			 .noun = "a client",
			 .list_at = offsetof(struct config, clients),
			 .n_at = offsetof(struct config, n_clients),
			 .size = sizeof(struct client_section),
			 .name_at = offsetof(struct client_section, name),
			 .max = CLIENTS_MAX,
			 .set_default = default_client},
};
_Static_assert(FLAVORS_MAX <= SECTIONS_MAX && GPUS_MAX <= SECTIONS_MAX &&
		       CLIENTS_MAX <= SECTIONS_MAX,
	       "no kind has more sections than SECTIONS_MAX");

/* Returns the kind of section that contains @key; NULL: a section without a name. */
static const struct kind *find_kind(const struct setting *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i].section, key->section) == 0)
			return &kinds[i];
	return NULL;
}

static int count_sections(const struct kind *kind, const struct config *config)
{
	return *(const int *)(const void *)((const char *)config + kind->n_at);
}

/* Returns section @index, which is below SECTIONS_MAX. */
static const void *nth_section(const struct kind *kind, const struct config *config, int index)
{
	return (const char *)config + kind->list_at + (size_t)index * kind->size;
}

static const char *section_name(const struct kind *kind, const struct config *config, int index)
{
	return (const char *)nth_section(kind, config, index) + kind->name_at;
}

bool config_is_url(const char *url)
{
	size_t scheme = strncasecmp(url, "https://", 8) == 0  ? 8
			: strncasecmp(url, "http://", 7) == 0 ? 7
							      : 0;
	CURLU *parsed = curl_url();
	bool valid;

	if (!parsed)
		return false;
	valid = scheme > 0 && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK;
	curl_url_cleanup(parsed);
	return valid;
}

/* Returns true for ADDR:PORT. An IPv6 address must be in brackets. */
static bool fits_listen(const char *text)
{
	char host[INET6_ADDRSTRLEN + 2], binary[sizeof(struct in6_addr)];
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	int64_t port;

	if (length == 0 || length >= sizeof(host) || parse_int(colon + 1, 1, 65535, &port) < 0)
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	if (host[0] != '[')
		return inet_pton(AF_INET, host, binary) == 1;
	if (host[length - 1] != ']')
		return false;
	host[length - 1] = '\0';
	return inet_pton(AF_INET6, host + 1, binary) == 1;
}

static bool fits_root(const char *text)
{
	return !strstr(text, "..");
}

static bool fits_parent(const char *text)
{
	return !strchr(text, '/') && text[0] != '.';
}

static bool fits_proc(const char *text)
{
	return text[0] == '/';
}

static bool fits_intel_gpu_top(const char *text)
{
	return text[0] == '/' || strcmp(text, "auto") == 0 || strcmp(text, "off") == 0;
}

/* The daemon parses the whole name; this function finds a text that cannot be one. */
static bool fits_subject(const char *text)
{
	return strchr(text, '=') && text[0] != '/';
}

/* Each of these macros writes the first four columns of a row of keys[]. */
#define AT(section, live, key, type, field) section, live, key, offsetof(type, field)
#define DAEMON(key)			    AT("daemon", false, #key, struct config, key)
#define ACCESS(key)			    AT("access", false, #key, struct config, key)
#define ALERTS(key)			    AT("alerts", false, #key, struct config, key)
#define PROMISE(key)			    AT("alerts", false, "promise_" #key, struct config, promise.key)
#define GPU(key)			    AT(GPU_SECTION, false, #key, struct gpu_section, gpu.key)
#define POLICY(key)			    AT("policy", true, #key, struct config, params.key)
#define OFFER(key)			    AT("offer", true, #key, struct config, offer.key)
#define FLAVOR(key)			    AT(FLAVOR_SECTION, false, #key, struct flavor, key)
#define CLIENT(key)			    AT(CLIENT_SECTION, false, #key, struct client_section, key)
#define HISTORY(key)			    AT("history", false, #key, struct config, retention.key)

#define INT	  SETTING_INT
#define NUMBER	  SETTING_NUMBER
#define FLAG	  SETTING_FLAG
#define WORD	  SETTING_WORD
#define TEXT	  SETTING_TEXT
#define PRICE(at) SETTING_ROW(at, setting_price, 0, 1000000000, "unset, or 0..1000000000", NULL)

/* POLICY_KEYS of policy/policy.h makes one row for each policy key with these macros. */
#define KEY_INT(key, low, high, unit)	 INT(POLICY(key), low, high, unit)
#define KEY_NUMBER(key, low, high, unit) NUMBER(POLICY(key), low, high, unit)
#define KEY_FLAG(key)			 FLAG(POLICY(key))
#define KEY_SECONDS(key, low, high, unit) \
	INT(AT("policy", true, #key, struct config, key), low, high, unit)

static bool set_price(const struct setting *setting, void *at, const char *text, struct err *why)
{
	if (strcmp(text, "unset") != 0)
		return setting_number.set(setting, at, text, why);
	*(double *)at = PRICE_UNSET;
	return true;
}

static void format_price(const void *at, char *ret_text, size_t size)
{
	if (*(const double *)at < 0)
		snprintf(ret_text, size, "unset");
	else
		setting_number.format(at, ret_text, size);
}

static const struct setting_type setting_price = {set_price, format_price};

/* A list of the names of all backends ends with "or". */
#define COMMA_BACKEND(backend, ...) ", " #backend
#define OR_BACKEND(backend, ...)    " or " #backend

#define FLAVOR_NAME "a name of A-Z a-z 0-9 . _ -"

/*
 * A text has at most 160 characters, because base/config/inifile.c accepts lines of up to 198
 * characters.
 */
static const struct setting keys[] = {
	TEXT(DAEMON(socket), 1, 107, "a path", NULL),
	TEXT(DAEMON(listen), 0, 60, "nothing, or ADDR:PORT with a numeric address", fits_listen),
	TEXT(DAEMON(state_dir), 1, 160, "a path", NULL),
	INT(DAEMON(period_ms), 1, 10000, " ms"),
	TEXT(DAEMON(on_migrate), 0, 160, "nothing, or a path", NULL),
	TEXT(DAEMON(on_alert), 0, 160, "nothing, or a path", NULL),
	TEXT(DAEMON(on_offer), 0, 160, "nothing, or a path", NULL),
	INT(DAEMON(hook_timeout_s), 1, 86400, " s"),
	TEXT(DAEMON(tls_certificate), 0, 160, "nothing, or a path", NULL),
	TEXT(DAEMON(tls_key), 0, 160, "nothing, or a path", NULL),
	TEXT(DAEMON(tls_client_ca), 0, 160, "nothing, or a path", NULL),

	TEXT(ACCESS(operate_group), 0, 63, "nothing, or a group's name or number", NULL),
	TEXT(ACCESS(read_group), 0, 63, "nothing, or a group's name or number", NULL),
	WORD(ACCESS(anonymous), "off or read"),
	INT(ACCESS(requests_per_s), 0, 1000000, ", 0 for no limit"),

	SETTING_SECRET(ALERTS(webhook), 0, 160, "nothing, or a URL of http or https",
		       config_is_url),
	INT(ALERTS(webhook_timeout_s), 1, 60, " s"),
	INT(ALERTS(update_s), 0, 86400, " s, 0 for no updates"),
	WORD(ALERTS(notify), "info, warning or critical"),
	TEXT(ALERTS(runbook_url), 1, 160, "the beginning of a URL", NULL),
	NUMBER(PROMISE(fast_pct), 1, 100, " percent of the window"),
	NUMBER(PROMISE(fast_window_s), 10, 3600, " s"),
	NUMBER(PROMISE(slow_pct), 0.1, 100, " percent of the window"),
	NUMBER(PROMISE(slow_window_s), 10, 86400, " s"),

	WORD(GPU(backend), "auto" GPU_BACKENDS(COMMA_BACKEND, OR_BACKEND)),
	TEXT(GPU(root), 0, 160, "nothing, or a path without '..'", fits_root),
	TEXT(GPU(parent), 0, 63, "nothing, a PCI address, or the name of a driver", fits_parent),
	WORD(GPU(truth), "auto, fdinfo, nvml or none"),
	TEXT(GPU(proc), 1, 160, "an absolute path", fits_proc),
	TEXT(GPU(socket), 1, 99, "a path", NULL),
	WORD(GPU(discipline), "fair, cap, guarantee, credit, vmcg, rr or fcfs"),
	WORD(GPU(sharing), "auto, hard or guarantee"),
	INT(GPU(lease_ms), 0, 3600000, " ms, 0 for no lease"),
	INT(GPU(least_slice_ms), 1, 1000, " ms"),
	INT(GPU(longest_round_ms), 10, 10000, " ms"),
	INT(GPU(preempt_timeout_ms), 1, 100000, " ms"),
	NUMBER(GPU(capacity_cores), 0.1, 1024, " cores"),
	NUMBER(GPU(speed), 1, 100000, " times real time"),
	WORD(GPU(unit), "frames or work"),
	TEXT(AT(GPU_SECTION, false, "intel_gpu_top", struct gpu_section, intel_gpu_top), 1, 160,
	     "auto, off, or an absolute path", fits_intel_gpu_top),
	WORD(AT(GPU_SECTION, false, "fps_source", struct gpu_section, fps_source),
	     "preload or bpf"),

	WORD(AT("policy", true, "name", struct config, policy),
	     "gover, none, static, credit, fair, p99, nsigma, max or qos"),
	POLICY_KEYS(KEY_INT, KEY_NUMBER, KEY_FLAG, KEY_SECONDS),

	TEXT(OFFER(flavor), 1, 63, FLAVOR_NAME, id_valid),
	INT(OFFER(flavor_cap_pct), 1, 100, " percent"),
	NUMBER(OFFER(flavor_target_fps), 0, 10000, " frames per second"),
	NUMBER(OFFER(flavor_target_rate), 0, 1000000, " units of work per second"),
	PRICE(OFFER(price_per_cap_hour)),
	PRICE(OFFER(penalty_per_broken_s)),
	PRICE(OFFER(price_per_move)),
	INT(OFFER(max_vgpus), 1, 256, " vGPUs"),
	INT(OFFER(ttl_s), 1, 86400, " s"),
	INT(OFFER(probation_s), 1, 86400, " s"),
	NUMBER(OFFER(probation_broken_pct), 0, 100, " percent"),

	INT(FLAVOR(cap_pct), 1, 100, " percent"),
	NUMBER(FLAVOR(target_fps), 0, 10000, " frames per second"),
	NUMBER(FLAVOR(target_rate), 0, 1000000, " units of work per second"),
	PRICE(FLAVOR(price_per_cap_hour)),
	PRICE(FLAVOR(penalty_per_broken_s)),
	FLAG(FLAVOR(offered)),

	TEXT(CLIENT(subject), 0, 160, "a name such as CN=prometheus,O=Example", fits_subject),
	WORD(CLIENT(scope), "read, operate or admin"),

	TEXT(AT("fps", false, "socket", struct config, fps_socket), 1, 107, "a path", NULL),
	INT(AT("fps", false, "vsock_port", struct config, fps_vsock_port), 0, 2147483647,
	    ", 0 for no vsock"),
	TEXT(AT("fps", false, "ports", struct config, fps_ports), 0, 80, "nothing, or a path",
	     NULL),

	INT(HISTORY(raw_hours), 0, 87600, " hours, 0 to keep for ever"),
	INT(HISTORY(minute_days), 0, 36500, " days, 0 to keep for ever"),
	INT(HISTORY(hour_days), 0, 36500, " days, 0 to keep for ever"),
	INT(AT("history", false, "query_limit_s", struct config, query_limit_s), 1, 3600,
	    " seconds"),
};
_Static_assert(ARRAY_SIZE(keys) <= INIFILE_KEYS_MAX, "base/config/inifile.c has room for all keys");
_Static_assert(GPU_SOCKET_MAX - sizeof(COMPUTE_CONTROL_SUFFIX) == 99,
	       "the path of the control socket of [gpu] socket fits");
_Static_assert(POLICY_WINDOW_MAX == 300, "predict_periods in policy/policy.h has this upper bound");
_Static_assert(POLICY_VGPUS_MAX == 256, "max_vgpus in the table has this upper bound");

const struct setting *config_key_at(size_t index)
{
	return index < ARRAY_SIZE(keys) ? &keys[index] : NULL;
}

/*
 * Returns the struct that contains the value of @key, and writes the title of its section. If
 * several sections contain @key, @index selects the section; NULL: past the last section.
 */
static const void *section_at(const struct config *config, const struct setting *key, int index,
			      char title[TITLE_MAX])
{
	const struct kind *kind = find_kind(key);

	if (!kind) {
		snprintf(title, TITLE_MAX, "%s", key->section);
		return index == 0 ? config : NULL;
	}
	if (index >= count_sections(kind, config))
		return NULL;
	snprintf(title, TITLE_MAX, "%s %s", kind->word, section_name(kind, config, index));
	return nth_section(kind, config, index);
}

void config_default(struct config *config)
{
	*config = (struct config){
		.socket = "/run/gover/gover.sock",
		.state_dir = "/var/lib/gover",
		.period_ms = 1000,
		.operate_group = "gover",
		.read_group = "gover-read",
		.anonymous = "off",
		.requests_per_s = 1000,
		.hook_timeout_s = 300,
		.webhook_timeout_s = 10,
		.update_s = 300,
		.notify = "warning",
		.runbook_url = "file:///usr/share/doc/gover/runbook/",
		.n_gpus = 1,
		.policy = "gover",
		.fund_window_s = 30,
		.offer = {.flavor = "default",
			  .flavor_cap_pct = 50,
			  .price_per_cap_hour = PRICE_UNSET,
			  .penalty_per_broken_s = PRICE_UNSET,
			  .price_per_move = PRICE_UNSET,
			  .max_vgpus = 16,
			  .ttl_s = 60,
			  .probation_s = 30,
			  .probation_broken_pct = 10},
		.fps_socket = "/run/gover/tenant/fps.sock",
		.retention = {.raw_hours = 24, .minute_days = 30, .hour_days = 730},
		.query_limit_s = 10,
	};
	kinds[KIND_GPU].set_default(&config->gpus[0], "gpu0");
	policy_params_default(&config->params);
	promise_limits_default(&config->promise);
}

static const struct setting *find_live(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].live && strcmp(keys[i].key, name) == 0)
			return &keys[i];
	return NULL;
}

int config_set_live(struct config *config, const char *key, const char *value, struct err *reterr)
{
	const struct setting *found = find_live(key);

	if (!found)
		return err_fail(reterr, ENOENT,
				"%.60s: not a key of [policy] or [offer] (only these keys can "
				"change while gover-d runs)",
				key);
	return setting_set(found, config, value, reterr);
}

int config_get_live(const struct config *config, const char *key, char *ret_text, size_t size)
{
	const struct setting *found = find_live(key);

	if (!found)
		return -ENOENT;
	setting_format(found, config, ret_text, size);
	return 0;
}

/* Prints the section whose first key is @key. */
static void print_section(const struct setting *key, const char *title, const void *base, FILE *out)
{
	const char *section = key->section;
	char text[PATH_MAX];

	fprintf(out, "[%s]\n", title);
	for (; key < keys + ARRAY_SIZE(keys) && strcmp(key->section, section) == 0; key++) {
		setting_format(key, base, text, sizeof(text));
		fprintf(out, "%s =%s%s\n", key->key, text[0] ? " " : "", text);
	}
}

void config_print(const struct config *config, FILE *out)
{
	const char *section = "", *gap = "";
	char title[TITLE_MAX];
	const void *base;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].section, section) == 0)
			continue;
		section = keys[i].section;
		for (int n = 0; (base = section_at(config, &keys[i], n, title)); n++) {
			fputs(gap, out);
			print_section(&keys[i], title, base, out);
			gap = "\n";
		}
	}
}

/* Returns the section of @config that has @title and contains @key; NULL: there is none. */
static const void *find_section(const struct config *config, const struct setting *key,
				const char *title)
{
	char other[TITLE_MAX];
	const void *base;

	for (int n = 0; (base = section_at(config, key, n, other)); n++)
		if (strcmp(other, title) == 0)
			return base;
	return NULL;
}

/* Compares each section of @from that contains @key with that of @to. */
static void compare_key(const struct config *from, const struct config *to,
			const struct setting *key, bool first,
			void (*differs)(void *userdata, const char *section, const char *key),
			void *userdata)
{
	char title[TITLE_MAX], was[PATH_MAX], is[PATH_MAX];
	const void *base, *other;

	for (int n = 0; (base = section_at(from, key, n, title)); n++) {
		other = find_section(to, key, title);
		if (!other && first)
			differs(userdata, title, "");
		if (!other)
			continue;
		setting_format(key, base, was, sizeof(was));
		setting_format(key, other, is, sizeof(is));
		if (strcmp(was, is) != 0)
			differs(userdata, title, key->key);
	}
	for (int n = 0; first && (base = section_at(to, key, n, title)); n++)
		if (!find_section(from, key, title))
			differs(userdata, title, "");
}

void config_compare(const struct config *from, const struct config *to,
		    void (*differs)(void *userdata, const char *section, const char *key),
		    void *userdata)
{
	const char *section = "";

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		bool first = strcmp(keys[i].section, section) != 0;

		section = keys[i].section;
		if (!keys[i].live)
			compare_key(from, to, &keys[i], first, differs, userdata);
	}
}

/* Returns the length of a period in seconds of GPU time: period_ms multiplied by speed. */
static double period_s(const struct config *config)
{
	double speed = config->n_gpus > 0 ? config->gpus[0].gpu.speed : 1;

	return config->period_ms / 1000.0 * speed;
}

struct policy_params config_policy_params(const struct config *config)
{
	struct policy_params params = config->params;
	double periods = round(config->fund_window_s / period_s(config));

	params.fund_window_periods = (int)fmax(1, fmin(periods, POLICY_WINDOW_MAX));
	if (config->offer.price_per_cap_hour >= 0)
		params.price_per_cap_hour = config->offer.price_per_cap_hour;
	if (config->offer.penalty_per_broken_s >= 0)
		params.penalty_per_broken_s = config->offer.penalty_per_broken_s;
	if (config->offer.price_per_move >= 0)
		params.price_per_move = config->offer.price_per_move;
	return params;
}

static int check_value(const struct setting *key, const char *text, struct err *reterr)
{
	struct setting alone = *key;
	union {
		max_align_t align;
		char bytes[PATH_MAX];
	} unused;

	alone.offset = 0;
	return setting_set(&alone, &unused, text, reterr);
}

/* Checks every value. Values from the command line need this check, too. */
static int check_table(const struct config *config, struct err *reterr)
{
	char text[PATH_MAX], title[TITLE_MAX];
	const void *base;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(keys); i++) {
		for (int n = 0; r == 0 && (base = section_at(config, &keys[i], n, title)); n++) {
			setting_format(&keys[i], base, text, sizeof(text));
			r = check_value(&keys[i], text, reterr);
		}
	}
	return r;
}

/* --- rules that concern more than one key --- */

static int check_gpu_names(const struct config *config, struct err *reterr)
{
	for (int a = 0; a < config->n_gpus; a++) {
		const char *name = config->gpus[a].gpu.name;

		if (!id_valid(name))
			return err_fail(reterr, EINVAL, "[gpu %.70s]: not a valid name of a GPU",
					name);
		for (int b = 0; b < a; b++)
			if (strcmp(config->gpus[b].gpu.name, name) == 0)
				return err_fail(reterr, EINVAL, "[gpu %s] is given twice", name);
	}
	return 0;
}

/* Returns true if a GPU has a backend of this kind. backend = auto selects one with devices. */
static bool is_kind(const struct gpu_config *gpu, enum gpu_kind kind)
{
	const struct gpu_backend *backend = gpu_backend_find(gpu->backend);

	return backend ? backend->kind == kind : kind == GPU_KIND_DEVICE;
}

static bool is_device(const struct gpu_backend *backend)
{
	return backend->kind == GPU_KIND_DEVICE;
}

static bool is_simulated(const struct gpu_backend *backend)
{
	return backend->kind == GPU_KIND_SIMULATED;
}

static bool counts_by_bpf(const struct gpu_backend *backend)
{
	return backend->bpf;
}

/* Returns true if the time of the GPU can be faster than that of the host. */
static bool may_be_simulated(const struct gpu_config *gpu)
{
	return is_kind(gpu, GPU_KIND_SIMULATED) ||
	       (gpu_backend_find(gpu->backend) && is_kind(gpu, GPU_KIND_DEVICE) && gpu->root[0]);
}

static int refuse_speed(const struct gpu_config *gpu, struct err *reterr)
{
	char simulated[GPU_BACKEND_LIST_MAX], devices[GPU_BACKEND_LIST_MAX];

	gpu_backend_list(is_simulated, simulated);
	gpu_backend_list(is_device, devices);
	return err_fail(reterr, EINVAL,
			"[gpu %s] speed = %g: not allowed with this backend (allowed: 1; above 1 "
			"only with backend = %s, or with backend = %s and a root created by "
			"gover-sim)",
			gpu->name, gpu->speed, simulated, devices);
}

/* All GPUs must have the same speed, because one period applies to all GPUs of the host. */
static int check_speeds(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (gpu->speed > 1 && !may_be_simulated(gpu))
			return refuse_speed(gpu, reterr);
		if (fabs(gpu->speed - config->gpus[0].gpu.speed) > 0)
			return err_fail(
				reterr, EINVAL,
				"[gpu %s] speed = %g: all GPUs must have the same speed (allowed: "
				"%g, the speed of [gpu %s])",
				gpu->name, gpu->speed, config->gpus[0].gpu.speed,
				config->gpus[0].gpu.name);
	}
	return 0;
}

static int check_period(const struct config *config, struct err *reterr)
{
	double window = config->fund_window_s / period_s(config);

	if (config->period_ms < 100 && (config->n_gpus == 0 || config->gpus[0].gpu.speed <= 1))
		return err_fail(
			reterr, EINVAL,
			"[daemon] period_ms = %d: too short (allowed: 100..10000 ms; 1..10000 ms "
			"if the speed of every GPU is above 1)",
			config->period_ms);
	if (window > POLICY_WINDOW_MAX)
		return err_fail(reterr, EINVAL,
				"[policy] fund_window_s = %d: too long, contains %.0f periods "
				"(allowed: up to %d periods)",
				config->fund_window_s, window, POLICY_WINDOW_MAX);
	return 0;
}

/*
 * Each tick renews the leases. A lease is at least two periods long, so that a late tick does not
 * let the lease expire.
 */
static int check_leases(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (gpu->lease_ms > 0 && gpu->lease_ms < 2 * config->period_ms)
			return err_fail(reterr, EINVAL,
					"[gpu %s] lease_ms = %d: too short (allowed: 0, or at "
					"least two periods of %d ms)",
					gpu->name, gpu->lease_ms, config->period_ms);
	}
	return 0;
}

/* A longer slice would make the smallest cap larger than half of the GPU. */
static int check_slices(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (gpu->least_slice_ms > gpu->longest_round_ms / 2)
			return err_fail(reterr, EINVAL,
					"[gpu %s] least_slice_ms = %d: too long (allowed: up to "
					"half of longest_round_ms = %d)",
					gpu->name, gpu->least_slice_ms, gpu->longest_round_ms);
	}
	return 0;
}

/* The kernel can count frames only for processes in a vGPU's control group. */
static int check_fps_sources(const struct config *config, struct err *reterr)
{
	char counting[GPU_BACKEND_LIST_MAX];

	gpu_backend_list(counts_by_bpf, counting);
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;
		const struct gpu_backend *backend = gpu_backend_find(gpu->backend);

		if (strcmp(config->gpus[g].fps_source, "bpf") == 0 && (!backend || !backend->bpf))
			return err_fail(reterr, EINVAL,
					"[gpu %s] fps_source = bpf: requires backend = %s, whose "
					"vGPUs are control groups (allowed with this backend: "
					"preload)",
					gpu->name, counting);
	}
	return 0;
}

/* A name that no GPU has would be a GPU that no program uses. */
static int check_parents(const struct config *config, struct err *reterr)
{
	char parent[GPU_PARENT_MAX];

	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (is_kind(gpu, GPU_KIND_OBSERVED) && gpu->parent[0] &&
		    drm_name_parse(gpu->parent, parent) < 0)
			return err_fail(reterr, EINVAL,
					"[gpu %s] parent = %s: unknown (allowed: %s)", gpu->name,
					gpu->parent, DRM_NAME_ALLOWED);
	}
	return 0;
}

/* Every other backend counts one unit only. */
static int check_units(const struct config *config, struct err *reterr)
{
	char simulated[GPU_BACKEND_LIST_MAX];

	gpu_backend_list(is_simulated, simulated);
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;

		if (strcmp(gpu->unit, "work") == 0 && !is_kind(gpu, GPU_KIND_SIMULATED))
			return err_fail(reterr, EINVAL,
					"[gpu %s] unit = work: only allowed with backend = %s "
					"(allowed with this backend: frames)",
					gpu->name, simulated);
	}
	return 0;
}

/* backend = auto is checked when the GPU is open, because its backend is known only then. */
static int check_sharing(const struct config *config, struct err *reterr)
{
	for (int g = 0; g < config->n_gpus; g++) {
		const struct gpu_config *gpu = &config->gpus[g].gpu;
		const struct gpu_backend *backend = gpu_backend_find(gpu->backend);

		if (!gpu_wants_guarantees(gpu))
			continue;
		if (backend && backend->hard_only)
			return err_fail(reterr, EINVAL,
					"[gpu %s] sharing = guarantee: not possible with backend = "
					"%s (allowed with this backend: auto or hard)",
					gpu->name, gpu->backend);
		if (config->params.paper_mode)
			return err_fail(reterr, EINVAL,
					"[gpu %s] sharing = guarantee: not possible with [policy] "
					"paper_mode = on, because the caps of the paper are hard "
					"limits (allowed: auto or hard)",
					gpu->name);
	}
	return 0;
}

/* True if both sockets have the same name for programs, or the control socket of @a is that of @b.
 */
static bool sockets_clash(const char *a, const char *b, bool a_has_control)
{
	char name_a[PATH_MAX], name_b[PATH_MAX];
	size_t n;

	unix_listener_name(a, name_a);
	unix_listener_name(b, name_b);
	n = strlen(name_a);
	return strncmp(name_a, name_b, n) == 0 &&
	       (name_b[n] == '\0' ||
		(a_has_control && strcmp(name_b + n, COMPUTE_CONTROL_SUFFIX) == 0));
}

static int check_sockets(const struct config *config, struct err *reterr)
{
	if (sockets_clash(config->fps_socket, config->socket, false))
		return err_fail(reterr, EINVAL,
				"[fps] socket = %s: must differ from the socket of [daemon]",
				config->fps_socket);
	return 0;
}

static bool has_arbiter(const struct gpu_config *gpu)
{
	const struct gpu_backend *backend = gpu_backend_find(gpu->backend);

	return backend && backend->arbiter;
}

static int check_arbiters(const struct config *config, struct err *reterr)
{
	for (int a = 0; a < config->n_gpus; a++) {
		const struct gpu_config *gpu = &config->gpus[a].gpu;

		if (!has_arbiter(gpu))
			continue;
		if (sockets_clash(gpu->socket, config->socket, true) ||
		    sockets_clash(gpu->socket, config->fps_socket, true))
			return err_fail(reterr, EINVAL,
					"[gpu %s] socket = %s: must differ from the sockets of "
					"[daemon] and [fps]",
					gpu->name, gpu->socket);
		for (int b = 0; b < config->n_gpus; b++)
			if (a != b && has_arbiter(&config->gpus[b].gpu) &&
			    sockets_clash(gpu->socket, config->gpus[b].gpu.socket, true))
				return err_fail(reterr, EINVAL,
						"[gpu %s] socket = %s: also used by [gpu %s] "
						"(allowed: another socket)",
						gpu->name, gpu->socket, config->gpus[b].gpu.name);
	}
	return 0;
}

/* Tokens must not cross a network unencrypted. */
static int check_tls(const struct config *config, struct err *reterr)
{
	const char *listen = config->listen;

	if ((config->tls_certificate[0] == '\0') != (config->tls_key[0] == '\0'))
		return err_fail(reterr, EINVAL,
				"[daemon] %s is set without %s (allowed: both or neither)",
				config->tls_key[0] ? "tls_key" : "tls_certificate",
				config->tls_key[0] ? "tls_certificate" : "tls_key");
	if (listen[0] == '\0' || config->tls_certificate[0] || strncmp(listen, "127.", 4) == 0 ||
	    strncmp(listen, "[::1]:", 6) == 0)
		return 0;
	return err_fail(reterr, EINVAL,
			"[daemon] listen = %s: an address other than loopback requires TLS (set "
			"tls_certificate and tls_key, or listen on 127.0.0.1 or [::1])",
			listen);
}

/* Client certificates need the CAs, TLS, and at least one section that gives rights. */
static int check_client_ca(const struct config *config, struct err *reterr)
{
	const char *ca = config->tls_client_ca;

	if (ca[0] && !config->tls_certificate[0])
		return err_fail(reterr, EINVAL,
				"[daemon] tls_client_ca = %s: requires TLS (set tls_certificate "
				"and tls_key)",
				ca);
	if (ca[0] && config->n_clients == 0)
		return err_fail(reterr, EINVAL,
				"[daemon] tls_client_ca = %s: no certificate has rights (add a "
				"section [client NAME] with its subject)",
				ca);
	if (!ca[0] && config->n_clients > 0)
		return err_fail(reterr, EINVAL,
				"[client %s]: requires tls_client_ca of [daemon], the CAs of the "
				"client certificates",
				config->clients[0].name);
	return 0;
}

static int check_clients(const struct config *config, struct err *reterr)
{
	for (int a = 0; a < config->n_clients; a++) {
		const struct client_section *client = &config->clients[a];

		if (client->subject[0] == '\0')
			return err_fail(reterr, EINVAL,
					"[client %s] subject: required (allowed: a name such as "
					"CN=prometheus,O=Example)",
					client->name);
		for (int b = 0; b < a; b++)
			if (strcmp(client->subject, config->clients[b].subject) == 0)
				return err_fail(
					reterr, EINVAL,
					"[client %s] subject = %s: also used by [client %s]",
					client->name, client->subject, config->clients[b].name);
	}
	return 0;
}

static int check_flavor(const struct config *config, struct err *reterr)
{
	int cap_pct = config->offer.flavor_cap_pct, pct;
	const char *key = policy_params_above_flavor(&config->params, cap_pct, &pct);

	if (!key)
		return 0;
	return err_fail(reterr, EINVAL,
			"[policy] %s = %d: too large (allowed: up to [offer] flavor_cap_pct = %d)",
			key, pct, cap_pct);
}

/* Writes the path of the control group of a GPU: ROOT/NAME. */
static void group_of(const struct gpu_config *gpu, char ret_group[PATH_MAX + ID_MAX])
{
	snprintf(ret_group, PATH_MAX + ID_MAX, "%s/%s", gpu->root[0] ? gpu->root : "gover",
		 gpu->name);
}

/* A GPU has one driver, so it belongs to one of the backends with devices. */
static bool may_have_same_driver(const struct gpu_config *one, const struct gpu_config *other)
{
	return strcmp(one->backend, other->backend) == 0 || strcmp(one->backend, "auto") == 0 ||
	       strcmp(other->backend, "auto") == 0;
}

/* An address can be written in several ways. */
static bool is_same_parent(const char *one, const char *other)
{
	char a[GPU_PARENT_MAX], b[GPU_PARENT_MAX];

	return strcmp(one, other) == 0 ||
	       (drm_name_parse(one, a) == 0 && drm_name_parse(other, b) == 0 && strcmp(a, b) == 0);
}

static bool are_kind(const struct gpu_config *one, const struct gpu_config *other,
		     enum gpu_kind kind)
{
	return is_kind(one, kind) && is_kind(other, kind);
}

/*
 * Returns true if the values of the key "root" of two GPUs conflict. The control group of a GPU
 * must not be inside that of another GPU.
 */
static bool roots_clash(const struct gpu_config *inner, const struct gpu_config *outer)
{
	char in[PATH_MAX + ID_MAX], out[PATH_MAX + ID_MAX];

	/* two sections must not name the same GPU of the host */
	if (are_kind(inner, outer, GPU_KIND_DEVICE))
		return may_have_same_driver(inner, outer) &&
		       strcmp(inner->root, outer->root) == 0 &&
		       (!inner->parent[0] || !outer->parent[0] ||
			strcmp(inner->parent, outer->parent) == 0);
	if (are_kind(inner, outer, GPU_KIND_SIMULATED))
		return inner->root[0] && /* each GPU needs its own directory */
		       strcmp(inner->root, outer->root) == 0;
	/* the same control groups on the same GPU */
	if (are_kind(inner, outer, GPU_KIND_OBSERVED))
		return strcmp(inner->root, outer->root) == 0 &&
		       is_same_parent(inner->parent, outer->parent);
	if (!are_kind(inner, outer, GPU_KIND_GROUP))
		return false;
	group_of(inner, in);
	group_of(outer, out);
	return strncmp(in, out, strlen(out)) == 0 && in[strlen(out)] == '/';
}

static int check_roots(const struct config *config, struct err *reterr)
{
	for (int a = 0; a < config->n_gpus; a++) {
		const struct gpu_config *gpu = &config->gpus[a].gpu;

		if (is_kind(gpu, GPU_KIND_GROUP) && gpu->root[0] == '/')
			return err_fail(
				reterr, EINVAL,
				"[gpu %s] root = %s: not a relative path (allowed: a control group "
				"such as gover or a/b)",
				gpu->name, gpu->root);
		for (int b = 0; b < config->n_gpus; b++)
			if (a != b && roots_clash(gpu, &config->gpus[b].gpu))
				return err_fail(
					reterr, EINVAL,
					"[gpu %s] root = %s: also used by [gpu %s] (allowed: "
					"another root%s)",
					gpu->name, gpu->root, config->gpus[b].gpu.name,
					is_kind(gpu, GPU_KIND_DEVICE) ||
							is_kind(gpu, GPU_KIND_OBSERVED)
						? " or parent"
						: "");
	}
	return 0;
}

static int check_promise_windows(const struct config *config, struct err *reterr)
{
	const struct promise_limits *limits = &config->promise;

	if (limits->slow_window_s >= limits->fast_window_s)
		return 0;
	return err_fail(reterr, EINVAL,
			"[alerts] promise_slow_window_s = %g: shorter than promise_fast_window_s "
			"(allowed: %g..86400 s)",
			limits->slow_window_s, limits->fast_window_s);
}

static int (*const checks[])(const struct config *config, struct err *reterr) = {
	check_table,	check_gpu_names,       check_speeds,  check_period,	 check_leases,
	check_slices,	check_sockets,	       check_tls,     check_client_ca,	 check_clients,
	check_flavor,	flavor_check,	       check_roots,   check_fps_sources, check_units,
	check_arbiters, check_promise_windows, check_sharing, check_parents,
};

int config_check(const struct config *config, struct err *reterr)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(checks); i++)
		r = checks[i](config, reterr);
	return r;
}

/* Does the same as config_check(), but calls @fault for every check that fails. */
static void check_all(const struct config *config, void (*fault)(void *userdata, const char *text),
		      void *userdata)
{
	struct err err;

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (checks[i](config, &err) < 0)
			fault(userdata, err.msg);
}

/* --- files --- */

/*
 * Limit of stored places: the positions of keys and faults in the files. In a configuration with
 * more keys and faults, a fault may be reported without a line.
 */
#define PLACES_MAX 1024

/* The sections of one kind that the files contain. */
struct named_sections {
	bool replaced; /* a section of a file has replaced the default sections */
	/* for each section: number of the last file that contains the section */
	int file[SECTIONS_MAX];
};

struct place {
	char title[TITLE_MAX], key[32]; /* @key is "" for the place of a fault */
	const char *file;
	int line;
};

struct file_name {
	struct file_name *next;
	char path[];
};

struct loader {
	struct config *config;
	struct named_sections named[KINDS];
	int file;	       /* number of the current file, from 1 */
	const char *path;      /* path of the current file */
	char title[TITLE_MAX]; /* title of the current section */
	/* NULL: stops at the first fault. The members below are then not used. */
	const struct config_faults *faults;
	struct file_name *files; /* the files read so far */
	struct place *places;
	int n_places, n_faults;
};

static int enter_named(struct loader *l, const struct kind *kind, const char *name, void **ret_base,
		       struct err *reterr)
{
	struct named_sections *s = &l->named[kind - kinds];
	int n, i = 0;

	if (!id_valid(name))
		return err_fail(reterr, EINVAL,
				"[%s %.70s]: not a valid name of %s (allowed: 1 to %d characters "
				"of A-Z a-z 0-9 . _ - not starting with . or -)",
				kind->word, name, kind->noun, ID_MAX - 1);
	n = s->replaced ? count_sections(kind, l->config) : 0;
	s->replaced = true;
	while (i < n && strcmp(section_name(kind, l->config, i), name) != 0)
		i++;
	if (i == kind->max)
		return err_fail(reterr, EINVAL, "[%s %s]: too many sections (allowed: up to %d)",
				kind->word, name, kind->max);
	if (i < n && s->file[i] == l->file)
		return err_fail(reterr, EINVAL, "[%s %s] is given twice", kind->word, name);
	*ret_base = (char *)l->config + kind->list_at + (size_t)i * kind->size;
	if (i == n)
		kind->set_default(*ret_base, name);
	*(int *)(void *)((char *)l->config + kind->n_at) = i == n ? n + 1 : n;
	s->file[i] = l->file;
	return 0;
}

static int enter_section(void *userdata, const struct setting *first, const char *name, int line,
			 void **ret_base, struct err *reterr)
{
	struct loader *l = userdata;
	const struct kind *kind = find_kind(first);

	(void)line;
	if (kind && kind->default_name && name[0] == '\0')
		name = kind->default_name;
	snprintf(l->title, sizeof(l->title), "%.*s%s%s", (int)strcspn(first->section, " "),
		 first->section, name ? " " : "", name ? name : "");
	if (kind)
		return enter_named(l, kind, name, ret_base, reterr);
	*ret_base = l->config;
	return 0;
}

static void remember_place(struct loader *l, int line, const char *key)
{
	int n = l->n_places;

	if (n == PLACES_MAX)
		return;
	if ((n & (n - 1)) == 0) /* full: the size is the next power of two */
		l->places = xreallocarray(l->places, n ? 2 * (size_t)n : 1, sizeof(*l->places));
	l->places[n] = (struct place){.file = l->path, .line = line};
	memcpy(l->places[n].title, l->title, sizeof(l->title));
	snprintf(l->places[n].key, sizeof(l->places[n].key), "%s", key);
	l->n_places++;
}

static void report(struct loader *l, const char *file, int line, const char *text)
{
	l->n_faults++;
	l->faults->fault(l->faults->userdata, file, line, text);
}

static void take_fault(void *userdata, int line, const char *why)
{
	struct loader *l = userdata;

	remember_place(l, line, "");
	report(l, l->path, line, why);
}

static void take_key(void *userdata, const struct setting *setting, int line)
{
	remember_place(userdata, line, setting->key);
}

/* Makes @path, a file or a folder, the current file. */
static void enter_file(struct loader *l, const char *path)
{
	size_t size = strlen(path) + 1;
	struct file_name *name;

	l->file++;
	l->path = path;
	l->title[0] = '\0';
	if (!l->faults)
		return;
	name = xmalloc(sizeof(*name) + size);
	memcpy(name->path, path, size);
	name->next = l->files;
	l->files = name;
	l->path = name->path;
}

static int read_file(struct loader *l, const char *path, struct err *reterr)
{
	const struct inifile_reader reader = {
		.at = config_key_at,
		.userdata = l,
		.enter = enter_section,
		.fault = l->faults ? take_fault : NULL,
		.seen = l->faults ? take_key : NULL,
	};
	struct err why = {.msg = ""};
	int r;

	enter_file(l, path);
	if (l->faults && l->faults->file)
		l->faults->file(l->faults->userdata, path);
	r = inifile_read(path, FILE_BYTES_MAX, &reader, &why);
	l->title[0] = '\0';
	/*
	 * Faults in a line were reported through take_fault(). This message concerns the whole file
	 * and starts with "PATH: ".
	 */
	if (r < 0 && l->faults && why.msg[0])
		take_fault(l, 0, why.msg + strlen(path) + strlen(": "));
	return r < 0 ? err_fail(reterr, -r, "%s", why.msg) : 0;
}

static int is_drop_in(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && strcmp(dot, ".conf") == 0;
}

/*
 * Reads all drop-ins in the order of their names. Stops at the first fault; with l->faults,
 * continues after a fault.
 */
static int read_drop_ins(struct loader *l, const char *path, struct err *reterr)
{
	char folder[PATH_MAX], file[PATH_MAX + NAME_MAX + 2];
	struct dirent **entries = NULL;
	int n, r = 0;

	if (snprintf(folder, sizeof(folder), "%s.d", path) >= (int)sizeof(folder))
		return 0;
	n = scandir(folder, &entries, is_drop_in, alphasort);
	if (n < 0 && errno != ENOENT && errno != ENOTDIR) {
		n = errno;
		enter_file(l, folder);
		if (l->faults)
			take_fault(l, 0, strerror(n));
		return err_fail(reterr, n, "%s: cannot be read: %s", folder, strerror(n));
	}
	for (int i = 0; i < n; i++) {
		int one = 0;

		snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name);
		if (r == 0 || l->faults)
			one = read_file(l, file, reterr);
		r = r < 0 ? r : one;
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int load(struct loader *l, const char *path, struct err *reterr)
{
	const char *main_file = path ? path : CONFIG_PATH_DEFAULT;
	int r = 0, drop_ins = 0;

	if (path || access(main_file, F_OK) == 0)
		r = read_file(l, main_file, reterr);
	if (r == 0 || l->faults)
		drop_ins = read_drop_ins(l, main_file, reterr);
	return r < 0 ? r : drop_ins;
}

int config_load(struct config *config, const char *path, struct err *reterr)
{
	CLEANUP_FREE struct config *copy = xmalloc(sizeof(*copy));
	struct loader l = {.config = copy};
	int r;

	*copy = *config;
	r = load(&l, path, reterr);
	if (r < 0)
		return r;
	*config = *copy;
	return 0;
}

/* --- faults of rules about several keys --- */

/*
 * @text is the message of a rule about several keys. Returns true if another fault may be the cause
 * of this message: a fault in a section that @text names, in [daemon], or before the first section.
 */
static bool is_doubtful(const struct loader *l, const char *text)
{
	char title[TITLE_MAX + 2];

	for (int i = 0; i < l->n_places; i++) {
		if (l->places[i].key[0])
			continue;
		snprintf(title, sizeof(title), "[%s]", l->places[i].title);
		if (strstr(text, title) || strcmp(title, "[daemon]") == 0 || title[1] == ']')
			return true;
	}
	return false;
}

/*
 * Returns the last place that sets the key named at the start of @text ("[TITLE] KEY = ..."); NULL:
 * unknown.
 */
static const struct place *find_place(const struct loader *l, const char *text)
{
	const struct place *found = NULL;
	char head[TITLE_MAX + sizeof(((struct place *)NULL)->key) + 4];

	for (int i = 0; i < l->n_places; i++) {
		const struct place *place = &l->places[i];

		snprintf(head, sizeof(head), "[%s] %s ", place->title, place->key);
		if (place->key[0] && strncmp(text, head, strlen(head)) == 0)
			found = place;
	}
	return found;
}

static void take_check(void *userdata, const char *text)
{
	struct loader *l = userdata;
	const struct place *place = find_place(l, text);

	if (!is_doubtful(l, text))
		report(l, place ? place->file : NULL, place ? place->line : 0, text);
}

int config_find_faults(const char *path, const struct config_faults *faults)
{
	CLEANUP_FREE struct config *config = xmalloc(sizeof(*config));
	struct loader l = {.config = config, .faults = faults};
	struct file_name *next;

	config_default(config);
	(void)load(&l, path, NULL); /* the faults are reported */
	check_all(config, take_check, &l);
	for (; l.files; l.files = next) {
		next = l.files->next;
		free(l.files);
	}
	free(l.places);
	return l.n_faults;
}
