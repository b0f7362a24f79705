/* SPDX-License-Identifier: MIT */
/*
 * gover-sim simulates a GVT-g or SR-IOV host without a GPU, and compares policies. See
 * gover-sim(1). Its command line is a table of verbs. All arguments are checked before a verb
 * starts.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/terminal/cmdline.h"
#include "base/xalloc.h"
#include "sim/host/run.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* The options of all verbs. Each verb uses only one of the members. */
struct arguments {
	struct mount_options mount;
	struct run_options run;
	struct compare_options compare;
};

struct verb {
	const char *name, *operand; /* operand: NULL: none */
	bool many;		    /* true: the verb accepts several operands */
	int (*run)(struct arguments *args, char *const *operands, int n, struct err *reterr);
};

static int do_mount(struct arguments *args, char *const *operands, int n, struct err *reterr)
{
	(void)n;
	args->mount.dir = operands[0];
	if (args->mount.host == TREE_XE && args->mount.vgpus > TREE_VFS_MAX)
		return err_fail(reterr, EINVAL,
				"--vgpus %d: too many for --kind xe (allowed: 1 to %d)",
				args->mount.vgpus, TREE_VFS_MAX);
	return mount_run(&args->mount, reterr);
}

static int do_run(struct arguments *args, char *const *operands, int n, struct err *reterr)
{
	(void)n;
	args->run.scenario = operands[0];
	return run_run(&args->run, reterr);
}

static int do_compare(struct arguments *args, char *const *operands, int n, struct err *reterr)
{
	args->compare.scenarios = operands;
	args->compare.n_scenarios = n;
	args->compare.run = &args->run;
	if (args->compare.plot && !args->run.out)
		return err_fail(reterr, EINVAL, "--plot: requires --out");
	return compare_run(&args->compare, reterr);
}

static int do_replay(struct arguments *args, char *const *operands, int n, struct err *reterr)
{
	(void)operands;
	(void)n;
	setlocale(LC_CTYPE, "");
	return replay_run(args->run.json, reterr);
}

enum { MOUNT, RUN, COMPARE, REPLAY };

static const struct verb verbs[] = {
	[MOUNT] = {"mount", "DIR", false, do_mount},
	[RUN] = {"run", "SCENARIO", false, do_run},
	[COMPARE] = {"compare", "SCENARIO...", true, do_compare},
	[REPLAY] = {"replay", NULL, false, do_replay},
};

#define OF(verb) (1u << (verb))

static int add_set(void *at, const char *text)
{
	struct run_options *run = at;

	if (run->n_sets == RUN_SETS_MAX) {
		fprintf(stderr, "gover-sim: --set: used more than %d times\n", RUN_SETS_MAX);
		return EXIT_USAGE;
	}
	run->sets[run->n_sets++] = text;
	return CMDLINE_GO_ON;
}

static int take_kind(void *at, const char *text)
{
	static const char *const kinds[] = {[TREE_GVT] = "gvt", [TREE_XE] = "xe"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(text, kinds[i]) == 0) {
			*(enum tree_host *)at = (enum tree_host)i;
			return CMDLINE_GO_ON;
		}
	fprintf(stderr, "gover-sim: --kind %s: unknown (allowed: gvt, xe)\n", text);
	return EXIT_USAGE;
}

/* The values of the options, with their defaults. */
static struct arguments arguments = {
	.mount = {.gpus = 1, .vgpus = 8, .speed = 1}, .run = {.seed = -1}, .compare = {.seeds = 1}};

static const struct cmdline_row rows[] = {
	CMDLINE_LINES("Usage: gover-sim mount [OPTION]... DIR\n"
		      "Mount the sysfs tree of a simulated host at DIR, until a signal or an "
		      "umount.\n"),
	CMDLINE_ROW(CALL, "kind", "KIND", &arguments.mount.host,
		    "gvt, a GVT-g host, or xe, an SR-IOV host (gvt)", .take = take_kind,
		    .verbs = OF(MOUNT)),
	CMDLINE_ROW(INT, "gpus", "N", &arguments.mount.gpus, "number of GPUs, 1 to 32 (1)",
		    .min = 1, .max = TREE_GPUS_MAX, .verbs = OF(MOUNT)),
	CMDLINE_ROW(INT, "vgpus", "N", &arguments.mount.vgpus,
		    "vGPUs that fit on a GPU, 1 to 256, or VFs of a GPU, 1 to 127 (8)", .min = 1,
		    .max = TREE_VGPUS_MAX, .verbs = OF(MOUNT)),
	CMDLINE_ROW(REAL, "speed", "X", &arguments.mount.speed,
		    "simulated GPU seconds per real second, 1 to 100000 (1)", .min = 1,
		    .max = 100000, .verbs = OF(MOUNT)),
	CMDLINE_ROW(FLAG, "allow-other", NULL, &arguments.mount.allow_other,
		    "give other users access", .verbs = OF(MOUNT)),
	CMDLINE_LINES("\n   or: gover-sim run [OPTION]... SCENARIO\n"
		      "Run a policy on SCENARIO in virtual time and print a summary.\n"),
	CMDLINE_ROW(WORD, "policy", "NAME", &arguments.run.policy,
		    "use this policy instead of the policy in SCENARIO", .verbs = OF(RUN)),
	CMDLINE_ROW(CALL, "set", "KEY=VALUE", &arguments.run,
		    "set KEY of [policy], or SECTION.KEY of another section", .take = add_set,
		    .verbs = OF(RUN) | OF(COMPARE)),
	CMDLINE_ROW(INT, "seed", "N", &arguments.run.seed,
		    "use this seed instead of the seed in SCENARIO", .max = INT32_MAX,
		    .verbs = OF(RUN) | OF(COMPARE)),
	CMDLINE_ROW(WORD, "out", "DIR", &arguments.run.out, "write files to DIR",
		    .verbs = OF(RUN) | OF(COMPARE)),
	CMDLINE_ROW(FLAG, "json", NULL, &arguments.run.json, "print the result as JSON",
		    .verbs = OF(RUN) | OF(COMPARE) | OF(REPLAY)),
	CMDLINE_LINES("\n   or: gover-sim compare [OPTION]... SCENARIO...\n"
		      "Compare policies: run each SCENARIO under each policy with each seed, "
		      "also with\n--set, --seed, --out and --json.\n"),
	CMDLINE_ROW(WORD, "policies", "LIST", &arguments.compare.policies,
		    "policies as NAME[:KEY=VALUE]..., separated by commas (all)",
		    .verbs = OF(COMPARE)),
	CMDLINE_ROW(INT, "seeds", "N", &arguments.compare.seeds,
		    "run N consecutive seeds, 1 to 1000 (1)", .min = 1, .max = COMPARE_SEEDS_MAX,
		    .verbs = OF(COMPARE)),
	CMDLINE_ROW(FLAG, "plot", NULL, &arguments.compare.plot,
		    "draw a diagram with gnuplot in the folder of --out", .verbs = OF(COMPARE)),
	CMDLINE_LINES("\n   or: gover-sim replay [--json]\n"
		      "Replay the recording on standard input, as `gover-ctl simulate` "
		      "does.\n\n"),
	CMDLINE_ENDS,
	CMDLINE_LINES("\nExit status: 0 success, 1 failure, 2 invalid usage. See "
		      "gover-sim(1).\n"),
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	if (name)
		fprintf(stderr, "gover-sim: unknown command '%s' (allowed:", name);
	else
		fputs("gover-sim: command required (allowed:", stderr);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(stderr, "%s %s%s%s", i > 0 ? "," : "", verbs[i].name,
			verbs[i].operand ? " " : "", verbs[i].operand ? verbs[i].operand : "");
	fputs(")\n", stderr);
	return NULL;
}

/* Returns the verb; NULL after a message. @used: the options that were given. */
static const struct verb *choose_verb(int argc, char *argv[], unsigned int used)
{
	const struct verb *verb = find_verb(argv[optind]);
	int n = argc - optind - 1;

	for (size_t i = 0; verb && i < ARRAY_SIZE(rows); i++)
		if (used & 1u << i && !(rows[i].verbs & OF(verb - verbs))) {
			fprintf(stderr, "gover-sim: %s: unknown option --%s\n", verb->name,
				rows[i].name);
			return NULL;
		}
	if (verb && (verb->operand ? n < 1 || (n > 1 && !verb->many) : n > 0)) {
		fprintf(stderr, "gover-sim: %s: wrong number of arguments (allowed: %s)\n",
			verb->name, verb->operand ? verb->operand : "none");
		return NULL;
	}
	return verb;
}

/* Returns CMDLINE_GO_ON and the verb, or an exit status after a text was printed. */
static int parse(int argc, char *argv[], const struct verb **ret_verb)
{
	unsigned int used;
	int r = cmdline_parse("gover-sim", rows, ARRAY_SIZE(rows), "", argc, argv, &used);

	if (r != CMDLINE_GO_ON)
		return r;
	*ret_verb = choose_verb(argc, argv, used);
	if (*ret_verb)
		return CMDLINE_GO_ON;
	fputs("Try 'gover-sim --help'.\n", stderr);
	return EXIT_USAGE;
}

/* Prints the error of a verb. Those of replay have the form and the exit status of gover-ctl. */
static int fail(const struct verb *verb, bool json, int result, const struct err *err)
{
	const char *message = err->msg[0] ? err->msg : strerror(-result);
	bool replay = verb == &verbs[REPLAY];
	int code = replay && result == -EINVAL ? EXIT_USAGE : EXIT_FAILED;

	if (replay && json) {
		json_t *line = json_pack("{s:{s:s, s:i, s:n}}", "error", "message", message,
					 "exit_code", code, "status");

		(void)json_dumpf(line, stderr, JSON_COMPACT);
		fputc('\n', stderr);
		json_decref(line);
	} else {
		fprintf(stderr, "gover-sim: %s\n", message);
	}
	return code;
}

int main(int argc, char *argv[])
{
	const struct verb *verb;
	struct err err = {""};
	int r;

	xalloc_init("gover-sim");
	json_set_alloc_funcs(xmalloc, free);
	r = parse(argc, argv, &verb);
	if (r != CMDLINE_GO_ON)
		return r;
	r = verb->run(&arguments, &argv[optind + 1], argc - optind - 1, &err);
	return r < 0 ? fail(verb, arguments.run.json, r, &err) : EXIT_DONE;
}
