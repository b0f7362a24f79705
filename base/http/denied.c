/* SPDX-License-Identifier: MIT */
/*
 * Explains a refused connection from the owner, the group and the mode of the socket, or of the
 * first folder on the way to it that this user may not search.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/http/denied.h"
#include "base/xalloc.h"

#define NAME_SIZE    64
#define MEMBERS_MAX  256
#define ALLOWED_SIZE 192

void denied_user_name(uid_t uid, char *ret_name, size_t size)
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(ret_name, size, "%s", user->pw_name);
	else
		snprintf(ret_name, size, "%lu", (unsigned long)uid);
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
	groups = n > 0 ? xcalloc((size_t)n, sizeof(*groups)) : NULL;
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

/* Writes which users may use @stat, by the group if it has the right @bit, and the cure. */
static void write_cure(const struct stat *stat, mode_t bit, char ret_allowed[ALLOWED_SIZE],
		       struct denied *denied)
{
	bool for_group = (stat->st_mode & bit) && stat->st_gid != 0;
	const struct group *entry = getgrgid(stat->st_gid);
	char group[NAME_SIZE], user[NAME_SIZE];

	if (entry)
		snprintf(group, sizeof(group), "%s", entry->gr_name);
	else
		snprintf(group, sizeof(group), "%lu", (unsigned long)stat->st_gid);
	denied_user_name(for_group ? geteuid() : stat->st_uid, user, sizeof(user));
	if (!for_group) {
		snprintf(ret_allowed, ALLOWED_SIZE, "only root%s%s may connect",
			 stat->st_uid ? " and user " : "", stat->st_uid ? user : "");
		snprintf(denied->command, sizeof(denied->command), "run the command with sudo");
	} else if (denied_is_member(stat->st_gid) && !denied_has_group(stat->st_gid)) {
		snprintf(ret_allowed, ALLOWED_SIZE,
			 "members of group %s may connect, and this session began before the user "
			 "became a member",
			 group);
		snprintf(denied->command, sizeof(denied->command), "log in again");
	} else {
		snprintf(ret_allowed, ALLOWED_SIZE, "members of group %s may connect", group);
		snprintf(denied->command, sizeof(denied->command),
			 "run `sudo usermod -aG %s %s`, then log in again", group, user);
	}
}

bool denied_explain(const char *path, struct denied *ret_denied)
{
	char folder[PATH_MAX], who[NAME_SIZE + 32], allowed[ALLOWED_SIZE];
	bool closed = find_closed_folder(path, folder);
	const char *thing = closed ? folder : path;
	struct stat st;

	if (!closed && (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 || errno != EACCES))
		return false;
	denied_name_user(who, sizeof(who));
	if (stat(thing, &st) < 0)
		return false;
	write_cure(&st, closed ? S_IXGRP : S_IWGRP, allowed, ret_denied);
	snprintf(ret_denied->text, sizeof(ret_denied->text), "%s may not %s %.256s: %s", who,
		 closed ? "search the folder" : "connect to the socket", thing, allowed);
	return true;
}
