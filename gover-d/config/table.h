/* SPDX-License-Identifier: MIT */
/*
 * Interface between the files of this folder: section names, defaults, and functions that report
 * each fault to a callback.
 */
#ifndef GOVER_D_CONFIG_TABLE_H
#define GOVER_D_CONFIG_TABLE_H

#include <stdbool.h>

#include "gover-d/config/config.h"

/* Values of setting.section for sections whose title contains a name, such as [gpu NAME]. */
#define CONFIG_GPU_SECTION    "gpu NAME"
#define CONFIG_FLAVOR_SECTION "flavor NAME"
#define CONFIG_CLIENT_SECTION "client NAME"
#define CONFIG_TITLE_MAX      (sizeof("flavor ") + ID_MAX) /* size of the title of a section */
#define CONFIG_SECTIONS_MAX   64			   /* limit of the sections of one kind */

/* A kind of section whose title contains a name. struct config has an array for each kind. */
struct config_kind {
	const char *section;	  /* value of setting.section */
	const char *word;	  /* first word of the title: "gpu" */
	const char *noun;	  /* for messages: "a GPU" */
	const char *default_name; /* name of a section without a name; NULL: a name is required */
	size_t list_at;		  /* offset of the array in struct config */
	size_t n_at;		  /* offset of the number of sections in struct config */
	size_t size;		  /* size of one section */
	size_t name_at;		  /* offset of the name in a section */
	int max;		  /* limit of sections */
	/* sets the name and the defaults of a section; @name must be a valid id */
	void (*set_default)(void *section, const char *name);
};

enum { CONFIG_KIND_GPU, CONFIG_KIND_FLAVOR, CONFIG_KIND_CLIENT, CONFIG_KINDS };
extern const struct config_kind config_kinds[CONFIG_KINDS];

/* Returns the kind of section that contains @key; NULL: a section without a name. */
const struct config_kind *config_kind_find(const struct setting *key);

/* Get and set the number of sections of a kind. */
int config_kind_count(const struct config_kind *kind, const struct config *config);
void config_kind_set_count(const struct config_kind *kind, struct config *config, int n);

/* Return section @index and its name; @index is below CONFIG_SECTIONS_MAX. */
const void *config_kind_at(const struct config_kind *kind, const struct config *config, int index);
const char *config_kind_name(const struct config_kind *kind, const struct config *config,
			     int index);

/* Checks every value against the table. Values from the command line need this check, too. */
int config_table_check(const struct config *config, struct err *reterr);

/* Returns the length of a period in seconds of GPU time: period_ms multiplied by speed. */
double config_table_period_s(const struct config *config);

/* Does the same as config_check(), but calls @fault for every check that fails. */
void config_check_all(const struct config *config, void (*fault)(void *userdata, const char *text),
		      void *userdata);

/* Returns true if @url has the scheme http or https and a host. */
bool config_is_url(const char *url);

#endif
