/* SPDX-License-Identifier: MIT */
/*
 * A libGL and libEGL that draw nothing and only count presents, so that a test exercises the hooks
 * only. Its *GetProcAddress functions return separate functions, like those of libglvnd.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/helper/sandbox.h"

typedef unsigned int (*egl_swap_fn)(void *display, void *surface);

void glXSwapBuffers(void *display, unsigned long drawable);
int64_t glXSwapBuffersMscOML(void *display, unsigned long drawable, int64_t target_msc,
			     int64_t divisor, int64_t remainder);
unsigned int eglSwapBuffers(void *display, void *surface);
unsigned int eglSwapBuffersWithDamageKHR(void *display, void *surface, int *rects, int n_rects);
unsigned int eglSwapBuffersWithDamageEXT(void *display, void *surface, int *rects, int n_rects);
void *glXGetProcAddress(const char *name);
void *glXGetProcAddressARB(const char *name);
void *eglGetProcAddress(const char *name);
unsigned long fake_gl_presented(void);
void fake_gl_translate(egl_swap_fn inner);
void fake_gl_block(int fd);

static volatile unsigned long presented; /* not atomic: only one thread uses it */
static egl_swap_fn inner_swap;		 /* the function that eglSwapBuffers() calls; NULL: none */

static volatile int block_fd = -1; /* glXSwapBuffers() waits for a byte from it; -1: none */

/* Makes glXSwapBuffers() wait, as it does for a GPU that hangs. */
void fake_gl_block(int fd)
{
	block_fd = fd;
}

unsigned long fake_gl_presented(void)
{
	return presented;
}

/* Makes eglSwapBuffers() call @inner, as ANGLE calls the EGL library of the system. */
void fake_gl_translate(egl_swap_fn inner)
{
	inner_swap = inner;
}

void glXSwapBuffers(void *display, unsigned long drawable)
{
	(void)display;
	(void)drawable;
	if (block_fd >= 0) {
		char byte;

		(void)!read(block_fd, &byte, 1);
	}
	presented = presented + 1;
	sandbox_step();
}

/* Behaves like Mesa with a software renderer: returns 0, or -1 if nothing was presented. */
int64_t glXSwapBuffersMscOML(void *display, unsigned long drawable, int64_t target_msc,
			     int64_t divisor, int64_t remainder)
{
	if (remainder > divisor || target_msc < 0)
		return -1;
	glXSwapBuffers(display, drawable);
	return target_msc;
}

/* Fails without a surface, as EGL does. */
unsigned int eglSwapBuffers(void *display, void *surface)
{
	if (!surface)
		return 0;
	if (inner_swap)
		return inner_swap(display, surface);
	presented = presented + 1;
	return 1;
}

unsigned int eglSwapBuffersWithDamageKHR(void *display, void *surface, int *rects, int n_rects)
{
	return n_rects > 0 && !rects ? 0 : eglSwapBuffers(display, surface);
}

unsigned int eglSwapBuffersWithDamageEXT(void *display, void *surface, int *rects, int n_rects)
{
	return eglSwapBuffersWithDamageKHR(display, surface, rects, n_rects);
}

static void glx_swap_by_address(void *display, unsigned long drawable)
{
	glXSwapBuffers(display, drawable);
}

static int64_t glx_msc_by_address(void *display, unsigned long drawable, int64_t target_msc,
				  int64_t divisor, int64_t remainder)
{
	return glXSwapBuffersMscOML(display, drawable, target_msc, divisor, remainder);
}

static unsigned int egl_swap_by_address(void *display, void *surface)
{
	return eglSwapBuffers(display, surface);
}

static unsigned int egl_damage_by_address(void *display, void *surface, int *rects, int n_rects)
{
	return eglSwapBuffersWithDamageKHR(display, surface, rects, n_rects);
}

static void *by_address(const char *name)
{
	static const struct {
		const char *name;
		void *address;
	} functions[] = {
		{"glXSwapBuffers", (void *)glx_swap_by_address},
		{"glXSwapBuffersMscOML", (void *)glx_msc_by_address},
		{"glXGetProcAddressARB", (void *)glXGetProcAddressARB},
		{"eglSwapBuffers", (void *)egl_swap_by_address},
		{"eglSwapBuffersWithDamageKHR", (void *)egl_damage_by_address},
		{"eglSwapBuffersWithDamageEXT", (void *)egl_damage_by_address},
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strcmp(functions[i].name, name) == 0)
			return functions[i].address;
	return NULL;
}

void *glXGetProcAddress(const char *name)
{
	return strncmp(name, "gl", 2) == 0 ? by_address(name) : NULL;
}

void *glXGetProcAddressARB(const char *name)
{
	return glXGetProcAddress(name);
}

void *eglGetProcAddress(const char *name)
{
	return strncmp(name, "egl", 3) == 0 ? by_address(name) : NULL;
}
