#include "contact/after.h"

#include <math.h>

#include "contact/field.h"
#include "mesh/winding.h"

enum { SWEEPS = 8 };  // over all constraints

// ---------------------------------------------------------------- life

void hk_after_free(hk_after *a)
{
    if (!a) return;
    int bodies = a->contacts ? a->contacts->settings->body_count : 0;
    for (int b = 0; a->shapes && b < bodies; b++) {
        hk_sdf_free(a->shapes[b].sdf);
        hk_winding_tree_free(a->shapes[b].tree);
        hk_free(a->shapes[b].triangles);
    }
    hk_free(a->shapes);
    hk_vertex_hash_release(&a->hash);
    hk_contact_measure_release(&a->measure);
    hk_contacts_free(a->contacts);
    hk_free(a->before);
    hk_free(a->mass);
    hk_free(a->x);
    hk_free(a->from);
    hk_free(a->list);
    hk_free(a);
}

static hk_status build(const hk_model *model, int threads, hk_after *a)
{
    HK_TRY(hk_contacts_create(model, threads, &a->contacts));
    hk_contacts *c = a->contacts;
    HK_TRY(hk_contacts_make_fields(c));
    HK_TRY(hk_vertex_hash_create(c, &a->hash));
    HK_TRY(hk_contact_measure_create(c, &a->measure));
    a->shapes = HK_ZEROS(hk_rest_shape, c->settings->body_count);
    a->before = HK_ZEROS(hk_placement, c->settings->obstacle_count);
    a->mass = HK_ZEROS(double, c->body_points);
    a->x = HK_ZEROS(double, 3 * (size_t)c->body_points);
    a->from = HK_ZEROS(double, 3 * (size_t)c->body_points);
    a->measure.least_gap = INFINITY;
    return a->shapes && a->before && a->mass && a->x && a->from ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_after_create(const hk_model *model, int threads, hk_after **after)
{
    hk_after *a = HK_NEW(hk_after);
    if (!a) return HK_NO_MEMORY;
    hk_status status = build(model, threads, a);
    if (status != HK_OK) {
        hk_after_free(a);
        return status;
    }
    *after = a;
    return HK_OK;
}

// ---------------------------------------------------------------- rest shapes

static hk_status make_shape(const hk_contacts *c, int body, hk_rest_shape *to)
{
    int count = 0;
    hk_mesh *mesh = NULL;
    double thin = INFINITY;
    hk_sdf_def def = hk_default_sdf_def();
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int p = 0; p < c->body_points; p++)
            if (c->side[p] == body) {
                low = fmin(low, c->rest[3 * (size_t)p + (size_t)i]);
                high = fmax(high, c->rest[3 * (size_t)p + (size_t)i]);
            }
        thin = fmin(thin, high - low);
    }
    def.cells = 16;         // the nearest triangle is found exactly, from near by
    def.band = 0.5 * thin;  // nothing is deeper inside
    def.threads = c->threads;
    to->triangles = HK_ARRAY(int32_t, 3 * (size_t)c->body_triangles);
    if (!to->triangles) return HK_NO_MEMORY;
    for (int t = 0; t < c->body_triangles; t++) {
        const int32_t *from = c->triangles + 3 * (size_t)t;
        if (c->side[from[0]] == body)
            memcpy(to->triangles + 3 * (size_t)count++, from, 3 * sizeof(int32_t));
    }
    HK_TRY(hk_winding_tree_create(c->body_points, c->rest, count, to->triangles, c->threads,
                                  &to->tree));
    HK_TRY(hk_mesh_from_arrays(c->body_points, c->rest, 0, NULL, count, to->triangles, &mesh));
    hk_status status = hk_sdf_create(mesh, &def, &to->sdf);
    hk_mesh_free(mesh);
    return status;
}

// Barycentric coordinates of a point of a triangle.
static void weights_of(const double *a, const double *b, const double *c, const double p[3],
                       double weight[3])
{
    double x[4][3];
    memcpy(x[0], p, sizeof x[0]);
    memcpy(x[1], a, sizeof x[1]);
    memcpy(x[2], b, sizeof x[2]);
    memcpy(x[3], c, sizeof x[3]);
    hk_closest at = closest_vertex_triangle((const double(*)[3])x);
    for (int k = 0; k < 3; k++) weight[k] = -at.c[k + 1];
}

// The place on the surface for a vertex that is inside; false: it is not.
static hk_status find_place(hk_after *a, const hk_inside *in, hk_projection *to, bool *found)
{
    const hk_contacts *c = a->contacts;
    const hk_model *m = c->model;
    hk_rest_shape *shape = &a->shapes[in->body];
    double rest[3] = {0}, normal[3], weight[3];
    *found = false;
    if (!shape->sdf) HK_TRY(make_shape(c, in->body, shape));
    for (int k = 0; k < 4; k++) {
        const double *corner = m->rest + 3 * (size_t)m->tets[4 * (size_t)in->tet + (size_t)k];
        for (int i = 0; i < 3; i++) rest[i] += in->weight[k] * corner[i];
    }
    double depth = -hk_sdf_value(shape->sdf, rest, normal, NULL);
    if (!(depth > 0)) return HK_OK;
    for (int i = 0; i < 3; i++) rest[i] += depth * normal[i];
    hk_nearest nearest = hk_winding_nearest(shape->tree, rest, INFINITY, NULL);
    const int32_t *t = shape->triangles + 3 * (size_t)nearest.triangle;
    weights_of(c->rest + 3 * (size_t)t[0], c->rest + 3 * (size_t)t[1], c->rest + 3 * (size_t)t[2],
               nearest.point, weight);
    *to = (hk_projection){.point = {in->point, t[0], t[1], t[2]},
                          .c = {1, -weight[0], -weight[1], -weight[2]}};
    double e[3], f[3];
    closest_minus(a->x + 3 * (size_t)t[1], a->x + 3 * (size_t)t[0], e);
    closest_minus(a->x + 3 * (size_t)t[2], a->x + 3 * (size_t)t[0], f);
    closest_cross(e, f, to->normal);
    double length = sqrt(closest_dot(to->normal, to->normal));
    if (!(length > 0)) return HK_OK;
    for (int i = 0; i < 3; i++) to->normal[i] /= length;
    to->friction = hk_contact_friction(c->settings, c->side[in->point], in->body);
    *found = true;
    return HK_OK;
}

static hk_status list_projections(hk_after *a, const double *x)
{
    a->count = 0;
    HK_TRY(hk_vertex_hash_find(a->contacts, x, &a->hash));
    HK_TRY(hk_reserve((void **)&a->list, 0, sizeof *a->list, &a->capacity, a->hash.count));
    for (size_t k = 0; k < a->hash.count; k++) {
        bool found;
        HK_TRY(find_place(a, &a->hash.found[k], &a->list[a->count], &found));
        a->count += found;
    }
    return HK_OK;
}

// ---------------------------------------------------------------- corrections

static double weight_of(const hk_after *a, int32_t point)
{
    return a->mass[point] > 0 ? 1 / a->mass[point] : 0;
}

static void move(hk_after *a, const hk_projection *p, double impulse, const double direction[3])
{
    for (int k = 0; k < 4; k++) {
        double *x = a->x + 3 * (size_t)p->point[k], w = weight_of(a, p->point[k]);
        for (int i = 0; i < 3; i++) x[i] += w * p->c[k] * impulse * direction[i];
    }
}

// λ and friction of one vertex in another body.
static bool project(hk_after *a, const hk_projection *p)
{
    double apart[3] = {0}, slid[3] = {0}, sum = 0;
    for (int k = 0; k < 4; k++) {
        const double *x = a->x + 3 * (size_t)p->point[k], *from = a->from + 3 * (size_t)p->point[k];
        for (int i = 0; i < 3; i++) {
            apart[i] += p->c[k] * x[i];
            slid[i] += p->c[k] * (x[i] - from[i]);
        }
        sum += weight_of(a, p->point[k]) * p->c[k] * p->c[k];
    }
    double missing = a->contacts->settings->distance - closest_dot(apart, p->normal);
    if (!(missing > 0) || !(sum > 0)) return false;
    double impulse = missing / sum, through = closest_dot(slid, p->normal);
    move(a, p, impulse, p->normal);
    for (int i = 0; i < 3; i++) slid[i] -= through * p->normal[i];
    double length = sqrt(closest_dot(slid, slid));
    if (!(length > 0) || !(p->friction > 0)) return true;
    for (int i = 0; i < 3; i++) slid[i] /= length;
    move(a, p, -fmin(p->friction * impulse, length / sum), slid);
    return true;
}

// Where a point that an obstacle carries was before the step.
static void carried_from(const hk_after *a, int obstacle, const double x[3], double from[3])
{
    const hk_placement *now = &a->contacts->placed[obstacle];
    double local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = 0;
        for (int k = 0; k < 3; k++) local[i] += now->rotation[k][i] * (x[k] - now->translation[k]);
    }
    hk_placement_apply(&a->before[obstacle], local, from);
}

// A vertex and an obstacle, whose mass is infinite. The impulse over h² is the force upon it.
static bool push_out(hk_after *a, int obstacle, int32_t p, double h)
{
    const hk_contacts *c = a->contacts;
    double *x = a->x + 3 * (size_t)p, normal[3], slid[3], was[3], shift[3];
    if (!(a->mass[p] > 0)) return false;
    double missing = c->settings->distance - hk_contacts_distance(c, obstacle, x, normal, NULL);
    double length = sqrt(closest_dot(normal, normal));
    if (!(missing > 0) || !(length > 0)) return false;
    carried_from(a, obstacle, x, was);
    for (int i = 0; i < 3; i++) {
        normal[i] /= length;
        slid[i] = (x[i] - a->from[3 * (size_t)p + (size_t)i]) - (x[i] - was[i]);
    }
    double through = closest_dot(slid, normal);
    for (int i = 0; i < 3; i++) slid[i] -= through * normal[i];
    double sliding = sqrt(closest_dot(slid, slid));
    int side = c->settings->body_count + obstacle;
    double friction = hk_contact_friction(c->settings, c->side[p], side);
    double back = sliding > 0 ? fmin(friction * missing, sliding) / sliding : 0;
    hk_contact_load *load = &a->measure.loads[obstacle];
    double arm[3], turn[3];
    closest_minus(x, load->center, arm);
    for (int i = 0; i < 3; i++) {
        shift[i] = missing * normal[i] - back * slid[i];
        x[i] += shift[i];
        load->force[i] -= a->mass[p] * shift[i] / (h * h);
    }
    closest_cross(arm, shift, turn);
    for (int i = 0; i < 3; i++) load->torque[i] -= a->mass[p] * turn[i] / (h * h);
    a->measure.pairs++;
    return true;
}

static bool sweep(hk_after *a, double h)
{
    const hk_contacts *c = a->contacts;
    bool moved = false;
    for (size_t k = 0; k < a->count; k++) moved = project(a, &a->list[k]) || moved;
    for (int o = 0; o < c->settings->obstacle_count; o++)
        for (int32_t p = 0; p < c->body_points; p++)
            if (hk_contact_touches(c->settings, c->side[p], c->settings->body_count + o))
                moved = push_out(a, o, p, h) || moved;
    return moved;
}

// ---------------------------------------------------------------- the step

static void begin(hk_after *a, const uint8_t *held, const double *from, const double *x)
{
    const hk_contacts *c = a->contacts;
    for (int p = 0; p < c->body_points; p++) {
        int32_t v = c->vertex[p];
        a->mass[p] = held[v] ? 0 : c->model->mass[c->model->order[v]];
        memcpy(a->x + 3 * (size_t)p, x + 4 * (size_t)v, 3 * sizeof(double));
        memcpy(a->from + 3 * (size_t)p, from + 4 * (size_t)v, 3 * sizeof(double));
    }
}

// Positions into x, and what was done for it as forces.
static void end(hk_after *a, double h, double *x)
{
    const hk_contacts *c = a->contacts;
    a->corrected = 0;
    for (int p = 0; p < c->body_points; p++) {
        double *to = x + 4 * (size_t)c->vertex[p], *force = a->measure.force + 3 * (size_t)p;
        bool moved = false;
        for (int i = 0; i < 3; i++) {
            double shift = a->x[3 * (size_t)p + (size_t)i] - to[i];
            force[i] = a->mass[p] * shift / (h * h);
            moved = moved || shift != 0;
            if (moved) to[i] = a->x[3 * (size_t)p + (size_t)i];
        }
        a->corrected += moved;
    }
}

hk_status hk_after_correct(hk_after *a, const uint8_t *held, const double times[2], double h,
                           const double *from, double *x)
{
    hk_contacts *c = a->contacts;
    double start = hk_now();
    HK_TRY(hk_contacts_place(c, false, 0, times[0]));
    memcpy(a->before, c->placed, sizeof(hk_placement) * (size_t)c->settings->obstacle_count);
    HK_TRY(hk_contacts_place(c, false, 0, times[1]));
    hk_contacts_gather(c, x);
    hk_contacts_clear_measure(c, &a->measure);
    begin(a, held, from, x);
    HK_TRY(list_projections(a, x));
    a->measure.pairs = 0;
    int64_t pairs = 0;
    for (int k = 0; k < SWEEPS; k++) {
        a->measure.pairs = 0;
        if (!sweep(a, h)) break;
        if (k == 0) pairs = a->measure.pairs;
    }
    a->measure.pairs = pairs + (int64_t)a->count;
    end(a, h, x);
    a->seconds += hk_now() - start;
    return HK_OK;
}
