#include "design/inverse.h"

#include <math.h>

#include "model/constraints.h"

#include "solver/held_components.h"

// ---------------------------------------------------------------- what can be solved

static bool is_all_held(const hk_model *m, const hk_body *body)
{
    for (int v = body->vertex_start; v < body->vertex_start + body->vertex_count; v++)
        if (m->hold[v] == HK_FREE) return false;
    return true;
}

static hk_status check_bodies(const hk_model *m)
{
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].tet_count == 0 && !is_all_held(m, &m->bodies[b]))
            return hk_fail(HK_UNSUPPORTED,
                           "body %d (%s) is a sheet: its springs leave the rest shape open, and "
                           "rest shapes are found for bodies of tets only",
                           b, m->bodies[b].name);
    return HK_OK;
}

static hk_status refuse_motion(const hk_model *m, int vertex, const char *what)
{
    int b = 0;
    while (b + 1 < m->body_count && m->bodies[b + 1].vertex_start <= vertex) b++;
    return hk_fail(HK_UNSUPPORTED,
                   "body %d (%s): vertex %d %s that moves, and a rest shape is found for things "
                   "that stand still; fix the vertex where it is in the loaded shape",
                   b, m->bodies[b].name, vertex - m->bodies[b].vertex_start, what);
}

hk_status hk_inverse_check_holds(const hk_model *m)
{
    if (m->conditions)
        return hk_fail(HK_UNSUPPORTED, "rest shapes are found for constant forces, not for "
                                       "pressures and functions of the time");
    HK_TRY(hk_model_need_free(m, "the search for a rest shape"));
    if (m->axes)
        return hk_fail(
            HK_UNSUPPORTED,
            "rest shapes are found for whole vertices that are fixed, not for fixes with "
            "\"axes\"");
    for (int v = 0; v < m->vertex_count; v++)
        if (m->hold[v] >= 0 && hk_motion_moves(&m->motions[m->hold[v]]))
            return refuse_motion(m, v, "is held by something");
    for (int k = 0; k < m->attachment_count; k++)
        if (hk_motion_moves(&m->motions[m->attachments[k].motion]))
            return refuse_motion(m, m->attachments[k].vertex, "is attached to something");
    return HK_OK;
}

// ---------------------------------------------------------------- creation

static void drop_user_terms(hk_model *m)
{
    for (int k = 0; k < m->user_term_count; k++) {
        hk_free(m->user_terms[k].name);
        hk_free(m->user_terms[k].vertices);
    }
    m->user_term_count = 0;
}

// The forces of terms that do not depend on the rest shape.
static void add_constant(hk_terms *terms, const double *x, double *workspace, double *force)
{
    int64_t size = 4 * (int64_t)terms->vertex_count;
    for (int k = 0; k < terms->count; k++) {
        hk_term *term = terms->term[k];
        if (term->ops->rest || term->ops->of_displacement) continue;
        if (term->ops->add_force) term->ops->add_force(term, force);
        if (!term->ops->add_gradient) continue;
        memset(workspace, 0, sizeof(double) * (size_t)size);
        term->ops->add_gradient(term, x, workspace, NULL);
        for (int64_t i = 0; i < size; i++) force[i] -= workspace[i];
    }
}

static hk_status find_constant(const hk_model *model, hk_inverse *p)
{
    size_t size = 4 * (size_t)model->vertex_count;
    hk_terms *terms = NULL;
    double *workspace = HK_ZEROS(double, size);
    hk_status status = workspace ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK && model->user_term_count > 0)
        status =
            hk_terms_create(model, HK_DOUBLE_PRECISION, p->problem->threads, NULL, NULL, &terms);
    if (status == HK_OK)
        add_constant(terms ? terms : p->problem->terms, p->x, workspace, p->constant);
    hk_terms_free(terms);
    hk_free(workspace);
    return status;
}

// ‖weight and constant forces‖ over free vertices, of the loaded shape's own masses.
static double load_scale(const hk_inverse *p)
{
    double sum = 0;
    for (int k = 0; k < p->problem->vertex_count; k++) {
        if (p->problem->held[k]) continue;
        for (int i = 0; i < 3; i++) {
            double f = p->constant[4 * (int64_t)k + i] + p->problem->mass[k] * p->model->gravity[i];
            sum += f * f;
        }
    }
    return sqrt(sum);
}

static hk_status take_loads(const hk_model *model, hk_inverse *p)
{
    memset(p->constant, 0, 4 * sizeof(double) * (size_t)model->vertex_count);
    HK_TRY(find_constant(model, p));
    hk_inverse_set_load(p, 1);
    p->scale = load_scale(p);
    if (!isfinite(p->scale))
        return hk_fail(HK_BAD_INPUT, "the loads on the shape are not finite numbers");
    return HK_OK;
}

static hk_status build(const hk_model *model, int threads, hk_inverse *p)
{
    HK_TRY(hk_model_copy(model, &p->model));
    drop_user_terms(p->model);
    HK_TRY(hk_problem_create(p->model, threads, NULL, &p->problem));
    p->x = p->problem->rest;
    p->constant = HK_ARRAY(double, 4 * (size_t)model->vertex_count);
    if (!p->constant) return HK_NO_MEMORY;
    HK_TRY(hk_rest_tets_create((hk_tet_term *)hk_terms_find(p->problem->terms, &hk_tets_term),
                               &p->tets));
    return take_loads(model, p);
}

hk_status hk_inverse_check(const hk_model *model)
{
    HK_TRY(check_bodies(model));
    return hk_inverse_check_holds(model);
}

hk_status hk_inverse_create(const hk_model *model, int threads, hk_inverse **inverse)
{
    HK_TRY(hk_model_need_linear(model, "the search for a rest shape"));
    HK_TRY(hk_inverse_check(model));
    hk_inverse *p = HK_NEW(hk_inverse);
    if (!p) return HK_NO_MEMORY;
    hk_status status = build(model, threads, p);
    if (status != HK_OK) {
        hk_inverse_free(p);
        return status;
    }
    *inverse = p;
    return HK_OK;
}

// Loads, and what follows from rest positions, from a model that has measured it already.
static hk_status take_measures(const hk_model *from, hk_model *to)
{
    memcpy(to->gravity, from->gravity, sizeof to->gravity);
    memcpy(to->load, from->load, 3 * sizeof(double) * (size_t)to->vertex_count);
    if (to->triangle_count > 0) return hk_model_set_rest(to, from->rest);
    memcpy(to->rest, from->rest, 3 * sizeof(double) * (size_t)to->vertex_count);
    memcpy(to->mass, from->mass, sizeof(double) * (size_t)to->vertex_count);
    memcpy(to->volume, from->volume, sizeof(double) * (size_t)to->tet_count);
    return HK_OK;
}

hk_status hk_inverse_set_shape(hk_inverse *p, const hk_model *model)
{
    HK_TRY(take_measures(model, p->model));
    HK_TRY(hk_problem_measure(p->problem));
    hk_rest_tets_measure(p->tets);
    return take_loads(model, p);
}

void hk_inverse_free(hk_inverse *p)
{
    if (!p) return;
    hk_rest_tets_free(p->tets);
    hk_problem_free(p->problem);
    hk_model_free(p->model);
    hk_free(p->constant);
    hk_free(p->X);
    hk_free(p);
}

// ---------------------------------------------------------------- f

void hk_inverse_set_load(hk_inverse *p, double fraction)
{
    p->load = fraction;
    for (int i = 0; i < 3; i++) p->tets->gravity[i] = fraction * p->model->gravity[i];
}

static void clear_held(const hk_inverse *p, double *vector)
{
    for (int k = 0; k < p->problem->vertex_count; k++)
        if (p->problem->held[k]) memset(vector + 4 * (int64_t)k, 0, 4 * sizeof(double));
}

bool hk_inverse_force(hk_inverse *p, const double *X, double *force, double *least_det)
{
    const hk_terms *terms = p->problem->terms;
    *least_det = hk_rest_tets_force(p->tets, X, force);
    if (!(*least_det > 0)) return false;
    for (int64_t i = 0; i < 4 * (int64_t)p->problem->vertex_count; i++)
        force[i] += p->load * p->constant[i];
    for (int k = 0; k < terms->count; k++) {
        const hk_rest_ops *rest = terms->term[k]->ops->rest;
        if (rest && rest->add_force) rest->add_force(terms->term[k], p->x, X, force);
    }
    clear_held(p, force);
    return isfinite(hk_inverse_norm(p, force));
}

double hk_inverse_norm(hk_inverse *p, const double *vector)
{
    return sqrt(hk_problem_dot(p->problem, vector, vector));
}

// ---------------------------------------------------------------- ∂f/∂X

hk_status hk_inverse_linearise(hk_inverse *p, const double *X, int components)
{
    size_t size = 4 * (size_t)p->problem->vertex_count;
    if (!p->X) p->X = HK_ARRAY(double, size);
    if (!p->X) return HK_NO_MEMORY;
    memcpy(p->X, X, size * sizeof(double));
    return hk_rest_tets_linearise(p->tets, X, components);
}

static void visit_others(const hk_inverse *p, hk_block_fn *visit, void *context)
{
    const hk_terms *terms = p->problem->terms;
    for (int k = 0; k < terms->count; k++) {
        const hk_rest_ops *rest = terms->term[k]->ops->rest;
        if (rest && rest->visit) rest->visit(terms->term[k], p->x, p->X, visit, context);
    }
}

typedef struct multiplier {
    const double *displacement;
    double *force;
} multiplier;

static void multiply_block(void *context, int32_t a, int32_t b, const double block[9])
{
    const multiplier *m = context;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m->force[4 * (int64_t)a + i] += block[3 * i + j] * m->displacement[4 * (int64_t)b + j];
}

void hk_inverse_product(hk_inverse *p, const double *displacement, double *force)
{
    hk_rest_tets_product(p->tets, displacement, force);
    multiplier m = {displacement, force};
    visit_others(p, multiply_block, &m);
    clear_held(p, force);
}

void hk_inverse_visit(const hk_inverse *p, hk_block_fn *visit, void *context)
{
    hk_rest_tets_visit(p->tets, visit, context);
    visit_others(p, visit, context);
}
