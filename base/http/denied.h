/* SPDX-License-Identifier: MIT */
/* Why this user may not connect to a unix socket, and the command that grants the right. */
#ifndef BASE_HTTP_DENIED_H
#define BASE_HTTP_DENIED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes "user NAME (uid N)" of this process, or "uid N" if the user has no name. */
void denied_name_user(char *ret_text, size_t size);

/* Writes the name of a user, or its number if it has no name. */
void denied_user_name(uid_t uid, char *ret_name, size_t size);

/* Returns true if this process is in the group. */
bool denied_has_group(gid_t gid);
/*
 * Returns true if this user is a member of the group according to the name services. The process is
 * still not in the group if it was started before.
 */
bool denied_is_member(gid_t gid);

struct denied {
	char text[640];	   /* "user alice (uid 1001) may not connect to the socket ...: ..." */
	char command[256]; /* the cure: "run `sudo usermod ...`, then log in again" */
};
/*
 * Explains why connect() to the socket @path failed with EACCES. Returns false if the permissions
 * of the socket and its folders allow the connection.
 */
bool denied_explain(const char *path, struct denied *ret_denied);

#endif
