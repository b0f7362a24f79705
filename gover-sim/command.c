/* SPDX-License-Identifier: MIT */
/* The command line of gover-sim. Must never begin anything before all of it is understood. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "gover-sim/command.h"
#include "gover-sim/mount.h"
#include "gover-sim/tree.h"

enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2 };

static const char usage_text[] =
	"Usage: gover-sim mount [OPTION]... DIR\n"
	"A host with GVT-g and no GPU: its sysfs at DIR, until a signal or an umount ends it.\n\n"
	"  --gpus N           GPUs, 1 to 32 (1)\n"
	"  --vgpus N          room on each for N of the smallest type, 1 to 256 (8)\n"
	"  --speed X          GPU seconds in a second, 1 to 100000 (1)\n"
	"  --allow-other      other users may use it too\n"
	"  --help             this text\n"
	"  --version          the version\n\n"
	"Exit status: 0 done, 1 refused or failed, 2 usage. See gover-sim(1).\n";

enum { OPT_GPUS = 256, OPT_VGPUS, OPT_SPEED, OPT_ALLOW_OTHER, OPT_HELP, OPT_VERSION };

static const struct option long_options[] = {
	{"gpus", required_argument, NULL, OPT_GPUS},
	{"vgpus", required_argument, NULL, OPT_VGPUS},
	{"speed", required_argument, NULL, OPT_SPEED},
	{"allow-other", no_argument, NULL, OPT_ALLOW_OTHER},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int take_number(const char *name, int64_t max, int *ret_number)
{
	int64_t number;

	if (parse_int(optarg, 1, max, &number) < 0) {
		fprintf(stderr, "gover-sim: %s %s: allowed is 1 to %d\n", name, optarg, (int)max);
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

/* 0: go on; 1: all is said (help, version); -EINVAL: usage, told on stderr. */
static int parse_options(int argc, char *argv[], struct mount_options *options)
{
	int c, r = 0;

	while (r == 0 && (c = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		switch (c) {
		case OPT_GPUS:
			r = take_number("--gpus", TREE_GPUS_MAX, &options->gpus);
			break;
		case OPT_VGPUS:
			r = take_number("--vgpus", TREE_VGPUS_MAX, &options->vgpus);
			break;
		case OPT_SPEED:
			r = take_speed(&options->speed);
			break;
		case OPT_ALLOW_OTHER:
			options->allow_other = true;
			break;
		case OPT_HELP:
			fputs(usage_text, stdout);
			return 1;
		case OPT_VERSION:
			puts("gover-sim " GOVER_VERSION);
			return 1;
		default: /* getopt_long has told it */
			r = -EINVAL;
		}
	}
	return r;
}

int command_main(int argc, char *argv[])
{
	struct mount_options options = {.gpus = 1, .vgpus = 8, .speed = 1};
	struct err err = {""};
	int r = parse_options(argc, argv, &options);

	if (r > 0)
		return EXIT_DONE;
	if (r == 0 && (argc - optind != 2 || strcmp(argv[optind], "mount") != 0)) {
		fprintf(stderr, "gover-sim: what is asked for is: mount DIR\n");
		r = -EINVAL;
	}
	if (r < 0) {
		fputs("Try 'gover-sim --help'.\n", stderr);
		return EXIT_USAGE;
	}
	options.dir = argv[optind + 1];
	r = mount_run(&options, &err);
	if (r < 0)
		fprintf(stderr, "gover-sim: %s\n", err.msg[0] ? err.msg : strerror(-r));
	return r < 0 ? EXIT_REFUSED : EXIT_DONE;
}
