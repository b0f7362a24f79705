/* SPDX-License-Identifier: MIT */
/*
 * Contexts, builds of programs and launches of kernels. The time of builds is counted separately
 * from device time. Launches are the work units of the application. cl_khr_command_buffer, which
 * the loader's table does not contain, submits work too, and a command buffer counts as one work
 * unit. gover-slice.h is our own extension.
 */
#include <stddef.h>
#include <string.h>

#include "compute/cl/slice.h"
#include "compute/cl/submit.h"
#include "compute/cl/target.h"
#include "compute/tenant/clock.h"
#include "compute/tenant/gate.h"

#include "compute/cl/gover-slice.h" /* after target.h, which selects the version */

static uint64_t work_items(cl_uint dimensions, const size_t *global)
{
	uint64_t n = 1;

	if (dimensions > 3) /* an error, and @global may be shorter */
		return 0;
	for (cl_uint i = 0; global && i < dimensions; i++)
		n *= global[i];
	return n;
}

/* Apart from launch(), so that launch() needs no stack and jumps to the target. */
static __attribute__((noinline)) cl_int launch_in_turn(cl_command_queue queue, cl_kernel kernel,
						       cl_uint dimensions, const size_t *offset,
						       const size_t *global, const size_t *local,
						       cl_uint n, const cl_event *list,
						       cl_event *event)
{
	const struct slice_call call = {queue, kernel, dimensions, offset, global,
					local, n,      list,	   event,  slice_id(kernel)};
	uint64_t items = work_items(dimensions, global);
	struct submission s;
	cl_int result;

	if (slice_is_wanted(&call, items) && slice_launch(&call, items, &result))
		return result;
	submit_begin(&s, queue, call.id, items, true, n, list, event);
	return submit_end(&s, target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset,
							    global, local, n, list, s.event));
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
				 const size_t *offset, const size_t *global, const size_t *local,
				 cl_uint n, const cl_event *list, cl_event *event)
{
	if (submit_passes_freely())
		return target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
						     local, n, list, event);
	return launch_in_turn(queue, kernel, dimensions, offset, global, local, n, list, event);
}

static cl_int CL_API_CALL launch_task(cl_command_queue queue, cl_kernel kernel, cl_uint n,
				      const cl_event *list, cl_event *event)
{
	struct submission s;

	submit_begin(&s, queue, slice_id(kernel), 1, true, n, list, event);
	return submit_end(&s, target.clEnqueueTask(queue, kernel, n, list, s.event));
}

/* A function of the program that runs on the device's queue: no work unit. */
static cl_int CL_API_CALL launch_native(cl_command_queue queue, void(CL_CALLBACK *function)(void *),
					void *arguments, size_t size, cl_uint n_memory,
					const cl_mem *memory, const void **locations, cl_uint n,
					const cl_event *list, cl_event *event)
{
	struct submission s;

	submit_begin(&s, queue, submit_object(SUBMIT_NATIVE), size, false, n, list, event);
	return submit_end(&s,
			  target.clEnqueueNativeKernel(queue, function, arguments, size, n_memory,
						       memory, locations, n, list, s.event));
}

typedef cl_int(CL_API_CALL *enqueue_fn)(cl_uint n_queues, cl_command_queue *queues, void *commands,
					cl_uint n, const cl_event *list, cl_event *event);

/* The function of the last query. A function of the loader works for all platforms. */
static enqueue_fn enqueue_commands;

/* Counts on the first queue only: a command buffer of PoCL or NVIDIA has one queue. */
static cl_int CL_API_CALL launch_commands(cl_uint n_queues, cl_command_queue *queues,
					  void *commands, cl_uint n, const cl_event *list,
					  cl_event *event)
{
	enqueue_fn enqueue = __atomic_load_n(&enqueue_commands, __ATOMIC_ACQUIRE);
	struct submission s;

	/* Without queues, the command buffer uses those of its creation, which are not recorded. */
	if (n_queues == 0 || !queues)
		return enqueue(n_queues, queues, commands, n, list, event);
	submit_begin(&s, queues[0], commands, 0, true, n, list, event);
	return submit_end(&s, enqueue(n_queues, queues, commands, n, list, s.event));
}

static void *replace(const char *name, void *found)
{
	if (!found && name && slice_is_on() && strcmp(name, GOVER_SLICE_FUNCTION) == 0)
		return (void *)slice_declare;
	if (!found || !name || strcmp(name, "clEnqueueCommandBufferKHR") != 0)
		return found;
	__atomic_store_n(&enqueue_commands, (enqueue_fn)found, __ATOMIC_RELEASE);
	return (void *)launch_commands;
}

static void *CL_API_CALL get_address(const char *name)
{
	return replace(name, target.clGetExtensionFunctionAddress(name));
}

static void *CL_API_CALL get_address_for(cl_platform_id platform, const char *name)
{
	return replace(name, target.clGetExtensionFunctionAddressForPlatform(platform, name));
}

/* --- contexts and builds --- */

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

void kernel_install(cl_icd_dispatch *table)
{
	INSTALL(table, clCreateContext, create_context);
	INSTALL(table, clCreateContextFromType, create_context_of);
	INSTALL(table, clBuildProgram, build);
	INSTALL(table, clCompileProgram, compile);
	INSTALL(table, clLinkProgram, link);
	INSTALL(table, clEnqueueNDRangeKernel, launch);
	INSTALL(table, clEnqueueTask, launch_task);
	INSTALL(table, clEnqueueNativeKernel, launch_native);
	INSTALL(table, clGetExtensionFunctionAddress, get_address);
	INSTALL(table, clGetExtensionFunctionAddressForPlatform, get_address_for);
}
