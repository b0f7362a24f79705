/* SPDX-License-Identifier: MIT */
/*
 * Reads a configuration file. Must never change the configuration it was given unless the whole
 * file is good.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/inifile.h"
#include "gover-d/config-table.h"

#define FILE_BYTES_MAX (256 * 1024)

struct loader {
	struct config *config;
	bool gpu_seen;	  /* the file's own GPUs have replaced those before */
	bool flavor_seen; /* the same of its flavours */
};

static int enter_gpu(struct loader *l, const char *name, void **ret_base, struct err *reterr)
{
	struct config *config = l->config;

	if (!id_valid(name))
		return err_fail(reterr, EINVAL,
				"[gpu %.70s]: a GPU's name is 1 to 63 of A-Z a-z 0-9 . _ - and "
				"begins with neither . nor -",
				name);
	if (!l->gpu_seen)
		config->n_gpus = 0;
	l->gpu_seen = true;
	for (int g = 0; g < config->n_gpus; g++)
		if (strcmp(config->gpus[g].gpu.name, name) == 0)
			return err_fail(reterr, EINVAL, "[gpu %s] is given for the second time",
					name);
	if (config->n_gpus == GPUS_MAX)
		return err_fail(reterr, EINVAL, "[gpu %s]: at most %d GPUs are allowed", name,
				GPUS_MAX);
	*ret_base = &config->gpus[config->n_gpus++];
	config_table_default_gpu(*ret_base, name);
	return 0;
}

static int enter_flavor(struct loader *l, const char *name, void **ret_base, struct err *reterr)
{
	struct config *config = l->config;

	if (!id_valid(name))
		return err_fail(reterr, EINVAL,
				"[flavor %.70s]: a flavour's name is 1 to 63 of A-Z a-z 0-9 . _ - "
				"and begins with neither . nor -",
				name);
	if (!l->flavor_seen)
		config->n_flavors = 0;
	l->flavor_seen = true;
	for (int i = 0; i < config->n_flavors; i++)
		if (strcmp(config->flavors[i].name, name) == 0)
			return err_fail(reterr, EINVAL, "[flavor %s] is given for the second time",
					name);
	if (config->n_flavors == FLAVORS_MAX)
		return err_fail(reterr, EINVAL,
				"[flavor %s]: at most %d sections of flavours are allowed", name,
				FLAVORS_MAX);
	*ret_base = &config->flavors[config->n_flavors++];
	config_table_default_flavor(*ret_base, name);
	return 0;
}

static int enter_section(void *userdata, const struct setting *first, const char *name, int line,
			 void **ret_base, struct err *reterr)
{
	struct loader *l = userdata;

	(void)line;
	if (strcmp(first->section, CONFIG_GPU_SECTION) == 0)
		return enter_gpu(l, name[0] ? name : "gpu0", ret_base, reterr);
	if (strcmp(first->section, CONFIG_FLAVOR_SECTION) == 0)
		return enter_flavor(l, name, ret_base, reterr);
	*ret_base = l->config;
	return 0;
}

int config_load(struct config *config, const char *path, struct err *reterr)
{
	CLEANUP_FREE struct config *copy = malloc(sizeof(*copy));
	struct loader l = {.config = copy};
	const struct inifile_reader reader = {
		.at = config_key_at, .userdata = &l, .enter = enter_section};
	int r;

	if (!copy)
		return err_fail(reterr, ENOMEM, "%s: out of memory", path);
	*copy = *config;
	r = inifile_read(path, FILE_BYTES_MAX, &reader, reterr);
	if (r < 0)
		return r;
	*config = *copy;
	return 0;
}
