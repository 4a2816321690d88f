// Gas in a closed surface, with p V = const (a temperature that stays): of the pressure p₀ in the
// rest shape of volume V₀, and p' outside. Its energy and force are
//
//   E = −p₀ V₀ ln(V/V₀) + p' (V − V₀),     −∇E = (p − p') ∇V,     p = p₀ V₀/V,
//
// and the Hessian is −(p − p') ∇²V + p/V ∇V ∇Vᵀ. The first part is one of triangles, as that of a
// pressure (pressure.c); the second joins all vertices of the surface, and is what Newton's method
// adds to its solution (visit_rank_one). Methods that move vertices one by one have the pressure
// of the last state at which all of them were looked at, and in place of the second part
// p/V ‖∇V‖₁ ∇V_a∇V_aᵀ/‖∇V_a‖, which is no less. A surface without volume has no energy.
#include <math.h>
#include <stdio.h>

#include "math/closed_volume.h"
#include "model/conditions.h"
#include "term/stencil.h"

// Of one gas, owner of its elements.
typedef struct chamber {
    const hk_gas *gas;
    double amount;     // p₀ V₀ now, J
    double excess;     // p − p', Pa, as of the last evaluation
    double stiffness;  // p/V, Pa/m³
    double total;      // ‖∇V‖₁, m²
    double origin[3];  // m, that the volume is seen from
    int first, count;  // elements
} chamber;

typedef struct gas_term {
    hk_stencil_term stencil;
    chamber *chambers;  // [gas_count]
    int count;
    double *normal;  // [vertex_count][4] ∇V of one of them
} gas_term;

static const chamber *chamber_of(const hk_element *e)
{
    return e->owner;
}

// ∇V of a triangle's corners.
static double volume_gradient(const chamber *c, const double *x, double g[9])
{
    return hk_volume_of_triangle(c->origin, x, g);
}

// What one triangle has of −(p − p') V, for how the energy changes as one vertex moves.
static double energy(const hk_element *e, const double *x)
{
    double g[9];
    return -chamber_of(e)->excess * volume_gradient(chamber_of(e), x, g);
}

static void gradient(const hk_element *e, const double *x, double *g)
{
    volume_gradient(chamber_of(e), x, g);
    for (int i = 0; i < 9; i++) g[i] *= -chamber_of(e)->excess;
}

// Of a closed surface the sum of these is −(p − p') ∇²V, and each depends on its shape alone.
static void hessian(const hk_element *e, const double *x, double *h)
{
    for (int i = 0; i < 81; i++) h[i] = 0;
    for (int k = 0; k < 3; k++) {
        int a = k, b = (k + 1) % 3;
        double d[3];
        hk_volume_twist(x, k, d);
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, l = (i + 2) % 3;
            double value = chamber_of(e)->excess * d[i];
            h[9 * (3 * a + j) + 3 * b + l] = h[9 * (3 * b + l) + 3 * a + j] = value;
            h[9 * (3 * a + l) + 3 * b + j] = h[9 * (3 * b + j) + 3 * a + l] = -value;
        }
    }
}

static void weights(const hk_element *e, double *w)
{
    (void)e;
    for (int i = 0; i < 9; i++) w[i] = 0;
}

static hk_status elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    const hk_conditions *c = m->conditions;
    for (int g = 0; c && g < c->gas_count; g++)
        for (int k = 0; k < c->gases[g].triangle_count; k++) {
            hk_element e = {.count = 3, .number = k, .value = {g}};
            memcpy(e.vertex, c->gas_triangles + 3 * (int64_t)(c->gases[g].triangle_start + k),
                   3 * sizeof(int32_t));
            HK_TRY(hk_elements_add(to, &e));
        }
    return HK_OK;
}

static const hk_stencil_law g_law = {.name = "gas",
                                     .elements = elements,
                                     .energy = energy,
                                     .gradient = gradient,
                                     .hessian = hessian,
                                     .weights = weights};

// ---------------------------------------------------------------- the term

static bool in_model(const hk_model *m)
{
    return m->conditions && m->conditions->gas_count > 0;
}

static gas_term *own(hk_term *term)
{
    return (gas_term *)term;
}

static void release(hk_term *term)
{
    hk_free(own(term)->chambers);
    hk_free(own(term)->normal);
    own(term)->chambers = NULL;
    hk_stencil_free(term);
}

static void take_chambers(gas_term *t, const hk_model *m)
{
    const hk_conditions *c = m->conditions;
    for (int g = 0, first = 0; g < t->count; g++) {
        chamber *to = &t->chambers[g];
        const hk_gas *gas = &c->gases[g];
        *to = (chamber){.gas = gas,
                        .amount = gas->pressure * gas->volume,
                        .excess = gas->pressure - gas->outside,
                        .first = first,
                        .count = gas->triangle_count};
        memcpy(to->origin,
               m->rest + 3 * (int64_t)c->gas_triangles[3 * (int64_t)gas->triangle_start],
               sizeof to->origin);
        for (int k = first; k < first + to->count; k++) t->stencil.elements.element[k].owner = to;
        first += to->count;
    }
}

static hk_status create(const hk_terms *list, hk_term **term)
{
    if (!in_model(list->model)) return HK_OK;
    HK_TRY(hk_stencil_create_larger(list, &g_law, sizeof(gas_term), term));
    gas_term *t = own(*term);
    t->count = list->model->conditions->gas_count;
    t->chambers = HK_ZEROS(chamber, t->count);
    t->normal = HK_ZEROS(double, 4 * (size_t)list->vertex_count);
    if (!t->chambers || !t->normal) {
        release(*term);
        *term = NULL;
        return HK_NO_MEMORY;
    }
    take_chambers(t, list->model);
    return HK_OK;
}

static void set_amounts(hk_term *term, double fraction)
{
    const hk_live *live = term->list->live;
    for (int g = 0; g < own(term)->count; g++) {
        chamber *c = &own(term)->chambers[g];
        int factor = c->gas->factor;
        double now = factor >= 0 && live && live->factors ? live->factors[factor] : 1;
        // From no excess to all of it, for parts of a load.
        double least = c->gas->outside * c->gas->volume;
        c->amount = now * c->gas->pressure * c->gas->volume;
        c->amount = least + fraction * (c->amount - least);
    }
}

static void place(hk_term *term, const hk_when *when)
{
    set_amounts(term, when->by_fraction ? when->fraction : 1);
}

static hk_status begin_step(hk_term *term, const hk_step_begin *step)
{
    (void)step;
    set_amounts(term, 1);
    return HK_OK;
}

static hk_status follow(hk_term *term, const hk_term *from)
{
    for (int g = 0; g < own(term)->count; g++)
        own(term)->chambers[g].amount = ((const gas_term *)from)->chambers[g].amount;
    return HK_OK;
}

// Volume and pressure at x; the energy of it, +inf where there is no volume.
static double look_at(gas_term *t, chamber *c, const void *x)
{
    double volume = 0, total = 0;
    for (int k = c->first; k < c->first + c->count; k++) {
        const hk_element *e = &t->stencil.elements.element[k];
        double at[9], g[9];
        hk_stencil_read(&t->stencil, x, e, at);
        volume += volume_gradient(c, at, g);
        // Of its corners a third of the area each.
        double n[3];
        for (int i = 0; i < 3; i++) n[i] = g[i] + g[3 + i] + g[6 + i];
        total += sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    }
    if (!(volume > 0)) return INFINITY;
    double pressure = c->amount / volume;
    c->excess = pressure - c->gas->outside;
    c->stiffness = pressure / volume;
    c->total = total;
    return -c->amount * log(volume / c->gas->volume) + c->gas->outside * (volume - c->gas->volume);
}

static double look_at_all(gas_term *t, const void *x)
{
    double sum = 0;
    for (int g = 0; g < t->count; g++) sum += look_at(t, &t->chambers[g], x);
    return sum;
}

static double whole_energy(hk_term *term, const void *x)
{
    return look_at_all(own(term), x);
}

static void add_gradient(hk_term *term, const void *x, void *gradient_sum, double *sum)
{
    double found = look_at_all(own(term), x);
    hk_stencil_add_gradient(term, x, gradient_sum, NULL);
    if (sum) *sum = found;
}

static void blocks(hk_term *term, const double *x, double keep, hk_blocks_for what, double *values)
{
    if (what == HK_FOR_DAMPING) {
        memset(values, 0, sizeof(double) * (size_t)hk_stencil_block_size(term));
        return;
    }
    look_at_all(own(term), x);
    hk_stencil_blocks(term, x, keep, what, values);
}

static void visit_rank_one(hk_term *term, const double *x, hk_rank_one_fn *visit, void *context)
{
    gas_term *t = own(term);
    for (int g = 0; g < t->count; g++) {
        chamber *c = &t->chambers[g];
        if (!(look_at(t, c, x) < INFINITY)) continue;
        memset(t->normal, 0, 4 * sizeof(double) * (size_t)term->list->vertex_count);
        for (int k = c->first; k < c->first + c->count; k++) {
            const hk_element *e = &t->stencil.elements.element[k];
            double at[9], part[9];
            hk_stencil_read(&t->stencil, x, e, at);
            volume_gradient(c, at, part);
            for (int i = 0; i < 9; i++) t->normal[4 * (int64_t)e->vertex[i / 3] + i % 3] += part[i];
        }
        visit(context, c->stiffness, t->normal);
    }
}

// ∇V at a vertex, and its gas; NULL: it is on no surface.
static const chamber *normal_at(const gas_term *t, int vertex, const void *x, double n[3])
{
    const hk_stencil_term *s = &t->stencil;
    int user = s->user_of[vertex];
    if (user < 0) return NULL;
    const chamber *c = NULL;
    n[0] = n[1] = n[2] = 0;
    for (int k = s->use_start[user]; k < s->use_start[user + 1]; k++) {
        int element = s->element_of[s->use[k]], corner = s->use[k] - s->corner[element];
        double at[9], g[9];
        hk_stencil_read(s, x, &s->elements.element[element], at);
        c = chamber_of(&s->elements.element[element]);
        volume_gradient(c, at, g);
        for (int i = 0; i < 3; i++) n[i] += g[3 * corner + i];
    }
    return c;
}

static bool vertex(const hk_term *term, int v, const void *x, double g[3], double block[6])
{
    double n[3];
    const chamber *c = normal_at((const gas_term *)term, v, x, n);
    if (!c) return false;
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    double k = length > 0 ? c->stiffness * c->total / length : 0;
    for (int i = 0, q = 0; i < 3; i++) {
        g[i] -= c->excess * n[i];
        for (int j = i; j < 3; j++, q++) block[q] += k * n[i] * n[j];
    }
    return true;
}

// V is linear in one vertex.
static double vertex_energy(const hk_term *term, int v, const void *x, const double step[3])
{
    double n[3];
    const chamber *c = normal_at((const gas_term *)term, v, x, n);
    if (!c) return 0;
    double change = n[0] * step[0] + n[1] * step[1] + n[2] * step[2];
    return -c->excess * change + 0.5 * c->stiffness * change * change;
}

static void add_diagonal(hk_term *term, const void *x, void *diagonal)
{
    const hk_terms *list = term->list;
    bool single = list->precision == HK_SINGLE;
    look_at_all(own(term), x);
    for (int v = 0; v < list->vertex_count; v++) {
        double g[3] = {0}, block[6] = {0};
        static const int at[3] = {0, 3, 5};
        if (!vertex(term, v, x, g, block)) continue;
        for (int i = 0; i < 3; i++)
            if (single)
                ((float *)diagonal)[4 * (int64_t)v + i] += (float)block[at[i]];
            else
                ((double *)diagonal)[4 * (int64_t)v + i] += block[at[i]];
    }
}

// The volume is known to its rounding.
static double scales(const hk_term *term, double *stiffness)
{
    const gas_term *t = (const gas_term *)term;
    double sum = 0;
    (void)stiffness;
    for (int g = 0; g < t->count; g++)
        sum += t->chambers[g].gas->pressure * t->chambers[g].gas->volume;
    return 1e-15 * sum;
}

static bool undefined(hk_term *term, const void *x, char *text, size_t size)
{
    if (look_at_all(own(term), x) < INFINITY) return false;
    snprintf(text, size, "a surface with gas has no volume");
    return true;
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

const hk_term_ops hk_gas_term = {
    .name = "gas",
    .part = HK_PART_LOAD,
    .advice = "a \"pressure\"",
    .shape = &g_shape,
    .in_model = in_model,
    .create = create,
    .free = release,
    .follow = follow,
    .begin_step = begin_step,
    .place = place,
    .active = hk_stencil_active,
    .wanted = hk_stencil_active,
    .energy = whole_energy,
    .add_gradient = add_gradient,
    .add_diagonal = add_diagonal,
    .stencils = hk_stencil_stencils,
    .block_size = hk_stencil_block_size,
    .blocks = blocks,
    .visit_rank_one = visit_rank_one,
    .vertex = vertex,
    .vertex_energy = vertex_energy,
    .scales = scales,
    .undefined = undefined,
};
