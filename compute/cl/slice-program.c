/* SPDX-License-Identifier: MIT */
/* Records of programs, and the builds of rectified programs. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compute/cl/record.h"
#include "compute/cl/slice-kind.h"
#include "compute/cl/slice-program.h"
#include "compute/cl/slice-text.h"
#include "compute/tenant/clock.h"
#include "compute/tenant/gate.h"

struct slice_program {
	struct record record;
	char *text;
	size_t size;
	pthread_mutex_t mutex; /* protects the members below */
	char *options;	       /* of the last build; NULL: the program was not built */
	cl_device_id *devices;
	cl_uint n_devices;	  /* 0: all of the context */
	cl_program twin;	  /* NULL: not built */
	const char *reason;	  /* why there is no twin; NULL: not tried */
	uintptr_t number;	  /* of the last build; no other build has it */
	struct slice_kind *kinds; /* of all builds */
};

static struct record_table programs = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static uintptr_t numbers; /* so far */

static uintptr_t new_number(void)
{
	return __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
}

static void destroy(struct slice_program *program)
{
	if (!program)
		return;
	if (program->twin)
		(void)target.clReleaseProgram(program->twin);
	while (program->kinds) {
		struct slice_kind *kind = program->kinds;

		program->kinds = kind->next;
		slice_kind_free(kind);
	}
	(void)pthread_mutex_destroy(&program->mutex);
	free(program->options);
	free(program->devices);
	free(program->text);
	free(program);
}

struct slice_program *slice_program_hold(cl_program handle)
{
	cl_record_retain(&programs, handle);
	return (struct slice_program *)cl_record_find(&programs, handle);
}

void slice_program_drop(struct slice_program *program)
{
	if (program)
		destroy((struct slice_program *)cl_record_release(&programs,
								  program->record.handle));
}

struct slice_kind *slice_program_kind(struct slice_program *program, const char *name)
{
	struct slice_kind *kind;
	uintptr_t number;

	(void)pthread_mutex_lock(&program->mutex);
	number = 2 * program->number + 1; /* odd, unlike handles */
	kind = program->kinds;
	while (kind && (kind->program != number || strcmp(kind->name, name) != 0))
		kind = kind->next;
	if (!kind) {
		kind = slice_kind_new(number, name);
		if (kind) {
			kind->next = program->kinds;
			program->kinds = kind;
		}
	}
	(void)pthread_mutex_unlock(&program->mutex);
	return kind;
}

static size_t length_of(const char *text, const size_t *lengths, cl_uint i)
{
	return lengths && lengths[i] > 0 ? lengths[i] : strlen(text);
}

/* Returns the joined source, or NULL if memory is short. */
static char *join(cl_uint n, const char **texts, const size_t *lengths, size_t *ret_size)
{
	size_t size = 0;
	char *text, *at;

	for (cl_uint i = 0; i < n; i++)
		size += length_of(texts[i], lengths, i);
	text = at = malloc(size + 1);
	for (cl_uint i = 0; text && i < n; i++) {
		size_t length = length_of(texts[i], lengths, i);

		memcpy(at, texts[i], length);
		at += length;
	}
	*ret_size = size;
	return text;
}

static cl_program CL_API_CALL create(cl_context context, cl_uint n, const char **texts,
				     const size_t *lengths, cl_int *ret_err)
{
	cl_program handle = target.clCreateProgramWithSource(context, n, texts, lengths, ret_err);
	struct slice_program *program;

	program = handle ? calloc(1, sizeof(*program)) : NULL;
	if (!program)
		return handle;
	program->text = join(n, texts, lengths, &program->size);
	program->number = new_number();
	(void)pthread_mutex_init(&program->mutex, NULL);
	if (program->text)
		cl_record_add(&programs, &program->record, handle);
	else
		destroy(program);
	return handle;
}

static cl_int CL_API_CALL retain(cl_program handle)
{
	cl_int result = target.clRetainProgram(handle);

	if (result == CL_SUCCESS)
		cl_record_retain(&programs, handle);
	return result;
}

static cl_int CL_API_CALL release(cl_program handle)
{
	destroy((struct slice_program *)cl_record_release(&programs, handle));
	return target.clReleaseProgram(handle);
}

void slice_program_note_build(cl_program handle, cl_uint n, const cl_device_id *devices,
			      const char *options)
{
	struct slice_program *program = (struct slice_program *)cl_record_find(&programs, handle);
	cl_device_id *copy;

	if (!program)
		return;
	copy = n > 0 && devices ? malloc(n * sizeof(*copy)) : NULL;
	if (copy)
		memcpy(copy, devices, n * sizeof(*copy));
	(void)pthread_mutex_lock(&program->mutex);
	if (program->twin)
		(void)target.clReleaseProgram(program->twin);
	program->twin = NULL;
	program->reason = NULL;
	program->number = new_number();
	free(program->options);
	program->options = strdup(options ? options : "");
	free(program->devices);
	program->devices = copy;
	program->n_devices = copy ? n : 0;
	(void)pthread_mutex_unlock(&program->mutex);
}

/* Returns true if the target says that variables of the program live longer than a launch. */
static bool has_variables(cl_program twin)
{
	cl_device_id device;
	size_t size = 0;

	return target.clGetProgramInfo(twin, CL_PROGRAM_DEVICES, 0, NULL, &size) == CL_SUCCESS &&
	       size == sizeof(device) &&
	       target.clGetProgramInfo(twin, CL_PROGRAM_DEVICES, size, &device, NULL) ==
		       CL_SUCCESS &&
	       target.clGetProgramBuildInfo(twin, device,
					    CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
					    sizeof(size), &size, NULL) == CL_SUCCESS &&
	       size > 0;
}

/* Builds the twin from @text. Returns NULL, or the reason for a failure. */
static const char *build(struct slice_program *program, const char *text)
{
	cl_context context;
	cl_program twin;

	if (target.clGetProgramInfo((cl_program)(uintptr_t)program->record.handle,
				    CL_PROGRAM_CONTEXT, sizeof(context), &context,
				    NULL) != CL_SUCCESS)
		return "its context is not known";
	twin = target.clCreateProgramWithSource(context, 1, &text, NULL, NULL);
	if (!twin)
		return "its rectified source was refused";
	if (target.clBuildProgram(twin, program->n_devices, program->devices, program->options,
				  NULL, NULL) != CL_SUCCESS) {
		(void)target.clReleaseProgram(twin);
		return "its rectified source does not compile";
	}
	if (has_variables(twin)) {
		(void)target.clReleaseProgram(twin);
		return slice_text_reason(SLICE_TEXT_VARIABLE);
	}
	program->twin = twin;
	return NULL;
}

static const char *make_twin(struct slice_program *program)
{
	uint64_t begin_ns = tenant_clock_ns();
	enum slice_text check;
	const char *reason;
	char *text;

	if (!program->options)
		return "its program was compiled and linked in parts";
	check = slice_text_check(program->text, program->size);
	if (check != SLICE_TEXT_OK && check != SLICE_TEXT_VARIABLE)
		return slice_text_reason(check);
	text = slice_text_rectify(program->text, program->size, check);
	if (!text)
		return "memory is short";
	reason = build(program, text);
	if (reason && check == SLICE_TEXT_VARIABLE)
		reason = slice_text_reason(check);
	free(text);
	gate_count_build(tenant_clock_ns() - begin_ns);
	return reason;
}

cl_program slice_program_twin(struct slice_program *program, const char **ret_reason)
{
	cl_program twin;

	(void)pthread_mutex_lock(&program->mutex);
	if (!program->twin && !program->reason)
		program->reason = make_twin(program);
	twin = program->twin;
	*ret_reason = program->reason;
	(void)pthread_mutex_unlock(&program->mutex);
	return twin;
}

void slice_program_install(cl_icd_dispatch *table)
{
	INSTALL(table, clCreateProgramWithSource, create);
	INSTALL(table, clRetainProgram, retain);
	INSTALL(table, clReleaseProgram, release);
}
