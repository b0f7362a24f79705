/* SPDX-License-Identifier: MIT */
/*
 * Takes out of texts and answers what is nobody's business: secrets are removed, names of VMs,
 * vGPUs, labels and of this host become pseudonyms, the same for the same name wherever it stands.
 * Pure; must never let a secret through because names are left as they are.
 */
#ifndef GOVER_CTL_SUPPORT_REDACT_H
#define GOVER_CTL_SUPPORT_REDACT_H

#include <stdbool.h>
#include <jansson.h>

struct redact;

enum redact_kind {
	REDACT_VM,    /* vm-1 */
	REDACT_VGPU,  /* vgpu-1 */
	REDACT_LABEL, /* label-1: the key of a label */
	REDACT_VALUE, /* value-1 */
	REDACT_HOST,  /* host-1 */
	REDACT_KINDS
};

/* @names: names become pseudonyms; else secrets alone are taken out. NULL: out of memory. */
struct redact *redact_new(bool names);
struct redact *redact_free(struct redact *redact); /* NULL is fine; returns NULL */

/* Remembers a name. What is learnt after a text was redacted is no help to that text. 0 or -ENOMEM.
 */
int redact_learn(struct redact *redact, enum redact_kind kind, const char *name);
/* The same of all VMs, vGPUs and labels in an answer of the daemon. */
int redact_learn_json(struct redact *redact, json_t *json);

/* The same of a text: what stands behind the words vGPU and VM, as in the daemon's log. */
int redact_learn_text(struct redact *redact, const char *text);

/* How many names of a kind have a pseudonym. */
int redact_count(const struct redact *redact, enum redact_kind kind);

/* The caller frees it; NULL: out of memory. A name of one or two letters, or of digits alone, is a
 * name only in quotes, behind '=', or behind the words vGPU and VM. */
char *redact_text(const struct redact *redact, const char *text);
json_t *redact_json(const struct redact *redact, json_t *json);

#endif
