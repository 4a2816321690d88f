#include "design/precondition.h"

#include <math.h>

#include "design/tet_laplacian.h"
#include "design/warp.h"

// ---------------------------------------------------------------- creation

static hk_status make_vectors(hk_precondition *c)
{
    size_t n = (size_t)c->inverse->problem->vertex_count;
    c->right = HK_ARRAY(double, 4 * n);
    c->x0 = HK_ARRAY(double, 4 * n);
    c->between = HK_ARRAY(double, 4 * n);
    if (!c->right || !c->x0 || !c->between) return HK_NO_MEMORY;
    if (c->inverse->model->attachment_count == 0) return HK_OK;
    c->attached = HK_ARRAY(double, n);
    return c->attached ? HK_OK : HK_NO_MEMORY;
}

static hk_status build(hk_precondition *c)
{
    HK_TRY(make_vectors(c));
    HK_TRY(c->way->create(c));
    c->scalar = c->assembly->pattern;
    c->scalar.scalar = true;
    c->values = HK_ARRAY(double, hk_pattern_size(&c->scalar));
    c->entry = hk_tet_laplacian_entries(c->inverse->model, c->assembly->unknown, &c->scalar,
                                        c->inverse->problem->threads);
    return c->values && c->entry ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_precondition_create(hk_inverse *inverse, const hk_precondition_way *way,
                                 hk_precondition **precondition)
{
    hk_precondition *c = HK_NEW(hk_precondition);
    if (!c) return HK_NO_MEMORY;
    c->inverse = inverse;
    c->way = way;
    hk_status status = build(c);
    if (status != HK_OK) {
        hk_precondition_free(c);
        return status;
    }
    *precondition = c;
    return HK_OK;
}

void hk_precondition_free(hk_precondition *c)
{
    if (!c) return;
    hk_warp_free(c->warp);
    if (c->state) c->way->free(c);
    hk_free(c->values);
    hk_free(c->entry);
    hk_free(c->right);
    hk_free(c->attached);
    hk_free(c->x0);
    hk_free(c->between);
    hk_free(c);
}

// ---------------------------------------------------------------- numbers

// Where attachments hold a body, its vertices are held half here.
static void fill_laplacian(hk_precondition *c)
{
    const hk_model *m = c->inverse->model;
    hk_tet_laplacian_numbers(m, &c->scalar, c->entry, c->values);
    if (c->attached) memset(c->attached, 0, sizeof(double) * (size_t)m->vertex_count);
    for (int k = 0; k < m->attachment_count; k++) {
        int32_t place = m->place[m->attachments[k].vertex], u = c->assembly->unknown[place];
        if (u < 0) continue;
        double *diagonal = &c->values[hk_pattern_column(&c->scalar, u, 0)];
        c->attached[place] += *diagonal;
        *diagonal *= 2;
    }
}

static hk_status make_stiffness(hk_precondition *c, hk_made *made)
{
    HK_TRY(c->way->factor_stiffness(c, made));
    if (*made != HK_MADE) return HK_OK;
    memcpy(c->x0, c->inverse->x, 4 * sizeof(double) * (size_t)c->inverse->problem->vertex_count);
    c->has_stiffness = true;
    c->warped = false;
    return HK_OK;
}

static hk_status make_laplacian(hk_precondition *c, hk_made *made)
{
    *made = HK_MADE;
    if (c->has_laplacian) return HK_OK;
    fill_laplacian(c);
    HK_TRY(c->way->factor_laplacian(c, made));
    c->has_laplacian = *made == HK_MADE;
    return HK_OK;
}

void hk_precondition_forget(hk_precondition *c)
{
    c->has_laplacian = c->warped = false;
}

static bool is_of_present_shape(const hk_precondition *c)
{
    size_t bytes = 4 * sizeof(double) * (size_t)c->inverse->problem->vertex_count;
    return c->has_stiffness && memcmp(c->x0, c->inverse->x, bytes) == 0;
}

hk_status hk_precondition_factor(hk_precondition *c, hk_made *made)
{
    *made = HK_MADE;
    if (!is_of_present_shape(c)) HK_TRY(make_stiffness(c, made));
    return *made == HK_MADE ? make_laplacian(c, made) : HK_OK;
}

bool hk_precondition_can_warp(const hk_precondition *c)
{
    return c->way->can_warp && c->has_stiffness;
}

hk_status hk_precondition_warp(hk_precondition *c, hk_made *made)
{
    HK_TRY(make_laplacian(c, made));
    if (*made != HK_MADE || is_of_present_shape(c)) return HK_OK;
    if (!c->warp) HK_TRY(hk_warp_create(c, &c->warp));
    HK_TRY(hk_warp_turn(c->warp));
    c->warped = true;
    return HK_OK;
}

// ---------------------------------------------------------------- solves

static void clear_held(const hk_precondition *c, double *vector)
{
    const hk_problem *p = c->inverse->problem;
    for (int k = 0; k < p->vertex_count; k++)
        if (p->held[k]) memset(vector + 4 * (int64_t)k, 0, 4 * sizeof(double));
}

void hk_precondition_laplacian(hk_precondition *c, const double *from, double *to)
{
    c->way->solve_laplacian(c, from, to);
    clear_held(c, to);
}

hk_status hk_precondition_stiffness(hk_precondition *c, const double *from, double *to)
{
    if (!c->warped) {
        HK_TRY(c->way->solve_stiffness(c, from, to));
        clear_held(c, to);
        return HK_OK;
    }
    hk_warp_back(c->warp, from, c->between);
    HK_TRY(c->way->solve_stiffness(c, c->between, c->between));
    clear_held(c, c->between);
    hk_warp_forward(c->warp, c->between, to);
    return HK_OK;
}

double hk_precondition_step(hk_precondition *c, const double *X, const double *step, double length,
                            double most, double *moved)
{
    const hk_problem *p = c->inverse->problem;
    double largest = hk_rest_tets_bend(c->inverse->tets, X, step, length, c->right);
    if (!(largest <= most)) return largest;
    hk_precondition_laplacian(c, c->right, c->right);
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 3; i++)
            moved[i] = p->held[k] ? X[i] : X[i] + (length * step[i] + c->right[i]);
    return largest;
}
