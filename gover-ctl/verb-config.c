/* SPDX-License-Identifier: MIT */
/* `config check`: would gover-d start with this file? Must never need a daemon. */
#include "base/cleanup.h"
#include "gover-ctl/verbs.h"
#include "gover-d/config.h"

enum ctl_exit verb_config_check(struct ctl *ctl, const struct args *args)
{
	const char *path = args->n_words > 0 ? args->words[0] : CONFIG_PATH_DEFAULT;
	CLEANUP_FREE struct config *config = malloc(sizeof(*config));
	struct err err;

	if (!config)
		return ctl_fail(CTL_FAILED, "out of memory");
	config_default(config);
	if (config_load(config, path, &err) < 0 || config_check(config, &err) < 0)
		return ctl_fail(CTL_FAILED, "%s", err.msg);
	writer_line(&ctl->writer, "%s: in order", path);
	return CTL_DONE;
}
