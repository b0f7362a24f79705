/* SPDX-License-Identifier: MIT */
/* One-line descriptions of replies: vGPUs and decisions. */
#ifndef GOVER_CTL_VERB_DESCRIBE_H
#define GOVER_CTL_VERB_DESCRIBE_H

#include <stddef.h>
#include <jansson.h>

#define DESCRIBE_MAX 1024

/*
 * Returns a description of a vGPU: "web1 (vm db-7) on gpu0: cap 34 % of 50 % sold, 97 % of it used,
 * 52.1 of 60 fps, overloaded".
 */
void describe_vgpu(const json_t *vgpu, char text[DESCRIBE_MAX]);

/* Returns the states of a vGPU that need attention: "overloaded, held"; "" if there are none. */
void describe_notes(const json_t *vgpu, char text[DESCRIBE_MAX]);

/* Returns the changes of caps: "web1 34 -> 38 %, db2 50 -> 46 %"; "" if there are none. */
void describe_moves(const json_t *decision, char text[DESCRIBE_MAX]);

/* Returns the inputs of a decision: "u_pct 97.3, unused_pct 20"; "" if there are none. */
void describe_numbers(const json_t *decision, char text[DESCRIBE_MAX]);

/* Returns a time without its fraction: "2026-11-20T18:49:56Z". */
void describe_time(const char *time, char text[DESCRIBE_MAX]);

#endif
