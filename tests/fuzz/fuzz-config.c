/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes configuration files. An accepted file that is printed and read again must have the same
 * values. A rejected file must have at least one fault, an accepted file none.
 */
#include "gover-d/config/config.h"
#include "tests/fuzz/fuzz.h"

static int load_config(const void *data, size_t size, struct config *config)
{
	char path[FUZZ_PATH_MAX];
	int fd = fuzz_file(data, size, path);
	struct err err = {""};
	int r = config_load(config, path, &err);

	close(fd);
	FUZZ_CHECK(r == 0 || strncmp(err.msg, path, strlen(path)) == 0);
	return r;
}

static char *print_config(const struct config *config)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	FUZZ_CHECK(out);
	config_print(config, out);
	FUZZ_CHECK(fclose(out) == 0);
	return text;
}

static void count_fault(void *userdata, const char *file, int line, const char *text)
{
	int *n = userdata;

	FUZZ_CHECK(text[0] && line >= 0 && (file || line == 0));
	(*n)++;
}

static int count_faults(const void *data, size_t size)
{
	char path[FUZZ_PATH_MAX];
	int n = 0, returned, fd = fuzz_file(data, size, path);

	returned = config_find_faults(
		path, &(struct config_faults){.userdata = &n, .fault = count_fault});
	close(fd);
	FUZZ_CHECK(returned == n);
	return n;
}

FUZZ(config)
{
	static struct config config, again; /* static: too large for the stack */
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FREE char *text_again = NULL;
	struct err err = {""};

	config_default(&config);
	if (load_config(data, size, &config) < 0) {
		FUZZ_CHECK(count_faults(data, size) > 0);
		return 0;
	}
	FUZZ_CHECK((count_faults(data, size) > 0) == (config_check(&config, &err) < 0));
	text = print_config(&config);
	config_default(&again);
	FUZZ_CHECK(load_config(text, strlen(text), &again) == 0);
	text_again = print_config(&again);
	FUZZ_CHECK(strcmp(text, text_again) == 0);
	FUZZ_CHECK(config_check(&config, &err) == config_check(&again, NULL));
	return 0;
}
