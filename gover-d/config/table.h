/* SPDX-License-Identifier: MIT */
/* Interface between the files of this folder, which all check the configuration. */
#ifndef GOVER_D_CONFIG_TABLE_H
#define GOVER_D_CONFIG_TABLE_H

#include "gover-d/config/config.h"

/* Checks every value against the table. Values from the command line need this check, too. */
int config_table_check(const struct config *config, struct err *reterr);

/* Returns the length of a period in seconds of GPU time: period_ms multiplied by speed. */
double config_table_period_s(const struct config *config);

/* Does the same as config_check(), but calls @fault for every check that fails. */
void config_check_all(const struct config *config, void (*fault)(void *userdata, const char *text),
		      void *userdata);

#endif
