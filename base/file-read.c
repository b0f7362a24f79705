/* SPDX-License-Identifier: MIT */
/* Reads a whole file. Not in file.c, because gover-arbiter does not end if memory is exhausted. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"

/* First size of a buffer for a file. The buffer then doubles, because most files are small. */
#define READ_FIRST 4096

/* Doubles the buffer, up to @max bytes. The buffer has one byte more, for a NUL. */
static void grow_text(char **text, size_t *size, size_t max)
{
	size_t grown = *size ? 2 * *size : READ_FIRST;

	*size = grown < max ? grown : max;
	*text = xrealloc(*text, *size + 1);
}

static int read_all(int fd, size_t max, char **ret_text, size_t *ret_length)
{
	CLEANUP_FREE char *text = NULL;
	size_t size = 0, length = 0;
	ssize_t n;

	do {
		/* One byte more than @max shows that the file is too large. */
		if (length == size)
			grow_text(&text, &size, max + 1);
		n = read(fd, text + length, size - length);
		if (n < 0)
			return -errno;
		length += (size_t)n;
	} while (n > 0 && length <= max);
	if (length > max)
		return -EFBIG;
	text[length] = '\0';
	*ret_text = text;
	text = NULL;
	if (ret_length)
		*ret_length = length;
	return 0;
}

int file_read(const char *path, size_t max, char **ret_text, size_t *ret_length)
{
	CLEANUP_CLOSE int fd = file_open(path, O_RDONLY, 0);

	return fd < 0 ? fd : read_all(fd, max, ret_text, ret_length);
}

int file_read_input(const char *path, size_t max, char **ret_text)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : read_all(fd, max, ret_text, /* ret_length= */ NULL);
}
