// What goes with the elements of a body that is torn.
#include "core/time_factor.h"
#include "model/conditions.h"
#include "model/split.h"
#include "model/springs.h"

// ---------------------------------------------------------------- elements of vertices

static const int32_t *corners_of(const hk_model *m, int32_t element, int *count)
{
    *count = element < m->tet_count ? 4 : 3;
    return element < m->tet_count ? m->tets + 4 * (int64_t)element
                                  : m->triangles + 3 * ((int64_t)element - m->tet_count);
}

static void list_elements(hk_follower *f)
{
    const hk_model *m = f->model;
    int elements = m->tet_count + m->triangle_count, count;
    for (int32_t e = 0; e < elements; e++) {
        const int32_t *c = corners_of(m, e, &count);
        for (int k = 0; k < count; k++) f->start[c[k] + 1]++;
    }
    for (int v = 0; v < m->vertex_count; v++) f->start[v + 1] += f->start[v];
    for (int32_t e = 0; e < elements; e++) {
        const int32_t *c = corners_of(m, e, &count);
        for (int k = 0; k < count; k++) f->list[f->start[c[k]]++] = e;
    }
    for (int v = m->vertex_count; v > 0; v--) f->start[v] = f->start[v - 1];
    f->start[0] = 0;
}

hk_status hk_follower_make(const hk_model *m, const hk_splitting *s, hk_follower *f)
{
    size_t n = (size_t)m->vertex_count;
    size_t entries = 4 * (size_t)m->tet_count + 3 * (size_t)m->triangle_count;
    *f = (hk_follower){.model = m,
                       .splitting = s,
                       .number = HK_ARRAY(int32_t, n + (size_t)s->extra_count),
                       .apart = HK_ZEROS(uint8_t, n),
                       .start = HK_ZEROS(int32_t, n + 1),
                       .list = HK_ARRAY(int32_t, entries)};
    if (!f->number || !f->apart || !f->start || !f->list) {
        hk_follower_release(f);
        return HK_NO_MEMORY;
    }
    for (int k = 0; k < s->extra_count; k++) f->apart[s->origin[k]] = 1;
    list_elements(f);
    return HK_OK;
}

void hk_follower_release(hk_follower *f)
{
    hk_free(f->number);
    hk_free(f->apart);
    hk_free(f->start);
    hk_free(f->list);
    *f = (hk_follower){0};
}

// Its corners among those of the torn element.
static bool take_from(const hk_follower *f, int32_t element, int count, const int32_t *vertices,
                      int32_t *to)
{
    const hk_model *m = f->model;
    int corners;
    const int32_t *old = corners_of(m, element, &corners);
    const int32_t *new = element < m->tet_count
                             ? f->splitting->tets + 4 * (int64_t)element
                             : f->splitting->triangles + 3 * ((int64_t)element - m->tet_count);
    for (int k = 0; k < count; k++) {
        int c = 0;
        while (c < corners && old[c] != vertices[k]) c++;
        if (c == corners) return false;
        to[k] = f->number[new[c]];
    }
    return true;
}

void hk_follow(const hk_follower *f, int count, const int32_t *vertices, int32_t *to)
{
    int moved = 0;
    while (moved < count && !f->apart[vertices[moved]]) moved++;
    if (moved < count && count > 1)
        for (int e = f->start[vertices[moved]]; e < f->start[vertices[moved] + 1]; e++)
            if (take_from(f, f->list[e], count, vertices, to)) return;
    for (int k = 0; k < count; k++) to[k] = f->number[vertices[k]];
}

// ---------------------------------------------------------------- pressures, winds, gases, loads

static hk_status follow_load(const hk_follower *f, const double *share, const int32_t *from,
                             int torn_count, const hk_timed_load *old, hk_timed_load *to)
{
    int count = 0;
    int32_t *at = HK_ARRAY(int32_t, f->model->vertex_count);
    *to = (hk_timed_load){.factor = hk_time_factor_retain(old->factor),
                          .vertex = HK_ARRAY(int32_t, torn_count),
                          .force = HK_ARRAY(double, 3 * (size_t)torn_count)};
    if (!at || !to->vertex || !to->force) {
        hk_free(at);
        return HK_NO_MEMORY;
    }
    memset(at, 0xff, sizeof(int32_t) * (size_t)f->model->vertex_count);
    for (int k = 0; k < old->count; k++) at[old->vertex[k]] = k;
    for (int v = 0; v < torn_count; v++) {
        int32_t k = at[from[v]];
        if (k < 0) continue;
        for (int i = 0; i < 3; i++)
            to->force[3 * (int64_t)count + i] = old->force[3 * (int64_t)k + i] * share[v];
        to->vertex[count++] = v;
    }
    to->count = count;
    hk_free(at);
    return HK_OK;
}

static bool copy_list(void *list, int count, size_t size)
{
    void **at = list, *from = *at;
    *at = hk_alloc((size_t)count, size);
    if (*at && count > 0) memcpy(*at, from, (size_t)count * size);
    return *at != NULL;
}

// A copy without anything that it owns but lists.
static hk_status copy_conditions(const hk_conditions *from, hk_conditions **to)
{
    hk_conditions *c = HK_NEW(hk_conditions);
    if (!c) return HK_NO_MEMORY;
    *c = *from;
    c->references = 1;
    c->gravity = hk_time_factor_retain(from->gravity);
    c->load_count = c->factor_count = 0;
    c->loads = NULL;
    c->load_capacity = c->factor_capacity = 0;
    c->pressure_capacity = (size_t)c->pressure_count;
    c->wind_capacity = (size_t)c->wind_count;
    c->gas_capacity = (size_t)c->gas_count;
    c->gas_triangle_capacity = (size_t)c->gas_triangle_count;
    c->factors = HK_ZEROS(hk_time_factor *, from->factor_count);
    bool pressures = copy_list(&c->pressures, c->pressure_count, sizeof *c->pressures);
    bool winds = copy_list(&c->winds, c->wind_count, sizeof *c->winds);
    bool gases = copy_list(&c->gases, c->gas_count, sizeof *c->gases);
    bool triangles = copy_list(&c->gas_triangles, c->gas_triangle_count, 3 * sizeof(int32_t));
    *to = c;
    if (!c->factors || !pressures || !winds || !gases || !triangles) return HK_NO_MEMORY;
    for (; c->factor_count < from->factor_count; c->factor_count++)
        c->factors[c->factor_count] = hk_time_factor_retain(from->factors[c->factor_count]);
    c->factor_capacity = (size_t)c->factor_count;
    return HK_OK;
}

// Of the directed edge between two vertices.
static uint64_t hash_edge(int32_t a, int32_t b)
{
    uint64_t h = (uint64_t)(uint32_t)a << 32 | (uint32_t)b;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

// In a closed surface every edge is there in both directions.
static bool is_closed(const int32_t *triangles, int count)
{
    uint64_t sum = 0;
    for (int64_t k = 0; k < 3 * (int64_t)count; k++) {
        int32_t a = triangles[k], b = triangles[k % 3 == 2 ? k - 2 : k + 1];
        sum += hash_edge(a, b) - hash_edge(b, a);
    }
    return sum == 0;
}

static void let_gas_escape(hk_conditions *c)
{
    int count = 0;
    for (int k = 0; k < c->gas_count; k++) {
        const hk_gas *gas = &c->gases[k];
        if (is_closed(c->gas_triangles + 3 * (int64_t)gas->triangle_start, gas->triangle_count))
            c->gases[count++] = *gas;
        else
            hk_log(HK_LOG_INFO, "the surface around gas %d is torn open: the gas escapes", k);
    }
    c->gas_count = count;
}

static hk_status fill_conditions(const hk_follower *f, const double *share, const int32_t *from,
                                 int torn_count, const hk_conditions *old, hk_conditions *c)
{
    for (int k = 0; k < c->pressure_count; k++)
        hk_follow(f, 3, old->pressures[k].triangle, c->pressures[k].triangle);
    for (int k = 0; k < c->wind_count; k++)
        hk_follow(f, 3, old->winds[k].triangle, c->winds[k].triangle);
    for (int64_t k = 0; k < c->gas_triangle_count; k++)
        hk_follow(f, 3, old->gas_triangles + 3 * k, c->gas_triangles + 3 * k);
    let_gas_escape(c);
    c->loads = HK_ZEROS(hk_timed_load, old->load_count);
    if (!c->loads) return HK_NO_MEMORY;
    c->load_capacity = (size_t)old->load_count;
    for (; c->load_count < old->load_count; c->load_count++) {
        hk_status status = follow_load(f, share, from, torn_count, &old->loads[c->load_count],
                                       &c->loads[c->load_count]);
        if (status != HK_OK) {
            c->load_count++;  // with what it has
            return status;
        }
    }
    return HK_OK;
}

static hk_status follow_conditions(const hk_follower *f, const double *share, const int32_t *from,
                                   hk_model *torn)
{
    hk_conditions *old = torn->conditions, *made = NULL;
    if (!old) return HK_OK;
    hk_status status = copy_conditions(old, &made);
    if (status == HK_OK) status = fill_conditions(f, share, from, torn->vertex_count, old, made);
    if (!made) return status;
    torn->conditions = made;
    hk_conditions_free(old);
    return status;
}

// ---------------------------------------------------------------- springs, terms, groups, skins

static hk_status follow_spring(const hk_follower *f, const hk_point_spring *old, hk_model *torn)
{
    hk_point_spring s = *old;
    s.count = s.ends[0].count = s.ends[1].count = 0;
    for (int end = 0; end < 2; end++) {
        int32_t at[HK_POINT_VERTICES];
        hk_follow(f, old->ends[end].count, old->ends[end].vertex, at);
        for (int k = 0; k < old->ends[end].count; k++)
            hk_point_spring_join(&s, end, at[k], old->ends[end].weight[k]);
    }
    return hk_point_springs_add(torn, &s);
}

static hk_status follow_springs(const hk_follower *f, hk_model *torn)
{
    hk_point_springs *old = torn->point_springs;
    if (!old) return HK_OK;
    hk_point_springs *made = HK_NEW(hk_point_springs);
    if (!made) return HK_NO_MEMORY;
    made->references = 1;
    torn->point_springs = made;
    hk_status status = HK_OK;
    for (int k = 0; k < old->count && status == HK_OK; k++)
        status = follow_spring(f, &old->list[k], torn);
    made->names = HK_ZEROS(hk_spring_name, old->name_count);
    if (!made->names) status = HK_NO_MEMORY;
    made->name_capacity = (size_t)old->name_count;
    for (int k = 0; k < old->name_count && status == HK_OK; k++) {
        made->names[k] = (hk_spring_name){hk_strdup(old->names[k].name), old->names[k].spring};
        made->name_count = k + 1;
        if (!made->names[k].name) status = HK_NO_MEMORY;
    }
    hk_point_springs_free(old);
    return status;
}

// Groups of vertices have the new ones, too; those of elements stay.
static hk_status follow_group(const hk_body *before, const hk_body *body, const int32_t *from,
                              hk_group *group)
{
    if (group->dimension != 0) return HK_OK;
    uint8_t *in = HK_ZEROS(uint8_t, before->vertex_count);
    int32_t *items = HK_ARRAY(int32_t, body->vertex_count);
    int32_t count = 0;
    if (!in || !items) {
        hk_free(in);
        hk_free(items);
        return HK_NO_MEMORY;
    }
    for (int k = 0; k < group->count; k++) in[group->items[k]] = 1;
    for (int k = 0; k < group->count; k++) items[count++] = group->items[k];
    for (int v = before->vertex_count; v < body->vertex_count; v++)
        if (in[from[body->vertex_start + v] - before->vertex_start]) items[count++] = v;
    hk_free(in);
    hk_free(group->items);
    group->items = items;
    group->count = count;
    return HK_OK;
}

static hk_status follow_skin(const hk_follower *f, const hk_body *before, hk_body *body)
{
    hk_embedding *old = body->skin;
    if (!old || body->vertex_count == before->vertex_count) return HK_OK;
    hk_embedding *e = HK_NEW(hk_embedding);
    if (!e) return HK_NO_MEMORY;
    size_t count = 4 * (size_t)old->surface->vertex_count;
    *e = *old;
    e->references = 1;
    e->vertex_count = body->vertex_count;
    e->surface = NULL;
    e->corners = HK_ARRAY(int32_t, count);
    e->weights = HK_ARRAY(double, count);
    hk_status status =
        e->corners && e->weights ? hk_mesh_copy(old->surface, &e->surface) : HK_NO_MEMORY;
    for (size_t k = 0; k < count && status == HK_OK; k += 4) {
        int32_t at[4], to[4];
        for (int i = 0; i < 4; i++) at[i] = old->corners[k + (size_t)i] + before->vertex_start;
        hk_follow(f, 4, at, to);
        for (int i = 0; i < 4; i++) e->corners[k + (size_t)i] = to[i] - body->vertex_start;
    }
    if (status == HK_OK) memcpy(e->weights, old->weights, count * sizeof(double));
    hk_embedding_free(old);
    body->skin = e;
    return status;
}

hk_status hk_follow_all(const hk_follower *f, const double *share, const int32_t *from,
                        hk_model *torn)
{
    const hk_model *m = f->model;
    HK_TRY(follow_conditions(f, share, from, torn));
    HK_TRY(follow_springs(f, torn));
    for (int k = 0; k < torn->user_term_count; k++) {
        hk_user_term *t = &torn->user_terms[k];
        int each = t->def.vertex_count;
        for (int64_t e = 0; e < t->def.element_count; e++) {
            const int32_t *old = m->user_terms[k].vertices + e * each;
            hk_follow(f, each, old, t->vertices + e * each);
        }
    }
    for (int b = 0; b < torn->body_count; b++) {
        hk_body *body = &torn->bodies[b];
        for (int k = 0; k < body->group_count; k++)
            HK_TRY(follow_group(&m->bodies[b], body, from, &body->groups[k]));
        HK_TRY(follow_skin(f, &m->bodies[b], body));
    }
    return HK_OK;
}
