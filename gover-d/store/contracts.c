/* SPDX-License-Identifier: MIT */
/* Writes the contracts file, and reads it with strict checks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json-text.h"
#include "gover-d/store/contracts.h"
#include "gover-d/util/json-decode.h"
#include "gover-d/util/log.h"

#define FILE_MAX (16 * 1024 * 1024)

json_t *contracts_encode_one(const struct contract *c, bool found)
{
	json_t *object = contract_encode(c, CONTRACT_IN_FILE);

	if (object && json_object_set_new(object, "found", json_boolean(found)) < 0) {
		json_decref(object);
		object = NULL;
	}
	return object;
}

static json_t *encode_ids(const struct db_last_ids *ids)
{
	return json_pack("{s:I, s:I, s:I}", "decision", (json_int_t)ids->decision, "alert",
			 (json_int_t)ids->alert, "offer", (json_int_t)ids->offer);
}

static json_t *encode_gpus(const struct host *host)
{
	json_t *gpus = json_array();

	for (int i = 0; gpus && i < host->n_gpus; i++) {
		json_t *gpu = json_pack("{s:s, s:s, s:b}", "name", host->gpus[i].config.name,
					"mode", gpu_mode_name(host->gpus[i].mode), "selling",
					host->gpus[i].selling);

		if (json_array_append_new(gpus, gpu) < 0) {
			json_decref(gpus);
			return NULL;
		}
	}
	return gpus;
}

static json_t *encode_vgpus(const struct host *host)
{
	json_t *vgpus = json_array();

	for (int i = 0; vgpus && i < host->n_gpus; i++) {
		for (const struct vgpu *v = host->gpus[i].vgpus; v; v = v->next) {
			if (json_array_append_new(
				    vgpus, contracts_encode_one(&v->contract, v->found)) == 0)
				continue;
			json_decref(vgpus);
			return NULL;
		}
	}
	return vgpus;
}

char *contracts_encode(const struct host *host, const struct contracts_head *head)
{
	json_t *gpus = encode_gpus(host), *vgpus = encode_vgpus(host), *root = NULL;
	json_t *ids = encode_ids(&head->ids);
	char *text = NULL;

	if (gpus && vgpus && ids)
		root = json_pack("{s:i, s:I, s:O, s:O, s:O}", "version", contract_file_version(),
				 "revision", (json_int_t)head->revision, "ids", ids, "gpus", gpus,
				 "vgpus", vgpus);
	if (root)
		text = json_text_print(root, JSON_INDENT(1));
	json_decref(root);
	json_decref(ids);
	json_decref(gpus);
	json_decref(vgpus);
	return text;
}

/* --- reading --- */

#define MODE_MAX 15

/* 2^53: a double can represent every whole number up to this value. */
#define EXACT_MAX 9007199254740992.0

struct gpu_record {
	char name[ID_MAX];
	char mode[MODE_MAX + 1];
	bool selling;
};

#define GPU_AT(member) offsetof(struct gpu_record, member)

static const struct json_decode_field gpu_fields[] = {
	{"name", JSON_DECODE_ID, 0, 0, GPU_AT(name), 1 << 0},
	{"mode", JSON_DECODE_TEXT, 0, MODE_MAX, GPU_AT(mode), 1 << 1},
	{"selling", JSON_DECODE_SWITCH, 0, 0, GPU_AT(selling), 1 << 2},
	{.name = NULL},
};
#define GPU_ALL ((1U << 3) - 1)

#define IDS_AT(member) offsetof(struct db_last_ids, member)

static const struct json_decode_field ids_fields[] = {
	{"decision", JSON_DECODE_INT64, 0, EXACT_MAX, IDS_AT(decision), 1 << 0},
	{"alert", JSON_DECODE_INT64, 0, EXACT_MAX, IDS_AT(alert), 1 << 1},
	{"offer", JSON_DECODE_INT64, 0, EXACT_MAX, IDS_AT(offer), 1 << 2},
	{.name = NULL},
};
#define IDS_ALL ((1U << 3) - 1)

static void warn_clamped(const struct contract *contract, unsigned int clamped)
{
	char names[ERR_MSG_MAX];

	if (!clamped)
		return;
	contract_list_names(clamped, names, sizeof(names));
	log_warning("contracts file: vGPU %s: values out of range were replaced by the nearest "
		    "allowed values: %s",
		    contract->id, names);
}

static int decode_vgpu(json_t *object, int version, struct contract_entry *entry,
		       struct err *reterr)
{
	json_t *found = json_object_get(object, "found");
	struct contract *c = &entry->contract;
	unsigned int clamped = 0;
	int r;

	if (!json_is_boolean(found))
		return err_fail(reterr, EINVAL, "found: required (allowed: true or false)");
	entry->found = json_is_true(found);
	(void)json_object_del(object, "found");
	r = contract_decode_file(object, version, c, &clamped, reterr);
	if (r < 0)
		return r;
	if (c->terms.min_cap_pct > c->terms.initial_cap_pct)
		return err_fail(reterr, EINVAL, "min_cap_pct: %d exceeds the initial cap of %d %%",
				c->terms.min_cap_pct, c->terms.initial_cap_pct);
	warn_clamped(c, clamped);
	return 0;
}

static int decode_gpu(json_t *object, struct contracts_gpu *gpu, struct err *reterr)
{
	struct gpu_record record = {.selling = false};
	unsigned int bits;
	int r;

	r = json_decode_object(object, gpu_fields, GPU_ALL, GPU_ALL, &record, &bits, reterr);
	if (r < 0)
		return r;
	if (gpu_mode_parse(record.mode, &gpu->mode) < 0)
		return err_fail(reterr, EINVAL,
				"mode: \"%s\" is not allowed (allowed: act, observe or frozen)",
				record.mode);
	memcpy(gpu->name, record.name, sizeof(gpu->name));
	gpu->selling = record.selling;
	return 0;
}

/* The version is checked first, because a file of a newer gover may have unknown members. */
static int check_version(json_t *root, int *ret_version, struct err *reterr)
{
	json_t *version = json_object_get(root, "version");

	if (!json_is_integer(version))
		return err_fail(reterr, EINVAL, "version: required (allowed: a whole number)");
	if (json_integer_value(version) < 1 ||
	    json_integer_value(version) > contract_file_version())
		return err_fail(reterr, EPROTO,
				"version: %" JSON_INTEGER_FORMAT
				" is not supported (allowed: 1 to %d)",
				json_integer_value(version), contract_file_version());
	*ret_version = (int)json_integer_value(version);
	return 0;
}

/* Returns the member @name, a list of at most @max objects. */
static int check_list(json_t *root, const char *name, size_t max, json_t **ret_list,
		      struct err *reterr)
{
	json_t *list = json_object_get(root, name);

	if (!json_is_array(list) || json_array_size(list) > max)
		return err_fail(reterr, EINVAL,
				"%s: required (allowed: a list of at most %zu objects)", name, max);
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!json_is_object(json_array_get(list, i)))
			return err_fail(reterr, EINVAL, "%s: element %zu is not an object", name,
					i);
	*ret_list = list;
	return 0;
}

static const struct {
	const char *name;
	int since_version;
} members[] = {
	{"version", 1}, {"gpus", 1}, {"vgpus", 1}, {"revision", 2}, {"ids", 2},
};

static int check_members(json_t *root, int version, struct err *reterr)
{
	const char *name;
	json_t *value;

	json_object_foreach (root, name, value) {
		size_t i = 0;

		while (i < ARRAY_SIZE(members) && strcmp(name, members[i].name) != 0)
			i++;
		if (i == ARRAY_SIZE(members) || members[i].since_version > version)
			return err_fail(reterr, EINVAL, "%.80s: unknown member", name);
	}
	return 0;
}

static int decode_head(json_t *root, struct contracts_head *head, struct err *reterr)
{
	json_t *revision = json_object_get(root, "revision"), *ids = json_object_get(root, "ids");
	struct err inner = {""};
	unsigned int bits;
	int r;

	if (!json_is_integer(revision) || json_integer_value(revision) < 0)
		return err_fail(reterr, EINVAL, "revision: required (allowed: a whole number)");
	if (!json_is_object(ids))
		return err_fail(reterr, EINVAL, "ids: required (allowed: an object)");
	r = json_decode_object(ids, ids_fields, IDS_ALL, IDS_ALL, &head->ids, &bits, &inner);
	if (r < 0)
		return err_fail(reterr, -r, "ids: %s", inner.msg);
	head->revision = json_integer_value(revision);
	return 0;
}

static int decode(json_t *root, struct contracts *contracts, struct err *reterr)
{
	struct err inner = {""};
	json_t *gpus, *vgpus;
	int version = 0, r;

	r = check_version(root, &version, reterr);
	if (r >= 0)
		r = check_members(root, version, reterr);
	if (r >= 0 && version >= 2)
		r = decode_head(root, &contracts->head, reterr);
	if (r >= 0)
		r = check_list(root, "gpus", GPUS_MAX, &gpus, reterr);
	if (r >= 0)
		r = check_list(root, "vgpus", (size_t)GPUS_MAX * POLICY_VGPUS_MAX, &vgpus, reterr);
	if (r < 0)
		return r;
	contracts->vgpus = calloc(json_array_size(vgpus) + 1, sizeof(*contracts->vgpus));
	if (!contracts->vgpus)
		return err_fail(reterr, ENOMEM, "no memory");
	for (size_t i = 0; i < json_array_size(gpus); i++) {
		r = decode_gpu(json_array_get(gpus, i), &contracts->gpus[contracts->n_gpus++],
			       &inner);
		if (r < 0)
			return err_fail(reterr, -r, "gpus: element %zu: %s", i, inner.msg);
	}
	for (size_t i = 0; i < json_array_size(vgpus); i++) {
		r = decode_vgpu(json_array_get(vgpus, i), version,
				&contracts->vgpus[contracts->n_vgpus++], &inner);
		if (r < 0)
			return err_fail(reterr, -r, "vgpus: element %zu: %s", i, inner.msg);
	}
	return 0;
}

int contracts_parse(const char *text, size_t length, const char *name,
		    struct contracts *ret_contracts, struct err *reterr)
{
	struct contracts contracts = {0};
	struct err inner = {""};
	json_error_t error;
	json_t *root;
	int r;

	root = json_text_parse(text, length, JSON_REJECT_DUPLICATES, &error);
	if (!root && json_text_no_memory(&error))
		return err_fail(reterr, ENOMEM, "%s: out of memory", name);
	if (!root)
		return err_fail(reterr, EINVAL, "%s:%d: %s", name, error.line, error.text);
	r = decode(root, &contracts, &inner);
	json_decref(root);
	if (r < 0) {
		contracts_fini(&contracts);
		return err_fail(reterr, -r, "%s: %s", name, inner.msg);
	}
	*ret_contracts = contracts;
	return 0;
}

int contracts_load(const char *path, struct contracts *ret_contracts, struct err *reterr)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	int r;

	r = file_read(path, FILE_MAX, &text, &length);
	if (r < 0)
		return err_fail(reterr, -r, "%s: cannot be read: %s", path, strerror(-r));
	return contracts_parse(text, length, path, ret_contracts, reterr);
}

void contracts_fini(struct contracts *contracts)
{
	for (size_t i = 0; i < contracts->n_vgpus; i++)
		contract_fini(&contracts->vgpus[i].contract);
	free(contracts->vgpus);
	contracts->vgpus = NULL;
	contracts->n_vgpus = 0;
}
