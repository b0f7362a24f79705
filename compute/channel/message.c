/* SPDX-License-Identifier: MIT */
/* Makes and checks the messages of the compute socket. */
#include <errno.h>
#include <string.h>

#include "compute/channel/message.h"
#include "compute/channel/text.h"
#include "compute/channel/wire.h"

void compute_message_make_hello(const char *name, uint32_t pid, struct compute_hello *ret_hello)
{
	*ret_hello = (struct compute_hello){
		.magic = COMPUTE_HELLO_MAGIC,
		.version = COMPUTE_MESSAGE_VERSION,
		.page_bytes = COMPUTE_PAGE_BYTES,
		.pid = pid,
	};
	compute_text_set(ret_hello->name, sizeof(ret_hello->name), name);
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
	    !compute_text_is_valid(hello.name, sizeof(hello.name)))
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
