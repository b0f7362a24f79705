/* SPDX-License-Identifier: MIT */
/* The table of keys of fleet.conf. fleet_config_load() accepts what fleet_config_print() prints. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config/inifile.h"
#include "gover-fleet/config/fleet-config.h"

#define FILE_BYTES_MAX (64 * 1024)

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static bool fits_on_failure(const char *text)
{
	static const char *const words[] = {"open", "closed"};

	return is_one_of(text, words, ARRAY_SIZE(words));
}

static bool fits_kind(const char *text)
{
	static const char *const words[] = {"openstack", "none"};

	return is_one_of(text, words, ARRAY_SIZE(words));
}

static bool fits_auth(const char *text)
{
	static const char *const words[] = {"password", "application_credential", "none"};

	return is_one_of(text, words, ARRAY_SIZE(words));
}

static bool fits_by(const char *text)
{
	static const char *const words[] = {"none", "advice", "nova", "libvirt"};

	return is_one_of(text, words, ARRAY_SIZE(words));
}

static bool fits_url(const char *text)
{
	return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

static bool fits_host(const char *text)
{
	return !strchr(text, ' ') && !strchr(text, '/');
}

#define AT(section, key, field) section, false, key, offsetof(struct fleet_config, field)
#define FLEET(key)		AT("fleet", #key, key)
#define CLOUD(key)		AT("cloud", #key, cloud.key)

#define WORD(at, allowed, fits) \
	SETTING_ROW(at, setting_text, 1, FLEET_CONFIG_WORD - 1, allowed, fits)
#define TEXT SETTING_TEXT

/* A text has at most 160 characters: base/config/inifile.c accepts lines of up to 198 characters.
 */
static const struct setting keys[] = {
	TEXT(FLEET(host), 0, 160, "nothing, or the name of a host", fits_host),
	TEXT(FLEET(gover_socket), 1, 107, "a path", NULL),
	TEXT(FLEET(hook_socket), 1, 107, "a path", NULL),
	SETTING_INT(FLEET(hook_timeout_s), 1, 60, " s"),
	WORD(FLEET(on_failure), "open or closed", fits_on_failure),
	SETTING_INT(FLEET(hold_s), 1, 600, " s"),
	TEXT(FLEET(status_file), 0, 160, "nothing, or a path", NULL),

	WORD(CLOUD(kind), "openstack or none", fits_kind),
	WORD(CLOUD(auth), "password, application_credential or none", fits_auth),
	TEXT(CLOUD(auth_url), 0, 160, "nothing, or a URL of http or https", fits_url),
	TEXT(CLOUD(region), 0, 160, "nothing, or a name", NULL),
	TEXT(CLOUD(username), 0, 160, "nothing, or a name", NULL),
	TEXT(CLOUD(user_domain), 0, 160, "nothing, or a name", NULL),
	TEXT(CLOUD(project), 0, 160, "nothing, or a name", NULL),
	TEXT(CLOUD(project_domain), 0, 160, "nothing, or a name", NULL),
	TEXT(CLOUD(application_credential_id), 0, 160, "nothing, or an id", NULL),
	TEXT(CLOUD(secret_file), 0, 160, "nothing, a path, or the name of a credential", NULL),
	TEXT(CLOUD(cacert), 0, 160, "nothing, or a path", NULL),
	TEXT(CLOUD(placement_url), 0, 160, "nothing, or a URL of http or https", fits_url),
	TEXT(CLOUD(compute_url), 0, 160, "nothing, or a URL of http or https", fits_url),

	TEXT(AT("libvirt", "uri", uri), 0, 160, "nothing, or a URI of libvirt", NULL),

	WORD(AT("migrate", "by", migrate_by), "none, advice, nova or libvirt", fits_by),
	TEXT(AT("migrate", "to_uri", to_uri), 0, 160, "nothing, or a URI of libvirt", NULL),
};

static const struct setting *key_at(size_t index)
{
	return index < ARRAY_SIZE(keys) ? &keys[index] : NULL;
}

void fleet_config_default(struct fleet_config *config)
{
	*config = (struct fleet_config){
		.gover_socket = "/run/gover/gover.sock",
		.hook_socket = "/run/gover-fleet/hook.sock",
		.hook_timeout_s = 5,
		.on_failure = "open",
		.hold_s = 300,
		.status_file = "/run/gover-fleet/status.json",
		.cloud = {.kind = "none",
			  .auth = "password",
			  .user_domain = "Default",
			  .project_domain = "Default"},
		.uri = "qemu:///system",
		.migrate_by = "none",
	};
	if (gethostname(config->host, sizeof(config->host) - 1) < 0)
		config->host[0] = '\0';
}

/* --- rules about several keys --- */

struct need {
	const char *key, *value;
};

static int check_needs(const char *cause, const struct need *needs, size_t n, struct err *reterr)
{
	for (size_t i = 0; i < n; i++)
		if (!needs[i].value[0])
			return err_fail(reterr, EINVAL, "[cloud] %s: required with %s",
					needs[i].key, cause);
	return 0;
}

static int check_cloud(const struct fleet_config_cloud *c, struct err *reterr)
{
	const struct need password[] = {{"auth_url", c->auth_url},
					{"username", c->username},
					{"project", c->project},
					{"secret_file", c->secret_file}};
	const struct need credential[] = {
		{"auth_url", c->auth_url},
		{"application_credential_id", c->application_credential_id},
		{"secret_file", c->secret_file}};
	const struct need none[] = {{"placement_url", c->placement_url}};

	if (strcmp(c->kind, "none") == 0)
		return 0;
	if (strcmp(c->auth, "password") == 0)
		return check_needs("auth = password", password, ARRAY_SIZE(password), reterr);
	if (strcmp(c->auth, "application_credential") == 0)
		return check_needs("auth = application_credential", credential,
				   ARRAY_SIZE(credential), reterr);
	return check_needs("auth = none", none, ARRAY_SIZE(none), reterr);
}

static int check_migrate(const struct fleet_config *config, struct err *reterr)
{
	bool by_nova = strcmp(config->migrate_by, "nova") == 0;

	if (by_nova && !fleet_config_has_cloud(config))
		return err_fail(reterr, EINVAL,
				"[migrate] by = nova: needs [cloud] kind = openstack");
	if (by_nova && strcmp(config->cloud.auth, "none") == 0 && !config->cloud.compute_url[0])
		return err_fail(reterr, EINVAL,
				"[cloud] compute_url: required with auth = none and [migrate] "
				"by = nova");
	if (strcmp(config->migrate_by, "libvirt") == 0 && !config->to_uri[0])
		return err_fail(reterr, EINVAL, "[migrate] to_uri: required with by = libvirt");
	return 0;
}

static int check(const struct fleet_config *config, struct err *reterr)
{
	int r = check_migrate(config, reterr);

	if (r < 0)
		return r;
	if (fleet_config_has_cloud(config) && !config->host[0])
		return err_fail(reterr, EINVAL, "[fleet] host: required with [cloud] kind");
	return check_cloud(&config->cloud, reterr);
}

/* --- files --- */

static int enter_section(void *userdata, const struct setting *first, const char *name, int line,
			 void **ret_base, struct err *reterr)
{
	(void)first, (void)name, (void)line, (void)reterr;
	*ret_base = userdata;
	return 0;
}

int fleet_config_load(struct fleet_config *config, const char *path, struct err *reterr)
{
	struct fleet_config copy = *config;
	const struct inifile_reader reader = {
		.at = key_at,
		.userdata = &copy,
		.enter = enter_section,
	};
	const char *file = path ? path : FLEET_CONFIG_PATH_DEFAULT;
	struct err why = {""};
	int r = 0;

	if (path || access(file, F_OK) == 0)
		r = inifile_read(file, FILE_BYTES_MAX, &reader, reterr);
	if (r < 0)
		return r;
	r = check(&copy, &why);
	if (r < 0)
		return err_fail(reterr, -r, "%s: %s", file, why.msg);
	*config = copy;
	return 0;
}

void fleet_config_print(const struct fleet_config *config, FILE *out)
{
	const char *section = "";
	char text[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(section, keys[i].section) != 0)
			fprintf(out, "%s[%s]\n", i ? "\n" : "", keys[i].section);
		section = keys[i].section;
		setting_format(&keys[i], config, text, sizeof(text));
		fprintf(out, "%s =%s%s\n", keys[i].key, text[0] ? " " : "", text);
	}
}

bool fleet_config_fails_open(const struct fleet_config *config)
{
	return strcmp(config->on_failure, "open") == 0;
}

bool fleet_config_has_cloud(const struct fleet_config *config)
{
	return strcmp(config->cloud.kind, "none") != 0;
}

int fleet_config_secret_path(const struct fleet_config_cloud *cloud, char *ret_path, size_t size,
			     struct err *reterr)
{
	const char *name = cloud->secret_file, *folder = getenv("CREDENTIALS_DIRECTORY");
	int n;

	if (strchr(name, '/'))
		n = snprintf(ret_path, size, "%s", name);
	else if (folder)
		n = snprintf(ret_path, size, "%s/%s", folder, name);
	else
		return err_fail(reterr, ENOENT,
				"[cloud] secret_file = %s: no credentials of systemd (allowed "
				"without them: a path)",
				name);
	return (size_t)n < size ? 0
				: err_fail(reterr, ENAMETOOLONG, "[cloud] secret_file: too long");
}
