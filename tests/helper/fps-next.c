/* SPDX-License-Identifier: MIT */
/*
 * Link: -shared -fPIC -ldl
 *
 * Another preload: forwards getppid() and glXSwapBuffers() to the next library. Recurses endlessly
 * if RTLD_NEXT does not refer to this library.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

void glXSwapBuffers(void *display, unsigned long drawable);

/* Volatile prevents a tail call, which would hide the caller from dlsym(). */
static void *next(const char *name, void *self)
{
	void *volatile found = dlsym(RTLD_NEXT, name);

	if (!found || found == self)
		abort();
	return found;
}

pid_t getppid(void)
{
	return ((pid_t(*)(void))next("getppid", (void *)getppid))();
}

void glXSwapBuffers(void *display, unsigned long drawable)
{
	((void (*)(void *, unsigned long))next("glXSwapBuffers", (void *)glXSwapBuffers))(display,
											  drawable);
}
