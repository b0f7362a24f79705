/* SPDX-License-Identifier: MIT */
/* The search for the libraries of this package. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-ctl/shared/program.h"
#include "tests/unit/temp-folder.h"
#include "tests/unit/unit.h"

FIXTURE_ONCE(temp_folder_make, temp_folder_remove)

static const char *in_folder(const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", temp_folder, name);
	return path;
}

/* Creates a file and its parent folders. */
static void put_file(const char *name)
{
	char path[PATH_MAX], *slash;

	in_folder(name, path);
	slash = strrchr(path, '/');
	*slash = '\0';
	assert_int_equal(file_make_dirs(path), 0);
	*slash = '/';
	assert_int_equal(file_replace(path, "", 0), 0);
}

TEST(the_library_is_found_beside_the_program_or_in_its_prefix)
{
	char exe[PATH_MAX], found[PATH_MAX], wanted[PATH_MAX];
	struct err err;

	put_file("usr/bin/gover-ctl");
	in_folder("usr/bin/gover-ctl", exe);
	assert_int_equal(program_find_library(&program_library_fps, NULL, exe, found, &err),
			 -ENOENT);
	assert_non_null(strstr(err.msg, "/usr/bin/"));
	assert_non_null(strstr(err.msg, "GOVER_FPS_LIB"));

	put_file("usr/lib/gover/libgover-fps.so");
	assert_int_equal(program_find_library(&program_library_fps, NULL, exe, found, &err), 0);
	assert_string_equal(found, in_folder("usr/bin/../lib/gover/libgover-fps.so", wanted));

	put_file("usr/bin/libgover-fps.so");
	assert_int_equal(program_find_library(&program_library_fps, "", exe, found, &err), 0);
	assert_string_equal(found, in_folder("usr/bin/libgover-fps.so", wanted));

	assert_int_equal(program_find_library(&program_library_cl, NULL, exe, found, &err),
			 -ENOENT);
	assert_non_null(strstr(err.msg, "GOVER_CL_LIB"));
	put_file("usr/lib/gover/libgover-cl.so");
	assert_int_equal(program_find_library(&program_library_cl, NULL, exe, found, &err), 0);
	assert_string_equal(found, in_folder("usr/bin/../lib/gover/libgover-cl.so", wanted));
}

TEST(the_environment_overrides_the_library)
{
	char path[PATH_MAX], found[PATH_MAX];
	struct err err;

	put_file("mine.so");
	assert_int_equal(program_find_library(&program_library_fps, in_folder("mine.so", path),
					      "/nowhere/exe", found, &err),
			 0);
	assert_string_equal(found, path);
	assert_int_equal(program_find_library(&program_library_fps, in_folder("none.so", path),
					      "/nowhere/exe", found, &err),
			 -ENOENT);
	assert_non_null(strstr(err.msg, "none.so"));
}

TEST(a_path_that_breaks_ld_preload_is_rejected)
{
	static const char *const names[] = {"a b.so", "a:b.so"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char path[PATH_MAX], found[PATH_MAX];
		struct err err;

		put_file(names[i]);
		assert_int_equal(program_find_library(&program_library_fps,
						      in_folder(names[i], path), "/x", found, &err),
				 -EINVAL);
		assert_non_null(strstr(err.msg, names[i]));
	}
}
