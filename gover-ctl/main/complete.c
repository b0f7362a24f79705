/* SPDX-License-Identifier: MIT */
/*
 * `__complete` prints the candidates for the last word of a command line. `completion` prints the
 * shell scripts that call `__complete`. Candidates come from the tables of verbs, options and keys,
 * and from the daemon.
 *
 * Each line of output is a candidate, optionally with a tab and a description, or a directive:
 * ":files"      complete file names
 * ":nospace"    add no space after the candidate
 * ":command N"  the command line of another program begins at word N (gover-ctl is word 0)
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/field.h"
#include "base/text.h"
#include "gover-ctl/main/complete.h"
#include "gover-ctl/main/usage.h"
#include "gover-ctl/main/verbs.h"
#include "gover-ctl/shared/tables.h"

#define ANSWER_MS 2000L /* time limit of a reply, because a user waits for the candidates */

extern const char completion_bash[], completion_zsh[];

static const struct {
	const char *shell, *text;
} scripts[] = {
	{"bash", completion_bash},
	{"zsh", completion_zsh},
};

struct line {
	struct ctl *ctl;
	const struct verb *verb; /* verb on the line; NULL: not yet known */
	char *words[2]; /* the first two words that are neither options nor values of options */
	int n_words, n_verb_words;
	struct option_set given; /* options on the line */
	int option;		 /* the option whose value comes next; -1: none */
	/* index of the word at which the command line of another program begins; 0: none */
	int command;
	const char *last;
};

static struct option_set allowed_options(const struct line *line)
{
	struct option_set first = {.has = {[OPTION_VERSION] = true}};

	option_set_add(&first, options_global);
	return line->verb ? verbs_options(line->verb) : first;
}

/*
 * Takes the value of line->option. Options such as --socket also apply to the requests of
 * `__complete`.
 */
static void take_value(struct line *line, const char *value)
{
	const char **const connection[OPTION_COUNT] = {
		[OPTION_SOCKET] = &line->ctl->socket,
		[OPTION_URL] = &line->ctl->url,
		[OPTION_TOKEN_FILE] = &line->ctl->files.token,
		[OPTION_CACERT] = &line->ctl->files.cacert,
		[OPTION_CERT] = &line->ctl->files.certificate,
		[OPTION_CERT_KEY] = &line->ctl->files.key,
	};

	if (connection[line->option])
		*connection[line->option] = value;
	line->option = -1;
}

/* Takes "-o" or "-ojson". */
static void take_letter(struct line *line, const char *word)
{
	const struct option_set allowed = allowed_options(line);

	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = args_get_option((enum option_id)id);

		if (!allowed.has[id] || info->letter != word[1])
			continue;
		line->given.has[id] = true;
		if (info->arg && word[2] == '\0')
			line->option = id;
		return;
	}
}

/* Takes a long option; @name: the word without its dashes. */
static void take_option(struct line *line, const char *name)
{
	const struct option_set allowed = allowed_options(line);
	size_t length = strcspn(name, "=");

	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = args_get_option((enum option_id)id);

		if (!allowed.has[id] || strlen(info->name) != length ||
		    strncmp(info->name, name, length) != 0)
			continue;
		line->given.has[id] = true;
		line->option = info->arg ? id : -1;
		if (info->arg && name[length] == '=')
			take_value(line, name + length + 1);
		return;
	}
}

/*
 * Takes a word before the last word. @index: position of the word; gover-ctl is word 0. bash splits
 * "--gpu=gpu0" into three words: "--gpu", "=" and "gpu0".
 */
static void take_word(struct line *line, int index, char *word)
{
	if (line->command || strcmp(word, "=") == 0)
		return;
	if (line->option >= 0) {
		take_value(line, word);
	} else if (strcmp(word, "--") == 0) {
		line->command = index + 1;
	} else if (word[0] == '-' && word[1] != '-' && word[1] != '\0') {
		take_letter(line, word);
	} else if (word[0] == '-') {
		take_option(line, word + strspn(word, "-"));
	} else {
		if (line->verb && line->verb->command)
			line->command = index;
		if (line->n_words < 2)
			line->words[line->n_words] = word;
		line->n_words++;
		if (!line->verb)
			line->verb = verbs_find(line->words, line->n_words, &line->n_verb_words);
	}
}

static void put(const struct line *line, const char *candidate, const char *about)
{
	char text[WRITER_CELL_MAX];

	if (strncmp(candidate, line->last, strlen(line->last)) != 0)
		return;
	snprintf(text, sizeof(text), "%s", about);
	text_mask_controls(text);
	fprintf(line->ctl->writer.out, "%s%s%s\n", candidate, text[0] ? "\t" : "", text);
}

static void put_options(const struct line *line)
{
	const struct option_set allowed = allowed_options(line);
	char word[64];

	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = args_get_option((enum option_id)id);

		if (!allowed.has[id] || (line->given.has[id] && info->type != OPTION_PAIR))
			continue;
		snprintf(word, sizeof(word), "--%s", info->name);
		put(line, word, info->help);
	}
}

/*
 * Prints the words that can follow @first. If @first is NULL, prints the first words of all verbs.
 */
static void put_verbs(const struct line *line, const char *first)
{
	char word[32], seconds[256], before[32] = "";

	for (size_t i = 0; verbs_at(i); i++) {
		const struct verb *verb = verbs_at(i);
		const char *blank = strchrnul(verb->words, ' ');

		snprintf(word, sizeof(word), "%.*s", (int)(blank - verb->words), verb->words);
		if (first) {
			if (blank[0] && strcmp(word, first) == 0)
				put(line, blank + 1, verb->summary);
			continue;
		}
		/*
		 * Print each first word once: verbs with the same first word are adjacent in the
		 * table.
		 */
		if (strcmp(word, before) != 0)
			put(line, word,
			    usage_list_subverbs(word, seconds, sizeof(seconds)) ? seconds
										: verb->summary);
		strcpy(before, word);
	}
}

static bool is_first_word(const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; verbs_at(i); i++)
		if (strncmp(verbs_at(i)->words, word, length) == 0 &&
		    strchr(" ", verbs_at(i)->words[length]))
			return true;
	return false;
}

/* Prints the groups and verbs that `help` describes. */
static void put_help(const struct line *line)
{
	bool first = line->n_words <= line->n_verb_words;

	for (int group = 0; first && group < VERB_GROUPS; group++)
		if (!is_first_word(verbs_group((enum verb_group)group)->name))
			put(line, verbs_group((enum verb_group)group)->name,
			    verbs_group((enum verb_group)group)->summary);
	if (first)
		put(line, "all", "all verbs");
	put_verbs(line, first ? NULL : line->words[1]);
}

/* Arguments whose candidates come from the daemon. */
static const struct list {
	const char *arg;    /* name of the argument in the help */
	const char *path;   /* request to the daemon */
	const char *member; /* name of the list in the reply */
	const char *field;  /* field with the candidate */
	const char *about;  /* field with the description */
} lists[] = {
	{"ID", "/v1/vgpus", "vgpus", "id", "vm"},
	{"VGPU", "/v1/vgpus", "vgpus", "id", "vm"},
	{"GPU", "/v1/gpus", "gpus", "name", "backend"},
	{"OFFER", "/v1/offers", "offers", "id", "gpu"},
	{"ALERT", "/v1/alerts", "alerts", "id", "text"},
	{"SILENCE", "/v1/silences", "silences", "id", "reason"},
};

/* Returns false if the daemon does not answer at once. */
static bool ask(const struct line *line, const char *path, struct reply *ret_reply)
{
	struct client_call call = {.method = "GET", .path = path};
	struct err err;

	if (ctl_open_client(line->ctl, &err) < 0)
		return false;
	client_set_timeout(line->ctl->client, ANSWER_MS);
	return ctl_try_request(line->ctl, &call, ret_reply, &err) == 0;
}

static void put_keys(const struct line *line)
{
	CLEANUP_REPLY struct reply reply = {0};
	const char *key;
	char word[64];
	json_t *value;

	fputs(":nospace\n", line->ctl->writer.out);
	if (!ask(line, "/v1/policy", &reply))
		return;
	json_object_foreach (json_object_get(reply.json, "params"), key, value) {
		snprintf(word, sizeof(word), "%s=", key);
		put(line, word, "");
	}
}

static void put_list(const struct line *line, const struct list *list)
{
	CLEANUP_REPLY struct reply reply = {0};
	const json_t *row;
	char text[32];
	size_t i;

	if (!ask(line, list->path, &reply))
		return;
	json_array_foreach (json_object_get(reply.json, list->member), i, row) {
		const char *id = field_text(row, list->field);

		snprintf(text, sizeof(text), "%.0f", field_number(row, list->field));
		put(line, id[0] ? id : text, field_text(row, list->about));
	}
}

/*
 * Prints candidates for an argument. @arg: its name in the help, such as "ID", "[GPU]" or
 * "KEY=VALUE...".
 */
static void put_values(const struct line *line, const char *arg)
{
	char name[32];

	arg += arg[0] == '[';
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "]."), arg);
	if (strcmp(name, "FILE") == 0 || strcmp(name, "PATH") == 0)
		fputs(":files\n", line->ctl->writer.out);
	else if (strcmp(name, "KEY=VALUE") == 0)
		put_keys(line);
	else if (strncmp(name, "GROUP", strlen("GROUP")) == 0)
		put_help(line);
	else if (strcmp(name, "SHELL") == 0)
		for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
			put(line, scripts[i].shell, "");
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (strcmp(name, lists[i].arg) == 0)
			put_list(line, &lists[i]);
}

static void put_formats(const struct line *line)
{
	bool list = line->verb && line->verb->table;

	put(line, "table", "");
	put(line, "json", "");
	if (list)
		put(line, "wide", "all columns");
	if (list)
		put(line, "name", "the first column");
}

static void put_sort_keys(const struct line *line, const struct table *table)
{
	char key[LISTING_KEY_MAX];

	for (size_t i = 0; i < table->n_columns; i++) {
		listing_name_key(&table->columns[i], key);
		put(line, key, "");
	}
}

static void put_candidates(const struct line *line, int index)
{
	const struct verb *verb = line->verb;
	const struct option_info *option =
		line->option >= 0 ? args_get_option((enum option_id)line->option) : NULL;

	if (option && line->option == OPTION_OUTPUT)
		put_formats(line);
	else if (option && line->option == OPTION_LIST_SORT && verb)
		put_sort_keys(line, verb->table);
	else if (option && (option->type == OPTION_TEXT || line->option == OPTION_SET))
		put_values(line, option->arg);
	else if (option)
		return; /* no candidates: the value is a number or a label */
	else if (!line->command && line->last[0] == '-')
		put_options(line);
	else if (verb && verb->command)
		fprintf(line->ctl->writer.out, ":command %d\n",
			line->command ? line->command : index);
	else if (verb && line->n_words - line->n_verb_words < verb->max_args)
		put_values(line, verb->args);
	else if (!verb && line->n_words < 2)
		put_verbs(line, line->n_words > 0 ? line->words[0] : NULL);
}

enum ctl_exit verb_complete(struct ctl *ctl, const struct args *args)
{
	int last = args->n_words - 1;
	struct line line = {.ctl = ctl, .option = -1, .last = args->words[last]};

	for (int i = 0; i < last; i++)
		take_word(&line, i + 1, args->words[i]);
	if (strcmp(line.last, "=") == 0)
		line.last = "";
	put_candidates(&line, last + 1);
	return CTL_DONE;
}

enum ctl_exit verb_completion(struct ctl *ctl, const struct args *args)
{
	const char *shell = args->words[0];

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		if (strcmp(shell, scripts[i].shell) != 0)
			continue;
		fputs(scripts[i].text, ctl->writer.out);
		return CTL_DONE;
	}
	return ctl_fail(CTL_USAGE, "completion: unknown shell '%s' (allowed: bash, zsh)", shell);
}
