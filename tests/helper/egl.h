/* SPDX-License-Identifier: MIT */
/* A surface without a display server, and clocks, for programs that measure frames. */
#ifndef TESTS_HELPER_EGL_H
#define TESTS_HELPER_EGL_H

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Makes a context of OpenGL on a surface of @size times @size pixels current. False on failure. */
static inline bool make_current(EGLDisplay display, EGLint size, EGLSurface *ret_surface)
{
	const EGLint attributes[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
				     EGL_OPENGL_BIT, EGL_NONE};
	const EGLint sizes[] = {EGL_WIDTH, size, EGL_HEIGHT, size, EGL_NONE};
	EGLConfig config;
	int n = 0;

	if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API) ||
	    !eglChooseConfig(display, attributes, &config, 1, &n) || n != 1)
		return false;
	*ret_surface = eglCreatePbufferSurface(display, config, sizes);
	return eglMakeCurrent(display, *ret_surface, *ret_surface,
			      eglCreateContext(display, config, EGL_NO_CONTEXT, NULL));
}

#endif
