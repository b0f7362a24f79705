/* SPDX-License-Identifier: MIT */
/* `config check`: reads a configuration as gover-d does and prints all faults. Needs no daemon. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gover-ctl/verb/verbs.h"
#include "gover-d/config/config.h"

struct check {
	const struct writer *writer;
	json_t *files, *faults;
	int n_files;
};

static void take_file(void *userdata, const char *file)
{
	struct check *check = userdata;

	check->n_files++;
	(void)json_array_append_new(check->files, json_string(file));
}

static void take_fault(void *userdata, const char *file, int line, const char *text)
{
	struct check *check = userdata;

	(void)json_array_append_new(check->faults,
				    json_pack("{s:s?, s:o, s:s}", "file", file, "line",
					      line > 0 ? json_integer(line) : json_null(), "text",
					      text));
	if (check->writer->json)
		return;
	if (file && line > 0)
		(void)ctl_fail(CTL_FAILED, "%s:%d: %s", file, line, text);
	else if (file)
		(void)ctl_fail(CTL_FAILED, "%s: %s", file, text);
	else
		(void)ctl_fail(CTL_FAILED, "%s", text);
}

static void print_good(const struct check *check, const char *path)
{
	if (check->n_files == 0)
		writer_line(check->writer,
			    "%s: no such file, and no drop-ins: gover-d starts with its defaults",
			    path);
	else if (check->n_files == 1)
		writer_line(check->writer, "%s: valid",
			    json_string_value(json_array_get(check->files, 0)));
	else
		writer_line(check->writer, "%s: valid, with the drop-ins in %s.d", path, path);
}

enum ctl_exit verb_config_check(struct ctl *ctl, const struct args *args)
{
	const char *path = args->n_words > 0 ? args->words[0] : NULL;
	struct check check = {
		.writer = &ctl->writer, .files = json_array(), .faults = json_array()};
	const struct config_faults faults = {
		.userdata = &check, .file = take_file, .fault = take_fault};
	int n = config_find_faults(path, &faults);
	json_t *answer = json_pack("{s:b, s:o, s:o}", "ok", n == 0, "files", check.files, "faults",
				   check.faults);

	if (n < 0 || !answer)
		n = (int)ctl_fail_memory();
	else if (ctl->writer.json)
		writer_json(&ctl->writer, answer);
	else if (n == 0)
		print_good(&check, path ? path : CONFIG_PATH_DEFAULT);
	json_decref(answer);
	return n == 0 ? CTL_DONE : CTL_FAILED;
}
