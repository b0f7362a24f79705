/* SPDX-License-Identifier: MIT */
/* One-line descriptions of vGPUs and decisions. All functions write to @text. */
#ifndef GOVER_CTL_SHARED_DESCRIBE_H
#define GOVER_CTL_SHARED_DESCRIBE_H

#include <stddef.h>
#include <jansson.h>

#define DESCRIBE_MAX 1024

/*
 * Describes a vGPU: "web1 (vm db-7) on gpu0: cap 34 %, sold 50 %, 97 % of the cap used, 52.1 of 60
 * fps, overloaded".
 */
void describe_vgpu(const json_t *vgpu, char text[DESCRIBE_MAX]);

/* Lists the states of a vGPU that need attention: "overloaded, held"; "": no such state. */
void describe_notes(const json_t *vgpu, char text[DESCRIBE_MAX]);

/*
 * Writes the state of the promise: "kept", "broken", "unknown", "missing"; "": no contract.
 * Derives the state if an older daemon does not report it.
 */
void describe_promise(const json_t *vgpu, char text[DESCRIBE_MAX]);

/*
 * Lists the reasons for the state of the promise, and other states that need attention: "gpu
 * overcommitted, held"; "": none.
 */
void describe_reasons(const json_t *vgpu, char text[DESCRIBE_MAX]);

/* Lists the cap changes of a decision: "web1 34 -> 38 %, db2 50 -> 46 %"; "": no change. */
/* The flavours of an offer besides the leading one: "quarter 25 %, eighth 12 %"; "": none. */
void describe_smaller_flavors(const json_t *offer, char text[DESCRIBE_MAX]);
void describe_moves(const json_t *decision, char text[DESCRIBE_MAX]);

/* Lists the inputs of a decision: "u_pct 97.3, unused_pct 20"; "": no inputs. */
void describe_numbers(const json_t *decision, char text[DESCRIBE_MAX]);

#define DESCRIBE_PAUSED "paused"
/*
 * Returns whether a GPU sells vGPUs: "on", "off" or DESCRIBE_PAUSED, if selling is on and nothing
 * is sold now.
 */
const char *describe_selling(const json_t *gpu);

/* Formats a time without its fraction of a second: "2026-11-20T18:49:56Z". */
void describe_time(const char *time, char text[DESCRIBE_MAX]);

#endif
