/* SPDX-License-Identifier: MIT */
/*
 * `completion`: what a shell needs to complete gover-ctl, made from the tables of verbs, options
 * and keys, so that it knows what they know. Must never hold the name of a verb or option itself.
 */
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/verb/verbs.h"
#include "gover-d/config/config.h"

/* What completes a word, by what the tables call it; NULL: it is new, or a number. */
static const char *kind_of(const char *arg)
{
	static const struct {
		const char *arg, *kind;
	} kinds[] = {
		{"ID", "vgpus"},     {"VGPU", "vgpus"},	      {"GPU", "gpus"},
		{"OFFER", "offers"}, {"ALERT", "alerts"},     {"FILE", "files"},
		{"PATH", "files"},   {"KEY=VALUE", "keys"},   {"VERB", "verbs"},
		{"SHELL", "shells"}, {"COMMAND", "commands"},
	};
	size_t length;

	if (!arg)
		return NULL;
	arg += arg[0] == '[';
	length = strcspn(arg, "].");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strlen(kinds[i].arg) == length && strncmp(kinds[i].arg, arg, length) == 0)
			return kinds[i].kind;
	return NULL;
}

static const char *kind_of_option(enum option_id id)
{
	const struct option_info *info = option_info(id);

	if (id == OPTION_LABEL || info->type == OPTION_INT || info->type == OPTION_NUMBER)
		return NULL;
	return kind_of(info->arg);
}

static uint64_t all_options(void)
{
	uint64_t mask = OPTIONS_GLOBAL | OPTION(OPTION_VERSION);

	for (size_t i = 0; verbs_at(i); i++)
		mask |= verbs_options(verbs_at(i));
	return mask;
}

/* Is this the first verb that begins with its first word? */
static bool begins_family(size_t index)
{
	const char *words = verbs_at(index)->words;
	size_t length = strcspn(words, " ");

	for (size_t i = 0; i < index; i++)
		if (strncmp(verbs_at(i)->words, words, length) == 0 &&
		    strchr(" ", verbs_at(i)->words[length]))
			return false;
	return true;
}

static int first_word(const char *words)
{
	return (int)strcspn(words, " ");
}

/* What follows the first word of a verb; NULL: nothing. */
static const char *second_word(const char *words)
{
	const char *blank = strchr(words, ' ');

	return blank ? blank + 1 : NULL;
}

static void put_keys(FILE *out)
{
	const struct setting *key;

	for (size_t i = 0; (key = config_key_at(i)); i++)
		if (key->live)
			fprintf(out, " %s=", key->key);
}

/* --- bash --- */

static const char bash_head[] =
	"# bash completion of gover-ctl. Made by `gover-ctl completion bash`.\n"
	"_gover_ctl_list() { # _gover_ctl_list KEY VERB...: what the daemon knows\n"
	"\tlocal names\n"
	"\tnames=$(timeout 2 gover-ctl \"${at[@]}\" --json \"${@:2}\" 2>/dev/null |\n"
	"\t\tgrep -oE \"\\{\\\"$1\\\":\\\"?[^\\\",]+\" | sed 's/.*://; s/\"//')\n"
	"\tCOMPREPLY=($(compgen -W \"$names\" -- \"$cur\"))\n"
	"}\n\n"
	"_gover_ctl_values() { # _gover_ctl_values KIND\n"
	"\tcase $1 in\n"
	"\tvgpus) _gover_ctl_list id vgpu list ;;\n"
	"\tgpus) _gover_ctl_list name status ;;\n"
	"\toffers) _gover_ctl_list id offers ;;\n"
	"\talerts) _gover_ctl_list id alerts ;;\n"
	"\tfiles) compopt -o filenames && COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	"\tshells) COMPREPLY=($(compgen -W 'bash zsh' -- \"$cur\")) ;;\n"
	"\tverbs) COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\")) ;;\n";

static const char bash_words[] =
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} word option= options= kind= command= i\n"
	"\tlocal -a at=() given=()\n"
	"\tCOMPREPLY=()\n"
	"\t[[ $cur != = ]] || cur=\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tif [[ $word == = ]]; then\n"
	"\t\t\tcontinue\n"
	"\t\telif [[ -n $option ]]; then\n"
	"\t\t\tcase $option in --socket | --url) at+=(\"$option\" \"$word\") ;; esac\n"
	"\t\t\toption=\n"
	"\t\telif [[ $word == -- ]]; then\n"
	"\t\t\tcommand=$((i + 1))\n"
	"\t\t\tbreak\n"
	"\t\telif [[ $word == -* ]]; then\n"
	"\t\t\t[[ \" $with_value \" != *\" $word \"* ]] || option=$word\n"
	"\t\telse\n"
	"\t\t\tgiven+=(\"$word\")\n"
	"\t\tfi\n"
	"\tdone\n"
	"\tcase \"${given[*]:0:2}\" in\n";

static const char bash_tail[] =
	"\tif [[ -n $command && $kind == commands ]]; then\n"
	"\t\tif declare -F _command_offset >/dev/null; then\n"
	"\t\t\t_command_offset \"$command\"\n"
	"\t\telse\n"
	"\t\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	"\t\tfi\n"
	"\telif [[ -n $option ]]; then\n"
	"\t\t_gover_ctl_value_of \"$option\"\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"${options:-$globals}\" -- \"$cur\"))\n"
	"\telse\n"
	"\t\t_gover_ctl_values \"$kind\"\n"
	"\tfi\n"
	"}\n"
	"complete -F _gover_ctl gover-ctl\n";

static void bash_put_options(FILE *out, uint64_t mask, bool only_with_value)
{
	const char *gap = "";

	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = option_info((enum option_id)id);

		if (!(mask & OPTION(id)) || (only_with_value && !info->arg))
			continue;
		fprintf(out, "%s--%s", gap, info->name);
		gap = " ";
	}
}

static void bash_put_value_kinds(FILE *out)
{
	fputs("_gover_ctl_value_of() { # _gover_ctl_value_of OPTION\n\tcase $1 in\n", out);
	for (int id = 0; id < OPTION_COUNT; id++) {
		const char *kind = kind_of_option((enum option_id)id);

		if (kind)
			fprintf(out, "\t--%s) _gover_ctl_values %s ;;\n",
				option_info((enum option_id)id)->name, kind);
	}
	fputs("\tesac\n}\n\n", out);
}

/* A case for each verb, of what may follow it. */
static void bash_put_verb(FILE *out, const struct verb *verb)
{
	const char *kind = kind_of(verb->args);

	if (second_word(verb->words))
		fprintf(out, "\t'%s')", verb->words);
	else
		fprintf(out, "\t%s | '%s '*)", verb->words, verb->words);
	fputs(" options='", out);
	bash_put_options(out, verbs_options(verb), false);
	fprintf(out, "' kind=%s ;;\n", kind ? kind : "");
}

static void bash_put_families(FILE *out)
{
	fputs("\tverbs='", out);
	for (size_t i = 0; verbs_at(i); i++)
		if (begins_family(i))
			fprintf(out, " %.*s", first_word(verbs_at(i)->words), verbs_at(i)->words);
	fputs("'\n\tcase ${given[0]} in\n", out);
	for (size_t i = 0; verbs_at(i); i++) {
		const char *words = verbs_at(i)->words;

		if (!second_word(words) || !begins_family(i))
			continue;
		fprintf(out, "\t%.*s) verbs='", first_word(words), words);
		for (size_t j = i; verbs_at(j); j++)
			if (strncmp(verbs_at(j)->words, words, (size_t)first_word(words) + 1) == 0)
				fprintf(out, " %s", second_word(verbs_at(j)->words));
		fputs("' ;;\n", out);
	}
	fputs("\tesac\n", out);
}

static void put_bash(FILE *out)
{
	fputs(bash_head, out);
	fputs("\tkeys) compopt -o nospace && COMPREPLY=($(compgen -W '", out);
	put_keys(out);
	fputs("' -- \"$cur\")) ;;\n\tesac\n}\n\n", out);
	bash_put_value_kinds(out);
	fputs("_gover_ctl() {\n\tlocal verbs globals='", out);
	bash_put_options(out, OPTIONS_GLOBAL | OPTION(OPTION_VERSION), false);
	fputs("'\n\tlocal with_value='", out);
	bash_put_options(out, all_options(), true);
	fputs("'\n", out);
	fputs(bash_words, out);
	fputs("\t'') kind=verbs ;;\n", out);
	for (size_t i = 0; verbs_at(i); i++)
		bash_put_verb(out, verbs_at(i));
	fputs("\t*' '*) ;;\n\t*) kind=verbs ;; # the first word of several\n\tesac\n", out);
	bash_put_families(out);
	fputs(bash_tail, out);
}

/* --- zsh --- */

static const char zsh_head[] =
	"#compdef gover-ctl\n"
	"# zsh completion of gover-ctl. Made by `gover-ctl completion zsh`.\n"
	"_gover_ctl_list() { # _gover_ctl_list KEY VERB...: what the daemon knows\n"
	"\tlocal -a names\n"
	"\tnames=(${(f)\"$(timeout 2 gover-ctl $at --json ${@:2} 2>/dev/null |\n"
	"\t\tgrep -oE \"\\{\\\"$1\\\":\\\"?[^\\\",]+\" | sed 's/.*://; s/\"//')\"})\n"
	"\tcompadd -a names\n"
	"}\n"
	"_gover_ctl_vgpus() { _gover_ctl_list id vgpu list }\n"
	"_gover_ctl_gpus() { _gover_ctl_list name status }\n"
	"_gover_ctl_offers() { _gover_ctl_list id offers }\n"
	"_gover_ctl_alerts() { _gover_ctl_list id alerts }\n"
	"_gover_ctl_files() { _files }\n"
	"_gover_ctl_shells() { compadd bash zsh }\n"
	"_gover_ctl_commands() { _normal }\n";

static const char zsh_begin[] =
	"\nlocal curcontext=$curcontext state line\n"
	"local -a at\n"
	"typeset -A opt_args\n"
	"_arguments -C $globals '--version[the version of gover-ctl]' "
	"'1: :_gover_ctl_verbs' '*:: :->rest' && return\n"
	"[[ -z ${opt_args[--socket]} ]] || at=(--socket ${opt_args[--socket]})\n"
	"[[ -z ${opt_args[--url]} ]] || at=(--url ${opt_args[--url]})\n"
	"[[ $state == rest ]] || return\n"
	"case $words[1] in\n";

/* Text between single quotes; those of @escaped have a backslash before them. */
static void zsh_put_text(FILE *out, const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		if (strchr(escaped, *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void zsh_put_options(FILE *out, uint64_t mask)
{
	for (int id = 0; id < OPTION_COUNT; id++) {
		const struct option_info *info = option_info((enum option_id)id);
		const char *kind = kind_of_option((enum option_id)id);

		if (!(mask & OPTION(id)))
			continue;
		fprintf(out, " '%s--%s[", info->type == OPTION_PAIR ? "*" : "", info->name);
		zsh_put_text(out, info->help, "[]\\");
		fputc(']', out);
		if (info->arg)
			fprintf(out, ":%s:%s%s", info->arg, kind ? "_gover_ctl_" : " ",
				kind ? kind : "");
		fputc('\'', out);
	}
}

static void zsh_put_describe(FILE *out, const char *words, const char *summary)
{
	fprintf(out, " '%s:", words);
	zsh_put_text(out, summary, "");
	fputc('\'', out);
}

/* Its options and words, once it stands in words[1]. */
static void zsh_put_verb(FILE *out, const struct verb *verb, const char *word)
{
	const char *kind = kind_of(verb->args);
	const char *count = verb->command ? "*::" : verb->max_args > 1 ? "*:" : "1:";

	fprintf(out, "(%s) _arguments%s $globals", word, verb->command ? " -A '-*'" : "");
	zsh_put_options(out, verb->required | verb->optional);
	if (verb->args[0])
		fprintf(out, " '%s%s:%s%s'", count, verb->args, kind ? "_gover_ctl_" : " ",
			kind ? kind : "");
	fputs(" ;;\n", out);
}

static void zsh_put_family(FILE *out, const char *words)
{
	size_t length = (size_t)first_word(words);

	fprintf(out, "(%.*s)\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a verbs=(", (int)length,
		words);
	for (size_t i = 0; verbs_at(i); i++)
		if (strncmp(verbs_at(i)->words, words, length + 1) == 0)
			zsh_put_describe(out, second_word(verbs_at(i)->words),
					 verbs_at(i)->summary);
	fputs(")\n\t\t_describe verb verbs\n\telse\n\t\tshift words\n\t\t(( CURRENT-- ))\n"
	      "\t\tcase $words[1] in\n",
	      out);
	for (size_t i = 0; verbs_at(i); i++)
		if (strncmp(verbs_at(i)->words, words, length + 1) == 0)
			zsh_put_verb(out, verbs_at(i), second_word(verbs_at(i)->words));
	fputs("\t\tesac\n\tfi ;;\n", out);
}

/* "list, show, add": what may follow this word; "": nothing. */
static void list_family(const char *word, char *list, size_t size)
{
	size_t length = strlen(word), used = 0;

	list[0] = '\0';
	for (size_t i = 0; verbs_at(i); i++) {
		const char *words = verbs_at(i)->words;

		if (strncmp(words, word, length) == 0 && words[length] == ' ' && used < size)
			used += (size_t)snprintf(list + used, size - used, "%s%s", used ? ", " : "",
						 words + length + 1);
	}
}

static void zsh_put_verbs(FILE *out)
{
	char word[32], members[256];

	fputs("_gover_ctl_verbs() {\n\tlocal -a verbs=(", out);
	for (size_t i = 0; verbs_at(i); i++) {
		const struct verb *verb = verbs_at(i);

		if (!begins_family(i))
			continue;
		snprintf(word, sizeof(word), "%.*s", first_word(verb->words), verb->words);
		list_family(word, members, sizeof(members));
		zsh_put_describe(out, word, members[0] ? members : verb->summary);
	}
	fputs(")\n\t_describe verb verbs\n}\n", out);
}

static void put_zsh(FILE *out)
{
	fputs(zsh_head, out);
	fputs("_gover_ctl_keys() { compadd -S '' --", out);
	put_keys(out);
	fputs(" }\n", out);
	zsh_put_verbs(out);
	fputs("\nlocal -a globals=(", out);
	zsh_put_options(out, OPTIONS_GLOBAL);
	fputc(')', out);
	fputs(zsh_begin, out);
	for (size_t i = 0; verbs_at(i); i++) {
		const struct verb *verb = verbs_at(i);

		if (!second_word(verb->words))
			zsh_put_verb(out, verb, verb->words);
		else if (begins_family(i))
			zsh_put_family(out, verb->words);
	}
	fputs("esac\n", out);
}

enum ctl_exit verb_completion(struct ctl *ctl, const struct args *args)
{
	static const struct {
		const char *shell;
		void (*put)(FILE *out);
	} shells[] = {
		{"bash", put_bash},
		{"zsh", put_zsh},
	};

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(args->words[0], shells[i].shell) != 0)
			continue;
		shells[i].put(ctl->writer.out);
		return CTL_DONE;
	}
	return ctl_fail(CTL_USAGE, "completion: no shell '%s' here: bash or zsh", args->words[0]);
}
