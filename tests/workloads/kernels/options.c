/* SPDX-License-Identifier: MIT */
/* The command line of gover-kernels: a table of options, the help, and checks between options. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "tests/workloads/kernels/options.h"

#define DEFAULT_SECONDS 5.0
#define MAX_LOCAL	1024

static const char usage[] =
	"usage: gover-kernels [OPTION]... WORKLOAD\n"
	"Runs kernels of one workload on an OpenCL device, and prints launches and rate.\n"
	"  --size N        set the size of a launch (see the list below)\n"
	"  --local N       set the work-items of a work-group, a power of 2 up to 1024, or 0 to "
	"let\n"
	"                  the device choose (64)\n"
	"  --seconds S     stop after S seconds, up to 1000000 (5 without --launches)\n"
	"  --launches N    stop after N launches, rounded up to whole rounds\n"
	"  --rate N        limit the launches a second, 0.001 to 1000000\n"
	"  --in-flight N   allow N unfinished launches, 1 to 256 (2)\n"
	"  --device P[:D]  select device D of platform P, an index or a part of the platform's "
	"name\n"
	"                  (variable CL_DEVICE, or 0:0)\n"
	"  --check         compare the results with a computation on the CPU\n"
	"  --digest        print a hash of the content of all buffers\n"
	"  --profile       print the device time of all launches\n"
	"  --progress      print launches and rate every second\n"
	"  --wait          print 'ready' after the first round and wait for a line on stdin\n"
	"  --list          list platforms and devices\n"
	"  --help          show this help\n"
	"SIGTERM and SIGINT end the run after the current round.\n"
	"\n"
	"Workloads, with size (minimum, default, maximum) and its meaning:\n";

static void print_help(void)
{
	fputs(usage, stdout);
	for (const struct workload *const *w = load_workloads; *w; w++)
		printf("  %-13s %s\n  %13s size %u, %u, %u: %s%s\n", (*w)->name, (*w)->summary, "",
		       (*w)->size_min, (*w)->size_default, (*w)->size_max, (*w)->unit,
		       (*w)->local_memory ? "; needs --local 4 or more" : "");
}

static bool parse_count(const char *text, int64_t min, int64_t max, uint64_t *ret_value)
{
	int64_t value;

	if (parse_int(text, min, max, &value) != 0)
		return false;
	*ret_value = (uint64_t)value;
	return true;
}

static bool parse_numbers(int option, const char *text, struct options *options)
{
	uint64_t value = 0;
	bool ok;

	switch (option) {
	case 's':
		ok = parse_count(text, 1, UINT32_MAX, &value);
		options->size = (uint32_t)value;
		return ok;
	case 'l':
		ok = parse_count(text, 0, MAX_LOCAL, &value) && (value & (value - 1)) == 0;
		options->local = (uint32_t)value;
		return ok;
	case 'f':
		ok = parse_count(text, 1, LOAD_IN_FLIGHT, &value);
		options->in_flight = (unsigned int)value;
		return ok;
	case 'n':
		return parse_count(text, 1, INT64_MAX, &options->launches);
	case 't':
		return parse_double(text, 0.001, 1e6, &options->seconds) == 0;
	case 'r':
		return parse_double(text, 0.001, 1e6, &options->rate) == 0;
	default:
		return false;
	}
}

static void set_flag(int option, struct options *options)
{
	options->check |= option == 'c';
	options->digest |= option == 'd';
	options->profile |= option == 'p';
	options->progress |= option == 'g';
	options->wait |= option == 'w';
}

static const struct workload *find_workload(const char *name)
{
	for (const struct workload *const *w = load_workloads; *w; w++)
		if (strcmp((*w)->name, name) == 0)
			return *w;
	return NULL;
}

/* Checks options that depend on each other. Returns false after a message. */
static bool check_options(struct options *options)
{
	const struct workload *workload = options->workload;

	if (options->size == 0)
		options->size = workload->size_default;
	if (options->size < workload->size_min || options->size > workload->size_max) {
		fprintf(stderr,
			"gover-kernels: --size %u: outside the range of %s (allowed: %u to %u)\n",
			options->size, workload->name, workload->size_min, workload->size_max);
		return false;
	}
	if (workload->local_memory && options->local < 4) {
		fprintf(stderr,
			"gover-kernels: --local %u: %s uses local memory (allowed: 4 to %d)\n",
			options->local, workload->name, MAX_LOCAL);
		return false;
	}
	if (options->seconds <= 0 && options->launches == 0)
		options->seconds = DEFAULT_SECONDS;
	return true;
}

static bool parse_workload(int argc, char **argv, struct options *options)
{
	if (optind + 1 != argc) {
		fprintf(stderr, optind == argc ? "gover-kernels: workload: required (see --help)\n"
					       : "gover-kernels: only one workload is allowed\n");
		return false;
	}
	options->workload = find_workload(argv[optind]);
	if (!options->workload) {
		fprintf(stderr, "gover-kernels: workload '%s': not found (see --help)\n",
			argv[optind]);
		return false;
	}
	return check_options(options);
}

/* Handles one option. Returns false if the program must exit with *@ret_status. */
static bool handle(int option, const char *name, struct options *options, int *ret_status)
{
	switch (option) {
	case '?':
		return false;
	case 'h':
	case 'i':
		if (option == 'h')
			print_help();
		else
			device_list();
		*ret_status = 0;
		return false;
	case 'v':
		options->device = optarg;
		return true;
	default:
		if (!optarg) {
			set_flag(option, options);
			return true;
		}
		if (parse_numbers(option, optarg, options))
			return true;
		fprintf(stderr, "gover-kernels: --%s: invalid value '%s' (see --help)\n", name,
			optarg);
		return false;
	}
}

bool options_parse(int argc, char **argv, struct options *options, int *ret_status)
{
	static const struct option known[] = {
		{"size", required_argument, NULL, 's'},
		{"local", required_argument, NULL, 'l'},
		{"seconds", required_argument, NULL, 't'},
		{"launches", required_argument, NULL, 'n'},
		{"rate", required_argument, NULL, 'r'},
		{"in-flight", required_argument, NULL, 'f'},
		{"device", required_argument, NULL, 'v'},
		{"check", no_argument, NULL, 'c'},
		{"digest", no_argument, NULL, 'd'},
		{"profile", no_argument, NULL, 'p'},
		{"progress", no_argument, NULL, 'g'},
		{"wait", no_argument, NULL, 'w'},
		{"list", no_argument, NULL, 'i'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, index = 0;

	*options = (struct options){.local = 64, .in_flight = 2, .device = getenv("CL_DEVICE")};
	*ret_status = 2;
	while ((option = getopt_long(argc, argv, "", known, &index)) != -1)
		if (!handle(option, known[index].name, options, ret_status))
			return false;
	return parse_workload(argc, argv, options);
}
