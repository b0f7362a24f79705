/* SPDX-License-Identifier: MIT */
/*
 * What the daemon knows as JSON, one function for each kind of thing; the REST answers are made of
 * them. Each returns a new document, or NULL without memory. What is not valid now is null.
 */
#ifndef GOVER_D_API_JSON_ENCODE_H
#define GOVER_D_API_JSON_ENCODE_H

#include <jansson.h>
#include <stdbool.h>

#include "gover-d/core/control.h"

json_t *json_encode_host(struct manager *manager, struct instant now);
json_t *json_encode_gpu(const struct manager *manager, const struct host_gpu *gpu,
			struct instant now);
json_t *json_encode_vgpu(const struct manager *manager, const struct host_gpu *gpu,
			 const struct vgpu *vgpu);
json_t *json_encode_alert(const struct alert *alert);
json_t *json_encode_silence(const struct silence *silence);
json_t *json_encode_decision(const struct decision *decision);
json_t *json_encode_offer(const struct offer *offer, struct instant now);

/* Lists; @all: also what is over. @gpu NULL: of every GPU. */
json_t *json_encode_gpus(const struct manager *manager, struct instant now);
json_t *json_encode_vgpus(const struct manager *manager, const struct host_gpu *gpu);
json_t *json_encode_alerts(const struct manager *manager, bool all);
json_t *json_encode_offers(const struct manager *manager, bool all, struct instant now);

/* Values. */
json_t *json_encode_number(double value);   /* three decimals; null where not finite */
json_t *json_encode_time(int64_t wall_ms);  /* RFC 3339; null for 0 */
json_t *json_encode_text(const char *text); /* any bytes; what is not UTF-8 becomes '?' */
json_t *json_encode_name(const char *name); /* null for "" */

/* An object under construction: members are added without looking, the end tells of failure. */
struct json_encode {
	json_t *object;
	bool failed;
};
struct json_encode json_encode_begin(void);
/* Takes over @value; NULL fails the whole. */
void json_encode_add(struct json_encode *encode, const char *key, json_t *value);
json_t *json_encode_end(struct json_encode *encode); /* NULL: no memory */

/* The text to send, from malloc; takes over the reference. NULL: no memory, or @document was NULL.
 */
char *json_encode_dump(json_t *document);

/* Appends to a list; without memory the list is released and *list is NULL, now and from then on.
 */
void json_encode_append(json_t **list, json_t *value);

#endif
