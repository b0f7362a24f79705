/* SPDX-License-Identifier: MIT */
/* The terms of a contract as the command line says them, put into a request. */
#ifndef GOVER_CTL_VERB_CONTRACT_ARGS_H
#define GOVER_CTL_VERB_CONTRACT_ARGS_H

#include <jansson.h>

#include "gover-ctl/args.h"

/* An object of those terms that were given, without labels. NULL: out of memory. */
json_t *contract_args_make_body(const struct args *args);

/* Puts the labels given over @labels; "KEY=" takes KEY away. Returns 0, or -ENOMEM. */
int contract_args_merge_labels(const struct args *args, json_t *labels);

/*
 * What the terms given say otherwise than an existing @vgpu, in words: "initial_cap_pct is 50,
 * --cap says 40". Returns how many differ.
 */
int contract_args_list_differences(const struct args *args, const json_t *vgpu, char *text,
				   size_t size);

#endif
