// Split: the fastest corotated bodies (Kugelstadt, Koschier & Bender 2018). The stretching half of
// the energy, Σ μ V ‖F − R‖², has the constant Hessian L = Dᵀ K D with one unknown a vertex if
// the rotations are kept, so that a time step is (Algorithm 2)
//
//   y = x + h v                            where inertia alone would take the body
//   R                                      of every tet there, from its last one
//   (M/h² + L) Δx = f + Dᵀ K (R − D y)     with a factor made once, f gravity and loads
//   volume                                 constraints on det F by Gauss–Seidel
//
// all of it in single precision and wide lanes. Three things differ from the document:
//
// It adds h² M⁻¹ f to y first (its x̃), and the solve takes that back again: with the same R the
// result is the same. But its R are those of a body that fell freely for a step, out of shape where
// it is held. With R at y a state of rest is the equilibrium of the stretching half, whatever h.
//
// It begins the constraints of every step with multipliers κ = 0. A solve that knows nothing of the
// volume then undoes what the constraints did in the step before, and they do it again in a metric
// that is softer than that of the solve: at rest the volume half is (M/h² + L)h²/M times too stiff,
// and a beam with ν = 0.1 hung 7 % (h = 5 ms) to 22 % (20 ms) too high. Here κ is kept, and its
// forces κ∇C join the right-hand side: constraints only add what is missing. At rest they add
// nothing, and C = −ακ is the volume half of fixed_corotated: the equilibrium is that of the
// material, for any h, mesh and number of iterations. ("multipliers": "reset" is the document's.)
//
// Where rotations are held, L resists turning as it resists stretching, so that limbs fall too
// slowly, and what constraints do comes late. A body of `corotated` (ν ≤ 0.45) or
// `arap` therefore has its whole energy on the right-hand side, L bounds the second derivative of
// both halves, 2μ + 3λ for 2μ, and the energy of its clusters' turning is taken out of A
// (rotation_correction.h). It has no constraints. ("turning": 0 is the document's.)
//
// Attachments, springs and viscosity join the system with their own constant matrices and their
// forces at y. With more than one pass the step goes to the minimiser of ε itself
// (split_passes.c).
#include "solver/split.h"

#include <math.h>
#include <stdio.h>

#include "solver/constant_matrix.h"
#include "term/laplacian.h"

enum { OPTION_PASSES, OPTION_TURNING, OPTION_VOLUME, OPTION_MULTIPLIERS, OPTION_REFINEMENT };
enum { MULTIPLIERS_KEPT, MULTIPLIERS_RESET };

static const char *const g_multipliers[] = {"kept", "reset", NULL};

static const hk_option_info g_options[] = {
    [OPTION_PASSES] = {.name = "passes",
                       .help = "passes of a time step: 1 is one solve and the volume constraints; "
                               "more go to the minimiser of the material's own energy",
                       .minimum = 1,
                       .maximum = 100000,
                       .fallback = 1},
    [OPTION_TURNING] = {.name = "turning",
                        .help = "clusters of a body that turn freely in the solve of one pass, at "
                                "most (where there are no volume constraints: corotated up to a "
                                "Poisson ratio of 0.45 needs none then, unless volume_iterations "
                                "asks for them); 0: the step of the document",
                        .maximum = 64,
                        .fallback = 16},
    [OPTION_VOLUME] = {.name = "volume_iterations",
                       .help = "sweeps over the volume constraints; -1: one, and bodies that turn "
                               "freely have none; 0: volume is not conserved",
                       .minimum = -1,
                       .maximum = 1000,
                       .fallback = -1},
    [OPTION_MULTIPLIERS] = {.name = "multipliers",
                            .help = "of the volume constraints: kept from step to step, their "
                                    "forces in the solve, or reset to 0 as in the document",
                            .words = g_multipliers},
    [OPTION_REFINEMENT] = HK_REFINEMENT_OPTION,
};

static void split_free(void *solver)
{
    hk_split *s = solver;
    if (!s) return;
    if (s->pose) hk_quasi_newton.free(s->pose);
    if (s->guarded) hk_quasi_newton.free(s->guarded);
    hk_split_contact_release(s);
    hk_view_free(s->view);
    hk_split_passes_release(s);
    hk_rotation_correction_free(s->correction);
    hk_low_rank_release(&s->live);
    hk_free(s->stiffness);
    hk_corotation_free(s->elements);
    hk_components_free(s->components);
    hk_free(s->unknown);
    hk_free(s->vertex);
    hk_free(s->diagonal);
    hk_free(s->numbered);
    hk_free(s->body);
    hk_free(s->middle);
    hk_free(s->origin);
    hk_free(s->inverse);
    hk_free(s->load);
    hk_free(s->x);
    hk_free(s->start);
    hk_free(s->wide_x);
    hk_free(s->wide_gradient);
    hk_free(s);
}

static int sweeps_of(const hk_settings *s)
{
    int given = (int)s->option[OPTION_VOLUME];
    return given < 0 ? 1 : given;
}

static bool carries(const hk_settings *s)
{
    return s->option[OPTION_MULTIPLIERS] == MULTIPLIERS_KEPT && sweeps_of(s) > 0;
}

int hk_split_pass_count(const hk_settings *s)
{
    return hk_max_int((int)s->option[OPTION_PASSES], s->iterations);
}

static bool turns(const hk_settings *s)
{
    return s->option[OPTION_TURNING] > 0 && hk_split_pass_count(s) == 1;
}

int hk_split_clusters(const hk_settings *s)
{
    return turns(s) ? (int)s->option[OPTION_TURNING] : 0;
}

// Mild materials have both halves of their energy in the solve, and no constraints, unless these
// are asked for.
static bool has_own_trace(const hk_settings *s)
{
    return turns(s) && carries(s) && s->option[OPTION_VOLUME] < 0;
}

// Whether bodies of it have no volume constraints.
static bool is_unconstrained(const hk_settings *s, const hk_material *material)
{
    hk_volume_law law;
    if (!hk_corotation_can(material, &law)) return false;
    return law == HK_VOLUME_NONE || material->params.c[1] <= 0 || sweeps_of(s) == 0 ||
           (has_own_trace(s) && hk_corotation_mild(material));
}

// ---------------------------------------------------------------- what it can do

static hk_status check_materials(const hk_model *m)
{
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].line_count > 0)
            return hk_fail(HK_UNSUPPORTED,
                           "method split: body %d (%s) is a rope, and it is for corotated tets and "
                           "sheets of mass_spring: use quasi_newton",
                           b, m->bodies[b].name);
    for (int b = 0; b < m->body_count; b++)
        if (m->bodies[b].tet_count == 0 && m->bodies[b].sheet.shell)
            return hk_fail(
                HK_UNSUPPORTED,
                "method split: body %d (%s) is a shell, and it is for corotated tets and "
                "sheets of mass_spring: use quasi_newton",
                b, m->bodies[b].name);
    for (int b = 0; b < m->body_count; b++)
        for (int t = m->bodies[b].tet_start; t < m->bodies[b].tet_start + m->bodies[b].tet_count;
             t++) {
            const hk_material *material = &m->materials[m->tet_material[t]];
            if (hk_corotation_can(material, NULL)) continue;
            bool law = hk_corotation_law(material->law, NULL);
            const char *what = !law                           ? hk_law_describe(material->law)->name
                               : material->strand_modulus > 0 ? "fibres or axes"
                                                              : "\"invertible\"";
            return hk_fail(HK_UNSUPPORTED,
                           "method split: body %d (%s) has a material with %s; it can do "
                           "corotated, fixed_corotated and arap without fibres or axes (none of "
                           "them needs \"invertible\"): use one of these, or quasi_newton, which "
                           "can do all materials",
                           b, m->bodies[b].name, what);
        }
    return HK_OK;
}

// ---------------------------------------------------------------- creation

// What bounds the second derivative of a material's stretching, and of all of it where the volume
// half is in the solve: 2μ‖δF‖² + λ tr(RᵀδF)² ≤ (2μ + 3λ) ‖δF‖².
static double stiffness_of(const hk_settings *s, const hk_material *material)
{
    hk_volume_law law;
    if (!hk_corotation_can(material, &law)) return 0;
    double stiffness = 2 * material->params.c[0];
    bool both = law != HK_VOLUME_NONE && has_own_trace(s) && hk_corotation_mild(material);
    return both ? stiffness + 3 * fmax(material->params.c[1], 0) : stiffness;
}

static hk_status find_stiffness(hk_split *s)
{
    const hk_model *m = s->problem->model;
    s->stiffness = HK_ARRAY(double, m->material_count);
    if (!s->stiffness) return HK_NO_MEMORY;
    s->stiffest = 1;
    for (int k = 0; k < m->material_count; k++) {
        const hk_material *material = &m->materials[k];
        double mu = material->params.c[0], lambda = material->params.c[1];
        hk_volume_law law;
        s->stiffness[k] = stiffness_of(&s->settings, material);
        if (hk_corotation_can(material, &law) && law != HK_VOLUME_NONE)
            s->stiffest = fmax(s->stiffest, 1 + 1.5 * lambda / mu);
    }
    return HK_OK;
}

// Free vertices as the users number them: so bodies of one mesh are numbered alike.
static int number_vertices(hk_split *s)
{
    const hk_problem *p = s->problem;
    int count = 0;
    for (int v = 0; v < p->vertex_count; v++) {
        int32_t k = p->model->place[v];
        s->unknown[k] = p->held[k] ? -1 : count;
        if (!p->held[k]) s->numbered[count++] = k;
    }
    return count;
}

static hk_status make_components(hk_split *s, const hk_pattern *scalar)
{
    const hk_problem *p = s->problem;
    double *laplacian = HK_ARRAY(double, hk_pattern_size(scalar));
    if (!laplacian) return HK_NO_MEMORY;
    hk_laplacian_numbers(p->model, s->unknown, scalar, s->stiffness, laplacian);
    for (int k = 0; k < scalar->count; k++) s->diagonal[k] = p->mass[s->numbered[k]];
    hk_status status =
        hk_components_create(scalar, laplacian, s->diagonal, p->threads, &s->components);
    hk_free(laplacian);
    return status;
}

static hk_status divide(hk_split *s)
{
    const hk_problem *p = s->problem;
    s->unknown = HK_ARRAY(int32_t, p->vertex_count);
    s->vertex = HK_ARRAY(int32_t, p->free_count);
    s->numbered = HK_ARRAY(int32_t, p->free_count);
    s->diagonal = HK_ARRAY(double, p->free_count);
    if (!s->unknown || !s->vertex || !s->numbered || !s->diagonal) return HK_NO_MEMORY;
    hk_pattern scalar = {0};
    int count = number_vertices(s);
    HK_TRY(hk_laplacian_pattern(p->model, s->unknown, count, &scalar));
    hk_status status = make_components(s, &scalar);
    hk_pattern_free(&scalar);
    if (status != HK_OK) return status;
    for (int k = 0; k < count; k++) {
        s->unknown[s->numbered[k]] = s->components->place[k];
        s->vertex[s->components->place[k]] = s->numbered[k];
    }
    return HK_OK;
}

// The vertex nearest to the middle of each body at rest.
static void find_middles(hk_split *s)
{
    const hk_model *m = s->problem->model;
    for (int b = 0; b < m->body_count; b++) {
        const hk_body *body = &m->bodies[b];
        double middle[3] = {0}, least = INFINITY;
        for (int k = 0; k < body->vertex_count; k++)
            for (int i = 0; i < 3; i++)
                middle[i] += m->rest[3 * (int64_t)(body->vertex_start + k) + i];
        for (int i = 0; i < 3; i++) middle[i] /= body->vertex_count;
        for (int k = 0; k < body->vertex_count; k++) {
            const double *x = m->rest + 3 * (int64_t)(body->vertex_start + k);
            double d = hypot(hypot(x[0] - middle[0], x[1] - middle[1]), x[2] - middle[2]);
            s->body[m->place[body->vertex_start + k]] = b;
            if (d >= least) continue;
            least = d;
            s->middle[b] = m->place[body->vertex_start + k];
        }
    }
}

static hk_status allocate_vertices(hk_split *s)
{
    const hk_problem *p = s->problem;
    size_t vertices = (size_t)p->vertex_count, bodies = (size_t)p->model->body_count;
    s->body = HK_ZEROS(int32_t, vertices);
    s->middle = HK_ZEROS(int32_t, bodies);
    s->origin = HK_ZEROS(double, 4 * bodies);
    s->inverse = HK_ZEROS(float, vertices);
    s->load = HK_ZEROS(float, 4 * (size_t)p->free_count);
    s->x = HK_ZEROS(float, 4 * vertices);
    if (!s->body || !s->middle || !s->origin || !s->inverse || !s->load || !s->x)
        return HK_NO_MEMORY;
    find_middles(s);
    s->wide_x = HK_ZEROS(double, 4 * vertices);
    if (!s->wide_x) return HK_NO_MEMORY;
    s->wide_gradient = HK_ZEROS(double, 4 * vertices);
    if (!s->wide_gradient) return HK_NO_MEMORY;
    if (hk_split_pass_count(&s->settings) == 1) return HK_OK;
    s->start = HK_ZEROS(float, 4 * vertices);
    return s->start ? hk_split_passes_init(s) : HK_NO_MEMORY;
}

// Bodies with constraints are left out: a solve that turns them freely would amplify what
// constraints do too late.
static hk_status make_correction(hk_split *s)
{
    const hk_model *m = s->problem->model;
    uint8_t *free = HK_ZEROS(uint8_t, m->material_count);
    if (!free) return HK_NO_MEMORY;
    for (int k = 0; k < m->material_count; k++)
        free[k] = is_unconstrained(&s->settings, &m->materials[k]);
    const hk_rotation_correction_def def = {.model = m,
                                            .components = s->components,
                                            .unknown = s->unknown,
                                            .stiffness = s->stiffness,
                                            .turns = free,
                                            .table = s->elements->table,
                                            .length = s->length,
                                            .clusters = (int)s->settings.option[OPTION_TURNING],
                                            .threads = s->problem->threads};
    hk_status status = hk_rotation_correction_create(&def, &s->correction);
    hk_free(free);
    return status;
}

static hk_status allocate(hk_split *s)
{
    hk_problem *p = s->problem;
    HK_TRY(check_materials(p->model));
    HK_TRY(hk_view_create(p, HK_DOUBLE_PRECISION, &s->view));
    HK_TRY(find_stiffness(s));
    HK_TRY(divide(s));
    if (s->settings.option[OPTION_REFINEMENT] > 0)
        HK_TRY(hk_components_allow_refinement(s->components));
    // A power of two: a body is rounded alike in scenes of any extent.
    s->length = p->size > 0 ? exp2(ceil(log2(p->size))) : 1;
    HK_TRY(allocate_vertices(s));
    HK_TRY(hk_corotation_create(p->model, hk_corotation_best(), s->length, s->unknown,
                                s->components->count, p->threads, &s->elements));
    s->elements->own_trace = has_own_trace(&s->settings);
    HK_TRY(hk_split_contact_init(s));
    return turns(&s->settings) ? make_correction(s) : HK_OK;
}

static hk_status split_create(hk_problem *problem, const hk_settings *settings, void **solver)
{
    hk_split *s = HK_NEW(hk_split);
    if (!s) return HK_NO_MEMORY;
    s->problem = problem;
    s->settings = *settings;
    s->factored.weight = s->recalled.weight = s->loaded = NAN;
    hk_status status = allocate(s);
    if (status != HK_OK) {
        split_free(s);
        return status;
    }
    *solver = s;
    return HK_OK;
}

// ---------------------------------------------------------------- the matrix

// A again only when the time step or damping changed. Viscous damping has a Hessian of at most β/h
// L.
static hk_status solve_wide(void *context, const double *from, double *to)
{
    hk_components_solve_wide(((hk_split *)context)->components, from, to);
    return HK_OK;
}

static hk_status take_live(hk_split *s)
{
    if (hk_low_rank_is_current(&s->live, s->problem)) return HK_OK;
    s->passes.count = 0;
    return hk_low_rank_update(&s->live, s->problem, s->unknown, s->components->count, solve_wide,
                              s);
}

static hk_status prepare(hk_split *s, hk_solve_report *report)
{
    const hk_problem *p = s->problem;
    if (hk_same_quadratic(s->factored, hk_problem_quadratic(p))) return take_live(s);
    double clock = hk_now();
    for (int k = 0; k < p->vertex_count; k++)
        s->inverse[k] = p->held[k] ? 0 : (float)(1 / p->inertia[k]);
    for (int k = 0; k < s->components->count; k++) s->diagonal[k] = p->inertia[s->numbered[k]];
    HK_TRY(hk_components_factor(s->components, 1 + p->stiffening, s->diagonal));
    hk_split_contact_prepare(s);
    s->factored.weight = NAN;
    if (s->correction) HK_TRY(hk_rotation_correction_prepare(s->correction));
    s->factored = hk_problem_quadratic(p);
    bool recalled = hk_same_quadratic(s->factored, s->recalled);
    s->recalled.weight = NAN;
    if (!recalled) s->passes.count = 0;  // what was learnt is relative to A
    hk_low_rank_forget(&s->live);
    if (s->components->count > 0) HK_TRY(take_live(s));
    if (!recalled) hk_corotation_forget_multipliers(s->elements);
    report->phase_s[HK_PHASE_FACTOR] += hk_lap(&clock);
    return HK_OK;
}

// ---------------------------------------------------------------- positions in both precisions

// Vertices as vectors: four numbers are faster than three.
typedef float quad __attribute__((vector_size(16), may_alias));
typedef double wide_quad __attribute__((vector_size(32), may_alias));

static quad narrow(const double *x, const double *origin, double unit)
{
    return __builtin_convertvector((*(const wide_quad *)x - *(const wide_quad *)origin) * unit,
                                   quad);
}

// η and the inverse weights of all vertices.
static void predict(hk_split *s)
{
    const hk_problem *p = s->problem;
    for (int b = 0; b < p->model->body_count; b++) {
        int64_t k = s->middle[b];
        const double *from = (p->held[k] ? s->before : p->y) + 4 * k;
        memcpy(s->origin + 4 * (int64_t)b, from, 3 * sizeof(double));
    }
    double unit = 1 / s->length;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t k = 0; k < p->vertex_count; k++) {
        quad x = narrow((p->held[k] ? s->before : p->y) + 4 * k,
                        s->origin + 4 * (int64_t)s->body[k], unit);
        x[3] = s->inverse[k];
        *(quad *)(s->x + 4 * k) = x;
    }
    if (s->start) memcpy(s->start, s->x, 4 * sizeof(float) * (size_t)p->vertex_count);
}

static wide_quad beyond_of(const hk_split *s, int64_t vertex)
{
    const float *at = s->components->beyond + 4 * (int64_t)s->unknown[vertex];
    return __builtin_convertvector(*(const quad *)at, wide_quad);
}

// The state in double precision: y there, and what was added to it in single. Velocities are
// differences of positions, so these must not be rounded to single precision. `solved` are the
// displacements of the one solve, which are known better than differences of rounded positions, or
// NULL; refined ones go beyond single precision. Returns whether all are finite; x may be
// s->before.
static bool widen(const hk_split *s, const float *solved, double *x)
{
    const hk_problem *p = s->problem;
    double unit = 1 / s->length;
    int bad = 0;
#pragma omp parallel for schedule(static) num_threads(p->threads) reduction(+ : bad)
    for (int64_t k = 0; k < p->vertex_count; k++) {
        if (p->held[k]) {
            for (int i = 0; i < 3; i++) x[4 * k + i] = s->before[4 * k + i];
            continue;
        }
        quad start = narrow(p->y + 4 * k, s->origin + 4 * (int64_t)s->body[k], unit), step = {0};
        if (solved) step = *(const quad *)(solved + 4 * (int64_t)s->unknown[k]);
        quad moved = step + (*(const quad *)(s->x + 4 * k) - (start + step));
        moved[3] = 0;
        wide_quad wide = __builtin_convertvector(moved, wide_quad);
        if (solved && s->components->beyond) wide += beyond_of(s, k);
        wide_quad to = *(const wide_quad *)(p->y + 4 * k) + wide * s->length;
        *(wide_quad *)(x + 4 * k) = to;
        bad += !isfinite(to[0] + to[1] + to[2]);
    }
    return bad == 0;
}

double hk_split_energy(hk_split *s)
{
    if (!s->problem->watch_energy) return NAN;
    widen(s, NULL, s->wide_x);
    return hk_problem_energy(s->problem, s->wide_x);
}

bool hk_split_tell(hk_split *s, double energy, double residual, double relative, double length,
                   hk_solve_report *report)
{
    const hk_problem *p = s->problem;
    report->iterations++;
    if (!p->monitor) return true;
    hk_iteration now = {.iteration = report->iterations,
                        .energy = energy,
                        .residual = residual,
                        .relative_residual = relative,
                        .step_length = length,
                        .load = p->load_fraction};
    if (p->monitor(p->monitor_context, &now)) return true;
    report->reason = HK_STOPPED;
    snprintf(report->detail, sizeof report->detail, "stopped on request");
    return false;
}

// ---------------------------------------------------------------- one step

// The terms beside the tets, which are s->elements here, and contact (split_contact.h).
static bool is_other(const hk_term *term)
{
    const hk_term_ops *ops = term->ops;
    return ops != &hk_tets_term && !ops->guard && !ops->add_force &&
           (!ops->active || ops->active(term));
}

double hk_split_add_others(hk_split *s, float sign, float *to)
{
    hk_problem *p = s->problem;
    bool any = false;
    for (int k = 0; k < p->terms->count; k++) any |= is_other(p->terms->term[k]);
    if (!any) return 0;
    widen(s, NULL, s->wide_x);
    double energy = 0, unit = 1 / s->length;
    memset(s->wide_gradient, 0, 4 * sizeof(double) * (size_t)p->vertex_count);
    for (int k = 0; k < p->terms->count; k++) {
        hk_term *term = p->terms->term[k];
        double part = 0;
        if (!is_other(term)) continue;
        term->ops->add_gradient(term, s->wide_x, s->wide_gradient, &part);
        energy += part;
    }
    for (int64_t k = 0; k < s->components->count; k++) {
        const double *force = s->wide_gradient + 4 * (int64_t)s->vertex[k];
        for (int i = 0; i < 3; i++) to[4 * k + i] += sign * (float)(unit * force[i]);
    }
    return energy * unit * unit;
}

static void keep_loads(hk_split *s)
{
    const hk_problem *p = s->problem;
    if (p->load_fraction == s->loaded && p->forces == s->loaded_forces) return;
    double unit = 1 / s->length;
    for (int64_t k = 0; k < s->components->count; k++)
        for (int i = 0; i < 3; i++)
            s->load[4 * k + i] = (float)(unit * p->force[4 * (int64_t)s->vertex[k] + i]);
    s->loaded = p->load_fraction;
    s->loaded_forces = p->forces;
}

static void add_loads(hk_split *s, float *to)
{
    keep_loads(s);
#pragma omp parallel for schedule(static) num_threads(s->problem->threads)
    for (int64_t k = 0; k < s->components->count; k++)
        *(quad *)(to + 4 * k) += *(const quad *)(s->load + 4 * k);
}

// ξ += Δξ at the unknowns.
static void move(hk_split *s, const float *step)
{
#pragma omp parallel for schedule(static) num_threads(s->problem->threads)
    for (int64_t k = 0; k < s->problem->vertex_count; k++) {
        if (s->unknown[k] < 0) continue;
        quad x = *(const quad *)(s->x + 4 * k), moved;
        moved = x + *(const quad *)(step + 4 * (int64_t)s->unknown[k]);
        moved[3] = x[3];
        *(quad *)(s->x + 4 * k) = moved;
    }
}

void hk_split_solve(hk_split *s)
{
    if (s->components->beyond)
        hk_components_refine(s->components);
    else
        hk_components_solve(s->components);
    hk_low_rank_correct_single(&s->live, s->components->vector);
}

// Algorithm 2, lines 3–14.
static hk_status solve_once(hk_split *s, hk_solve_report *report)
{
    bool guarded = s->contact.contacts;
    float *vector = s->components->vector;
    hk_tell_start(s->problem, hk_split_energy(s), NAN, NAN);
    double clock = hk_now();
    hk_corotation_stretch(s->elements, carries(&s->settings), s->x, vector);
    hk_split_add_others(s, -1, vector);
    add_loads(s, vector);
    report->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    if (guarded) hk_split_contact_begin(s, s->before, vector);
    hk_split_solve(s);
    if (s->correction) hk_rotation_correction_apply(s->correction, s->x);
    if (guarded) HK_TRY(hk_split_contact_solve(s, s->before));
    report->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    move(s, vector);
    clock = hk_now();
    hk_corotation_volume(s->elements, carries(&s->settings), s->x, sweeps_of(&s->settings));
    report->phase_s[HK_PHASE_VOLUME] += hk_lap(&clock);
    report->reason = HK_FIXED_WORK;
    report->energy = 0;
    report->residual = report->relative_residual = report->rounding = NAN;
    hk_split_tell(s, hk_split_energy(s), NAN, NAN, 1, report);
    return HK_OK;
}

// With contact several passes are a matter for L-BFGS in double precision, too: x is a good state.
static hk_status need_guarded(hk_split *s)
{
    if (s->guarded) return HK_OK;
    hk_solver_def def = hk_default_solver_def();
    hk_settings settings;
    def.iterations = hk_split_pass_count(&s->settings);
    def.tolerance = s->settings.tolerance;
    HK_TRY(hk_method_settings(&hk_quasi_newton, &def, &settings));
    return hk_quasi_newton.create(s->problem, &settings, &s->guarded);
}

static hk_status step_guarded(hk_split *s, double *x, hk_solve_report *report)
{
    hk_problem *p = s->problem;
    double *to = s->contact.target, before = hk_problem_energy(p, x);
    HK_TRY(need_guarded(s));
    size_t bytes = 4 * sizeof(double) * (size_t)p->vertex_count;
    memcpy(s->wide_x, x, bytes);
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++)
        to[k] = p->held[k / 4] ? x[k] : p->y[k];
    hk_terms_walk(p->terms, x, to);
    if (!(hk_problem_energy(p, x) < before)) memcpy(x, s->wide_x, bytes);
    return hk_quasi_newton.minimise(s->guarded, x, report);
}

static hk_status step(hk_split *s, double *x, hk_solve_report *report)
{
    bool once = hk_split_pass_count(&s->settings) == 1;
    if (!once && s->contact.contacts) return step_guarded(s, x, report);
    HK_TRY(prepare(s, report));
    s->before = x;
    predict(s);
    if (s->components->count == 0)
        report->reason = HK_CONVERGED;  // all vertices are held
    else if (once)
        HK_TRY(solve_once(s, report));
    else
        hk_split_descend(s, hk_split_pass_count(&s->settings), report);
    if (report->reason == HK_NOT_FINITE) return HK_OK;
    const float *solved = once && s->components->count > 0 ? s->components->vector : NULL;
    double *to = s->contact.contacts ? s->contact.target : x;
    bool finite = widen(s, solved, to);
    if (finite && to != x) HK_TRY(hk_sweep_walk(s->contact.sweep, x, to));
    if (finite) return HK_OK;
    report->reason = HK_NOT_FINITE;
    report->energy = INFINITY;
    snprintf(report->detail, sizeof report->detail,
             "the positions after the step are not finite: the state before it is kept");
    return HK_OK;
}

// Without inertia there is no y to begin with, and single precision may be too coarse: a pose is a
// matter for L-BFGS in double precision over a matrix much like this one.
static hk_status pose(hk_split *s, double *x, hk_solve_report *report)
{
    if (!s->pose) {
        hk_solver_def def = hk_default_solver_def();
        hk_settings settings;
        def.iterations = s->settings.pose_iterations;
        def.tolerance = s->settings.tolerance;
        HK_TRY(hk_method_settings(&hk_quasi_newton, &def, &settings));
        HK_TRY(hk_quasi_newton.create(s->problem, &settings, &s->pose));
    }
    return hk_quasi_newton.minimise(s->pose, x, report);
}

static hk_status split_minimise(void *solver, double *x, hk_solve_report *report)
{
    hk_split *s = solver;
    return s->problem->weight > 0 ? step(s, x, report) : pose(s, x, report);
}

// ---------------------------------------------------------------- for the GPU

// Whether one pass can do a material without constraints, with no part of its energy left out but
// what trace_pressure (corotation_lanes.c) leaves out.
static bool is_whole(const hk_settings *s, const hk_material *material)
{
    hk_volume_law law;
    if (!hk_corotation_can(material, &law)) return false;
    if (law == HK_VOLUME_NONE) return true;
    if (law != HK_VOLUME_TRACE) return false;
    return material->params.c[1] <= 0 || (has_own_trace(s) && hk_corotation_mild(material));
}

static hk_status suits_gpu(const hk_settings *s, const hk_model *m)
{
    HK_TRY(check_materials(m));
    if (hk_split_pass_count(s) > 1) return HK_OK;
    for (int b = 0; b < m->body_count; b++)
        for (int t = m->bodies[b].tet_start; t < m->bodies[b].tet_start + m->bodies[b].tet_count;
             t++) {
            const hk_material *material = &m->materials[m->tet_material[t]];
            if (is_whole(s, material)) continue;
            return hk_fail(HK_UNSUPPORTED,
                           "method split has no volume constraints on the GPU, which body %d (%s, "
                           "%s) would have: one pass does corotated up to a Poisson ratio of 0.45 "
                           "there, with \"turning\", \"multipliers\" and \"volume_iterations\" as "
                           "they are by default, and arap; several \"passes\" do all its materials",
                           b, m->bodies[b].name, hk_law_describe(material->law)->name);
        }
    return HK_OK;
}

// Of several passes on the GPU, which L-BFGS begins with the matrix itself: half of the bound for
// the volume half is about the step that the CPU's passes begin with (go_on in split_passes.c).
static hk_status weights(const hk_settings *s, const hk_model *m, double *weight)
{
    HK_TRY(check_materials(m));
    for (int k = 0; k < m->material_count; k++) {
        const hk_material *material = &m->materials[k];
        hk_volume_law law;
        weight[k] = stiffness_of(s, material);
        bool volume = hk_corotation_can(material, &law) && law != HK_VOLUME_NONE;
        if (volume && hk_split_pass_count(s) > 1) weight[k] += 1.5 * fmax(material->params.c[1], 0);
    }
    return HK_OK;
}

static void remember_guarded(hk_split *s, hk_stream *stream)
{
    hk_view_remember(hk_quasi_newton.view(s->guarded), stream);
    hk_quasi_newton.remember(s->guarded, stream);
}

// Rotations and multipliers of the elements, and forces of contacts, are where the next step
// begins.
static void split_remember(void *solver, hk_stream *stream)
{
    hk_split *s = solver;
    hk_corotation *e = s->elements;
    hk_stream_expect(stream, e->quaternion_count);
    hk_stream_expect(stream, e->multiplier_count);
    hk_stream_bytes(stream, e->quaternion, sizeof(float) * (size_t)e->quaternion_count);
    hk_stream_bytes(stream, e->multiplier, sizeof(float) * (size_t)e->multiplier_count);
    hk_quadratic factored = s->factored;
    HK_STREAM(stream, factored);
    if (stream->reading && !hk_same_quadratic(factored, s->factored)) s->recalled = factored;
    hk_split_passes_remember(s, stream);
    hk_split_contact *c = &s->contact;
    if (c->contacts)
        hk_stream_list(stream, (void **)&c->pairs, &c->count, &c->room, sizeof *c->pairs);
    bool guarded = s->guarded != NULL;
    HK_STREAM(stream, guarded);
    if (guarded && !s->guarded && stream->status == HK_OK) stream->status = need_guarded(s);
    if (guarded && stream->status == HK_OK) remember_guarded(s, stream);
}

static hk_view *split_view(void *solver)
{
    return ((hk_split *)solver)->view;
}

static void split_describe(const void *solver, char *text, size_t size)
{
    const hk_split *s = solver;
    snprintf(text, size,
             "split: %d passes, %d factors for %d components, %d clusters turn, %d volume "
             "iterations in %d "
             "colours of %d patches, %s",
             hk_split_pass_count(&s->settings), s->components->shape_count,
             s->components->component_count,
             s->correction ? hk_rotation_correction_clusters(s->correction) : 0,
             sweeps_of(&s->settings), s->elements->colour_count, s->elements->patch_count,
             s->elements->table->name);
}

const hk_method hk_split_method = {
    .name = "split",
    .summary = "one solve with a constant matrix and volume constraints: corotated bodies, fast",
    .iterations = 1,
    .pose_iterations = 5000,
    .tolerance = 1e-4,
    .direct = true,
    .from_y = true,
    .guarded = true,
    .options = g_options,
    .option_count = HK_COUNT_OF(g_options),
    .create = split_create,
    .free = split_free,
    .minimise = split_minimise,
    .view = split_view,
    .remember = split_remember,
    .finisher = &hk_quasi_newton,
    .weights = weights,
    .gpu = &hk_gpu_split,
    .suits_gpu = suits_gpu,
    .whole_vertices = true,
    .describe = split_describe,
};
