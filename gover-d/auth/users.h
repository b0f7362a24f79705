/* SPDX-License-Identifier: MIT */
/*
 * Names of the users in /etc/passwd, for messages. The file is read when the daemon starts and, in
 * a worker, after a lookup has failed. Users of other name services have no name here, because
 * a query of such a service could block the event loop.
 */
#ifndef GOVER_D_AUTH_USERS_H
#define GOVER_D_AUTH_USERS_H

#include <stdbool.h>
#include <sys/types.h>

#define USERS_FILE     "/etc/passwd"
#define USERS_NAME_MAX 33 /* size of the name of a user */

struct worker;

struct users;
struct users *users_new(void);
struct users *users_free(struct users *users); /* accepts NULL; returns NULL */

/* Reads the file @path. After an error the names do not change. */
int users_load(struct users *users, const char *path);

/*
 * Writes the name of the user @uid. Returns false if the name is unknown or could not be a word of
 * a shell command; users_tick() then reads the file again.
 */
bool users_find(struct users *users, uid_t uid, char ret_name[USERS_NAME_MAX]);

/* To be called once per period. */
void users_tick(struct users *users, struct worker *worker);

#endif
