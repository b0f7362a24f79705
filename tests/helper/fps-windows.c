/* SPDX-License-Identifier: MIT */
/*
 * fps-windows FRAMES: draws FRAMES frames in each of two windows. Each window has its own thread,
 * connection and context.
 */
#include <GL/glx.h>
#include <X11/Xlib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long frames;

static void *draw(void *unused)
{
	int visual_attributes[] = {GLX_RGBA, GLX_DOUBLEBUFFER, None};
	Display *display = XOpenDisplay(NULL);
	XVisualInfo *visual =
		display ? glXChooseVisual(display, DefaultScreen(display), visual_attributes)
			: NULL;
	XSetWindowAttributes attributes = {0};
	GLXContext context;
	Window window;

	if (!visual)
		return unused;
	attributes.colormap =
		XCreateColormap(display, DefaultRootWindow(display), visual->visual, AllocNone);
	window = XCreateWindow(display, DefaultRootWindow(display), 0, 0, 64, 64, 0, visual->depth,
			       InputOutput, visual->visual, CWColormap, &attributes);
	XMapWindow(display, window);
	context = glXCreateContext(display, visual, NULL, True);
	if (!context || !glXMakeCurrent(display, window, context))
		return unused;
	for (long i = 0; i < frames; i++) {
		glClearColor((float)(i % 2), 0, 0, 1);
		glClear(GL_COLOR_BUFFER_BIT);
		glXSwapBuffers(display, window);
	}
	glXMakeCurrent(display, None, NULL);
	glXDestroyContext(display, context);
	XFree(visual);
	XCloseDisplay(display);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];
	void *failed[2];

	frames = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	(void)XInitThreads();
	for (int t = 0; t < 2; t++)
		if (pthread_create(&thread[t], NULL, draw, &frames) != 0)
			return 1;
	for (int t = 0; t < 2; t++)
		(void)pthread_join(thread[t], &failed[t]);
	if (failed[0] || failed[1])
		fprintf(stderr, "fps-windows: no window or no context\n");
	return failed[0] || failed[1];
}
