/* SPDX-License-Identifier: MIT */
/*
 * The contracts file: written contracts are read back, files of all versions are read, and invalid
 * files are rejected; and the flavour of a contract in requests.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-d/store/contracts.h"
#include "tests/unit/gover-d/api/test-api.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/gover-contracts.XXXXXX";
static char path[64];
static struct host host;
static const struct contracts_head head = {
	.revision = 1763664596123,
	.ids = {.decision = 4711, .alert = 12, .offer = INT64_C(1) << 53},
};
static struct contracts contracts;
static struct err err;
static struct sale_keys keys;	 /* written by encode_host() */
static const char *members = ""; /* parse() appends them to the members of the file */

static int make_folder(void)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/contracts.json", folder);
	return 0;
}

static int remove_folder(void)
{
	(void)unlink(path);
	return rmdir(folder);
}

FIXTURE_ONCE(make_folder, remove_folder)

static int free_all(void)
{
	members = "";
	sale_keys_fini(&keys);
	contracts_fini(&contracts);
	for (int i = 0; i < host.n_gpus; i++)
		while (host.gpus[i].vgpus) {
			struct vgpu *vgpu = host.gpus[i].vgpus;

			host_gpu_remove(&host.gpus[i], vgpu);
			vgpu_free(&host.gpus[i], vgpu);
		}
	memset(&host, 0, sizeof(host));
	return 0;
}

FIXTURE(NULL, free_all)

static int load(const char *text)
{
	assert_int_equal(file_replace(path, text, strlen(text)), 0);
	contracts_fini(&contracts);
	memset(&contracts, 0, sizeof(contracts));
	err.msg[0] = '\0';
	return contracts_load(path, &contracts, &err);
}

/* --- writing and reading --- */

static struct host_gpu *add_gpu(const char *name, enum gpu_mode mode, bool selling)
{
	struct host_gpu *gpu = &host.gpus[host.n_gpus++];

	assert_int_equal(id_copy(gpu->config.name, name), 0);
	gpu->mode = mode;
	gpu->selling = selling;
	return gpu;
}

/* Takes ownership of the labels of @contract. */
static void add_vgpu(struct host_gpu *gpu, struct contract contract, bool found)
{
	struct vgpu *vgpu = calloc(1, sizeof(*vgpu));

	assert_non_null(vgpu);
	memcpy(contract.gpu, gpu->config.name, sizeof(contract.gpu));
	if (!contract.labels)
		contract.labels = json_object();
	vgpu->contract = contract;
	vgpu->found = found;
	host_gpu_insert(gpu, vgpu);
}

static json_t *many_labels(int n)
{
	json_t *labels = json_object();
	char key[16];

	for (int i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "key%d", i);
		assert_int_equal(json_object_set_new(labels, key, json_string("value")), 0);
	}
	return labels;
}

static void fill_host(void)
{
	struct contract plain = {.id = "plain", .terms = {.initial_cap_pct = 1, .weight = 0.01}};
	struct contract full = {
		.id = "full",
		.cid = UINT32_MAX - 1,
		.labels = json_pack("{s:s, s:s, s:s}", "workload", "load:pct=10", "quote\"d",
				    "back\\slash / \xc3\xa9\xe2\x82\xac", "empty", ""),
		.terms = {.initial_cap_pct = 100,
			  .min_cap_pct = 100,
			  .target_fps = 59.94,
			  .weight = 1.0 / 3,
			  .burst = true},
		.held = true,
		.held_cap_pct = 33,
		.held_since.at_ms = 1763664596124,
		.created_ms = 1763664596123,
		.offer = 17,
		.flavor = "small",
		.fps_limit = 62.5,
	};
	struct contract seen = {
		.id = "found.1",
		.labels = many_labels(LABELS_MAX),
		.terms = {.initial_cap_pct = 50, .target_fps = 10000, .weight = 100},
	};

	memset(full.vm, 'v', VM_MAX - 1);
	memset(seen.flavor, 'f', ID_MAX - 1);
	seen.offer = INT64_C(1) << 53;
	strcpy(seen.vm, "4dea22b3-1d52-d8f3-2516-782e98ab3fa0 \"vm\"");
	add_vgpu(add_gpu("gpu0", GPU_MODE_ACT, true), plain, false);
	add_vgpu(&host.gpus[0], full, false);
	add_vgpu(add_gpu("second", GPU_MODE_FROZEN, false), seen, true);
	host.gpus[1].frozen_since.at_ms = 1763664596125;
	add_gpu("third-without-a-vgpu", GPU_MODE_OBSERVE, true);
}

/* Returns the text for @host. */
static char *encode_host(void)
{
	struct contracts all = {0};
	char *text;

	contracts_collect(&host, &all);
	all.head = head;
	all.operator_state = operator_state_new();
	all.keys = sale_keys_copy(&keys);
	text = contracts_encode(&all);
	contracts_fini(&all);
	return text;
}

static void check_contract(const struct contract *got, const struct contract *wanted)
{
	assert_string_equal(got->id, wanted->id);
	assert_string_equal(got->gpu, wanted->gpu);
	assert_string_equal(got->vm, wanted->vm);
	assert_int_equal(got->cid, wanted->cid);
	assert_true(json_equal(got->labels, wanted->labels));
	assert_int_equal(got->terms.initial_cap_pct, wanted->terms.initial_cap_pct);
	assert_int_equal(got->terms.min_cap_pct, wanted->terms.min_cap_pct);
	assert_true(got->terms.target_fps == wanted->terms.target_fps);
	assert_true(got->terms.weight == wanted->terms.weight);
	assert_int_equal(got->terms.burst, wanted->terms.burst);
	assert_int_equal(got->held, wanted->held);
	assert_int_equal(got->held_cap_pct, wanted->held_cap_pct);
	assert_int_equal(got->held_since.at_ms, wanted->held_since.at_ms);
	assert_int_equal(got->created_ms, wanted->created_ms);
	assert_int_equal(got->offer, wanted->offer);
	assert_string_equal(got->flavor, wanted->flavor);
	assert_true(got->fps_limit == wanted->fps_limit);
}

TEST(contracts_are_read_back)
{
	CLEANUP_FREE char *text = NULL;
	size_t n = 0;

	fill_host();
	text = encode_host();
	assert_non_null(text);
	assert_int_equal(load(text), 0);
	assert_int_equal(contracts.head.revision, head.revision);
	assert_memory_equal(&contracts.head.ids, &head.ids, sizeof(head.ids));
	assert_int_equal(contracts.n_gpus, host.n_gpus);
	for (int i = 0; i < host.n_gpus; i++) {
		assert_string_equal(contracts.gpus[i].name, host.gpus[i].config.name);
		assert_int_equal(contracts.gpus[i].mode, host.gpus[i].mode);
		assert_int_equal(contracts.gpus[i].frozen_since.at_ms,
				 host.gpus[i].frozen_since.at_ms);
		assert_int_equal(contracts.gpus[i].selling, host.gpus[i].selling);
		for (const struct vgpu *v = host.gpus[i].vgpus; v; v = v->next, n++) {
			check_contract(&contracts.vgpus[n].contract, &v->contract);
			assert_int_equal(contracts.vgpus[n].found, v->found);
		}
	}
	assert_int_equal(contracts.n_vgpus, n);
}

TEST(keys_are_read_back_in_their_order)
{
	CLEANUP_FREE char *text = NULL;
	struct sale_key key = {.vgpu = "a", .offer = INT64_C(1) << 53, .body = "0123456789abcdef"};

	memset(key.key, 'k', CLAIM_MAX - 1);
	for (int i = 0; i < SALE_KEYS_MAX; i++) {
		memcpy(key.key, (char[]){(char)('a' + i % 16), (char)('a' + i / 16)}, 2);
		key.created_ms = 1763664596123 - i; /* the clock was set back */
		sale_keys_add(&keys, &key);
	}
	text = encode_host();
	assert_int_equal(load(text), 0);
	assert_int_equal(contracts.keys.n, SALE_KEYS_MAX);
	assert_memory_equal(contracts.keys.list, keys.list, SALE_KEYS_MAX * sizeof(key));
}

TEST(an_empty_host_has_a_file)
{
	CLEANUP_FREE char *text = encode_host();

	assert_non_null(text);
	assert_int_equal(load(text), 0);
	assert_int_equal(contracts.n_gpus, 0);
	assert_int_equal(contracts.n_vgpus, 0);
}

TEST(a_thousand_contracts_are_read_back)
{
	CLEANUP_FREE char *text = NULL;
	struct contract contract = {.terms = {.initial_cap_pct = 10, .weight = 1}};

	for (int i = 0; i < 20; i++) {
		snprintf(contract.id, sizeof(contract.id), "gpu%d", i);
		add_gpu(contract.id, GPU_MODE_ACT, true);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(contract.id, sizeof(contract.id), "vgpu%d", i);
		contract.created_ms = i;
		contract.labels = many_labels(LABELS_MAX);
		add_vgpu(&host.gpus[i % 20], contract, false);
	}
	text = encode_host();
	assert_non_null(text);
	assert_int_equal(load(text), 0);
	assert_int_equal(contracts.n_vgpus, 1000);
	assert_string_equal(contracts.vgpus[999].contract.gpu, "gpu19");
}

/* --- invalid files --- */

TEST(a_missing_file_is_not_an_empty_one)
{
	assert_int_equal(load("{}"), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(contracts_load(path, &contracts, &err), -ENOENT);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(contracts.n_vgpus, 0);
	assert_int_equal(contracts.n_gpus, 0);
}

TEST(a_directory_is_rejected)
{
	assert_int_equal(contracts_load(folder, &contracts, &err), -EISDIR);
	assert_non_null(strstr(err.msg, folder));
}

/* A file of version 1, which every later version reads. */
static json_t *first_file(void)
{
	return json_pack(
		"{s:i, s:[{s:s, s:s, s:b}], s:[{s:s, s:s, s:s, s:i, s:{s:s}, s:i, s:i, s:f,"
		" s:f, s:b, s:b, s:i, s:I, s:b}]}",
		"version", 1, "gpus", "name", "gpu0", "mode", "act", "selling", 1, "vgpus", "id",
		"a", "gpu", "gpu0", "vm", "", "cid", 3, "labels", "k", "v", "initial_cap_pct", 50,
		"min_cap_pct", 10, "target_fps", 60.0, "weight", 1.0, "burst", 0, "held", 0,
		"held_cap_pct", 0, "created_ms", (json_int_t)1, "found", 0);
}

static json_t *good_file(void)
{
	json_t *file = first_file(), *vgpu = json_array_get(json_object_get(file, "vgpus"), 0);

	json_object_set_new(file, "version", json_integer(6));
	json_object_set_new(file, "revision", json_integer(9));
	json_object_set_new(file, "ids",
			    json_pack("{s:i, s:i, s:i}", "decision", 1, "alert", 2, "offer", 3));
	json_object_set_new(vgpu, "offer", json_integer(3));
	json_object_set_new(vgpu, "claim_key", json_string("key"));
	json_object_set_new(vgpu, "flavor", json_string("small"));
	json_object_set_new(vgpu, "fps_limit", json_real(60));
	json_object_set_new(vgpu, "claim_body", json_string(""));
	json_object_set_new(vgpu, "removing", json_false());
	json_object_set_new(file, "settings", json_pack("{s:s}", "overload_pct", "90"));
	json_object_set_new(file, "silences",
			    json_pack("{s:i, s:[{s:i, s:i, s:i, s:s, s:s, s:s, s:s}]}", "last_id",
				      4, "list", "id", 2, "created_ms", 1, "until_ms", 2, "alert",
				      "held_overloaded", "gpu", "", "vgpu", "a", "reason", "x"));
	json_object_set_new(file, "acks", json_pack("[{s:i, s:i}]", "alert", 2, "acked_ms", 5));
	json_object_set_new(file, "withdrawn", json_pack("[i]", 3));
	return file;
}

/*
 * Returns the part @list of the file: "ids", or the first element of "gpus" or "vgpus"; "": the
 * whole file.
 */
static json_t *object_of(json_t *file, const char *list)
{
	json_t *value = list[0] ? json_object_get(file, list) : file;

	return json_is_array(value) ? json_array_get(value, 0) : value;
}

/* Checks that loading the file fails with a message that contains the path and @word. */
static void check_rejected(json_t *file, const char *word, const char *what)
{
	CLEANUP_FREE char *text = json_dumps(file, 0);
	int r;

	assert_non_null(text);
	r = load(text);
	if (r != -EINVAL)
		fail_msg("%s %s: loading returned %d", word, what, r);
	if (strncmp(err.msg, path, strlen(path)) != 0 || !strstr(err.msg + strlen(path), word))
		fail_msg("%s %s: not in the message '%s'", word, what, err.msg);
	if (contracts.n_vgpus > 0 || contracts.n_gpus > 0)
		fail_msg("%s %s: rejected, but contracts were returned", word, what);
}

#define TEXT_32	 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define TEXT_64	 TEXT_32 TEXT_32
#define TEXT_128 TEXT_64 TEXT_64

static const struct {
	const char *list, *member, *value;
} malformed[] = {
	{"", "version", "\"1\""},
	{"", "version", "1.5"},
	{"", "revision", "-1"},
	{"", "revision", "1.5"},
	{"", "revision", "\"9\""},
	{"", "ids", "[]"},
	{"", "gpus", "{}"},
	{"", "gpus", "null"},
	{"", "vgpus", "{}"},
	{"", "vgpus", "\"none\""},
	{"ids", "decision", "-1"},
	{"ids", "alert", "\"2\""},
	{"ids", "offer", "1e300"},
	{"gpus", "name", "7"},
	{"gpus", "name", "\"\""},
	{"gpus", "name", "\"a/b\""},
	{"gpus", "mode", "\"asleep\""},
	{"gpus", "mode", "null"},
	{"gpus", "selling", "1"},
	{"vgpus", "id", "5"},
	{"vgpus", "id", "\"\""},
	{"vgpus", "id", "\"../a\""},
	{"vgpus", "id", "\"" TEXT_64 "\""},
	{"vgpus", "gpu", "null"},
	{"vgpus", "gpu", "\"-\""},
	{"vgpus", "vm", "7"},
	{"vgpus", "vm", "\"" TEXT_128 "\""},
	{"vgpus", "cid", "-1"},
	{"vgpus", "cid", "4294967296"},
	{"vgpus", "cid", "\"3\""},
	{"vgpus", "labels", "[]"},
	{"vgpus", "labels", "{\"k\": 1}"},
	{"vgpus", "initial_cap_pct", "0"},
	{"vgpus", "initial_cap_pct", "101"},
	{"vgpus", "initial_cap_pct", "50.5"},
	{"vgpus", "initial_cap_pct", "\"50\""},
	{"vgpus", "initial_cap_pct", "4294967346"},
	{"vgpus", "min_cap_pct", "-1"},
	{"vgpus", "min_cap_pct", "51"},
	{"vgpus", "target_fps", "-1"},
	{"vgpus", "target_fps", "\"60\""},
	{"vgpus", "fps_limit", "-1"},
	{"vgpus", "fps_limit", "\"60\""},
	{"vgpus", "weight", "0"},
	{"vgpus", "weight", "-1"},
	{"vgpus", "burst", "1"},
	{"vgpus", "held", "\"on\""},
	{"vgpus", "held_cap_pct", "-1"},
	{"vgpus", "held_cap_pct", "101"},
	{"vgpus", "created_ms", "\"now\""},
	{"vgpus", "found", "0"},
	{"vgpus", "removing", "0"},
	{"vgpus", "offer", "-1"},
	{"vgpus", "offer", "\"3\""},
	{"vgpus", "claim_key", "3"},
	{"vgpus", "claim_body", "\"0123456789abcdef0\""},
	{"vgpus", "claim_key", "\"" TEXT_128 "\""},
	{"vgpus", "flavor", "\"" TEXT_64 "\""},
};

TEST(malformed_members_are_rejected)
{
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		json_t *file = good_file();
		json_t *value = json_loads(malformed[i].value, JSON_DECODE_ANY, NULL);

		assert_int_equal(json_object_set_new(object_of(file, malformed[i].list),
						     malformed[i].member, value),
				 0);
		check_rejected(file, malformed[i].member, malformed[i].value);
		json_decref(file);
	}
}

TEST(too_many_labels_are_rejected)
{
	json_t *file = good_file();

	json_object_set_new(object_of(file, "vgpus"), "labels", many_labels(LABELS_MAX + 1));
	check_rejected(file, "labels", "33 of them");
	json_decref(file);
}

TEST(all_members_are_required_and_no_others_allowed)
{
	static const char *const lists[] = {"", "ids", "gpus", "vgpus"};
	json_t *good = good_file();
	CLEANUP_FREE char *text = json_dumps(good, 0);

	assert_int_equal(load(text), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *member;
		json_t *file, *value;

		json_object_foreach (object_of(good, lists[i]), member, value) {
			file = json_deep_copy(good);
			json_object_del(object_of(file, lists[i]), member);
			check_rejected(file, member, "required");
			json_decref(file);
		}
		file = json_deep_copy(good);
		json_object_set_new(object_of(file, lists[i]), "surplus", json_true());
		check_rejected(file, "surplus", "is unknown");
		json_decref(file);
	}
	json_decref(good);
}

TEST(a_file_of_version_1_is_read)
{
	json_t *file = first_file();
	CLEANUP_FREE char *text = json_dumps(file, 0);

	assert_int_equal(load(text), 0);
	assert_int_equal(contracts.head.revision, 0);
	assert_int_equal(contracts.head.ids.decision, 0);
	assert_int_equal(contracts.n_vgpus, 1);
	assert_int_equal(contracts.vgpus[0].contract.terms.initial_cap_pct, 50);
	assert_int_equal(contracts.vgpus[0].contract.offer, 0);
	assert_int_equal(contracts.keys.n, 0);
	json_decref(file);
}

TEST(later_members_are_unknown_in_version_1)
{
	json_t *file = first_file();

	json_object_set_new(object_of(file, "vgpus"), "offer", json_integer(3));
	check_rejected(file, "offer", "in version 1");
	json_decref(file);
	file = first_file();
	json_object_set_new(file, "revision", json_integer(3));
	check_rejected(file, "revision", "in version 1");
	json_decref(file);
}

TEST(invalid_json_is_rejected_with_its_line)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", ":1"},
		{"null", "contracts.json"},
		{"[]", "version"},
		{"{\n\n\"version\": 1,,}", ":3"},
		{"{\"version\": 1, \"version\": 1}", "duplicate"},
		{"{\"version\": 1, \"gpus\": [], \"vgpus\": [], \"vgpus\": []}", "duplicate"},
		{"{\"version\": 1, \"gpus\": [5], \"vgpus\": []}", "gpus"},
		{"{\"version\": 1, \"gpus\": [], \"vgpus\": [[]]}", "vgpus"},
		{"{\"version\": 1, \"gpus\": [], \"vgpus\": []} {}", ":1"},
		{"\xff\xfe", ":1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (load(rows[i].text) != -EINVAL)
			fail_msg("'%s' is accepted", rows[i].text);
		if (strncmp(err.msg, path, strlen(path)) != 0 || !strstr(err.msg, rows[i].message))
			fail_msg("'%s': the message is '%s'", rows[i].text, err.msg);
	}
}

TEST(two_entries_with_the_same_name_are_rejected)
{
	static const struct {
		const char *list, *message;
	} rows[] = {
		{"vgpus", "vgpus: element 1: id: "},
		{"gpus", "gpus: element 1: name: "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_t *file = first_file(), *list = json_object_get(file, rows[i].list);

		json_array_append_new(list, json_deep_copy(json_array_get(list, 0)));
		check_rejected(file, rows[i].message, "is a duplicate of element 0");
		json_decref(file);
	}
}

TEST(a_truncated_file_is_rejected)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;

	fill_host();
	text = encode_host();
	assert_non_null(text);
	length = strlen(text);
	for (size_t cut = 0; cut < length; cut += cut < 300 ? 1 : 37) {
		assert_int_equal(file_replace(path, text, cut), 0);
		if (contracts_load(path, &contracts, &err) != -EINVAL)
			fail_msg("cut after %zu of %zu bytes", cut, length);
	}
}

TEST(too_many_gpus_are_rejected)
{
	json_t *file = good_file(), *gpus = json_object_get(file, "gpus");

	for (int i = 0; i < GPUS_MAX; i++)
		json_array_append_new(gpus, json_deep_copy(json_array_get(gpus, 0)));
	check_rejected(file, "64", "GPUs");
	json_decref(file);
}

TEST(a_huge_file_is_rejected)
{
	assert_int_equal(file_replace(path, "{", 1), 0);
	assert_int_equal(truncate(path, 1024LL * 1024 * 1024), 0);
	assert_int_equal(contracts_load(path, &contracts, &err), -EFBIG);
	assert_non_null(strstr(err.msg, path));
}

/* --- versions of the file --- */

#define OPERATOR                                                                          \
	", \"settings\": {}, \"silences\": {\"last_id\": 7, \"list\": []}, \"acks\": []," \
	" \"withdrawn\": []"

static int parse_text(const char *text)
{
	contracts_fini(&contracts);
	memset(&contracts, 0, sizeof(contracts));
	err.msg[0] = '\0';
	return contracts_parse(text, strlen(text), "file", &contracts, &err);
}

/* Parses a file of @version with one contract; @more is appended to the members of the contract. */
static int parse(int version, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"version\": %d, \"revision\": 9, \"ids\": {\"decision\": 1, \"alert\": 2,"
		 " \"offer\": 3}, \"gpus\": [], \"vgpus\": [{\"id\": \"a\", \"gpu\": \"gpu0\","
		 " \"vm\": \"\", \"cid\": 0, \"labels\": {}, \"initial_cap_pct\": 50,"
		 " \"min_cap_pct\": 0, \"target_fps\": 60, \"weight\": 1, \"burst\": false,"
		 " \"held\": false, \"held_cap_pct\": 0, \"created_ms\": 1, \"found\": false,"
		 " \"offer\": 3, \"claim_key\": \"key\"%s}]%s}",
		 version, more, members);
	return parse_text(text);
}

static void expect_rejected(int version, const char *more, const char *word)
{
	assert_int_equal(parse(version, more), -EINVAL);
	assert_non_null(strstr(err.msg, word));
}

TEST(version_2_has_no_flavour)
{
	assert_int_equal(parse(2, ""), 0);
	assert_int_equal(contracts.head.revision, 9);
	assert_string_equal(contracts.vgpus[0].contract.flavor, "");
	expect_rejected(2, ", \"flavor\": \"small\"", "flavor");
}

TEST(version_3_has_the_flavour)
{
	assert_int_equal(parse(3, ", \"flavor\": \"small\""), 0);
	assert_string_equal(contracts.vgpus[0].contract.flavor, "small");
	assert_int_equal(parse(3, ", \"flavor\": \"\""), 0);
	assert_string_equal(contracts.vgpus[0].contract.flavor, "");
	expect_rejected(3, "", "flavor: required");
}

TEST(version_4_has_the_fps_limit)
{
	assert_int_equal(parse(4, ", \"flavor\": \"\", \"fps_limit\": 59.5"), 0);
	assert_true(contracts.vgpus[0].contract.fps_limit == 59.5);
	expect_rejected(4, ", \"flavor\": \"\"", "fps_limit: required");
	assert_int_equal(parse(3, ", \"flavor\": \"\""), 0);
	assert_true(contracts.vgpus[0].contract.fps_limit == 0);
}

TEST(version_5_has_the_hash_of_the_request)
{
	assert_int_equal(parse(5, ", \"flavor\": \"\", \"fps_limit\": 0, \"claim_body\": \"12\""),
			 0);
	expect_rejected(5, ", \"flavor\": \"\", \"fps_limit\": 0", "claim_body: required");
}

TEST(version_6_has_the_state_of_the_operator)
{
	static const char rest[] = ", \"flavor\": \"\", \"fps_limit\": 0, \"claim_body\": \"\""
				   ", \"removing\": true";

	assert_int_equal(parse(5, ", \"flavor\": \"\", \"fps_limit\": 0, \"claim_body\": \"\""), 0);
	assert_null(contracts.operator_state);
	assert_false(contracts.vgpus[0].removing);
	expect_rejected(5, rest, "removing");
	members = OPERATOR;
	assert_int_equal(parse(6, rest), 0);
	assert_true(contracts.vgpus[0].removing);
	assert_int_equal(contracts.operator_state->silences.last_id, 7);
	assert_int_equal(parse(6, ""), -EINVAL);
	members = "";
	expect_rejected(6, rest, "settings: required");
}

/* Parses a file of @version with one GPU; @migrations is appended to the members of the GPU. */
static int parse_migrations(int version, const char *migrations)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "{\"version\": %d, \"revision\": 9, \"ids\": {\"decision\": 1, \"alert\": 2,"
		 " \"offer\": 3}, \"gpus\": [{\"name\": \"gpu0\", \"mode\": \"act\","
		 " \"selling\": true%s}], \"vgpus\": [], \"settings\": {}, \"silences\":"
		 " {\"last_id\": 7, \"list\": []}, \"acks\": [], \"withdrawn\": []}",
		 version, migrations);
	return parse_text(text);
}

TEST(version_8_has_the_estimate_of_migrations)
{
	static const struct {
		const char *value, *word;
	} rejected[] = {
		{"[]", "migrations: required"},
		{"{}", "migrations: "},
		{"{\"unanswered\": 0, \"answered\": 1, \"delay_s\": 1}", "unanswered"},
		{"{\"unanswered\": true, \"answered\": -1, \"delay_s\": 1}", "answered"},
		{"{\"unanswered\": true, \"answered\": 1.5, \"delay_s\": 1}", "answered"},
		{"{\"unanswered\": true, \"answered\": 1, \"delay_s\": -1}", "delay_s"},
		{"{\"unanswered\": true, \"answered\": 1, \"delay_s\": \"1\"}", "delay_s"},
		{"{\"unanswered\": true, \"answered\": 1}", "delay_s"},
		{"{\"unanswered\": true, \"answered\": 1, \"delay_s\": 1, \"x\": 1}", "x"},
	};
	char member[160];

	assert_int_equal(parse_migrations(7, ""), 0);
	assert_int_equal(contracts.gpus[0].migrations.answered, 0);
	assert_int_equal(parse_migrations(8, ""), -EINVAL);
	assert_non_null(strstr(err.msg, "migrations: required"));
	assert_int_equal(parse_migrations(8, ", \"migrations\": {\"unanswered\": true,"
					     " \"answered\": 3, \"delay_s\": 12.5}"),
			 0);
	assert_true(contracts.gpus[0].migrations.unanswered);
	assert_int_equal(contracts.gpus[0].migrations.answered, 3);
	assert_float_equal(contracts.gpus[0].migrations.delay_s, 12.5, 0);
	assert_int_equal(parse_migrations(7, ", \"migrations\": {}"), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(rejected); i++) {
		snprintf(member, sizeof(member), ", \"migrations\": %s", rejected[i].value);
		assert_int_equal(parse_migrations(8, member), -EINVAL);
		assert_non_null(strstr(err.msg, rejected[i].word));
	}
}

/* The members of a contract since version 8. */
#define REST                                                       \
	", \"flavor\": \"\", \"fps_limit\": 0, \"removing\": true" \
	", \"target_rate\": 0, \"memory_mib\": 0"
static const char rest[] = REST ", \"claim_body\": \"\"";

TEST(version_9_has_the_held_offers)
{
	members = OPERATOR ", \"held_offers\": []";
	assert_int_equal(parse(9, rest), 0);
	expect_rejected(8, rest, "held_offers: unknown member");
	members = OPERATOR;
	assert_int_equal(parse(8, rest), 0);
	assert_int_equal(contracts.operator_state->n_holds, 0);
	expect_rejected(9, rest, "held_offers: required");
}

#define HELD(more)                                                                             \
	OPERATOR ", \"held_offers\": [{\"offer\": 3, \"gpu\": \"gpu0\", \"flavor\": \"half\"," \
		 " \"holder\": \"k\", \"created_ms\": 1, \"expires_ms\": 2, \"until_ms\": 3,"  \
		 " \"initial_cap_pct\": 50, \"target\": 0" more "}]"

TEST(version_10_has_the_smaller_flavours)
{
	members = HELD(", \"smaller_flavors\": [{\"flavor\": \"quarter\", \"initial_cap_pct\": 25,"
		       " \"target\": 30}]");
	assert_int_equal(parse(10, rest), 0);
	assert_int_equal(contracts.operator_state->holds[0].n_flavors, 2);
	assert_string_equal(contracts.operator_state->holds[0].flavors[0].flavor, "half");
	assert_string_equal(contracts.operator_state->holds[0].flavors[1].flavor, "quarter");
	expect_rejected(9, rest, "smaller_flavors");
	members = HELD("");
	assert_int_equal(parse(9, rest), 0);
	assert_int_equal(contracts.operator_state->holds[0].n_flavors, 1);
	expect_rejected(10, rest, "smaller_flavors: required");
	members = HELD(", \"smaller_flavors\": [{\"flavor\": \"quarter\"}]");
	expect_rejected(10, rest, "smaller_flavors: element 0");
}

/* Checks the only key of the file. */
static void expect_key(const char *body, int64_t offer)
{
	const struct sale_key *key = contracts.keys.list;

	assert_int_equal(contracts.keys.n, 1);
	assert_string_equal(key->key, "key");
	assert_string_equal(key->body, body);
	assert_string_equal(key->vgpu, "a");
	assert_int_equal(key->offer, offer);
	assert_int_equal(key->created_ms, 1);
}

TEST(the_key_of_an_older_contract_becomes_an_entry)
{
	assert_int_equal(parse(2, ""), 0);
	expect_key("", 3);
	assert_int_equal(parse(5, ", \"flavor\": \"\", \"fps_limit\": 0, \"claim_body\": \"\""), 0);
	expect_key("", 3);
	members = OPERATOR ", \"held_offers\": []";
	assert_int_equal(parse(10, REST ", \"claim_body\": \"0123456789abcdef\""), 0);
	expect_key("0123456789abcdef", 0);
	expect_rejected(10, REST, "claim_body: required");
}

#define KEY_OF(key, more)  \
	"{\"key\": \"" key \
	"\", \"body\": \"\", \"offer\": 3, \"vgpu\": \"a\", \"created_ms\": 1" more "}"

TEST(version_11_has_the_keys)
{
	static const char file[] =
		"{\"version\": 11, \"revision\": 9, \"ids\": {\"decision\": 1,"
		" \"alert\": 2, \"offer\": 3}, \"gpus\": [], \"vgpus\": []" OPERATOR
		", \"held_offers\": []%s}";
	static const struct {
		const char *keys, *word; /* word: NULL: accepted */
	} rows[] = {
		{", \"keys\": [" KEY_OF("key", "") "]", NULL},
		{"", "keys: required"},
		{", \"keys\": [" KEY_OF("key", "") ", " KEY_OF("key", "") "]",
		 "keys: element 1: key: \"key\" is empty or a duplicate"},
		{", \"keys\": [" KEY_OF("", "") "]", "keys: element 0: key: "},
		{", \"keys\": [" KEY_OF("k", ", \"x\": 1") "]", "keys: element 0: x"},
		{", \"keys\": [{\"key\": \"k\"}]", "keys: element 0: body: required"},
	};
	char text[1024];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(text, sizeof(text), file, rows[i].keys);
		assert_int_equal(parse_text(text), rows[i].word ? -EINVAL : 0);
		if (rows[i].word && !strstr(err.msg, rows[i].word))
			fail_msg("row %zu: %s", i, err.msg);
		else if (!rows[i].word)
			expect_key("", 3);
	}
	members = OPERATOR ", \"held_offers\": [], \"keys\": []";
	expect_rejected(11, rest, "claim_key");
	expect_rejected(10, rest, "keys: unknown member");
}

TEST(version_12_has_the_audit_log)
{
	static const struct {
		const char *text, *word; /* word: NULL: accepted */
	} rows[] = {
		{"{\"version\": 12, \"revision\": 9, \"ids\": {\"decision\": 1,"
		 " \"alert\": 2, \"offer\": 3, \"audit\": 4}, \"gpus\": [], \"vgpus\": []" OPERATOR
		 ", \"held_offers\": [], \"keys\": [], \"audit\": []}",
		 NULL},
		{"{\"version\": 12, \"revision\": 9, \"ids\": {\"decision\": 1,"
		 " \"alert\": 2, \"offer\": 3}, \"gpus\": [], \"vgpus\": []" OPERATOR
		 ", \"held_offers\": [], \"keys\": [], \"audit\": []}",
		 "ids: audit: required"},
		{"{\"version\": 12, \"revision\": 9, \"ids\": {\"decision\": 1,"
		 " \"alert\": 2, \"offer\": 3, \"audit\": 4}, \"gpus\": [], \"vgpus\": []" OPERATOR
		 ", \"held_offers\": [], \"keys\": []}",
		 "audit: required"},
		{"{\"version\": 11, \"revision\": 9, \"ids\": {\"decision\": 1,"
		 " \"alert\": 2, \"offer\": 3}, \"gpus\": [], \"vgpus\": []" OPERATOR
		 ", \"held_offers\": [], \"keys\": [], \"audit\": []}",
		 "audit: unknown member"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_text(rows[i].text), rows[i].word ? -EINVAL : 0);
		if (rows[i].word && !strstr(err.msg, rows[i].word))
			fail_msg("row %zu: %s", i, err.msg);
		else if (!rows[i].word)
			assert_int_equal(contracts.head.ids.audit, 4);
	}
}

TEST(version_12_may_have_the_begin_of_a_hold_and_a_freeze)
{
	static const struct {
		int version;
		const char *frozen, *held;
		int64_t frozen_ms, held_ms; /* -1: the file is rejected */
	} rows[] = {
		{12, "", "", 0, 0},
		{12, ", \"frozen_since_ms\": 5", "", 5, 0},
		{12, "", ", \"held_since_ms\": 9007199254740992", 0, INT64_C(1) << 53},
		{12, ", \"frozen_since_ms\": 0", ", \"held_since_ms\": 7", 0, 7},
		{12, ", \"frozen_since_ms\": -1", "", -1, 0},
		{12, ", \"frozen_since_ms\": null", "", -1, 0},
		{12, "", ", \"held_since_ms\": 1.5", 0, -1},
		{12, "", ", \"held_since_ms\": \"7\"", 0, -1},
		{12, "", ", \"held_since_ms\": 9007199254740993", 0, -1},
		{11, ", \"frozen_since_ms\": 5", "", -1, 0},
		{11, "", ", \"held_since_ms\": 7", 0, -1},
	};
	char text[2048];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool newer = rows[i].version >= 12;
		bool bad = rows[i].frozen_ms < 0 || rows[i].held_ms < 0;

		snprintf(text, sizeof(text),
			 "{\"version\": %d, \"revision\": 9, \"ids\": {\"decision\": 1,"
			 " \"alert\": 2, \"offer\": 3%s}, \"gpus\": [{\"name\": \"gpu0\","
			 " \"mode\": \"frozen\", \"selling\": true, \"migrations\":"
			 " {\"unanswered\": false, \"answered\": 0, \"delay_s\": 0}%s}],"
			 " \"vgpus\": [{\"id\": \"a\", \"gpu\": \"gpu0\", \"vm\": \"\","
			 " \"cid\": 0, \"labels\": {}, \"initial_cap_pct\": 50,"
			 " \"min_cap_pct\": 0, \"target_fps\": 60, \"weight\": 1,"
			 " \"burst\": false, \"held\": true, \"held_cap_pct\": 20,"
			 " \"created_ms\": 1, \"found\": false, \"offer\": 3%s%s}]" OPERATOR
			 ", \"held_offers\": [], \"keys\": []%s}",
			 rows[i].version, newer ? ", \"audit\": 4" : "", rows[i].frozen, REST,
			 rows[i].held, newer ? ", \"audit\": []" : "");
		if (parse_text(text) != (bad ? -EINVAL : 0))
			fail_msg("row %zu: %s", i, err.msg);
		if (bad)
			continue;
		assert_int_equal(contracts.gpus[0].frozen_since.at_ms, rows[i].frozen_ms);
		assert_int_equal(contracts.vgpus[0].contract.held_since.at_ms, rows[i].held_ms);
	}
}

TEST(a_newer_version_is_rejected_with_both_versions)
{
	static const char *const texts[] = {
		"{\"version\": 13, \"gpus\": [], \"vgpus\": []}",
		"{\"version\": 13, \"gpus\": [], \"vgpus\": [], \"tenants\": {}}",
		"{\"version\": 13}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(
			contracts_parse(texts[i], strlen(texts[i]), "file", &contracts, &err),
			-EPROTO);
		assert_string_equal(err.msg,
				    "file: version: 13 is not supported (allowed: 1 to 12)");
	}
}

TEST(messages_contain_the_name_of_a_text)
{
	static const char text[] = "{\"version\": 1, \"gpus\": []}";

	assert_int_equal(contracts_parse(text, strlen(text), "the database", &contracts, &err),
			 -EINVAL);
	assert_string_equal(
		err.msg,
		"the database: vgpus: required (allowed: a list of at most 16384 objects)");
}

/* --- requests --- */

static void sell_small(void)
{
	strcpy(manager->config.offer.flavor, "half");
	manager->config.flavors[0] =
		(struct flavor){.name = "small", .cap_pct = 20, .target_fps = 30, .target_rate = 4};
	manager->config.n_flavors = 1;
}

TEST_WITH(a_new_vgpu_has_a_cap_or_a_flavour, stand_in_begin, stand_in_end)
{
	sell_small();
	assert_problem("POST /v1/vgpus", "{\"id\": \"w\"}", 422, "initial_cap_pct: required");
	assert_problem("POST /v1/vgpus", "{\"id\": \"w\", \"flavor\": 5}", 422, "flavor: 5");
	assert_int_equal(ask("POST /v1/vgpus", "{\"id\": \"v\", \"flavor\": \"small\"}")->status,
			 201);
	assert_int_equal(manager->fields, CONTRACT_ID | CONTRACT_FLAVOR);
}

TEST_WITH(the_answer_has_the_flavour_that_sets_the_price, stand_in_begin, stand_in_end)
{
	struct vgpu *vgpu = host_find_vgpu(&manager->host, "a", NULL);
	static const struct {
		const char *flavor, *shown;
	} rows[] = {{"", "half"}, {"small", "small"}, {"gone", "half"}};

	sell_small();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char words[64];

		strcpy(vgpu->contract.flavor, rows[i].flavor);
		snprintf(words, sizeof(words), "\"flavor\":\"%s\"", rows[i].shown);
		assert_non_null(strstr(ask("GET /v1/vgpus/a", NULL)->text->data, words));
	}
}

TEST_WITH(the_flavour_can_be_changed, stand_in_begin, stand_in_end)
{
	sell_small();
	assert_int_equal(ask("PATCH /v1/vgpus/a", "{\"flavor\": \"small\"}")->status, 200);
	assert_int_equal(manager->fields, CONTRACT_FLAVOR);
	assert_string_equal(manager->values.flavor, "small");
}
