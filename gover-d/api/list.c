/* SPDX-License-Identifier: MIT */
/* Lists in pages. An element that exists during the whole listing appears exactly once. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gover-d/api/list.h"
#include "gover-d/api/problem.h"
#include "gover-d/api/resource.h"
#include "gover-d/util/json-encode.h"

/* A page to which elements are appended. */
struct page {
	int64_t limit;
	json_t *list;
	bool is_full; /* true: more elements follow this page */
	json_t *next; /* cursor of the next page, if is_full */
};

/*
 * Returns false if the page is full; @next is then the cursor of the next page. Takes over @next.
 */
static bool has_room(struct page *page, json_t *next)
{
	if (page->limit == 0 || (int64_t)json_array_size(page->list) < page->limit) {
		json_decref(next);
		return true;
	}
	page->is_full = true;
	page->next = next;
	return false;
}

static void reply(struct api_request *request, const char *key, struct page *page)
{
	api_request_reply_json(request, 200,
			       json_pack("{s:o, s:o}", key, page->list, "next",
					 page->is_full ? page->next : json_null()));
}

static int read_limit(struct api_request *request, struct page *page)
{
	return api_query_whole(request, "limit", 1, API_LIST_MAX, &page->limit);
}

void api_list_reply_ids(struct api_request *request, const char *key, json_t *list)
{
	struct page page = {.limit = 0};
	int64_t after = 0, last = 0;
	size_t index;
	json_t *element;

	if (read_limit(request, &page) < 0 ||
	    api_query_whole(request, "after", 0, INT64_MAX, &after) < 0) {
		json_decref(list);
		return;
	}
	page.list = json_array();
	json_array_foreach (list, index, element) {
		int64_t id = json_integer_value(json_object_get(element, "id"));

		if (id <= after)
			continue;
		if (!has_room(&page, json_integer(last)))
			break;
		json_array_append_new(page.list, json_incref(element));
		last = id;
	}
	json_decref(list);
	reply(request, key, &page);
}

/* A position in the list of all vGPUs, which is sorted by GPU. */
struct place {
	int gpu;	/* index of the GPU */
	const char *id; /* the position is after this vGPU; "": before the first vGPU */
};

/*
 * Parses the parameter "after": "GPU", or "GPU/VGPU" if @takes_vgpu. -EINVAL: the text is invalid;
 * the reply is set.
 */
static int read_place(struct api *api, struct api_request *request, bool takes_vgpu,
		      struct place *ret_place)
{
	const struct host *host = api->view->host;
	const char *text = api_request_query(request, "after");
	size_t length = text ? strcspn(text, takes_vgpu ? "/" : "") : 0;

	*ret_place = (struct place){.gpu = 0, .id = ""};
	if (!text)
		return 0;
	for (int i = 0; i < host->n_gpus; i++) {
		const char *name = host->gpus[i].config.name;

		if (strlen(name) != length || strncmp(name, text, length) != 0)
			continue;
		if (takes_vgpu && (text[length] != '/' || !id_valid(text + length + 1)))
			break;
		*ret_place = (struct place){
			.gpu = i,
			.id = takes_vgpu ? text + length + 1 : "",
		};
		return 0;
	}
	problem_reply(request, 400,
		      "after: %.100s is invalid (allowed: the value of \"next\" in an answer)",
		      text);
	return -EINVAL;
}

void api_list_reply_gpus(struct api *api, struct api_request *request)
{
	const struct host *host = api->view->host;
	struct page page = {.limit = 0};
	struct instant now = clock_now();
	struct place place;
	int first;

	if (read_limit(request, &page) < 0 || read_place(api, request, false, &place) < 0)
		return;
	first = api_request_query(request, "after") ? place.gpu + 1 : 0;
	page.list = json_array();
	for (int i = first; i < host->n_gpus; i++) {
		const char *last = host->gpus[i > 0 ? i - 1 : 0].config.name;

		if (!has_room(&page, json_string(last)))
			break;
		json_array_append_new(page.list,
				      resource_encode_gpu(api->view, &host->gpus[i], now));
	}
	reply(request, "gpus", &page);
}

static json_t *cursor(const struct vgpu *vgpu)
{
	return vgpu ? json_sprintf("%s/%s", vgpu->contract.gpu, vgpu->contract.id) : NULL;
}

void api_list_reply_vgpus(struct api *api, struct api_request *request, const struct host_gpu *gpu)
{
	const struct host *host = api->view->host;
	const struct vgpu *last = NULL;
	struct page page = {.limit = 0};
	struct place place;

	if (read_limit(request, &page) < 0 || read_place(api, request, true, &place) < 0)
		return;
	page.list = json_array();
	for (int i = place.gpu; i < host->n_gpus && !page.is_full; i++) {
		const struct host_gpu *g = &host->gpus[i];

		if (gpu && gpu != g)
			continue;
		for (const struct vgpu *v = g->vgpus; v; v = v->next) {
			if (i == place.gpu && place.id[0] &&
			    id_compare(v->contract.id, place.id) <= 0)
				continue;
			if (!has_room(&page, cursor(last)))
				break;
			json_array_append_new(page.list, resource_encode_vgpu(api->view, g, v));
			last = v;
		}
	}
	reply(request, "vgpus", &page);
}
