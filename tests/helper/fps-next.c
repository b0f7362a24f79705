/* SPDX-License-Identifier: MIT */
/*
 * Another preload library: forwards getppid() and glXSwapBuffers() to the next library. Aborts if
 * dlsym(RTLD_NEXT) finds the function of this library again.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

void glXSwapBuffers(void *display, unsigned long drawable);

/* volatile prevents a tail call. After a tail call dlsym() could not determine its caller. */
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
