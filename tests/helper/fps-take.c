/* SPDX-License-Identifier: MIT */
/* Stands for a preload library that presents frames itself, without the next preload library. */
void glXSwapBuffers(void *display, unsigned long drawable);

void glXSwapBuffers(void *display, unsigned long drawable)
{
	(void)display;
	(void)drawable;
}
