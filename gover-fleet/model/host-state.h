/* SPDX-License-Identifier: MIT */
/*
 * The state of gover-d, as GET /v1/host and GET /v1/policy answered at one time. Unknown members of
 * the answers are ignored, so that a newer gover-d can be read. A state does not change after it
 * was parsed, and is shared between threads by its reference count.
 */
#ifndef GOVER_FLEET_MODEL_HOST_STATE_H
#define GOVER_FLEET_MODEL_HOST_STATE_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"

/* Contracts with the label HOST_STATE_LABEL = HOST_STATE_BY_FLEET are made by gover-fleet. */
#define HOST_STATE_LABEL	"fleet"
#define HOST_STATE_BY_FLEET	"libvirt"
#define HOST_STATE_LABEL_DOMAIN "domain"     /* UUID of the domain */
#define HOST_STATE_LABEL_DOUBT	"unverified" /* present: no allocation was seen in the cloud */
#define HOST_STATE_LABEL_MOVED	"migrated"   /* present: a migration brought the domain here */

#define HOST_STATE_SMALLER_MAX 15  /* flavours of an offer besides the leading one */
#define HOST_STATE_UUID_MAX    37  /* size of a UUID with its NUL */
#define HOST_STATE_NAME_MAX    128 /* size of the name of a virtual machine with its NUL */

struct state_gpu {
	char name[ID_MAX];
	bool selling;
};

struct state_vgpu {
	char id[ID_MAX], gpu[ID_MAX];
	char flavor[ID_MAX]; /* "": unknown */
	char vm[HOST_STATE_NAME_MAX];
	char domain[HOST_STATE_UUID_MAX]; /* label "domain"; "": none */
	bool sold;			  /* has a contract that gover-fleet made */
	bool unverified;		  /* label "unverified" is present */
	bool migrated;			  /* label "migrated" is present */
	bool held;			  /* an operator or another program has fixed its cap */
	bool broken;			  /* the promise is broken in this period */
	bool overloaded;		  /* in this period */
	int initial_cap_pct;		  /* the sold cap */
	int min_cap_pct;		  /* floor of the contract; 0: none */
	int64_t created_ms; /* time since 1970 at which the contract was made; 0: unknown */
};

struct state_offer {
	int64_t id;
	char gpu[ID_MAX];
	char flavor[ID_MAX]; /* leads the offer; of an older gover-d: the flavour of [offer] */
	/* The offer sells one vGPU, of the leading flavour or of one of these. */
	char smaller[HOST_STATE_SMALLER_MAX][ID_MAX];
	size_t n_smaller;
	bool open;
	bool failed;			   /* was sold, and failed its probation */
	char vgpu[ID_MAX];		   /* "": not sold */
	char held_by[HOST_STATE_NAME_MAX]; /* holder until held_until; "": no hold */
	int64_t expires_ms;		   /* time of expiry since 1970; 0: unknown */
};

struct state_alert {
	char name[ID_MAX], cause[ID_MAX];
	char gpu[ID_MAX], vgpu[ID_MAX]; /* "": none */
	bool silenced;
};

struct host_state {
	atomic_int references;
	int64_t time_ms; /* clock of gover-d at the time of the answer, since 1970 */
	char policy[32];
	char flavor[ID_MAX]; /* flavour of [offer] */
	int offer_ttl_s;     /* life of an offer */
	struct state_gpu *gpus;
	struct state_vgpu *vgpus;
	struct state_offer *offers;
	struct state_alert *alerts; /* the active ones */
	size_t n_gpus, n_vgpus, n_offers, n_alerts;
};

/*
 * Parses the answers of GET /v1/host and GET /v1/policy. The caller gets one reference. Returns
 * 0, or -EPROTO with a message that names the member.
 */
int host_state_parse(const json_t *host, const json_t *policy, struct host_state **ret_state,
		     struct err *reterr);
struct host_state *host_state_ref(struct host_state *state);   /* accepts NULL; returns @state */
struct host_state *host_state_unref(struct host_state *state); /* accepts NULL; returns NULL */

/* Parses an element of the list "vgpus", or of the list "offers". Errors as above. */
int host_state_parse_vgpu(const json_t *object, struct state_vgpu *ret_vgpu, struct err *reterr);
int host_state_parse_offer(const json_t *object, struct state_offer *ret_offer, struct err *reterr);

/* Returns a flavour of the offer, the leading one at @index 0; NULL past the last one. */
const char *host_state_offer_flavor(const struct state_offer *offer, size_t index);

const struct state_vgpu *host_state_find_vgpu(const struct host_state *state, const char *id);

/* Returns the sold vGPU of the domain with this UUID, or NULL. */
const struct state_vgpu *host_state_find_sold(const struct host_state *state, const char *domain);

/* Returns the UUID of the domain of a sold vGPU: its label, or its id if it has no such label. */
const char *host_state_domain(const struct state_vgpu *vgpu);

#endif
