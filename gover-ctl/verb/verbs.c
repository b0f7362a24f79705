/* SPDX-License-Identifier: MIT */
/* The table of verbs. Must never know what a verb does. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/verb/verbs.h"

static const struct verb verbs[] = {
	{"status", "", 0, 0, .json = true, .run = verb_status,
	 .summary = "the daemon, its GPUs and vGPUs, alerts and offers at a glance"},
	{"vgpu list", "", 0, 0, .json = true, .run = verb_vgpu_list, .optional = OPTION(OPTION_GPU),
	 .summary = "all vGPUs and what they do now"},
	{"vgpu show", "ID", 1, 1, .json = true, .run = verb_vgpu_show,
	 .summary = "everything about one vGPU"},
	{"vgpu add", "ID", 1, 1, .json = true, .run = verb_vgpu_add, .optional = OPTIONS_CREATE,
	 .summary = "take a vGPU under contract (and make it, where the daemon makes them)"},
	{"vgpu set", "ID", 1, 1, .json = true, .run = verb_vgpu_set,
	 .optional = OPTIONS_CHANGE | OPTION(OPTION_CAP_ALIAS) | OPTION(OPTION_NO_BURST),
	 .summary = "change a contract; KEY= with --label removes the label"},
	{"vgpu remove", "ID", 1, 1, .json = true, .run = verb_vgpu_remove,
	 .summary = "end a contract; what it had goes to the others"},
	{"vgpu hold", "ID", 1, 1, .json = true, .run = verb_vgpu_hold,
	 .optional = OPTION(OPTION_HOLD_CAP),
	 .summary = "fix a vGPU's cap; the policy leaves it alone"},
	{"vgpu release", "ID", 1, 1, .json = true, .run = verb_vgpu_release,
	 .summary = "give a held vGPU back to the policy"},
	{"freeze", "[GPU]", 0, 1, .json = true, .run = verb_gpu_freeze,
	 .summary = "stop acting: caps stay as they are (all GPUs unless one is named)"},
	{"thaw", "[GPU]", 0, 1, .json = true, .run = verb_gpu_thaw,
	 .summary = "act and sell again"},
	{"drain", "[GPU]", 0, 1, .json = true, .run = verb_gpu_drain,
	 .summary = "stop selling; those who are there are served on"},
	{"run", "COMMAND...", 1, INT_MAX, .command = true, .run = verb_run,
	 .required = OPTION(OPTION_VGPU),
	 .optional = OPTION(OPTION_RUN_CAP) | OPTION(OPTION_TARGET_FPS) | OPTION(OPTION_FPS_MAX) |
		     OPTION(OPTION_GPU) | OPTION(OPTION_LABELS),
	 .summary = "run a program in a vGPU, its frames counted"},
	{"history", "VGPU", 1, 1, .json = true, .run = verb_history,
	 .optional = OPTION(OPTION_FROM) | OPTION(OPTION_TO) | OPTION(OPTION_STEP),
	 .summary = "what a vGPU got and did over time; the last hour unless told"},
	{"economics", "", 0, 0, .json = true, .run = verb_economics,
	 .optional = OPTION(OPTION_FROM) | OPTION(OPTION_TO),
	 .summary = "what was earned and owed, and what not overselling would have; the last day"},
	{"simulate", "", 0, 0, .json = true, .run = verb_simulate,
	 .optional = OPTION(OPTION_FROM) | OPTION(OPTION_TO) | OPTION(OPTION_GPU) |
		     OPTION(OPTION_POLICY) | OPTION(OPTION_SET) | OPTION(OPTION_SEED) |
		     OPTION(OPTION_NEWCOMER_WORKLOAD) | OPTION(OPTION_NO_NEWCOMERS),
	 .summary =
		 "what was recorded played again under another policy; the last day unless told"},
	{"alerts", "", 0, 0, .json = true, .run = verb_alerts, .optional = OPTION(OPTION_ALL),
	 .summary = "what is wrong now"},
	{"ack", "ALERT", 1, 1, .json = true, .run = verb_alert_ack,
	 .summary = "acknowledge an alert by its number"},
	{"silence add", "", 0, 0, .json = true, .run = verb_silence_add,
	 .required = OPTION(OPTION_REASON),
	 .optional = OPTION(OPTION_ALERT) | OPTION(OPTION_GPU) | OPTION(OPTION_VGPU) |
		     OPTION(OPTION_FOR) | OPTION(OPTION_UNTIL),
	 .summary = "let alerts that are all of this wake nobody for a while"},
	{"silence list", "", 0, 0, .json = true, .run = verb_silence_list,
	 .summary = "the silences that last"},
	{"silence remove", "SILENCE", 1, 1, .json = true, .run = verb_silence_remove,
	 .summary = "end a silence by its number"},
	{"decisions", "", 0, 0, .json = true, .run = verb_decisions,
	 .optional = OPTION(OPTION_AFTER) | OPTION(OPTION_LIMIT) | OPTION(OPTION_VGPU),
	 .summary = "what was decided lately, newest last"},
	{"why", "VGPU", 1, 1, .json = true, .run = verb_why, .optional = OPTION(OPTION_LIMIT),
	 .summary = "why a vGPU has the cap it has, in sentences"},
	{"offers", "", 0, 0, .json = true, .run = verb_offers, .optional = OPTION(OPTION_ALL),
	 .summary = "what the host can sell now"},
	{"claim", "OFFER", 1, 1, .json = true, .run = verb_offer_claim,
	 .required = OPTION(OPTION_NEWCOMER), .optional = OPTIONS_CLAIM | OPTION(OPTION_KEY),
	 .summary = "take an offer by its number: one more vGPU"},
	{"policy show", "", 0, 0, .json = true, .run = verb_policy_show,
	 .summary = "the parameters in force; * marks those that differ from the file"},
	{"policy set", "KEY=VALUE...", 1, INT_MAX, .json = true, .run = verb_policy_set,
	 .summary = "change parameters now; KEY=default goes back to the file"},
	{"token list", "", 0, 0, .json = true, .run = verb_token_list,
	 .summary = "who may ask over TCP, and what"},
	{"token add", "NAME", 1, 1, .json = true, .run = verb_token_add,
	 .required = OPTION(OPTION_SCOPE),
	 .optional = OPTION(OPTION_EXPIRES) | OPTION(OPTION_TOKEN_OUT),
	 .summary = "make a token and print it, this once"},
	{"token remove", "NAME", 1, 1, .json = true, .run = verb_token_remove,
	 .summary = "revoke a token: it is good no more"},
	{"audit", "", 0, 0, .json = true, .run = verb_audit,
	 .optional = OPTION(OPTION_AFTER) | OPTION(OPTION_LIMIT),
	 .summary = "who changed what, from where, and what it was before"},
	{"top", "", 0, 0, .run = verb_top,
	 .optional = OPTION(OPTION_ONCE) | OPTION(OPTION_BATCH) | OPTION(OPTION_PICTURES) |
		     OPTION(OPTION_DELAY) | OPTION(OPTION_SORT) | OPTION(OPTION_FILTER),
	 .summary = "watch it all, refreshed each second; ? tells the keys, q quits"},
	{"watch", "", 0, 0, .json = true, .run = verb_watch, .optional = OPTION(OPTION_KINDS),
	 .summary = "what happens, a line each, as it happens; until it is interrupted"},
	{"doctor", "", 0, 0, .json = true, .run = verb_doctor,
	 .summary = "what this host has and lacks, and what to do about it"},
	{"config check", "[FILE]", 0, 1, .json = true, .run = verb_config_check,
	 .summary = "check a configuration file (/etc/gover/gover.conf unless named)"},
	{"support", "[FILE]", 0, 1, .json = true, .run = verb_support,
	 .optional = OPTION(OPTION_NO_REDACT),
	 .summary = "one archive for a bug report, without names and secrets"},
	{"completion", "SHELL", 1, 1, .run = verb_completion,
	 .summary = "what bash or zsh needs to complete this command line, as a script"},
	{"help", "[VERB...]", 0, 2, .run = verb_help,
	 .summary = "how to use gover-ctl, or one verb"},
	/* Hidden verbs come last. */
	{"__complete", "WORD...", 1, INT_MAX, .command = true, .hidden = true, .run = verb_complete,
	 .summary = "list the candidates for the last word"},
};

const struct verb *verbs_at(size_t index)
{
	return index < ARRAY_SIZE(verbs) && !verbs[index].hidden ? &verbs[index] : NULL;
}

uint64_t verbs_options(const struct verb *verb)
{
	return verb->required | verb->optional | OPTIONS_GLOBAL;
}

const struct verb *verbs_find(char *const *words, int n_words, int *ret_used)
{
	char two[64] = "";

	if (n_words == 0)
		return NULL;
	if (n_words > 1)
		snprintf(two, sizeof(two), "%s %s", words[0], words[1]);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		int used = strchr(verbs[i].words, ' ') ? 2 : 1;

		if (strcmp(verbs[i].words, used == 2 ? two : words[0]) != 0)
			continue;
		*ret_used = used;
		return &verbs[i];
	}
	return NULL;
}
