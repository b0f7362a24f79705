/* SPDX-License-Identifier: MIT */
/* Selects the source and holds its last sample. Parses the device memory of control groups. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/xalloc.h"
#include "gpu/drm/source.h"

struct truth {
	const struct truth_source *source;
	struct truth_state *state;
	bool any; /* "auto" */
	struct truth_config config;
	char device[64], proc[256];
	struct backoff backoff; /* of NVML, with "auto" */
	uint64_t sampled_ns;	/* monotonic time of the last sample; 0: none */
	struct truth_sheet sheet;
	struct truth_report report;
};

/* The order of "auto". */
static const struct truth_source *const sources[] = {&truth_nvml, &truth_fdinfo};

/* --- opening --- */

static int open_any(struct truth *truth, struct err *reterr)
{
	struct err first = {""}, second = {""};
	int r = truth_nvml.open(&truth->config, &truth->state, &first);

	truth->source = &truth_nvml;
	/* Other errors need the operator, such as a missing address of one of two GPUs. */
	if (r != -EOPNOTSUPP)
		return r < 0 ? err_fail(reterr, -r, "%s", first.msg) : 0;
	truth->source = &truth_fdinfo;
	r = truth_fdinfo.open(&truth->config, &truth->state, &second);
	return r < 0 ? err_fail(reterr, -r, "%s (and %.200s)", second.msg, first.msg) : 0;
}

static int open_source(struct truth *truth, struct err *reterr)
{
	if (truth->any)
		return open_any(truth, reterr);
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (strcmp(truth->config.source, sources[i]->name) != 0)
			continue;
		truth->source = sources[i];
		return sources[i]->open(&truth->config, &truth->state, reterr);
	}
	return err_fail(reterr, EINVAL,
			"truth: \"%s\" is no source (allowed: auto, fdinfo or nvml)",
			truth->config.source);
}

int truth_open(const struct truth_config *config, struct truth **ret_truth, struct err *reterr)
{
	CLEANUP_FREE struct truth *truth = xcalloc(1, sizeof(*truth));
	int r;

	if (strlen(config->device) >= sizeof(truth->device) ||
	    strlen(config->proc) >= sizeof(truth->proc))
		return err_fail(reterr, ENAMETOOLONG, "device or proc: too long");
	truth->any = strcmp(config->source, "auto") == 0;
	truth->config = *config;
	truth->config.device = strcpy(truth->device, config->device);
	truth->config.proc = strcpy(truth->proc, config->proc);
	r = open_source(truth, reterr);
	if (r < 0)
		return r;
	truth->report.source = truth->source->name;
	(void)err_fail(&truth->report.problem, ENODATA, "no sample was taken yet");
	*ret_truth = truth;
	truth = NULL;
	return 0;
}

struct truth *truth_close(struct truth *truth)
{
	if (truth) {
		truth->source->close(truth->state);
		free(truth);
	}
	return NULL;
}

/* NVIDIA's driver may be loaded after the start. */
static void retry_nvml(struct truth *truth, uint64_t now_mono_ns)
{
	struct truth_state *state;
	struct err err = {""};
	bool first = truth->backoff.delay_ns == 0; /* open_any() has just failed */

	if (!first && !backoff_is_due(&truth->backoff, now_mono_ns))
		return;
	backoff_fail(&truth->backoff, now_mono_ns);
	if (first || truth_nvml.open(&truth->config, &state, &err) < 0)
		return;
	truth->source->close(truth->state);
	truth->source = &truth_nvml;
	truth->state = state;
	truth->sampled_ns = 0;
}

/* --- sampling --- */

#define COUNTS (sizeof(struct truth_counts) / sizeof(uint64_t))

static void count(struct truth *truth)
{
	struct truth_counts *last = &truth->report.last;
	uint64_t now[COUNTS], most[COUNTS];

	*last = truth->sheet.counts;
	last->clients = truth->sheet.n_users;
	last->outside = 0;
	for (size_t i = 0; i < truth->sheet.n_users; i++)
		last->outside += truth->sheet.users[i].tenant < 0;
	memcpy(now, last, sizeof(now));
	memcpy(most, &truth->report.most, sizeof(most));
	for (size_t i = 0; i < COUNTS; i++)
		most[i] = now[i] > most[i] ? now[i] : most[i];
	memcpy(&truth->report.most, most, sizeof(most));
}

/* Some processes are clients, but their tenants cannot be read. */
static void check_tenants(struct truth_sheet *sheet)
{
	int n = 0;

	for (size_t i = 0; i < sheet->n_users; i++)
		n += sheet->users[i].tenant == TRUTH_TENANT_UNKNOWN;
	if (n > 0 && !sheet->problem.msg[0])
		(void)err_fail(&sheet->problem, ENODATA,
			       "the control groups of %d programs that use the GPU cannot be read",
			       n);
}

int truth_sample(struct truth *truth, uint64_t now_mono_ns)
{
	struct truth_sheet *sheet = &truth->sheet;
	uint64_t passed_ns = truth->sampled_ns && now_mono_ns > truth->sampled_ns
				     ? now_mono_ns - truth->sampled_ns
				     : 0;
	int r;

	sheet->problem.msg[0] = '\0';
	r = truth->source->sample(truth->state, now_mono_ns, passed_ns, sheet);
	if (r < 0 && !sheet->problem.msg[0])
		(void)err_fail(&sheet->problem, -r, "%s: %s", truth->source->name, strerror(-r));
	if (r == 0) {
		check_tenants(sheet);
		count(truth);
		truth->sampled_ns = now_mono_ns;
	}
	if (truth->any && truth->source != &truth_nvml && sheet->problem.msg[0])
		retry_nvml(truth, now_mono_ns);
	truth->report.source = truth->source->name;
	truth->report.problem = sheet->problem;
	return r;
}

const struct truth_user *truth_users(const struct truth *truth, size_t *ret_n)
{
	*ret_n = truth->sheet.n_users;
	return truth->sheet.users;
}

const struct truth_report *truth_report(const struct truth *truth)
{
	return &truth->report;
}

/*
 * --- device memory of a control group ---
 *
 * The format of a line is "REGION BYTES" (Documentation/admin-guide/cgroup-v2.rst, DMEM); the DRM
 * core names a region "drm/DEVICE/NAME".
 */

#define LINE_MAX_LENGTH 256

/* Returns true if @region is "drm/DEVICE/..." */
static bool is_region_of(const char *region, const char *device)
{
	size_t n = strlen(device);

	return strncmp(region, "drm/", 4) == 0 && strncmp(region + 4, device, n) == 0 &&
	       region[4 + n] == '/';
}

/* Adds one line. Returns 1 if it has no limit. */
static int add_line(char *line, const char *device, bool *found, uint64_t *sum)
{
	char *space = strrchr(line, ' ');
	int64_t bytes;

	if (!space || space == line)
		return -EINVAL;
	*space = '\0';
	if (!is_region_of(line, device))
		return 0;
	*found = true;
	if (strcmp(space + 1, "max") == 0)
		return 1;
	if (parse_int(space + 1, 0, INT64_MAX, &bytes) < 0 ||
	    __builtin_add_overflow(*sum, (uint64_t)bytes, sum))
		return -EINVAL;
	return 0;
}

int truth_parse_dmem(const char *text, const char *device, uint64_t *ret_bytes)
{
	bool found = false, unlimited = false;
	uint64_t sum = 0;

	while (*text) {
		size_t n = strcspn(text, "\n");
		char line[LINE_MAX_LENGTH];
		int r;

		if (n >= sizeof(line))
			return -EINVAL;
		memcpy(line, text, n);
		line[n] = '\0';
		r = n ? add_line(line, device, &found, &sum) : 0;
		if (r < 0)
			return r;
		unlimited |= r > 0;
		text += n + (text[n] == '\n');
	}
	if (!found)
		return -ENODATA;
	if (unlimited)
		return -ERANGE;
	*ret_bytes = sum;
	return 0;
}
