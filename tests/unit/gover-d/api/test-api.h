/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for the daemon, for the tests of REST. Its manager has a real host, alerts, offers,
 * decisions, configuration, database and worker. Its versions of the functions of control.h make
 * only the changes that replies show, and fail if the test sets manager->fail. A save that was
 * started is completed by stand_in_save(). Include this header once in a program.
 */
#ifndef TESTS_UNIT_GOVER_D_API_TEST_API_H
#define TESTS_UNIT_GOVER_D_API_TEST_API_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-d/alert/alerts.h"
#include "gover-d/alert/silence.h"
#include "gover-d/alert/webhook.h"
#include "gover-d/api/api.h"
#include "gover-d/api/request.h"
#include "gover-d/auth/authn.h"
#include "gover-d/config/config.h"
#include "gover-d/core/control-silence.h"
#include "gover-d/core/control-vgpu.h"
#include "gover-d/core/control.h"
#include "gover-d/core/frames.h"
#include "gover-d/core/history.h"
#include "gover-d/core/ledger.h"
#include "gover-d/core/offers.h"
#include "gover-d/core/save.h"
#include "gover-d/core/view.h"
#include "gover-d/model/decisions.h"
#include "gover-d/model/host.h"
#include "gover-d/util/hook.h"
#include "tests/unit/gover-d/fake-backend.h"

#define SAVES_MAX 16

struct gpu_vgpu {
	int unused;
};

struct manager {
	struct host host;
	struct config config, file_config;
	struct decisions *decisions;
	struct alerts *alerts;
	struct offers *offers;
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
	int changes, ledger_kept;
	/* Saves in progress, and the result of starting a save. */
	struct {
		void (*done)(void *userdata, int result);
		void *userdata;
	} saves[SAVES_MAX];
	int n_saves, save_result;
};

static struct manager *manager;
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
	.places = stand_in_places,
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
	vgpu->cap_pct = vgpu->expected_cap_pct = contract->terms.initial_cap_pct;
	host_gpu_insert(&manager->host.gpus[0], vgpu);
	return vgpu;
}

int control_vgpu_add(struct manager *m, struct contract *contract, struct vgpu **ret_vgpu,
		     struct err *reterr)
{
	(void)ret_vgpu;
	if (m->fail)
		return fail_as_wanted(reterr);
	if (host_find_vgpu(&m->host, contract->id, NULL))
		return err_condition(reterr, CONTROL_E_EXISTS, "vGPU %s already has a contract",
				     contract->id);
	if (!contract->gpu[0])
		strcpy(contract->gpu, "gpu0");
	if (!host_find_gpu(&m->host, contract->gpu))
		return err_condition(reterr, CONTROL_E_INVALID, "no GPU %s on this host",
				     contract->gpu);
	m->changes++;
	m->values = *contract;
	(void)stand_in_vgpu(contract);
	return 0;
}

int control_vgpu_change(struct manager *m, const char *id, unsigned int fields,
			const struct contract *values, struct err *reterr)
{
	struct vgpu *vgpu = host_find_vgpu(&m->host, id, NULL);

	if (m->fail)
		return fail_as_wanted(reterr);
	m->changes++;
	m->fields = fields;
	m->values = *values;
	if (fields & CONTRACT_TARGET_FPS)
		vgpu->contract.terms.target_fps = values->terms.target_fps;
	return 0;
}

int control_vgpu_remove(struct manager *m, const char *id, struct err *reterr)
{
	struct host_gpu *gpu;
	struct vgpu *vgpu = host_find_vgpu(&m->host, id, &gpu);

	if (m->fail)
		return fail_as_wanted(reterr);
	if (!vgpu)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no vGPU %s on this host", id);
	m->changes++;
	host_gpu_remove(gpu, vgpu);
	vgpu_free(gpu, vgpu);
	return 0;
}

int control_gpu_change(struct manager *m, const char *name, const enum gpu_mode *mode,
		       const bool *selling, struct err *reterr)
{
	if (m->fail)
		return fail_as_wanted(reterr);
	assert_string_equal(name, "gpu0");
	m->changes++;
	m->mode_given = mode;
	m->selling_given = selling;
	if (mode)
		m->host.gpus[0].mode = *mode;
	if (selling)
		m->host.gpus[0].selling = *selling;
	return 0;
}

int control_offer_claim(struct manager *m, int64_t id, const char *key, unsigned int fields,
			struct contract *contract, const struct offer **ret_offer,
			struct err *reterr)
{
	struct offer *offer = offers_find(m->offers, id);

	if (m->fail)
		return fail_as_wanted(reterr);
	if (!offer)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no offer %d", (int)id);
	*ret_offer = offer;
	if (offer->vgpu[0]) { /* the claim is repeated */
		contract_fini(contract);
		return 0;
	}
	m->changes++;
	m->fields = fields;
	m->values = *contract;
	snprintf(m->key, sizeof(m->key), "%s", key);
	contract->terms.initial_cap_pct = offer->flavor.initial_cap_pct;
	stand_in_vgpu(contract)->newcomer = true;
	offers_claim(m->offers, offer, contract->id, key, 30, clock_now());
	return 0;
}

int control_offer_close(struct manager *m, int64_t id, struct err *reterr)
{
	if (m->fail)
		return fail_as_wanted(reterr);
	if (!offers_find(m->offers, id))
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no offer %d", (int)id);
	m->changes++;
	offers_end(m->offers, offers_find(m->offers, id), OFFER_CLOSED, clock_now(), "withdrawn");
	return 0;
}

int control_alert_ack(struct manager *m, int64_t id, struct err *reterr)
{
	if (alerts_ack(m->alerts, id, clock_now().wall_ms) < 0)
		return err_condition(reterr, CONTROL_E_NOT_FOUND, "no alert %d", (int)id);
	m->changes++;
	return 0;
}

void webhook_stats(struct webhook *w, struct webhook_stats *ret_stats)
{
	assert_ptr_equal(w, &webhook);
	*ret_stats = manager->webhook_stats;
}

int control_silence_add(struct manager *m, struct silence *silence, struct err *reterr)
{
	(void)reterr;
	m->changes++;
	return silences_add(&m->silences, silence);
}

int control_silence_remove(struct manager *m, int64_t id, struct err *reterr)
{
	struct silence silence;

	m->changes++;
	return silences_remove(&m->silences, id, &silence) < 0
		       ? err_condition(reterr, CONTROL_E_NOT_FOUND, "no silence %lld",
				       (long long)id)
		       : 0;
}

int control_policy_change(struct manager *m, json_t *object, struct err *reterr)
{
	const char *key;
	json_t *value;

	json_object_foreach (object, key, value) {
		CLEANUP_FREE char *text = json_dumps(value, JSON_ENCODE_ANY);

		if (config_set_live(&m->config, key, text, reterr) < 0)
			return CONTROL_E_INVALID;
		m->changes++;
	}
	return 0;
}

void ledger_flush(struct manager *m)
{
	m->ledger_kept++;
}

int save_contracts(struct manager *m, void (*done)(void *userdata, int result), void *userdata)
{
	if (m->save_result < 0)
		return m->save_result;
	assert_in_range(m->n_saves, 0, SAVES_MAX - 1);
	m->saves[m->n_saves].done = done;
	m->saves[m->n_saves++].userdata = userdata;
	return 0;
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

/* Ends the saves in progress with @result. */
static inline void stand_in_save(int result)
{
	int n = manager->n_saves;

	manager->n_saves = 0;
	for (int i = 0; i < n; i++)
		manager->saves[i].done(manager->saves[i].userdata, result);
}

/* One GPU with vGPU "a" and an open offer. */
static inline int stand_in_begin(void **state)
{
	struct contract contract = {
		.id = "a",
		.gpu = "gpu0",
		.vm = "vm-a",
		.terms = {.initial_cap_pct = 50, .target_fps = 60, .weight = 1},
		.labels = json_pack("{s:s}", "tier", "gold"),
		.created_ms = 1000,
	};
	const struct policy_terms flavor = {.initial_cap_pct = 50, .weight = 1};
	struct host_gpu *gpu;

	(void)state;
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
	assert_non_null(offers_open(manager->offers, "gpu0", &flavor, 40, 60, clock_now()));
	manager->view = (struct view){
		.host = &manager->host,
		.config = &manager->config,
		.file_config = &manager->file_config,
		.decisions = manager->decisions,
		.alerts = manager->alerts,
		.silences = &manager->silences,
		.offers = manager->offers,
		.history = &manager->history,
		.frames = &manager->frames,
		.hook_stats = manager->hook_stats,
		.generation = &manager->generation,
	};
	authn = authn_new();
	assert_non_null(authn);
	api = api_new(manager, &manager->view, authn);
	assert_non_null(api);
	return 0;
}

static inline int stand_in_end(void **state)
{
	struct host_gpu *gpu = &manager->host.gpus[0];

	(void)state;
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
static const char *ask_if_match, *ask_key, *ask_principal = "root";
static int ask_saved;

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
		.content_type = body ? "application/json" : NULL,
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
	request.idempotency_key = ask_key;
	api_serve(api, &request);
	if (request.deferred)
		stand_in_save(ask_saved);
	assert_null(request.deferred);
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
