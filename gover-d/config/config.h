/* SPDX-License-Identifier: MIT */
/*
 * The values of the configuration, and functions to load, check, print and change the values. All
 * these functions use the table of keys in table.c. A test compares gover.conf(5) with that table.
 */
#ifndef GOVER_D_CONFIG_CONFIG_H
#define GOVER_D_CONFIG_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/config/setting.h"
#include "base/err.h"
#include "base/gpu/config.h"
#include "base/id.h"
#include "db/db.h"
#include "gover-d/config/config-path.h"
#include "policy/policy.h"
#include "policy/promise/promise.h"

#define FLAVORS_MAX	   32
#define CLIENTS_MAX	   32
#define CLIENT_SUBJECT_MAX 161		      /* size of the subject of a client certificate */
#define OFFERED_MAX	   POLICY_FLAVORS_MAX /* largest number of flavours that one offer lists */

/*
 * A price or penalty that the operator has not set. Decisions then use the defaults of struct
 * policy_params, and the ledger counts no money.
 */
#define PRICE_UNSET (-1.0)

/* Section [flavor NAME]: a flavour that contracts can have instead of the flavour of [offer]. */
struct flavor {
	char name[ID_MAX];
	int cap_pct; /* initial cap of a contract; default 50 */
	/* target of a contract on a GPU that counts frames or units of work; 0: default 0 */
	double target_fps, target_rate;
	double price_per_cap_hour;   /* price of the whole GPU per hour */
	double penalty_per_broken_s; /* penalty per second of broken time */
	bool offered; /* an offer may list it; default off. The flavour of [offer] always may */
};

/* Section [offer]. */
struct offer_config {
	char flavor[ID_MAX]; /* name of the flavour; default "default" */
	int flavor_cap_pct;  /* initial cap of the flavour; default 50 */
	/* targets of the flavour, as in struct flavor; default 0 */
	double flavor_target_fps, flavor_target_rate;
	double price_per_cap_hour;   /* price of the whole GPU per hour */
	double penalty_per_broken_s; /* penalty per second of broken time */
	double price_per_move;	     /* cost of the migration of one vGPU */
	int max_vgpus;		     /* limit of vGPUs on one GPU; default 16 */
	int ttl_s;		     /* lifetime of an offer; default 60 */
	int probation_s;	     /* length of the probation; default 30 */
	/* a sale fails if the broken time during its probation is above this; default 10 */
	double probation_broken_pct;
};

/* Section [gpu NAME]. */
struct gpu_section {
	struct gpu_config gpu; /* a GPU; its name is "gpu0" if the section has no name */
	/* path of intel_gpu_top, "auto" or "off"; default "auto" */
	char intel_gpu_top[GPU_ROOT_MAX];
	char fps_source[16]; /* source of frame counts: "preload" or "bpf"; default "preload" */
};

/* Section [client NAME]: a client that a certificate identifies. */
struct client_section {
	char name[ID_MAX];
	/* subject of its certificate, as a distinguished name (RFC 4514); "": not set, a fault */
	char subject[CLIENT_SUBJECT_MAX];
	char scope[16]; /* its rights: "read", "operate" or "admin"; default "read" */
};

/* All values of the configuration. gover.conf(5) describes each key. */
struct config {
	int64_t read_ms; /* wall time when the reading of the files began */
	/* [daemon] */
	char socket[PATH_MAX];	  /* unix socket of REST; default /run/gover/gover.sock */
	char listen[128];	  /* ADDR:PORT of REST over TCP; "": no TCP; default "" */
	char state_dir[PATH_MAX]; /* directory for state; default /var/lib/gover */
	int period_ms; /* control period; below 100 only if all GPUs have speed > 1; default 1000 */
	/* paths of hook programs; "": no program; default "" */
	char on_migrate[PATH_MAX], on_alert[PATH_MAX], on_offer[PATH_MAX];
	int hook_timeout_s; /* time after which a running hook program is killed; default 300 */
	/* paths of PEM files; "": no TLS; default "" */
	char tls_certificate[PATH_MAX], tls_key[PATH_MAX];
	/* PEM file with the CAs of client certificates; "": no client certificates; default "" */
	char tls_client_ca[PATH_MAX];
	/* [access] */
	/* names or numbers of groups; "": no group; default "gover" and "gover-read" */
	char operate_group[64], read_group[64];
	char anonymous[16]; /* rights without a token: "off" or "read"; default "off" */
	int requests_per_s; /* limit for each token, client or address; 0: no limit; default 1000 */
	/* [alerts] */
	char webhook[PATH_MAX]; /* URL; "": no webhook; default "" */
	int webhook_timeout_s;	/* time after which a post has failed; default 10 */
	int update_s; /* minimum time between updates of one alert; 0: none; default 300 */
	/* lowest severity that the webhook and on_alert get; default "warning" */
	char notify[16];
	char runbook_url[PATH_MAX]; /* prefix of the address of each alert's runbook */
	struct promise_limits promise;
	/* [gpu NAME] */
	struct gpu_section gpus[GPUS_MAX];
	int n_gpus;
	/* [policy] */
	char policy[32]; /* name of the policy; default "gover" */
	/* config_policy_params() adds the prices and fund_window_periods */
	struct policy_params params;
	int fund_window_s;
	/* [offer] */
	struct offer_config offer;
	/* [flavor NAME] */
	struct flavor flavors[FLAVORS_MAX];
	int n_flavors;
	/* [client NAME] */
	struct client_section clients[CLIENTS_MAX];
	int n_clients;
	/* [fps] */
	char fps_socket[PATH_MAX]; /* unix socket for frame reports */
	int fps_vsock_port;	   /* vsock port for frame reports; 0: no vsock; default 0 */
	char fps_ports[PATH_MAX];  /* directory with sockets of guests; "": none; default "" */
	/* [history] */
	struct db_retention retention;
	int query_limit_s; /* time limit of a query of the history */
};

void config_default(struct config *config);

/*
 * Reads the file @path and then its drop-ins: every PATH.d/NAME.conf, in the order of their names.
 * Each file replaces the values that it contains; other values of @config do not change. A section
 * may appear once in each file. If @path is NULL, reads CONFIG_PATH_DEFAULT, if that file exists,
 * and the drop-ins of CONFIG_PATH_DEFAULT. Returns -EINVAL with "FILE:LINE: message", or another
 * negative errno with "FILE: cannot be read: ..."; @config is then unchanged.
 */
int config_load(struct config *config, const char *path, struct err *reterr);

/* Callbacks of config_find_faults(). */
struct config_faults {
	void *userdata;
	/* Called before a file is read; may be NULL. */
	void (*file)(void *userdata, const char *file);
	/*
	 * Called for each fault. @line is 0 if the fault is not in a single line; @file is NULL if
	 * the fault is not in a single file.
	 */
	void (*fault)(void *userdata, const char *file, int line, const char *text);
};

/*
 * Does the same as config_load() and config_check(), but reports the faults of all files. Each rule
 * about several keys reports only its first fault. Returns the number of faults.
 */
int config_find_faults(const char *path, const struct config_faults *faults);

/*
 * Checks the rules that concern several keys, such as a short period with a real GPU, or duplicate
 * names. Must be called after every load and every change by the command line. -EINVAL: a rule is
 * violated.
 */
int config_check(const struct config *config, struct err *reterr);

/* Prints the configuration in the syntax of config_load(). */
void config_print(const struct config *config, FILE *out);

/*
 * Returns the parameters of the policy with all members set: fund_window_periods is computed from
 * fund_window_s and the period, and the prices come from [offer], if they are set.
 */
struct policy_params config_policy_params(const struct config *config);

/*
 * Sets one key of [policy] or [offer] from text, with the same checks as for a file. -ENOENT:
 * unknown key; -EINVAL: the value is not allowed.
 */
int config_set_live(struct config *config, const char *key, const char *value, struct err *reterr);
/*
 * Writes the value of a key of [policy] or [offer] in the syntax of a file. -ENOENT: unknown key.
 */
int config_get_live(const struct config *config, const char *key, char *ret_text, size_t size);

/*
 * Calls @differs for each key that cannot change while gover-d runs and whose value differs.
 * @section: its title, such as "gpu gpu0". @key "": only one of the configurations has the section.
 */
void config_compare(const struct config *from, const struct config *to,
		    void (*differs)(void *userdata, const char *section, const char *key),
		    void *userdata);

/* Returns true if @url has the scheme http or https and a host. */
bool config_is_url(const char *url);

/* Returns the key at @index of the table; NULL past the end. */
const struct setting *config_key_at(size_t index);

#endif
