/* SPDX-License-Identifier: MIT */
/*
 * The command line of gover-sim: a table of verbs. All arguments are checked before a verb starts.
 */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "sim/host/command.h"
#include "sim/host/compare-print.h"
#include "sim/host/mount.h"
#include "sim/host/run.h"
#include "sim/host/tree.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const char usage_text[] =
	"Usage: gover-sim mount [OPTION]... DIR\n"
	"Mount the sysfs tree of a simulated host at DIR, until a signal or an umount.\n"
	"  --kind KIND        gvt, a GVT-g host, or xe, an SR-IOV host (gvt)\n"
	"  --gpus N           number of GPUs, 1 to 32 (1)\n"
	"  --vgpus N          number of vGPUs of the smallest type that fit on a GPU, 1 to 256; "
	"of xe:\n"
	"                     number of VFs of a GPU, 1 to 127 (8)\n"
	"  --speed X          simulated GPU seconds per real second, 1 to 100000 (1)\n"
	"  --allow-other      give other users access\n\n"
	"   or: gover-sim run [OPTION]... SCENARIO\n"
	"Run a policy on SCENARIO in virtual time and print a summary.\n"
	"  --policy NAME      use this policy instead of the policy in SCENARIO\n"
	"  --set KEY=VALUE    set KEY of [policy], or SECTION.KEY of another section\n"
	"  --seed N           use this seed instead of the seed in SCENARIO\n"
	"  --out DIR          write time series, decisions and summary to files in DIR\n"
	"  --json             print the summary as JSON\n\n"
	"   or: gover-sim compare [OPTION]... SCENARIO...\n"
	"Compare policies: run each SCENARIO under each policy with each seed.\n"
	"  --policies LIST    policies as NAME[:KEY=VALUE]..., separated by commas (all)\n"
	"  --seeds N          run N consecutive seeds, 1 to 1000 (1)\n"
	"  --plot             draw a diagram with gnuplot in the folder of --out\n"
	"  --set, --seed, --out, --json   as for run\n\n"
	"  --help             print this text\n"
	"  --version          print the version\n\n"
	"Exit status: 0 success, 1 failure, 2 invalid usage. See gover-sim(1).\n";

/* The options of all verbs. Each verb uses only one of the members. */
struct arguments {
	struct mount_options mount;
	struct run_options run;
	struct compare_options compare;
};

struct verb {
	const char *name, *operand;
	bool many; /* true: the verb accepts several operands */
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

static int compare_and_print(const struct compare_options *options, struct err *reterr)
{
	struct compare compare;
	int r = compare_run(&compare, options, reterr);

	if (r == 0)
		r = compare_print(&compare, reterr);
	if (r == 0 && options->out)
		r = compare_write(&compare, reterr);
	compare_fini(&compare);
	return r;
}

static int do_compare(struct arguments *args, char *const *operands, int n, struct err *reterr)
{
	args->compare.scenarios = operands;
	args->compare.n_scenarios = n;
	args->compare.sets = args->run.sets;
	args->compare.n_sets = args->run.n_sets;
	args->compare.first_seed = args->run.seed;
	args->compare.out = args->run.out;
	args->compare.json = args->run.json;
	if (args->compare.plot && !args->compare.out)
		return err_fail(reterr, EINVAL, "--plot: requires --out");
	return compare_and_print(&args->compare, reterr);
}

enum { MOUNT, RUN, COMPARE };

static const struct verb verbs[] = {
	[MOUNT] = {"mount", "DIR", false, do_mount},
	[RUN] = {"run", "SCENARIO", false, do_run},
	[COMPARE] = {"compare", "SCENARIO...", true, do_compare},
};

enum option_type {
	TYPE_FLAG,
	TYPE_TEXT,
	TYPE_NUMBER,
	TYPE_SPEED,
	TYPE_SET,
	TYPE_KIND,
	TYPE_HELP,
	TYPE_VERSION
};

#define OF(verb)  (1u << (verb))
#define AT(field) offsetof(struct arguments, field)

static const struct option_info {
	const char *name;
	unsigned int verbs; /* bit set of the verbs that accept the option */
	enum option_type type;
	size_t offset; /* offset of the value in struct arguments */
	int min, max;
} options[] = {
	{"kind", OF(MOUNT), TYPE_KIND, AT(mount.host), 0, 0},
	{"gpus", OF(MOUNT), TYPE_NUMBER, AT(mount.gpus), 1, TREE_GPUS_MAX},
	{"vgpus", OF(MOUNT), TYPE_NUMBER, AT(mount.vgpus), 1, TREE_VGPUS_MAX},
	{"speed", OF(MOUNT), TYPE_SPEED, AT(mount.speed), 1, 100000},
	{"allow-other", OF(MOUNT), TYPE_FLAG, AT(mount.allow_other), 0, 0},
	{"policy", OF(RUN), TYPE_TEXT, AT(run.policy), 0, 0},
	{"set", OF(RUN) | OF(COMPARE), TYPE_SET, AT(run), 0, 0},
	{"seed", OF(RUN) | OF(COMPARE), TYPE_NUMBER, AT(run.seed), 0, INT32_MAX},
	{"out", OF(RUN) | OF(COMPARE), TYPE_TEXT, AT(run.out), 0, 0},
	{"json", OF(RUN) | OF(COMPARE), TYPE_FLAG, AT(run.json), 0, 0},
	{"policies", OF(COMPARE), TYPE_TEXT, AT(compare.policies), 0, 0},
	{"seeds", OF(COMPARE), TYPE_NUMBER, AT(compare.seeds), 1, COMPARE_SEEDS_MAX},
	{"plot", OF(COMPARE), TYPE_FLAG, AT(compare.plot), 0, 0},
	{"help", 0, TYPE_HELP, 0, 0, 0},
	{"version", 0, TYPE_VERSION, 0, 0, 0},
};

#define OPTION_BASE 256 /* getopt_long() returns this value for options[0] */

static int fail_value(const struct option_info *info)
{
	fprintf(stderr, "gover-sim: --%s %s: not valid (allowed: %d to %d)\n", info->name, optarg,
		info->min, info->max);
	return -EINVAL;
}

static int add_set(struct run_options *run)
{
	if (run->n_sets == RUN_SETS_MAX) {
		fprintf(stderr, "gover-sim: --set: used more than %d times\n", RUN_SETS_MAX);
		return -EINVAL;
	}
	run->sets[run->n_sets++] = optarg;
	return 0;
}

static int take_kind(enum tree_host *ret_host)
{
	static const char *const kinds[] = {[TREE_GVT] = "gvt", [TREE_XE] = "xe"};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(optarg, kinds[i]) == 0) {
			*ret_host = (enum tree_host)i;
			return 0;
		}
	}
	fprintf(stderr, "gover-sim: --kind %s: unknown (allowed: gvt, xe)\n", optarg);
	return -EINVAL;
}

static int take_option(const struct option_info *info, struct arguments *args)
{
	void *at = (char *)args + info->offset;
	int64_t number;

	switch (info->type) {
	case TYPE_FLAG:
		*(bool *)at = true;
		return 0;
	case TYPE_TEXT:
		*(const char **)at = optarg;
		return 0;
	case TYPE_NUMBER:
		if (parse_int(optarg, info->min, info->max, &number) < 0)
			return fail_value(info);
		*(int *)at = (int)number;
		return 0;
	case TYPE_SPEED:
		return parse_double(optarg, info->min, info->max, at) < 0 ? fail_value(info) : 0;
	case TYPE_SET:
		return add_set(at);
	case TYPE_KIND:
		return take_kind(at);
	case TYPE_HELP:
		fputs(usage_text, stdout);
		return 1;
	case TYPE_VERSION:
		puts("gover-sim " GOVER_VERSION);
		return 1;
	}
	return -EINVAL;
}

/*
 * Returns 0 if the verb may run, 1 if --help or --version has printed its text, or -EINVAL after
 * printing an error. *@ret_used: bit set of the options that were used.
 */
static int parse_options(int argc, char *argv[], struct arguments *args, unsigned int *ret_used)
{
	struct option longs[ARRAY_SIZE(options) + 1] = {{0}};
	int c, r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		longs[i] = (struct option){
			.name = options[i].name,
			.has_arg = options[i].type >= TYPE_TEXT && options[i].type <= TYPE_KIND,
			.val = OPTION_BASE + (int)i,
		};
	*ret_used = 0;
	while (r == 0 && (c = getopt_long(argc, argv, "", longs, NULL)) >= 0) {
		if (c < OPTION_BASE)
			return -EINVAL;
		*ret_used |= 1u << (c - OPTION_BASE);
		r = take_option(&options[c - OPTION_BASE], args);
	}
	return r;
}

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
		fprintf(stderr, "%s %s %s", i > 0 ? "," : "", verbs[i].name, verbs[i].operand);
	fputs(")\n", stderr);
	return NULL;
}

static int check_options(const struct verb *verb, unsigned int used)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!(used & 1u << i) || options[i].verbs & OF(verb - verbs))
			continue;
		fprintf(stderr, "gover-sim: %s: unknown option --%s\n", verb->name,
			options[i].name);
		return -EINVAL;
	}
	return 0;
}

static const struct verb *choose_verb(int argc, char *argv[], unsigned int used)
{
	const struct verb *verb = find_verb(argv[optind]);
	int n = argc - optind - 1;

	if (!verb || check_options(verb, used) < 0)
		return NULL;
	if (n < 1 || (n > 1 && !verb->many)) {
		fprintf(stderr, "gover-sim: %s: wrong number of arguments (allowed: %s)\n",
			verb->name, verb->operand);
		return NULL;
	}
	return verb;
}

int command_main(int argc, char *argv[])
{
	struct arguments args = {.mount = {.gpus = 1, .vgpus = 8, .speed = 1},
				 .run = {.seed = -1},
				 .compare = {.seeds = 1}};
	const struct verb *verb;
	struct err err = {""};
	unsigned int used;
	int r = parse_options(argc, argv, &args, &used);

	if (r > 0)
		return EXIT_DONE;
	verb = r < 0 ? NULL : choose_verb(argc, argv, used);
	if (!verb) {
		fputs("Try 'gover-sim --help'.\n", stderr);
		return EXIT_USAGE;
	}
	r = verb->run(&args, &argv[optind + 1], argc - optind - 1, &err);
	if (r < 0)
		fprintf(stderr, "gover-sim: %s\n", err.msg[0] ? err.msg : strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
