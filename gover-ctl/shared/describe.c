/* SPDX-License-Identifier: MIT */
/* Descriptions of vGPUs and decisions. Missing fields are omitted. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/text.h"
#include "gover-ctl/shared/describe.h"

#define append(text, ...) text_append(text, DESCRIBE_MAX, __VA_ARGS__)

static const char *comma(const char *text)
{
	return text[0] ? ", " : "";
}

const char *describe_selling(const json_t *gpu)
{
	const char *setting = field_text(gpu, "selling");
	bool paused = strcmp(setting, "on") == 0 && field_text(gpu, "no_sale_reason")[0];

	return paused ? DESCRIBE_PAUSED : setting;
}

void describe_time(const char *time, char text[DESCRIBE_MAX])
{
	const char *dot = strchr(time, '.');

	if (dot)
		snprintf(text, DESCRIBE_MAX, "%.*sZ", (int)(dot - time), time);
	else
		snprintf(text, DESCRIBE_MAX, "%s", time);
}

/* Appends a name such as "gpu_overcommitted" as words, after @before unless @text is empty. */
static void append_words(char text[DESCRIBE_MAX], const char *before, const char *name)
{
	size_t used = strlen(text);

	append(text, "%s%s", used ? before : "", name);
	for (char *c = text + used; *c; c++)
		*c = *c == '_' ? ' ' : *c;
}

void describe_notes(const json_t *vgpu, char text[DESCRIBE_MAX])
{
	static const struct {
		const char *key, *word;
	} flags[] = {
		{"overloaded", "overloaded"},
		{"short", "below its target"},
		{"held", "held"},
		{"found", "no contract"},
	};
	const char *state = field_text(vgpu, "state"), *cause = field_text(vgpu, "cause");
	char promise[DESCRIBE_MAX];

	text[0] = '\0';
	if (state[0] && strcmp(state, "active") != 0)
		append(text, "%s", strcmp(state, "probation") == 0 ? "on probation" : state);
	describe_promise(vgpu, promise);
	if (strcmp(promise, "broken") == 0 || strcmp(promise, "missing") == 0)
		append(text, "%spromise %s", comma(text), promise);
	if (cause[0])
		append_words(text, ": ", cause);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (field_true(vgpu, flags[i].key))
			append(text, "%s%s", comma(text), flags[i].word);
}

void describe_promise(const json_t *vgpu, char text[DESCRIBE_MAX])
{
	const char *promise = field_text(vgpu, "promise");
	bool promised = field_either(vgpu, "target_fps", "target_rate") > 0;
	bool known = !isnan(field_either(vgpu, "fps", "rate"));

	/* A contract without a target promises its cap. */
	snprintf(text, DESCRIBE_MAX, "%s",
		 promise[0]		      ? promise
		 : field_true(vgpu, "broken") ? "broken"
		 : field_true(vgpu, "found")  ? ""
		 : promised && !known	      ? "unknown"
					      : "kept");
}

void describe_reasons(const json_t *vgpu, char text[DESCRIBE_MAX])
{
	const char *state = field_text(vgpu, "state"), *cause = field_text(vgpu, "cause");
	bool broken = field_true(vgpu, "broken");
	const struct {
		bool is;
		const char *word;
	} reasons[] = {
		{state[0] && strcmp(state, "active") != 0,
		 strcmp(state, "probation") == 0 ? "on probation" : state},
		{cause[0], cause},
		{field_true(vgpu, "held") && strcmp(cause, "held") != 0, "held"},
		{field_true(vgpu, "found"), "no contract"},
		{!cause[0] && field_true(vgpu, "overloaded"), "overloaded"},
		{!cause[0] && !broken && field_true(vgpu, "short"), "below its target"},
	};

	text[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].is)
			append_words(text, ", ", reasons[i].word);
}

static void append_rate(char text[DESCRIBE_MAX], const json_t *vgpu)
{
	bool work = json_is_number(json_object_get(vgpu, "target_rate"));
	double rate = field_number(vgpu, work ? "rate" : "fps");
	double target = field_number(vgpu, work ? "target_rate" : "target_fps");
	double p99 = field_number(vgpu, "frame_p99_ms");
	const char *unit = work ? "units/s" : "fps";

	if (isnan(rate) && target > 0)
		append(text, ", no %s seen (target %g %s)", work ? "work" : "frames", target, unit);
	else if (target > 0)
		append(text, ", %.1f of %g %s", rate, target, unit);
	else if (!isnan(rate))
		append(text, ", %.1f %s", rate, unit);
	if (!isnan(rate) && p99 > 0)
		append(text, " (99 %% of frames within %.1f ms)", p99);
}

void describe_vgpu(const json_t *vgpu, char text[DESCRIBE_MAX])
{
	const char *vm = field_text(vgpu, "vm"), *gpu = field_text(vgpu, "gpu");
	double cap = field_number(vgpu, "cap_pct"), sold = field_number(vgpu, "initial_cap_pct");
	double util = field_number(vgpu, "util_pct");
	char notes[DESCRIBE_MAX];

	text[0] = '\0';
	append(text, "%s", field_text(vgpu, "id"));
	if (vm[0])
		append(text, " (vm %s)", vm);
	if (gpu[0])
		append(text, " on %s", gpu);
	if (isnan(cap))
		append(text, ": cap unknown, sold %.0f %%", sold);
	else
		append(text, ": cap %.0f %%, sold %.0f %%", cap, sold);
	if (isnan(util))
		append(text, ", use unknown");
	else
		append(text, ", %.0f %% of the cap used", util);
	append_rate(text, vgpu);
	describe_notes(vgpu, notes);
	append(text, "%s%s", comma(notes), notes);
}

void describe_smaller_flavors(const json_t *offer, char text[DESCRIBE_MAX])
{
	const json_t *flavors = json_object_get(offer, "flavors"), *flavor;
	size_t i;

	text[0] = '\0';
	json_array_foreach (flavors, i, flavor)
		if (i > 0)
			append(text, "%s%s %.0f %%", comma(text), field_text(flavor, "flavor"),
			       field_number(flavor, "initial_cap_pct"));
}

void describe_moves(const json_t *decision, char text[DESCRIBE_MAX])
{
	const json_t *moves = json_object_get(decision, "moves"), *move;
	size_t i;

	text[0] = '\0';
	json_array_foreach (moves, i, move) {
		double from = field_number(move, "from_pct"), to = field_number(move, "to_pct");
		double read = field_number(move, "read_back_pct");

		append(text, "%s%s %.0f -> %.0f %%", comma(text), field_text(move, "vgpu"), from,
		       to);
		if (!isnan(read) && read < to)
			append(text, " (read back %.0f %%)", read);
	}
}

void describe_numbers(const json_t *decision, char text[DESCRIBE_MAX])
{
	json_t *numbers = json_object_get(decision, "numbers"), *value;
	const char *name;

	text[0] = '\0';
	json_object_foreach (numbers, name, value) {
		if (json_is_number(value))
			append(text, "%s%s %.4g", comma(text), name, json_number_value(value));
	}
}
