/* SPDX-License-Identifier: MIT */
/*
 * Link: -shared -fPIC -ldl
 *
 * A preload loaded after libgover-fps.so that kills a real program with SIGKILL in the
 * glXSwapBuffers call after FPS_END_AFTER frames, so that the number of frames is known.
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
