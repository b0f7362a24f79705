/* SPDX-License-Identifier: MIT */
/* Combines the description of the unit with the process that has answered. */
#include <string.h>

#include "base/clock.h"
#include "base/terminal/field.h"
#include "gover-ctl/installation.h"

static bool find_process(const json_t *host, struct installation *i)
{
	pid_t pid = host ? (pid_t)json_integer_value(json_object_get(host, "pid")) : i->unit.pid;

	if (pid <= 0 || unit_config_of_pid(pid, i->running) < 0)
		return false;
	i->pid = pid;
	if (host)
		i->started_ms =
			clock_now().wall_ms - (int64_t)(field_number(host, "uptime_s") * 1000);
	return true;
}

void installation_examine(const json_t *host, struct installation *ret_installation)
{
	struct installation *i = ret_installation;
	bool running;

	memset(i, 0, sizeof(*i));
	unit_read(&i->unit);
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
