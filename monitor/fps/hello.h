/* SPDX-License-Identifier: MIT */
/* Receives the hello message of a program and maps the page that the message carries. */
#ifndef MONITOR_FPS_HELLO_H
#define MONITOR_FPS_HELLO_H

#include "fps-preload/wire.h"

/*
 * Receives the hello message from @sock, which does not block. Returns 0 and the page, mapped
 * read-only, which the caller frees with fps_hello_unmap(). Returns -EAGAIN if no message has
 * arrived, -ENOTCONN if the connection ended without a message, or another negative errno if the
 * message or its page is invalid.
 */
int fps_hello_receive(int sock, const struct fps_page **ret_page);
void fps_hello_unmap(const struct fps_page *page); /* NULL is fine */

#endif
