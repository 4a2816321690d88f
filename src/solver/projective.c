// Projective dynamics (QuasiNewton "Projective Dynamics"; Bouaziz et al. 2014) and, on sheets, the
// fast mass-spring systems of Liu et al. 2013. Every energy is a distance from a set, E = Σ w/2
// ‖Gᵀx − p(x)‖², and an iteration
//
//   local    projects: p(x), which gives the gradient ∇ε = M/h² (x − y) + L x − J p
//   global   x ← x − A⁻¹ ∇ε with the constant matrix A = M/h² + L
//
// never increases ε, so that there is no step length to search for. A⁻¹ is applied by a factor made
// once, or approximately by a cycle of multigrid, by Gauss–Seidel sweeps over colours
// (Fratarcangeli et al. 2016), by conjugate gradients, or by one Jacobi iteration with Chebyshev
// acceleration (Wang 2015), which is the method of Descent with the constant diagonal of A.
#include <math.h>
#include <stdio.h>

#include "linear/rows.h"
#include "solver/constant_matrix.h"
#include "solver/contact_pcg.h"
#include "solver/descent.h"
#include "solver/line_search.h"

enum { OPTION_GLOBAL = HK_OPTION_AFTER_PRECISION, OPTION_INNER, OPTION_RHO, OPTION_REFINEMENT };
enum {
    GLOBAL_DIRECT,
    GLOBAL_CHEBYSHEV,
    GLOBAL_GAUSS_SEIDEL,
    GLOBAL_CG,
    GLOBAL_MULTIGRID,
    GLOBAL_AUTO
};

static const char *const g_globals[] = {"direct", "chebyshev", "gauss_seidel", "cg", "multigrid",
                                        "auto",   NULL};
static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_AUTO),
    HK_PRECISION_OPTION(HK_SINGLE),
    [OPTION_GLOBAL] = {.name = "global",
                       .help = "how the global step is solved: by a factor made once, one Jacobi "
                               "iteration with Chebyshev acceleration, Gauss-Seidel sweeps, "
                               "conjugate gradients, or a cycle of multigrid; auto: a factor, for "
                               "large bodies and on a GPU multigrid",
                       .words = g_globals,
                       .fallback = GLOBAL_AUTO},
    [OPTION_INNER] = {.name = "inner",
                      .help = "sweeps of gauss_seidel, or iterations of cg, in a global step",
                      .minimum = 1,
                      .maximum = 10000,
                      .fallback = 10},
    [OPTION_RHO] = {.name = "rho",
                    .help = "rate of the Chebyshev acceleration",
                    .maximum = 0.99999,
                    .fallback = 0.99},
    [OPTION_REFINEMENT] = HK_REFINEMENT_OPTION,
};

typedef struct projective {
    hk_line_search search;
    hk_constant_matrix matrix;
    double *diagonal;  // [vertex_count] of L, in the order of the model
    hk_rows *rows;
    void *descent;         // the solver that global = chebyshev is left to
    double *solution;      // [3 free_count]
    int64_t live_version;  // of the elements of a world in the diagonal
    hk_contact_pcg contacts;
} projective;

static int global_of(const projective *s)
{
    return (int)s->search.settings.option[OPTION_GLOBAL];
}

static void projective_free(void *solver)
{
    projective *s = solver;
    if (!s) return;
    if (s->descent) hk_descent.free(s->descent);
    hk_rows_free(s->rows);
    hk_constant_matrix_release(&s->matrix);
    hk_contact_pcg_release(&s->contacts);
    hk_free(s->diagonal);
    hk_free(s->solution);
    hk_search_release(&s->search);
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

// Lines of ropes are distances from a set, slack or not; angles are none.
static hk_status check_ropes(const hk_model *m)
{
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].line_count > 0 && m->bodies[b].sheet.form == HK_BENDING_HINGES)
            return hk_fail(HK_UNSUPPORTED,
                           "method projective: body %d (%s) is a rope that bends by angles, which "
                           "are no distance from a set: use \"bending_form\": \"cotangent\", or "
                           "quasi_newton, which can do all materials",
                           b, m->bodies[b].name);
    return HK_OK;
}

// Shells are distances from a set with the membrane arap (and a limit of stretches); the angle of a
// hinge is none.
static hk_status check_shells(const hk_model *m)
{
    for (int b = 0; b < m->body_count; b++) {
        const hk_sheet_material *s = &m->bodies[b].sheet;
        if (m->bodies[b].tet_count > 0 || !s->shell) continue;
        const char *why = s->membrane.law != HK_MEMBRANE_arap ? "another membrane than arap"
                          : s->membrane.strand_count > 0      ? "axes"
                          : s->form == HK_BENDING_HINGES && s->bending > 0 ? "hinges"
                                                                           : NULL;
        if (why)
            return hk_fail(HK_UNSUPPORTED,
                           "method projective: body %d (%s) is a shell that is no distance from a "
                           "set (%s); it can do the membrane arap with \"bending_form\": "
                           "\"cotangent\": use that, mass_spring, or quasi_newton, which can do "
                           "all materials",
                           b, m->bodies[b].name, why);
    }
    return HK_OK;
}

// The stiffness of every material's projective form.
static hk_status weights(const hk_settings *settings, const hk_model *m, double *weight)
{
    (void)settings;
    HK_TRY(check_shells(m));
    HK_TRY(check_ropes(m));
    for (int k = 0; k < m->material_count; k++) weight[k] = 0;
    for (int t = 0; t < m->tet_count; t++) {
        if (hk_model_is_rigid(m, t)) continue;
        const hk_material *material = &m->materials[m->tet_material[t]];
        double w = hk_material_projective(material);
        if (!(w > 0)) return refuse(m, t, hk_law_describe(material->law)->name);
        if (material->strand_modulus > 0) return refuse(m, t, "fibres or axes");
        weight[m->tet_material[t]] = fmax(w, 2 * material->blend_law.stiffness);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- creation

static void take_diagonal(projective *s)
{
    const hk_constant_matrix *m = &s->matrix;
    for (int b = 0; b < m->scalar.count; b++)
        s->diagonal[m->vertex[b]] = m->laplacian[hk_pattern_column(&m->scalar, b, 0)];
}

// 0: it is not solved with.
static int kind_of_matrix(const projective *s)
{
    int unknowns = hk_constant_matrix_unknowns(s->search.problem);
    switch (global_of(s)) {
    case GLOBAL_AUTO: return hk_constant_matrix_kind(HK_GLOBAL_AUTO, unknowns);
    case GLOBAL_MULTIGRID: return HK_MATRIX_MULTIGRID;
    case GLOBAL_DIRECT: return HK_MATRIX_FACTORED;
    default: return 0;
    }
}

static hk_status create_matrix(projective *s)
{
    hk_problem *p = s->search.problem;
    int flags = kind_of_matrix(s);
    if (flags == HK_MATRIX_FACTORED && s->search.settings.option[OPTION_REFINEMENT] > 0)
        flags |= HK_MATRIX_REFINED;
    double *weight = HK_ARRAY(double, p->model->material_count);
    if (!weight) return HK_NO_MEMORY;
    hk_status status = weights(&s->search.settings, p->model, weight);
    if (flags) flags |= HK_MATRIX_KEPT;
    if (status == HK_OK) status = hk_constant_matrix_init(&s->matrix, p, weight, flags);
    hk_free(weight);
    if (status == HK_OK) take_diagonal(s);
    return status;
}

static hk_status refuse_manifold(void)
{
    return hk_fail(HK_UNSUPPORTED, "method projective: with rigid parts and constraints \"global\" "
                                   "is \"auto\", \"direct\" or \"multigrid\"");
}

static hk_status refuse_axes(void)
{
    return hk_fail(HK_UNSUPPORTED, "method projective: with fixes by axis \"global\" is \"auto\", "
                                   "\"direct\" or \"multigrid\"");
}

static hk_status create_global(projective *s)
{
    const hk_settings *o = &s->search.settings;
    hk_problem *p = s->search.problem;
    switch (global_of(s)) {
    case GLOBAL_AUTO:
    case GLOBAL_MULTIGRID:
    case GLOBAL_DIRECT: return HK_OK;
    case GLOBAL_CHEBYSHEV:
        if (p->axes) return refuse_axes();
        if (p->manifold) return refuse_manifold();
        if (hk_terms_guarded(p->terms))
            return hk_fail(HK_UNSUPPORTED, "method projective: global \"chebyshev\" does not know "
                                           "of contact: use another, or method descent");
        return hk_descent_create_projective(p, o, o->option[OPTION_RHO], s->diagonal, &s->descent);
    default:
        if (p->axes) return refuse_axes();
        if (p->manifold) return refuse_manifold();
        return hk_rows_create(&s->matrix.scalar, p->threads, &s->rows);
    }
}

static hk_status allocate(projective *s, hk_problem *p, const hk_settings *settings)
{
    HK_TRY(hk_search_init(&s->search, p, settings));
    s->diagonal = HK_ZEROS(double, p->vertex_count);
    s->solution = HK_ARRAY(double, 3 * (size_t)p->free_count);
    if (!s->diagonal || !s->solution) return HK_NO_MEMORY;
    HK_TRY(create_matrix(s));
    HK_TRY(hk_contact_pcg_init(&s->contacts, p));
    return p->free_count > 0 ? create_global(s) : HK_OK;
}

static hk_status projective_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    projective *s = HK_NEW(projective);
    if (!s) return HK_NO_MEMORY;
    hk_status status = allocate(s, problem, settings);
    if (status != HK_OK) {
        projective_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- the global step

// The constant diagonal that chebyshev divides by: rows of live elements are bounded by their sums.
static void add_live(void *context, const hk_weights *w)
{
    projective *s = context;
    double sum = 0;
    for (int k = 0; k < w->count; k++) sum += fabs(w->factor[k]);
    for (int k = 0; k < w->count; k++)
        s->diagonal[w->vertex[k]] += w->scale * fabs(w->factor[k]) * sum;
}

static void take_live_diagonal(projective *s)
{
    const hk_terms *terms = s->search.problem->terms;
    if (!terms->live || terms->live->shape_version == s->live_version) return;
    take_diagonal(s);
    hk_terms_visit_weights(terms, add_live, s);
    s->live_version = terms->live->shape_version;
}

static hk_status prepare(projective *s)
{
    bool anew;
    HK_TRY(hk_constant_matrix_prepare(&s->matrix, "projective", s->search.phase_s, &anew));
    if (anew && s->rows) hk_rows_set(s->rows, &s->matrix.scalar, s->matrix.matrix);
    return HK_OK;
}

// Where something touches, sweeps take the place of conjugate gradients, which are no linear
// function of the right-hand side.
static void solve_iteratively(projective *s, double *q)
{
    const int32_t *vertex = s->matrix.vertex;
    double *right = s->matrix.right;
    int count = s->matrix.scalar.count, inner = (int)s->search.settings.option[OPTION_INNER];
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++) right[3 * b + i] = q[4 * (int64_t)vertex[b] + i];
    if (global_of(s) == GLOBAL_CG && s->contacts.count == 0) {
        hk_rows_cg(s->rows, right, inner, s->solution);
    } else {
        memset(s->solution, 0, 3 * sizeof(double) * (size_t)count);
        for (int n = 0; n < inner; n++) hk_rows_sweep(s->rows, right, s->solution);
    }
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++) q[4 * (int64_t)vertex[b] + i] = s->solution[3 * b + i];
}

// q := A⁻¹ q
static hk_status apply_inverse(void *solver, double *q)
{
    projective *s = solver;
    if (!s->rows) return hk_constant_matrix_apply(&s->matrix, q, q);
    solve_iteratively(s, q);
    return HK_OK;
}

static hk_status choose(void *solver, hk_line_search *ls, const double *x, bool fresh)
{
    (void)fresh;
    projective *s = solver;
    const hk_problem *p = ls->problem;
    HK_TRY(prepare(s));
    double clock = hk_now();
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        ls->direction[k] = p->held[k / 4] ? 0 : -ls->gradient[k];
    s->contacts.iterations = 0;
    HK_TRY(hk_contact_pcg_set(&s->contacts, x));
    HK_TRY(hk_contact_pcg_solve(&s->contacts, apply_inverse, s, ls->direction, NULL));
    ls->linear_iterations += s->contacts.iterations;
    ls->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

static hk_status projective_minimise(void *solver, double *x, hk_solve_report *report)
{
    static const hk_direction rule = {choose, hk_full_length, NULL};
    projective *s = solver;
    take_live_diagonal(s);
    if (s->descent) return hk_descent.minimise(s->descent, x, report);
    return hk_search_descend(&s->search, &rule, solver, x, report);
}

static void projective_remember(void *solver, hk_stream *stream)
{
    const projective *s = solver;
    if (!s->descent) return;
    hk_view_remember(hk_descent.view(s->descent), stream);
    hk_descent.remember(s->descent, stream);
}

static hk_constant_matrix *projective_matrix(void *solver)
{
    projective *s = solver;
    return s->matrix.solves ? &s->matrix : NULL;
}

static hk_view *projective_view(void *solver)
{
    return ((projective *)solver)->search.view;
}

static void projective_describe(const void *solver, char *text, size_t size)
{
    const projective *s = solver;
    const hk_settings *o = &s->search.settings;
    snprintf(text, size, "projective: at most %d iterations, tolerance %g, %s precision, global %s",
             o->iterations, o->tolerance, hk_precisions[(int)o->option[HK_OPTION_PRECISION]],
             g_globals[global_of(s)]);
}

const hk_method hk_projective = {
    .name = "projective",
    .takes_constraints = true,
    .guarded = true,
    .summary = "projective dynamics: local projections, a constant matrix; arap, projective, cloth",
    .iterations = 20,
    .pose_iterations = 5000,
    .tolerance = 1e-6,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = projective_create,
    .free = projective_free,
    .minimise = projective_minimise,
    .weights = weights,
    .matrix = projective_matrix,
    .view = projective_view,
    .remember = projective_remember,
    .gpu = &hk_gpu_projective,
    .describe = projective_describe,
};
