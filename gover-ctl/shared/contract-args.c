/* SPDX-License-Identifier: MIT */
/*
 * Converts options to contract fields. A field without an option is omitted.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/xalloc.h"
#include "gover-ctl/shared/contract-args.h"

/*
 * Finds the option that gives @field a value: the option of the field, or an alias. Returns false
 * if neither is given.
 */
static bool find_option(const struct args *args, const struct contract_field *field,
			enum option_id *ret_id)
{
	static const enum option_id aliases[] = {OPTION_CAP_ALIAS, OPTION_RUN_CAP};

	if (!(field->uses & CONTRACT_IN_CTL))
		return false;
	*ret_id = (enum option_id)(OPTION_ID + (field - contract_field_at(0)));
	for (size_t i = 0; field->bit == CONTRACT_INITIAL_CAP && i < ARRAY_SIZE(aliases); i++)
		if (args_has(args, aliases[i]))
			*ret_id = aliases[i];
	return args_has(args, *ret_id);
}

/* Returns the value of an option as JSON; NULL for labels (see contract_args_merge_labels()). */
static json_t *field_value(const struct args *args, enum option_id id)
{
	switch (args_get_option(id)->type) {
	case OPTION_INT:
		return json_integer((json_int_t)args_get_number(args, id));
	case OPTION_NUMBER:
		return json_real(args_get_number(args, id));
	case OPTION_TEXT:
		return json_string(args->values[id]);
	case OPTION_FLAG:
		return json_true();
	case OPTION_PAIR:
		break;
	}
	return NULL;
}

json_t *contract_args_make_body(const struct args *args)
{
	const struct contract_field *field;
	json_t *body = json_object();
	enum option_id id;

	for (size_t i = 0; (field = contract_field_at(i)); i++)
		if (find_option(args, field, &id) && field->kind != JSON_DECODE_LABELS)
			(void)json_object_set_new(body, field->name, field_value(args, id));
	if (args_has(args, OPTION_NO_BURST))
		(void)json_object_set_new(body, "burst", json_false());
	return body;
}

json_t *contract_args_make_vgpu(const struct args *args, const char *id)
{
	json_t *body = contract_args_make_body(args), *labels = json_object();

	contract_args_merge_labels(args, labels);
	(void)json_object_set_new(body, "id", json_string(id));
	if (args->n_labels > 0)
		(void)json_object_set(body, "labels", labels);
	json_decref(labels);
	return body;
}

void contract_args_merge_labels(const struct args *args, json_t *labels)
{
	for (size_t i = 0; i < args->n_labels; i++) {
		const char *equals = strchr(args->labels[i], '=');
		CLEANUP_FREE char *key =
			xstrndup(args->labels[i], (size_t)(equals - args->labels[i]));

		if (equals[1] == '\0')
			/* no effect if there is no such label */
			(void)json_object_del(labels, key);
		else
			(void)json_object_set_new(labels, key, json_string(equals + 1));
	}
}

/* @subject: "--cap" or "label tenant". */
static void append_difference(char *text, size_t size, const char *subject, const char *is,
			      const char *value)
{
	size_t used = strlen(text);

	snprintf(text + used, size - used, "%s%s is %s, not %s", used ? "; " : "", subject,
		 is[0] ? is : "not set", value);
}

static int label_differs(const char *pair, const json_t *labels, char *text, size_t size)
{
	static const char label[] = "label ";
	const char *equals = strchr(pair, '=');
	char subject[128];
	const char *is;

	snprintf(subject, sizeof(subject), "%s%.*s", label, (int)(equals - pair), pair);
	is = field_text(labels, subject + strlen(label));
	if (strcmp(is, equals + 1) == 0)
		return 0;
	append_difference(text, size, subject, is, equals + 1);
	return 1;
}

int contract_args_list_differences(const struct args *args, const json_t *vgpu, char *text,
				   size_t size)
{
	const json_t *labels = json_object_get(vgpu, "labels");
	const struct contract_field *field;
	enum option_id id;
	int n = 0;

	text[0] = '\0';
	for (size_t i = 0; (field = contract_field_at(i)); i++) {
		char is[128], option[64];
		bool same;

		if (!find_option(args, field, &id) || field->kind == JSON_DECODE_LABELS)
			continue;
		if (args_get_option(id)->type == OPTION_TEXT) {
			snprintf(is, sizeof(is), "%s", field_text(vgpu, field->name));
			same = strcmp(is, args->values[id]) == 0;
		} else {
			double value = field_number(vgpu, field->name);

			is[0] = '\0';
			if (!isnan(value))
				snprintf(is, sizeof(is), "%g", value);
			same = value == args_get_number(args, id);
		}
		if (same)
			continue;
		snprintf(option, sizeof(option), "--%s", args_get_option(id)->name);
		append_difference(text, size, option, is, args->values[id]);
		n++;
	}
	for (size_t i = 0; i < args->n_labels; i++)
		n += label_differs(args->labels[i], labels, text, size);
	return n;
}
