/* SPDX-License-Identifier: MIT */
/* Texts of fixed size in messages: printable ASCII, then NULs up to the end. */
#ifndef COMPUTE_CHANNEL_TEXT_H
#define COMPUTE_CHANNEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Copies @text, cut to @size - 1 bytes, and fills the rest with NUL. Other bytes become '?'. */
void compute_text_set(char *field, size_t size, const char *text);

/* Returns true if @field is such a text; an empty text is one. */
bool compute_text_is_valid(const char *field, size_t size);

#endif
