/* SPDX-License-Identifier: MIT */
/* Parses the texts of workloads. A key that the model does not use is an error. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "sim/model/workload-model.h"

#define GAP_S 5 /* default of gap_s; a trace has one sample per second, but samples may be late */

struct key {
	const char *name;
	unsigned int of; /* TAKES_... */
	bool required;
	int (*take)(const struct key *key, struct workload_text *text, const char *value);
	double min, max;
	size_t offset; /* offset of the value in struct workload_text */
	const char *allowed;
};

static void *member(const struct key *key, struct workload_text *text)
{
	return (char *)text + key->offset;
}

static int take_number(const struct key *key, struct workload_text *text, const char *value)
{
	return parse_double(value, key->min, key->max, member(key, text));
}

static int take_bool(const struct key *key, struct workload_text *text, const char *value)
{
	return parse_bool(value, member(key, text));
}

static int take_seed(const struct key *key, struct workload_text *text, const char *value)
{
	int64_t seed;
	int r = parse_int(value, 0, INT64_MAX, &seed);

	(void)key;
	if (r < 0)
		return r;
	text->workload.seeded = true;
	text->workload.seed = (uint64_t)seed;
	return 0;
}

static int take_file(const struct key *key, struct workload_text *text, const char *value)
{
	(void)key;
	if (*value == '\0')
		return -EINVAL;
	/* cannot overflow, because the value is a part of the workload text */
	strcpy(text->file, value);
	return 0;
}

static int take_gap(const struct key *key, struct workload_text *text, const char *value)
{
	(void)key;
	text->workload.playback.idle_gaps = strcmp(value, "idle") == 0;
	text->may_have_gaps = strcmp(value, "error") != 0;
	if (text->workload.playback.idle_gaps || !text->may_have_gaps)
		return 0;
	return strcmp(value, "hold") == 0 ? 0 : -EINVAL;
}

#define AT(member)	    offsetof(struct workload_text, member)
#define NUMBER(least, most) take_number, least, most
#define SECONDS_MAX	    4e9

static const struct key keys[] = {
	{"gpu_ms", TAKES_FRAME, true, NUMBER(0.01, 10000), AT(workload.gpu_ms), "0.01 to 10000"},
	{"cpu_ms", TAKES_FRAME, true, NUMBER(0, 10000), AT(workload.cpu_ms), "0 to 10000"},
	{"vsync_hz", TAKES_VSYNC, true, NUMBER(1, 1000), AT(workload.vsync_hz), "1 to 1000"},
	{"file", TAKES_TRACE, true, take_file, 0, 0, 0, "a file name without a comma"},
	{"scale", TAKES_SCALE, false, NUMBER(0.01, 100), AT(workload.scale), "0.01 to 100"},
	{"fps_max", TAKES_PACING, false, NUMBER(0.1, 10000), AT(workload.fps_max), "0.1 to 10000"},
	{"on_s", TAKES_BURST, true, NUMBER(0.01, 1e6), AT(workload.on_s), "0.01 to 1000000"},
	{"off_s", TAKES_BURST, true, NUMBER(0.01, 1e6), AT(workload.off_s), "0.01 to 1000000"},
	{"pct", TAKES_LOAD | TAKES_BURST, true, NUMBER(0, 100), AT(workload.pct), "0 to 100"},
	{"jitter", TAKES_BURST, false, NUMBER(0, 1), AT(workload.jitter), "0 to 1"},
	{"seed", TAKES_SEED, false, take_seed, 0, 0, 0, "0 to 9223372036854775807"},
	{"period_s", TAKES_SQUARE, true, NUMBER(0.01, 1e6), AT(workload.period_s),
	 "0.01 to 1000000"},
	{"low_pct", TAKES_SQUARE, true, NUMBER(0, 100), AT(workload.low_pct), "0 to 100"},
	{"high_pct", TAKES_SQUARE, true, NUMBER(0, 100), AT(workload.high_pct), "0 to 100"},
	{"phase_s", TAKES_SQUARE, false, NUMBER(0, 1e6), AT(workload.phase_s), "0 to 1000000"},
	{"offset_s", TAKES_TRACE, false, NUMBER(0, SECONDS_MAX), AT(offset_s), "0 to 4000000000"},
	{"length_s", TAKES_TRACE, false, NUMBER(0.001, SECONDS_MAX), AT(length_s),
	 "0.001 to 4000000000"},
	{"loop", TAKES_TRACE, false, take_bool, 0, 0, AT(workload.playback.loop), "on, off"},
	{"gap", TAKES_TRACE, false, take_gap, 0, 0, 0, "error, hold, idle"},
	{"gap_s", TAKES_TRACE, false, NUMBER(0.001, SECONDS_MAX), AT(gap_s), "0.001 to 4000000000"},
	{"interpolate", TAKES_TRACE, false, take_bool, 0, 0, AT(workload.playback.interpolate),
	 "on, off"},
};

_Static_assert(ARRAY_SIZE(keys) <= 32, "a bit for each key");

static void append_word(char *text, size_t size, const char *word)
{
	size_t length = strlen(text);

	snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", word);
}

static int fail_unknown_model(const char *name, struct err *reterr)
{
	char names[128] = "";

	for (const struct workload_model *model = workload_models; model->name; model++)
		append_word(names, sizeof(names), model->name);
	return err_fail(reterr, EINVAL, "unknown workload '%s' (allowed: %s)", name, names);
}

static int fail_unknown_key(const struct workload_model *model, const char *name,
			    struct err *reterr)
{
	char names[128] = "";

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].of & model->takes)
			append_word(names, sizeof(names), keys[i].name);
	return err_fail(reterr, EINVAL, "workload %s: unknown key '%s' (allowed: %s)", model->name,
			name, model->takes ? names : "none");
}

/* Applies the setting "key=value". *@seen: bit set of the keys that were set. */
static int take_setting(struct workload_text *text, char *setting, unsigned int *seen,
			struct err *reterr)
{
	const struct workload_model *model = text->workload.model;
	char *value = strchr(setting, '=');

	if (!value)
		return err_fail(reterr, EINVAL,
				"workload %s: '%s': not a setting (allowed: key=value)",
				model->name, setting);
	*value++ = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct key *key = &keys[i];

		if (strcmp(key->name, setting) != 0 || !(key->of & model->takes))
			continue;
		if (*seen & 1u << i)
			return err_fail(reterr, EINVAL, "workload %s: %s: set twice", model->name,
					key->name);
		*seen |= 1u << i;
		if (key->take(key, text, value) < 0)
			return err_fail(reterr, EINVAL,
					"workload %s: %s '%s': not valid (allowed: %s)",
					model->name, key->name, value, key->allowed);
		return 0;
	}
	return fail_unknown_key(model, setting, reterr);
}

static const struct workload_model *find_model(const char *name)
{
	for (const struct workload_model *model = workload_models; model->name; model++)
		if (strcmp(model->name, name) == 0)
			return model;
	return NULL;
}

static int check_required(const struct workload_model *model, unsigned int seen, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].required && (keys[i].of & model->takes) && !(seen & 1u << i))
			return err_fail(reterr, EINVAL, "workload %s: %s: required (allowed: %s)",
					model->name, keys[i].name, keys[i].allowed);
	return 0;
}

int workload_text_read(const char *text, struct workload_text *ret_text, struct err *reterr)
{
	struct workload_text read = {
		.workload = {.scale = 1, .jitter = 1},
		.offset_s = -1,
		.gap_s = GAP_S,
	};
	struct workload *workload = &read.workload;
	char copy[WORKLOAD_TEXT_MAX];
	unsigned int seen = 0;
	char *rest;
	int r;

	if (strlen(text) >= sizeof(copy))
		return err_fail(reterr, EINVAL, "workload: too long (limit %d characters)",
				WORKLOAD_TEXT_MAX - 1);
	strcpy(workload->text, text);
	strcpy(copy, text);
	rest = strchr(copy, ':');
	if (rest)
		*rest++ = '\0';
	workload->model = find_model(copy);
	if (!workload->model)
		return fail_unknown_model(copy, reterr);
	workload->kind = workload->model->kind;
	workload->gpu_ms = workload->model->gpu_ms;
	workload->cpu_ms = workload->model->cpu_ms;
	while (rest) {
		char *setting = strsep(&rest, ",");

		r = take_setting(&read, setting, &seen, reterr);
		if (r < 0)
			return r;
	}
	r = check_required(workload->model, seen, reterr);
	if (r < 0)
		return r;
	*ret_text = read;
	return 0;
}

int workload_parse(const char *text, struct workload *ret_workload, struct err *reterr)
{
	struct workload_text read;
	int r = workload_text_read(text, &read, reterr);

	if (r < 0)
		return r;
	if (read.workload.model->takes & TAKES_TRACE)
		return err_fail(reterr, EINVAL,
				"workload %s: available only in gover-sim run and compare",
				read.workload.model->name);
	*ret_workload = read.workload;
	return 0;
}
