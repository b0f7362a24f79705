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

/* Returns the length of @name without the suffix of a unit of systemd. */
static size_t stem_length(const char *name)
{
	static const char *const suffixes[] = {".scope", ".service", ".slice"};
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t n = strlen(suffixes[i]);

		if (length > n && strcmp(name + length - n, suffixes[i]) == 0)
			return length - n;
	}
	return length;
}

int drm_groups_id(const char *name, char ret_id[ID_MAX])
{
	const char *end = name + stem_length(name);
	char id[DRM_TENANTS_NAME];
	size_t n = 0;

	for (const char *at = name; at < end && n + 1 < sizeof(id);) {
		size_t digits = strspn(at, "0123456789abcdef");

		if (strncmp(at, "\\x2d", 4) == 0) { /* systemd escapes a '-' in a name */
			id[n++] = '-';
			at += 4;
		} else if (digits >= LONG_ID && n + SHORT_ID < sizeof(id)) {
			memcpy(id + n, at, SHORT_ID);
			n += SHORT_ID;
			at += digits;
		} else {
			id[n++] = (char)(isalnum((unsigned char)*at) || strchr("._-", *at) ? *at
											   : '_');
			at++;
		}
	}
	id[n] = '\0';
	return id_valid(id) ? id_copy(ret_id, id) : -EINVAL;
}

/* --- processes --- */

/* Writes the name of the group below the root to which the process belongs. */
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
		return r == -ESRCH ? -ENOENT : r;
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
		return r;
	return drm_groups_id(name, ret_id) < 0 ? -ENOENT : 0;
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

int drm_groups_tenant(struct drm_groups *groups, pid_t pid)
{
	char name[DRM_TENANTS_NAME], id[ID_MAX];
	struct drm_tenant *tenant;

	if (read_member(groups, pid, name) < 0)
		return -1;
	tenant = find_name(groups, name);
	if (!tenant && drm_groups_id(name, id) == 0)
		tenant = add(groups, id, name);
	return tenant ? (int)(tenant - groups->tenants) : -1;
}

struct search {
	const char *id;
	char name[DRM_TENANTS_NAME];
};

static int match(void *userdata, const char *name)
{
	struct search *search = userdata;
	char id[ID_MAX];

	if (strlen(name) >= sizeof(search->name) || drm_groups_id(name, id) < 0 ||
	    strcmp(id, search->id) != 0)
		return 0;
	strcpy(search->name, name);
	return 1;
}

struct drm_tenant *drm_groups_find(struct drm_groups *groups, const char *id)
{
	struct drm_tenant *tenant = find_id(groups, id);
	struct search search = {.id = id};

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

void drm_groups_expire(struct drm_groups *groups)
{
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
	return r == 0 ? cgroup_read_file(path, text, size) : r;
}
