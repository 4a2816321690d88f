// How the forces at a pose depend on the parameters, and from that how the pose does.
//
// The gradient of the energy has the part Σ V P(F) ∇N from the tets and − m g from their weight.
// Masses are linear in the densities. Stresses are linear in the moduli of most laws, but not of
// all, and rational in Poisson's ratio: they are differentiated by central differences of sixth
// order, which are exact, but for rounding, for laws that are linear.
#include <math.h>

#include "design/fit.h"
#include "term/tet.h"

// Of θ for Poisson's ratio, relative for the others: truncation is about h⁶/140.
#define STEP 0.02
enum { REACH = 3 };
static const double g_difference[REACH] = {45.0 / 60, -9.0 / 60, 1.0 / 60};

// ---------------------------------------------------------------- colours

static bool share_material(const hk_fit_variable *a, const hk_fit_variable *b)
{
    for (int i = 0; i < a->material_count; i++)
        for (int j = 0; j < b->material_count; j++)
            if (a->materials[i] == b->materials[j]) return true;
    return false;
}

static bool fits_colour(const hk_fit *fit, int variable, int colour)
{
    for (int k = 0; k < variable; k++)
        if (fit->variables[k].colour == colour &&
            share_material(&fit->variables[k], &fit->variables[variable]))
            return false;
    return true;
}

hk_status hk_fit_color(hk_fit *fit)
{
    fit->colour_count = 0;
    for (int k = 0; k < fit->variable_count; k++) {
        hk_fit_variable *v = &fit->variables[k];
        v->colour = -1;
        for (int colour = 0; !v->density && v->colour < 0; colour++)
            if (fits_colour(fit, k, colour)) v->colour = colour;
        fit->colour_count = hk_max_int(fit->colour_count, v->colour + 1);
    }
    size_t size = (size_t)fit->colour_count * (size_t)fit->material_count;
    fit->variable_of = HK_ARRAY(int32_t, size);
    if (!fit->variable_of) return HK_NO_MEMORY;
    for (size_t k = 0; k < size; k++) fit->variable_of[k] = -1;
    for (int k = 0; k < fit->variable_count; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        for (int i = 0; i < v->material_count && v->colour >= 0; i++)
            fit->variable_of[v->colour * fit->material_count + v->materials[i]] = k;
    }
    return HK_OK;
}

// ---------------------------------------------------------------- stresses

static hk_tet_term *tets_of(const hk_fit *fit)
{
    return (hk_tet_term *)hk_terms_find(fit->equilibrium->problem->terms, &hk_tets_term);
}

// The value that is `steps` steps away from θ.
static double value_near(const hk_fit_variable *v, double theta, int steps)
{
    if (v->map == HK_FIT_POISSON) return hk_fit_value(v, theta + steps * STEP);
    return hk_fit_value(v, theta) + steps * STEP * hk_fit_rate(v, theta);
}

static hk_status add_stress(hk_fit *fit, int colour, int steps, double factor, double *slope)
{
    hk_tet_term *tets = tets_of(fit);
    for (int k = 0; k < fit->variable_count; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        if (v->colour != colour) continue;
        hk_status status = hk_fit_put(fit, v, value_near(v, fit->theta[k], steps));
        if (status != HK_OK) return hk_fail_within(status, "near %s", v->name);
    }
    hk_tet_take_materials(tets);
    hk_tet_stress(tets, fit->equilibrium->x, fit->P, fit->F);
    int64_t size = 9 * (int64_t)tets->tet_count;
#pragma omp parallel for schedule(static) num_threads(tets->threads)
    for (int64_t i = 0; i < size; i++) slope[i] += factor * fit->P[i];
    return HK_OK;
}

static hk_status restore(hk_fit *fit, int colour)
{
    for (int k = 0; k < fit->variable_count; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        if (v->colour == colour) HK_TRY(hk_fit_put(fit, v, hk_fit_value(v, fit->theta[k])));
    }
    hk_tet_take_materials(tets_of(fit));
    return HK_OK;
}

static hk_status find_slopes(hk_fit *fit)
{
    size_t size = 9 * (size_t)fit->equilibrium->model->tet_count;
    memset(fit->slope, 0, sizeof(double) * size * (size_t)fit->colour_count);
    for (int colour = 0; colour < fit->colour_count; colour++) {
        double *slope = fit->slope + size * (size_t)colour;
        hk_status status = HK_OK;
        for (int steps = 1; steps <= REACH && status == HK_OK; steps++) {
            double factor = g_difference[steps - 1] / STEP;
            status = add_stress(fit, colour, steps, factor, slope);
            if (status == HK_OK) status = add_stress(fit, colour, -steps, -factor, slope);
        }
        hk_status restored = restore(fit, colour);
        if (status != HK_OK) return status;
        if (restored != HK_OK) return restored;
    }
    return HK_OK;
}

hk_status hk_fit_linearise(hk_fit *fit, bool *stable)
{
    HK_TRY(hk_equilibrium_linearise(fit->equilibrium, stable));
    return *stable ? find_slopes(fit) : HK_OK;
}

// ---------------------------------------------------------------- forces

// ∂g/∂θ of the corners of a tet for a colour, or for densities (−1).
static void tet_slope(const hk_fit *fit, int tet, int colour, double slope[4][3])
{
    const hk_model *m = fit->equilibrium->model;
    double inverse[9];
    if (colour < 0) {
        double quarter = m->materials[m->tet_material[tet]].density * m->volume[tet] / 4;
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) slope[a][i] = -quarter * m->gravity[i];
        return;
    }
    const double *P = fit->slope + 9 * ((int64_t)colour * m->tet_count + tet);
    hk_rest_inverse(m, tet, inverse);
    for (int i = 0; i < 3; i++) {
        slope[0][i] = 0;
        for (int a = 0; a < 3; a++) {
            double sum = 0;
            for (int j = 0; j < 3; j++) sum += P[3 * i + j] * inverse[3 * a + j];
            slope[a + 1][i] = m->volume[tet] * sum;
            slope[0][i] -= slope[a + 1][i];
        }
    }
}

static bool has_material(const hk_fit_variable *v, int material)
{
    for (int k = 0; k < v->material_count; k++)
        if (v->materials[k] == material) return true;
    return false;
}

// ∂g/∂θ of one variable.
static void force_slope(const hk_fit *fit, const hk_fit_variable *v, double *force)
{
    const hk_model *m = fit->equilibrium->model;
    memset(force, 0, 4 * sizeof(double) * (size_t)m->vertex_count);
    for (int t = 0; t < m->tet_count; t++) {
        if (!has_material(v, m->tet_material[t])) continue;
        double slope[4][3];
        tet_slope(fit, t, v->colour, slope);
        for (int a = 0; a < 4; a++) {
            double *to = force + 4 * (int64_t)m->place[m->tets[4 * (int64_t)t + a]];
            for (int i = 0; i < 3; i++) to[i] += slope[a][i];
        }
    }
}

hk_status hk_fit_find_sensitivity(hk_fit *fit)
{
    size_t size = 4 * (size_t)fit->equilibrium->model->vertex_count;
    for (int k = 0; k < fit->variable_count; k++) {
        force_slope(fit, &fit->variables[k], fit->force);
        HK_TRY(hk_equilibrium_respond(fit->equilibrium, fit->force,
                                      fit->sensitivity + size * (size_t)k));
    }
    return HK_OK;
}

// λᵀ ∂g/∂θ of a tet for a colour.
static double tet_work(const hk_fit *fit, int tet, int colour, const double *lambda)
{
    const hk_model *m = fit->equilibrium->model;
    double slope[4][3], work = 0;
    tet_slope(fit, tet, colour, slope);
    for (int a = 0; a < 4; a++) {
        const double *l = lambda + 4 * (int64_t)m->place[m->tets[4 * (int64_t)tet + a]];
        for (int i = 0; i < 3; i++) work += l[i] * slope[a][i];
    }
    return work;
}

hk_status hk_fit_find_adjoint(hk_fit *fit, const double *pull, double *gradient)
{
    const hk_model *m = fit->equilibrium->model;
    double *lambda = fit->force;
    HK_TRY(hk_equilibrium_respond(fit->equilibrium, pull, lambda));
    for (int k = 0; k < fit->variable_count; k++) gradient[k] = 0;
    for (int colour = 0; colour < fit->colour_count; colour++)
        for (int t = 0; t < m->tet_count; t++) {
            int k = fit->variable_of[colour * fit->material_count + m->tet_material[t]];
            if (k >= 0) gradient[k] += tet_work(fit, t, colour, lambda);
        }
    for (int k = 0; k < fit->variable_count; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        for (int t = 0; t < m->tet_count && v->density; t++)
            if (has_material(v, m->tet_material[t])) gradient[k] += tet_work(fit, t, -1, lambda);
    }
    return HK_OK;
}
