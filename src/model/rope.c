// Ropes: lines that resist stretching and bending, with their mass at the vertices.
//
// A line of length l₀ is a spring of stiffness E A/l₀. Where two run on into each other, with
// l̄ = (l₀ + l₁)/2 of the rope between their middles, the curvature is about φ/l̄ with the angle φ by
// which the direction turns, and the energy ½ E I κ² l̄ is
//
//   hinges     ½ E I/l̄ (φ − φ₀)²
//   cotangent  ½ E I/l̄ (‖t₁ − t₀‖ − ‖t₁ − t₀‖₀)²,  t = (x_next − x)/l₀: a combination of positions,
//              which is 2 sin(φ/2) as long as lengths stay: the Laplacian of the line
//
// It does not matter in which plane a rope bends, and twisting it costs nothing: a curved rest
// shape keeps its angles, not its torsion.
#include "model/rope.h"

#include <math.h>

#include "core/vector.h"

// A turn that is this small at rest is rounding: the rope is straight there.
#define STRAIGHT 1e-6

typedef struct rope {
    hk_model *model;
    const hk_body *body;
    const hk_mesh *mesh;
    const hk_sheet_material *material;
    double *length;    // [line_count] m
    int32_t *degree;   // [vertex_count] lines at a vertex
    int32_t *partner;  // [vertex_count] the first line there; −1: none yet
} rope;

static const double *point(const rope *r, int32_t vertex)
{
    return r->mesh->positions + 3 * (int64_t)vertex;
}

static const int32_t *line(const rope *r, int k)
{
    return r->mesh->lines + 2 * (int64_t)k;
}

static void between(const double a[3], const double b[3], double d[3])
{
    for (int i = 0; i < 3; i++) d[i] = b[i] - a[i];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

double hk_line_angle(const double a[3], const double b[3], const double c[3])
{
    double u[3], v[3], n[3];
    between(a, b, u);
    between(b, c, v);
    for (int i = 0; i < 3; i++)
        n[i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
    return atan2(sqrt(dot(n, n)), dot(u, v));
}

static hk_status measure_lines(rope *r)
{
    hk_model *m = r->model;
    for (int v = 0; v < r->mesh->vertex_count; v++) r->partner[v] = -1;
    for (int k = 0; k < r->mesh->line_count; k++) {
        const int32_t *l = line(r, k);
        double d[3];
        between(point(r, l[0]), point(r, l[1]), d);
        r->length[k] = sqrt(dot(d, d));
        if (!(r->length[k] > 0 && isfinite(r->length[k])))
            return hk_fail(HK_BAD_INPUT,
                           "line %d (vertices %d %d) has no length (%g m): it cannot be simulated",
                           k, l[0], l[1], r->length[k]);
        double mass = r->material->density * r->length[k];
        m->sheet_mass += mass;
        for (int i = 0; i < 2; i++) {
            int32_t vertex = r->body->vertex_start + l[i];
            m->lines[2 * (int64_t)(r->body->line_start + k) + i] = vertex;
            m->mass[vertex] += mass / 2;
            r->degree[l[i]]++;
        }
    }
    return HK_OK;
}

// ---------------------------------------------------------------- stretching

static hk_status add_springs(const rope *r)
{
    hk_model *m = r->model;
    size_t count = (size_t)m->spring_count, more = (size_t)r->mesh->line_count;
    HK_TRY(hk_reserve((void **)&m->springs, count, sizeof(hk_spring), &m->spring_capacity,
                      count + more));
    for (int k = 0; k < r->mesh->line_count; k++)
        m->springs[m->spring_count++] = (hk_spring){
            .ends = {r->body->vertex_start + line(r, k)[0], r->body->vertex_start + line(r, k)[1]},
            .stiffness = r->material->stretch / r->length[k],
            .rest = r->length[k]};
    return HK_OK;
}

static hk_status add_slack_lines(const rope *r)
{
    hk_model *m = r->model;
    size_t count = (size_t)m->slack_line_count, more = (size_t)r->mesh->line_count;
    HK_TRY(hk_reserve((void **)&m->slack_lines, count, sizeof(hk_slack_line),
                      &m->slack_line_capacity, count + more));
    for (int k = 0; k < r->mesh->line_count; k++)
        m->slack_lines[m->slack_line_count++] =
            (hk_slack_line){.vertex = {r->body->vertex_start + line(r, k)[0],
                                       r->body->vertex_start + line(r, k)[1]},
                            .stiffness = r->material->stretch / r->length[k],
                            .rest = r->length[k]};
    return HK_OK;
}

// ---------------------------------------------------------------- bending

// By the angle.
static void add_turn(const rope *r, const int32_t at[3], double mean)
{
    hk_model *m = r->model;
    hk_line_bend *bend = &m->line_bends[m->line_bend_count++];
    bend->rest = hk_line_angle(point(r, at[0]), point(r, at[1]), point(r, at[2]));
    if (bend->rest < STRAIGHT) bend->rest = 0;
    bend->stiffness = r->material->bending / mean;
    for (int k = 0; k < 3; k++) bend->vertex[k] = r->body->vertex_start + at[k];
}

// By a combination of positions: d = l̄ (t₁ − t₀), a link as those of sheets.
static void add_link(const rope *r, const int32_t at[3], const double length[2], double mean)
{
    hk_model *m = r->model;
    double d[3] = {0}, c[2] = {mean / length[0], mean / length[1]};
    hk_bend bend = {.start = m->bend_entry_count, .count = 3};
    const int32_t order[3] = {at[1], at[0], at[2]};
    for (int k = 0; k < 3; k++) {
        m->bend_vertices[bend.start + k] = r->body->vertex_start + order[k];
        m->bend_coefficients[bend.start + k] = k ? c[k - 1] : -c[0] - c[1];
    }
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) d[i] += c[k] * (point(r, at[2 * k])[i] - point(r, at[1])[i]);
    bend.rest = sqrt(dot(d, d));
    if (bend.rest <= STRAIGHT * mean) bend.rest = 0;
    bend.stiffness = r->material->bending / (mean * mean * mean);
    m->bend_entry_count += bend.count;
    m->bends[m->bend_count++] = bend;
}

// Of lines j and k at a vertex that they have in common.
static void add_bend(const rope *r, int j, int k, int32_t vertex)
{
    const int32_t *first = line(r, j), *second = line(r, k);
    const int32_t at[3] = {first[0] == vertex ? first[1] : first[0], vertex,
                           second[0] == vertex ? second[1] : second[0]};
    const double length[2] = {r->length[j], r->length[k]};
    double mean = 0.5 * (length[0] + length[1]);
    if (r->material->form == HK_BENDING_HINGES)
        add_turn(r, at, mean);
    else
        add_link(r, at, length, mean);
}

static hk_status reserve_bends(const rope *r)
{
    hk_model *m = r->model;
    size_t more = 2 * (size_t)r->mesh->line_count, count = (size_t)m->bend_count;
    size_t turns = (size_t)m->line_bend_count, entries = (size_t)m->bend_entry_count;
    if (r->material->form == HK_BENDING_HINGES)
        return hk_reserve((void **)&m->line_bends, turns, sizeof(hk_line_bend),
                          &m->line_bend_capacity, turns + more);
    HK_TRY(hk_reserve((void **)&m->bends, count, sizeof(hk_bend), &m->bend_capacity, count + more));
    HK_TRY(hk_reserve((void **)&m->bend_vertices, entries, sizeof(int32_t),
                      &m->bend_vertex_capacity, entries + 3 * more));
    return hk_reserve((void **)&m->bend_coefficients, entries, sizeof(double),
                      &m->bend_coefficient_capacity, entries + 3 * more);
}

// A rope runs on through a vertex of two lines. Where more meet, as in a net, those run on that
// follow each other in the list.
static hk_status add_bends(rope *r)
{
    if (r->material->form == HK_BENDING_NONE) return HK_OK;
    HK_TRY(reserve_bends(r));
    for (int k = 0; k < r->mesh->line_count; k++)
        for (int i = 0; i < 2; i++) {
            int32_t v = line(r, k)[i], partner = r->partner[v];
            bool follows = k > 0 && i == 0 && line(r, k - 1)[1] == v;
            if (r->degree[v] == 2 && partner >= 0) add_bend(r, partner, k, v);
            if (r->degree[v] > 2 && follows) add_bend(r, k - 1, k, v);
            if (partner < 0) r->partner[v] = k;
        }
    return HK_OK;
}

static hk_status build(rope *r)
{
    r->length = HK_ARRAY(double, r->mesh->line_count);
    r->degree = HK_ZEROS(int32_t, r->mesh->vertex_count);
    r->partner = HK_ARRAY(int32_t, r->mesh->vertex_count);
    if (!r->length || !r->degree || !r->partner) return HK_NO_MEMORY;
    HK_TRY(measure_lines(r));
    HK_TRY(r->material->slack ? add_slack_lines(r) : add_springs(r));
    return add_bends(r);
}

hk_status hk_model_add_rope(hk_model *model, const hk_body *body, const hk_mesh *mesh,
                            const hk_sheet_material *material)
{
    rope r = {.model = model, .body = body, .mesh = mesh, .material = material};
    hk_status status = build(&r);
    hk_free(r.length);
    hk_free(r.degree);
    hk_free(r.partner);
    return status;
}

// ---------------------------------------------------------------- looking

int hk_model_line_count(const hk_model *model)
{
    return model ? model->line_count : 0;
}
const int32_t *hk_model_lines(const hk_model *model)
{
    return model ? model->lines : NULL;
}

double hk_model_line_radius(const hk_model *model, int line)
{
    for (int b = 0; model && b < model->body_count; b++) {
        const hk_body *body = &model->bodies[b];
        if (line >= body->line_start && line < body->line_start + body->line_count)
            return body->sheet.radius;
    }
    return 0;
}
