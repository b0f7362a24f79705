/* SPDX-License-Identifier: MIT */
/* See drm-groups.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gpu/drm-groups.h"

#define MEMBER_TEXT_MAX (64 * 1024)
#define LONG_ID		32 /* a run of at least so many digits is the id of a container */
#define SHORT_ID	12
#define MACHINE		"machine-"
#define PODS		"kubepods"
/* Larger than the age of a tenant in monitor/truth/, so that no process has the number of a slot
 * that another group uses. */
#define GONE_SAMPLES 32

int drm_groups_init(const struct gpu_config *config, struct drm_groups *ret_groups,
		    struct err *reterr)
{
	const char *root = config->root[0] ? config->root : DRM_ROOT_DEFAULT;
	char mountinfo[GPU_ROOT_MAX + 32];

	if (!cgroup_is_group(root))
		return err_fail(reterr, EINVAL,
				"GPU %s: root \"%s\" is not allowed (allowed: a path of control "
				"groups below the mounts, such as %s)",
				config->name, root, DRM_ROOT_DEFAULT);
	strcpy(ret_groups->root, root);
	strcpy(ret_groups->proc, config->proc[0] ? config->proc : "/proc");
	snprintf(mountinfo, sizeof(mountinfo), "%s/self/mountinfo", ret_groups->proc);
	return cgroup_find(mountinfo, &ret_groups->host, reterr);
}

/* --- names --- */

static bool ends_with(const char *name, size_t length, const char *suffix)
{
	size_t n = strlen(suffix);

	return length > n && memcmp(name + length - n, suffix, n) == 0;
}

static bool is_unit(const char *name, size_t length)
{
	return ends_with(name, length, ".service") || ends_with(name, length, ".scope") ||
	       ends_with(name, length, ".slice");
}

/* The names of machines are escaped, so that each '-' in them is \x2d. */
static bool is_machine(const char *name)
{
	return strncmp(name, MACHINE, strlen(MACHINE)) == 0 && !strchr(name + strlen(MACHINE), '-');
}

/* Returns the length of the run of digits at @at if it is the id of a container; 0: it is not. */
static size_t long_id(const char *at)
{
	size_t digits = strspn(at, "0123456789abcdef");

	return digits >= LONG_ID ? digits : 0;
}

static bool is_container(const char *name)
{
	for (; *name; name++)
		if (long_id(name))
			return true;
	return false;
}

/* Returns the length of the part of @name that the id shows. A service, a container, a pod and a
 * machine each have one type of unit, so that their type adds nothing. */
static size_t stem_length(const char *name)
{
	size_t length = strlen(name);

	if (ends_with(name, length, ".service"))
		return length - strlen(".service");
	if (ends_with(name, length, ".scope") && (is_container(name) || is_machine(name)))
		return length - strlen(".scope");
	if (ends_with(name, length, ".slice") &&
	    (is_container(name) || strncmp(name, PODS, strlen(PODS)) == 0))
		return length - strlen(".slice");
	return length;
}

/* Writes the short form of @name. Returns false if other names have the same short form. */
static bool shorten(const char *name, char id[DRM_TENANTS_NAME])
{
	size_t length = stem_length(name), n = 0;
	const char *end = name + length;
	bool exact = length == strlen(name) || !is_unit(name, length);

	for (const char *at = name; at < end && n + SHORT_ID + 1 < DRM_TENANTS_NAME;) {
		size_t digits = long_id(at);

		if (strncmp(at, "\\x2d", 4) == 0) { /* systemd escapes a '-' in a name */
			exact = exact && is_machine(name);
			id[n++] = '-';
			at += 4;
		} else if (digits) {
			memcpy(id + n, at, SHORT_ID);
			n += SHORT_ID;
			at += digits;
		} else {
			bool valid = isalnum((unsigned char)*at) || strchr("._-", *at);

			exact = exact && valid;
			id[n++] = (char)(valid ? *at : '_');
			at++;
		}
	}
	id[n] = '\0';
	return exact && id_valid(id);
}

/* Writes the first part of @text and a hash of the path of the group. */
static void make_hashed_id(const char *root, const char *name, const char *text,
			   char ret_id[ID_MAX])
{
	char path[PATH_MAX + DRM_TENANTS_NAME];
	uint64_t hash;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	hash = id_hash(path);
	text += strspn(text, ".-");
	snprintf(ret_id, ID_MAX, "%.*s%s%08x", ID_MAX - 1 - 9, text, *text ? "-" : "",
		 (unsigned int)(hash ^ hash >> 32));
}

void drm_groups_id(const char *root, const char *name, char ret_id[ID_MAX])
{
	char text[DRM_TENANTS_NAME];

	if (shorten(name, text))
		strcpy(ret_id, text);
	else
		make_hashed_id(root, name, text, ret_id);
}

/* --- processes --- */

/* Writes the name of the group below the root to which the process belongs. Returns -ENOENT if it
 * belongs to another group, and -ESRCH if it has ended. */
static int read_member(const struct drm_groups *groups, pid_t pid, char ret_name[DRM_TENANTS_NAME])
{
	char path[GPU_ROOT_MAX + 32], group[PATH_MAX];
	CLEANUP_FREE char *text = NULL;
	size_t n = strlen(groups->root), length;
	int r;

	snprintf(path, sizeof(path), "%s/%d/cgroup", groups->proc, (int)pid);
	r = file_read(path, MEMBER_TEXT_MAX, &text, NULL);
	if (r == 0)
		r = cgroup_parse_member(&groups->host, text, group);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	/* outside the control group namespace of this process */
	if (strncmp(group, "../", 3) == 0)
		return -EXDEV;
	if (strncmp(group, groups->root, n) != 0 || group[n] != '/')
		return -ENOENT;
	/* The process may be in a group below that of the container. */
	length = strcspn(group + n + 1, "/");
	if (length == 0 || length >= DRM_TENANTS_NAME)
		return -ENOENT;
	memcpy(ret_name, group + n + 1, length);
	ret_name[length] = '\0';
	return 0;
}

int drm_groups_owner(const struct drm_groups *groups, pid_t pid, char ret_id[ID_MAX])
{
	char name[DRM_TENANTS_NAME];
	int r = read_member(groups, pid, name);

	if (r < 0)
		return r == -ESRCH ? -ENOENT : r;
	drm_groups_id(groups->root, name, ret_id);
	return 0;
}

/* --- tenants --- */

static struct drm_tenant *find_name(struct drm_groups *groups, const char *name)
{
	for (int i = 0; i < DRM_TENANTS_MAX; i++)
		if (groups->tenants[i].used && strcmp(groups->tenants[i].name, name) == 0)
			return &groups->tenants[i];
	return NULL;
}

static struct drm_tenant *find_id(struct drm_groups *groups, const char *id)
{
	for (int i = 0; i < DRM_TENANTS_MAX; i++)
		if (groups->tenants[i].used && strcmp(groups->tenants[i].id, id) == 0)
			return &groups->tenants[i];
	return NULL;
}

/* Returns NULL if no slot is free or another group has this id. */
static struct drm_tenant *add(struct drm_groups *groups, const char *id, const char *name)
{
	if (find_id(groups, id))
		return NULL;
	for (int i = 0; i < DRM_TENANTS_MAX; i++) {
		struct drm_tenant *tenant = &groups->tenants[i];

		if (tenant->used)
			continue;
		*tenant = (struct drm_tenant){.used = true};
		strcpy(tenant->id, id);
		strcpy(tenant->name, name);
		return tenant;
	}
	return NULL;
}

static struct drm_refused *find_refused(struct drm_groups *groups, const char *name)
{
	struct drm_refused *oldest = groups->refused;

	for (int i = 0; i < DRM_REFUSED_MAX; i++) {
		struct drm_refused *refused = &groups->refused[i];

		if (strcmp(refused->name, name) == 0)
			return refused;
		if (refused->age > oldest->age || (!refused->id[0] && oldest->id[0]))
			oldest = refused;
	}
	return oldest;
}

static void refuse(struct drm_groups *groups, const char *id, const char *name)
{
	struct drm_refused *refused = find_refused(groups, name);

	*refused = (struct drm_refused){.full = !find_id(groups, id)};
	make_hashed_id(groups->root, name, id, refused->id);
	strcpy(refused->name, name);
}

const struct drm_refused *drm_groups_refused(const struct drm_groups *groups, const char *id)
{
	for (int i = 0; i < DRM_REFUSED_MAX; i++)
		if (strcmp(groups->refused[i].id, id) == 0)
			return &groups->refused[i];
	return NULL;
}

int drm_groups_tenant(struct drm_groups *groups, pid_t pid)
{
	char name[DRM_TENANTS_NAME], id[ID_MAX];
	struct drm_tenant *tenant;
	int r = read_member(groups, pid, name);

	if (r < 0)
		return r;
	tenant = find_name(groups, name);
	if (tenant)
		return (int)(tenant - groups->tenants);
	drm_groups_id(groups->root, name, id);
	tenant = add(groups, id, name);
	if (tenant)
		return (int)(tenant - groups->tenants);
	refuse(groups, id, name);
	return -ENOENT;
}

struct search {
	const char *root, *id;
	char name[DRM_TENANTS_NAME];
};

static int match(void *userdata, const char *name)
{
	struct search *search = userdata;
	char id[ID_MAX];

	if (strlen(name) >= sizeof(search->name))
		return 0;
	drm_groups_id(search->root, name, id);
	if (strcmp(id, search->id) != 0)
		return 0;
	strcpy(search->name, name);
	return 1;
}

struct drm_tenant *drm_groups_find(struct drm_groups *groups, const char *id)
{
	struct drm_tenant *tenant = find_id(groups, id);
	struct search search = {.root = groups->root, .id = id};

	if (tenant)
		return tenant->gone ? NULL : tenant;
	if (cgroup_each(&groups->host, groups->root, match, &search) != 1)
		return NULL;
	return add(groups, id, search.name);
}

/* Writes the name of the control group of a tenant. */
static int group_of(const struct drm_groups *groups, const struct drm_tenant *tenant,
		    char ret_group[PATH_MAX])
{
	return snprintf(ret_group, PATH_MAX, "%s/%s", groups->root, tenant->name) < PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

bool drm_groups_exists(const struct drm_groups *groups, const struct drm_tenant *tenant)
{
	char group[PATH_MAX], path[PATH_MAX];

	return group_of(groups, tenant, group) == 0 &&
	       cgroup_path(&groups->host, 0, group, "", path) == 0 &&
	       (access(path, F_OK) == 0 || errno != ENOENT);
}

/* A program of a refused group is seen again at the latest after GONE_SAMPLES. */
static void expire_refused(struct drm_groups *groups)
{
	for (int i = 0; i < DRM_REFUSED_MAX; i++) {
		struct drm_refused *refused = &groups->refused[i];

		if (refused->id[0] &&
		    (refused->age++ >= GONE_SAMPLES || find_name(groups, refused->name)))
			*refused = (struct drm_refused){.full = false};
	}
}

void drm_groups_expire(struct drm_groups *groups)
{
	expire_refused(groups);
	for (int i = 0; i < DRM_TENANTS_MAX; i++) {
		struct drm_tenant *tenant = &groups->tenants[i];

		if (!tenant->used)
			continue;
		/* A restarted service has a new group of the same name. The vGPU of the old group
		 * ends first. */
		if (drm_groups_exists(groups, tenant) && (!tenant->gone || tenant->n_vgpus == 0)) {
			tenant->gone = 0;
			continue;
		}
		if (tenant->n_vgpus == 0 && tenant->gone >= GONE_SAMPLES)
			tenant->used = false;
		tenant->gone++;
	}
}

int drm_groups_count(const struct drm_groups *groups)
{
	int n = 0;

	for (int i = 0; i < DRM_TENANTS_MAX; i++)
		n += groups->tenants[i].used && !groups->tenants[i].gone;
	return n;
}

int drm_groups_read(const struct drm_groups *groups, const struct drm_tenant *tenant,
		    const char *file, char *text, int size)
{
	char group[PATH_MAX], path[PATH_MAX];
	int r = group_of(groups, tenant, group);

	if (r == 0)
		r = cgroup_path(&groups->host, 0, group, file, path);
	return r == 0 ? file_read_text(path, text, (size_t)size) : r;
}
