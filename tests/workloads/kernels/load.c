/* SPDX-License-Identifier: MIT */
/* gover-kernels: buffers, launches, launches in flight, and comparison of results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/workloads/kernels/load.h"

void load_expect(cl_int error, const char *call)
{
	if (error == CL_SUCCESS)
		return;
	fprintf(stderr, "gover-kernels: %s: %s\n", call, device_error_name(error));
	exit(1);
}

void *load_alloc(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory) {
		fprintf(stderr, "gover-kernels: out of memory\n");
		exit(1);
	}
	return memory;
}

unsigned int load_add_buffer(struct load *load, size_t bytes, void *content)
{
	struct load_buffer *buffer = &load->buffers[load->n_buffers];
	void *initial = content ? content : load_alloc(1, bytes);
	cl_int error;

	buffer->bytes = bytes;
	buffer->mem = clCreateBuffer(load->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes,
				     initial, &error);
	load_expect(error, "clCreateBuffer");
	if (!content)
		free(initial);
	return load->n_buffers++;
}

unsigned int load_add_random(struct load *load, uint32_t n, uint32_t mask)
{
	uint32_t *content = load_alloc(n, sizeof(uint32_t));
	unsigned int buffer;

	for (uint32_t i = 0; i < n; i++)
		content[i] = load_mix(i) & mask;
	buffer = load_add_buffer(load, n * sizeof(uint32_t), content);
	free(content);
	return buffer;
}

void load_set_buffer(struct load *load, unsigned int kernel, cl_uint index, unsigned int buffer)
{
	load_expect(clSetKernelArg(load->kernels[kernel], index, sizeof(cl_mem),
				   &load->buffers[buffer].mem),
		    "clSetKernelArg");
}

void load_set_uint(struct load *load, unsigned int kernel, cl_uint index, uint32_t value)
{
	load_expect(clSetKernelArg(load->kernels[kernel], index, sizeof(value), &value),
		    "clSetKernelArg");
}

/* --- launches in flight --- */

static void add_time(struct load *load, cl_event event)
{
	cl_ulong start = 0, end = 0;

	load_expect(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start),
					    &start, NULL),
		    "clGetEventProfilingInfo");
	load_expect(
		clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL),
		"clGetEventProfilingInfo");
	load->busy_ns += end - start;
}

static void wait_oldest(struct load *load)
{
	struct flight *flight = &load->flight;
	cl_event event = flight->events[flight->first];

	load_expect(clWaitForEvents(1, &event), "clWaitForEvents");
	if (load->profile)
		add_time(load, event);
	load_expect(clReleaseEvent(event), "clReleaseEvent");
	flight->first = (flight->first + 1) % LOAD_IN_FLIGHT;
	flight->n--;
	load->done++;
}

void load_drain(struct load *load)
{
	while (load->flight.n > 0)
		wait_oldest(load);
}

static void launch(struct load *load, unsigned int kernel, cl_uint dimensions, const size_t *global,
		   const size_t *local)
{
	struct flight *flight = &load->flight;
	cl_event event;

	while (flight->n >= flight->max)
		wait_oldest(load);
	load_expect(clEnqueueNDRangeKernel(load->queue, load->kernels[kernel], dimensions, NULL,
					   global, local, 0, NULL, &event),
		    "clEnqueueNDRangeKernel");
	flight->events[(flight->first + flight->n) % LOAD_IN_FLIGHT] = event;
	flight->n++;
	/* Without a flush, a device may delay all launches until the next blocking call. */
	load_expect(clFlush(load->queue), "clFlush");
}

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

uint32_t load_side(const struct load *load)
{
	uint32_t side = 1;

	while ((side * 2) * (side * 2) <= load->local)
		side *= 2;
	return side;
}

void load_launch_1d(struct load *load, unsigned int kernel, size_t x)
{
	size_t local = load->local;
	size_t global = local > 0 ? round_up(x, local) : x;

	launch(load, kernel, 1, &global, local > 0 ? &local : NULL);
}

void load_launch_2d(struct load *load, unsigned int kernel, size_t x, size_t y)
{
	size_t side = load_side(load);
	size_t local[2] = {side, side};
	size_t global[2] = {x, y};

	if (load->local > 0) {
		global[0] = round_up(x, side);
		global[1] = round_up(y, side);
	}
	launch(load, kernel, 2, global, load->local > 0 ? local : NULL);
}

void load_launch_group(struct load *load, unsigned int kernel)
{
	size_t local = load->local;

	launch(load, kernel, 1, &local, &local);
}

/* --- results --- */

void *load_read(struct load *load, unsigned int buffer)
{
	void *content = load_alloc(1, load->buffers[buffer].bytes);

	load_expect(clEnqueueReadBuffer(load->queue, load->buffers[buffer].mem, CL_TRUE, 0,
					load->buffers[buffer].bytes, content, 0, NULL, NULL),
		    "clEnqueueReadBuffer");
	return content;
}

uint32_t load_mix(uint32_t seed)
{
	uint32_t x = seed * 0x9e3779b9u + 0x7f4a7c15u;

	x = (x ^ (x >> 16)) * 0x85ebca6bu;
	x = (x ^ (x >> 13)) * 0xc2b2ae35u;
	return x ^ (x >> 16);
}

float load_unit(uint32_t seed)
{
	return (float)(load_mix(seed) >> 8) / 16777216.0f;
}

bool load_same_uints(const char *name, const uint32_t *got, const uint32_t *expected, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (got[i] == expected[i])
			continue;
		printf("check: %s[%zu] is %u, expected %u\n", name, i, got[i], expected[i]);
		return false;
	}
	return true;
}

bool load_near_floats(const char *name, const float *got, const double *expected,
		      const double *bound, bool one_bound, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double allowed = bound[one_bound ? 0 : i];

		/* Written this way, the test also rejects NaN. */
		if (fabs((double)got[i] - expected[i]) <= allowed)
			continue;
		printf("check: %s[%zu] is %.9g, expected %.9g (allowed difference %.3g)\n", name, i,
		       (double)got[i], expected[i], allowed);
		return false;
	}
	return true;
}
