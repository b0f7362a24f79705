/* SPDX-License-Identifier: MIT */
/*
 * The configuration: its values, and functions to load, check, print and change the values. All
 * these functions use one table of keys (table.c), and a test compares the manual page with it.
 */
#ifndef GOVER_D_CONFIG_CONFIG_H
#define GOVER_D_CONFIG_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/setting.h"
#include "db/db.h"
#include "gover-d/model/host.h"
#include "policy/policy.h"

#define CONFIG_PATH_DEFAULT "/etc/gover/gover.conf"

#define FLAVORS_MAX 32

/* [flavor NAME]: a flavour that contracts can have instead of the flavour of [offer]. */
struct flavor {
	char name[ID_MAX];
	int cap_pct;		     /* 50 */
	double target_fps;	     /* 0 */
	double price_per_cap_hour;   /* 1; price of the whole GPU for an hour */
	double penalty_per_broken_s; /* 0.01 */
};

/* [offer] */
struct offer_config {
	char flavor[ID_MAX];	     /* "default"; name of the flavour */
	int flavor_cap_pct;	     /* 50 */
	double flavor_target_fps;    /* 0 */
	double price_per_cap_hour;   /* 1 */
	double penalty_per_broken_s; /* 0.01 */
	int max_vgpus;		     /* 16; limit of vGPUs on one GPU */
	int ttl_s;		     /* 60; lifetime of an offer */
	int probation_s;	     /* 30 */
	/* 10; the sale fails if a larger share of the time is broken */
	double probation_broken_pct;
};

struct gpu_section {
	/* The name of the GPU is "gpu0" if the section [gpu] has no name. */
	struct gpu_config gpu;
	char intel_gpu_top[GPU_ROOT_MAX]; /* "auto", "off" or a path */
	char fps_source[16];		  /* "preload" or "bpf" */
};

/* The comment on a member begins with its default. */
struct config {
	/* [daemon] */
	char socket[PATH_MAX];	  /* /run/gover/gover.sock */
	char listen[128];	  /* ""; ADDR:PORT of TCP; "" = no TCP */
	char state_dir[PATH_MAX]; /* /var/lib/gover */
	int period_ms; /* 1000; 100..10000, or 1..10000 if every GPU is a sim with speed > 1 */
	char on_migrate[PATH_MAX]; /* ""; path of the hook program; "" = none */
	char on_alert[PATH_MAX], on_offer[PATH_MAX];
	int hook_timeout_s; /* 300; a hook that runs longer is killed */
	char tls_certificate[PATH_MAX], tls_key[PATH_MAX]; /* PEM files; "" = no TLS */
	/* [access] */
	char operate_group[64], read_group[64]; /* "gover", "gover-read"; "" = none */
	char anonymous[16];			/* "off" or "read" */
	int requests_per_s;			/* limit for one address over TCP; 0 = no limit */
	/* [alerts] */
	char webhook[PATH_MAX]; /* URL; "" = none */
	int webhook_timeout_s;	/* 10 */
	/* 300; minimum time between two updates of an alert; 0 = no updates */
	int update_s;
	/* [gpu NAME] */
	struct gpu_section gpus[GPUS_MAX];
	int n_gpus;
	/* [policy] */
	char policy[32];	     /* "gover"; name of the policy */
	struct policy_params params; /* without fund_window_periods: use config_policy_params() */
	int fund_window_s;
	/* [offer] */
	struct offer_config offer;
	/* [flavor NAME] */
	struct flavor flavors[FLAVORS_MAX];
	int n_flavors;
	/* [fps] */
	char fps_socket[PATH_MAX];
	int fps_vsock_port;	  /* 0: none */
	char fps_ports[PATH_MAX]; /* folder; "": none */
	/* [history] */
	struct db_retention retention;
};

void config_default(struct config *config);

/*
 * Reads @path and then its drop-ins, every PATH.d/NAME.conf in the order of their names. Each file
 * replaces the values that it contains; other values of @config do not change. A section may appear
 * once in each file. If @path is NULL, reads CONFIG_PATH_DEFAULT, if it exists, and its drop-ins.
 * Fails with -EINVAL and "FILE:LINE: message", or with a negative errno and "FILE: cannot be read:
 * ..."; @config is then unchanged.
 */
int config_load(struct config *config, const char *path, struct err *reterr);

/* Callbacks of config_find_faults(). */
struct config_faults {
	void *userdata;
	/* Called before a file is read; may be NULL. */
	void (*file)(void *userdata, const char *file);
	/* @line is 0 and @file NULL if the fault has no single line or file. */
	void (*fault)(void *userdata, const char *file, int line, const char *text);
};

/*
 * Reads as config_load() and checks as config_check(), but reports all faults of all files; for a
 * rule about several keys, only the first fault. Returns the number of faults, or -ENOMEM.
 */
int config_find_faults(const char *path, const struct config_faults *faults);

/*
 * Checks the rules that concern more than one key, such as period and backend, or duplicate names.
 * Call it after every load and every change by the command line. -EINVAL: a rule is violated.
 */
int config_check(const struct config *config, struct err *reterr);

/* Prints the configuration in the syntax of config_load(). */
void config_print(const struct config *config, FILE *out);

/*
 * Returns the parameters of the policy, with fund_window_periods computed from fund_window_s and
 * the period, and with the prices of [offer].
 */
struct policy_params config_policy_params(const struct config *config);

/*
 * Sets one key of [policy] or [offer] from text, with the same checks as for a file. -ENOENT: no
 * such key; -EINVAL: the value is not allowed.
 */
int config_set_live(struct config *config, const char *key, const char *value, struct err *reterr);
/* Writes the value of a key of [policy] or [offer] as in a file. -ENOENT: no such key. */
int config_get_live(const struct config *config, const char *key, char *ret_text, size_t size);

/* Returns the key at @index of the table; NULL past the end. */
const struct setting *config_key_at(size_t index);

#endif
