/* SPDX-License-Identifier: MIT */
/* The table of verbs. A test compares it with the manual page. */
#include <limits.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/main/complete.h"
#include "gover-ctl/main/usage.h"
#include "gover-ctl/main/verbs.h"
#include "gover-ctl/shared/tables.h"
#include "gover-ctl/top/top.h"
#include "gover-ctl/verb/host.h"
#include "gover-ctl/verb/launch.h"
#include "gover-ctl/verb/lists.h"
#include "gover-ctl/verb/policy.h"
#include "gover-ctl/verb/selling.h"
#include "gover-ctl/verb/simulate.h"
#include "gover-ctl/verb/token.h"
#include "gover-ctl/verb/vgpu.h"
#include "gover-ctl/verb/watch.h"
#include "gover-ctl/verb/why.h"

const struct verb verbs_table[] = {
	{"status", VERB_WATCH, "", 0, 0, .json = true, .run = verb_status,
	 .summary = "show the daemon, its GPUs and vGPUs, alerts and offers"},
	{"top", VERB_WATCH, "", 0, 0, .run = verb_top,
	 .optional = OPTIONS(OPTION_ONCE, OPTION_BATCH, OPTION_PICTURES, OPTION_DELAY, OPTION_SORT,
			     OPTION_FILTER),
	 .summary = "show a live view, refreshed each second; ? lists the keys, q quits"},
	{"watch", VERB_WATCH, "", 0, 0, .json = true, .run = verb_watch,
	 .optional = OPTIONS(OPTION_KINDS), .summary = "print events as they occur, one per line"},
	{"why", VERB_WATCH, "VGPU", 1, 1, .json = true, .run = verb_why,
	 .optional = OPTIONS(OPTION_LIMIT),
	 .summary = "explain whether the promise to a vGPU is kept, why not, and what would help"},
	{"alerts", VERB_WATCH, "", 0, 0, .table = &table_alerts, .json = true, .run = verb_alerts,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_ALL),
	 .summary = "list active alerts with their causes and the next commands"},
	{"vgpu list", VERB_WATCH, "", 0, 0, .table = &table_vgpus, .json = true,
	 .run = verb_vgpu_list,
	 .optional = OPTIONS(OPTION_SELECTOR, LISTING_OPTIONS, OPTION_ON_GPU),
	 .summary = "list all vGPUs with their caps, load and frame rate"},
	{"vgpu show", VERB_WATCH, "ID", 1, 1, .json = true, .run = verb_vgpu_show,
	 .summary = "show all fields of one vGPU"},
	{"vgpu add", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_add,
	 .optional = OPTIONS(OPTIONS_CREATE OPTION_SKIP),
	 .summary = "add a contract for a vGPU (and create the vGPU if the backend can)"},
	{"vgpu set", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_set,
	 .optional = OPTIONS(OPTIONS_CHANGE OPTION_CAP_ALIAS, OPTION_NO_BURST),
	 .summary = "change a contract; --label KEY= removes a label"},
	{"vgpu remove", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_remove,
	 .summary = "end a contract; its share goes to the other vGPUs"},
	{"vgpu hold", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_hold,
	 .optional = OPTIONS(OPTION_HOLD_CAP),
	 .summary = "hold the cap of a vGPU, so that the policy does not change it"},
	{"vgpu release", VERB_CONTRACTS, "ID", 1, 1, .json = true, .run = verb_vgpu_release,
	 .summary = "end a hold, so that the policy sets the cap again"},
	{"policy show", VERB_POLICY, "", 0, 0, .json = true, .run = verb_policy_show,
	 .summary = "show the policy's parameters; * marks values that differ from the file"},
	{"policy set", VERB_POLICY, "KEY=VALUE...", 1, INT_MAX, .json = true,
	 .run = verb_policy_set,
	 .summary = "change parameters; KEY=default restores the value in the configuration file"},
	{"freeze", VERB_POLICY, "[GPU]", 0, 1, .json = true, .run = verb_gpu_freeze,
	 .summary = "stop changing caps and selling"},
	{"thaw", VERB_POLICY, "[GPU]", 0, 1, .json = true, .run = verb_gpu_thaw,
	 .summary = "resume changing caps and selling"},
	{"drain", VERB_POLICY, "[GPU]", 0, 1, .json = true, .run = verb_gpu_drain,
	 .summary = "stop selling; existing vGPUs keep running"},
	{"run", VERB_CONTRACTS, "COMMAND...", 1, INT_MAX, .command = true, .run = verb_run,
	 .required = OPTIONS(OPTION_VGPU),
	 .optional = OPTIONS(OPTION_RUN_CAP, OPTION_TARGET_FPS, OPTION_TARGET_RATE, OPTION_FPS_MAX,
			     OPTION_GPU, OPTION_LABELS),
	 .summary = "run a program in a vGPU and count its frames"},
	{"history", VERB_WATCH, "VGPU", 1, 1, .table = &table_history, .json = true,
	 .run = verb_history,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_FROM, OPTION_TO, OPTION_STEP),
	 .summary = "show caps, load and frames of a vGPU over time (default: the last hour)"},
	{"offers", VERB_SELLING, "", 0, 0, .table = &table_offers, .json = true, .run = verb_offers,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_ALL), .summary = "list open offers"},
	{"claim", VERB_SELLING, "OFFER", 1, 1, .json = true, .run = verb_offer_claim,
	 .required = OPTIONS(OPTION_NEWCOMER), .optional = OPTIONS(OPTIONS_CLAIM OPTION_KEY),
	 .summary = "claim an offer by its number: create one more vGPU"},
	{"economics", VERB_SELLING, "", 0, 0, .json = true, .run = verb_economics,
	 .optional = OPTIONS(OPTION_FROM, OPTION_TO),
	 .summary = "show revenue and penalties, with and without overselling (default: the last "
		    "day)"},
	{"simulate", VERB_SELLING, "", 0, 0, .json = true, .run = verb_simulate,
	 .optional = OPTIONS(OPTION_FROM, OPTION_TO, OPTION_ON_GPU, OPTION_POLICY, OPTION_SET,
			     OPTION_SEED, OPTION_NEWCOMER_WORKLOAD, OPTION_NO_NEWCOMERS),
	 .summary = "replay recorded load under another policy (default: the last day)"},
	{"ack", VERB_WATCH, "ALERT", 1, 1, .json = true, .run = verb_alert_ack,
	 .summary = "acknowledge an alert by its number"},
	{"silence add", VERB_WATCH, "", 0, 0, .json = true, .run = verb_silence_add,
	 .required = OPTIONS(OPTION_REASON),
	 .optional = OPTIONS(OPTION_ALERT, OPTION_ON_GPU, OPTION_VGPU, OPTION_FOR, OPTION_UNTIL),
	 .summary = "mute alerts that match all selectors"},
	{"silence list", VERB_WATCH, "", 0, 0, .table = &table_silences, .json = true,
	 .run = verb_silence_list, .optional = OPTIONS(LISTING_OPTIONS),
	 .summary = "list active silences"},
	{"silence remove", VERB_WATCH, "SILENCE", 1, 1, .json = true, .run = verb_silence_remove,
	 .summary = "end a silence by its number"},
	{"decisions", VERB_WATCH, "", 0, 0, .table = &table_decisions, .json = true,
	 .run = verb_decisions,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_AFTER, OPTION_LIMIT, OPTION_VGPU),
	 .summary = "list recent decisions, newest last"},
	{"token list", VERB_HOST, "", 0, 0, .table = &table_tokens, .json = true,
	 .run = verb_token_list, .optional = OPTIONS(LISTING_OPTIONS),
	 .summary = "list tokens for access over TCP"},
	{"token add", VERB_HOST, "NAME", 1, 1, .json = true, .run = verb_token_add,
	 .required = OPTIONS(OPTION_SCOPE), .optional = OPTIONS(OPTION_EXPIRES, OPTION_TOKEN_OUT),
	 .summary = "create a token and print it once"},
	{"token remove", VERB_HOST, "NAME", 1, 1, .json = true, .run = verb_token_remove,
	 .summary = "revoke a token immediately"},
	{"audit", VERB_HOST, "", 0, 0, .table = &table_audit, .json = true, .run = verb_audit,
	 .optional = OPTIONS(LISTING_OPTIONS, OPTION_AFTER, OPTION_LIMIT),
	 .summary = "list recorded changes with principal, address and old values"},
	{"doctor", VERB_HOST, "", 0, 0, .json = true, .run = verb_doctor,
	 .optional = OPTIONS(OPTION_PID),
	 .summary = "check the host's requirements, or why a program is not counted"},
	{"config check", VERB_HOST, "[FILE]", 0, 1, .json = true, .run = verb_config_check,
	 .summary = "check a configuration file (default: /etc/gover/gover.conf)"},
	{"support", VERB_HOST, "[SOS-OPTION...]", 0, INT_MAX, .command = true, .run = verb_support,
	 .summary = "run sos to write an archive for a bug report, without secrets"},
	{"completion", VERB_HOST, "SHELL", 1, 1, .run = verb_completion,
	 .summary = "print the completion script for bash or zsh"},
	{"help", VERB_HOST, "[GROUP | VERB...]", 0, 2, .run = verb_help,
	 .summary =
		 "show how to use gover-ctl, a group of verbs or one verb (`help all`: all verbs)"},
	/* Hidden verbs must come last: verbs_at() ends at the first of them. */
	{"__complete", VERB_HOST, "WORD...", 1, INT_MAX, .command = true, .hidden = true,
	 .run = verb_complete, .summary = "list the candidates for the last word"},
};

const size_t verbs_table_rows = ARRAY_SIZE(verbs_table);
