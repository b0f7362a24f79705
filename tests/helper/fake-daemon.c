/* SPDX-License-Identifier: MIT */
/*
 * fake-daemon SOCKET FOLDER LOG: replies to every request with a file, until a signal ends it. The
 * file for GET /v1/vgpus/web1?x is FOLDER/GET_v1_vgpus_web1. An empty file is status 204, a missing
 * file is status 404. Each request is a line in LOG: method, target, body.
 */
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct request {
	char target[1024], body[4096];
	size_t n_body;
	int begun;
};

static const char *folder;
static FILE *log_file;

/* Called first for every request. Only this callback gets the target with its query. */
static void *note_target(void *cls, const char *target, struct MHD_Connection *connection)
{
	struct request *request = calloc(1, sizeof(*request));

	(void)cls;
	(void)connection;
	if (request)
		snprintf(request->target, sizeof(request->target), "%s", target);
	return request;
}

static void end_request(void *cls, struct MHD_Connection *connection, void **con_cls,
			enum MHD_RequestTerminationCode code)
{
	(void)cls;
	(void)connection;
	(void)code;
	free(*con_cls);
}

static enum MHD_Result answer(struct MHD_Connection *connection, const char *method,
			      const char *url)
{
	static char problem[] = "{\"type\": \"about:blank\", \"title\": \"Not Found\", \"status\": "
				"404, \"detail\": \"the fake daemon has no such reply\"}";
	char path[2048];
	struct MHD_Response *response;
	enum MHD_Result r;
	struct stat st;
	int fd, status = 200;

	snprintf(path, sizeof(path), "%s/%s%s", folder, method, url);
	for (char *c = path + strlen(folder) + 1; *c; c++)
		if (*c == '/')
			*c = '_';
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		status = 404;
		response = MHD_create_response_from_buffer(strlen(problem), problem,
							   MHD_RESPMEM_PERSISTENT);
	} else {
		status = st.st_size == 0 ? 204 : 200;
		response = MHD_create_response_from_fd((size_t)st.st_size, fd);
	}
	MHD_add_response_header(response, "Content-Type", "application/json");
	r = MHD_queue_response(connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return r;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **con_cls)
{
	struct request *request = *con_cls;

	(void)cls;
	(void)version;
	if (!request)
		return MHD_NO;
	if (!request->begun) {
		request->begun = 1;
		return MHD_YES;
	}
	if (*size > 0) {
		if (*size >= sizeof(request->body) - request->n_body)
			return MHD_NO;
		memcpy(request->body + request->n_body, data, *size);
		request->n_body += *size;
		*size = 0;
		return MHD_YES;
	}
	fprintf(log_file, "%s %s%s%s\n", method, request->target, request->body[0] ? " " : "",
		request->body);
	fflush(log_file);
	return answer(connection, method, url);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 64) < 0)
		return -1;
	return fd;
}

int main(int argc, char *argv[])
{
	struct MHD_Daemon *daemon;
	int fd;

	if (argc != 4) {
		fputs("Usage: fake-daemon SOCKET FOLDER LOG\n", stderr);
		return 2;
	}
	folder = argv[2];
	log_file = fopen(argv[3], "ae");
	fd = listen_at(argv[1]);
	if (!log_file || fd < 0) {
		fprintf(stderr, "fake-daemon: %s\n", strerror(errno));
		return 1;
	}
	daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle, NULL,
				  MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_URI_LOG_CALLBACK,
				  note_target, NULL, MHD_OPTION_NOTIFY_COMPLETED, end_request, NULL,
				  MHD_OPTION_END);
	if (!daemon)
		return 1;
	for (;;)
		pause();
}
