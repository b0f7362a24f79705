/* SPDX-License-Identifier: MIT */
/*
 * Helpers that the checks share: findings, paths and counts.
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gover-ctl/doctor/finding.h"
#include "gover-ctl/field.h"
#include "gover-d/config/config.h"

void doctor_find(struct doctor_finding *finding, enum doctor_state state, const char *advice,
		 const char *format, ...)
{
	va_list ap;

	finding->state = state;
	snprintf(finding->advice, sizeof(finding->advice), "%s", advice);
	va_start(ap, format);
	vsnprintf(finding->text, sizeof(finding->text), format, ap);
	va_end(ap);
}

void doctor_advise(struct doctor_finding *finding, enum doctor_state state, const char *text,
		   const char *format, ...)
{
	va_list ap;

	finding->state = state;
	snprintf(finding->text, sizeof(finding->text), "%s", text);
	va_start(ap, format);
	vsnprintf(finding->advice, sizeof(finding->advice), format, ap);
	va_end(ap);
}

bool doctor_uses_backend(const struct doctor_input *input, const char *backend)
{
	const json_t *gpu;
	size_t i;

	for (int n = 0; !input->host && input->config && n < input->config->n_gpus; n++)
		if (strcmp(input->config->gpus[n].gpu.backend, backend) == 0)
			return true;
	json_array_foreach (json_object_get(input->host, "gpus"), i, gpu) {
		if (strcmp(field_text(gpu, "backend"), backend) == 0)
			return true;
	}
	return false;
}

void doctor_under_root(const struct doctor_input *input, const char *path, char full[PATH_MAX])
{
	snprintf(full, PATH_MAX, "%s%s", input->root, path);
}

int doctor_count(const struct doctor_input *input, const char *folder, const char *prefix)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	doctor_under_root(input, folder, path);
	dir = opendir(path);
	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	closedir(dir);
	return n;
}
