/* SPDX-License-Identifier: MIT */
/* What config-load.c needs of the table of keys, beyond config_key_at(). For nobody else. */
#ifndef GOVER_D_CONFIG_TABLE_H
#define GOVER_D_CONFIG_TABLE_H

#include "gover-d/config.h"

#define CONFIG_GPU_SECTION "gpu NAME" /* setting.section of a GPU's keys */

/* [gpu @name] before anything is said of it; @name is a valid id. */
void config_table_default_gpu(struct gpu_section *gpu, const char *name);

#endif
