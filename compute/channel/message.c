/* SPDX-License-Identifier: MIT */
/* Makes and checks the messages of the compute socket. */
#include <errno.h>
#include <string.h>

#include "compute/channel/message.h"
#include "compute/channel/wire.h"

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

void compute_message_set_text(char *field, size_t size, const char *text)
{
	size_t n = strnlen(text, size - 1);

	memset(field, 0, size);
	for (size_t i = 0; i < n; i++)
		field[i] = is_printable(text[i]) ? text[i] : '?';
}

bool compute_message_is_text(const char *field, size_t size)
{
	size_t n = strnlen(field, size);

	if (n == size)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!is_printable(field[i]))
			return false;
	for (size_t i = n; i < size; i++)
		if (field[i] != '\0')
			return false;
	return true;
}

void compute_message_make_hello(const char *name, uint32_t pid, struct compute_hello *ret_hello)
{
	*ret_hello = (struct compute_hello){
		.magic = COMPUTE_HELLO_MAGIC,
		.version = COMPUTE_MESSAGE_VERSION,
		.page_bytes = COMPUTE_PAGE_BYTES,
		.pid = pid,
	};
	compute_message_set_text(ret_hello->name, sizeof(ret_hello->name), name);
}

void compute_message_make_welcome(uint32_t slot, uint64_t memory_max_bytes,
				  struct compute_welcome *ret_welcome)
{
	*ret_welcome = (struct compute_welcome){
		.magic = COMPUTE_WELCOME_MAGIC,
		.version = COMPUTE_MESSAGE_VERSION,
		.slot = slot,
		.memory_max_bytes = memory_max_bytes,
	};
}

int compute_message_parse_hello(const void *bytes, size_t size, unsigned int fds,
				struct compute_hello *ret_hello)
{
	struct compute_hello hello;

	if (size != sizeof(hello) || fds != COMPUTE_HELLO_FDS)
		return -EPROTO;
	memcpy(&hello, bytes, sizeof(hello));
	if (hello.magic != COMPUTE_HELLO_MAGIC || hello.version != COMPUTE_MESSAGE_VERSION ||
	    hello.page_bytes != COMPUTE_PAGE_BYTES ||
	    !compute_message_is_text(hello.name, sizeof(hello.name)))
		return -EPROTO;
	*ret_hello = hello;
	return 0;
}

int compute_message_parse_welcome(const void *bytes, size_t size, unsigned int fds,
				  struct compute_welcome *ret_welcome)
{
	struct compute_welcome welcome;

	if (size != sizeof(welcome) || fds != COMPUTE_WELCOME_FDS)
		return -EPROTO;
	memcpy(&welcome, bytes, sizeof(welcome));
	if (welcome.magic != COMPUTE_WELCOME_MAGIC || welcome.version != COMPUTE_MESSAGE_VERSION ||
	    welcome.slot >= COMPUTE_SLOTS || welcome.reserved != 0)
		return -EPROTO;
	*ret_welcome = welcome;
	return 0;
}
