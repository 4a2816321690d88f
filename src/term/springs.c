// Springs between points of bodies, and the dampers beside them: laws of an element (stencil.h)
// whose values follow the time and the state of the world. With d = Σ c_k x_k − target and its
// length l,
//
//   E = w/2 (l − r)²,    of a slack one w/2 max(0, l − r)²,
//
// the energy of links (links.h), with their Hessian. A slack one is C¹ at l = r, where its Hessian
// jumps from 0 to w n nᵀ; both are positive. A damper c is a spring, too, of w = c/h towards the
// length at which the step begins,
//
//   D = c/(2h) (l(x) − l(from))²,
//
// whose force is −c l̇ along the spring: it turns with the bodies, and changes no momentum. Beside a
// slack spring it is at work in steps that begin while that is taut.
#include "model/springs.h"

#include <math.h>

#include "term/stencil.h"

enum { C, TARGET = 4, STIFFNESS = 8, REST, SLACK, MOST, DIMENSIONS = 3 };  // in value

// ---------------------------------------------------------------- the law

static double vector_of(const hk_element *e, const double *x, double d[3])
{
    for (int i = 0; i < DIMENSIONS; i++) {
        d[i] = e->tie ? -e->value[TARGET + i] : 0;
        for (int k = 0; k < e->count; k++) d[i] += e->value[C + k] * x[3 * k + i];
    }
    return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

static bool is_loose(const hk_element *e, double length)
{
    return e->value[SLACK] != 0 && length < e->value[REST];
}

static double energy(const hk_element *e, const double *x)
{
    double d[3], l = vector_of(e, x, d), past = l - e->value[REST];
    return is_loose(e, l) ? 0 : 0.5 * e->value[STIFFNESS] * past * past;
}

// Where d vanishes it has no direction: the mean over all of them is no force.
static void gradient(const hk_element *e, const double *x, double *g)
{
    double d[3], l = vector_of(e, x, d);
    double pull = is_loose(e, l) || l == 0 ? 0 : e->value[STIFFNESS] * (1 - e->value[REST] / l);
    for (int k = 0; k < e->count; k++)
        for (int i = 0; i < DIMENSIONS; i++) g[3 * k + i] = pull * e->value[C + k] * d[i];
}

// B = w n nᵀ + w (1 − r/l)(I − n nᵀ)
static void hessian(const hk_element *e, const double *x, double *h)
{
    double d[3], l = vector_of(e, x, d), w = e->value[STIFFNESS], across = w, B[3][3];
    if (is_loose(e, l)) w = across = 0;
    if (l > 0) across *= 1 - e->value[REST] / l;
    for (int i = 0; i < DIMENSIONS; i++)
        for (int j = 0; j < DIMENSIONS; j++)
            B[i][j] = (i == j ? across : 0) + (l > 0 ? (w - across) * (d[i] / l) * (d[j] / l) : 0);
    int n = DIMENSIONS * e->count;
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++)
            h[n * r + c] = e->value[C + r / 3] * e->value[C + c / 3] * B[r % 3][c % 3];
}

static void weights(const hk_element *e, double *w)
{
    for (int a = 0; a < e->count; a++)
        for (int b = 0; b < e->count; b++)
            w[e->count * a + b] = e->value[STIFFNESS] * e->value[C + a] * e->value[C + b];
}

static const hk_point_spring *spring_of(const hk_model *m, const hk_element *e)
{
    return &m->point_springs->list[e->number];
}

static hk_element element_of(const hk_point_spring *s, int number)
{
    hk_element e = {.count = s->count, .number = number, .tie = s->tied};
    for (int k = 0; k < s->count; k++) {
        e.vertex[k] = s->vertex[k];
        e.value[C + k] = s->coefficient[k];
    }
    for (int i = 0; i < DIMENSIONS && s->tied; i++) e.value[TARGET + i] = s->target[i];
    return e;
}

static bool in_model(const hk_model *m)
{
    return hk_model_point_spring_count(m) > 0;
}

static hk_status follow(hk_term *term, const hk_term *from)
{
    const hk_elements *others = &((const hk_stencil_term *)from)->elements;
    hk_elements *own = &((hk_stencil_term *)term)->elements;
    for (int k = 0; k < own->count; k++)
        memcpy(own->element[k].value, others->element[k].value, sizeof own->element[k].value);
    return HK_OK;
}

// Rest lengths are numbers of their own, whatever becomes of the rest positions.
static void measure(hk_term *term)
{
    (void)term;
}

// ---------------------------------------------------------------- springs

static hk_status spring_elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    for (int k = 0; k < hk_model_point_spring_count(m); k++) {
        const hk_point_spring *s = &m->point_springs->list[k];
        hk_element e = element_of(s, k);
        e.value[STIFFNESS] = s->stiffness;
        e.value[REST] = s->rest;
        e.value[SLACK] = s->slack;
        HK_TRY(hk_elements_add(to, &e));
    }
    return HK_OK;
}

static const hk_stencil_law g_springs = {.name = "springs",
                                         .elements = spring_elements,
                                         .energy = energy,
                                         .gradient = gradient,
                                         .hessian = hessian,
                                         .weights = weights};

static hk_status create_springs(const hk_terms *list, hk_term **term)
{
    return in_model(list->model) ? hk_stencil_create(list, &g_springs, term) : HK_OK;
}

static void place(hk_term *term, const hk_when *when)
{
    const hk_terms *list = term->list;
    hk_elements *elements = &((hk_stencil_term *)term)->elements;
    for (int k = 0; k < elements->count; k++) {
        hk_element *e = &elements->element[k];
        const hk_point_spring *s = spring_of(list->model, e);
        e->value[STIFFNESS] = hk_live_is_broken(list->live, e->number) ? 0 : s->stiffness;
        e->value[REST] = when->by_fraction ? hk_point_spring_rest_at(s, when->fraction)
                                           : hk_point_spring_rest(s, when->time);
    }
}

static void spring_stencils(const hk_model *m, hk_stencil_fn *visit, void *context)
{
    hk_stencil_model_stencils(&g_springs, m, visit, context);
}

static void spring_weights(const hk_model *m, const double *material_weight, hk_weight_fn *visit,
                           void *context)
{
    (void)material_weight;
    hk_stencil_model_weights(&g_springs, m, visit, context);
}

static const hk_term_shape g_springs_shape = {spring_stencils, spring_weights};

const hk_term_ops hk_springs_term = {.name = "springs between points",
                                     .part = HK_PART_ELASTIC,
                                     .shape = &g_springs_shape,
                                     .in_model = in_model,
                                     .create = create_springs,
                                     .free = hk_stencil_free,
                                     .follow = follow,
                                     .measure = measure,
                                     .place = place,
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
                                     .relax = &hk_stencil_relax};

// ---------------------------------------------------------------- dampers

static hk_status damper_elements(const hk_model *m, const hk_live *live, hk_elements *to)
{
    (void)live;
    for (int k = 0; k < hk_model_point_spring_count(m); k++) {
        const hk_point_spring *s = &m->point_springs->list[k];
        hk_element e = element_of(s, k);
        if (s->damping > 0) HK_TRY(hk_elements_add(to, &e));
    }
    return HK_OK;
}

static const hk_stencil_law g_dampers = {.name = "dampers of springs",
                                         .elements = damper_elements,
                                         .energy = energy,
                                         .gradient = gradient,
                                         .hessian = hessian,
                                         .weights = weights};

static bool has_dampers(const hk_model *m)
{
    for (int k = 0; k < hk_model_point_spring_count(m); k++)
        if (m->point_springs->list[k].damping > 0) return true;
    return false;
}

static hk_status create_dampers(const hk_terms *list, hk_term **term)
{
    return has_dampers(list->model) ? hk_stencil_create(list, &g_dampers, term) : HK_OK;
}

static double length_of(const hk_terms *list, const hk_point_spring *s, const double *x)
{
    return hk_point_spring_length(s, x, 4, list->model->place);
}

static hk_status begin_step(hk_term *term, const hk_step_begin *step)
{
    const hk_terms *list = term->list;
    hk_elements *elements = &((hk_stencil_term *)term)->elements;
    for (int k = 0; k < elements->count; k++) {
        hk_element *e = &elements->element[k];
        const hk_point_spring *s = spring_of(list->model, e);
        e->value[STIFFNESS] = 0;
        e->value[MOST] = step->pose ? 0 : s->damping / step->h;
        if (step->pose || hk_live_is_broken(list->live, e->number)) continue;
        if (s->slack && length_of(list, s, step->state) < hk_point_spring_rest(s, step->time))
            continue;
        e->value[STIFFNESS] = e->value[MOST];
        e->value[REST] = length_of(list, s, step->from);
    }
    return HK_OK;
}

// Whether any is at work.
static bool active(const hk_term *term)
{
    const hk_elements *elements = &((const hk_stencil_term *)term)->elements;
    for (int k = 0; k < elements->count; k++)
        if (elements->element[k].value[STIFFNESS] > 0) return true;
    return false;
}

// They are beside springs, whose constant matrix is raised by as much as they are stiffer; the same
// in every step, whichever are at work.
static double stiffening(const hk_term *term)
{
    const hk_elements *elements = &((const hk_stencil_term *)term)->elements;
    double most = 0;
    for (int k = 0; k < elements->count; k++) {
        const hk_element *e = &elements->element[k];
        most = fmax(most, e->value[MOST] / spring_of(term->list->model, e)->stiffness);
    }
    return most;
}

static void damper_blocks(hk_term *term, const double *x, double keep, hk_blocks_for what,
                          double *values)
{
    if (what == HK_FOR_DAMPING)
        memset(values, 0, sizeof(double) * (size_t)hk_stencil_block_size(term));
    else
        hk_stencil_blocks(term, x, keep, what, values);
}

static double no_scales(const hk_term *term, double *stiffness)
{
    (void)term, (void)stiffness;
    return 0;
}

const hk_term_ops hk_spring_dampers_term = {.name = "dampers of springs",
                                            .part = HK_PART_DAMPING,
                                            .advice = "set the \"damping\" of springs to 0",
                                            .in_model = has_dampers,
                                            .create = create_dampers,
                                            .free = hk_stencil_free,
                                            .follow = follow,
                                            .measure = measure,
                                            .begin_step = begin_step,
                                            .active = active,
                                            .energy = hk_stencil_energy,
                                            .add_gradient = hk_stencil_add_gradient,
                                            .add_diagonal = hk_stencil_add_diagonal,
                                            .stencils = hk_stencil_stencils,
                                            .block_size = hk_stencil_block_size,
                                            .blocks = damper_blocks,
                                            .stiffening = stiffening,
                                            .vertex = hk_stencil_vertex,
                                            .vertex_energy = hk_stencil_vertex_energy,
                                            .scales = no_scales};
