/* SPDX-License-Identifier: MIT */
/* GOVER_FPS is parsed strictly; any invalid value turns counting off. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "fps-preload/pace.c"
#include "fps-preload/setup.c"
#include "tests/unit/unit.h"

TEST(every_transport_is_parsed_strictly)
{
	static const struct {
		const char *text;
		enum setup_transport transport;
		uint32_t cid, port;
	} rows[] = {
		{"unix:/a", SETUP_UNIX, 0, 0},
		{"unix:", SETUP_OFF, 0, 0},
		{"off", SETUP_OFF, 0, 0},
		{"", SETUP_OFF, 0, 0},
		{"vsock:2:7007", SETUP_VSOCK, 2, 7007},
		{"vsock:1:0", SETUP_VSOCK, 1, 0},
		{"vsock:4294967294:4294967294", SETUP_VSOCK, 4294967294, 4294967294},
		{"vsock:4294967295:1", SETUP_OFF, 0, 0},
		{"vsock:2:4294967295", SETUP_OFF, 0, 0},
		{"vsock:2:4294967296", SETUP_OFF, 0, 0},
		{"vsock:2:18446744073709551618", SETUP_OFF, 0, 0},
		{"vsock:2", SETUP_OFF, 0, 0},
		{"vsock:2:", SETUP_OFF, 0, 0},
		{"vsock::7", SETUP_OFF, 0, 0},
		{"vsock:2:7:", SETUP_OFF, 0, 0},
		{"vsock:2:7 ", SETUP_OFF, 0, 0},
		{"vsock:-2:7", SETUP_OFF, 0, 0},
		{"vsock:+2:7", SETUP_OFF, 0, 0},
		{"vsock:0x2:7", SETUP_OFF, 0, 0},
		{"VSOCK:2:7", SETUP_OFF, 0, 0},
		{"port:org.gover.fps.0", SETUP_PORT, 0, 0},
		{"port:a", SETUP_PORT, 0, 0},
		{"port:", SETUP_OFF, 0, 0},
		{"port:../sda", SETUP_OFF, 0, 0},
		{"port:a/b", SETUP_OFF, 0, 0},
		{"port:..", SETUP_OFF, 0, 0},
		{"port:012345678901234567890123456789012345678901234567890123456789012", SETUP_PORT,
		 0, 0},
		{"port:0123456789012345678901234567890123456789012345678901234567890123", SETUP_OFF,
		 0, 0},
	};
	struct setup setup;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(setenv("GOVER_FPS", rows[i].text, 1), 0);
		setup_read(&setup);
		if (setup.transport != rows[i].transport || setup.host.svm_cid != rows[i].cid ||
		    setup.host.svm_port != rows[i].port)
			fail_msg("%s: transport %d, %u, %u", rows[i].text, (int)setup.transport,
				 setup.host.svm_cid, setup.host.svm_port);
		if (setup.transport == SETUP_VSOCK)
			assert_int_equal(setup.host.svm_family, AF_VSOCK);
		if (setup.transport == SETUP_PORT)
			assert_string_equal(setup.port, strchr(rows[i].text, ':') + 1);
	}
}

TEST(the_daemons_socket_is_the_default)
{
	struct setup setup;

	assert_int_equal(unsetenv("GOVER_FPS"), 0);
	setup_read(&setup);
	assert_int_equal(setup.transport, SETUP_UNIX);
	assert_string_equal(setup.daemon.sun_path, FPS_DEFAULT_SOCKET);
}
