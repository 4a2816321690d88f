// Binary messages: what is drawn, as bytes (PROTOCOL.md).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulation.h"

enum { OPCODE_BINARY = 2, HEADER = 64, BLOCK = 16, MOST_BLOCKS = 24, MOST_GRABS = 32 };
enum { KIND_FRAME = 1, KIND_TOPOLOGY = 2 };
typedef enum number_format { F32 = 0, U32, I32, U8 } number_format;

typedef struct block {
    uint16_t what, shape;
    number_format format;
    uint32_t components, count;
    const void *data;
} block;

typedef struct blocks {
    block list[MOST_BLOCKS];
    int count;
    void *owned[MOST_BLOCKS];
    int owned_count;
} blocks;

static void add(blocks *b, int what, int shape, number_format format, int components, int count,
                const void *data)
{
    if (b->count == MOST_BLOCKS || count == 0) return;
    b->list[b->count++] = (block){(uint16_t)what,       (uint16_t)shape, format,
                                  (uint32_t)components, (uint32_t)count, data};
}

static void *own(blocks *b, void *data)
{
    b->owned[b->owned_count++] = data;
    return data;
}

static size_t data_size(const block *b)
{
    return (size_t)b->components * b->count * (b->format == U8 ? 1 : 4);
}

static void put(unsigned char *to, const void *value, size_t size)
{
    memcpy(to, value, size);  // this machine is little-endian, as the messages are
}

static void put_u32(unsigned char *to, uint32_t value)
{
    put(to, &value, sizeof value);
}

static void put_header(const st_session *s, unsigned char *to, uint32_t kind, int count)
{
    memcpy(to, "HKS1", 4);
    double server = st_now();
    float ms = (float)s->step_ms;
    float age = s->echo.sent > 0 ? (float)(server - s->echo.arrived) : 0;
    put_u32(to + 4, kind);
    put_u32(to + 8, s->topology);
    put_u32(to + 12, kind == KIND_FRAME ? s->frame : 0);
    put(to + 16, &s->now, 8);
    put(to + 24, &s->echo.sent, 8);
    put(to + 32, &server, 8);
    put_u32(to + 40, s->step);
    put_u32(to + 44, (uint32_t)count);
    put(to + 48, &ms, 4);
    put(to + 52, &age, 4);
}

static st_message *pack(const st_session *s, uint32_t kind, blocks *b)
{
    size_t size = HEADER, at = HEADER;
    for (int i = 0; i < b->count; ++i) size += BLOCK + ((data_size(&b->list[i]) + 7) & ~(size_t)7);
    st_message *message = st_message_create(OPCODE_BINARY, size);
    message->frame = kind == KIND_FRAME ? s->frame : 0;
    put_header(s, message->data, kind, b->count);
    for (int i = 0; i < b->count; ++i) {
        const block *k = &b->list[i];
        unsigned char *to = message->data + at;
        put(to, &k->what, 2);
        put(to + 2, &k->shape, 2);
        put_u32(to + 4, k->format);
        put_u32(to + 8, k->components);
        put_u32(to + 12, k->count);
        memcpy(to + BLOCK, k->data, data_size(k));
        at += BLOCK + ((data_size(k) + 7) & ~(size_t)7);
    }
    for (int i = 0; i < b->owned_count; ++i) free(b->owned[i]);
    return message;
}

// ---------------------------------------------------------------- frames

static void add_positions(st_session *s, blocks *b)
{
    for (int shape = 0; shape < s->mode->shape_count; ++shape) {
        float *drawn = own(b, st_alloc(3 * (size_t)s->surface.vertex_count, sizeof *drawn));
        st_surface_positions(&s->surface, s->mode->positions(s, shape), drawn);
        add(b, 1, shape, F32, 3, s->surface.vertex_count, drawn);
    }
}

static void add_obstacles(st_session *s, blocks *b)
{
    const hk_model *model = NULL;
    if (s->surface.obstacle_count == 0 || !s->mode->world_model(s, &model)) return;
    float *poses = own(b, st_alloc(12 * (size_t)s->surface.obstacle_count, sizeof *poses));
    for (int k = 0; k < s->surface.obstacle_count; ++k) {
        double turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, shift[3] = {0};
        if (hk_model_obstacle_pose(model, k, s->now, turn, shift) != HK_OK) continue;
        // Of positions less the origin: R (p + o) + t − o.
        const double *o = s->surface.origin;
        for (int i = 0; i < 3; ++i) {
            double moved = shift[i] - o[i];
            for (int j = 0; j < 3; ++j) moved += turn[3 * i + j] * o[j];
            poses[12 * k + 9 + i] = (float)moved;
        }
        for (int i = 0; i < 9; ++i) poses[12 * k + i] = (float)turn[i];
    }
    add(b, 3, 0, F32, 12, s->surface.obstacle_count, poses);
}

static void add_grabs(st_session *s, blocks *b)
{
    for (int shape = 0; shape < s->mode->shape_count; ++shape) {
        float(*grabs)[10] = own(b, st_alloc(MOST_GRABS, sizeof *grabs));
        int count = s->mode->grabs(s, shape, grabs, MOST_GRABS);
        for (int k = 0; k < count; ++k)
            for (int i = 0; i < 6; ++i) grabs[k][1 + i] -= (float)s->surface.origin[i % 3];
        add(b, 4, shape, F32, 10, count, grabs);
    }
}

static void add_field(st_session *s, blocks *b, const st_view *view)
{
    if (strcmp(view->field, "none") == 0) return;
    double *values = st_alloc((size_t)s->surface.model_vertex_count, sizeof *values);
    int n = s->surface.vertex_count;
    for (int shape = 0; shape < s->mode->shape_count; ++shape) {
        if (!s->mode->field(s, shape, view->field, values)) continue;
        float *drawn = own(b, st_alloc((size_t)n, sizeof *drawn));
        float *bounds = own(b, st_alloc(2, sizeof *bounds));
        st_surface_values(&s->surface, values, drawn);
        bounds[0] = INFINITY, bounds[1] = -INFINITY;
        for (int v = 0; v < n; ++v) {
            bounds[0] = fminf(bounds[0], drawn[v]);
            bounds[1] = fmaxf(bounds[1], drawn[v]);
        }
        add(b, 2, shape, F32, 1, n, drawn);
        add(b, 6, shape, F32, 2, 1, bounds);
    }
    free(values);
}

static void add_contacts(st_session *s, blocks *b, const st_view *view)
{
    for (int shape = 0; shape < s->mode->shape_count && view->contacts; ++shape) {
        float *contacts = NULL;
        int count = s->mode->contacts(s, shape, &contacts);
        if (contacts) own(b, contacts);
        for (int k = 0; k < count; ++k)
            for (int i = 0; i < 3; ++i) contacts[7 * k + 1 + i] -= (float)s->surface.origin[i];
        add(b, 5, shape, F32, 7, count, contacts);
    }
}

static void add_springs(st_session *s, blocks *b)
{
    for (int shape = 0; shape < s->mode->shape_count && s->mode->springs; ++shape) {
        float *springs = NULL;
        int count = s->mode->springs(s, shape, &springs);
        if (springs) own(b, springs);
        for (int k = 0; k < count; ++k)
            for (int i = 0; i < 6; ++i) springs[8 * k + i] -= (float)s->surface.origin[i % 3];
        add(b, 7, shape, F32, 8, count, springs);
    }
}

void st_send_frame(st_session *s)
{
    st_view views[ST_MAX_CLIENTS];
    int count = st_hub_views(s->hub, views);
    s->frame++;
    s->dirty = false;
    s->last_frame = st_now();
    for (int i = 0; i < count; ++i) {
        blocks b = {.count = 0};
        add_positions(s, &b);
        add_obstacles(s, &b);
        add_grabs(s, &b);
        add_field(s, &b, &views[i]);
        add_contacts(s, &b, &views[i]);
        add_springs(s, &b);
        st_hub_publish(s->hub, &views[i], pack(s, KIND_FRAME, &b));
    }
    if (s->mode == &st_design_mode) st_recording_add(s);
}

// ---------------------------------------------------------------- topology

static uint8_t *vertex_flags(st_session *s, const hk_model *model, const double *loads)
{
    size_t n = (size_t)s->surface.model_vertex_count;
    uint8_t *flags = st_alloc(n, 1);
    if (hk_model_holds(model, flags) != HK_OK) memset(flags, 0, n);
    for (size_t v = 0; v < n; ++v)
        if (loads[3 * v] != 0 || loads[3 * v + 1] != 0 || loads[3 * v + 2] != 0) flags[v] |= 16;
    return flags;
}

// Bodies whose loads were changed have them from the edits, not from the model.
static void edited_loads(const st_session *s, const hk_model *model, double *loads)
{
    for (int b = 0; b < s->edits.body_count; ++b) {
        const st_body_edits *body = &s->edits.bodies[b];
        const st_part *part = &s->surface.parts[b];
        double *to = loads + 3 * (size_t)part->model_start;
        uint8_t *chosen = st_alloc((size_t)part->model_count, 1);
        if (body->loads_changed) memset(to, 0, sizeof *to * 3 * (size_t)part->model_count);
        for (int k = 0; k < body->load_count && body->loads_changed; ++k) {
            const hk_load_def *load = &body->loads[k].def;
            int count = 0;
            if (hk_model_select(model, b, &load->select, chosen, NULL) != HK_OK) continue;
            for (int v = 0; v < part->model_count; ++v) count += chosen[v];
            for (int v = 0; v < part->model_count; ++v)
                for (int i = 0; i < 3 && chosen[v]; ++i) to[3 * v + i] += load->force[i] / count;
        }
        free(chosen);
    }
}

// What holds and loads the tets that carry a skin is shown on the skin.
static void carry_to_skins(const st_surface *f, const uint8_t *flags, const double *loads,
                           uint8_t *drawn, float *forces)
{
    size_t n = (size_t)f->vertex_count, m = (size_t)f->model_vertex_count;
    double *values = st_alloc(m, sizeof *values);
    float *carried = st_alloc(n, sizeof *carried);
    for (int bit = 1; bit <= 32; bit *= 2) {
        for (size_t v = 0; v < m; ++v) values[v] = (flags[v] & bit) != 0;
        st_surface_values(f, values, carried);
        for (size_t v = 0; v < n; ++v)
            if (f->vertices[v] < 0 && carried[v] >= 0.5F) drawn[v] |= (uint8_t)bit;
    }
    for (size_t i = 0; i < 3; ++i) {
        for (size_t v = 0; v < m; ++v) values[v] = loads[3 * v + i];
        st_surface_values(f, values, carried);
        for (size_t v = 0; v < n; ++v)
            if (f->vertices[v] < 0) forces[3 * v + i] = carried[v];
    }
    free(carried);
    free(values);
}

static bool has_skins(const st_surface *f)
{
    for (int b = 0; b < f->body_count; ++b)
        if (f->parts[b].skin) return true;
    return false;
}

static void add_vertex_blocks(st_session *s, blocks *b, const hk_model *model)
{
    const st_surface *f = &s->surface;
    size_t n = (size_t)f->vertex_count, m = (size_t)f->model_vertex_count;
    double *loads = st_alloc(3 * m, sizeof *loads);
    if (hk_model_load_forces(model, loads) != HK_OK) memset(loads, 0, sizeof *loads * 3 * m);
    edited_loads(s, model, loads);
    uint8_t *flags = vertex_flags(s, model, loads), *drawn = own(b, st_alloc(n, 1));
    float *rest = own(b, st_alloc(3 * n, sizeof *rest));
    float *forces = own(b, st_alloc(3 * n, sizeof *forces));
    st_surface_positions(f, hk_model_rest_positions(model), rest);
    for (size_t v = 0; v < n; ++v) {
        int32_t from = f->vertices[v];
        if (from < 0) continue;
        drawn[v] = flags[from];
        for (int i = 0; i < 3; ++i) forces[3 * v + (size_t)i] = (float)loads[3 * from + i];
    }
    if (has_skins(f)) carry_to_skins(f, flags, loads, drawn, forces);
    add(b, 17, 0, F32, 3, f->vertex_count, rest);
    add(b, 18, 0, I32, 1, f->vertex_count, f->vertices);
    add(b, 19, 0, U8, 1, f->vertex_count, drawn);
    add(b, 23, 0, F32, 3, f->vertex_count, forces);
    free(flags);
    free(loads);
}

// The material of a triangle is that of the tet behind it, or the body's.
static uint32_t *triangle_materials(st_session *s, const hk_model *model)
{
    const st_surface *f = &s->surface;
    uint32_t *materials = st_alloc((size_t)f->triangle_count, sizeof *materials);
    uint32_t first = 0;
    int tet_start = 0;
    for (int b = 0; b < f->body_count; ++b) {
        const st_body_edits *body = &s->edits.bodies[b];
        const st_part *part = &f->parts[b];
        int tets = hk_model_body_tet_count(model, b);
        uint32_t *of = st_alloc((size_t)tets, sizeof *of);
        uint8_t *chosen = st_alloc((size_t)tets, 1);
        for (int r = 0; r < body->region_count; ++r) {
            if (hk_model_select(model, b, &body->regions[r].select, NULL, chosen) != HK_OK)
                continue;
            for (int t = 0; t < tets; ++t)
                if (chosen[t]) of[t] = (uint32_t)r + 1;
        }
        for (int k = part->first_triangle; k < part->first_triangle + part->triangle_count; ++k)
            materials[k] = first + (f->tets[k] >= 0 ? of[f->tets[k] - tet_start] : 0);
        first += 1 + (uint32_t)body->region_count;
        tet_start += tets;
        free(chosen);
        free(of);
    }
    return materials;
}

st_message *st_topology_message(st_session *s)
{
    const hk_model *model = NULL;
    const st_surface *f = &s->surface;
    blocks b = {.count = 0};
    add(&b, 16, 0, U32, 3, f->triangle_count, f->triangles);
    if (s->mode->world_model(s, &model)) {
        add_vertex_blocks(s, &b, model);
        add(&b, 20, 0, U32, 1, f->triangle_count, own(&b, triangle_materials(s, model)));
    }
    add(&b, 21, 0, U32, 3, f->obstacle_triangle_count, f->obstacle_triangles);
    add(&b, 22, 0, F32, 3, f->obstacle_vertex_count, f->obstacle_positions);
    return pack(s, KIND_TOPOLOGY, &b);
}
