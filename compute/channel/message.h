/* SPDX-License-Identifier: MIT */
/*
 * The messages between a client and the arbiter on the compute socket (unix, SOCK_SEQPACKET, one
 * message per packet):
 *
 *   client -> arbiter   hello, once, with one descriptor: the tenant page
 *   arbiter -> client   welcome, once, with two descriptors: the beacon and the bell
 *
 * Nothing else is sent. Either side closes the connection to end it; the kernel closes it if a
 * process ends. The arbiter closes a connection to refuse it (no free slot, invalid hello); the
 * client then runs without control and connects again after a second. The arbiter gets the process
 * and its control group from SO_PEERCRED or SO_PEERPIDFD, never from a message. Limits that change
 * (memory, turn) are in the slot.
 *
 * The bell is an eventfd. A client writes 1 to it when it starts to wait for a turn, and as the
 * flags of its slot say. It is the same for all clients: the arbiter reads all pages when it rings.
 * A client can ring at any rate, so the arbiter bounds the turns of its loop.
 *
 * The control protocol (control.h) uses the same transfer of packets.
 */
#ifndef COMPUTE_CHANNEL_MESSAGE_H
#define COMPUTE_CHANNEL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPUTE_HELLO_MAGIC	0x48766f67u /* "govH" */
#define COMPUTE_WELCOME_MAGIC	0x57766f67u /* "govW" */
#define COMPUTE_MESSAGE_VERSION 1u
#define COMPUTE_NAME_MAX	32 /* bytes of a program's name with its NUL */

#define COMPUTE_HELLO_FDS   1
#define COMPUTE_WELCOME_FDS 2 /* [0]: beacon, [1]: bell */

struct compute_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t page_bytes;	     /* COMPUTE_PAGE_BYTES */
	uint32_t pid;		     /* as the client sees it; for logs only */
	char name[COMPUTE_NAME_MAX]; /* name of the program; for logs only, padded with NUL */
};

struct compute_welcome {
	uint32_t magic;
	uint32_t version;
	uint32_t slot; /* 0 to COMPUTE_SLOTS - 1 */
	uint32_t reserved;
	uint64_t memory_max_bytes; /* as in the slot at this time */
};

_Static_assert(sizeof(struct compute_hello) == 48 && sizeof(struct compute_welcome) == 24,
	       "messages have no padding");

/*
 * Texts of fixed size in messages are printable ASCII, then NULs up to the end. Copies @text, cut
 * to @size - 1 bytes, and fills the rest with NUL. Other bytes become '?'.
 */
void compute_message_set_text(char *field, size_t size, const char *text);

/* Returns true if @field is such a text; an empty text is one. */
bool compute_message_is_text(const char *field, size_t size);

/*
 * Makes a hello. Unprintable bytes of @name become '?'; it is cut to COMPUTE_NAME_MAX - 1 bytes.
 */
void compute_message_make_hello(const char *name, uint32_t pid, struct compute_hello *ret_hello);
void compute_message_make_welcome(uint32_t slot, uint64_t memory_max_bytes,
				  struct compute_welcome *ret_welcome);

/*
 * Check a received packet. Return 0 or -EPROTO: wrong size, magic, version or number of
 * descriptors; a number out of its range; a name that is not printable or not padded.
 */
int compute_message_parse_hello(const void *bytes, size_t size, unsigned int fds,
				struct compute_hello *ret_hello);
int compute_message_parse_welcome(const void *bytes, size_t size, unsigned int fds,
				  struct compute_welcome *ret_welcome);

/* --- one packet with descriptors on a SOCK_SEQPACKET socket, without waiting --- */

#define COMPUTE_TRANSFER_FDS_MAX 4

/*
 * Sends @size bytes with @n_fds (0 to COMPUTE_TRANSFER_FDS_MAX) descriptors, which stay open.
 * Returns 0 or a negative errno. Never raises SIGPIPE.
 */
int compute_transfer_send(int sock, const void *bytes, size_t size, const int *fds,
			  unsigned int n_fds);

/*
 * Receives a packet of at most @size bytes. Received descriptors (O_CLOEXEC) are stored in @fds,
 * which has COMPUTE_TRANSFER_FDS_MAX elements; the caller closes them. Returns the size of the
 * packet, 0 if the other side has closed the connection, or a negative errno: -EAGAIN: no packet;
 * -EMSGSIZE: the packet was longer or had more descriptors; all of them are closed.
 */
int compute_transfer_receive(int sock, void *bytes, size_t size, int *fds, unsigned int *ret_n_fds);

#endif
