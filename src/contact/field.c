#include "contact/field.h"

#include <math.h>

#include "contact/sdf.h"

// ---------------------------------------------------------------- fields

void hk_fields_free(hk_sdf **fields, int count)
{
    for (int k = 0; fields && k < count; k++) hk_sdf_free(fields[k]);
    hk_free(fields);
}

// Cells that resolve the thinnest extent, as far as memory is worth it.
static hk_status make_field(const hk_contacts *c, const hk_obstacle *o, hk_sdf **sdf)
{
    enum { ACROSS = 8, MOST = 160, LEAST = 48 };
    double thin = INFINITY, wide = 0;
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int v = 0; v < o->vertex_count; v++) {
            low = fmin(low, o->rest[3 * (size_t)v + (size_t)i]);
            high = fmax(high, o->rest[3 * (size_t)v + (size_t)i]);
        }
        thin = fmin(thin, high - low);
        wide = fmax(wide, high - low);
    }
    hk_sdf_def def = hk_default_sdf_def();
    def.cells = (int)fmin(fmax(ACROSS * wide / fmax(thin, 1e-3 * wide), LEAST), MOST);
    double cell = wide / def.cells;
    // Half of the thinnest extent is as deep as anything can be there.
    def.band = fmax(fmax(3 * cell, 2 * c->settings->distance), fmin(0.5 * thin, 16 * cell));
    def.threads = c->threads;
    hk_mesh *mesh;
    HK_TRY(hk_mesh_from_arrays(o->vertex_count, o->rest, 0, NULL, o->triangle_count, o->triangles,
                               &mesh));
    hk_status status = hk_sdf_create(mesh, &def, sdf);
    hk_mesh_free(mesh);
    return status;
}

hk_status hk_contacts_make_fields(hk_contacts *c)
{
    int count = c->settings->obstacle_count;
    if (c->fields) return HK_OK;
    c->fields = HK_ZEROS(hk_sdf *, count);
    if (!c->fields) return HK_NO_MEMORY;
    for (int k = 0; k < count; k++) {
        const hk_obstacle *o = &c->settings->obstacles[k];
        if (o->triangle_count == 0) continue;
        hk_status status = make_field(c, o, &c->fields[k]);
        if (status != HK_OK) return hk_fail_within(status, "obstacle %s", o->name);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- distances

// From a point, or from a segment, less the radius.
static double round_distance(const hk_contacts *c, int obstacle, const double x[3],
                             double gradient[3], double *hessian)
{
    const hk_obstacle *o = &c->settings->obstacles[obstacle];
    const double *a = c->x + 3 * (size_t)c->start_of[obstacle], *b = a + 3;
    double d[3], e[3] = {0}, length = 0, t = 0;
    closest_minus(x, a, d);
    if (o->vertex_count > 1) {
        closest_minus(b, a, e);
        length = closest_dot(e, e);
        t = fmin(fmax(closest_dot(d, e) / length, 0), 1);
    }
    for (int i = 0; i < 3; i++) d[i] -= t * e[i];
    double distance = sqrt(closest_dot(d, d)), inverse = distance > 0 ? 1 / distance : 0;
    for (int i = 0; i < 3; i++) gradient[i] = distance > 0 ? d[i] * inverse : i == 1;
    bool along = t > 0 && t < 1;  // then the distance does not change along the segment
    for (int k = 0; k < 9 && hessian; k++) {
        int i = k / 3, j = k % 3;
        double free = (i == j) - gradient[i] * gradient[j] - (along ? e[i] * e[j] / length : 0);
        hessian[k] = free * inverse;
    }
    return distance - o->radius;
}

// In the frame of the obstacle: x = R X + t, so that ∇ = R ∇_X and H = R H_X Rᵀ.
static double field_distance(const hk_contacts *c, int obstacle, const double x[3],
                             double gradient[3], double *hessian)
{
    const hk_placement *at = &c->placed[obstacle];
    double local[3], g[3], h[9];
    for (int i = 0; i < 3; i++) {
        local[i] = 0;
        for (int k = 0; k < 3; k++) local[i] += at->rotation[k][i] * (x[k] - at->translation[k]);
    }
    double distance = hk_sdf_value(c->fields[obstacle], local, g, hessian ? h : NULL);
    for (int i = 0; i < 3; i++) {
        gradient[i] = 0;
        for (int k = 0; k < 3; k++) gradient[i] += at->rotation[i][k] * g[k];
    }
    for (int n = 0; n < 9 && hessian; n++) {
        hessian[n] = 0;
        for (int k = 0; k < 9; k++)
            hessian[n] += at->rotation[n / 3][k / 3] * h[k] * at->rotation[n % 3][k % 3];
    }
    return distance;
}

double hk_contacts_distance(const hk_contacts *c, int obstacle, const double x[3],
                            double gradient[3], double *hessian)
{
    if (c->plane_of[obstacle] >= 0) {
        const double *plane = c->x + 3 * (size_t)c->plane_of[obstacle];
        double d[3];
        closest_minus(plane + 3, plane, gradient);
        closest_minus(x, plane, d);
        if (hessian) memset(hessian, 0, 9 * sizeof(double));
        return closest_dot(gradient, d);
    }
    return c->fields[obstacle] ? field_distance(c, obstacle, x, gradient, hessian)
                               : round_distance(c, obstacle, x, gradient, hessian);
}

// ---------------------------------------------------------------- the soft constraint

void hk_contacts_visit_fields(const hk_contacts *c, bool hessians, hk_field_fn *visit,
                              void *context)
{
    const hk_model_contact *s = c->settings;
    for (int o = 0; c->fields && o < s->obstacle_count; o++) {
        int side = s->body_count + o;
        if (!hk_contacts_by_field(c, side)) continue;
        for (int32_t p = 0; p < c->body_points; p++) {
            hk_field_contact at = {.point = p, .obstacle = o};
            if (!hk_contacts_counts(c, p)) continue;
            if (!hk_contact_touches(s, c->side[p], side)) continue;
            at.distance = hk_contacts_distance(c, o, c->x + 3 * (size_t)p, at.normal,
                                               hessians ? at.hessian : NULL);
            if (!(at.distance < s->distance)) continue;
            at.stiffness = c->area[p] * hk_contacts_modulus(c, c->side[p], side) / s->distance;
            visit(context, &at);
        }
    }
}

typedef struct field_sum {
    const hk_contacts *contacts;
    double energy, keep;
    double *gradient;
    hk_contact_block_fn *visit;
    void *context;
} field_sum;

static hk_contact_value value_of(const hk_contacts *c, const hk_field_contact *at)
{
    return contact_value(HK_CONTACT_PENALTY, c->settings->distance, at->distance);
}

static void add_energy(void *context, const hk_field_contact *at)
{
    field_sum *sum = context;
    sum->energy += at->stiffness * value_of(sum->contacts, at).energy;
}

static void add_gradient(void *context, const hk_field_contact *at)
{
    const field_sum *sum = context;
    double push = at->stiffness * value_of(sum->contacts, at).slope;
    double *to = sum->gradient + 4 * (size_t)sum->contacts->vertex[at->point];
    for (int i = 0; i < 3; i++) to[i] += push * at->normal[i];
}

static void visit_block(void *context, const hk_field_contact *at)
{
    const field_sum *sum = context;
    hk_contact_value b = value_of(sum->contacts, at);
    double block[9];
    for (int k = 0; k < 9; k++)
        block[k] = at->stiffness * (b.curvature * at->normal[k / 3] * at->normal[k % 3] +
                                    sum->keep * b.slope * at->hessian[k]);
    int32_t vertex = sum->contacts->vertex[at->point];
    sum->visit(sum->context, vertex, vertex, block);
}

double hk_fields_energy(const hk_contacts *c)
{
    field_sum sum = {.contacts = c};
    hk_contacts_visit_fields(c, false, add_energy, &sum);
    return sum.energy;
}

void hk_fields_add_gradient(const hk_contacts *c, double *gradient)
{
    field_sum sum = {.contacts = c, .gradient = gradient};
    hk_contacts_visit_fields(c, false, add_gradient, &sum);
}

void hk_fields_visit_blocks(const hk_contacts *c, double keep, hk_contact_block_fn *visit,
                            void *context)
{
    field_sum sum = {.contacts = c, .keep = keep, .visit = visit, .context = context};
    hk_contacts_visit_fields(c, keep != 0, visit_block, &sum);
}

// ---------------------------------------------------------------- friction

typedef struct slide_sum {
    hk_contacts *contacts;
    double slip;
    hk_status status;
} slide_sum;

static void add_slide(void *context, const hk_field_contact *at)
{
    slide_sum *sum = context;
    hk_contacts *c = sum->contacts;
    int32_t side = c->settings->body_count + at->obstacle, start = c->start_of[at->obstacle];
    double friction = hk_contact_friction(c->settings, c->side[at->point], side), square = 0;
    hk_slide slide = {.point = {at->point, start, start, start},
                      .sides = {c->side[at->point], side}};
    slide.friction.most = -friction * at->stiffness * value_of(c, at).slope;
    slide.friction.slip = sum->slip;
    slide.friction.c[0] = 1;
    slide.friction.c[1] = -1;
    for (int i = 0; i < 3; i++) square += at->normal[i] * at->normal[i];
    if (!(slide.friction.most > 0) || !(square > 0) || sum->status != HK_OK) return;
    for (int i = 0; i < 3; i++) slide.friction.normal[i] = at->normal[i] / sqrt(square);
    sum->status = hk_reserve((void **)&c->slides, c->slide_count, sizeof *c->slides,
                             &c->slide_capacity, c->slide_count + 1);
    if (sum->status == HK_OK) c->slides[c->slide_count++] = slide;
}

hk_status hk_fields_add_slides(hk_contacts *c, double slip)
{
    slide_sum sum = {c, slip, HK_OK};
    hk_contacts_visit_fields(c, false, add_slide, &sum);
    return sum.status;
}
