/* SPDX-License-Identifier: MIT */
/* Writes the contracts file, and reads it with strict checks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "gover-d/store/contracts.h"
#include "gover-d/util/json.h"
#include "gover-d/util/log.h"

#define FILE_MAX (16 * 1024 * 1024)

json_t *contracts_encode_one(const struct contract *c, bool found)
{
	json_t *object = contract_encode(c, CONTRACT_IN_FILE);

	json_object_set_new(object, "found", json_boolean(found));
	return object;
}

#define OPERATOR_SINCE	 6 /* first version with the operator's state */
#define REMOVING_SINCE	 6 /* first version with "removing" in the entry of a vGPU */
#define MIGRATIONS_SINCE 8 /* first version with "migrations" in the entry of a GPU */
/*
 * First version with "frozen_since_ms" in the entry of a GPU and "held_since_ms" in that of a vGPU.
 * Both are optional: 0 or a missing member is an unknown begin.
 */
#define BEGINS_SINCE 12

/* The members of the file with the first version that contains them. */
static const struct {
	const char *name;
	int since_version;
} members[] = {
	{"version", 1},
	{"gpus", 1},
	{"vgpus", 1},
	{"revision", 2},
	{"ids", 2},
	{"settings", 6},
	{"silences", 6},
	{"acks", 6},
	{"withdrawn", 6},
	{"held_offers", OPERATOR_HOLDS_SINCE},
	{"keys", SALE_KEYS_SINCE},
	{"audit", AUDIT_ROWS_SINCE},
};

/* Returns the version of the format, which grows with each new member or field of a contract. */
static int contracts_version(void)
{
	int version = contract_file_version();

	if (version < OPERATOR_SMALLER_SINCE)
		version = OPERATOR_SMALLER_SINCE;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (members[i].since_version > version)
			version = members[i].since_version;
	return version;
}

static json_t *encode_gpus(const struct contracts *contracts)
{
	json_t *gpus = json_array();

	for (int i = 0; i < contracts->n_gpus; i++) {
		const struct contracts_gpu *gpu = &contracts->gpus[i];
		const struct moving_estimate *migrations = &gpu->migrations;

		json_array_append_new(
			gpus,
			json_pack("{s:s, s:s, s:I, s:b, s:{s:b, s:i, s:f}}", "name", gpu->name,
				  "mode", gpu_mode_name(gpu->mode), "frozen_since_ms",
				  (json_int_t)gpu->frozen_since.at_ms, "selling", gpu->selling,
				  "migrations", "unanswered", migrations->unanswered, "answered",
				  migrations->answered, "delay_s", migrations->delay_s));
	}
	return gpus;
}

static json_t *encode_vgpus(const struct contracts *contracts)
{
	json_t *vgpus = json_array();

	for (size_t i = 0; i < contracts->n_vgpus; i++) {
		const struct contract_entry *entry = &contracts->vgpus[i];
		json_t *object = contracts_encode_one(&entry->contract, entry->found);

		json_object_set_new(object, "removing", json_boolean(entry->removing));
		json_object_set_new(object, "held_since_ms",
				    json_integer(entry->contract.held_since.at_ms));
		json_array_append_new(vgpus, object);
	}
	return vgpus;
}

char *contracts_encode(const struct contracts *contracts)
{
	const struct db_last_ids *ids = &contracts->head.ids;
	json_t *root = json_object();
	char *text;

	json_object_set_new(root, "version", json_integer(contracts_version()));
	json_object_set_new(root, "revision", json_integer(contracts->head.revision));
	json_object_set_new(root, "ids",
			    json_pack("{s:I, s:I, s:I, s:I}", "decision", (json_int_t)ids->decision,
				      "alert", (json_int_t)ids->alert, "offer",
				      (json_int_t)ids->offer, "audit", (json_int_t)ids->audit));
	json_object_set_new(root, "gpus", encode_gpus(contracts));
	json_object_set_new(root, "vgpus", encode_vgpus(contracts));
	sale_keys_encode(&contracts->keys, root);
	audit_rows_encode(&contracts->audit, root);
	operator_state_encode(contracts->operator_state, root);
	text = json_dumps(root, JSON_INDENT(1));
	json_decref(root);
	return text;
}

/* --- collecting --- */

static struct contract copy_of(const struct contract *contract)
{
	struct contract copy = *contract;

	json_incref(copy.labels);
	return copy;
}

void contracts_collect(const struct host *host, struct contracts *ret_contracts)
{
	struct contracts contracts = {.n_gpus = host->n_gpus};
	size_t n = 0;

	for (int i = 0; i < host->n_gpus; i++)
		n += (size_t)host->gpus[i].n_vgpus;
	contracts.vgpus = xcalloc(n + 1, sizeof(*contracts.vgpus));
	for (int i = 0; i < host->n_gpus; i++) {
		const struct host_gpu *gpu = &host->gpus[i];
		struct contracts_gpu *entry = &contracts.gpus[i];

		memcpy(entry->name, gpu->config.name, sizeof(entry->name));
		entry->mode = gpu->mode;
		entry->frozen_since = gpu->frozen_since;
		entry->selling = gpu->selling;
		entry->migrations = moving_save(&gpu->view.moving);
		for (const struct vgpu *v = gpu->vgpus; v; v = v->next)
			contracts.vgpus[contracts.n_vgpus++] = (struct contract_entry){
				.contract = copy_of(&v->contract),
				.found = v->found,
				.removing = v->removing,
			};
	}
	*ret_contracts = contracts;
}

struct contracts_gpu *contracts_find_gpu(struct contracts *contracts, const char *name)
{
	for (int i = 0; i < contracts->n_gpus; i++)
		if (strcmp(contracts->gpus[i].name, name) == 0)
			return &contracts->gpus[i];
	return NULL;
}

bool contracts_know_gpu(const struct contracts *contracts, const char *name)
{
	for (int i = 0; i < contracts->n_gpus; i++)
		if (strcmp(contracts->gpus[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < contracts->n_vgpus; i++)
		if (strcmp(contracts->vgpus[i].contract.gpu, name) == 0)
			return true;
	return false;
}

struct contract_entry *contracts_find_vgpu(struct contracts *contracts, const char *id)
{
	for (size_t i = 0; i < contracts->n_vgpus; i++)
		if (strcmp(contracts->vgpus[i].contract.id, id) == 0)
			return &contracts->vgpus[i];
	return NULL;
}

void contracts_add_vgpu(struct contracts *contracts, const struct contract *contract)
{
	contracts->vgpus =
		xreallocarray(contracts->vgpus, contracts->n_vgpus + 1, sizeof(*contracts->vgpus));
	contracts->vgpus[contracts->n_vgpus++] =
		(struct contract_entry){.contract = copy_of(contract)};
}

void contracts_remove_vgpu(struct contracts *contracts, struct contract_entry *entry)
{
	size_t at = (size_t)(entry - contracts->vgpus);

	contract_fini(&entry->contract);
	contracts->n_vgpus--;
	memmove(entry, entry + 1, (contracts->n_vgpus - at) * sizeof(*entry));
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

#define MIGRATIONS_AT(member) offsetof(struct moving_estimate, member)
#define ANSWERED_MAX	      1000000
#define DELAY_MAX_S	      1e9

static const struct json_decode_field migrations_fields[] = {
	{"unanswered", JSON_DECODE_SWITCH, 0, 0, MIGRATIONS_AT(unanswered), 1 << 0},
	{"answered", JSON_DECODE_WHOLE, 0, ANSWERED_MAX, MIGRATIONS_AT(answered), 1 << 1},
	{"delay_s", JSON_DECODE_NUMBER, 0, DELAY_MAX_S, MIGRATIONS_AT(delay_s), 1 << 2},
	{.name = NULL},
};

#define IDS_AT(member) offsetof(struct db_last_ids, member)

static const struct json_decode_field ids_fields[] = {
	{"audit", JSON_DECODE_INT64, 0, EXACT_MAX, IDS_AT(audit),
	 1 << 3}, /* since AUDIT_ROWS_SINCE */
	{"decision", JSON_DECODE_INT64, 0, EXACT_MAX, IDS_AT(decision), 1 << 0},
	{"alert", JSON_DECODE_INT64, 0, EXACT_MAX, IDS_AT(alert), 1 << 1},
	{"offer", JSON_DECODE_INT64, 0, EXACT_MAX, IDS_AT(offer), 1 << 2},
	{.name = NULL},
};

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

/* Removes the member @name from @object. */
static int take_switch(json_t *object, const char *name, bool *ret_on, struct err *reterr)
{
	json_t *value = json_object_get(object, name);

	if (!json_is_boolean(value))
		return err_fail(reterr, EINVAL, "%s: required (allowed: true or false)", name);
	*ret_on = json_is_true(value);
	(void)json_object_del(object, name);
	return 0;
}

/* Removes the optional member @name of version BEGINS_SINCE from @object. */
static int take_begin(json_t *object, const char *name, int version, struct since *ret_since,
		      struct err *reterr)
{
	const json_t *value = version >= BEGINS_SINCE ? json_object_get(object, name) : NULL;
	json_int_t at_ms = value ? json_integer_value(value) : 0;

	if (value && (!json_is_integer(value) || at_ms < 0 || at_ms > (json_int_t)EXACT_MAX))
		return err_fail(reterr, EINVAL, "%s: not allowed (allowed: 0 to %.0f)", name,
				EXACT_MAX);
	ret_since->at_ms = at_ms;
	if (value)
		(void)json_object_del(object, name);
	return 0;
}

struct file_context {
	struct contracts *contracts;
	int version;
	/* keys of the entries of vGPUs below version SALE_KEYS_SINCE; one place for each entry */
	struct sale_key *old_keys;
	size_t n_old_keys;
};

/* Takes the key of the sale of a vGPU. */
static int take_old_key(struct file_context *file, json_t *object, struct sale_key *ret_key,
			struct err *reterr)
{
	if (file->version >= SALE_KEYS_SINCE) {
		ret_key->key[0] = '\0';
		return 0;
	}
	return sale_keys_take_old(object, file->version, ret_key, reterr);
}

/* Adds the key of a sale to the keys of @file. A sale without an offer needs the hash of its body.
 */
static void add_old_key(struct file_context *file, const struct contract *c, struct sale_key *key)
{
	if (key->key[0] == '\0' || (c->offer == 0 && key->body[0] == '\0'))
		return;
	/* A contract without this hash was sold through the offer. */
	key->offer = key->body[0] ? 0 : c->offer;
	memcpy(key->vgpu, c->id, sizeof(key->vgpu));
	key->created_ms = c->created_ms;
	file->old_keys[file->n_old_keys++] = *key;
}

static int take_vgpu(void *userdata, json_t *object, struct err *reterr)
{
	struct file_context *file = userdata;
	struct contract_entry *entry = &file->contracts->vgpus[file->contracts->n_vgpus++];
	struct contract *c = &entry->contract;
	struct sale_key key;
	unsigned int clamped = 0;
	int r;

	r = take_switch(object, "found", &entry->found, reterr);
	if (r >= 0 && file->version >= REMOVING_SINCE)
		r = take_switch(object, "removing", &entry->removing, reterr);
	if (r >= 0)
		r = take_old_key(file, object, &key, reterr);
	if (r >= 0)
		r = take_begin(object, "held_since_ms", file->version, &c->held_since, reterr);
	if (r < 0)
		return r;
	r = contract_decode_file(object, file->version, c, &clamped, reterr);
	if (r < 0)
		return r;
	if (c->terms.min_cap_pct > c->terms.initial_cap_pct)
		return err_fail(reterr, EINVAL, "min_cap_pct: %d exceeds the initial cap of %d %%",
				c->terms.min_cap_pct, c->terms.initial_cap_pct);
	warn_clamped(c, clamped);
	add_old_key(file, c, &key);
	return 0;
}

/* Removes the member "migrations" from @object. */
static int take_migrations(json_t *object, struct moving_estimate *ret_migrations,
			   struct err *reterr)
{
	int r = json_decode_member(object, "migrations", migrations_fields, ret_migrations, reterr);

	if (r < 0)
		return r;
	(void)json_object_del(object, "migrations");
	return 0;
}

static int take_gpu(void *userdata, json_t *object, struct err *reterr)
{
	const struct file_context *file = userdata;
	struct contracts_gpu *entry = &file->contracts->gpus[file->contracts->n_gpus++];
	struct gpu_record record = {.selling = false};
	int r = 0;

	if (file->version >= MIGRATIONS_SINCE)
		r = take_migrations(object, &entry->migrations, reterr);
	if (r >= 0)
		r = take_begin(object, "frozen_since_ms", file->version, &entry->frozen_since,
			       reterr);
	if (r < 0)
		return r;
	r = json_decode_all(object, gpu_fields, &record, reterr);
	if (r < 0)
		return r;
	if (gpu_mode_parse(record.mode, &entry->mode) < 0)
		return err_fail(reterr, EINVAL,
				"mode: \"%s\" is not allowed (allowed: act, observe or frozen)",
				record.mode);
	memcpy(entry->name, record.name, sizeof(entry->name));
	entry->selling = record.selling;
	return 0;
}

/* The version is checked first, because a file of a newer gover may have unknown members. */
static int check_version(json_t *root, int *ret_version, struct err *reterr)
{
	json_t *version = json_object_get(root, "version");

	if (!json_is_integer(version))
		return err_fail(reterr, EINVAL, "version: required (allowed: a whole number)");
	if (json_integer_value(version) < 1 || json_integer_value(version) > contracts_version())
		return err_fail(reterr, EPROTO,
				"version: %" JSON_INTEGER_FORMAT
				" is not supported (allowed: 1 to %d)",
				json_integer_value(version), contracts_version());
	*ret_version = (int)json_integer_value(version);
	return 0;
}

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

static int decode_head(json_t *root, int version, struct contracts_head *head, struct err *reterr)
{
	const struct json_decode_field *fields =
		version >= AUDIT_ROWS_SINCE ? ids_fields : ids_fields + 1;
	json_t *revision = json_object_get(root, "revision");
	int r;

	if (!json_is_integer(revision) || json_integer_value(revision) < 0)
		return err_fail(reterr, EINVAL, "revision: required (allowed: a whole number)");
	r = json_decode_member(root, "ids", fields, &head->ids, reterr);
	if (r < 0)
		return r;
	head->revision = json_integer_value(revision);
	return 0;
}

/* Adds the name of element @i to @seen. Returns -EINVAL if an earlier element has this name. */
static int note_name(json_t *seen, const char *list, size_t i, const char *key, const char *name,
		     struct err *reterr)
{
	const json_t *earlier = json_object_get(seen, name);

	if (earlier)
		return err_fail(reterr, EINVAL,
				"%s: element %zu: %s: \"%s\" is a duplicate of element "
				"%" JSON_INTEGER_FORMAT,
				list, i, key, name, json_integer_value(earlier));
	json_object_set_new(seen, name, json_integer((json_int_t)i));
	return 0;
}

static int check_duplicates(const struct contracts *contracts, struct err *reterr)
{
	json_t *gpus = json_object(), *vgpus = json_object();
	int r = 0;

	for (int i = 0; i < contracts->n_gpus && r == 0; i++)
		r = note_name(gpus, "gpus", (size_t)i, "name", contracts->gpus[i].name, reterr);
	for (size_t i = 0; i < contracts->n_vgpus && r == 0; i++)
		r = note_name(vgpus, "vgpus", i, "id", contracts->vgpus[i].contract.id, reterr);
	json_decref(gpus);
	json_decref(vgpus);
	return r;
}

static int decode_vgpus(json_t *root, struct file_context *file, struct err *reterr)
{
	struct contracts *contracts = file->contracts;
	const size_t max = (size_t)GPUS_MAX * POLICY_VGPUS_MAX;
	size_t n = json_array_size(json_object_get(root, "vgpus"));
	int r;

	if (n > max) /* the list is rejected before an element of it is decoded */
		n = 0;
	contracts->vgpus = xcalloc(n + 1, sizeof(*contracts->vgpus));
	file->old_keys = xcalloc(n + 1, sizeof(*file->old_keys));
	r = json_decode_list(root, "vgpus", max, take_vgpu, file, reterr);
	if (r >= 0)
		sale_keys_add_old(&contracts->keys, file->old_keys, file->n_old_keys);
	free(file->old_keys);
	return r;
}

static int decode(json_t *root, struct contracts *contracts, struct err *reterr)
{
	struct file_context file = {.contracts = contracts};
	int r;

	r = check_version(root, &file.version, reterr);
	if (r >= 0)
		r = check_members(root, file.version, reterr);
	if (r >= 0 && file.version >= 2)
		r = decode_head(root, file.version, &contracts->head, reterr);
	if (r >= 0 && file.version >= OPERATOR_SINCE)
		r = operator_state_decode(root, file.version, &contracts->operator_state, reterr);
	if (r >= 0)
		r = json_decode_list(root, "gpus", GPUS_MAX, take_gpu, &file, reterr);
	if (r >= 0)
		r = decode_vgpus(root, &file, reterr);
	if (r >= 0 && file.version >= SALE_KEYS_SINCE)
		r = sale_keys_decode(root, &contracts->keys, reterr);
	if (r >= 0 && file.version >= AUDIT_ROWS_SINCE)
		r = audit_rows_decode(root, &contracts->audit, reterr);
	return r < 0 ? r : check_duplicates(contracts, reterr);
}

int contracts_parse(const char *text, size_t length, const char *name,
		    struct contracts *ret_contracts, struct err *reterr)
{
	struct contracts contracts = {0};
	struct err inner = {""};
	json_error_t error;
	json_t *root;
	int r;

	root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return err_fail(reterr, EINVAL, "%s:%d: %s", name, error.line, error.text);
	/* Earlier versions of the daemon accepted some of these characters. */
	if (json_mask_controls(root))
		log_warning("%s: control characters are replaced by '?'", name);
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
		return err_fail(reterr, -r, "%s: cannot be read: %s", path, file_error(r));
	return contracts_parse(text, length, path, ret_contracts, reterr);
}

void contracts_fini(struct contracts *contracts)
{
	for (size_t i = 0; i < contracts->n_vgpus; i++)
		contract_fini(&contracts->vgpus[i].contract);
	free(contracts->vgpus);
	contracts->vgpus = NULL;
	contracts->n_vgpus = 0;
	sale_keys_fini(&contracts->keys);
	audit_rows_fini(&contracts->audit);
	contracts->operator_state = operator_state_free(contracts->operator_state);
}
