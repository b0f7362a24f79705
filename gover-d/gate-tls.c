/* SPDX-License-Identifier: MIT */
/* Certificate and key. libmicrohttpd would only say that it cannot start: what is wrong is found
 * here. Must never log or keep more than is handed out. */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "gover-d/gate-tls.h"
#include "gover-d/log.h"

#define PEM_BYTES_MAX (256 * 1024)

static int load(const char *path, const char *what, char **ret_text, struct err *reterr)
{
	int r = file_read(path, PEM_BYTES_MAX, ret_text, NULL);

	return r < 0 ? err_fail(reterr, -r, "[daemon] %s = %s: cannot be read: %s", what, path,
				strerror(-r))
		     : 0;
}

static int check_pair(const char *certificate_path, const char *key_path, char *certificate,
		      char *key, struct err *reterr)
{
	gnutls_datum_t cert = {(unsigned char *)certificate, (unsigned int)strlen(certificate)};
	gnutls_datum_t private = {(unsigned char *)key, (unsigned int)strlen(key)};
	gnutls_certificate_credentials_t credentials;
	int r = gnutls_certificate_allocate_credentials(&credentials);

	if (r < 0)
		return err_fail(reterr, ENOMEM, "TLS: %s", gnutls_strerror(r));
	r = gnutls_certificate_set_x509_key_mem(credentials, &cert, &private, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(credentials);
	if (r < 0)
		return err_fail(reterr, EINVAL,
				"[daemon] tls_certificate = %s and tls_key = %s are not a "
				"certificate and its key, in PEM: %s",
				certificate_path, key_path, gnutls_strerror(r));
	return 0;
}

int gate_tls_load(const char *certificate_path, const char *key_path, char **ret_certificate,
		  char **ret_key, struct err *reterr)
{
	char *certificate = NULL, *key = NULL;
	struct stat st;
	int r = load(certificate_path, "tls_certificate", &certificate, reterr);

	if (r >= 0)
		r = load(key_path, "tls_key", &key, reterr);
	if (r >= 0)
		r = check_pair(certificate_path, key_path, certificate, key, reterr);
	if (r < 0) {
		free(certificate);
		free(key);
		return r;
	}
	if (stat(key_path, &st) == 0 && (st.st_mode & S_IROTH))
		log_warning("%s can be read by everybody on this host", key_path);
	*ret_certificate = certificate;
	*ret_key = key;
	return 0;
}
