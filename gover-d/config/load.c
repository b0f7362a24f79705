/* SPDX-License-Identifier: MIT */
/*
 * Reads a configuration file and its drop-ins. Must never change the configuration it was given
 * unless all of them are good.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/inifile.h"
#include "gover-d/config/table.h"

#define FILE_BYTES_MAX (256 * 1024)

struct loader {
	struct config *config;
	bool gpu_seen;	  /* the file's own GPUs have replaced those before */
	bool flavor_seen; /* the same of its flavours */
	int file;	  /* which is read: 1 the first */
	int gpu_file[GPUS_MAX], flavor_file[FLAVORS_MAX]; /* in which each came last */
	const char *path;				  /* of that file */
	char title[ID_MAX + sizeof("flavor ")];		  /* of the section that is read */
	const struct config_watch *watch;		  /* NULL: nobody */
};

/* Notes that the section in @of has come in this file. False: for the second time. */
static bool note_file(const struct loader *l, int *of)
{
	bool again = *of == l->file;

	*of = l->file;
	return !again;
}

static int enter_gpu(struct loader *l, const char *name, void **ret_base, struct err *reterr)
{
	struct config *config = l->config;

	if (!id_valid(name))
		return err_fail(reterr, EINVAL,
				"[gpu %.70s]: a GPU's name is 1 to 63 of A-Z a-z 0-9 . _ - and "
				"begins with neither . nor -",
				name);
	if (!l->gpu_seen)
		config->n_gpus = 0;
	l->gpu_seen = true;
	for (int g = 0; g < config->n_gpus; g++) {
		if (strcmp(config->gpus[g].gpu.name, name) != 0)
			continue;
		*ret_base = &config->gpus[g];
		if (note_file(l, &l->gpu_file[g]))
			return 0;
		return err_fail(reterr, EINVAL, "[gpu %s] is given twice", name);
	}
	if (config->n_gpus == GPUS_MAX)
		return err_fail(reterr, EINVAL, "[gpu %s]: at most %d GPUs are allowed", name,
				GPUS_MAX);
	l->gpu_file[config->n_gpus] = l->file;
	*ret_base = &config->gpus[config->n_gpus++];
	config_table_default_gpu(*ret_base, name);
	return 0;
}

static int enter_flavor(struct loader *l, const char *name, void **ret_base, struct err *reterr)
{
	struct config *config = l->config;

	if (!id_valid(name))
		return err_fail(reterr, EINVAL,
				"[flavor %.70s]: a flavour's name is 1 to 63 of A-Z a-z 0-9 . _ - "
				"and begins with neither . nor -",
				name);
	if (!l->flavor_seen)
		config->n_flavors = 0;
	l->flavor_seen = true;
	for (int i = 0; i < config->n_flavors; i++) {
		if (strcmp(config->flavors[i].name, name) != 0)
			continue;
		*ret_base = &config->flavors[i];
		if (note_file(l, &l->flavor_file[i]))
			return 0;
		return err_fail(reterr, EINVAL, "[flavor %s] is given twice", name);
	}
	if (config->n_flavors == FLAVORS_MAX)
		return err_fail(reterr, EINVAL,
				"[flavor %s]: at most %d sections of flavours are allowed", name,
				FLAVORS_MAX);
	l->flavor_file[config->n_flavors] = l->file;
	*ret_base = &config->flavors[config->n_flavors++];
	config_table_default_flavor(*ret_base, name);
	return 0;
}

static int enter_section(void *userdata, const struct setting *first, const char *name, int line,
			 void **ret_base, struct err *reterr)
{
	struct loader *l = userdata;
	const char *section = first->section;
	bool gpu = strcmp(section, CONFIG_GPU_SECTION) == 0;

	(void)line;
	if (gpu && name[0] == '\0')
		name = "gpu0";
	snprintf(l->title, sizeof(l->title), "%.*s%s%s", (int)strcspn(section, " "), section,
		 name ? " " : "", name ? name : "");
	if (gpu)
		return enter_gpu(l, name, ret_base, reterr);
	if (strcmp(section, CONFIG_FLAVOR_SECTION) == 0)
		return enter_flavor(l, name, ret_base, reterr);
	*ret_base = l->config;
	return 0;
}

static void tell_fault(void *userdata, int line, const char *why)
{
	const struct loader *l = userdata;

	l->watch->fault(l->watch->userdata, l->path, line, l->title, why);
}

static void tell_seen(void *userdata, const struct setting *setting, int line)
{
	const struct loader *l = userdata;

	l->watch->seen(l->watch->userdata, l->path, line, l->title, setting->key);
}

static int read_file(struct loader *l, const char *path, struct err *reterr)
{
	const struct inifile_reader reader = {
		.at = config_key_at,
		.userdata = l,
		.enter = enter_section,
		.fault = l->watch ? tell_fault : NULL,
		.seen = l->watch ? tell_seen : NULL,
	};
	struct err why = {.msg = ""};
	int r;

	l->file++;
	l->path = path;
	l->title[0] = '\0';
	if (l->watch)
		l->watch->file(l->watch->userdata, path);
	r = inifile_read(path, FILE_BYTES_MAX, &reader, &why);
	if (r < 0 && l->watch && why.msg[0]) /* of the file as a whole: "PATH: why" */
		l->watch->fault(l->watch->userdata, path, 0, "",
				why.msg + strlen(path) + strlen(": "));
	return r < 0 ? err_fail(reterr, -r, "%s", why.msg) : 0;
}

static int is_drop_in(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && dot && strcmp(dot, ".conf") == 0;
}

/* Every drop-in, be there faults in one or not where somebody watches. */
static int read_drop_ins(struct loader *l, const char *path, struct err *reterr)
{
	char folder[PATH_MAX], file[PATH_MAX + NAME_MAX + 2];
	struct dirent **entries = NULL;
	int n, r = 0;

	if (snprintf(folder, sizeof(folder), "%s.d", path) >= (int)sizeof(folder))
		return 0;
	n = scandir(folder, &entries, is_drop_in, alphasort);
	if (n < 0 && errno != ENOENT && errno != ENOTDIR) {
		n = errno;
		if (l->watch)
			l->watch->fault(l->watch->userdata, folder, 0, "", strerror(n));
		return err_fail(reterr, n, "%s: cannot be read: %s", folder, strerror(n));
	}
	for (int i = 0; i < n; i++) {
		int one = 0;

		snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name);
		if (r == 0 || l->watch)
			one = read_file(l, file, reterr);
		r = r < 0 ? r : one;
		free(entries[i]);
	}
	free(entries);
	return r;
}

int config_load_watched(struct config *config, const char *path, const struct config_watch *watch,
			struct err *reterr)
{
	const char *main_file = path ? path : CONFIG_PATH_DEFAULT;
	struct loader l = {.config = config, .watch = watch};
	int r = 0, drop_ins = 0;

	if (path || access(main_file, F_OK) == 0)
		r = read_file(&l, main_file, reterr);
	if (r == 0 || watch)
		drop_ins = read_drop_ins(&l, main_file, reterr);
	return r < 0 ? r : drop_ins;
}

int config_load(struct config *config, const char *path, struct err *reterr)
{
	CLEANUP_FREE struct config *copy = malloc(sizeof(*copy));
	int r;

	if (!copy)
		return err_fail(reterr, ENOMEM, "%s: out of memory", path ? path : "");
	*copy = *config;
	r = config_load_watched(copy, path, NULL, reterr);
	if (r < 0)
		return r;
	*config = *copy;
	return 0;
}
