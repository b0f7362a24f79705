/* SPDX-License-Identifier: MIT */
/*
 * Programs. A build finds the kernels in the source and nothing else. The binary of a program is
 * its source behind a line of text.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/double/api.h"

static const char binary_head[] = "gover-double binary 1\n";

static void destroy(void *object)
{
	cl_program program = object;

	object_unhold(program->context);
	free(program->text);
	free(program->options);
	free(program->source);
	free(program);
}

/* Makes a program of @text, which it takes. */
static cl_program new_program(cl_context context, char *text, size_t size, cl_int *ret_code)
{
	cl_program program = calloc(1, sizeof(*program));
	struct source *source = calloc(1, sizeof(*source));

	if (!program || !source) {
		free(program);
		free(source);
		free(text);
		return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
	}
	object_init(&program->object, OBJECT_PROGRAM, destroy);
	object_hold(context);
	program->context = context;
	program->text = text;
	program->size = size;
	program->source = source;
	program->status = CL_BUILD_NONE;
	program->type = CL_PROGRAM_BINARY_TYPE_NONE;
	return result(program, CL_SUCCESS, ret_code);
}

static size_t length_of(const char *text, const size_t *lengths, cl_uint i)
{
	return lengths && lengths[i] > 0 ? lengths[i] : strlen(text);
}

cl_program double_clCreateProgramWithSource(cl_context context, cl_uint n, const char **texts,
					    const size_t *lengths, cl_int *ret_code)
{
	size_t size = 0;
	char *text, *end;

	if (!object_is(context, OBJECT_CONTEXT))
		return result(NULL, CL_INVALID_CONTEXT, ret_code);
	if (n == 0 || !texts)
		return result(NULL, CL_INVALID_VALUE, ret_code);
	for (cl_uint i = 0; i < n; i++) {
		if (!texts[i])
			return result(NULL, CL_INVALID_VALUE, ret_code);
		size += length_of(texts[i], lengths, i);
	}
	text = malloc(size + 1);
	if (!text)
		return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
	end = text;
	for (cl_uint i = 0; i < n; i++) {
		memcpy(end, texts[i], length_of(texts[i], lengths, i));
		end += length_of(texts[i], lengths, i);
	}
	*end = '\0';
	return new_program(context, text, size, ret_code);
}

cl_program double_clCreateProgramWithBinary(cl_context context, cl_uint n,
					    const cl_device_id *devices, const size_t *sizes,
					    const unsigned char **binaries, cl_int *ret_status,
					    cl_int *ret_code)
{
	size_t head = sizeof(binary_head) - 1, size;
	cl_program program;
	char *text;

	if (!object_is(context, OBJECT_CONTEXT))
		return result(NULL, CL_INVALID_CONTEXT, ret_code);
	if (n != 1 || !devices || !sizes || !binaries || !binaries[0] || sizes[0] == 0)
		return result(NULL, CL_INVALID_VALUE, ret_code);
	if (devices[0] != &double_device)
		return result(NULL, CL_INVALID_DEVICE, ret_code);
	if (sizes[0] < head || memcmp(binaries[0], binary_head, head) != 0) {
		if (ret_status)
			*ret_status = CL_INVALID_BINARY;
		return result(NULL, CL_INVALID_BINARY, ret_code);
	}
	size = sizes[0] - head;
	text = malloc(size + 1);
	if (!text)
		return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
	memcpy(text, binaries[0] + head, size);
	text[size] = '\0';
	program = new_program(context, text, size, ret_code);
	if (program)
		program->type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
	if (program && ret_status)
		*ret_status = CL_SUCCESS;
	return program;
}

cl_program double_clCreateProgramWithBuiltInKernels(cl_context context, cl_uint n,
						    const cl_device_id *devices, const char *names,
						    cl_int *ret_code)
{
	(void)n;
	(void)devices;
	(void)names;
	return result(NULL,
		      object_is(context, OBJECT_CONTEXT) ? CL_INVALID_VALUE : CL_INVALID_CONTEXT,
		      ret_code);
}

DOUBLE_REFERENCES(Program, cl_program, OBJECT_PROGRAM, CL_INVALID_PROGRAM)

static cl_int check_build(cl_program program, cl_uint n, const cl_device_id *devices,
			  const void *notify, const void *data)
{
	if (!object_is(program, OBJECT_PROGRAM))
		return CL_INVALID_PROGRAM;
	if ((n == 0) != (devices == NULL) || (!notify && data))
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < n; i++) {
		if (devices[i] != &double_device)
			return CL_INVALID_DEVICE;
	}
	return atomic_load(&program->kernels) > 0 ? CL_INVALID_OPERATION : CL_SUCCESS;
}

/* Every option begins with '-' or is the value of the one before it. */
static bool are_options(const char *options)
{
	return options[strspn(options, " ")] == '\0' || options[strspn(options, " ")] == '-';
}

static cl_int build(cl_program program, const char *options, cl_program_binary_type type,
		    cl_int failure)
{
	struct duration duration = {0};
	char *copy;
	int has_duration;

	options = options ? options : "";
	has_duration = duration_of_options(options, &duration);
	if (!are_options(options) || has_duration < 0)
		return failure == CL_BUILD_PROGRAM_FAILURE ? CL_INVALID_BUILD_OPTIONS
							   : CL_INVALID_COMPILER_OPTIONS;
	copy = strdup(options);
	if (!copy)
		return CL_OUT_OF_HOST_MEMORY;
	free(program->options);
	program->options = copy;
	program->duration = duration;
	program->has_duration = has_duration > 0;
	if (source_parse(program->text, program->size, program->source) < 0) {
		program->status = CL_BUILD_ERROR;
		program->type = CL_PROGRAM_BINARY_TYPE_NONE;
		return failure;
	}
	program->status = CL_BUILD_SUCCESS;
	program->type = type;
	return CL_SUCCESS;
}

cl_int double_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
			     const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
			     void *data)
{
	cl_int code = check_build(program, n, devices, notify ? &code : NULL, data);

	if (code != CL_SUCCESS)
		return code;
	code = build(program, options, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, CL_BUILD_PROGRAM_FAILURE);
	if (notify)
		notify(program, data);
	return code;
}

cl_int double_clCompileProgram(cl_program program, cl_uint n, const cl_device_id *devices,
			       const char *options, cl_uint n_headers, const cl_program *headers,
			       const char **names, void(CL_CALLBACK *notify)(cl_program, void *),
			       void *data)
{
	cl_int code = check_build(program, n, devices, notify ? &code : NULL, data);

	if (code == CL_SUCCESS &&
	    ((n_headers == 0) != (headers == NULL) || (n_headers == 0) != (names == NULL)))
		code = CL_INVALID_VALUE;
	if (code != CL_SUCCESS)
		return code;
	code = build(program, options, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
		     CL_COMPILE_PROGRAM_FAILURE);
	if (notify)
		notify(program, data);
	return code;
}

/* Joins the sources of @programs. Returns NULL if memory is short. */
static char *join(const cl_program *programs, cl_uint n, size_t *ret_size)
{
	size_t size = 0;
	char *text, *end;

	for (cl_uint i = 0; i < n; i++)
		size += programs[i]->size + 1;
	text = end = malloc(size + 1);
	if (!text)
		return NULL;
	for (cl_uint i = 0; i < n; i++) {
		memcpy(end, programs[i]->text, programs[i]->size);
		end += programs[i]->size;
		*end++ = '\n';
	}
	*end = '\0';
	*ret_size = size;
	return text;
}

cl_program double_clLinkProgram(cl_context context, cl_uint n, const cl_device_id *devices,
				const char *options, cl_uint n_programs, const cl_program *programs,
				void(CL_CALLBACK *notify)(cl_program, void *), void *data,
				cl_int *ret_code)
{
	cl_program program;
	size_t size;
	char *text;
	cl_int code;

	if (!object_is(context, OBJECT_CONTEXT))
		return result(NULL, CL_INVALID_CONTEXT, ret_code);
	if ((n == 0) != (devices == NULL) || n_programs == 0 || !programs || (!notify && data))
		return result(NULL, CL_INVALID_VALUE, ret_code);
	for (cl_uint i = 0; i < n_programs; i++) {
		if (!object_is(programs[i], OBJECT_PROGRAM))
			return result(NULL, CL_INVALID_PROGRAM, ret_code);
		if (programs[i]->status != CL_BUILD_SUCCESS)
			return result(NULL, CL_INVALID_OPERATION, ret_code);
	}
	text = join(programs, n_programs, &size);
	if (!text)
		return result(NULL, CL_OUT_OF_HOST_MEMORY, ret_code);
	program = new_program(context, text, size, ret_code);
	if (!program)
		return NULL;
	code = build(program, options, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, CL_LINK_PROGRAM_FAILURE);
	if (code == CL_SUCCESS && !program->has_duration) {
		program->duration = programs[0]->duration;
		program->has_duration = programs[0]->has_duration;
	}
	if (notify)
		notify(program, data);
	return result(program, code, ret_code);
}

cl_int double_clUnloadCompiler(void)
{
	return CL_SUCCESS;
}

cl_int double_clUnloadPlatformCompiler(cl_platform_id platform)
{
	return platform == &double_platform ? CL_SUCCESS : CL_INVALID_PLATFORM;
}

static cl_int get_names(cl_program program, size_t room, void *value, size_t *ret_size)
{
	const struct source *source = program->source;
	char *names = calloc(source->n_kernels + 1, SOURCE_NAME);
	cl_int code;

	if (!names)
		return CL_OUT_OF_HOST_MEMORY;
	for (unsigned i = 0; i < source->n_kernels; i++) {
		if (i > 0)
			strcat(names, ";");
		strcat(names, source->kernels[i].name);
	}
	code = info_string(names, room, value, ret_size);
	free(names);
	return code;
}

static size_t binary_size(cl_program program)
{
	return program->status == CL_BUILD_SUCCESS ? sizeof(binary_head) - 1 + program->size : 0;
}

/* The value is one pointer to room for the binary. */
static cl_int get_binaries(cl_program program, size_t room, void *value, size_t *ret_size)
{
	unsigned char *binary;

	if (ret_size)
		*ret_size = sizeof(binary);
	if (!value)
		return CL_SUCCESS;
	if (room < sizeof(binary))
		return CL_INVALID_VALUE;
	memcpy(&binary, value, sizeof(binary));
	if (!binary || binary_size(program) == 0)
		return CL_SUCCESS;
	memcpy(binary, binary_head, sizeof(binary_head) - 1);
	memcpy(binary + sizeof(binary_head) - 1, program->text, program->size);
	return CL_SUCCESS;
}

cl_int double_clGetProgramInfo(cl_program program, cl_program_info name, size_t room, void *value,
			       size_t *ret_size)
{
	if (!object_is(program, OBJECT_PROGRAM))
		return CL_INVALID_PROGRAM;
	switch (name) {
	case CL_PROGRAM_REFERENCE_COUNT:
		return INFO(cl_uint, object_references(program), room, value, ret_size);
	case CL_PROGRAM_CONTEXT:
		return INFO(cl_context, program->context, room, value, ret_size);
	case CL_PROGRAM_NUM_DEVICES:
		return INFO(cl_uint, 1, room, value, ret_size);
	case CL_PROGRAM_DEVICES:
		return INFO(cl_device_id, &double_device, room, value, ret_size);
	case CL_PROGRAM_SOURCE:
		return info_string(program->text, room, value, ret_size);
	case CL_PROGRAM_BINARY_SIZES:
		return INFO(size_t, binary_size(program), room, value, ret_size);
	case CL_PROGRAM_BINARIES:
		return get_binaries(program, room, value, ret_size);
	case CL_PROGRAM_NUM_KERNELS:
	case CL_PROGRAM_KERNEL_NAMES:
		if (program->status != CL_BUILD_SUCCESS)
			return CL_INVALID_PROGRAM_EXECUTABLE;
		if (name == CL_PROGRAM_KERNEL_NAMES)
			return get_names(program, room, value, ret_size);
		return INFO(size_t, program->source->n_kernels, room, value, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}

cl_int double_clGetProgramBuildInfo(cl_program program, cl_device_id device,
				    cl_program_build_info name, size_t room, void *value,
				    size_t *ret_size)
{
	if (!object_is(program, OBJECT_PROGRAM))
		return CL_INVALID_PROGRAM;
	if (device != &double_device)
		return CL_INVALID_DEVICE;
	switch (name) {
	case CL_PROGRAM_BUILD_STATUS:
		return INFO(cl_build_status, program->status, room, value, ret_size);
	case CL_PROGRAM_BUILD_OPTIONS:
		return info_string(program->options ? program->options : "", room, value, ret_size);
	case CL_PROGRAM_BUILD_LOG:
		return info_string(program->source->log, room, value, ret_size);
	case CL_PROGRAM_BINARY_TYPE:
		return INFO(cl_program_binary_type, program->type, room, value, ret_size);
	default:
		return CL_INVALID_VALUE;
	}
}
