/* SPDX-License-Identifier: MIT */
/* Contexts and program builds. The time of builds is counted separately from device time. */
#include <stddef.h>

#include "compute/cl/slice.h"
#include "compute/cl/target.h"
#include "compute/tenant/clock.h"
#include "compute/tenant/gate.h"

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint n,
					     const cl_device_id *devices,
					     void(CL_CALLBACK *notify)(const char *, const void *,
								       size_t, void *),
					     void *userdata, cl_int *ret_err)
{
	(void)gate_poll();
	return target.clCreateContext(properties, n, devices, notify, userdata, ret_err);
}

static cl_context CL_API_CALL
create_context_of(const cl_context_properties *properties, cl_device_type type,
		  void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
		  void *userdata, cl_int *ret_err)
{
	(void)gate_poll();
	return target.clCreateContextFromType(properties, type, notify, userdata, ret_err);
}

/*
 * Counts only the time in which the calling thread waits: a build in the background has no known
 * end. Polls after the build, because the welcome should arrive before the program starts threads.
 */
static void count_build(uint64_t begin_ns)
{
	gate_count_build(tenant_clock_ns() - begin_ns);
	(void)gate_poll();
}

static cl_int CL_API_CALL build(cl_program program, cl_uint n, const cl_device_id *devices,
				const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
				void *userdata)
{
	uint64_t begin_ns = tenant_clock_ns();
	cl_int result = target.clBuildProgram(program, n, devices, options, notify, userdata);

	count_build(begin_ns);
	slice_note_build(program, n, devices, options);
	return result;
}

static cl_int CL_API_CALL compile(cl_program program, cl_uint n, const cl_device_id *devices,
				  const char *options, cl_uint n_headers, const cl_program *headers,
				  const char **names, void(CL_CALLBACK *notify)(cl_program, void *),
				  void *userdata)
{
	uint64_t begin_ns = tenant_clock_ns();
	cl_int result = target.clCompileProgram(program, n, devices, options, n_headers, headers,
						names, notify, userdata);

	count_build(begin_ns);
	return result;
}

static cl_program CL_API_CALL link(cl_context context, cl_uint n, const cl_device_id *devices,
				   const char *options, cl_uint n_programs,
				   const cl_program *programs,
				   void(CL_CALLBACK *notify)(cl_program, void *), void *userdata,
				   cl_int *ret_err)
{
	uint64_t begin_ns = tenant_clock_ns();
	cl_program linked = target.clLinkProgram(context, n, devices, options, n_programs, programs,
						 notify, userdata, ret_err);

	count_build(begin_ns);
	return linked;
}

void program_install(cl_icd_dispatch *table)
{
	INSTALL(table, clCreateContext, create_context);
	INSTALL(table, clCreateContextFromType, create_context_of);
	INSTALL(table, clBuildProgram, build);
	INSTALL(table, clCompileProgram, compile);
	INSTALL(table, clLinkProgram, link);
}
