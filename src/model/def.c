#include "model/def.h"

#include <math.h>

// ---------------------------------------------------------------- defaults

void hk_fill_move_def(hk_move_def *def, size_t size)
{
    const hk_move_def standard = {.motion = {.axis = {0, 1, 0}}};
    hk_def_fill(&hk_def_move, &standard, def, size);
}

void hk_fill_attach_def(hk_attach_def *def, size_t size)
{
    const hk_attach_def standard = {.motion = {.axis = {0, 1, 0}}};
    hk_def_fill(&hk_def_attach, &standard, def, size);
}

void hk_fill_load_def(hk_load_def *def, size_t size)
{
    const hk_load_def standard = {.distribution = HK_EVENLY};
    hk_def_fill(&hk_def_load, &standard, def, size);
}

void hk_fill_region_def(hk_region_def *def, size_t size)
{
    const hk_region_def standard = {.material = hk_default_material_def()};
    hk_def_fill(&hk_def_region, &standard, def, size);
}

void hk_fill_body_def(hk_body_def *def, size_t size)
{
    const hk_body_def standard = {
        .name = "body",
        .transform = {.scale = 1, .axis = {0, 1, 0}},
        .material = hk_default_material_def(),
        .friction = NAN,
    };
    hk_def_fill(&hk_def_body, &standard, def, size);
}

void hk_fill_term_def(hk_term_def *def, size_t size)
{
    const hk_term_def standard = {.name = "term"};
    hk_def_fill(&hk_def_term, &standard, def, size);
}

void hk_fill_model_def(hk_model_def *def, size_t size)
{
    const hk_model_def standard = {.gravity = {0, -9.81, 0}};
    hk_def_fill(&hk_def_model, &standard, def, size);
}

// ---------------------------------------------------------------- what users give

static hk_status check_list(const char *name, const void *list, int count)
{
    if (count < 0) return hk_fail(HK_BAD_INPUT, "the number of %s is %d", name, count);
    if (count > 0 && !list)
        return hk_fail(HK_BAD_INPUT, "%s is NULL, its count is %d", name, count);
    return HK_OK;
}

// A list of the library's own definitions, over the defaults in `standard`.
static hk_status take_list(const hk_def_kind *kind, const char *name, const void *list, int count,
                           const void *standard, void **own)
{
    HK_TRY(check_list(name, list, count));
    if (count == 0) return HK_OK;
    char *items = hk_alloc((size_t)count, kind->bytes);
    if (!items) return HK_NO_MEMORY;
    *own = items;
    for (int k = 0; k < count; k++, items += kind->bytes) {
        memcpy(items, standard, kind->bytes);
        HK_TRY(hk_def_take_at(kind, list, k, items));
    }
    return HK_OK;
}

hk_status hk_take_loads(const hk_load_def *loads, int count, void **own)
{
    const hk_load_def load = hk_default_load_def();
    return take_list(&hk_def_load, "loads", loads, count, &load, own);
}

enum { REGIONS, MOVES, LOADS, ATTACHMENTS, LISTS };

static hk_status take_lists(hk_body_def *body, void *lists[LISTS])
{
    const hk_region_def region = hk_default_region_def();
    const hk_move_def move = hk_default_move_def();
    const hk_attach_def attach = hk_default_attach_def();
    HK_TRY(check_list("fixes", body->fixes, body->fix_count));
    HK_TRY(take_list(&hk_def_region, "regions", body->regions, body->region_count, &region,
                     &lists[REGIONS]));
    HK_TRY(take_list(&hk_def_move, "moves", body->moves, body->move_count, &move, &lists[MOVES]));
    HK_TRY(hk_take_loads(body->loads, body->load_count, &lists[LOADS]));
    HK_TRY(take_list(&hk_def_attach, "attachments", body->attachments, body->attachment_count,
                     &attach, &lists[ATTACHMENTS]));
    body->regions = lists[REGIONS];
    body->moves = lists[MOVES];
    body->loads = lists[LOADS];
    body->attachments = lists[ATTACHMENTS];
    HK_TRY(hk_def_check(&hk_def_material, &body->material));
    for (int k = 0; k < body->region_count; k++) {
        hk_status status = hk_def_check(&hk_def_material, &body->regions[k].material);
        if (status != HK_OK) return hk_fail_within(status, "region %d", k);
    }
    return HK_OK;
}

static hk_status take_contact(hk_model_input *input)
{
    hk_model_def *def = &input->def;
    const hk_obstacle_def obstacle = hk_default_obstacle_def();
    HK_TRY(take_list(&hk_def_obstacle, "obstacles", def->obstacles, def->obstacle_count, &obstacle,
                     &input->obstacles));
    def->obstacles = input->obstacles;
    if (!def->contact) return HK_OK;
    input->contact = hk_default_contact_def();
    HK_TRY(hk_def_take(&hk_def_contact, def->contact, &input->contact));
    def->contact = &input->contact;
    return HK_OK;
}

hk_status hk_model_input_take(const hk_model_def *def, hk_model_input *input)
{
    *input = (hk_model_input){.def = hk_default_model_def()};
    HK_TRY(hk_def_take(&hk_def_model, def, &input->def));
    const hk_body_def *given = input->def.bodies;
    int count = input->def.body_count;
    if (count < 1 || !given) return hk_fail(HK_BAD_INPUT, "a model needs at least one body");
    input->bodies = HK_ZEROS(hk_body_def, count);
    input->lists = HK_ZEROS(void *, LISTS *(size_t)count);
    if (!input->bodies || !input->lists) return HK_NO_MEMORY;
    for (int k = 0; k < count; k++) {
        hk_body_def *body = &input->bodies[k];
        *body = hk_default_body_def();
        HK_TRY(hk_def_take_at(&hk_def_body, given, k, body));
        hk_status status = take_lists(body, input->lists + LISTS * (size_t)k);
        if (status != HK_OK)
            return hk_fail_within(status, "body %d (%s)", k, body->name ? body->name : "unnamed");
    }
    input->def.bodies = input->bodies;
    const hk_term_def term = hk_default_term_def();
    HK_TRY(take_list(&hk_def_term, "terms", input->def.terms, input->def.term_count, &term,
                     &input->terms));
    input->def.terms = input->terms;
    return take_contact(input);
}

void hk_model_input_release(hk_model_input *input)
{
    for (int k = 0; input->lists && k < LISTS * input->def.body_count; k++)
        hk_free(input->lists[k]);
    hk_free(input->lists);
    hk_free(input->bodies);
    hk_free(input->terms);
    hk_free(input->obstacles);
}
