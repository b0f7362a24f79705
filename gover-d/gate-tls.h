/* SPDX-License-Identifier: MIT */
/* The certificate of TCP. Must never show a byte of a key. */
#ifndef GOVER_D_GATE_TLS_H
#define GOVER_D_GATE_TLS_H

#include "base/err.h"

/* Reads both PEM files and sees that they are a pair, as GnuTLS understands it. The texts are the
 * caller's to free. A negative errno with a sentence that names the file. */
int gate_tls_load(const char *certificate_path, const char *key_path, char **ret_certificate,
		  char **ret_key, struct err *reterr);

#endif
