/* SPDX-License-Identifier: MIT */
/*
 * Redaction of a bug report. Secrets are removed. Names (of VMs, vGPUs, GPUs, flavors, tokens,
 * labels, files and this host) and network addresses are replaced by pseudonyms. Equal names have
 * equal pseudonyms in the whole archive.
 *
 * Names are learned from members of JSON documents. Free text is then searched for the learned
 * names. A word that is only possibly a name is redacted, too.
 */
#ifndef GOVER_CTL_SUPPORT_REDACT_H
#define GOVER_CTL_SUPPORT_REDACT_H

#include <stdbool.h>
#include <jansson.h>

struct redact;

enum redact_kind {
	REDACT_VM,
	REDACT_VGPU,
	REDACT_GPU,
	REDACT_FLAVOR,
	REDACT_TOKEN,  /* the name of a token */
	REDACT_CLIENT, /* the name or the subject of a client certificate */
	REDACT_LABEL,  /* the key of a label */
	REDACT_VALUE,  /* the value of a label */
	REDACT_HOST,
	REDACT_PATH,
	REDACT_ADDRESS,
	REDACT_KINDS
};

/* Returns the first part of the pseudonyms of this kind: "vm" for vm-1, vm-2, ... */
const char *redact_kind_name(enum redact_kind kind);

/*
 * @names: true: replace names and addresses, and remove secrets; false: only remove secrets.
 * Returns NULL if out of memory.
 */
struct redact *redact_new(bool names);
struct redact *redact_free(struct redact *redact); /* accepts NULL; returns NULL */

/*
 * Learn @name, or all names in a JSON document. Learn all names before the first text is redacted.
 * Return 0 or -ENOMEM.
 */
int redact_learn(struct redact *redact, enum redact_kind kind, const char *name);
int redact_learn_json(struct redact *redact, json_t *json);

/* Returns the number of names of a kind that have a pseudonym. */
int redact_count(const struct redact *redact, enum redact_kind kind);

/*
 * Returns the redacted text, which the caller frees, or NULL if out of memory. Network addresses
 * need not be learned before: an address gets its pseudonym when it first occurs.
 */
char *redact_text(struct redact *redact, const char *text);
json_t *redact_json(struct redact *redact, json_t *json);

#endif
