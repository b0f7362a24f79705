/* SPDX-License-Identifier: MIT */
/*
 * An HTTP client for the daemon and for other services, based on libcurl. A reply has at most
 * REPLY_MAX bytes.
 */
#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/http/client.h"
#include "base/http/denied.h"
#include "base/number.h"
#include "base/xalloc.h"

/* maximum bytes of a reply; the status of 1,000 vGPUs has about 1 MB */
#define REPLY_MAX	   (64u << 20)
#define CONNECT_TIMEOUT_MS 5000L
#define REQUEST_TIMEOUT_MS 30000L
/* maximum time without data in an event stream; the daemon sends data at least every 15 s */
#define SILENCE_NS	 (45 * NS_PER_S)
#define TOKEN_LENGTH_MAX 255
#define TOKEN_FILE_MAX	 4096

struct client {
	CURL *curl;
	bool over_socket;
	char base[CLIENT_PATH_MAX];    /* URL of the daemon without a trailing slash */
	char address[CLIENT_PATH_MAX]; /* socket path or URL, as the user gave it */
	/* file of trusted certificates; "": certificates of the system */
	char cacert[CLIENT_PATH_MAX];
	char certificate[CLIENT_PATH_MAX], key[CLIENT_PATH_MAX]; /* "": no client certificate */
	char token[TOKEN_LENGTH_MAX + 1];			 /* "": no token */
	long timeout_ms;
	const char *service; /* NULL: gover-d */
};

static int address_check(const char *socket, const char *url, struct err *reterr)
{
	const size_t path_size = sizeof(((struct sockaddr_un *)NULL)->sun_path);

	if (url && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return err_fail(reterr, EINVAL,
				"URL '%s': unknown scheme (allowed: http://, https://)", url);
	if (url && strlen(url) >= CLIENT_PATH_MAX)
		return err_fail(reterr, EINVAL, "URL '%.40s...': too long (limit %d characters)",
				url, CLIENT_PATH_MAX - 1);
	if (!url && socket[0] == '\0')
		return err_fail(reterr, EINVAL, "socket: empty path");
	if (!url && strlen(socket) >= path_size)
		return err_fail(reterr, EINVAL, "socket '%s': path too long (limit %zu characters)",
				socket, path_size - 1);
	return 0;
}

int client_new(const char *socket, const char *url, struct client **ret_client, struct err *reterr)
{
	struct client *client;
	int r = address_check(socket, url, reterr);

	if (r < 0)
		return r;
	client = xcalloc(1, sizeof(*client));
	client->curl = curl_easy_init();
	if (!client->curl)
		xalloc_fail(0);
	client->over_socket = !url;
	client->timeout_ms = REQUEST_TIMEOUT_MS;
	snprintf(client->address, sizeof(client->address), "%s", url ? url : socket);
	snprintf(client->base, sizeof(client->base), "%s", url ? url : "http://localhost");
	for (size_t n = strlen(client->base); n > 0 && client->base[n - 1] == '/'; n--)
		client->base[n - 1] = '\0';
	*ret_client = client;
	return 0;
}

struct client *client_free(struct client *client)
{
	if (client) {
		curl_easy_cleanup(client->curl);
		explicit_bzero(client->token, sizeof(client->token));
	}
	free(client);
	return NULL;
}

/* Returns true if a request to this URL is encrypted or stays on this host. */
static bool url_keeps_secrets(const char *url)
{
	const char *host = url + strlen("http://");
	size_t n;

	if (strncmp(url, "https://", 8) == 0)
		return true;
	n = strcspn(host, "/?#");
	if (memchr(host, '@', n))
		return false;
	if (strncmp(host, "[::1]", 5) == 0)
		return n == 5 || host[5] == ':';
	n = strcspn(host, ":/?#");
	return (n == 9 && strncmp(host, "localhost", n) == 0) ||
	       (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == n);
}

static int token_take(struct client *client, const char *path, const char *text, struct err *reterr)
{
	size_t n = strcspn(text, "\r\n");

	if (n == 0 || n > TOKEN_LENGTH_MAX || text[n + strspn(text + n, "\r\n")] != '\0')
		return err_fail(reterr, EINVAL,
				"token file '%s': must have one line of 1 to %d characters", path,
				TOKEN_LENGTH_MAX);
	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return err_fail(reterr, EINVAL,
					"token file '%s': character %zu is not allowed in a token",
					path, i + 1);
	memcpy(client->token, text, n);
	client->token[n] = '\0';
	return 0;
}

int client_load_token(struct client *client, const char *path, struct err *reterr)
{
	char *text = NULL;
	int r;

	if (client->over_socket)
		return 0;
	if (!url_keeps_secrets(client->base))
		return err_fail(reterr, EINVAL,
				"URL '%s': the token would be sent unencrypted; use https://",
				client->base);
	r = file_read_input(path, TOKEN_FILE_MAX, &text);
	if (r < 0)
		return err_fail(reterr, EINVAL, "token file '%s': %s", path, strerror(-r));
	r = token_take(client, path, text, reterr);
	explicit_bzero(text, strlen(text));
	free(text);
	return r;
}

/* Returns the setting of the user: an option of gover-ctl, or a key of a configuration. */
static const char *cacert_name(const struct client *client)
{
	return client->service ? "cacert" : "--cacert";
}

/* Checks that a file can be read, and stores its path. @name: the setting of the user. */
static int load_path(const char *name, const char *path, char ret_path[CLIENT_PATH_MAX],
		     struct err *reterr)
{
	if (strlen(path) >= CLIENT_PATH_MAX)
		return err_fail(reterr, EINVAL, "%s '%.40s...': too long (limit %d characters)",
				name, path, CLIENT_PATH_MAX - 1);
	if (access(path, R_OK) < 0)
		return err_fail(reterr, EINVAL, "%s '%s': %s", name, path, strerror(errno));
	strcpy(ret_path, path);
	return 0;
}

int client_load_cacert(struct client *client, const char *path, struct err *reterr)
{
	return load_path(cacert_name(client), path, client->cacert, reterr);
}

int client_load_certificate(struct client *client, const char *path, const char *key_path,
			    struct err *reterr)
{
	int r = load_path("--cert", path, client->certificate, reterr);

	return r < 0 ? r
		     : load_path(key_path ? "--cert-key" : "--cert", key_path ? key_path : path,
				 client->key, reterr);
}

const char *client_address(const struct client *client)
{
	return client->address;
}

void client_set_timeout(struct client *client, long timeout_ms)
{
	client->timeout_ms = timeout_ms;
}

void client_set_service(struct client *client, const char *service)
{
	client->service = service;
}

void reply_fini(struct reply *reply)
{
	free(reply->text);
	free(reply->header);
	json_decref(reply->json);
	*reply = (struct reply){0};
}

static size_t take_body(char *data, size_t size, size_t count, void *userdata)
{
	struct reply *reply = userdata;
	size_t n = size * count;

	if (n > REPLY_MAX - reply->length)
		return 0;
	reply->text = xrealloc(reply->text, reply->length + n + 1);
	memcpy(reply->text + reply->length, data, n);
	reply->length += n;
	reply->text[reply->length] = '\0';
	return n;
}

/* The header of a reply that the call wants. */
struct header_catch {
	const char *name;
	char **ret_value;
};

/* Called for each line of the header of a reply. A reply to one request can have several headers.
 */
static size_t take_header(char *line, size_t size, size_t count, void *userdata)
{
	const struct header_catch *wanted = userdata;
	size_t n = size * count, name_length = strlen(wanted->name), begin = name_length + 1,
	       end = n;

	if (n <= name_length || line[name_length] != ':' ||
	    strncasecmp(line, wanted->name, name_length) != 0)
		return n;
	while (begin < end && (line[begin] == ' ' || line[begin] == '\t'))
		begin++;
	while (end > begin && strchr(" \t\r\n", line[end - 1]))
		end--;
	free(*wanted->ret_value);
	*wanted->ret_value = xstrndup(line + begin, end - begin);
	return n;
}

/* The state of an event stream. @reply gets the body only if the daemon replies with an error. */
struct stream {
	struct client *client;
	const struct client_call *call;
	struct reply *reply;
	uint64_t received_ns; /* monotonic time at which the last chunk arrived */
	bool stopped;	      /* call->chunk() returned false */
};

static size_t take_chunk(char *data, size_t size, size_t count, void *userdata)
{
	struct stream *stream = userdata;
	long status = 0;

	stream->received_ns = clock_now().mono_ns;
	curl_easy_getinfo(stream->client->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200)
		return take_body(data, size, count, stream->reply);
	stream->stopped = !stream->call->chunk(stream->call->userdata, data, size * count);
	return stream->stopped ? 0 : size * count;
}

/* Called by libcurl about once per second, and at each chunk. */
static int check_silence(void *userdata, curl_off_t total, curl_off_t now, curl_off_t up_total,
			 curl_off_t up_now)
{
	const struct stream *stream = userdata;

	(void)total, (void)now, (void)up_total, (void)up_now;
	if (stream->call->stop && atomic_load(stream->call->stop))
		return 1;
	return clock_now().mono_ns - stream->received_ns > SILENCE_NS;
}

static CURLcode perform_stream(struct client *client, const struct client_call *call,
			       struct reply *reply)
{
	struct stream stream = {client, call, reply, clock_now().mono_ns, false};
	CURLcode code;

	curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, 0L);
	curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, take_chunk);
	curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &stream);
	curl_easy_setopt(client->curl, CURLOPT_XFERINFOFUNCTION, check_silence);
	curl_easy_setopt(client->curl, CURLOPT_XFERINFODATA, &stream);
	curl_easy_setopt(client->curl, CURLOPT_NOPROGRESS, 0L);
	code = curl_easy_perform(client->curl);
	return code == CURLE_WRITE_ERROR && stream.stopped ? CURLE_OK : code;
}

/* Returns the advice that is printed if there is no answer. */
static const char *no_answer_advice(const struct client *client)
{
	if (client->service)
		return "check that the service runs at this address";
	if (!client->over_socket)
		return "check that gover-d runs at this address and that `listen` is set in "
		       "gover.conf";
	return "check with `systemctl status gover-d`, or set the socket with --socket or "
	       "GOVER_SOCKET";
}

static int explain_no_answer(const struct client *client, CURLcode code, struct err *reterr)
{
	const char *why = curl_easy_strerror(code);
	bool connected = code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST;
	struct denied denied;
	long os_errno = 0;

	if (code == CURLE_OUT_OF_MEMORY)
		xalloc_fail(0);
	if (code == CURLE_WRITE_ERROR)
		return err_fail(reterr, EPROTO, "%s: reply larger than %u MiB", client->address,
				REPLY_MAX >> 20);
	if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE)
		return err_fail(reterr, ENOTCONN,
				"%s: certificate not trusted (%s); pass the CA's certificate with "
				"%s",
				client->address, why, cacert_name(client));
	if (code == CURLE_SSL_CERTPROBLEM)
		return err_fail(reterr, EINVAL,
				"client certificate '%s' with the key in '%s': cannot be used (%s)",
				client->certificate, client->key, why);
	curl_easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &os_errno);
	if (!connected && client->over_socket && os_errno == EACCES &&
	    denied_explain(client->address, &denied))
		return err_fail(reterr, ENOTCONN, "permission denied: %s (%s)", denied.text,
				denied.command);
	if (!connected && os_errno != 0)
		why = strerror((int)os_errno);
	return err_fail(reterr, connected ? ECONNRESET : ENOTCONN,
			"no answer from %s at %s (%s): %s",
			client->service ? client->service : "gover-d", client->address, why,
			no_answer_advice(client));
}

static int judge_reply(const struct client *client, const struct client_call *call,
		       struct reply *reply, struct err *reterr)
{
	const char *detail;

	if (reply->length > 0)
		reply->json = json_loadb(reply->text, reply->length, 0, NULL);
	if (call->any_status)
		return 0;
	if (reply->status >= 200 && reply->status < 300) {
		if (reply->length == 0 || call->any_text || json_is_object(reply->json))
			return 0;
		return err_fail(
			reterr, EPROTO,
			"%s %s: reply from %s is not a JSON object; another program may use "
			"this address",
			call->method, call->path, client->address);
	}
	detail = json_string_value(json_object_get(reply->json, "detail"));
	if (!detail)
		detail = json_string_value(json_object_get(reply->json, "title"));
	if (detail && reply->status == 401 && !client->token[0])
		(void)err_fail(reterr, 0, "%s; pass it with --token-file or GOVER_TOKEN_FILE",
			       detail);
	else if (detail)
		(void)err_fail(reterr, 0, "%s", detail);
	else
		(void)err_fail(reterr, 0, "%s %s: %s replied with HTTP status %ld", call->method,
			       call->path, client->address, reply->status);
	return CLIENT_REFUSED;
}

static void add_header(struct curl_slist **headers, const char *line)
{
	*headers = curl_slist_append(*headers, line);
	if (!*headers)
		xalloc_fail(0);
}

/* Frees the lines, which may contain tokens. */
static void free_headers(struct curl_slist *headers)
{
	for (const struct curl_slist *line = headers; line; line = line->next)
		explicit_bzero(line->data, strlen(line->data));
	curl_slist_free_all(headers);
}

static struct curl_slist *make_headers(const struct client *client, const struct client_call *call)
{
	char line[TOKEN_LENGTH_MAX + 32];
	struct curl_slist *headers = NULL;

	add_header(&headers, "Accept: application/json");
	if (call->body)
		add_header(&headers, "Content-Type: application/json");
	if (call->key) {
		snprintf(line, sizeof(line), "Idempotency-Key: %s", call->key);
		add_header(&headers, line);
	}
	if (client->token[0]) {
		snprintf(line, sizeof(line), "Authorization: Bearer %s", client->token);
		add_header(&headers, line);
		explicit_bzero(line, sizeof(line));
	}
	for (size_t i = 0; i < call->n_headers; i++)
		add_header(&headers, call->headers[i]);
	return headers;
}

/* A line break in a value would begin a further header. The message does not show the value. */
static int check_headers(const struct client_call *call, struct err *reterr)
{
	for (size_t i = 0; i < call->n_headers; i++) {
		const char *line = call->headers[i];
		int name_length = (int)strcspn(line, ":");

		if (strlen(line) > CLIENT_HEADER_MAX)
			return err_fail(reterr, EINVAL, "header %.*s: too long (limit %d)",
					min_int(name_length, 40), line, CLIENT_HEADER_MAX);
		for (const char *at = line; *at; at++)
			if ((unsigned char)*at < ' ' || *at == '\x7f')
				return err_fail(reterr, EINVAL, "header %.*s: control character",
						min_int(name_length, 40), line);
	}
	return 0;
}

/* Sets the options that depend on the address of the service. */
static void set_address(const struct client *client, const struct client_call *call)
{
	char url[2 * CLIENT_PATH_MAX];

	snprintf(url, sizeof(url), "%s%s", client->base, call->path);
	curl_easy_setopt(client->curl, CURLOPT_URL, url);
	curl_easy_setopt(client->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	if (client->over_socket) {
		curl_easy_setopt(client->curl, CURLOPT_UNIX_SOCKET_PATH, client->address);
		curl_easy_setopt(client->curl, CURLOPT_NOPROXY, "*");
	} else if ((client->token[0] || call->n_headers > 0) &&
		   strncmp(client->base, "http://", 7) == 0) {
		curl_easy_setopt(client->curl, CURLOPT_NOPROXY,
				 /* an unencrypted token must not leave this host through a proxy */
				 "*");
	}
	if (client->cacert[0])
		curl_easy_setopt(client->curl, CURLOPT_CAINFO, client->cacert);
	if (client->certificate[0]) {
		curl_easy_setopt(client->curl, CURLOPT_SSLCERT, client->certificate);
		curl_easy_setopt(client->curl, CURLOPT_SSLKEY, client->key);
	}
}

static CURLcode perform(struct client *client, const struct client_call *call, const char *body,
			struct reply *reply)
{
	struct header_catch wanted = {call->wanted, &reply->header};
	struct curl_slist *headers = make_headers(client, call);
	CURLcode code;

	curl_easy_reset(client->curl);
	set_address(client, call);
	curl_easy_setopt(client->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(client->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
	curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, client->timeout_ms);
	curl_easy_setopt(client->curl, CURLOPT_CUSTOMREQUEST, call->method);
	curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(client->curl, CURLOPT_USERAGENT,
			 client->service ? "gover/" GOVER_VERSION : "gover-ctl/" GOVER_VERSION);
	curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, reply);
	if (call->wanted) {
		curl_easy_setopt(client->curl, CURLOPT_HEADERFUNCTION, take_header);
		curl_easy_setopt(client->curl, CURLOPT_HEADERDATA, &wanted);
	}
	if (body)
		curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, body);
	code = call->chunk ? perform_stream(client, call, reply) : curl_easy_perform(client->curl);
	curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &reply->status);
	free_headers(headers);
	return code;
}

int client_request(struct client *client, const struct client_call *call, struct reply *ret_reply,
		   struct err *reterr)
{
	CLEANUP_FREE char *body = NULL;
	struct reply reply = {0};
	CURLcode code;
	int r = check_headers(call, reterr);

	if (r < 0)
		return r;
	if (call->body)
		body = json_dumps(call->body, JSON_COMPACT);
	code = perform(client, call, body, &reply);
	r = code == CURLE_OK ? judge_reply(client, call, &reply, reterr)
			     : explain_no_answer(client, code, reterr);
	if (r == 0) {
		*ret_reply = reply;
		return 0;
	}
	ret_reply->status = reply.status;
	ret_reply->json = json_incref(reply.json);
	reply_fini(&reply);
	return r;
}
