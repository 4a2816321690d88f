// Projective dynamics (QuasiNewton "Projective Dynamics"; Bouaziz et al. 2014) and, on sheets, the
// fast mass-spring systems of Liu et al. 2013. Every energy is a distance from a set, E = Σ w/2
// ‖Gᵀx − p(x)‖², and an iteration
//
//   local    projects: p(x), which gives the gradient ∇ε = M/h² (x − y) + L x − J p
//   global   x ← x − A⁻¹ ∇ε with the constant matrix A = M/h² + L
//
// never increases ε, so that there is no step length to search for. A⁻¹ is applied by a factor made
// once, or approximately by Gauss–Seidel sweeps over colours (Fratarcangeli et al. 2016), by
// conjugate gradients, or by one Jacobi iteration with Chebyshev acceleration (Wang 2015), which is
// the method of Descent with the constant diagonal of A.
#include <math.h>
#include <stdio.h>

#include "linear/direct.h"
#include "linear/rows.h"
#include "linear/triangle.h"
#include "solver/descent.h"
#include "solver/walk.h"
#include "term/laplacian.h"

enum { OPTION_GLOBAL = HK_OPTION_AFTER_PRECISION, OPTION_INNER, OPTION_RHO };
enum { GLOBAL_DIRECT, GLOBAL_CHEBYSHEV, GLOBAL_GAUSS_SEIDEL, GLOBAL_CG };

static const char *const g_globals[] = {"direct", "chebyshev", "gauss_seidel", "cg", NULL};
static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_AUTO),
    HK_PRECISION_OPTION(HK_SINGLE),
    [OPTION_GLOBAL] = {.name = "global",
                       .help = "how the global step is solved: by a factor made once, one Jacobi "
                               "iteration with Chebyshev acceleration, Gauss-Seidel sweeps, or "
                               "conjugate gradients",
                       .words = g_globals},
    [OPTION_INNER] = {.name = "inner",
                      .help = "sweeps of gauss_seidel, or iterations of cg, in a global step",
                      .minimum = 1,
                      .maximum = 10000,
                      .fallback = 10},
    [OPTION_RHO] = {.name = "rho",
                    .help = "rate of the Chebyshev acceleration",
                    .maximum = 0.99999,
                    .fallback = 0.99},
};

typedef struct projective {
    hk_walk walk;
    hk_assembly *assembly;
    hk_pattern scalar;  // borrows the arrays of the assembly's pattern
    double *laplacian;  // [hk_pattern_size of scalar] L
    double *matrix;     // A
    double *diagonal;   // [vertex_count] of L, in the order of the model
    hk_direct *direct;
    hk_triangle *triangle;  // its factor for fast solves in time steps
    hk_rows *rows;
    void *descent;             // the solver that global = chebyshev is left to
    double *right, *solution;  // [3 free_count]
    hk_quadratic factored;     // of A; NAN: none yet
} projective;

static int global_of(const projective *s)
{
    return (int)s->walk.settings.option[OPTION_GLOBAL];
}

static void projective_free(void *solver)
{
    projective *s = solver;
    if (!s) return;
    if (s->descent) hk_descent.free(s->descent);
    hk_direct_free(s->direct);
    hk_triangle_free(s->triangle);
    hk_rows_free(s->rows);
    hk_assembly_free(s->assembly);
    hk_free(s->laplacian);
    hk_free(s->matrix);
    hk_free(s->diagonal);
    hk_free(s->right);
    hk_free(s->solution);
    hk_walk_release(&s->walk);
    hk_free(s);
}

// ---------------------------------------------------------------- what can be projected

static hk_status refuse(const hk_model *m, int tet, const char *why)
{
    int body = 0;
    while (body + 1 < m->body_count && m->bodies[body + 1].tet_start <= tet) body++;
    return hk_fail(HK_UNSUPPORTED,
                   "method projective: body %d (%s) has a material that is no distance from a set "
                   "(%s); it can do arap, projective and mass_spring without fibres or axes: use "
                   "one of these, or quasi_newton, which can do all materials",
                   body, m->bodies[body].name, why);
}

// The stiffness of every material's projective form.
static hk_status projective_weights(const hk_model *m, double *weight)
{
    for (int k = 0; k < m->material_count; k++) weight[k] = 0;
    for (int t = 0; t < m->tet_count; t++) {
        const hk_material *material = &m->materials[m->tet_material[t]];
        double w = hk_material_projective(material);
        if (!(w > 0)) return refuse(m, t, hk_law_describe(material->law)->name);
        if (material->strand_modulus > 0) return refuse(m, t, "fibres or axes");
        weight[m->tet_material[t]] = fmax(w, 2 * material->conversion.stiffness);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- creation

static hk_status fill_laplacian(projective *s)
{
    const hk_problem *p = s->walk.problem;
    double *weight = HK_ARRAY(double, p->model->material_count);
    if (!weight) return HK_NO_MEMORY;
    hk_status status = projective_weights(p->model, weight);
    if (status == HK_OK)
        hk_laplacian_fill(p->model, p->links, s->assembly, &s->scalar, weight, s->laplacian);
    hk_free(weight);
    for (int b = 0; b < s->scalar.count && status == HK_OK; b++)
        s->diagonal[s->assembly->vertex[b]] = s->laplacian[hk_pattern_column(&s->scalar, b, 0)];
    return status;
}

static hk_status create_global(projective *s)
{
    const hk_settings *o = &s->walk.settings;
    hk_problem *p = s->walk.problem;
    switch (global_of(s)) {
    case GLOBAL_DIRECT: return hk_direct_create(&s->scalar, &s->direct);
    case GLOBAL_CHEBYSHEV:
        return hk_descent_create_projective(p, o, o->option[OPTION_RHO], s->diagonal, &s->descent);
    default: return hk_rows_create(&s->scalar, p->threads, &s->rows);
    }
}

static hk_status allocate(projective *s, hk_problem *p, const hk_settings *settings)
{
    HK_TRY(hk_walk_init(&s->walk, p, settings));
    HK_TRY(hk_assembly_create(p->tets, p->links, p->held, &s->assembly));
    s->scalar = s->assembly->pattern;
    s->scalar.scalar = true;
    size_t size = (size_t)hk_pattern_size(&s->scalar);
    s->laplacian = HK_ARRAY(double, size);
    s->matrix = HK_ARRAY(double, size);
    s->diagonal = HK_ZEROS(double, p->vertex_count);
    s->right = HK_ARRAY(double, 3 * (size_t)p->free_count);
    s->solution = HK_ARRAY(double, 3 * (size_t)p->free_count);
    if (!s->laplacian || !s->matrix || !s->diagonal || !s->right || !s->solution)
        return HK_NO_MEMORY;
    HK_TRY(fill_laplacian(s));
    HK_TRY(hk_use_precision(p, settings));
    return p->free_count > 0 ? create_global(s) : HK_OK;
}

static hk_status projective_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    projective *s = HK_NEW(projective);
    if (!s) return HK_NO_MEMORY;
    s->factored.weight = NAN;
    hk_status status = allocate(s, problem, settings);
    if (status != HK_OK) {
        projective_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- the global step

// A again only when the time step or damping changed. Viscous damping has a Hessian of at most β/h
// L.
static hk_status prepare(projective *s)
{
    const hk_problem *p = s->walk.problem;
    if (hk_same_quadratic(s->factored, hk_problem_quadratic(p))) return HK_OK;
    double clock = hk_now();
    int64_t size = hk_pattern_size(&s->scalar);
    for (int64_t k = 0; k < size; k++) s->matrix[k] = (1 + p->viscous) * s->laplacian[k];
    for (int b = 0; b < s->scalar.count; b++)
        s->matrix[hk_pattern_column(&s->scalar, b, 0)] +=
            p->inertia[s->assembly->vertex[b]] + p->shift;
    if (s->rows) hk_rows_set(s->rows, &s->scalar, s->matrix);
    bool positive = true;
    if (s->direct) HK_TRY(hk_direct_factor(s->direct, s->matrix, &positive));
    if (s->direct && positive && p->weight > 0)
        HK_TRY(hk_triangle_update(s->direct, p->threads, &s->triangle));
    s->walk.phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    if (!positive) return hk_fail(HK_INTERNAL, "projective: the constant matrix is not positive");
    s->factored = hk_problem_quadratic(p);
    return HK_OK;
}

static hk_status solve_direct(projective *s, const double *gradient, double *direction)
{
    int count = s->scalar.count;
    // In a pose without inertia the system may be too badly conditioned for single precision.
    if (s->walk.problem->weight > 0) {
        hk_triangle_apply(s->triangle, s->assembly->vertex, gradient, direction);
        for (int64_t k = 0; k < 4 * (int64_t)s->walk.problem->vertex_count; k++)
            direction[k] = -direction[k];
        return HK_OK;
    }
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++)
            s->right[i * count + b] = -gradient[4 * (int64_t)s->assembly->vertex[b] + i];
    HK_TRY(hk_direct_solve(s->direct, s->right, s->right));
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++)
            direction[4 * (int64_t)s->assembly->vertex[b] + i] = s->right[i * count + b];
    return HK_OK;
}

static void solve_iteratively(projective *s, const double *gradient, double *direction)
{
    int count = s->scalar.count, inner = (int)s->walk.settings.option[OPTION_INNER];
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++)
            s->right[3 * b + i] = -gradient[4 * (int64_t)s->assembly->vertex[b] + i];
    if (global_of(s) == GLOBAL_CG) {
        hk_rows_cg(s->rows, s->right, inner, s->solution);
    } else {
        memset(s->solution, 0, 3 * sizeof(double) * (size_t)count);
        for (int n = 0; n < inner; n++) hk_rows_sweep(s->rows, s->right, s->solution);
    }
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++)
            direction[4 * (int64_t)s->assembly->vertex[b] + i] = s->solution[3 * b + i];
}

static hk_status choose(void *solver, hk_walk *w, const double *x, bool fresh)
{
    (void)x, (void)fresh;
    projective *s = solver;
    HK_TRY(prepare(s));
    double clock = hk_now();
    memset(w->direction, 0, 4 * sizeof(double) * (size_t)w->problem->vertex_count);
    if (s->direct)
        HK_TRY(solve_direct(s, w->gradient, w->direction));
    else if (s->rows)
        solve_iteratively(s, w->gradient, w->direction);
    w->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

static hk_status projective_minimise(void *solver, double *x, hk_solve_report *report)
{
    static const hk_direction rule = {choose, hk_full_length, NULL};
    projective *s = solver;
    if (s->descent) return hk_descent.minimise(s->descent, x, report);
    return hk_walk_down(&s->walk, &rule, solver, x, report);
}

static void projective_describe(const void *solver, char *text, size_t size)
{
    const projective *s = solver;
    const hk_settings *o = &s->walk.settings;
    snprintf(text, size, "projective: at most %d iterations, tolerance %g, %s precision, global %s",
             o->iterations, o->tolerance, hk_precisions[(int)o->option[HK_OPTION_PRECISION]],
             g_globals[global_of(s)]);
}

const hk_method hk_projective = {
    .name = "projective",
    .summary = "projective dynamics: local projections, a constant matrix; arap, projective, cloth",
    .iterations = 20,
    .pose_iterations = 5000,
    .tolerance = 1e-6,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = projective_create,
    .free = projective_free,
    .minimise = projective_minimise,
    .describe = projective_describe,
};
