/* SPDX-License-Identifier: MIT */
/* The daemon's answers told in sentences: what a vGPU does now, what was decided and why. */
#ifndef GOVER_CTL_VERB_DESCRIBE_H
#define GOVER_CTL_VERB_DESCRIBE_H

#include <stddef.h>
#include <jansson.h>

#define DESCRIBE_MAX 1024

/* "web1 (vm db-7) on gpu0: cap 34 % of 50 % sold, used 97 % of it, 52.1 of 60 fps, overloaded". */
void describe_vgpu(const json_t *vgpu, char text[DESCRIBE_MAX]);

/* What is to be noted about a vGPU, in single words: "overloaded, held". "": nothing. */
void describe_notes(const json_t *vgpu, char text[DESCRIBE_MAX]);

/* "web1 34 -> 38 %, db2 50 -> 46 %". "": nothing moved. */
void describe_moves(const json_t *decision, char text[DESCRIBE_MAX]);

/* "u_pct 97.3, unused_pct 20". "": none. */
void describe_numbers(const json_t *decision, char text[DESCRIBE_MAX]);

/* "2026-11-20T18:49:56Z" out of a time with its fraction. */
void describe_time(const char *time, char text[DESCRIBE_MAX]);

#endif
