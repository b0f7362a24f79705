/* SPDX-License-Identifier: MIT */
/*
 * Link: -shared -fPIC -Wl,-Bsymbolic -Wl,-soname,libfake-gl.so.1 -Wl,--default-symver
 *
 * A libGL and libEGL that draw nothing, so that a test meets the preload's hooks and nothing else.
 * Counts what was presented. What its *GetProcAddress give are functions of their own, as in
 * libglvnd.
 */
#include <string.h>

typedef unsigned int (*egl_swap_fn)(void *display, void *surface);

void glXSwapBuffers(void *display, unsigned long drawable);
unsigned int eglSwapBuffers(void *display, void *surface);
void *glXGetProcAddress(const char *name);
void *glXGetProcAddressARB(const char *name);
void *eglGetProcAddress(const char *name);
unsigned long fake_gl_presented(void);
void fake_gl_translate(egl_swap_fn inner);

static volatile unsigned long presented; /* by one thread: no more than a frame should cost */
static egl_swap_fn inner_swap;		 /* what a translator presents with */

unsigned long fake_gl_presented(void)
{
	return presented;
}

/* From now on eglSwapBuffers() presents through @inner, as ANGLE does through the system's EGL. */
void fake_gl_translate(egl_swap_fn inner)
{
	inner_swap = inner;
}

void glXSwapBuffers(void *display, unsigned long drawable)
{
	(void)display;
	(void)drawable;
	presented = presented + 1;
}

/* Fails, as EGL does, where there is no surface. */
unsigned int eglSwapBuffers(void *display, void *surface)
{
	if (!surface)
		return 0;
	if (inner_swap)
		return inner_swap(display, surface);
	presented = presented + 1;
	return 1;
}

static void glx_swap_by_address(void *display, unsigned long drawable)
{
	glXSwapBuffers(display, drawable);
}

static unsigned int egl_swap_by_address(void *display, void *surface)
{
	return eglSwapBuffers(display, surface);
}

void *glXGetProcAddress(const char *name)
{
	if (strcmp(name, "glXSwapBuffers") == 0)
		return (void *)glx_swap_by_address;
	if (strcmp(name, "glXGetProcAddressARB") == 0)
		return (void *)glXGetProcAddressARB;
	return NULL;
}

void *glXGetProcAddressARB(const char *name)
{
	return glXGetProcAddress(name);
}

void *eglGetProcAddress(const char *name)
{
	return strcmp(name, "eglSwapBuffers") == 0 ? (void *)egl_swap_by_address : NULL;
}
