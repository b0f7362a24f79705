/* SPDX-License-Identifier: MIT */
/*
 * Explains a refused connection from the owner, the group and the mode of the socket, or of the
 * first folder on the way to it that this user may not search.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/denied.h"

#define NAME_SIZE   64
#define MEMBERS_MAX 256
#define CURE_SIZE   512

void denied_user_name(uid_t uid, char *ret_name, size_t size)
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(ret_name, size, "%s", user->pw_name);
	else
		snprintf(ret_name, size, "%lu", (unsigned long)uid);
}

void denied_group_name(gid_t gid, char *ret_name, size_t size)
{
	const struct group *group = getgrgid(gid);

	if (group)
		snprintf(ret_name, size, "%s", group->gr_name);
	else
		snprintf(ret_name, size, "%lu", (unsigned long)gid);
}

void denied_name_user(char *ret_text, size_t size)
{
	const struct passwd *user = getpwuid(geteuid());
	unsigned long uid = (unsigned long)geteuid();

	if (user)
		snprintf(ret_text, size, "user %s (uid %lu)", user->pw_name, uid);
	else
		snprintf(ret_text, size, "uid %lu", uid);
}

bool denied_has_group(gid_t gid)
{
	CLEANUP_FREE gid_t *groups = NULL;
	int n = getgroups(0, NULL);

	if (gid == getegid())
		return true;
	groups = n > 0 ? calloc((size_t)n, sizeof(*groups)) : NULL;
	n = groups ? getgroups(n, groups) : 0;
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

bool denied_is_member(gid_t gid)
{
	const struct passwd *user = getpwuid(geteuid());
	gid_t groups[MEMBERS_MAX];
	int n = MEMBERS_MAX;

	if (!user || getgrouplist(user->pw_name, user->pw_gid, groups, &n) < 0)
		return false;
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/*
 * Finds the first folder on the way to @path that this user may not search. Returns false if there
 * is none.
 */
static bool find_closed_folder(const char *path, char ret_folder[PATH_MAX])
{
	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		size_t n = at == path ? 1 : (size_t)(at - path);

		if (n >= PATH_MAX)
			return false;
		memcpy(ret_folder, path, n);
		ret_folder[n] = '\0';
		if (faccessat(AT_FDCWD, ret_folder, X_OK, AT_EACCESS) < 0 && errno == EACCES)
			return true;
	}
	return false;
}

/* Writes the cure: the group of @stat if the group has the right @bit, otherwise the owner. */
static void write_cure(const struct stat *stat, mode_t bit, char *ret_text, size_t size)
{
	bool for_group = (stat->st_mode & bit) && stat->st_gid != 0;
	char group[NAME_SIZE], user[NAME_SIZE];

	denied_group_name(stat->st_gid, group, sizeof(group));
	denied_user_name(for_group ? geteuid() : stat->st_uid, user, sizeof(user));
	if (!for_group)
		snprintf(ret_text, size, "only root%s%s may connect (run the command with sudo)",
			 stat->st_uid ? " and user " : "", stat->st_uid ? user : "");
	else if (denied_is_member(stat->st_gid) && !denied_has_group(stat->st_gid))
		snprintf(ret_text, size,
			 "members of group %s may connect, and this session began before the user "
			 "became a member (log in again)",
			 group);
	else
		snprintf(ret_text, size,
			 "members of group %s may connect (run `sudo usermod -aG %s %s`, then log "
			 "in again)",
			 group, group, user);
}

void denied_explain(const char *path, char *ret_text, size_t size)
{
	char folder[PATH_MAX], who[NAME_SIZE + 32], cure[CURE_SIZE];
	bool closed = find_closed_folder(path, folder);
	const char *thing = closed ? folder : path;
	struct stat st;

	denied_name_user(who, sizeof(who));
	if (stat(thing, &st) < 0) {
		snprintf(ret_text, size, "%s may not access %s (run the command with sudo)", who,
			 thing);
		return;
	}
	write_cure(&st, closed ? S_IXGRP : S_IWGRP, cure, sizeof(cure));
	snprintf(ret_text, size, "%s may not %s %s: %s", who,
		 closed ? "search the folder" : "connect to the socket", thing, cure);
}
