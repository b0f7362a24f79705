/* SPDX-License-Identifier: MIT */
/* Connects libmicrohttpd with authentication: peers, principals and TLS. */
#ifndef GOVER_D_HTTP_CALLER_H
#define GOVER_D_HTTP_CALLER_H

#include <microhttpd.h>

#include "gover-d/auth/authn.h"

/* For MHD_OPTION_NOTIFY_CONNECTION. The peer is read once and kept as the connection's socket
 * context until the connection is closed. */
void caller_on_connection(const struct authn *authn, struct MHD_Connection *connection,
			  void **socket_context, enum MHD_ConnectionNotificationCode code);

/* Identifies the caller of a request by its headers and its connection's peer. */
void caller_identify(struct authn *authn, struct MHD_Connection *connection,
		     struct principal *ret_principal);

/* For MHD_OPTION_ARRAY of a daemon that serves TCP. True: start it with MHD_USE_TLS. */
#define CALLER_TLS_OPTIONS 3
bool caller_tls_options(const struct authn *authn,
			struct MHD_OptionItem options[CALLER_TLS_OPTIONS]);

#endif
