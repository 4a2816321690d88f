// From the definitions of springs to what the model keeps of them.
#include "model/springs.h"

#include <math.h>

#include "core/def.h"
#include "mesh/tet_locator.h"

// A point this far from a body, relative to the size of that, lies in it.
#define IN_THE_BODY 1e-6

void hk_fill_spring_def(hk_spring_def *def, size_t size)
{
    const hk_spring_def standard = {
        .ends = {{.body = HK_THE_WORLD}, {.body = HK_THE_WORLD}}, .rest = NAN, .to = NAN};
    hk_def_fill(&hk_def_spring, &standard, def, size);
}

void hk_fill_seam_def(hk_seam_def *def, size_t size)
{
    const hk_seam_def standard = {.name = NULL};
    hk_def_fill(&hk_def_seam, &standard, def, size);
}

// ---------------------------------------------------------------- the list

hk_point_springs *hk_point_springs_retain(hk_point_springs *springs)
{
    if (springs) __atomic_add_fetch(&springs->references, 1, __ATOMIC_RELAXED);
    return springs;
}

void hk_point_springs_free(hk_point_springs *springs)
{
    if (!springs || __atomic_sub_fetch(&springs->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    for (int k = 0; k < springs->count; k++) hk_time_factor_free(springs->list[k].factor);
    for (int k = 0; k < springs->name_count; k++) hk_free(springs->names[k].name);
    hk_free(springs->list);
    hk_free(springs->names);
    hk_free(springs);
}

hk_status hk_point_springs_add(hk_model *m, const hk_point_spring *spring)
{
    hk_point_springs *s = m->point_springs;
    HK_TRY(hk_reserve((void **)&s->list, (size_t)s->count, sizeof *s->list, &s->capacity,
                      (size_t)s->count + 1));
    s->list[s->count] = *spring;
    s->list[s->count++].factor = hk_time_factor_retain(spring->factor);
    return HK_OK;
}

// The next spring has this name.
static hk_status add_name(hk_point_springs *s, const char *name)
{
    if (!name) return HK_OK;
    HK_TRY(hk_reserve((void **)&s->names, (size_t)s->name_count, sizeof *s->names,
                      &s->name_capacity, (size_t)s->name_count + 1));
    char *own = hk_strdup(name);
    if (!own) return HK_NO_MEMORY;
    s->names[s->name_count++] = (hk_spring_name){own, s->count};
    return HK_OK;
}

void hk_point_spring_join(hk_point_spring *spring, int end, int32_t vertex, double weight)
{
    hk_spring_end *own = &spring->ends[end];
    own->vertex[own->count] = vertex;
    own->weight[own->count++] = weight;
    int k = 0;
    while (k < spring->count && spring->vertex[k] != vertex) k++;
    if (k == spring->count) {
        spring->vertex[spring->count] = vertex;
        spring->coefficient[spring->count++] = 0;
    }
    // The point of one to the world comes with +1, whichever end it is.
    spring->coefficient[k] += spring->tied || end == 0 ? weight : -weight;
}

// Vertices that both ends have alike are none of it.
static void leave_out_zeros(hk_point_spring *spring)
{
    int count = 0;
    for (int k = 0; k < spring->count; k++) {
        if (fabs(spring->coefficient[k]) <= 1e-12) continue;
        spring->vertex[count] = spring->vertex[k];
        spring->coefficient[count++] = spring->coefficient[k];
    }
    spring->count = count;
}

// ---------------------------------------------------------------- points

typedef struct found_point {
    int count;
    int32_t vertex[HK_POINT_VERTICES];  // of the model
    double weight[HK_POINT_VERTICES];
} found_point;

static hk_status take_vertices(const hk_body *body, const hk_point_def *def, found_point *p)
{
    double sum = 0;
    if (def->count > HK_POINT_VERTICES)
        return hk_fail(HK_BAD_INPUT, "a point is a mean of 1 to %d vertices (has %d)",
                       HK_POINT_VERTICES, def->count);
    for (int k = 0; k < def->count; k++) {
        if (def->vertices[k] < 0 || def->vertices[k] >= body->vertex_count)
            return hk_fail(HK_BAD_INPUT, "body %s has no vertex %d (vertices: 0 to %d)", body->name,
                           def->vertices[k], body->vertex_count - 1);
        p->vertex[k] = body->vertex_start + def->vertices[k];
        p->weight[k] = def->weights[k];
        sum += def->weights[k];
    }
    p->count = def->count;
    if (fabs(sum - 1) <= 1e-6) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "the weights of a point must add up to 1 (they are %g)", sum);
}

static double extent_of(const hk_model *m, const hk_body *body)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], m->rest[3 * (int64_t)v + i]);
            high[i] = fmax(high[i], m->rest[3 * (int64_t)v + i]);
        }
    return fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
}

static double distance_to(const hk_model *m, const found_point *p, const double at[3])
{
    double d[3];
    for (int i = 0; i < 3; i++) {
        d[i] = -at[i];
        for (int k = 0; k < p->count; k++)
            d[i] += p->weight[k] * m->rest[3 * (int64_t)p->vertex[k] + i];
    }
    return hypot(hypot(d[0], d[1]), d[2]);
}

static void take_nearest(const hk_model *m, const hk_body *body, const double at[3], found_point *p)
{
    double least = INFINITY;
    for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++) {
        found_point one = {1, {v}, {1}};
        double far = distance_to(m, &one, at);
        if (m->mass[v] > 0 && far < least) {
            least = far;
            *p = one;
        }
    }
}

// Weights of the foot of `at` in a triangle; false: it lies beside it.
static bool is_over(const double *const x[3], const double at[3], double weight[3])
{
    double g[3] = {0}, r[2] = {0};  // (e₀·e₀, e₀·e₁, e₁·e₁), (e₀·p, e₁·p)
    for (int i = 0; i < 3; i++) {
        double a = x[1][i] - x[0][i], b = x[2][i] - x[0][i], p = at[i] - x[0][i];
        g[0] += a * a, g[1] += a * b, g[2] += b * b;
        r[0] += a * p, r[1] += b * p;
    }
    double det = g[0] * g[2] - g[1] * g[1];
    weight[1] = (g[2] * r[0] - g[1] * r[1]) / det;
    weight[2] = (g[0] * r[1] - g[1] * r[0]) / det;
    weight[0] = 1 - weight[1] - weight[2];
    return fmin(weight[0], fmin(weight[1], weight[2])) >= -IN_THE_BODY;
}

static void take_triangle(const hk_model *m, const hk_body *body, const double at[3],
                          found_point *p)
{
    double least = INFINITY;
    for (int t = body->triangle_start; t < body->triangle_start + body->triangle_count; t++) {
        found_point one = {.count = 3};
        const double *x[3];
        memcpy(one.vertex, m->triangles + 3 * (int64_t)t, 3 * sizeof(int32_t));
        for (int k = 0; k < 3; k++) x[k] = m->rest + 3 * (int64_t)one.vertex[k];
        if (!is_over(x, at, one.weight)) continue;
        double far = distance_to(m, &one, at);
        if (!(far < least)) continue;
        least = far;
        *p = one;
    }
}

static hk_status take_at(const hk_model *m, int number, const double at[3], found_point *p)
{
    const hk_body *body = &m->bodies[number];
    hk_probe probe;
    HK_TRY(hk_model_probe(m, number, at, &probe));
    if (probe.tet >= 0 && hk_model_is_quadratic(m, probe.tet))
        return hk_fail(HK_UNSUPPORTED,
                       "body %s has quadratic tets: its points must be vertices (\"nearest\")",
                       body->name);
    p->count = probe.count;
    memcpy(p->vertex, probe.vertices, sizeof(int32_t) * (size_t)probe.count);
    memcpy(p->weight, probe.weights, sizeof(double) * (size_t)probe.count);
    if (body->triangle_count > 0) take_triangle(m, body, at, p);
    double far = distance_to(m, p, at);
    if (far <= IN_THE_BODY * extent_of(m, body)) return HK_OK;
    return hk_fail(HK_BAD_INPUT,
                   "(%g, %g, %g) does not lie in body %s, but %.3g m from its vertex %d: take a "
                   "point of it, or \"nearest\"",
                   at[0], at[1], at[2], body->name, far, p->vertex[0] - body->vertex_start);
}

static hk_status find_point(const hk_model *m, const hk_point_def *def, found_point *p)
{
    if (def->body < 0 || def->body >= m->body_count)
        return hk_fail(HK_BAD_INPUT, "there is no body %d (bodies: 0 to %d, %d is the world)",
                       def->body, m->body_count - 1, HK_THE_WORLD);
    const hk_body *body = &m->bodies[def->body];
    if (def->count > 0)
        HK_TRY(take_vertices(body, def, p));
    else if (!hk_is_finite3(def->at))
        return hk_fail(HK_BAD_INPUT, "its place is not finite");
    else if (def->nearest)
        take_nearest(m, body, def->at, p);
    else
        HK_TRY(take_at(m, def->body, def->at, p));
    for (int k = 0; k < p->count; k++)
        if (!(m->mass[p->vertex[k]] > 0))
            return hk_fail(HK_BAD_INPUT, "vertex %d of body %s belongs to no element",
                           p->vertex[k] - body->vertex_start, body->name);
    return HK_OK;
}

// ---------------------------------------------------------------- one spring

static hk_status check_number(const char *what, const char *unit, double value)
{
    if (isfinite(value) && value >= 0) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "its %s must be 0 or more (is %g %s)", what, value, unit);
}

static hk_status check(const hk_spring_def *def)
{
    if (!(isfinite(def->stiffness) && def->stiffness > 0))
        return hk_fail(HK_BAD_INPUT, "its stiffness must be greater than 0 (is %g N/m)",
                       def->stiffness);
    HK_TRY(check_number("damping", "N s/m", def->damping));
    HK_TRY(check_number("breaking force", "N", def->breaking));
    if (!isnan(def->rest)) HK_TRY(check_number("rest length", "m", def->rest));
    return isnan(def->to) ? HK_OK : check_number("rest length in the end", "m", def->to);
}

static hk_status take_world(const hk_spring_def *def, hk_point_spring *spring)
{
    for (int end = 0; end < 2; end++) {
        const hk_point_def *point = &def->ends[end];
        if (point->body != HK_THE_WORLD) continue;
        if (!hk_is_finite3(point->at))
            return hk_fail(HK_BAD_INPUT, "its place in the world is not finite");
        if (spring->tied) return hk_fail(HK_BAD_INPUT, "both ends are places of the world");
        spring->tied = true;
        memcpy(spring->target, point->at, sizeof spring->target);
    }
    return HK_OK;
}

static hk_status take_ends(const hk_model *m, const hk_spring_def *def, hk_point_spring *spring)
{
    HK_TRY(take_world(def, spring));
    for (int end = 0; end < 2; end++) {
        found_point p = {0};
        if (def->ends[end].body == HK_THE_WORLD) continue;
        HK_TRY(find_point(m, &def->ends[end], &p));
        for (int k = 0; k < p.count; k++)
            hk_point_spring_join(spring, end, p.vertex[k], p.weight[k]);
    }
    leave_out_zeros(spring);
    return spring->count > 0 ? HK_OK : hk_fail(HK_BAD_INPUT, "both ends are the same point");
}

static hk_status take_spring(const hk_spring_def *def, hk_model *m)
{
    hk_point_spring spring = {.slack = def->slack != 0,
                              .stiffness = def->stiffness,
                              .damping = def->damping,
                              .breaking = def->breaking,
                              .rest = def->rest,
                              .to = def->to};
    HK_TRY(check(def));
    HK_TRY(take_ends(m, def, &spring));
    if (isnan(spring.rest)) spring.rest = hk_point_spring_length(&spring, m->rest, 3, NULL);
    if (isnan(spring.to)) spring.to = spring.rest;
    HK_TRY(hk_time_factor_create(&def->factor, &spring.factor));
    hk_status status = add_name(m->point_springs, def->name);
    if (status == HK_OK) status = hk_point_springs_add(m, &spring);
    hk_time_factor_free(spring.factor);
    return status;
}

// ---------------------------------------------------------------- all

static const char *name_or(const char *name)
{
    return name ? name : "unnamed";
}

static hk_status check_list(const char *what, const void *list, int count)
{
    if (count >= 0 && (list || count == 0)) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "the list of %s is NULL, or its count negative (%d)", what, count);
}

static hk_status take_springs(const hk_model_def *def, hk_model *m)
{
    for (int k = 0; k < def->spring_count; k++) {
        hk_spring_def own = hk_default_spring_def();
        HK_TRY(hk_def_take_at(&hk_def_spring, def->springs, k, &own));
        hk_status status = take_spring(&own, m);
        if (status != HK_OK) return hk_fail_within(status, "spring %d (%s)", k, name_or(own.name));
    }
    for (int k = 0; k < def->seam_count; k++) {
        hk_seam_def own = hk_default_seam_def();
        HK_TRY(hk_def_take_at(&hk_def_seam, def->seams, k, &own));
        hk_status status = add_name(m->point_springs, own.name);
        if (status == HK_OK) status = hk_model_take_seam(&own, m);
        if (status != HK_OK) return hk_fail_within(status, "seam %d (%s)", k, name_or(own.name));
    }
    return HK_OK;
}

hk_status hk_model_take_springs(const hk_model_def *def, hk_model *m)
{
    HK_TRY(check_list("springs", def->springs, def->spring_count));
    HK_TRY(check_list("seams", def->seams, def->seam_count));
    if (def->spring_count + def->seam_count == 0) return HK_OK;
    m->point_springs = HK_NEW(hk_point_springs);
    if (!m->point_springs) return HK_NO_MEMORY;
    m->point_springs->references = 1;
    return take_springs(def, m);
}

// ---------------------------------------------------------------- looking

double hk_point_spring_rest_at(const hk_point_spring *s, double fraction)
{
    return fraction == 1 ? s->to : fmax(0, s->rest + fraction * (s->to - s->rest));
}

double hk_point_spring_rest(const hk_point_spring *s, double time)
{
    return hk_point_spring_rest_at(s, s->factor ? hk_time_factor_value(s->factor, time) : 1);
}

double hk_point_spring_length(const hk_point_spring *s, const double *x, int stride,
                              const int32_t *place)
{
    double d[3];
    for (int i = 0; i < 3; i++) {
        d[i] = s->tied ? -s->target[i] : 0;
        for (int k = 0; k < s->count; k++) {
            int64_t v = place ? place[s->vertex[k]] : s->vertex[k];
            d[i] += s->coefficient[k] * x[stride * v + i];
        }
    }
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

void hk_point_spring_place(const hk_point_spring *s, int end, const double *x, double at[3])
{
    const hk_spring_end *own = &s->ends[end];
    memcpy(at, s->target, 3 * sizeof(double));
    for (int i = 0; i < 3 && own->count > 0; i++) {
        at[i] = 0;
        for (int k = 0; k < own->count; k++)
            at[i] += own->weight[k] * x[3 * (int64_t)own->vertex[k] + i];
    }
}

double hk_point_spring_tension(const hk_point_spring *s, double length, double rest)
{
    return s->slack && length < rest ? 0 : s->stiffness * (length - rest);
}

bool hk_point_springs_do_work(const hk_point_springs *springs)
{
    for (int k = 0; springs && k < springs->count; k++) {
        const hk_point_spring *s = &springs->list[k];
        if (s->damping > 0 || s->breaking > 0 || (s->factor && s->to != s->rest)) return true;
    }
    return false;
}

int hk_model_point_spring_count(const hk_model *model)
{
    return model && model->point_springs ? model->point_springs->count : 0;
}

int hk_model_find_spring(const hk_model *model, const char *name)
{
    const hk_point_springs *s = model ? model->point_springs : NULL;
    for (int k = 0; s && name && k < s->name_count; k++)
        if (strcmp(s->names[k].name, name) == 0) return s->names[k].spring;
    return -1;
}
