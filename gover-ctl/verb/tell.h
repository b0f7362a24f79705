/* SPDX-License-Identifier: MIT */
/* The daemon's answers told in sentences: what a vGPU does now, what was decided and why. */
#ifndef GOVER_CTL_VERB_TELL_H
#define GOVER_CTL_VERB_TELL_H

#include <stddef.h>
#include <jansson.h>

#define TELL_MAX 1024

/* "web1 (vm db-7) on gpu0: cap 34 % of 50 % sold, used 97 % of it, 52.1 of 60 fps, overloaded". */
void tell_vgpu(const json_t *vgpu, char text[TELL_MAX]);

/* What is to be noted about a vGPU, in single words: "overloaded, held". "": nothing. */
void tell_notes(const json_t *vgpu, char text[TELL_MAX]);

/* "web1 34 -> 38 %, db2 50 -> 46 %". "": nothing moved. */
void tell_moves(const json_t *decision, char text[TELL_MAX]);

/* "u_pct 97.3, unused_pct 20". "": none. */
void tell_numbers(const json_t *decision, char text[TELL_MAX]);

/* "2026-11-20T18:49:56Z" out of a time with its fraction. */
void tell_time(const char *time, char text[TELL_MAX]);

#endif
