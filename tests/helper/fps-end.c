/* SPDX-License-Identifier: MIT */
/*
 * Link: -shared -fPIC -ldl
 *
 * A preload behind ours that ends a real program as suddenly as can be: by SIGKILL instead of the
 * frame after FPS_END_AFTER of glXSwapBuffers, so that it is known how many it has drawn.
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
