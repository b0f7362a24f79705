/* SPDX-License-Identifier: MIT */
/* Sorts, selects and prints the rows of lists. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/xalloc.h"
#include "gover-ctl/verb/listing.h"

#define LABEL_MAX 256 /* size of a term of a selector with its NUL */

void listing_name_key(const struct writer_column *column, char key[LISTING_KEY_MAX])
{
	size_t n = 0;

	for (const char *c = column->head; *c && n + 1 < LISTING_KEY_MAX; c++)
		if (*c != '%')
			key[n++] = *c == ' ' ? '-' : (char)tolower((unsigned char)*c);
	key[n] = '\0';
}

static bool is_key(const struct writer_column *column, const char *word)
{
	char key[LISTING_KEY_MAX];

	listing_name_key(column, key);
	return strcasecmp(key, word) == 0 || strcasecmp(column->head, word) == 0;
}

static bool is_field(const struct writer_column *column, const char *word)
{
	return (column->key && strcmp(column->key, word) == 0) ||
	       (column->other_key && strcmp(column->other_key, word) == 0);
}

static enum ctl_exit fail_sort(const struct table *table, const char *given)
{
	char list[512] = "", key[LISTING_KEY_MAX];

	for (size_t i = 0; i < table->n_columns; i++) {
		size_t used = strlen(list);

		listing_name_key(&table->columns[i], key);
		snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", key);
	}
	return ctl_fail(CTL_USAGE,
			"--sort '%.60s': not allowed (allowed: %s, or the JSON field of a column; "
			"- before a key sorts in descending order)",
			given, list);
}

static enum ctl_exit choose_sort(struct listing *listing, const char *given)
{
	const struct table *table = listing->table;
	const char *word = given + (given[0] == '-');

	listing->descending = given[0] == '-';
	for (size_t i = 0; i < table->n_columns; i++)
		if (is_key(&table->columns[i], word)) {
			listing->sort = &table->columns[i];
			listing->by_age = listing->sort->format == WRITER_AGE;
			return CTL_DONE;
		}
	for (size_t i = 0; i < table->n_columns; i++)
		if (is_field(&table->columns[i], word)) {
			listing->sort = &table->columns[i];
			return CTL_DONE;
		}
	return fail_sort(table, given);
}

/*
 * Copies the next term of @selector to @term. Returns the rest of the selector, NULL if the term is
 * not valid.
 */
static const char *next_term(const char *selector, char term[LABEL_MAX])
{
	size_t length = strcspn(selector, ",");
	const char *key = term;

	if (length >= LABEL_MAX)
		return NULL;
	memcpy(term, selector, length);
	term[length] = '\0';
	key += key[0] == '!';
	if (key[0] == '\0' || key[0] == '=' || key[0] == '!' || (key != term && strchr(key, '=')))
		return NULL;
	if (selector[length] == ',' && selector[length + 1] == '\0')
		return NULL;
	return selector + length + (selector[length] == ',');
}

/* Returns true if @labels match one term. Changes @term. */
static bool match_term(char term[LABEL_MAX], const json_t *labels)
{
	char *equals = strchr(term, '=');
	const char *value, *is;
	bool differs;

	if (!equals)
		return term[0] == '!' ? !json_object_get(labels, term + 1)
				      : json_object_get(labels, term) != NULL;
	value = equals + 1 + (equals[1] == '='); /* KEY==VALUE is the same as KEY=VALUE */
	differs = equals > term && equals[-1] == '!';
	equals[differs ? -1 : 0] = '\0';
	is = json_string_value(json_object_get(labels, term));
	return (is && strcmp(is, value) == 0) != differs;
}

/* The terms are KEY=VALUE, KEY!=VALUE, KEY or !KEY, separated by commas. */
static bool matches(const char *selector, const json_t *labels)
{
	char term[LABEL_MAX];

	while (selector && *selector) {
		selector = next_term(selector, term);
		if (!selector || !match_term(term, labels))
			return false;
	}
	return true;
}

static enum ctl_exit check_selector(const char *selector)
{
	const char *rest = selector;
	char term[LABEL_MAX];

	do
		rest = next_term(rest, term);
	while (rest && *rest);
	if (rest)
		return CTL_DONE;
	return ctl_fail(CTL_USAGE,
			"--selector '%.100s': not allowed (allowed: KEY=VALUE, KEY!=VALUE, KEY or "
			"!KEY, separated by commas)",
			selector);
}

enum ctl_exit listing_open(struct listing *listing, const struct args *args,
			   const struct table *table)
{
	const char *sort = args->values[OPTION_LIST_SORT];
	enum ctl_exit r = CTL_DONE;

	*listing = (struct listing){.table = table, .selector = args->values[OPTION_SELECTOR]};
	if (sort)
		r = choose_sort(listing, sort);
	if (r == CTL_DONE && listing->selector)
		r = check_selector(listing->selector);
	return r;
}

struct row {
	json_t *json;
	size_t index; /* position in the reply; keeps the order of equal rows */
};

struct order {
	const struct listing *listing;
	const struct writer *writer;
};

/* Returns the value of the column in @row as text. "": no value. */
static void text_of(const struct order *order, const json_t *row, char text[WRITER_CELL_MAX])
{
	const struct writer_column *column = order->listing->sort;

	if (column->cell)
		writer_format_cell(order->writer, column, row, text);
	else
		snprintf(text, WRITER_CELL_MAX, "%s", field_text(row, column->key));
	if (strcmp(text, "-") == 0)
		text[0] = '\0';
}

static double number_of(const struct writer_column *column, const json_t *row)
{
	const json_t *flag = column->key ? json_object_get(row, column->key) : NULL;

	if (json_is_boolean(flag))
		return json_is_true(flag);
	return field_number(row, writer_is_other(column, row) ? column->other_key : column->key);
}

/* Compares two rows for qsort_r(). Rows without a value come last in both orders. */
static int compare(const void *a, const void *b, void *userdata)
{
	const struct row *one = a, *other = b;
	const struct order *order = userdata;
	const struct listing *listing = order->listing;
	double x = number_of(listing->sort, one->json), y = number_of(listing->sort, other->json);
	char text[WRITER_CELL_MAX], text2[WRITER_CELL_MAX];
	int r;

	text_of(order, one->json, text);
	text_of(order, other->json, text2);
	if ((isnan(x) && !text[0]) || (isnan(y) && !text2[0]))
		r = (isnan(x) && !text[0]) - (isnan(y) && !text2[0]);
	else {
		r = !isnan(x) && !isnan(y) ? (x > y) - (x < y) : strverscmp(text, text2);
		r = listing->descending != listing->by_age ? -r : r;
	}
	return r ? r : (one->index > other->index) - (one->index < other->index);
}

/* Returns the selected rows in the wanted order. The caller releases it. */
static json_t *choose_rows(const struct listing *listing, const struct writer *writer,
			   const json_t *rows)
{
	CLEANUP_FREE struct row *chosen = xcalloc(json_array_size(rows) + 1, sizeof(*chosen));
	struct order order = {.listing = listing, .writer = writer};
	json_t *result = json_array(), *row;
	size_t i, n = 0;

	json_array_foreach (rows, i, row) {
		if (matches(listing->selector, json_object_get(row, "labels")))
			chosen[n++] = (struct row){.json = row, .index = i};
	}
	if (listing->sort)
		qsort_r(chosen, n, sizeof(*chosen), compare, &order);
	for (i = 0; i < n; i++)
		(void)json_array_append(result, chosen[i].json);
	return result;
}

static void print_names(const struct listing *listing, const struct writer *writer,
			const json_t *reply)
{
	char text[WRITER_CELL_MAX];
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(reply, listing->table->member), i, row) {
		writer_format_cell(writer, &listing->table->columns[0], row, text);
		writer_line(writer, "%s", text);
	}
}

enum ctl_exit listing_print(const struct listing *listing, const struct writer *writer,
			    const struct reply *reply)
{
	const char *member = listing->table->member;

	if (listing->sort || listing->selector) {
		json_t *rows = choose_rows(listing, writer, json_object_get(reply->json, member));

		(void)json_object_set_new(reply->json, member, rows);
		if (writer->json)
			writer_json(writer, reply->json);
	} else if (writer->json) {
		writer_reply(writer, reply);
	}
	if (writer->names)
		print_names(listing, writer, reply->json);
	else if (!writer->json)
		tables_print_rows(writer, listing->table, reply->json);
	return CTL_DONE;
}

enum ctl_exit listing_run(struct ctl *ctl, const struct args *args, const struct table *table,
			  const char *path_format, ...)
{
	CLEANUP_REPLY struct reply reply = {0};
	char path[CLIENT_PATH_MAX];
	struct listing listing;
	enum ctl_exit r = listing_open(&listing, args, table);
	va_list ap;
	int n;

	va_start(ap, path_format);
	n = vsnprintf(path, sizeof(path), path_format, ap);
	va_end(ap);
	if (r == CTL_DONE && (size_t)n >= sizeof(path))
		return ctl_fail(CTL_USAGE, "GET %.40s...: request too long", path);
	if (r == CTL_DONE)
		r = ctl_request(ctl, "GET", NULL, &reply, "%s", path);
	return r == CTL_DONE ? listing_print(&listing, &ctl->writer, &reply) : r;
}
