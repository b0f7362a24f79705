/* SPDX-License-Identifier: MIT */
/* What config-load.c and config-check.c need of the table of keys, beyond config_key_at(). For
 * nobody else. */
#ifndef GOVER_D_CONFIG_TABLE_H
#define GOVER_D_CONFIG_TABLE_H

#include "gover-d/config/config.h"

/* setting.section of a GPU's keys, and of a flavour's */
#define CONFIG_GPU_SECTION    "gpu NAME"
#define CONFIG_FLAVOR_SECTION "flavor NAME"

/* [gpu @name] before anything is said of it; @name is a valid id. */
void config_table_default_gpu(struct gpu_section *gpu, const char *name);
/* The same of [flavor @name]. */
void config_table_default_flavor(struct flavor *flavor, const char *name);

/* A value that came another way than through the table (the command line) must fit it too. */
int config_table_check(const struct config *config, struct err *reterr);

/* GPU seconds in one period: a host has one clock, which config_check() sees to. */
double config_table_period_s(const struct config *config);

/* Who watches files being read. */
struct config_watch {
	void *userdata;
	void (*file)(void *userdata, const char *file);
	/* As in struct inifile_reader; @title is what stands between the brackets, "" before the
	 * first. @key: of the setting. */
	void (*fault)(void *userdata, const char *file, int line, const char *title,
		      const char *why);
	void (*seen)(void *userdata, const char *file, int line, const char *title,
		     const char *key);
};

/* config_load(), watched: goes on after faults. -EINVAL: there were some. */
int config_load_watched(struct config *config, const char *path, const struct config_watch *watch,
			struct err *reterr);

/* config_check(), which ends with the first fault, told of each check that finds one. */
void config_check_all(const struct config *config, void (*tell)(void *userdata, const char *text),
		      void *userdata);

#endif
