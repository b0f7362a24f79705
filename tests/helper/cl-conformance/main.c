/* SPDX-License-Identifier: MIT */
/*
 * cl-conformance [--list] [SECTION...]: prints the transcript of all or of the named sections. The
 * variable CL_DEVICE selects the device, as in gover-kernels.
 *
 * A section that does not end within five minutes ends the program.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/helper/cl-conformance/conform.h"

#define LIMIT_S	  300
#define SETTLE_MS 5000

static const struct section sections[] = {
	{"map", section_map},
	{"errors", section_errors},
	{"creation", section_creation},
	{"events", section_events},
	{"callbacks", section_callbacks},
	{"order", section_order},
	{"buffers", section_buffers},
	{"kernels", section_kernels},
	{"threads", section_threads},
	{"programs", section_programs},
	{"objects", section_objects},
	{"memory", section_memory},
};

#define N_SECTIONS (sizeof(sections) / sizeof(sections[0]))

/* Each dimension is a constant: PoCL 7.1 runs no kernel that calls get_group_id(variable). */
static const char source[] =
	"__kernel void fill(__global int *out, int value) { out[get_global_id(0)] = value; }\n"
	"__kernel void add(__global int *data, int value) { data[get_global_id(0)] += value; }\n"
	"__kernel void slow(__global int *out, int value, int loops)\n"
	"{\n"
	"	uint x = get_global_id(0) + 1;\n"
	"	for (int i = 0; i < loops; i++)\n"
	"		x = x * 1664525u + 1013904223u + (x >> 16);\n"
	"	out[get_global_id(0)] = x == 1 ? value + 1 : value;\n"
	"}\n"
	"#define ADD(d) atomic_add(&out[d], (int)get_global_id(d)); \\\n"
	"	atomic_add(&out[3 + d], (int)get_global_offset(d)); \\\n"
	"	atomic_add(&out[6 + d], (int)get_global_size(d)); \\\n"
	"	atomic_add(&out[9 + d], (int)get_local_id(d)); \\\n"
	"	atomic_add(&out[12 + d], (int)get_group_id(d)); \\\n"
	"	atomic_add(&out[15 + d], (int)get_num_groups(d))\n"
	"__kernel void ids(__global int *out)\n"
	"{\n"
	"	ADD(0);\n"
	"	ADD(1);\n"
	"	ADD(2);\n"
	"	atomic_inc(&out[18]);\n"
	"	out[19] = get_work_dim();\n"
	"	out[20] = get_local_size(0) * get_local_size(1) * get_local_size(2);\n"
	"}\n";

static void on_alarm(int number)
{
	static const char text[] = "\ncannot go on: the section did not end\n";

	(void)number;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(4);
	_exit(3);
}

static cl_kernel make_kernel(struct bed *bed, const char *name)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(bed->program, name, &error);

	must(error, "clCreateKernel");
	return kernel;
}

static void make_bed(struct bed *bed)
{
	const char *text = source;
	char message[256];
	cl_int error;

	if (device_choose(getenv("CL_DEVICE"), &bed->platform, &bed->device, message,
			  sizeof(message)) != 0) {
		fprintf(stderr, "cl-conformance: %s\n", message);
		exit(1);
	}
	bed->context = clCreateContext(NULL, 1, &bed->device, NULL, NULL, &error);
	must(error, "clCreateContext");
	bed->queue = new_queue(bed, CL_QUEUE_PROFILING_ENABLE);
	bed->program = clCreateProgramWithSource(bed->context, 1, &text, NULL, &error);
	must(error, "clCreateProgramWithSource");
	must(clBuildProgram(bed->program, 1, &bed->device, "-cl-kernel-arg-info", NULL, NULL),
	     "clBuildProgram");
	bed->fill = make_kernel(bed, "fill");
	bed->add = make_kernel(bed, "add");
	bed->slow = make_kernel(bed, "slow");
	bed->ids = make_kernel(bed, "ids");
	bed->buffer = new_buffer(bed);
	bed->other = new_buffer(bed);
}

/*
 * Prints whether only the application has a reference to the object. A device may release its
 * references some time after the commands that use the object.
 */
static void say_references(const char *what, enum kind kind, void *object)
{
	for (unsigned int i = 0;
	     i < SETTLE_MS && i < patience_ms() && references(kind, object) != 1; i++)
		sleep_ms(1);
	say("only reference to the %s: %s", what, yes(references(kind, object) == 1));
}

static void free_bed(struct bed *bed)
{
	must(clFinish(bed->queue), "clFinish");
	must(clReleaseCommandQueue(bed->queue), "clReleaseCommandQueue");
	say_references("buffer", BUFFER, bed->buffer);
	must(clReleaseMemObject(bed->buffer), "clReleaseMemObject");
	must(clReleaseMemObject(bed->other), "clReleaseMemObject");
	say_references("kernel", KERNEL, bed->fill);
	must(clReleaseKernel(bed->fill), "clReleaseKernel");
	must(clReleaseKernel(bed->add), "clReleaseKernel");
	must(clReleaseKernel(bed->slow), "clReleaseKernel");
	must(clReleaseKernel(bed->ids), "clReleaseKernel");
	say_references("program", PROGRAM, bed->program);
	must(clReleaseProgram(bed->program), "clReleaseProgram");
	say_references("context", CONTEXT, bed->context);
	must(clReleaseContext(bed->context), "clReleaseContext");
}

static void run(const struct section *section)
{
	struct bed bed = {0};

	(void)alarm(LIMIT_S);
	say("== %s", section->name);
	make_bed(&bed);
	section->run(&bed);
	free_bed(&bed);
	(void)alarm(0);
}

static const struct section *find(const char *name)
{
	for (size_t i = 0; i < N_SECTIONS; i++)
		if (strcmp(sections[i].name, name) == 0)
			return &sections[i];
	return NULL;
}

int main(int argc, char **argv)
{
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)signal(SIGALRM, on_alarm);
	for (size_t i = 0; i < N_SECTIONS && argc < 2; i++)
		run(&sections[i]);
	for (int i = 1; i < argc; i++) {
		const struct section *section = find(argv[i]);

		if (strcmp(argv[i], "--list") == 0) {
			for (size_t j = 0; j < N_SECTIONS; j++)
				printf("%s\n", sections[j].name);
		} else if (section) {
			run(section);
		} else {
			fprintf(stderr, "cl-conformance: section '%s': not found (see --list)\n",
				argv[i]);
			return 2;
		}
	}
	if (argc < 2)
		say("== end");
	return 0;
}
