/* SPDX-License-Identifier: MIT */
/* The command line of gover-sim: a table of verbs. No verb starts before all arguments are valid.
 */
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
	"Mount the sysfs tree of a simulated GVT-g host at DIR, until a signal or an umount.\n"
	"  --gpus N           number of GPUs, 1 to 32 (1)\n"
	"  --vgpus N          vGPUs of the smallest type that fit on each GPU, 1 to 256 (8)\n"
	"  --speed X          simulated GPU seconds per real second, 1 to 100000 (1)\n"
	"  --allow-other      give other users access\n\n"
	"   or: gover-sim run [OPTION]... SCENARIO\n"
	"Run a policy on SCENARIO in virtual time and print a summary.\n"
	"  --policy NAME      use this policy instead of the one in SCENARIO\n"
	"  --set KEY=VALUE    set a policy parameter, or SECTION.KEY\n"
	"  --seed N           use this seed instead of the one in SCENARIO\n"
	"  --out DIR          write time series, decisions and summary to files in DIR\n"
	"  --json             print the summary as JSON\n\n"
	"   or: gover-sim compare [OPTION]... SCENARIO...\n"
	"Compare policies: run each SCENARIO under each policy with each seed.\n"
	"  --policies LIST    NAME[:KEY=VALUE]..., separated by commas (all policies)\n"
	"  --seeds N          run N consecutive seeds, 1 to 1000 (1)\n"
	"  --plot             draw a diagram with gnuplot in the folder of --out\n"
	"  --set, --seed, --out, --json   as above\n\n"
	"  --help             print this text\n"
	"  --version          print the version\n\n"
	"Exit status: 0 success, 1 failure, 2 invalid usage. See gover-sim(1).\n";

/* The parsed options of all verbs. */
struct arguments {
	struct mount_options mount;
	struct run_options run;
	struct compare_options compare;
};

struct verb {
	const char *name, *operand;
	bool many;	     /* accepts more than one operand */
	const char *options; /* names, with a space before and after each */
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
		return err_fail(reterr, EINVAL, "--plot: requires --out");
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
		fprintf(stderr, "gover-sim: --%s %s: not valid (allowed: %d to %d)\n", name, optarg,
			(int)min, (int)max);
		return -EINVAL;
	}
	*ret_number = (int)number;
	return 0;
}

static int take_speed(double *ret_speed)
{
	if (parse_double(optarg, 1, 100000, ret_speed) == 0)
		return 0;
	fprintf(stderr, "gover-sim: --speed %s: not valid (allowed: 1 to 100000)\n", optarg);
	return -EINVAL;
}

static int take_set(struct run_options *run)
{
	if (run->n_sets == RUN_SETS_MAX) {
		fprintf(stderr, "gover-sim: --set: used too often (limit %d)\n", RUN_SETS_MAX);
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
	default: /* getopt_long() has printed an error */
		return -EINVAL;
	}
}

/* Returns 0, 1 if --help or --version has printed its text, or -EINVAL after printing an error.
 * @given: the names of the used options in order. */
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
	if (name)
		fprintf(stderr, "gover-sim: unknown command '%s' (allowed:", name);
	else
		fputs("gover-sim: command required (allowed:", stderr);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(stderr, "%s %s %s", i > 0 ? "," : "", verbs[i].name, verbs[i].operand);
	fputs(")\n", stderr);
	return NULL;
}

static int check_options(const struct verb *verb, const char *const *given, int n_given)
{
	char wanted[64];

	for (int i = 0; i < n_given; i++) {
		snprintf(wanted, sizeof(wanted), " %s ", given[i]);
		if (strstr(verb->options, wanted))
			continue;
		fprintf(stderr, "gover-sim: %s: unknown option --%s\n", verb->name, given[i]);
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
