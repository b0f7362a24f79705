/* SPDX-License-Identifier: MIT */
/*
 * The configuration: its values, and functions to load, check, print and change them. One table of
 * keys (config.c) is the base of all of them and of the manual page's test.
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

/* [flavor NAME]: a flavour that contracts can have besides that of [offer]. */
struct flavor {
	char name[ID_MAX];
	int cap_pct;		     /* 50 */
	double target_fps;	     /* 0 */
	double price_per_cap_hour;   /* of the whole GPU for an hour, 1 */
	double penalty_per_broken_s; /* 0.01 */
};

/* [offer] */
struct offer_config {
	char flavor[ID_MAX];	     /* its name, "default" */
	int flavor_cap_pct;	     /* 50 */
	double flavor_target_fps;    /* 0 */
	double price_per_cap_hour;   /* 1 */
	double penalty_per_broken_s; /* 0.01 */
	int max_vgpus;		     /* on one GPU, 16 */
	int ttl_s;		     /* 60: after this time an offer expires */
	int probation_s;	     /* 30 */
	double probation_broken_pct; /* 10: a larger share of broken time fails the sale */
};

struct gpu_section {
	struct gpu_config gpu;		  /* name "gpu0" for a bare [gpu] */
	char intel_gpu_top[GPU_ROOT_MAX]; /* auto, off, or a path */
	char fps_source[16];		  /* "preload" or "bpf" */
};

/* Comments contain the defaults. */
struct config {
	/* [daemon] */
	char socket[PATH_MAX];	  /* /run/gover/gover.sock */
	char listen[128];	  /* ADDR:PORT; "" = no TCP */
	char state_dir[PATH_MAX]; /* /var/lib/gover */
	int period_ms; /* 1000; 100..10000 (from 1 where every GPU is a sim with speed > 1) */
	char on_migrate[PATH_MAX]; /* hook programs; "" = none */
	char on_alert[PATH_MAX], on_offer[PATH_MAX];
	int hook_timeout_s; /* 300: a hook that runs longer is killed */
	char tls_certificate[PATH_MAX], tls_key[PATH_MAX]; /* PEM files; "" = no TLS */
	/* [access] */
	char operate_group[64], read_group[64]; /* "gover", "gover-read"; "" = none */
	char anonymous[16];			/* "off" or "read" */
	int requests_per_s;			/* of one address over TCP; 0 = no limit */
	/* [alerts] */
	char webhook[PATH_MAX]; /* URL; "" = none */
	int webhook_timeout_s;	/* 10 */
	int update_s;		/* 300: minimum time between two updates of an alert; 0: none */
	/* [gpu NAME] */
	struct gpu_section gpus[GPUS_MAX];
	int n_gpus;
	/* [policy] */
	char policy[32];	     /* name, "gover" */
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
 * replaces the values that it contains and leaves the others of @config; a section may appear once
 * in each file. @path NULL means CONFIG_PATH_DEFAULT, if it exists, and its drop-ins. Returns
 * -EINVAL with "FILE:LINE: message" or a negative errno with "FILE: cannot be read: ..."; @config
 * is unchanged then.
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

/* Reads as config_load() and checks as config_check(), but reports all faults of all files (for a
 * rule about several keys, the first one). Returns their number, or -ENOMEM. */
int config_find_faults(const char *path, const struct config_faults *faults);

/* Checks the rules about more than one key (such as period and backend, or duplicate names). Call
 * it after every load and every change by the command line. -EINVAL. */
int config_check(const struct config *config, struct err *reterr);

/* Prints the configuration in the syntax of config_load(). */
void config_print(const struct config *config, FILE *out);

/* The policy's parameters, with fund_window_periods computed from fund_window_s and the period, and
 * with the prices of [offer]. */
struct policy_params config_policy_params(const struct config *config);

/* Sets one key of [policy] or [offer] from text, checked as in the file. -ENOENT: no such key;
 * -EINVAL: not allowed. */
int config_set_live(struct config *config, const char *key, const char *value, struct err *reterr);
/* Writes its value as in the file. -ENOENT. */
int config_get_live(const struct config *config, const char *key, char *ret_text, size_t size);

/* The table of keys. NULL past the end. */
const struct setting *config_key_at(size_t index);

#endif
