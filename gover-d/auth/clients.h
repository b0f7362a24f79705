/* SPDX-License-Identifier: MIT */
/*
 * The sections [client NAME] of the configuration: the scope of each certificate subject.
 */
#ifndef GOVER_D_AUTH_CLIENTS_H
#define GOVER_D_AUTH_CLIENTS_H

#include "base/id.h"
#include "gover-d/auth/access.h"
#include "gover-d/config/config.h"

struct clients;

struct client_rights {
	char name[ID_MAX]; /* NAME of [client NAME] */
	char subject[CLIENT_SUBJECT_MAX];
	enum access_scope scope;
	unsigned int number; /* position of the section, from 0 */
};

/*
 * Reads the sections of @config, and writes each subject in the form in which GnuTLS prints it, so
 * that two forms of one name are equal. -EINVAL with a message: a subject is not a distinguished
 * name of RFC 4514, or two sections have the same subject.
 */
int clients_new(const struct config *config, struct clients **ret_clients, struct err *reterr);
struct clients *clients_free(struct clients *clients); /* accepts NULL; returns NULL */

/* Returns the rights of a subject; NULL: no section has this subject. */
const struct client_rights *clients_find(const struct clients *clients, const char *subject);

#endif
