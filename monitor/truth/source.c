/* SPDX-License-Identifier: MIT */
/* Selects the source and holds its last sample. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "monitor/truth/source.h"

struct truth {
	const struct truth_source *source;
	struct truth_state *state;
	uint64_t sampled_ns; /* monotonic time of the last sample; 0: none */
	struct truth_sheet sheet;
};

/* The order of "auto". */
static const struct truth_source *const sources[] = {&truth_nvml, &truth_fdinfo};

int truth_open(const struct truth_config *config, struct truth **ret_truth, struct err *reterr)
{
	bool any = strcmp(config->source, "auto") == 0;
	CLEANUP_FREE struct truth *truth = calloc(1, sizeof(*truth));
	int r = -EINVAL;

	if (!truth)
		return err_fail(reterr, ENOMEM, "out of memory");
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (!any && strcmp(config->source, sources[i]->name) != 0)
			continue;
		truth->source = sources[i];
		r = sources[i]->open(config, &truth->state, reterr);
		/* Other errors need the operator, such as a missing address of one of two GPUs. */
		if (r != -EOPNOTSUPP)
			break;
	}
	if (!truth->source)
		return err_fail(reterr, EINVAL,
				"truth: \"%s\" is no source (allowed: auto, fdinfo or nvml)",
				config->source);
	if (r < 0)
		return r;
	truth->sheet.times = true;
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

const char *truth_source(const struct truth *truth)
{
	return truth->source->name;
}

int truth_sample(struct truth *truth, uint64_t now_mono_ns)
{
	uint64_t passed_ns = truth->sampled_ns && now_mono_ns > truth->sampled_ns
				     ? now_mono_ns - truth->sampled_ns
				     : 0;
	int r = truth->source->sample(truth->state, passed_ns, &truth->sheet);

	if (r == 0)
		truth->sampled_ns = now_mono_ns;
	return r;
}

const struct truth_user *truth_users(const struct truth *truth, size_t *ret_n)
{
	*ret_n = truth->sheet.n_users;
	return truth->sheet.users;
}

bool truth_has_times(const struct truth *truth)
{
	return truth->sheet.times;
}

struct truth_counts truth_counts(const struct truth *truth)
{
	return truth->sheet.counts;
}
