/* SPDX-License-Identifier: MIT */
/* Shared virtual memory and images, if the device has them. */
#include "tests/helper/cl-conformance/conform.h"

#define SIDE 16

/* --- shared virtual memory --- */

static void svm_launch(struct bed *bed, void *memory, cl_int value, struct gate *gate)
{
	size_t global = N;

	must(clSetKernelArgSVMPointer(bed->fill, 0, memory), "clSetKernelArgSVMPointer");
	must(clSetKernelArg(bed->fill, 1, sizeof(value), &value), "clSetKernelArg");
	must(clEnqueueNDRangeKernel(bed->queue, bed->fill, 1, NULL, &global, NULL, gate ? 1 : 0,
				    gate ? gate_event(gate) : NULL, NULL),
	     "clEnqueueNDRangeKernel");
}

static void svm_blocking(struct bed *bed, cl_int *memory)
{
	static cl_int copy[N];
	struct gate *gate = gate_new(bed);

	svm_launch(bed, memory, 71, gate);
	gate_open_after(gate, 100);
	code("blocking svm map",
	     clEnqueueSVMMap(bed->queue, CL_TRUE, CL_MAP_READ, memory, BYTES, 0, NULL, NULL));
	say("blocking svm map: returns after the kernel: %s, values that differ: %u",
	    yes(gate_is_open(gate)), others(memory, 71));
	code("svm unmap", clEnqueueSVMUnmap(bed->queue, memory, 0, NULL, NULL));
	gate_free(gate);

	gate = gate_new(bed);
	svm_launch(bed, memory, 72, gate);
	gate_open_after(gate, 100);
	code("blocking svm copy",
	     clEnqueueSVMMemcpy(bed->queue, CL_TRUE, copy, memory, BYTES, 0, NULL, NULL));
	say("blocking svm copy: returns after the kernel: %s, values that differ: %u",
	    yes(gate_is_open(gate)), others(copy, 72));
	gate_free(gate);
}

static void svm(struct bed *bed)
{
	cl_device_svm_capabilities able = 0;
	cl_int pattern = 73, *memory;
	cl_event event = NULL;
	void *list[1];

	(void)clGetDeviceInfo(bed->device, CL_DEVICE_SVM_CAPABILITIES, sizeof(able), &able, NULL);
	say("svm: supported: %s", yes(able & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER));
	if (!(able & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
		return;
	memory = clSVMAlloc(bed->context, CL_MEM_READ_WRITE, BYTES, 0);
	say("svm allocated: %s", yes(memory != NULL));
	if (!memory)
		return;
	svm_blocking(bed, memory);
	code("svm fill", clEnqueueSVMMemFill(bed->queue, memory, &pattern, sizeof(pattern), BYTES,
					     0, NULL, NULL));
	must(clFinish(bed->queue), "clFinish");
	say("svm fill: values that differ: %u", others(memory, 73));
	svm_launch(bed, memory, 74, NULL);
	must(clFinish(bed->queue), "clFinish");
	say("kernel on svm: values that differ: %u", others(memory, 74));
	list[0] = memory;
	code("svm free", clEnqueueSVMFree(bed->queue, 1, list, NULL, NULL, 0, NULL, &event));
	if (event)
		finish_event(event);
}

/* --- images --- */

struct image {
	cl_mem id;
	cl_uint pixels[SIDE * SIDE];
};

static const size_t origin[3], region[3] = {SIDE, SIDE, 1};

static void make_image(struct bed *bed, struct image *image)
{
	static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	cl_image_desc desc = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
	cl_int error;

	for (cl_uint i = 0; i < SIDE * SIDE; i++)
		image->pixels[i] = 0x01020304u * (i % 60);
	image->id = clCreateImage(bed->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format,
				  &desc, image->pixels, &error);
	must(error, "clCreateImage");
}

static void say_image(struct bed *bed, const char *what, cl_mem image)
{
	static cl_uint pixels[SIDE * SIDE];
	cl_uint sum = 0;

	code(what, clEnqueueReadImage(bed->queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0,
				      NULL, NULL));
	for (cl_uint i = 0; i < SIDE * SIDE; i++)
		sum = sum * 31 + pixels[i];
	say("%s: hash %08x", what, sum);
}

static void image_copies(struct bed *bed, cl_mem image, cl_mem other)
{
	static const size_t corner[3] = {4, 2, 0}, part[3] = {8, 4, 1};
	cl_uint color[4] = {1, 2, 3, 4}, pixels[32] = {0};
	size_t row = 0;
	cl_uint *mapped;
	cl_int error;

	say_image(bed, "image", image);
	code("image fill",
	     clEnqueueFillImage(bed->queue, other, color, origin, region, 0, NULL, NULL));
	say_image(bed, "image after a fill", other);
	code("image copy",
	     clEnqueueCopyImage(bed->queue, image, other, corner, origin, part, 0, NULL, NULL));
	say_image(bed, "image after a copy", other);
	code("image write", clEnqueueWriteImage(bed->queue, other, CL_TRUE, corner, part, 0, 0,
						pixels, 0, NULL, NULL));
	say_image(bed, "image after a write", other);
	code("image to buffer", clEnqueueCopyImageToBuffer(bed->queue, image, bed->buffer, corner,
							   part, 0, 0, NULL, NULL));
	say("first values in the buffer: %x %x", (unsigned int)contents(bed->queue, bed->buffer)[0],
	    (unsigned int)contents(bed->queue, bed->buffer)[31]);
	code("buffer to image", clEnqueueCopyBufferToImage(bed->queue, bed->buffer, other, 0,
							   origin, part, 0, NULL, NULL));
	say_image(bed, "image after a copy from a buffer", other);
	mapped = clEnqueueMapImage(bed->queue, image, CL_TRUE, CL_MAP_READ, corner, part, &row,
				   NULL, 0, NULL, NULL, &error);
	code("image map", error);
	if (error == CL_SUCCESS) {
		say("first pixel: %x, bytes of a row: %s", mapped[0],
		    row >= 8 * sizeof(cl_uint) ? "enough" : "too few");
		must(clEnqueueUnmapMemObject(bed->queue, image, mapped, 0, NULL, NULL), "unmap");
	}
}

/* A blocking read of an image waits for the commands in front of it. */
static void image_late(struct bed *bed, cl_mem image)
{
	static cl_uint pixels[SIDE * SIDE];
	cl_uint color[4] = {9, 9, 9, 9};
	struct gate *gate = gate_new(bed);

	must(clEnqueueFillImage(bed->queue, image, color, origin, region, 1, gate_event(gate),
				NULL),
	     "clEnqueueFillImage");
	gate_open_after(gate, 100);
	must(clEnqueueReadImage(bed->queue, image, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL,
				NULL),
	     "clEnqueueReadImage");
	say("blocking read of an image: returns after the fill: %s, pixel %x",
	    yes(gate_is_open(gate)), pixels[SIDE]);
	gate_free(gate);
}

static void images(struct bed *bed)
{
	cl_bool able = CL_FALSE;
	struct image image, other;
	cl_sampler sampler;
	cl_int error;

	must(clGetDeviceInfo(bed->device, CL_DEVICE_IMAGE_SUPPORT, sizeof(able), &able, NULL),
	     "clGetDeviceInfo");
	say("images: supported: %s", yes(able));
	if (!able)
		return;
	make_image(bed, &image);
	make_image(bed, &other);
	image_copies(bed, image.id, other.id);
	image_late(bed, image.id);
	sampler = clCreateSampler(bed->context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST,
				  &error);
	code("sampler", error);
	if (error == CL_SUCCESS)
		must(clReleaseSampler(sampler), "clReleaseSampler");
	must(clFinish(bed->queue), "clFinish");
	must(clReleaseMemObject(image.id), "clReleaseMemObject");
	must(clReleaseMemObject(other.id), "clReleaseMemObject");
}

void section_memory(struct bed *bed)
{
	svm(bed);
	images(bed);
}
