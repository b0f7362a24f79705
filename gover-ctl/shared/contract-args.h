/* SPDX-License-Identifier: MIT */
/* Converts contract options to fields of a request, and compares them with a vGPU. */
#ifndef GOVER_CTL_SHARED_CONTRACT_ARGS_H
#define GOVER_CTL_SHARED_CONTRACT_ARGS_H

#include <jansson.h>

#include "gover-ctl/shared/args.h"

/* Returns an object with the fields given as options, except labels. */
json_t *contract_args_make_body(const struct args *args);

/* Returns the body of a request that creates the vGPU @id. */
json_t *contract_args_make_vgpu(const struct args *args, const char *id);

/* Applies the label options to @labels; "KEY=" removes KEY. */
void contract_args_merge_labels(const struct args *args, json_t *labels);

/*
 * Lists the options that differ from an existing @vgpu: "initial_cap_pct is 50, not 40 (--cap)".
 * Returns the number of such options.
 */
int contract_args_list_differences(const struct args *args, const json_t *vgpu, char *text,
				   size_t size);

#endif
