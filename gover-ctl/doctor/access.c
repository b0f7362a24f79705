/* SPDX-License-Identifier: MIT */
/*
 * The check of the rights of this user. If the daemon has refused a request, its message names the
 * groups. Otherwise the groups are those of [access] in the configuration file; if it cannot be
 * read, those of its defaults.
 */
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/terminal/field.h"
#include "client/denied.h"
#include "gover-ctl/doctor/doctor.h"

#define NAME_SIZE 64

/* A group of [access], and whether this user and this process are in it. */
struct role {
	const char *name; /* "": no group is configured */
	bool exists, member, active;
};

static struct role role_of(const char *name)
{
	struct role role = {.name = name};
	const struct group *group;
	int64_t number;
	gid_t gid;

	if (name[0] == '\0')
		return role;
	if (parse_int(name, 0, UINT32_MAX - 1, &number) == 0) {
		gid = (gid_t)number;
		role.exists = true;
	} else {
		group = getgrnam(name);
		role.exists = group != NULL;
		gid = group ? group->gr_gid : 0;
	}
	role.active = role.exists && denied_has_group(gid);
	role.member = role.exists && denied_is_member(gid);
	return role;
}

/* Returns true if the daemon, which has created its socket, runs as this user. */
static bool owns_daemon(const struct doctor_input *input)
{
	struct stat st;

	return input->host && stat(input->where, &st) == 0 && st.st_uid == geteuid();
}

static void advise_group(struct finding *finding, const struct role *role, const char *who,
			 const char *user)
{
	char text[256];

	if (role->name[0] == '\0') {
		finding_set(finding, FINDING_FAIL, "run the command with sudo",
			    "%s may not use gover: [access] of gover.conf configures no group",
			    who);
	} else if (!role->exists) {
		snprintf(text, sizeof(text),
			 "%s may not use gover: group %s does not exist on this host", who,
			 role->name);
		finding_advise(finding, FINDING_FAIL, text,
			       "sudo groupadd --system %s && sudo usermod -aG %s %s && sudo "
			       "systemctl restart gover-d, then log in again",
			       role->name, role->name, user);
	} else if (role->member && !role->active) {
		finding_set(finding, FINDING_FAIL, "log in again",
			    "%s is a member of group %s, but this session began before", who,
			    role->name);
	} else {
		snprintf(text, sizeof(text), "%s may not use gover: not a member of group %s", who,
			 role->name);
		finding_advise(finding, FINDING_FAIL, text,
			       "sudo usermod -aG %s %s, then log in again", role->name, user);
	}
}

/* Splits the message of the daemon, "PROBLEM (CURE)", into text and advice. */
static void repeat_refusal(const char *message, struct finding *finding)
{
	const char *cure = strstr(message, " (run ");
	int length = cure ? (int)(cure - message) : (int)strlen(message);

	finding_set(finding, FINDING_FAIL, "", "%.*s", length, message);
	if (cure)
		snprintf(finding->advice, sizeof(finding->advice), "%.*s",
			 (int)strlen(cure + 2) - 1, cure + 2);
}

static void judge_user(const struct doctor_input *input, struct finding *finding)
{
	const json_t *config = input->config;
	struct role operate = role_of(config ? field_text(config, "operate_group") : "gover");
	struct role read = role_of(config ? field_text(config, "read_group") : "gover-read");
	char who[NAME_SIZE + 32], user[NAME_SIZE], text[256];

	denied_name_user(who, sizeof(who));
	denied_user_name(geteuid(), user, sizeof(user));
	if (operate.active) {
		finding_set(finding, FINDING_OK, "", "%s may read and change (group %s)", who,
			    operate.name);
	} else if (read.active && operate.exists) {
		snprintf(text, sizeof(text), "%s may read (group %s)", who, read.name);
		finding_advise(finding, FINDING_OK, text,
			       "to change something: sudo usermod -aG %s %s, then log in again",
			       operate.name, user);
	} else if (read.active) {
		finding_set(finding, FINDING_OK, "", "%s may read (group %s)", who, read.name);
	} else if (input->host) {
		finding_set(finding, FINDING_OK, "", "%s may read", who);
	} else if (input->refused && !operate.member && !read.member) {
		repeat_refusal(input->no_answer, finding);
	} else {
		advise_group(finding, read.member && !operate.member ? &read : &operate, who, user);
	}
}

void doctor_access_check(const struct doctor_input *input, struct finding *finding)
{
	if (!input->over_socket)
		finding->state = FINDING_SKIPPED;
	else if (geteuid() == 0 || owns_daemon(input))
		finding_set(finding, FINDING_OK, "", "this user may read, change and administer");
	else
		judge_user(input, finding);
}
