/* SPDX-License-Identifier: MIT */
/* The command line of gover-sim: a table of verbs. Must never begin anything before all of it is
 * understood. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "sim/host/command.h"
#include "sim/host/compare.h"
#include "sim/host/mount.h"
#include "sim/host/run.h"
#include "sim/host/tree.h"

enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2 };

static const char usage_text[] =
	"Usage: gover-sim mount [OPTION]... DIR\n"
	"A host with GVT-g and no GPU: its sysfs at DIR, until a signal or an umount ends it.\n"
	"  --gpus N           GPUs, 1 to 32 (1)\n"
	"  --vgpus N          room on each for N of the smallest type, 1 to 256 (8)\n"
	"  --speed X          GPU seconds in a second, 1 to 100000 (1)\n"
	"  --allow-other      other users may use it too\n\n"
	"   or: gover-sim run [OPTION]... SCENARIO\n"
	"A policy on experiment: SCENARIO played in virtual time, and what it comes to.\n"
	"  --policy NAME      another than the scenario's\n"
	"  --set KEY=VALUE    a parameter of the policy, or SECTION.KEY, other than the "
	"scenario's\n"
	"  --seed N           another than the scenario's\n"
	"  --out DIR          rows, decisions and the summary as files in DIR\n"
	"  --json             the summary as JSON\n\n"
	"   or: gover-sim compare [OPTION]... SCENARIO...\n"
	"Policies side by side: each SCENARIO under each policy with each seed.\n"
	"  --policies LIST    NAME[:KEY=VALUE]..., separated by commas (all policies)\n"
	"  --seeds N          so many, from --seed or the scenario's on, 1 to 1000 (1)\n"
	"  --plot             draw it, with gnuplot, in --out\n"
	"  --set, --seed, --out, --json   as above\n\n"
	"  --help             this text\n"
	"  --version          the version\n\n"
	"Exit status: 0 done, 1 refused or failed, 2 usage. See gover-sim(1).\n";

/* What the options of all verbs are read into. */
struct arguments {
	struct mount_options mount;
	struct run_options run;
	struct compare_options compare;
};

/* A verb: which options it has, and what it does with the operands. */
struct verb {
	const char *name, *operand;
	bool many;	     /* one operand or more, else one */
	const char *options; /* names, each with a blank before and behind */
	int (*run)(struct arguments *args, char *const *operands, int n, struct err *reterr);
};

static int do_mount(struct arguments *args, char *const *operands, int n, struct err *reterr)
{
	(void)n;
	args->mount.dir = operands[0];
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
	args->compare.sets = args->run.sets;
	args->compare.n_sets = args->run.n_sets;
	args->compare.first_seed = args->run.seed;
	args->compare.out = args->run.out;
	args->compare.json = args->run.json;
	if (args->compare.plot && !args->compare.out)
		return err_fail(reterr, EINVAL, "--plot: draws in a folder; say which with --out");
	return compare_run(&args->compare, reterr);
}

static const struct verb verbs[] = {
	{"mount", "DIR", false, " gpus vgpus speed allow-other ", do_mount},
	{"run", "SCENARIO", false, " policy set seed out json ", do_run},
	{"compare", "SCENARIO...", true, " policies seeds set seed out json plot ", do_compare},
};

enum {
	OPT_GPUS = 256,
	OPT_VGPUS,
	OPT_SPEED,
	OPT_ALLOW_OTHER,
	OPT_POLICY,
	OPT_SET,
	OPT_SEED,
	OPT_OUT,
	OPT_JSON,
	OPT_POLICIES,
	OPT_SEEDS,
	OPT_PLOT,
	OPT_HELP,
	OPT_VERSION
};

static const struct option long_options[] = {
	{"gpus", required_argument, NULL, OPT_GPUS},
	{"vgpus", required_argument, NULL, OPT_VGPUS},
	{"speed", required_argument, NULL, OPT_SPEED},
	{"allow-other", no_argument, NULL, OPT_ALLOW_OTHER},
	{"policy", required_argument, NULL, OPT_POLICY},
	{"set", required_argument, NULL, OPT_SET},
	{"seed", required_argument, NULL, OPT_SEED},
	{"out", required_argument, NULL, OPT_OUT},
	{"json", no_argument, NULL, OPT_JSON},
	{"policies", required_argument, NULL, OPT_POLICIES},
	{"seeds", required_argument, NULL, OPT_SEEDS},
	{"plot", no_argument, NULL, OPT_PLOT},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int take_number(const char *name, int64_t min, int64_t max, int *ret_number)
{
	int64_t number;

	if (parse_int(optarg, min, max, &number) < 0) {
		fprintf(stderr, "gover-sim: --%s %s: allowed is %d to %d\n", name, optarg, (int)min,
			(int)max);
		return -EINVAL;
	}
	*ret_number = (int)number;
	return 0;
}

static int take_speed(double *ret_speed)
{
	if (parse_double(optarg, 1, 100000, ret_speed) == 0)
		return 0;
	fprintf(stderr, "gover-sim: --speed %s: allowed is 1 to 100000\n", optarg);
	return -EINVAL;
}

static int take_set(struct run_options *run)
{
	if (run->n_sets == RUN_SETS_MAX) {
		fprintf(stderr, "gover-sim: --set: at most %d times\n", RUN_SETS_MAX);
		return -EINVAL;
	}
	run->sets[run->n_sets++] = optarg;
	return 0;
}

static int take_option(int option, const char *name, struct arguments *args)
{
	switch (option) {
	case OPT_GPUS:
		return take_number(name, 1, TREE_GPUS_MAX, &args->mount.gpus);
	case OPT_VGPUS:
		return take_number(name, 1, TREE_VGPUS_MAX, &args->mount.vgpus);
	case OPT_SPEED:
		return take_speed(&args->mount.speed);
	case OPT_ALLOW_OTHER:
		args->mount.allow_other = true;
		return 0;
	case OPT_POLICY:
		args->run.policy = optarg;
		return 0;
	case OPT_SET:
		return take_set(&args->run);
	case OPT_SEED:
		return take_number(name, 0, INT32_MAX, &args->run.seed);
	case OPT_OUT:
		args->run.out = optarg;
		return 0;
	case OPT_JSON:
		args->run.json = true;
		return 0;
	case OPT_POLICIES:
		args->compare.policies = optarg;
		return 0;
	case OPT_SEEDS:
		return take_number(name, 1, COMPARE_SEEDS_MAX, &args->compare.seeds);
	case OPT_PLOT:
		args->compare.plot = true;
		return 0;
	case OPT_HELP:
		fputs(usage_text, stdout);
		return 1;
	case OPT_VERSION:
		puts("gover-sim " GOVER_VERSION);
		return 1;
	default: /* getopt_long has told it */
		return -EINVAL;
	}
}

/* 0: go on; 1: all is said (help, version); -EINVAL: usage, told on stderr. @given: the options'
 * names in the order they came. */
static int parse_options(int argc, char *argv[], struct arguments *args, const char **given,
			 int *ret_given)
{
	int c, index, r = 0;

	*ret_given = 0;
	while (r == 0 && (c = getopt_long(argc, argv, "", long_options, &index)) >= 0) {
		const char *name = c >= OPT_GPUS ? long_options[index].name : "";

		given[(*ret_given)++] = name;
		r = take_option(c, name, args);
	}
	return r;
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	fputs("gover-sim: what is asked for is:", stderr);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(stderr, "%s %s %s", i > 0 ? "," : "", verbs[i].name, verbs[i].operand);
	fputc('\n', stderr);
	return NULL;
}

static int check_options(const struct verb *verb, const char *const *given, int n_given)
{
	char wanted[64];

	for (int i = 0; i < n_given; i++) {
		snprintf(wanted, sizeof(wanted), " %s ", given[i]);
		if (strstr(verb->options, wanted))
			continue;
		fprintf(stderr, "gover-sim: %s has no option --%s\n", verb->name, given[i]);
		return -EINVAL;
	}
	return 0;
}

static const struct verb *choose_verb(int argc, char *argv[], const char *const *given, int n_given)
{
	const struct verb *verb = find_verb(argv[optind]);
	int n = argc - optind - 1;

	if (!verb || check_options(verb, given, n_given) < 0)
		return NULL;
	if (n < 1 || (n > 1 && !verb->many)) {
		fprintf(stderr, "gover-sim: what is asked for is: %s %s\n", verb->name,
			verb->operand);
		return NULL;
	}
	return verb;
}

int command_main(int argc, char *argv[])
{
	struct arguments args = {.mount = {.gpus = 1, .vgpus = 8, .speed = 1},
				 .run = {.seed = -1},
				 .compare = {.seeds = 1}};
	CLEANUP_FREE const char **given = calloc((size_t)argc + 1, sizeof(*given));
	const struct verb *verb;
	struct err err = {""};
	int n_given = 0, r;

	if (!given)
		return EXIT_REFUSED;
	r = parse_options(argc, argv, &args, given, &n_given);
	if (r > 0)
		return EXIT_DONE;
	verb = r < 0 ? NULL : choose_verb(argc, argv, given, n_given);
	if (!verb) {
		fputs("Try 'gover-sim --help'.\n", stderr);
		return EXIT_USAGE;
	}
	r = verb->run(&args, &argv[optind + 1], argc - optind - 1, &err);
	if (r < 0)
		fprintf(stderr, "gover-sim: %s\n", err.msg[0] ? err.msg : strerror(-r));
	return r < 0 ? EXIT_REFUSED : EXIT_DONE;
}
