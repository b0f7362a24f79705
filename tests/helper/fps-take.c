/* SPDX-License-Identifier: MIT */
/* A stand-in for a preload library that presents frames itself and does not call the next one. */
void glXSwapBuffers(void *display, unsigned long drawable);

void glXSwapBuffers(void *display, unsigned long drawable)
{
	(void)display;
	(void)drawable;
}
