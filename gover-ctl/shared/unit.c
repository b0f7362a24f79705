/* SPDX-License-Identifier: MIT */
/*
 * Reads the properties of the unit from the system bus. Without a bus, root can connect to the
 * private socket of systemd.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rfc3339.h"
#include "base/terminal/field.h"
#include "base/xalloc.h"
#include "gover-ctl/shared/unit.h"

#define SYSTEMD	       "org.freedesktop.systemd1"
#define PRIVATE_SOCKET "unix:path=/run/systemd/private"
#define TIMEOUT_US     2000000
#define FILE_MAX       (64 * 1024)

/* The words of a command line and its environment. All texts are owned. */
struct command {
	char *words[UNIT_WORDS_MAX];
	size_t n_words;
	char *environment[UNIT_WORDS_MAX + 1]; /* ends with NULL */
	size_t n_environment;
};

static void command_fini(struct command *command)
{
	for (size_t i = 0; i < command->n_words; i++)
		free(command->words[i]);
	for (size_t i = 0; i < command->n_environment; i++)
		free(command->environment[i]);
}

static void append(char **list, size_t *n, const char *text)
{
	if (*n < UNIT_WORDS_MAX)
		list[(*n)++] = xstrdup(text);
}

/* --- the option --config --- */

/* State of the search: the next word is the value of --config. */
struct search {
	bool value_follows;
	char *path;
};

static void take_word(struct search *search, const char *word, size_t length)
{
	static const char option[] = "--config", with_value[] = "--config=";
	size_t skip = 0;

	if (search->value_follows) {
		search->value_follows = false;
	} else if (length == strlen(option) && memcmp(word, option, length) == 0) {
		search->value_follows = true;
		return;
	} else if (length > strlen(with_value) &&
		   memcmp(word, with_value, strlen(with_value)) == 0) {
		skip = strlen(with_value);
	} else {
		return;
	}
	snprintf(search->path, PATH_MAX, "%.*s", (int)(length - skip), word + skip);
}

static void take_variable(struct search *search, const char *name, const char *const *environment)
{
	const char *value = NULL;
	size_t length = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
			value = *environment + length + 1;
	while (value && *value) {
		size_t n = strcspn(value, " \t");

		if (n > 0)
			take_word(search, value, n);
		value += n + strspn(value + n, " \t");
	}
}

void unit_find_config(const char *const *words, size_t n, const char *const *environment,
		      char ret_path[PATH_MAX])
{
	struct search search = {.path = ret_path};

	ret_path[0] = '\0';
	for (size_t i = 0; i < n; i++)
		if (words[i][0] == '$' && words[i][1] != '{')
			take_variable(&search, words[i] + 1, environment);
		else
			take_word(&search, words[i], strlen(words[i]));
}

int unit_config_of_pid(pid_t pid, char ret_path[PATH_MAX])
{
	static const char *const no_environment[] = {NULL};
	CLEANUP_FREE char *name = NULL, *text = NULL;
	const char *words[UNIT_WORDS_MAX];
	char path[64], folder[PATH_MAX];
	size_t n = 0, length;
	ssize_t size;
	int r;

	snprintf(path, sizeof(path), "/proc/%ld/comm", (long)pid);
	if (file_read(path, FILE_MAX, &name, NULL) < 0 || strcmp(name, "gover-d\n") != 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
	r = file_read(path, FILE_MAX, &text, &length);
	if (r < 0)
		return r;
	for (size_t at = 0; at < length && n < UNIT_WORDS_MAX; at += strlen(text + at) + 1)
		words[n++] = text + at;
	unit_find_config(words, n, no_environment, ret_path);
	if (ret_path[0] == '\0' || ret_path[0] == '/')
		return 0;
	snprintf(path, sizeof(path), "/proc/%ld/cwd", (long)pid);
	size = readlink(path, folder, sizeof(folder) - 1);
	if (size < 0)
		return -errno;
	folder[size] = '\0';
	if ((size_t)size + 1 + strlen(ret_path) >= PATH_MAX)
		return -ENAMETOOLONG;
	memmove(ret_path + size + 1, ret_path, strlen(ret_path) + 1);
	memcpy(ret_path, folder, (size_t)size);
	ret_path[size] = '/';
	return 0;
}

/* --- systemd --- */

static sd_bus *connect_systemd(void)
{
	sd_bus *bus = NULL;

	if (sd_booted() <= 0)
		return NULL;
	if (sd_bus_open_system(&bus) < 0) {
		bus = sd_bus_unref(bus);
		if (sd_bus_new(&bus) < 0)
			return NULL;
		if (sd_bus_set_address(bus, PRIVATE_SOCKET) < 0 || sd_bus_start(bus) < 0)
			return sd_bus_unref(bus);
	}
	(void)sd_bus_set_method_call_timeout(bus, TIMEOUT_US);
	return bus;
}

static int load_unit(sd_bus *bus, char ret_object[PATH_MAX])
{
	sd_bus_message *reply = NULL;
	const char *object;
	int r = sd_bus_call_method(bus, SYSTEMD, "/org/freedesktop/systemd1", SYSTEMD ".Manager",
				   "LoadUnit", NULL, &reply, "s", UNIT_NAME);

	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &object);
	if (r >= 0)
		snprintf(ret_object, PATH_MAX, "%s", object);
	sd_bus_message_unref(reply);
	return r;
}

static void read_text(sd_bus *bus, const char *object, const char *interface, const char *name,
		      char *ret_text, size_t size)
{
	char *text = NULL;

	ret_text[0] = '\0';
	if (sd_bus_get_property_string(bus, SYSTEMD, object, interface, name, NULL, &text) >= 0)
		snprintf(ret_text, size, "%s", text);
	free(text);
}

static void read_environment_file(const char *path, struct command *command)
{
	CLEANUP_FREE char *text = NULL;
	char *rest = NULL;

	if (file_read(path, FILE_MAX, &text, NULL) < 0)
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *value = strchr(line, '='), assignment[PATH_MAX + 64];
		size_t n;

		line += strspn(line, " \t");
		if (!value || line[0] == '#' || line[0] == ';')
			continue;
		*value++ = '\0';
		n = strlen(value);
		if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0]) {
			value[n - 1] = '\0';
			value++;
		}
		snprintf(assignment, sizeof(assignment), "%s=%s", line, value);
		append(command->environment, &command->n_environment, assignment);
	}
}

/* Reads Environment= and EnvironmentFile=; a variable of a later source replaces an earlier one. */
static void read_environment(sd_bus *bus, const char *object, struct command *command)
{
	sd_bus_message *reply = NULL;
	const char *text;
	int optional;

	if (sd_bus_get_property(bus, SYSTEMD, object, SYSTEMD ".Service", "Environment", NULL,
				&reply, "as") >= 0 &&
	    sd_bus_message_enter_container(reply, 'a', "s") >= 0)
		while (sd_bus_message_read(reply, "s", &text) > 0)
			append(command->environment, &command->n_environment, text);
	reply = sd_bus_message_unref(reply);
	if (sd_bus_get_property(bus, SYSTEMD, object, SYSTEMD ".Service", "EnvironmentFiles", NULL,
				&reply, "a(sb)") >= 0 &&
	    sd_bus_message_enter_container(reply, 'a', "(sb)") >= 0)
		while (sd_bus_message_read(reply, "(sb)", &text, &optional) > 0)
			read_environment_file(text, command);
	sd_bus_message_unref(reply);
}

/* Reads the words of the first command of ExecStart=. */
static void read_words(sd_bus *bus, const char *object, struct command *command)
{
	sd_bus_message *reply = NULL;
	const char *text;

	if (sd_bus_get_property(bus, SYSTEMD, object, SYSTEMD ".Service", "ExecStart", NULL, &reply,
				"a(sasbttttuii)") >= 0 &&
	    sd_bus_message_enter_container(reply, 'a', "(sasbttttuii)") > 0 &&
	    sd_bus_message_enter_container(reply, 'r', "sasbttttuii") > 0 &&
	    sd_bus_message_read(reply, "s", &text) > 0 &&
	    sd_bus_message_enter_container(reply, 'a', "s") >= 0)
		while (sd_bus_message_read(reply, "s", &text) > 0)
			append(command->words, &command->n_words, text);
	sd_bus_message_unref(reply);
}

static void read_config(sd_bus *bus, const char *object, struct unit *unit)
{
	struct command command = {.n_words = 0};

	read_words(bus, object, &command);
	read_environment(bus, object, &command);
	unit_find_config((const char *const *)command.words, command.n_words,
			 (const char *const *)command.environment, unit->config);
	command_fini(&command);
}

static void read_properties(sd_bus *bus, const char *object, struct unit *unit)
{
	static const char service[] = SYSTEMD ".Service", general[] = SYSTEMD ".Unit";
	char loaded[UNIT_STATE_MAX];
	uint32_t pid = 0;
	int protects = 0;

	read_text(bus, object, general, "LoadState", loaded, sizeof(loaded));
	unit->known = loaded[0] != '\0';
	unit->loaded = strcmp(loaded, "loaded") == 0;
	read_text(bus, object, general, "ActiveState", unit->active, sizeof(unit->active));
	read_text(bus, object, general, "SubState", unit->sub, sizeof(unit->sub));
	read_text(bus, object, general, "UnitFileState", unit->enabled, sizeof(unit->enabled));
	read_text(bus, object, service, "Result", unit->result, sizeof(unit->result));
	read_text(bus, object, service, "User", unit->user, sizeof(unit->user));
	(void)sd_bus_get_property_trivial(bus, SYSTEMD, object, service, "ProtectControlGroups",
					  NULL, 'b', &protects);
	(void)sd_bus_get_property_trivial(bus, SYSTEMD, object, service, "MainPID", NULL, 'u',
					  &pid);
	unit->protects_cgroups = protects;
	unit->pid = (pid_t)pid;
	read_config(bus, object, unit);
}

static void read_unit(struct unit *ret_unit)
{
	sd_bus *bus = connect_systemd();
	char object[PATH_MAX];

	*ret_unit = (struct unit){.known = false};
	if (bus && load_unit(bus, object) >= 0)
		read_properties(bus, object, ret_unit);
	sd_bus_flush_close_unref(bus);
}

/* --- the installation --- */

/* A daemon of an earlier release does not say when it read its configuration: at its start. */
static bool find_process(const json_t *host, struct installation *i)
{
	const json_t *config = json_object_get(host, "config");
	pid_t pid = host ? (pid_t)json_integer_value(json_object_get(host, "pid")) : i->unit.pid;

	if (pid <= 0 || unit_config_of_pid(pid, i->running) < 0)
		return false;
	i->pid = pid;
	i->restart_keys = json_object_get(config, "restart_keys");
	if (host && rfc3339_parse(field_text(config, "read_at"), &i->read_ms) < 0)
		i->read_ms = clock_now().wall_ms - (int64_t)(field_number(host, "uptime_s") * 1000);
	return true;
}

/* Combines the description of the unit with the process that has answered. */
void installation_examine(const json_t *host, struct installation *ret_installation)
{
	struct installation *i = ret_installation;
	bool running;

	memset(i, 0, sizeof(*i));
	read_unit(&i->unit);
	running = find_process(host, i);
	if (i->unit.loaded && (!running || i->unit.pid == i->pid)) {
		i->source = INSTALLATION_UNIT;
		memcpy(i->config, i->unit.config, sizeof(i->config));
		i->config_differs = running && strcmp(i->running, i->unit.config) != 0;
	} else if (running) {
		i->source = INSTALLATION_PROCESS;
		memcpy(i->config, i->running, sizeof(i->config));
	}
}

const char *installation_config(const struct installation *installation)
{
	return installation->config[0] ? installation->config : CONFIG_PATH_DEFAULT;
}
