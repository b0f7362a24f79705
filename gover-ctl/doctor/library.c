/* SPDX-License-Identifier: MIT */
/*
 * The checks of the libraries that are loaded into customers' programs. All of them are in the
 * package libgover-fps.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gover-ctl/doctor/doctor.h"
#include "gover-ctl/verb/launch.h"

#define INSTALL "sudo apt install libgover-fps"

void doctor_library_check(const struct doctor_input *input, struct finding *finding)
{
	char path[PATH_MAX];
	struct err err;

	if (launch_find_library(&launch_fps, input->library, input->exe, path, &err) < 0)
		finding_set(finding, FINDING_FAIL, INSTALL, "FPS are not measured: %s", err.msg);
	else
		finding_set(finding, FINDING_OK, "", "frames are counted by %s", path);
}

/*
 * Finds a file in the folder of the library for 64-bit programs. Returns false if this library is
 * missing, which is a finding of its own.
 */
static bool find_beside(const struct doctor_input *input, const char *name, char ret_path[PATH_MAX])
{
	char library[PATH_MAX], *slash;
	struct err err;

	if (launch_find_library(&launch_fps, input->library, input->exe, library, &err) < 0)
		return false;
	slash = strrchr(library, '/');
	if (slash)
		slash[1] = '\0';
	else
		library[0] = '\0';
	return snprintf(ret_path, PATH_MAX, "%s%s", library, name) < PATH_MAX;
}

void doctor_library32_check(const struct doctor_input *input, struct finding *finding)
{
	char path[PATH_MAX];

#ifndef __x86_64__
	finding->state = FINDING_SKIPPED; /* no 32-bit programs */
	return;
#endif
	if (!find_beside(input, "32/libgover-fps.so", path))
		finding->state = FINDING_SKIPPED;
	else if (access(path, R_OK) < 0)
		finding_set(finding, FINDING_WARN, INSTALL,
			    "frames of 32-bit programs are not counted: %s is missing", path);
	else
		finding_set(finding, FINDING_OK, "", "frames of 32-bit programs are counted by %s",
			    path);
}

/* Returns true if the Vulkan loader finds the layer. */
static bool has_manifest(const struct doctor_input *input)
{
	static const char *const folders[] = {"/usr/share", "/usr/local/share", "/etc"};
	static const char name[] = "vulkan/implicit_layer.d/gover_fps.json";
	const char *slash = strrchr(input->exe, '/');
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%.*s/../share/%s", slash ? (int)(slash - input->exe) : 0,
		     input->exe, name) < PATH_MAX &&
	    access(path, R_OK) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		if (snprintf(path, sizeof(path), "%s%s/%s", input->root, folders[i], name) <
			    PATH_MAX &&
		    access(path, R_OK) == 0)
			return true;
	return false;
}

void doctor_vulkan_check(const struct doctor_input *input, struct finding *finding)
{
	char path[PATH_MAX];

	if (!find_beside(input, "libgover-fps-layer.so", path))
		finding->state = FINDING_SKIPPED;
	else if (access(path, R_OK) < 0)
		finding_set(finding, FINDING_WARN, INSTALL,
			    "frames of Vulkan programs are not counted: %s is missing", path);
	else if (!has_manifest(input))
		finding_set(finding, FINDING_WARN, INSTALL,
			    "frames of Vulkan programs are not counted: the Vulkan loader has no "
			    "implicit_layer.d/gover_fps.json");
	else
		finding_set(finding, FINDING_OK, "", "frames of Vulkan programs are counted by %s",
			    path);
}

void doctor_layer_check(const struct doctor_input *input, struct finding *finding)
{
	char path[PATH_MAX];
	struct err err;

	if (!doctor_uses_backend(input, "lib"))
		finding->state = FINDING_SKIPPED;
	else if (launch_find_library(&launch_cl, input->layer, input->exe, path, &err) < 0)
		finding_set(finding, FINDING_FAIL, INSTALL,
			    "programs of backend lib run without control: %s", err.msg);
	else
		finding_set(finding, FINDING_OK, "", "OpenCL programs take turns through %s", path);
}
