/* SPDX-License-Identifier: MIT */
/*
 * A preload library that kills a real program with SIGKILL when it calls glXSwapBuffers after
 * FPS_END_AFTER frames. The number of frames is then known. Load it after libgover-fps.so.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

void glXSwapBuffers(void *display, unsigned long drawable);

void glXSwapBuffers(void *display, unsigned long drawable)
{
	static void (*real)(void *, unsigned long);
	static long left;

	if (!real) {
		const char *after = getenv("FPS_END_AFTER");
		void *volatile found = dlsym(RTLD_NEXT, "glXSwapBuffers");

		real = (void (*)(void *, unsigned long))found;
		left = after ? strtol(after, NULL, 10) : 0;
	}
	if (left-- == 0)
		(void)raise(SIGKILL);
	real(display, drawable);
}
