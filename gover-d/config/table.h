/* SPDX-License-Identifier: MIT */
/*
 * Interface between the files of this folder: section names, defaults, and functions that report
 * each fault to a callback.
 */
#ifndef GOVER_D_CONFIG_TABLE_H
#define GOVER_D_CONFIG_TABLE_H

#include "gover-d/config/config.h"

/* Values of setting.section for sections whose title contains a name, such as [gpu NAME]. */
#define CONFIG_GPU_SECTION    "gpu NAME"
#define CONFIG_FLAVOR_SECTION "flavor NAME"

/* Sets the defaults of [gpu @name]; @name must be a valid id. */
void config_table_default_gpu(struct gpu_section *gpu, const char *name);
/* Sets the defaults of [flavor @name]. */
void config_table_default_flavor(struct flavor *flavor, const char *name);

/* Checks every value against the table. Values from the command line need this check, too. */
int config_table_check(const struct config *config, struct err *reterr);

/* Returns the length of a period in seconds of GPU time: period_ms multiplied by speed. */
double config_table_period_s(const struct config *config);

/* Callbacks of config_load_watched(). */
struct config_watch {
	void *userdata;
	void (*file)(void *userdata, const char *file);
	/*
	 * fault() is called for each fault, seen() for each key. @title is the title of the section
	 * without brackets; "": before the first section.
	 */
	void (*fault)(void *userdata, const char *file, int line, const char *title,
		      const char *why);
	void (*seen)(void *userdata, const char *file, int line, const char *title,
		     const char *key);
};

/*
 * Does the same as config_load(), but continues after a fault. -EINVAL: at least one fault was
 * found.
 */
int config_load_watched(struct config *config, const char *path, const struct config_watch *watch,
			struct err *reterr);

/* Does the same as config_check(), but calls @fault for every check that fails. */
void config_check_all(const struct config *config, void (*fault)(void *userdata, const char *text),
		      void *userdata);

#endif
