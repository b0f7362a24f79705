/* SPDX-License-Identifier: MIT */
/*
 * gover-terrain: an OpenGL program that draws a rotating landscape, like plot3d in the paper. The
 * load varies periodically as the camera moves. Each level of detail multiplies the load by about
 * 1.6. SIGUSR1 raises the level, SIGUSR2 lowers the level. The program works without gover.
 */
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <GL/glx.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIN_DETAIL     1
#define MAX_DETAIL     8
#define REPORT_EVERY_S 5.0
#define TURN_DEG_S     15.0

struct options {
	int width, height;
	int detail;
	double wave_s; /* period of the load, seconds; 0: constant load */
	long frames;   /* number of frames to draw; 0: until SIGTERM */
	bool quiet;
};

struct vertex {
	float at[3];
	float normal[3];
	unsigned char color[4];
};

/* A landscape in vertex buffers. */
struct mesh {
	GLuint vertices, indices;
	GLsizei n_indices;
};

struct window {
	Display *display;
	Window window;
	GLXContext context;
	Atom delete_window;
	int width, height;
};

static volatile sig_atomic_t stopped;
static volatile sig_atomic_t raised; /* number of SIGUSR1 received, minus number of SIGUSR2 */

static void on_signal(int signal)
{
	switch (signal) {
	case SIGUSR1:
		raised++;
		break;
	case SIGUSR2:
		raised--;
		break;
	default:
		stopped = 1;
	}
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* --- the landscape: a square of side 2 around the origin, y up --- */

/* Returns a pseudo-random number in [0, 1) that depends only on @x and @z. */
static float lattice(int x, int z)
{
	unsigned int h = (unsigned int)x * 374761393u + (unsigned int)z * 668265263u;

	h = (h ^ (h >> 13)) * 1274126177u;
	return (float)((h ^ (h >> 16)) & 0xffffff) / (float)0x1000000;
}

static float mix(float a, float b, float t)
{
	return a + (b - a) * t * t * (3 - 2 * t);
}

static float noise(float x, float z)
{
	int x0 = (int)floorf(x), z0 = (int)floorf(z);
	float tx = x - (float)x0, tz = z - (float)z0;

	return mix(mix(lattice(x0, z0), lattice(x0 + 1, z0), tx),
		   mix(lattice(x0, z0 + 1), lattice(x0 + 1, z0 + 1), tx), tz);
}

#define SEA 0.0f

/*
 * Returns the height of the landscape: six octaves of noise, lowered towards the edge so that the
 * landscape is an island.
 */
static float height_at(float x, float z)
{
	float height = 0, scale = 0.5f, frequency = 2.2f;

	for (int octave = 0; octave < 6; octave++) {
		height += scale * noise(frequency * x + 17, frequency * z + 29);
		scale *= 0.5f;
		frequency *= 2.03f;
	}
	height = 0.8f * height - 0.19f - 0.40f * (x * x * x * x + z * z * z * z);
	return height > SEA ? height : SEA;
}

static void color_at(float height, float slope, unsigned char color[4])
{
	static const struct {
		float below;
		unsigned char color[4];
	} bands[] = {
		{SEA + 0.0005f, {38, 92, 150, 255}}, {0.018f, {214, 198, 148, 255}},
		{0.09f, {104, 156, 70, 255}},	     {0.17f, {56, 108, 52, 255}},
		{0.235f, {124, 110, 92, 255}},	     {INFINITY, {240, 244, 250, 255}},
	};
	static const unsigned char rock[4] = {116, 104, 94, 255};
	size_t band = 0;

	while (height >= bands[band].below)
		band++;
	memcpy(color, slope > 1.0f && band >= 2 ? rock : bands[band].color, 4);
}

static struct vertex vertex_at(float x, float z, float step)
{
	float slope_x = (height_at(x + step, z) - height_at(x - step, z)) / (2 * step);
	float slope_z = (height_at(x, z + step) - height_at(x, z - step)) / (2 * step);
	float slope = sqrtf(slope_x * slope_x + slope_z * slope_z);
	float length = sqrtf(1 + slope * slope);
	struct vertex vertex = {
		.at = {x, height_at(x, z), z},
		.normal = {-slope_x / length, 1 / length, -slope_z / length},
	};

	color_at(vertex.at[1], slope, vertex.color);
	return vertex;
}

/*
 * Cells per side for each level of detail. A frame takes 1.6 times as long as on the level below.
 * Measured at 960x720 with llvmpipe: 0.18 us per triangle and 3 ms for the rest of the frame
 * (gover-terrain --wave 0 --frames 500 --detail N, one core, LP_NUM_THREADS=0).
 */
static const int cells_of_detail[MAX_DETAIL + 1] = {0, 76, 119, 167, 222, 290, 373, 477, 608};

/* Replaces the landscape in @mesh. If out of memory, returns false and keeps the old landscape. */
static bool mesh_make(struct mesh *mesh, int detail)
{
	size_t cells = (size_t)cells_of_detail[detail], side = cells + 1, n = 0;
	struct vertex *vertices = malloc(side * side * sizeof(*vertices));
	GLuint *indices = malloc(cells * cells * 6 * sizeof(*indices));
	float step = 2.0f / (float)cells;

	for (size_t v = 0; vertices && v < side * side; v++)
		vertices[v] =
			vertex_at((float)(v % side) * step - 1, (float)(v / side) * step - 1, step);
	for (size_t c = 0; indices && c < cells * cells; c++) {
		GLuint corner = (GLuint)(c / cells * side + c % cells),
		       below = corner + (GLuint)side;
		const GLuint cell[6] = {corner, below, corner + 1, corner + 1, below, below + 1};

		memcpy(&indices[n], cell, sizeof(cell));
		n += 6;
	}
	if (vertices && indices) {
		glBindBuffer(GL_ARRAY_BUFFER, mesh->vertices);
		glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)(side * side * sizeof(*vertices)),
			     vertices, GL_STATIC_DRAW);
		glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, mesh->indices);
		glBufferData(GL_ELEMENT_ARRAY_BUFFER, (GLsizeiptr)(n * sizeof(*indices)), indices,
			     GL_STATIC_DRAW);
		mesh->n_indices = (GLsizei)n;
	}
	free(vertices);
	free(indices);
	return mesh->n_indices == (GLsizei)n;
}

/* --- drawing --- */

static void scene_setup(struct mesh *mesh)
{
	static const float sun[4] = {0.6f, 0.7f, 0.4f, 0}, sunlight[4] = {1, 0.96f, 0.88f, 1};
	static const float sky[4] = {0.30f, 0.34f, 0.42f, 1};

	glEnable(GL_DEPTH_TEST);
	glEnable(GL_CULL_FACE);
	glEnable(GL_LIGHTING);
	glEnable(GL_LIGHT0);
	glEnable(GL_COLOR_MATERIAL);
	/* The light is in eye coordinates, so it does not rotate with the landscape. */
	glLightfv(GL_LIGHT0, GL_POSITION, sun);
	glLightfv(GL_LIGHT0, GL_DIFFUSE, sunlight);
	glLightModelfv(GL_LIGHT_MODEL_AMBIENT, sky);
	glClearColor(0.66f, 0.78f, 0.90f, 1);
	glGenBuffers(1, &mesh->vertices);
	glGenBuffers(1, &mesh->indices);
	glEnableClientState(GL_VERTEX_ARRAY);
	glEnableClientState(GL_NORMAL_ARRAY);
	glEnableClientState(GL_COLOR_ARRAY);
}

static void scene_draw(const struct window *window, const struct mesh *mesh, double t_s,
		       double wave_s)
{
	double near_far = wave_s > 0 ? sin(2 * M_PI * t_s / wave_s) : 0;
	double top = 0.05 * 0.45, side = top * window->width / window->height;

	glViewport(0, 0, window->width, window->height);
	glMatrixMode(GL_PROJECTION);
	glLoadIdentity();
	glFrustum(-side, side, -top, top, 0.05, 10);
	glMatrixMode(GL_MODELVIEW);
	glLoadIdentity();
	glTranslated(0, 0.05, -2.6 + 0.4 * near_far);
	glRotated(30, 1, 0, 0);
	glRotated(TURN_DEG_S * t_s, 0, 1, 0);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
	glVertexPointer(3, GL_FLOAT, sizeof(struct vertex), (void *)offsetof(struct vertex, at));
	glNormalPointer(GL_FLOAT, sizeof(struct vertex), (void *)offsetof(struct vertex, normal));
	glColorPointer(4, GL_UNSIGNED_BYTE, sizeof(struct vertex),
		       (void *)offsetof(struct vertex, color));
	glDrawElements(GL_TRIANGLES, mesh->n_indices, GL_UNSIGNED_INT, NULL);
}

/* --- the window --- */

static int fail(const char *what)
{
	fprintf(stderr, "gover-terrain: %s\n", what);
	return -1;
}

static int window_open(struct window *window, const struct options *options)
{
	int wanted[] = {GLX_RGBA, GLX_DOUBLEBUFFER, GLX_DEPTH_SIZE, 24, None};
	XSetWindowAttributes attributes = {.event_mask = StructureNotifyMask};
	XVisualInfo *visual;
	Window root;

	window->display = XOpenDisplay(NULL);
	if (!window->display)
		return fail("cannot open the X display (is DISPLAY set?)");
	root = DefaultRootWindow(window->display);
	visual = glXChooseVisual(window->display, DefaultScreen(window->display), wanted);
	if (!visual)
		return fail("the display has no double-buffered OpenGL visual");
	attributes.colormap = XCreateColormap(window->display, root, visual->visual, AllocNone);
	window->window = XCreateWindow(window->display, root, 0, 0, (unsigned int)options->width,
				       (unsigned int)options->height, 0, visual->depth, InputOutput,
				       visual->visual, CWColormap | CWEventMask, &attributes);
	window->context = glXCreateContext(window->display, visual, NULL, True);
	XFree(visual);
	if (!window->context || !glXMakeCurrent(window->display, window->window, window->context))
		return fail("cannot create an OpenGL context");
	window->delete_window = XInternAtom(window->display, "WM_DELETE_WINDOW", False);
	XSetWMProtocols(window->display, window->window, &window->delete_window, 1);
	XStoreName(window->display, window->window, "gover-terrain");
	XMapWindow(window->display, window->window);
	window->width = options->width;
	window->height = options->height;
	return 0;
}

static void window_close(struct window *window)
{
	if (!window->display)
		return;
	if (window->context) {
		glXMakeCurrent(window->display, None, NULL);
		glXDestroyContext(window->display, window->context);
	}
	XCloseDisplay(window->display);
}

static void window_events(struct window *window)
{
	while (XPending(window->display) > 0) {
		XEvent event;

		XNextEvent(window->display, &event);
		if (event.type == ConfigureNotify) {
			window->width = event.xconfigure.width;
			window->height = event.xconfigure.height;
		} else if (event.type == ClientMessage &&
			   (Atom)event.xclient.data.l[0] == window->delete_window) {
			stopped = 1;
		}
	}
}

/* --- the program --- */

static void follow_signals(struct mesh *mesh, int *detail, int *followed)
{
	int now = raised, wanted = *detail + now - *followed;

	*followed = now;
	if (wanted < MIN_DETAIL)
		wanted = MIN_DETAIL;
	if (wanted > MAX_DETAIL)
		wanted = MAX_DETAIL;
	if (wanted != *detail && mesh_make(mesh, wanted))
		*detail = wanted;
}

static int run(struct window *window, const struct options *options)
{
	double start_s = now_s(), reported_s = start_s;
	long frames = 0, reported = 0;
	int detail = options->detail, followed = 0;
	struct mesh mesh = {0};

	scene_setup(&mesh);
	if (!mesh_make(&mesh, detail))
		return fail("out of memory");
	while (!stopped && (options->frames == 0 || frames < options->frames)) {
		double t_s = now_s();

		window_events(window);
		follow_signals(&mesh, &detail, &followed);
		scene_draw(window, &mesh, t_s - start_s, options->wave_s);
		glXSwapBuffers(window->display, window->window);
		frames++;
		if (!options->quiet && t_s - reported_s >= REPORT_EVERY_S) {
			printf("%ld frames in %.1f seconds = %.3f FPS, detail %d\n",
			       frames - reported, t_s - reported_s,
			       (double)(frames - reported) / (t_s - reported_s), detail);
			(void)fflush(stdout);
			reported_s = t_s;
			reported = frames;
		}
	}
	return 0;
}

static const char usage[] =
	"usage: gover-terrain [OPTION]...\n"
	"Draws a rotating landscape with OpenGL. The load varies periodically.\n"
	"  --size WxH      size of the window, 16 to 8192 each (960x720)\n"
	"  --detail N      level of detail, 1 to 8; a frame takes 1.6 times as long per level (3)\n"
	"  --wave SECONDS  period of the load, 0 to 3600; 0: constant (10)\n"
	"  --frames N      exit after N frames, 0 to 1000000000; 0: never (0)\n"
	"  --quiet         do not print FPS every 5 seconds\n"
	"  --help          show this help\n"
	"SIGUSR1 raises the level of detail, SIGUSR2 lowers it, SIGTERM ends the program.\n";

/*
 * Parses a decimal number within [@min, @max], which must be followed by the character @stop.
 * *@ret_end: the text after @stop.
 */
static bool number(const char *text, char stop, long min, long max, long *ret_value,
		   const char **ret_end)
{
	char *end;
	long value;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtol(text, &end, 10);
	if (errno != 0 || *end != stop || value < min || value > max)
		return false;
	*ret_value = value;
	if (ret_end)
		*ret_end = end + 1;
	return true;
}

static bool parse_size(const char *text, struct options *options)
{
	const char *height;
	long w, h;

	if (!number(text, 'x', 16, 8192, &w, &height) || !number(height, '\0', 16, 8192, &h, NULL))
		return false;
	options->width = (int)w;
	options->height = (int)h;
	return true;
}

static bool parse_option(int option, const char *text, struct options *options)
{
	long value = 0;
	bool ok;

	switch (option) {
	case 's':
		return parse_size(text, options);
	case 'd':
		ok = number(text, '\0', MIN_DETAIL, MAX_DETAIL, &value, NULL);
		options->detail = (int)value;
		return ok;
	case 'w':
		ok = number(text, '\0', 0, 3600, &value, NULL);
		options->wave_s = (double)value;
		return ok;
	case 'f':
		return number(text, '\0', 0, 1000000000, &options->frames, NULL);
	case 'q':
		options->quiet = true;
		return true;
	default:
		return false;
	}
}

/* Returns 0 if the program may run. Otherwise the program must exit with *@ret_status. */
static int parse_arguments(int argc, char **argv, struct options *options, int *ret_status)
{
	static const struct option known[] = {
		{"size", required_argument, NULL, 's'},
		{"detail", required_argument, NULL, 'd'},
		{"wave", required_argument, NULL, 'w'},
		{"frames", required_argument, NULL, 'f'},
		{"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option, index;

	*ret_status = 2;
	while ((option = getopt_long(argc, argv, "", known, &index)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			*ret_status = 0;
			return -1;
		}
		if (option == '?')
			return -1;
		if (!parse_option(option, optarg, options)) {
			fprintf(stderr, "gover-terrain: --%s: invalid value '%s' (see --help)\n",
				known[index].name, optarg);
			return -1;
		}
	}
	if (optind == argc)
		return 0;
	fprintf(stderr, "gover-terrain: unexpected argument '%s' (see --help)\n", argv[optind]);
	return -1;
}

int main(int argc, char **argv)
{
	struct options options = {.width = 960, .height = 720, .detail = 3, .wave_s = 10};
	static const int signals[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct window window = {0};
	int status;

	if (parse_arguments(argc, argv, &options, &status) < 0)
		return status;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], &action, NULL);
	status = window_open(&window, &options);
	if (status == 0)
		status = run(&window, &options);
	window_close(&window);
	return status < 0 ? 1 : 0;
}
