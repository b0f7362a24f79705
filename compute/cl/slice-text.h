/* SPDX-License-Identifier: MIT */
/*
 * Rectifies the source of an OpenCL C program for kernel slicing. A part of a launch is itself a
 * launch with an offset and fewer work-groups, so that most functions of the language for indices
 * and sizes would return values of the part. A preamble replaces these functions by macros, so that
 * each work-item computes the values that it has in the whole launch. SliVER (2023) 3.3 calls this
 * index rectification, and changes the kernel's parameters by hand; here its signature remains.
 *
 * A part has three dimensions. Dimension 2 has one work-item, and its offset is a word that
 * describes the whole launch. The word has at most 31 bits, because some devices have registers of
 * 32 bits for offsets.
 *
 * Pure: text in, text out.
 */
#ifndef COMPUTE_CL_SLICE_TEXT_H
#define COMPUTE_CL_SLICE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Limits of the word of a launch of one and of two dimensions, in work-groups. */
#define SLICE_GROUPS_MAX ((1u << 30) - 1)
#define SLICE_SIDE_MAX	 ((1u << 15) - 1)

/* Why a program must not be sliced. */
enum slice_text {
	SLICE_TEXT_OK,
	SLICE_TEXT_REDEFINED,  /* defines a function for indices itself */
	SLICE_TEXT_REFERENCED, /* uses the name of such a function without a call */
	SLICE_TEXT_ENQUEUES,   /* enqueues kernels on the device */
	SLICE_TEXT_PIPE,
	SLICE_TEXT_RESERVED, /* uses a name of the preamble */
	SLICE_TEXT_INVALID,  /* contains a NUL byte */
	/*
	 * May have variables that live longer than a launch, if the language has such variables:
	 * OpenCL C 1 has none. The rectified source then does not compile.
	 */
	SLICE_TEXT_VARIABLE,
};

/*
 * Checks @size bytes of source. The check does not
 * expand macros or read included files. The rectified source therefore does not compile if these
 * redefine a replaced function or enqueue kernels.
 */
enum slice_text slice_text_check(const char *text, size_t size);

/* Returns the reason as a clause for a message. */
const char *slice_text_reason(enum slice_text result);

/*
 * Returns the rectified source as a string, or NULL if memory is short. The caller frees it. Line
 * numbers in it are those of @text. @check: the result of slice_text_check(), SLICE_TEXT_OK or
 * SLICE_TEXT_VARIABLE.
 */
char *slice_text_rectify(const char *text, size_t size, enum slice_text check);

/*
 * Returns the word of a launch of @groups0 work-groups if @dimensions is 1, or of @groups0 *
 * @groups1 if it is 2. The numbers must be within the limits above.
 */
uint32_t slice_text_word(unsigned int dimensions, uint32_t groups0, uint32_t groups1);

#endif
