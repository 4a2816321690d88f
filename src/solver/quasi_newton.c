// QuasiNewton: descent along −A⁻¹ g with a matrix that does not change, A = M/h² + L, factored
// once, and L-BFGS on top of it. L (with viscous damping (1 + β/h) L) is a Laplacian with one
// unknown a vertex,
//
//   L_ab = Σ_tets w V ∇φ_a·∇φ_b + Σ_links w c_a c_b,
//
// whose weights for tets are the slopes of the material's stress over the stretches that are
// expected (QuasiNewton "Supporting More General Materials"): it is the Hessian of projective
// dynamics, and a fair stand-in for that of any material. Beside it, as the document compares:
// L-BFGS started from the Hessian of the rest pose, from the current Hessian, and from the scaled
// identity.
#include <math.h>
#include <stdio.h>

#include "solver/constant_matrix.h"
#include "solver/contact_pcg.h"
#include "solver/curvature.h"
#include "solver/jacobi.h"
#include "solver/line_search.h"
#include "solver/spin_correction.h"

enum {
    OPTION_WINDOW = HK_OPTION_AFTER_PRECISION,
    OPTION_INITIAL,
    OPTION_LOW,
    OPTION_HIGH,
    OPTION_REFINEMENT,
    OPTION_GLOBAL,
    OPTION_INNER,
    OPTION_TURNING
};
enum { TURN_EVERY = 16 };  // iterations for which rotations are kept
enum { INITIAL_LAPLACIAN, INITIAL_REST, INITIAL_UPDATING, INITIAL_IDENTITY };

static const char *const g_initial[] = {"laplacian", "rest_hessian", "updating_hessian",
                                        "scaled_identity", NULL};
static const hk_option_info g_options[] = {
    HK_START_OPTIONS(HK_START_OPTIMISED),
    HK_PRECISION_OPTION(HK_DOUBLE_PRECISION),
    [OPTION_WINDOW] = {.name = "window",
                       .help = "steps that L-BFGS remembers; 0: none",
                       .maximum = HK_LARGEST_WINDOW,
                       .fallback = 5},
    [OPTION_INITIAL] = {.name = "initial",
                        .help = "the matrix that L-BFGS starts from",
                        .words = g_initial},
    [OPTION_LOW] = {.name = "stretch_low",
                    .help = "smallest stretch that is expected: the weights are the slope of the "
                            "stress from here",
                    .minimum = 0.05,
                    .maximum = 0.99,
                    .fallback = 0.8},
    [OPTION_HIGH] = {.name = "stretch_high",
                     .help = "to this largest stretch that is expected",
                     .minimum = 1.01,
                     .maximum = 10,
                     .fallback = 1.2},
    [OPTION_REFINEMENT] = HK_REFINEMENT_OPTION,
    [OPTION_GLOBAL] = {.name = "global",
                       .help =
                           "how the Laplacian is solved with: by a factor made once (on a CPU), "
                           "Jacobi iterations with Chebyshev acceleration (on a GPU), or a "
                           "cycle of multigrid; auto: a factor, for large bodies and on a GPU "
                           "multigrid",
                       .words = hk_globals},
    [OPTION_INNER] = {.name = "inner",
                      .help = "Chebyshev iterations of a solve on a GPU; 0: as many as the matrix "
                              "needs, at most 48",
                      .maximum = 1000},
    [OPTION_TURNING] = {.name = "turning",
                        .help = "clusters of a body whose turning is taken out of the Laplacian; "
                                "0: none",
                        .maximum = 64,
                        .fallback = 8},
};

typedef struct quasi_newton {
    hk_line_search search;
    hk_curvature curvature;
    hk_jacobi uniform;  // for the first step from the identity
    hk_constant_matrix laplacian;
    hk_spin_correction spins;  // of that
    int since_turn;            // iterations since its rotations were found
    hk_contact_pcg contacts;   // beside the matrix
    double *moving;            // [vertex_count][4] N, their part of the gradient; NULL: none
    // For the starts from a Hessian:
    hk_assembly *assembly;
    hk_direct *direct;
    double *blocks;
    double *matrix;
    double *weight;         // [vertex_count] M/h², air and shift
    double *right;          // [3 free_count]
    hk_quadratic factored;  // those of the factor; NAN: none yet
    int64_t live_version;   // of the elements of a world in it
} quasi_newton;

static int initial_of(const quasi_newton *s)
{
    return (int)s->search.settings.option[OPTION_INITIAL];
}

// False: it starts from the identity, or all vertices are held.
static bool has_matrix(const quasi_newton *s)
{
    return s->direct || s->laplacian.solves;
}

static void quasi_newton_free(void *solver)
{
    quasi_newton *s = solver;
    if (!s) return;
    hk_search_release(&s->search);
    hk_curvature_release(&s->curvature);
    hk_jacobi_release(&s->uniform);
    hk_spin_correction_release(&s->spins);
    hk_constant_matrix_release(&s->laplacian);
    hk_contact_pcg_release(&s->contacts);
    hk_direct_free(s->direct);
    hk_assembly_free(s->assembly);
    hk_free(s->matrix);
    hk_free(s->blocks);
    hk_free(s->weight);
    hk_free(s->right);
    hk_free(s->moving);
    hk_free(s);
}

// ---------------------------------------------------------------- the Laplacian

static hk_status weights(const hk_settings *settings, const hk_model *m, double *weight)
{
    const double *option = settings->option;
    for (int k = 0; k < m->material_count; k++)
        weight[k] = hk_material_slope(&m->materials[k], option[OPTION_LOW], option[OPTION_HIGH]) +
                    m->materials[k].strand_modulus;
    return HK_OK;
}

static hk_status create_laplacian(quasi_newton *s)
{
    hk_problem *p = s->search.problem;
    const double *option = s->search.settings.option;
    int flags = hk_constant_matrix_kind((int)option[OPTION_GLOBAL], hk_constant_matrix_unknowns(p));
    if (flags == HK_MATRIX_FACTORED && option[OPTION_REFINEMENT] > 0) flags |= HK_MATRIX_REFINED;
    double *slope = HK_ARRAY(double, p->model->material_count);
    if (!slope) return HK_NO_MEMORY;
    hk_status status = weights(&s->search.settings, p->model, slope);
    flags |= HK_MATRIX_KEPT;
    if (status == HK_OK) status = hk_constant_matrix_init(&s->laplacian, p, slope, flags);
    if (status == HK_OK)
        status = hk_spin_correction_init(&s->spins, &s->laplacian, slope,
                                         p->axes || p->manifold ? 0 : (int)option[OPTION_TURNING]);
    hk_free(slope);
    return status;
}

// ---------------------------------------------------------------- creation

static void release_matrix(quasi_newton *s)
{
    hk_direct_free(s->direct);
    hk_assembly_free(s->assembly);
    hk_free(s->matrix);
    s->direct = NULL;
    s->assembly = NULL;
    s->matrix = NULL;
}

// With places for `joined`, or for the elements of a world that there are now.
static hk_status create_matrix(quasi_newton *s, const hk_joined *joined)
{
    const hk_problem *p = s->search.problem;
    HK_TRY(hk_assembly_create_joined(p->terms, p->held, true, joined, &s->assembly));
    s->matrix = HK_ARRAY(double, hk_pattern_size(&s->assembly->pattern));
    if (!s->matrix) return HK_NO_MEMORY;
    return hk_direct_create(&s->assembly->pattern, &s->direct);
}

static hk_status allocate_hessian(quasi_newton *s)
{
    const hk_problem *p = s->search.problem;
    s->weight = HK_ARRAY(double, p->vertex_count);
    s->right = HK_ARRAY(double, 3 * (size_t)p->free_count);
    s->blocks = HK_ARRAY(double, hk_terms_block_size(p->terms));
    if (!s->weight || !s->right || !s->blocks) return HK_NO_MEMORY;
    return create_matrix(s, NULL);
}

// Elements of the world may join what no element joined before. Without a matrix, after a failure,
// L-BFGS begins with the identity.
static hk_status cover_live(quasi_newton *s)
{
    if (hk_assembly_has_live(s->assembly, s->search.problem->terms)) return HK_OK;
    release_matrix(s);
    hk_status status = create_matrix(s, NULL);
    if (status != HK_OK) release_matrix(s);
    return status;
}

static hk_status allocate(quasi_newton *s, hk_problem *p, const hk_settings *settings)
{
    HK_TRY(hk_search_init(&s->search, p, settings));
    HK_TRY(hk_curvature_init(&s->curvature, p, (int)settings->option[OPTION_WINDOW]));
    HK_TRY(hk_jacobi_init(&s->uniform, p));
    HK_TRY(hk_contact_pcg_init(&s->contacts, p));
    if (hk_terms_guarded(p->terms)) {
        s->moving = HK_ARRAY(double, 4 * (size_t)p->vertex_count);
        if (!s->moving) return HK_NO_MEMORY;
    }
    bool by_hessian = initial_of(s) == INITIAL_REST || initial_of(s) == INITIAL_UPDATING;
    if (p->manifold && by_hessian)
        return hk_fail(HK_UNSUPPORTED,
                       "method quasi_newton: with rigid parts and constraints \"initial\" is "
                       "\"laplacian\" or \"scaled_identity\"");
    if (initial_of(s) == INITIAL_IDENTITY || p->free_count == 0) return HK_OK;
    return initial_of(s) == INITIAL_LAPLACIAN ? create_laplacian(s) : allocate_hessian(s);
}

static hk_status quasi_newton_create(hk_problem *problem, const hk_settings *settings,
                                     void **solver)
{
    quasi_newton *s = HK_NEW(quasi_newton);
    if (!s) return HK_NO_MEMORY;
    s->factored.weight = NAN;
    hk_status status = allocate(s, problem, settings);
    if (status != HK_OK) {
        quasi_newton_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- the matrix

// With the viscosity of a step from rest.
static void rest_blocks(quasi_newton *s)
{
    hk_problem *p = s->search.problem;
    int64_t size = hk_terms_block_size(p->terms);
    hk_terms_blocks(p->terms, p->rest, 0, HK_FOR_HESSIAN, s->blocks);
    for (int64_t k = 0; k < size; k++) s->blocks[k] *= 1 + p->stiffening;
}

static void fill_matrix(quasi_newton *s, const double *x)
{
    hk_problem *p = s->search.problem;
    for (int k = 0; k < p->vertex_count; k++) s->weight[k] = p->inertia[k] + p->shift;
    // The projected Hessian is always fit to start from.
    if (initial_of(s) == INITIAL_UPDATING)
        hk_problem_blocks(p, x, 0, s->blocks);
    else
        rest_blocks(s);
    hk_assemble(s->assembly, s->blocks, s->weight, s->matrix);
    hk_assemble_live(s->assembly, p->terms, x, 0, s->matrix);
    hk_assembly_hold_axes(s->assembly, p->axes, s->matrix);
    s->live_version = p->terms->live ? p->terms->live->shape_version : 0;
}

static hk_status prepare_laplacian(quasi_newton *s, const double *x, bool fresh)
{
    bool anew;
    HK_TRY(hk_constant_matrix_prepare(&s->laplacian, "quasi_newton", s->search.phase_s, NULL));
    double clock = hk_now();
    HK_TRY(hk_spin_correction_prepare(&s->spins, &anew));
    if (anew) s->search.phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    if (fresh || ++s->since_turn == TURN_EVERY) {
        hk_spin_correction_turn(&s->spins, x);
        s->since_turn = 0;
    }
    s->search.phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

// Again only when the time step or damping changed, or at every begin for the current Hessian.
static hk_status refactor(quasi_newton *s, const double *x, bool fresh)
{
    if (s->laplacian.solves) return prepare_laplacian(s, x, fresh);
    const hk_live *live = s->search.problem->terms->live;
    bool same = hk_same_quadratic(s->factored, hk_problem_quadratic(s->search.problem)) &&
                s->live_version == (live ? live->shape_version : 0);
    if (!s->direct || (same && !(fresh && initial_of(s) == INITIAL_UPDATING))) return HK_OK;
    double clock = hk_now();
    HK_TRY(cover_live(s));
    fill_matrix(s, x);
    s->search.phase_s[HK_PHASE_ASSEMBLY] += hk_lap(&clock);
    // Nothing resists a flat sheet across its plane: its Hessian may be singular at rest. What is
    // added to the diagonal then is of the size of what springs have across when the sheet is under
    // tension.
    HK_TRY(hk_direct_factor_shifted(s->direct, &s->assembly->pattern, s->matrix, "quasi_newton"));
    s->factored = hk_problem_quadratic(s->search.problem);
    s->search.phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    return HK_OK;
}

static hk_status apply_hessian(quasi_newton *s, double *q)
{
    const hk_assembly *a = s->assembly;
    int count = a->pattern.count;
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++) s->right[3 * b + i] = q[4 * (int64_t)a->vertex[b] + i];
    HK_TRY(hk_direct_solve(s->direct, s->right, s->right));
    for (int b = 0; b < count; b++)
        for (int i = 0; i < 3; i++) q[4 * (int64_t)a->vertex[b] + i] = s->right[3 * b + i];
    hk_problem_mask(s->search.problem, q);
    return HK_OK;
}

static hk_status apply_laplacian(quasi_newton *s, double *q)
{
    hk_spin_correction_gather(&s->spins, q);
    HK_TRY(hk_constant_matrix_apply(&s->laplacian, q, q));
    hk_spin_correction_add(&s->spins, q);
    return HK_OK;
}

static hk_status apply_initial(quasi_newton *s, double *q)
{
    hk_problem *p = s->search.problem;
    if (s->direct) return apply_hessian(s, q);
    if (s->laplacian.solves) return apply_laplacian(s, q);
    double scale = hk_curvature_scale(&s->curvature, p);
    if (scale == 0) hk_jacobi_apply(&s->uniform, p, q, q);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count && scale > 0; k++) q[k] *= scale;
    return HK_OK;
}

// q := B⁻¹ q, B what L-BFGS has learnt of the bodies, beginning with the matrix.
static hk_status apply_inverse(void *solver, double *q)
{
    quasi_newton *s = solver;
    hk_problem *p = s->search.problem;
    hk_curvature_first(&s->curvature, p, q);
    HK_TRY(apply_initial(s, q));
    hk_curvature_second(&s->curvature, p, q);
    return HK_OK;
}

// ---------------------------------------------------------------- the descent loop

// Without a matrix L-BFGS is all that there is, and learns of contacts, too.
static bool knows_contacts(const quasi_newton *s)
{
    return s->moving && has_matrix(s);
}

static hk_status take_contacts(quasi_newton *s, const double *x)
{
    hk_problem *p = s->search.problem;
    memset(s->moving, 0, 4 * sizeof(double) * (size_t)p->vertex_count);
    hk_terms_add_moving_gradient(p->terms, x, s->moving);
    return hk_contact_pcg_set(&s->contacts, x);
}

static hk_status choose(void *solver, hk_line_search *ls, const double *x, bool fresh)
{
    quasi_newton *s = solver;
    hk_problem *p = ls->problem;
    if (fresh) hk_curvature_forget(&s->curvature);
    HK_TRY(refactor(s, x, fresh));
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        ls->direction[k] = p->held[k / 4] ? 0 : -ls->gradient[k];
    double clock = hk_now();
    if (!has_matrix(s) && s->curvature.count == 0) hk_jacobi_uniform(&s->uniform, p, x);
    if (knows_contacts(s)) HK_TRY(take_contacts(s, x));
    s->contacts.iterations = 0;
    HK_TRY(hk_contact_pcg_solve(&s->contacts, apply_inverse, s, ls->direction, NULL));
    ls->linear_iterations += s->contacts.iterations;
    ls->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    return HK_OK;
}

// What L-BFGS learns is how forces of bodies change; contacts are known without it.
static void taken(void *solver, hk_line_search *ls, double length)
{
    quasi_newton *s = solver;
    hk_problem *p = ls->problem;
    const double *after = ls->trial_gradient;
    int64_t size = 4 * (int64_t)p->vertex_count;
    if (knows_contacts(s)) {
        for (int64_t k = 0; k < size; k++) s->moving[k] = -s->moving[k];
        hk_terms_add_moving_gradient(p->terms, ls->trial, s->moving);
        for (int64_t k = 0; k < size; k++) s->moving[k] = after[k] - s->moving[k];
        after = s->moving;
    }
    hk_curvature_add(&s->curvature, p, ls->direction, length, ls->gradient, after);
}

static hk_status quasi_newton_minimise(void *solver, double *x, hk_solve_report *report)
{
    static const hk_direction rule = {choose, hk_full_length, taken};
    return hk_search_descend(&((quasi_newton *)solver)->search, &rule, solver, x, report);
}

// The matrix as it was factored last; with contacts it depends on what touched then.
static void remember_matrix(quasi_newton *s, hk_stream *stream)
{
    hk_joined joined = {0};
    if (!stream->reading) stream->status = hk_assembly_list_joined(s->assembly, &joined);
    hk_stream_list(stream, (void **)&joined.pairs, &joined.count, &joined.room,
                   sizeof *joined.pairs);
    if (stream->reading && stream->status == HK_OK) {
        release_matrix(s);
        stream->status = create_matrix(s, &joined);
        if (stream->status != HK_OK) release_matrix(s);
    }
    hk_free(joined.pairs);
    HK_STREAM(stream, s->factored);
    if (stream->status != HK_OK || isnan(s->factored.weight)) return;
    hk_stream_bytes(stream, s->matrix,
                    sizeof(double) * (size_t)hk_pattern_size(&s->assembly->pattern));
    if (stream->reading && stream->status == HK_OK)
        stream->status =
            hk_direct_factor_shifted(s->direct, &s->assembly->pattern, s->matrix, "quasi_newton");
}

static void quasi_newton_remember(void *solver, hk_stream *stream)
{
    quasi_newton *s = solver;
    if (s->assembly) remember_matrix(s, stream);
}

static hk_constant_matrix *quasi_newton_matrix(void *solver)
{
    quasi_newton *s = solver;
    return s->laplacian.solves ? &s->laplacian : NULL;
}

static hk_view *quasi_newton_view(void *solver)
{
    return ((quasi_newton *)solver)->search.view;
}

static void describe_matrix(const quasi_newton *s, char *text, size_t size)
{
    const hk_constant_matrix *laplacian = s->laplacian.base ? s->laplacian.base : &s->laplacian;
    const hk_direct *direct = s->direct ? s->direct : laplacian->direct;
    if (direct)
        snprintf(text, size, "%lld numbers in the factor",
                 (long long)hk_direct_factor_size(direct));
    else if (laplacian->multigrid)
        hk_multigrid_describe(laplacian->multigrid, text, size);
    else
        snprintf(text, size, s->laplacian.solves ? "multigrid" : "no matrix");
}

static void quasi_newton_describe(const void *solver, char *text, size_t size)
{
    const quasi_newton *s = solver;
    const hk_settings *settings = &s->search.settings;
    char matrix[120];
    describe_matrix(s, matrix, sizeof matrix);
    snprintf(text, size,
             "quasi_newton: at most %d iterations, tolerance %g, window %d, from the %s; %s",
             settings->iterations, settings->tolerance, (int)settings->option[OPTION_WINDOW],
             g_initial[initial_of(s)], matrix);
}

const hk_method hk_quasi_newton = {
    .name = "quasi_newton",
    .takes_rank_one = true,
    .takes_constraints = true,
    .guarded = true,
    .summary = "L-BFGS over a constant matrix factored once: fast for every material",
    .iterations = 200,
    .pose_iterations = 2000,
    .tolerance = 1e-6,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = quasi_newton_create,
    .free = quasi_newton_free,
    .minimise = quasi_newton_minimise,
    .weights = weights,
    .matrix = quasi_newton_matrix,
    .view = quasi_newton_view,
    .remember = quasi_newton_remember,
    .gpu = &hk_gpu_quasi_newton,
    .describe = quasi_newton_describe,
};
