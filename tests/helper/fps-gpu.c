/* SPDX-License-Identifier: MIT */
/*
 * fps-gpu FRAMES [es]: an EGL program without a display server that draws FRAMES frames on
 * pbuffers, with OpenGL or OpenGL ES. The program has an active time query of its own (OpenGL
 * allows only one at a time) and replaces its context half way. Exits with 1 and a message on a GL
 * error or if its query was lost.
 */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GL_TIME_ELAPSED 0x88BF
#define GL_QUERY_RESULT 0x8866

static void (*gen)(int n, unsigned int *names);
static void (*begin)(unsigned int target, unsigned int name);
static void (*end)(unsigned int target);
static void (*result)(unsigned int name, unsigned int what, unsigned int *value);

static int fail(const char *what)
{
	fprintf(stderr, "fps-gpu: %s\n", what);
	return 1;
}

static int find_functions(int es)
{
	*(void **)&gen = (void *)eglGetProcAddress(es ? "glGenQueriesEXT" : "glGenQueries");
	*(void **)&begin = (void *)eglGetProcAddress(es ? "glBeginQueryEXT" : "glBeginQuery");
	*(void **)&end = (void *)eglGetProcAddress(es ? "glEndQueryEXT" : "glEndQuery");
	*(void **)&result =
		(void *)eglGetProcAddress(es ? "glGetQueryObjectuivEXT" : "glGetQueryObjectuiv");
	return gen && begin && end && result;
}

static int draw(EGLDisplay display, EGLSurface surface, long frames)
{
	unsigned int query, value;

	gen(1, &query);
	for (long i = 0; i < frames; i++) {
		begin(GL_TIME_ELAPSED, query);
		glClearColor((float)(i % 2), 0, 0, 1);
		glClear(GL_COLOR_BUFFER_BIT);
		end(GL_TIME_ELAPSED);
		if (!eglSwapBuffers(display, surface))
			return fail("eglSwapBuffers");
		if (glGetError() != GL_NO_ERROR)
			return fail("unexpected GL error");
	}
	value = 1u << 31;
	result(query, GL_QUERY_RESULT, &value);
	return value == 1u << 31 || glGetError() != GL_NO_ERROR
		       ? fail("the program's own query was lost")
		       : 0;
}

int main(int argc, char **argv)
{
	int es = argc > 2 && strcmp(argv[2], "es") == 0, n = 0, r = 0;
	const EGLint config_wants[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
				       es ? EGL_OPENGL_ES2_BIT : EGL_OPENGL_BIT, EGL_NONE};
	const EGLint es2[] = {EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE};
	const EGLint size[] = {EGL_WIDTH, 64, EGL_HEIGHT, 64, EGL_NONE};
	EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	EGLSurface surface;
	EGLContext context;
	EGLConfig config;

	if (argc < 2 || !eglInitialize(display, NULL, NULL) ||
	    !eglBindAPI(es ? EGL_OPENGL_ES_API : EGL_OPENGL_API) ||
	    !eglChooseConfig(display, config_wants, &config, 1, &n) || n != 1)
		return fail("EGL is not available") + 76;
	surface = eglCreatePbufferSurface(display, config, size);
	for (int half = 0; half < 2 && r == 0; half++) {
		context = eglCreateContext(display, config, EGL_NO_CONTEXT, es ? es2 : NULL);
		if (!eglMakeCurrent(display, surface, surface, context) || !find_functions(es))
			return fail("no context or no queries") + 76;
		r = draw(display, surface, strtol(argv[1], NULL, 10) / 2);
		(void)eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
		(void)eglDestroyContext(display, context);
	}
	return r;
}
