/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for the daemon, for the tests of REST. Its manager has a real host, alerts, offers,
 * decisions, configuration, database and worker. Its versions of the functions of control.h make
 * only the changes that replies show, and fail if the test sets manager->fail. A change is in
 * progress until stand_in_save(). Include this header once in a program.
 */
#ifndef TESTS_UNIT_GOVER_D_API_TEST_API_H
#define TESTS_UNIT_GOVER_D_API_TEST_API_H
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/api/api.h"
#include "gover-d/api/request.h"
#include "gover-d/auth/authn.h"
#include "gover-d/cap/frames.h"
#include "gover-d/change/control.h"
#include "gover-d/config/config.h"
#include "gover-d/manager/view.h"
#include "gover-d/model/decisions.h"
#include "gover-d/model/host.h"
#include "gover-d/record/history.h"
#include "gover-d/sale/offers.h"
#include "gover-d/sale/selling.h"
#include "gover-d/tick/ledger.h"
#include "gover-d/util/hook.h"
#include "tests/unit/gover-d/fake-backend.h"
#include "tests/unit/quoted-json.h"

struct gpu_vgpu {
	int unused;
};

struct manager {
	struct host host;
	struct fleet fleet;
	struct config config, file_config;
	json_t *restart_keys; /* NULL: none */
	struct decisions *decisions;
	struct alerts *alerts;
	struct offers *offers;
	struct settings settings;
	struct sales sales;
	struct silences silences;
	struct hook_stats hook_stats[HOOKS];
	struct webhook_stats webhook_stats;
	struct history history;
	struct frames frames;
	struct view view;
	uint64_t generation;
	int fail; /* result of the functions of control.h; 0: success */
	/* Arguments of the last successful change. */
	unsigned int fields;
	struct contract values; /* the labels are borrowed: do not free them */
	enum gpu_mode mode;
	bool mode_given, selling, selling_given;
	char key[128];
	struct fleet_migration migration;
	int changes, ledger_kept;
	/* the change in progress; apply NULL: none */
	struct stand_in_change {
		void (*apply)(struct manager *m, struct stand_in_change *change);
		struct change_done done;
		char id[ID_MAX];
		int64_t number;
		unsigned int fields;
		struct contract contract; /* owns its labels */
		const enum gpu_mode *mode;
		const bool *selling;
		enum gpu_mode mode_value;
		bool selling_value;
		struct db_silence silence;
		struct offer_hold hold;
		struct config config;
	} change;
	int save_result; /* result of starting a save; 0: success */
};

static struct manager *manager;
static struct recorder no_recorder;
static struct store no_store = {.recorder = &no_recorder}; /* contains the rows of the audit log */
static struct changes no_changes = {.store = &no_store};
static struct authn *authn;
static struct api *api;
static struct gpu_vgpu device;
static struct webhook {
	int unused;
} webhook;

static void stand_in_detach(struct gpu_vgpu *vgpu)
{
	assert_ptr_equal(vgpu, &device);
}

static int stand_in_places(struct gpu *gpu, const char *id, gpu_path_fn path, void *userdata)
{
	char text[128];

	(void)gpu;
	snprintf(text, sizeof(text), "/sys/fs/cgroup/gover/%s/cgroup.procs", id);
	path(userdata, text);
	return 0;
}

static const struct gpu_ops stand_in_ops = {
	.name = "softgpu",
	.detach = stand_in_detach,
	.processes.places = stand_in_places,
};
static struct gpu {
	int unused;
} stand_in_gpu;

static int fail_as_wanted(struct err *err)
{
	return err_condition(err, manager->fail, "refused: wanted by the test");
}

static struct vgpu *stand_in_vgpu(const struct contract *contract)
{
	struct vgpu *vgpu = calloc(1, sizeof(*vgpu));

	assert_non_null(vgpu);
	vgpu->contract = *contract;
	vgpu->device = &device;
	vgpu->cap.pct = vgpu->cap.expected_pct = contract->terms.initial_cap_pct;
	host_gpu_insert(&manager->host.gpus[0], vgpu);
	return vgpu;
}

static inline bool change_in_progress(const struct manager *m)
{
	return m->change.apply;
}

bool change_conflicts(const struct changes *changes, const struct change_subject *subject)
{
	(void)changes;
	(void)subject;
	return manager->change.apply;
}

/* Begins @change, which stand_in_save() ends. */
static int begin_change(struct manager *m, struct stand_in_change *change, struct change_done done,
			struct err *reterr)
{
	if (m->change.apply || m->save_result < 0)
		contract_fini(&change->contract);
	if (m->change.apply)
		return -EBUSY;
	if (m->save_result < 0)

		return err_condition(reterr, CONTROL_E_NOT_STORED, "cannot be written (%s)",
				     strerror(-m->save_result));
	m->change = *change;
	m->change.done = done;
	return 0;
}

static void apply_add(struct manager *m, struct stand_in_change *change)
{
	m->fields = change->fields;
	m->values = change->contract;
	(void)stand_in_vgpu(&change->contract);
	change->contract.labels = NULL;
}

/* Stores the owner and the text of the key of a request. */
static void note_key(const struct control_key *key)
{
	assert_non_null(key->body);
	snprintf(manager->key, sizeof(manager->key), "%s %s", key->owner,
		 key->given ? key->given : "");
}

int control_vgpu_add(struct changes *changes, const struct control_key *key, unsigned int fields,
		     struct contract *contract, struct change_done done, struct err *reterr)
{
	struct stand_in_change change = {.apply = apply_add, .fields = fields};
	int r = 0;

	(void)changes;
	note_key(key);
	if (manager->fail)
		r = fail_as_wanted(reterr);
	else if (host_find_vgpu(&manager->host, contract->id, NULL))
		r = err_condition(reterr, CONTROL_E_EXISTS, "vGPU %s already has a contract",
				  contract->id);
	if (!contract->gpu[0])
		strcpy(contract->gpu, "gpu0");
	if (r == 0 && !host_find_gpu(&manager->host, contract->gpu))
		r = err_condition(reterr, CONTROL_E_INVALID, "no GPU %s on this host",
				  contract->gpu);
	if (r != 0) {
		contract_fini(contract);
		return r;
	}
	change.contract = *contract;
	contract->labels = NULL;
	return begin_change(manager, &change, done, reterr);
}

static void apply_change(struct manager *m, struct stand_in_change *change)
{
	struct vgpu *vgpu = host_find_vgpu(&m->host, change->id, NULL);

	m->fields = change->fields;
	m->values = change->contract;
	if (change->fields & CONTRACT_TARGET_FPS)
		vgpu->contract.terms.target_fps = change->contract.terms.target_fps;
}

int control_vgpu_change(struct changes *changes, const char *id, unsigned int fields,
			const struct contract *values, struct change_done done, struct err *reterr)
{
	struct stand_in_change change = {
		.apply = apply_change, .fields = fields, .contract = *values};

	(void)changes;
	if (manager->fail)
		return fail_as_wanted(reterr);
	strcpy(change.id, id);
	change.contract.labels = NULL;
	return begin_change(manager, &change, done, reterr);
}

static void apply_removal(struct manager *m, struct stand_in_change *change)
{
	struct host_gpu *gpu;
	struct vgpu *vgpu = host_find_vgpu(&m->host, change->id, &gpu);

	host_gpu_remove(gpu, vgpu);
	vgpu_free(gpu, vgpu);
}

int control_vgpu_remove(struct changes *changes, const char *id, struct change_done done,
			struct err *reterr)
{
	struct stand_in_change change = {.apply = apply_removal};

	(void)changes;
	if (manager->fail)
		return fail_as_wanted(reterr);
	if (!host_find_vgpu(&manager->host, id, NULL))
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host", id);
	strcpy(change.id, id);
	return begin_change(manager, &change, done, reterr);
}

static void apply_gpu(struct manager *m, struct stand_in_change *change)
{
	m->mode_given = change->mode;
	m->selling_given = change->selling;
	if (change->mode)
		m->host.gpus[0].mode = change->mode_value;
	if (change->selling)
		m->host.gpus[0].selling = change->selling_value;
}

int control_gpu_change(struct changes *changes, const char *name, const enum gpu_mode *mode,
		       const bool *selling, struct change_done done, struct err *reterr)
{
	struct stand_in_change change = {.apply = apply_gpu, .mode = mode, .selling = selling};

	(void)changes;
	if (manager->fail)
		return fail_as_wanted(reterr);
	assert_string_equal(name, "gpu0");
	change.mode_value = mode ? *mode : GPU_MODE_ACT;
	change.selling_value = selling && *selling;
	return begin_change(manager, &change, done, reterr);
}

#include "tests/unit/gover-d/api/test-api-offer.h"
#include "tests/unit/unit.h"

static void apply_ack(struct manager *m, struct stand_in_change *change)
{
	assert_int_equal(alerts_ack(m->alerts, change->number, "uid 0", clock_now().wall_ms), 0);
}

int control_alert_ack(struct changes *changes, int64_t id, const char *by, struct change_done done,
		      struct err *reterr)
{
	struct stand_in_change change = {.apply = apply_ack, .number = id};

	(void)changes;
	assert_string_not_equal(by, "");
	for (size_t i = 0; i < alerts_count(manager->alerts); i++)
		if (alerts_at(manager->alerts, i)->id == id)
			return begin_change(manager, &change, done, reterr);
	return err_condition(reterr, CONTROL_E_NOT_FOUND, "no alert %d", (int)id);
}

void webhook_stats(struct webhook *w, struct webhook_stats *ret_stats)
{
	assert_ptr_equal(w, &webhook);
	*ret_stats = manager->webhook_stats;
}

static void apply_silence(struct manager *m, struct stand_in_change *change)
{
	assert_int_equal(silences_add(&m->silences, &change->silence), 0);
}

int control_silence_add(struct changes *changes, const struct db_silence *silence,
			struct change_done done, struct err *reterr)
{
	struct stand_in_change change = {.apply = apply_silence, .silence = *silence};

	(void)changes;
	return begin_change(manager, &change, done, reterr);
}

static void apply_silence_removal(struct manager *m, struct stand_in_change *change)
{
	(void)silences_remove(&m->silences, change->number, &change->silence);
}

int control_silence_remove(struct changes *changes, int64_t id, struct change_done done,
			   struct err *reterr)
{
	struct stand_in_change change = {.apply = apply_silence_removal, .number = id};

	(void)changes;
	for (int i = 0; i < manager->silences.n; i++)
		if (manager->silences.list[i].id == id)
			return begin_change(manager, &change, done, reterr);
	return err_condition(reterr, CONTROL_E_NOT_FOUND, "no silence %lld", (long long)id);
}

static void apply_policy(struct manager *m, struct stand_in_change *change)
{
	m->config = change->config;
}

int control_policy_change(struct changes *changes, json_t *object, struct change_done done,
			  struct err *reterr)
{
	struct stand_in_change change = {.apply = apply_policy, .config = manager->config};
	const char *key;
	json_t *value;

	(void)changes;
	json_object_foreach (object, key, value) {
		CLEANUP_FREE char *text = json_dumps(value, JSON_ENCODE_ANY);

		if (config_set_live(&change.config, key, text, reterr) < 0)
			return CONTROL_E_INVALID;
	}
	return begin_change(manager, &change, done, reterr);
}

void ledger_flush(struct tick *tick)
{
	(void)tick;
	manager->ledger_kept++;
}

static void ignore_alert(void *userdata, const struct alert *alert, enum alert_event event)
{
	(void)userdata;
	(void)alert;
	(void)event;
}

static void ignore_offer(void *userdata, const struct offer *offer)
{
	(void)userdata;
	(void)offer;
}

/*
 * Ends the change in progress, and then the changes of the requests that waited for its end.
 * @result: the result of each save.
 */
static inline void stand_in_save(int result)
{
	while (manager->change.apply) {
		struct stand_in_change change = manager->change;
		struct err err = {""};
		int r = 0;

		manager->change.apply = NULL;
		if (result < 0) {
			r = err_condition(&err, CONTROL_E_NOT_STORED, "cannot be written (%s)",
					  strerror(-result));
		} else {
			manager->changes++;
			change.apply(manager, &change);
		}
		contract_fini(&change.contract);
		change.done.call(change.done.userdata, r, &err);
	}
}

/* One GPU with vGPU "a" and an open offer. */
static inline int stand_in_begin(void)
{
	struct contract contract = {
		.id = "a",
		.gpu = "gpu0",
		.vm = "vm-a",
		.terms = {.initial_cap_pct = 50, .target_fps = 60, .weight = 1},
		.labels = json_pack("{s:s}", "tier", "gold"),
		.created_ms = 1000,
	};
	const struct offer_flavor half = {
		"half", {.initial_cap_pct = 50, .weight = 1}, .fundable_pct = 40};
	struct host_gpu *gpu;

	manager = calloc(1, sizeof(*manager));
	assert_non_null(manager);
	config_default(&manager->config);
	manager->file_config = manager->config;
	manager->host.started = clock_now();
	manager->host.n_gpus = 1;
	gpu = &manager->host.gpus[0];
	strcpy(gpu->config.name, "gpu0");
	fake_backend_add(gpu, &stand_in_ops, &stand_in_gpu);
	gpu->traits = (struct gpu_traits){.step_pct = 1, .floor_pct = 1, .creates = true};
	gpu->selling = true;
	gpu->util_pct = NAN;
	(void)stand_in_vgpu(&contract);
	manager->decisions = decisions_new(0);
	manager->alerts = alerts_new(0, ignore_alert, NULL);
	manager->offers = offers_new(0, ignore_offer, NULL);
	assert_non_null(offers_open(manager->offers, "gpu0", &half, 1, 60, clock_now()));
	manager->settings.config = manager->config;
	manager->sales = (struct sales){
		.offers = manager->offers,
		.alerts = manager->alerts,
		.settings = &manager->settings,
		.host = &manager->host,
	};
	manager->view = (struct view){
		.host = &manager->host,
		.fleet = &manager->fleet,
		.config = &manager->config,
		.file_config = &manager->file_config,
		.restart_keys = &manager->restart_keys,
		.decisions = manager->decisions,
		.alerts = manager->alerts,
		.silences = &manager->silences,
		.offers = manager->offers,
		.sales = &manager->sales,
		.history = &manager->history,
		.frames = &manager->frames,
		.hook_stats = manager->hook_stats,
		.generation = &manager->generation,
	};
	authn = authn_new();
	assert_non_null(authn);
	api = api_new(&no_changes, &manager->view, authn);
	assert_non_null(api);
	return 0;
}

static inline int stand_in_end(void)
{
	struct host_gpu *gpu = &manager->host.gpus[0];

	stand_in_save(0);
	api = api_free(api);
	authn = authn_free(authn);
	while (gpu->vgpus) {
		struct vgpu *vgpu = gpu->vgpus;

		host_gpu_remove(gpu, vgpu);
		vgpu_free(gpu, vgpu);
	}
	gpu_io_free(gpu->io);
	offers_free(manager->offers);
	alerts_free(manager->alerts);
	decisions_free(manager->decisions);
	free(manager);
	return 0;
}

static inline struct vgpu *stand_in_find(const char *id)
{
	return host_find_vgpu(&manager->host, id, NULL);
}

/* --- requests without a transport --- */

/* Headers and principal of the next requests, and the result of their saves. */
static const char *ask_if_match, *ask_if_none_match, *ask_accept_encoding, *ask_content_encoding,
	*ask_key, *ask_principal = "root", *ask_type = "application/json";
static int ask_saved;

static inline void tick_api(void)
{
	api_observer.tick(api, &manager->host, /* gap= */ false, clock_now());
}

/* Adds a decision and reports it to the API, as record_add() does. */
static inline void add_decided(const struct decision *decision)
{
	api_observer.decision(api, decisions_add(manager->decisions, decision));
}

/* Sends a request such as "GET /v1/alerts?all=true" with @body (NULL: none). The reply is valid
 * until the next call. */
static inline const struct api_reply *ask(const char *line, const char *body)
{
	static struct api_request request;
	static char text[512];
	char *at;

	api_request_fini(&request);
	snprintf(text, sizeof(text), "%s", line);
	request = (struct api_request){
		.method = strtok(text, " "),
		.path = strtok(NULL, "?"),
		.content_type = body ? ask_type : NULL,
		.content_encoding = ask_content_encoding,
		.body = body,
		.body_length = body ? strlen(body) : 0,
		.principal = {.from = "pid 1", .scope = ACCESS_ADMIN},
	};
	strcpy(request.principal.name, ask_principal);
	while ((at = strtok(NULL, "&="))) {
		request.query[request.n_query].name = at;
		at = strtok(NULL, "&=");
		request.query[request.n_query++].value = at ? at : "";
	}
	request.if_match = ask_if_match;
	request.if_none_match = ask_if_none_match;
	request.accept_encoding = ask_accept_encoding;
	request.idempotency_key = ask_key;
	api_serve(api, &request);
	if (request.deferred)
		stand_in_save(ask_saved);
	assert_null(request.deferred);
	api_request_count(&request);
	return &request.reply;
}

/* Returns the document of the reply, which must have @status; the caller frees it. */
static inline json_t *ask_json(const char *line, const char *body, unsigned int status)
{
	const struct api_reply *reply = ask(line, body);
	json_t *document;

	if (reply->status != status)
		print_error("%s: %u %s\n", line, reply->status,
			    reply->text ? reply->text->data : "");
	assert_int_equal(reply->status, status);
	assert_non_null(reply->text);
	document = json_loads(reply->text->data, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(document);
	return document;
}

/* Checks that the reply has @status and a document that contains @quoted (quoted-json.h). */
static inline void expect_reply(const char *line, const char *body, unsigned int status,
				const char *quoted)
{
	json_t *document = ask_json(line, body, status);

	expect_json(document, quoted);
	json_decref(document);
}

/* Checks that the reply is a problem document with @status, and that its detail contains @words. */
static inline void assert_problem(const char *line, const char *body, unsigned int status,
				  const char *words)
{
	json_t *problem = ask_json(line, body, status);
	const char *detail = json_string_value(json_object_get(problem, "detail"));

	assert_string_equal(ask(line, body)->type, "application/problem+json");
	assert_int_equal(json_integer_value(json_object_get(problem, "status")), status);
	assert_non_null(detail);
	if (!strstr(detail, words))
		print_error("%s: \"%s\" does not contain \"%s\"\n", line, detail, words);
	assert_non_null(strstr(detail, words));
	json_decref(problem);
}

#endif
