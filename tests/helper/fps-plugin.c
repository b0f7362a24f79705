/* SPDX-License-Identifier: MIT */
/* A plug-in of a program: presents frames with the library to which it is linked. */
#include <unistd.h>

void glXSwapBuffers(void *display, unsigned long drawable);
void fps_plugin_draw(long frames, unsigned int pause_us);

void fps_plugin_draw(long frames, unsigned int pause_us)
{
	for (long i = 0; i < frames; i++, usleep(pause_us))
		glXSwapBuffers(NULL, 1);
}
