// Pressure p on triangles of the surface, which follows them. The force on each corner is
//
//   f = −p/6 N,   N = (b − a) × (c − a)  the normal that points out, twice the area long.
//
// That is the gradient of p V, V = Σ a·(b × c)/6 the volume under the triangles as seen from a
// fixed point, but for the rim of the loaded surface: there the forces are no energy's. So the
// energy is p (V(x) + r·x), and r, what the forces have beyond −p ∇V, is taken at the last state
// that the methods update terms at. It adds up to 0 at vertices inside of the surface, whatever the
// state; closed surfaces and such with a rim that is held have exact derivatives. The Hessian is
// the symmetric part of that of the forces, −1/12 p [a + b − 2c]× for the pair a, b (with f towards
// the outside): in sum it is that of p V, but it depends on the shape of the triangle alone.
#include <math.h>

#include "model/conditions.h"
#include "term/stencil.h"

enum { PRESSURE, FULL, FACTOR, ORIGIN };  // of an element's values; the origin has three
// Changes of forces at the rim, relative to the largest force, that are none.
#define NO_CHANGE 1e-10
// … and those for which a solve is not taken up again.
#define ENOUGH 1e-6

static void cross(const double u[3], const double v[3], double w[3])
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        w[i] = u[j] * v[k] - u[k] * v[j];
    }
}

// Corners as seen from the origin of the element, and their cross products b × c, c × a, a × b.
static void corners_of(const hk_element *e, const double *x, double at[3][3], double around[3][3])
{
    for (int i = 0; i < 9; i++) at[i / 3][i % 3] = x[i] - e->value[ORIGIN + i % 3];
    for (int i = 0; i < 3; i++) cross(at[(i + 1) % 3], at[(i + 2) % 3], around[i]);
}

// r of a triangle: (N − b × c)/6 at a, and so on.
static void rim_of(const hk_element *e, const double *x, double r[9])
{
    double at[3][3], around[3][3];
    corners_of(e, x, at, around);
    for (int i = 0; i < 9; i++)
        r[i] = (around[(i / 3 + 1) % 3][i % 3] + around[(i / 3 + 2) % 3][i % 3]) / 6;
}

static double energy(const hk_element *e, const double *x)
{
    double at[3][3], around[3][3], sum = 0;
    const double *r = e->owner;
    corners_of(e, x, at, around);
    for (int i = 0; i < 3; i++) sum += at[0][i] * around[0][i] / 6;
    for (int i = 0; i < 9; i++) sum += r[i] * at[i / 3][i % 3];
    return e->value[PRESSURE] * sum;
}

static void gradient(const hk_element *e, const double *x, double *g)
{
    double at[3][3], around[3][3];
    const double *r = e->owner;
    corners_of(e, x, at, around);
    for (int i = 0; i < 9; i++) g[i] = e->value[PRESSURE] * (around[i / 3][i % 3] / 6 + r[i]);
}

static void hessian(const hk_element *e, const double *x, double *h)
{
    for (int i = 0; i < 81; i++) h[i] = 0;
    for (int k = 0; k < 3; k++) {  // the pair a = k, b = k + 1, with c = k + 2
        int a = k, b = (k + 1) % 3, c = (k + 2) % 3;
        double d[3];
        for (int i = 0; i < 3; i++)
            d[i] = e->value[PRESSURE] / 12 * (x[3 * a + i] + x[3 * b + i] - 2 * x[3 * c + i]);
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, l = (i + 2) % 3;
            // [d]× at rows of a and columns of b, and its transpose
            h[9 * (3 * a + j) + 3 * b + l] = -d[i];
            h[9 * (3 * a + l) + 3 * b + j] = d[i];
            h[9 * (3 * b + l) + 3 * a + j] = -d[i];
            h[9 * (3 * b + j) + 3 * a + l] = d[i];
        }
    }
}

// A bound for triangles of about their size at rest: |d| above is at most p/6 times the longest
// median, and two such blocks meet at a corner.
static void weights(const hk_element *e, double *w)
{
    for (int i = 0; i < 9; i++) w[i] = i % 4 == 0 ? fabs(e->value[FULL]) * e->value[ORIGIN + 3] : 0;
}

static double extent_of(const hk_model *m, const int32_t *c)
{
    double most = 0;
    for (int k = 0; k < 3; k++) {
        const double *a = m->rest + 3 * (int64_t)c[k], *b = m->rest + 3 * (int64_t)c[(k + 1) % 3];
        most = fmax(most, hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]));
    }
    return most;
}

static hk_status elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    const hk_conditions *c = m->conditions;
    for (int k = 0; c && k < c->pressure_count; k++) {
        const hk_pressure *p = &c->pressures[k];
        hk_element e = {.count = 3, .number = k};
        memcpy(e.vertex, p->triangle, sizeof p->triangle);
        e.value[PRESSURE] = e.value[FULL] = p->pressure;
        e.value[FACTOR] = p->factor;
        // Seen from near by: the first corner of the first triangle.
        memcpy(e.value + ORIGIN, m->rest + 3 * (int64_t)c->pressures[0].triangle[0],
               3 * sizeof(double));
        e.value[ORIGIN + 3] = extent_of(m, p->triangle);
        HK_TRY(hk_elements_add(to, &e));
    }
    return HK_OK;
}

static const hk_stencil_law g_law = {.name = "pressure",
                                     .elements = elements,
                                     .energy = energy,
                                     .gradient = gradient,
                                     .hessian = hessian,
                                     .weights = weights};

// ---------------------------------------------------------------- the term

static bool in_model(const hk_model *m)
{
    return m->conditions && m->conditions->pressure_count > 0;
}

// In double precision.
static void read_corners(const hk_stencil_term *t, const hk_element *e, const void *x, double at[9])
{
    const hk_terms *list = t->base.list;
    for (int i = 0; i < 9; i++) {
        int64_t k = 4 * (int64_t)e->vertex[i / 3] + i % 3;
        at[i] = list->precision == HK_DOUBLE_PRECISION
                    ? ((const double *)x)[k]
                    : (double)((const float *)x)[k] + list->frame->base[k];
    }
}

static double *rim_forces(const hk_stencil_term *t)
{
    return t->elements.count > 0 ? (double *)t->elements.element[0].owner : NULL;
}

static void release(hk_term *term)
{
    hk_free(rim_forces((hk_stencil_term *)term));
    hk_stencil_free(term);
}

static hk_status create(const hk_terms *list, hk_term **term)
{
    if (!in_model(list->model)) return HK_OK;
    HK_TRY(hk_stencil_create(list, &g_law, term));
    hk_stencil_term *t = (hk_stencil_term *)*term;
    if (!t) return HK_OK;
    double *r = HK_ZEROS(double, 9 * (size_t)t->elements.count);
    for (int k = 0; k < t->elements.count; k++) t->elements.element[k].owner = r ? r + 9 * k : NULL;
    if (!r) return HK_NO_MEMORY;
    const hk_model *m = list->model;
    for (int k = 0; k < t->elements.count; k++) {
        double at[9];
        for (int i = 0; i < 9; i++)
            at[i] = m->rest[3 * (int64_t)m->order[t->elements.element[k].vertex[i / 3]] + i % 3];
        rim_of(&t->elements.element[k], at, r + 9 * k);
    }
    return HK_OK;
}

static hk_status follow(hk_term *term, const hk_term *from)
{
    hk_stencil_term *t = (hk_stencil_term *)term;
    const hk_stencil_term *f = (const hk_stencil_term *)from;
    for (int k = 0; k < t->elements.count; k++)
        t->elements.element[k].value[PRESSURE] = f->elements.element[k].value[PRESSURE];
    memcpy(rim_forces(t), rim_forces(f), 9 * sizeof(double) * (size_t)t->elements.count);
    return HK_OK;
}

static void set_pressures(hk_stencil_term *t, double scale)
{
    const hk_live *live = t->base.list->live;
    for (int k = 0; k < t->elements.count; k++) {
        double *value = t->elements.element[k].value;
        int factor = (int)value[FACTOR];
        double now = factor >= 0 && live && live->factors ? live->factors[factor] : 1;
        value[PRESSURE] = scale * now * value[FULL];
    }
}

static void place(hk_term *term, const hk_when *when)
{
    set_pressures((hk_stencil_term *)term, when->by_fraction ? when->fraction : 1);
}

// How much the forces at free vertices would change by r as of x, and the largest force.
static double rim_change(hk_stencil_term *t, const void *x, double *largest)
{
    const hk_model *m = t->base.list->model;
    const double *r = rim_forces(t);
    double most = 0;
    *largest = 0;
    for (int k = 0; k < t->elements.count; k++) {
        const hk_element *e = &t->elements.element[k];
        double at[9], now[9], g[9];
        read_corners(t, e, x, at);
        rim_of(e, at, now);
        gradient(e, at, g);
        for (int i = 0; i < 9; i++) {
            t->force[3 * (int64_t)t->corner[k] + i] = e->value[PRESSURE] * (now[i] - r[9 * k + i]);
            *largest = fmax(*largest, fabs(g[i]));
        }
    }
    for (int u = 0; u < t->user_count; u++) {
        if (m->hold[m->order[t->user[u]]] != HK_FREE) continue;
        double sum[3] = {0};
        for (int k = t->use_start[u]; k < t->use_start[u + 1]; k++)
            for (int i = 0; i < 3; i++) sum[i] += t->force[3 * (int64_t)t->use[k] + i];
        most = fmax(most, fmax(fabs(sum[0]), fmax(fabs(sum[1]), fabs(sum[2]))));
    }
    return most;
}

static bool update(hk_term *term, const void *x)
{
    hk_stencil_term *t = (hk_stencil_term *)term;
    double largest, change = rim_change(t, x, &largest);
    double none = term->list->precision == HK_DOUBLE_PRECISION ? NO_CHANGE : 1e-6;
    if (!(change > none * largest)) return false;
    double *r = rim_forces(t);
    for (int k = 0; k < t->elements.count; k++) {
        double at[9];
        read_corners(t, &t->elements.element[k], x, at);
        rim_of(&t->elements.element[k], at, r + 9 * k);
    }
    return true;
}

static hk_status begin_step(hk_term *term, const hk_step_begin *step)
{
    set_pressures((hk_stencil_term *)term, 1);
    if (!step->pose && step->state && term->list->precision == HK_DOUBLE_PRECISION)
        update(term, step->state);
    return HK_OK;
}

// Forces of single precision, and of methods that update terms now and then, are of another state.
static bool again(hk_term *term, const double *x)
{
    double largest, change = rim_change((hk_stencil_term *)term, x, &largest);
    return change > ENOUGH * largest && update(term, x);
}

static void model_stencils(const hk_model *m, hk_stencil_fn *visit, void *context)
{
    hk_stencil_model_stencils(&g_law, m, visit, context);
}

static void model_weights(const hk_model *m, const double *material_weight, hk_weight_fn *visit,
                          void *context)
{
    (void)material_weight;
    hk_stencil_model_weights(&g_law, m, visit, context);
}

static const hk_term_shape g_shape = {model_stencils, model_weights};

const hk_term_ops hk_pressure_term = {
    .name = "pressures",
    .part = HK_PART_LOAD,
    .shape = &g_shape,
    .in_model = in_model,
    .create = create,
    .free = release,
    .follow = follow,
    .begin_step = begin_step,
    .place = place,
    .update = update,
    .again = again,
    .active = hk_stencil_active,
    .wanted = hk_stencil_active,
    .energy = hk_stencil_energy,
    .add_gradient = hk_stencil_add_gradient,
    .add_diagonal = hk_stencil_add_diagonal,
    .stencils = hk_stencil_stencils,
    .block_size = hk_stencil_block_size,
    .blocks = hk_stencil_blocks,
    .vertex = hk_stencil_vertex,
    .vertex_energy = hk_stencil_vertex_energy,
    .scales = hk_stencil_scales,
    .undefined = hk_stencil_undefined,
    .relax = &hk_stencil_relax,
};
