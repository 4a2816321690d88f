// The search for the parameters: Levenberg and Marquardt's method on the poses of the model.
//
// At first with Huber's function of the distances, scaled by their median, so that gross errors do
// not lead it astray; then, with those left out, least squares. The two end where the gradient
// vanishes, and the second only where nothing changes sides any more.
#include <math.h>
#include <stdio.h>

#include "design/fit.h"
#include "math/dense.h"

// Steps of θ at most: ninefold; for Poisson's ratio from 0.4 to 0.26 or to 0.46.
#define LONGEST         2.2
#define LONGEST_POISSON 1.0
// Relative gradients: with Huber's function; and the part of the displacement that counts as
// misfit, so that a perfect fit has a scale.
#define ROUGHLY 1e-3
#define PERFECT 1e-3
// A parameter that moves the observed vertices by less than this part of where they went has no
// influence on them.
#define NO_INFLUENCE 1e-6
// What moves by less than this part of the model's size stands still.
#define STANDSTILL 1e-12
// Beyond this a pose is looked for from rest, for the last one is none to start from.
#define FAR 0.7
// Steps below this are taken even where the misfit is too flat to fall.
#define SHORT 1e-4
#define FLAT  1e-6
// Attempts at one step, at a first pose, at what is left out, and at another pose.
enum { MOST_ATTEMPTS = 14, MOST_STIFFER = 4, MOST_ROUNDS = 12, MOST_BRANCHES = 3 };
// Where the misfit nearly vanishes, steps of θ go on to this size, but no more of them than that.
#define LEFT 1e-8
enum { MOST_FURTHER = 4 };
// Poses that are this much apart, relative to the model's size, are different ones.
#define APART         1e-6
#define FIRST_DAMPING 1e-2
#define LEAST_DAMPING 1e-12
#define LEAST_RAISED  1e-8

typedef struct search {
    hk_fit *fit;
    bool rough;      // with Huber's function
    double scale;    // of that; 0: least squares
    double damping;  // relative to the largest entry of the normal matrix
    double objective;
    int rounds;    // of leaving out
    int branches;  // times that the pose was looked for from rest
    int further;   // steps beyond a gradient that is small already
    hk_fit_end *end;
} search;

// ---------------------------------------------------------------- derivatives of the misfit

static const double *column(const hk_fit *fit, int variable, int observation)
{
    const hk_model *m = fit->equilibrium->model;
    return fit->sensitivity +
           4 * ((int64_t)variable * m->vertex_count + m->place[fit->vertex[observation]]);
}

// Σ w J_a · J_b over the observations.
static double column_product(const hk_fit *fit, int a, int b)
{
    double sum = 0;
    for (int k = 0; k < fit->observed_count; k++) {
        const double *u = column(fit, a, k), *v = column(fit, b, k);
        sum += fit->weight[k] * (u[0] * v[0] + u[1] * v[1] + u[2] * v[2]);
    }
    return sum;
}

static double column_pull(const hk_fit *fit, int a)
{
    double sum = 0;
    for (int k = 0; k < fit->observed_count; k++) {
        const double *u = column(fit, a, k), *r = fit->residual + 3 * (int64_t)k;
        sum += fit->weight[k] * (u[0] * r[0] + u[1] * r[1] + u[2] * r[2]);
    }
    return sum;
}

// At the end of its range, and would go on.
static bool is_blocked(const hk_fit *fit, int k)
{
    const hk_fit_variable *v = &fit->variables[k];
    double theta = fit->theta[k], slope = fit->gradient[k];
    return (theta <= v->low && slope > 0) || (theta >= v->high && slope < 0);
}

// Of what is displaced and observed, with weights.
static double displacement(const hk_fit *fit)
{
    const hk_equilibrium *e = fit->equilibrium;
    double sum = 0;
    for (int k = 0; k < fit->observed_count; k++) {
        int64_t at = 4 * (int64_t)e->model->place[fit->vertex[k]];
        for (int i = 0; i < 3; i++) {
            double u = e->x[at + i] - e->problem->rest[at + i];
            sum += fit->weight[k] * u * u;
        }
    }
    return sqrt(sum);
}

bool hk_fit_moves(const hk_fit *fit)
{
    return fit->moved > STANDSTILL * fit->size * sqrt(fit->observed_count);
}

bool hk_fit_has_influence(const hk_fit *fit, int variable)
{
    return hk_fit_moves(fit) && fit->norm[variable] > NO_INFLUENCE * fit->moved;
}

static bool is_free(const hk_fit *fit, int variable)
{
    return !fit->variables[variable].at_end && hk_fit_has_influence(fit, variable);
}

double hk_fit_relative(const hk_fit *fit, const double *gradient)
{
    double misfit = 0, largest = 0;
    for (int k = 0; k < fit->observed_count; k++)
        misfit += fit->weight[k] * fit->distance[k] * fit->distance[k];
    double scale = sqrt(misfit) + PERFECT * fit->moved;
    for (int k = 0; k < fit->variable_count; k++) {
        if (!is_free(fit, k)) continue;
        largest = fmax(largest, fabs(gradient[k]) / (fit->norm[k] * scale));
    }
    return largest;
}

double hk_fit_find_normal(hk_fit *fit)
{
    int n = fit->variable_count;
    fit->moved = displacement(fit);
#pragma omp parallel for schedule(dynamic) num_threads(fit->equilibrium->problem->threads)
    for (int a = 0; a < n; a++) {
        for (int b = 0; b <= a; b++) fit->normal[n * a + b] = column_product(fit, a, b);
        fit->gradient[a] = column_pull(fit, a);
        fit->norm[a] = sqrt(fit->normal[n * a + a]);
    }
    for (int a = 0; a < n; a++) fit->variables[a].at_end = is_blocked(fit, a);
    for (int a = 0; a < n; a++)
        for (int b = 0; b <= a; b++) {
            if (!is_free(fit, a) || !is_free(fit, b)) fit->normal[n * a + b] = 0;
            fit->normal[n * b + a] = fit->normal[n * a + b];
        }
    return hk_fit_relative(fit, fit->gradient);
}

// ---------------------------------------------------------------- steps

// −(A + damping)⁻¹ gradient in the directions that the observations tell. Damping is the same for
// all θ (Levenberg), not relative to their influence (Marquardt): far from the end those that have
// much of it are to move, not those that have little and could mend the misfit by going far.
static void solve_damped(hk_fit *fit, double damping)
{
    int n = fit->variable_count;
    double largest = 0;
    for (int k = 0; k < n; k++) {
        largest = fmax(largest, fit->normal[n * k + k]);
        fit->step[k] = 0;
    }
    for (int i = 0; i < n; i++) {
        double value = fit->values[n * i + i], slope = 0;
        if (value < HK_FIT_NO_EIGENVALUE) continue;
        for (int k = 0; k < n; k++) slope += fit->vectors[n * k + i] * fit->gradient[k];
        double length = -slope / (largest * (value + damping));
        for (int k = 0; k < n; k++) fit->step[k] += length * fit->vectors[n * k + i];
    }
}

// The step that is tried; returns by how much the misfit falls then in the quadratic model.
static double find_step(const search *s)
{
    hk_fit *fit = s->fit;
    int n = fit->variable_count;
    double cut = 1, fall = 0;
    solve_damped(fit, s->damping);
    for (int k = 0; k < n; k++) {
        double longest = fit->variables[k].map == HK_FIT_POISSON ? LONGEST_POISSON : LONGEST;
        if (cut * fabs(fit->step[k]) > longest) cut = longest / fabs(fit->step[k]);
    }
    for (int k = 0; k < n; k++) {
        const hk_fit_variable *v = &fit->variables[k];
        fit->trial[k] = fmin(v->high, fmax(v->low, fit->theta[k] + cut * fit->step[k]));
        fit->step[k] = is_free(fit, k) ? fit->trial[k] - fit->theta[k] : 0;
    }
    for (int a = 0; a < n; a++) {
        fall -= fit->gradient[a] * fit->step[a];
        for (int b = 0; b < n; b++)
            fall -= 0.5 * fit->normal[n * a + b] * fit->step[a] * fit->step[b];
    }
    return fall;
}

static double longest_step(const hk_fit *fit)
{
    double largest = 0;
    for (int k = 0; k < fit->variable_count; k++) largest = fmax(largest, fabs(fit->step[k]));
    return largest;
}

// ---------------------------------------------------------------- poses

static void note_end(hk_fit_end *end, const hk_solve_report *report)
{
    end->reason = report->reason;
    snprintf(end->detail, sizeof end->detail, "%s", report->detail);
}

// The pose of the materials as they are, from `start` (NULL: from rest), or else from rest (from
// the last one).
static hk_status find_pose(search *s, const double *start, bool *found)
{
    hk_fit *fit = s->fit;
    hk_solve_report report;
    HK_TRY(hk_equilibrium_find(fit->equilibrium, start, &report, found));
    if (!*found && !fit->stopped)
        HK_TRY(hk_equilibrium_find(fit->equilibrium, start ? NULL : fit->best_x, &report, found));
    if (!*found) note_end(s->end, &report);
    if (*found) hk_fit_find_residuals(fit);
    return HK_OK;
}

// Where to look for the pose after a step: where the tangent leads to, or where the last one was,
// whichever has less energy with the new materials.
static const double *choose_start(hk_fit *fit)
{
    hk_equilibrium *e = fit->equilibrium;
    int64_t size = 4 * (int64_t)e->model->vertex_count;
    memcpy(fit->start_x, fit->best_x, sizeof(double) * (size_t)size);
    for (int k = 0; k < fit->variable_count; k++)
        for (int64_t i = 0; i < size; i++)
            fit->start_x[i] += fit->step[k] * fit->sensitivity[size * k + i];
    double there = hk_problem_energy(e->problem, fit->start_x);
    return there < hk_problem_energy(e->problem, fit->best_x) ? fit->start_x : fit->best_x;
}

// Back to the last good values.
static hk_status go_back(hk_fit *fit)
{
    HK_TRY(hk_fit_apply(fit, fit->theta));
    memcpy(fit->equilibrium->x, fit->best_x,
           4 * sizeof(double) * (size_t)fit->equilibrium->model->vertex_count);
    hk_fit_find_residuals(fit);
    return HK_OK;
}

// The materials of the trial and their pose; not `found` where there are none.
static hk_status try_values(search *s, bool *found)
{
    hk_fit *fit = s->fit;
    *found = false;
    hk_status status = hk_fit_apply(fit, fit->trial);
    if (status == HK_NO_MEMORY) return status;
    if (status != HK_OK) return HK_OK;  // no material has such values
    return find_pose(s, longest_step(fit) > FAR ? NULL : choose_start(fit), found);
}

// Some that are not moduli make a body no stiffer.
static bool is_modulus(const hk_fit_variable *v)
{
    static const char *const names[] = {"young", "mu", "s0", "so3"};
    for (int k = 0; k < HK_COUNT_OF(names); k++)
        if (strcmp(v->field, names[k]) == 0) return true;
    return false;
}

// The first pose. What is far too soft may have none that can be found: stiffer then.
static hk_status begin(search *s, bool *found)
{
    hk_fit *fit = s->fit;
    bool stiffer = true;
    size_t bytes = 4 * sizeof(double) * (size_t)fit->equilibrium->model->vertex_count;
    memcpy(fit->best_x, fit->equilibrium->problem->rest, bytes);
    for (int k = 0; k < fit->variable_count; k++)
        fit->theta[k] = hk_fit_theta(&fit->variables[k], fit->variables[k].parameter.start);
    for (int attempt = 0; attempt <= MOST_STIFFER && stiffer; attempt++) {
        HK_TRY(hk_fit_apply(fit, fit->theta));
        HK_TRY(find_pose(s, NULL, found));
        if (*found || fit->stopped || s->end->reason == HK_NOT_HELD) break;
        stiffer = false;
        for (int k = 0; k < fit->variable_count; k++)
            if (is_modulus(&fit->variables[k])) {
                fit->theta[k] += log(10);
                stiffer = true;
            }
    }
    memcpy(fit->best_x, fit->equilibrium->x, bytes);
    return HK_OK;
}

// ---------------------------------------------------------------- the iteration

static void set_weights(search *s)
{
    s->scale = s->rough ? hk_fit_scale(s->fit) : 0;
    hk_fit_weigh(s->fit, s->scale);
    s->objective = hk_fit_objective(s->fit, s->scale);
}

static bool tell(search *s, int iteration, double relative)
{
    hk_fit *fit = s->fit;
    double square = 0;
    for (int k = 0; k < fit->observed_count; k++)
        square += fit->left_out[k] ? 0 : fit->distance[k] * fit->distance[k];
    int count = fit->observed_count - fit->outlier_count;
    fit->iteration = (hk_iteration){.iteration = iteration,
                                    .energy = 0.5 * square,
                                    .residual = sqrt(square / hk_max_int(count, 1)),
                                    .relative_residual = relative,
                                    .step_length = 1,
                                    .load = 1};
    if (fit->monitor && !fit->monitor(fit->monitor_context, &fit->iteration)) fit->stopped = true;
    return !fit->stopped;
}

static bool is_acceptable(const search *s, double fall, double after)
{
    double fell = s->objective - after;
    if (longest_step(s->fit) <= SHORT) return fell >= -FLAT * s->objective - 1e-300;
    return fell > 1e-4 * fall;
}

static void keep(search *s, double fall, double after)
{
    hk_fit *fit = s->fit;
    double ratio = (s->objective - after) / fall;
    if (ratio > 0.75) s->damping = fmax(LEAST_DAMPING, s->damping / 10);
    if (ratio < 0.25) s->damping *= 4;
    memcpy(fit->theta, fit->trial, sizeof(double) * (size_t)fit->variable_count);
    memcpy(fit->best_x, fit->equilibrium->x,
           4 * sizeof(double) * (size_t)fit->equilibrium->model->vertex_count);
}

// One step that brings the misfit down; not `moved` where there is none.
static hk_status advance(search *s, bool *moved)
{
    hk_fit *fit = s->fit;
    *moved = false;
    for (int attempt = 0; attempt < MOST_ATTEMPTS && !fit->stopped; attempt++) {
        bool found;
        double fall = find_step(s);
        if (!(fall > 0)) break;
        HK_TRY(try_values(s, &found));
        double after = found ? hk_fit_objective(fit, s->scale) : INFINITY;
        if (found && is_acceptable(s, fall, after)) {
            keep(s, fall, after);
            *moved = true;
            return HK_OK;
        }
        HK_TRY(go_back(fit));
        s->damping = fmax(LEAST_RAISED, s->damping) * ldexp(10, attempt);
    }
    return go_back(fit);
}

// K and all derivatives where the search is; false: the pose is not stable.
static hk_status look_around(search *s, bool *stable)
{
    HK_TRY(hk_fit_linearise(s->fit, stable));
    if (!*stable) return HK_OK;
    memcpy(s->fit->best_x, s->fit->equilibrium->x,
           4 * sizeof(double) * (size_t)s->fit->equilibrium->model->vertex_count);
    hk_fit_find_residuals(s->fit);
    return hk_fit_find_sensitivity(s->fit);
}

// Another pose than the one that the search was led to, found from rest, that is nearer to the
// target: soft bodies may have folded on the way.
static hk_status look_for_branch(search *s, bool *better)
{
    hk_fit *fit = s->fit;
    const hk_equilibrium *e = fit->equilibrium;
    int64_t size = 4 * (int64_t)e->model->vertex_count;
    double apart = 0, after = INFINITY;
    bool found;
    *better = false;
    if (s->branches++ >= MOST_BRANCHES) return HK_OK;
    HK_TRY(find_pose(s, NULL, &found));
    if (found) after = hk_fit_objective(fit, s->scale);
    for (int64_t k = 0; k < size; k++) apart = fmax(apart, fabs(e->x[k] - fit->best_x[k]));
    *better = apart > APART * fit->size && after < s->objective;
    if (!*better) return go_back(fit);
    memcpy(fit->best_x, e->x, sizeof(double) * (size_t)size);
    return HK_OK;
}

// Whether there is something to be gained by steps where the gradient is small: a perfect fit has
// no residuals for it to be small beside.
static bool is_worth_more(search *s)
{
    hk_fit *fit = s->fit;
    double misfit = sqrt(2 * s->objective);
    bool small_beside_it = true;
    for (int k = 0; k < fit->variable_count; k++)
        if (is_free(fit, k) &&
            fabs(fit->gradient[k]) > fit->settings.tolerance * fit->norm[k] * misfit)
            small_beside_it = false;
    solve_damped(fit, 0);
    return !small_beside_it && longest_step(fit) > LEFT && s->further++ < MOST_FURTHER;
}

// What to do where the gradient vanishes: with Huber's function go on without it; with least
// squares go on where something changed sides. `over`: neither.
static void take_end(search *s, bool *over)
{
    int changed = hk_fit_sort_out(s->fit);
    *over = !s->rough && (changed == 0 || ++s->rounds > MOST_ROUNDS);
    s->rough = false;
}

static hk_status stop(search *s, hk_reason reason, const char *detail)
{
    s->end->reason = reason;
    snprintf(s->end->detail, sizeof s->end->detail, "%s", detail);
    return HK_OK;
}

// The gradient is small. `moved`: another pose is nearer.
static hk_status settle(search *s, bool *over, bool *moved)
{
    *over = false;
    if (s->branches == 0 || (s->rough && s->branches < MOST_BRANCHES)) {
        HK_TRY(look_for_branch(s, moved));
        if (*moved) return HK_OK;
    }
    take_end(s, over);
    return HK_OK;
}

static hk_status iterate(search *s, int *iterations)
{
    hk_fit *fit = s->fit;
    bool moved = true, stable = false, over = false;
    while (true) {
        if (moved) HK_TRY(look_around(s, &stable));
        if (!stable) {
            fit->moved = -1;  // no derivatives
            return stop(s, HK_STALLED,
                        "the pose is not stable: hold the body in more places, or begin with a "
                        "stiffer material");
        }
        set_weights(s);
        double relative = hk_fit_find_normal(fit);
        hk_fit_diagonalise(fit, false);
        if (!tell(s, *iterations, relative)) return stop(s, HK_STOPPED, "");
        bool small = relative <= (s->rough ? ROUGHLY : fit->settings.tolerance);
        if (small && (s->rough || !is_worth_more(s))) {
            HK_TRY(settle(s, &over, &moved));
            if (over) return stop(s, HK_CONVERGED, "");
            continue;
        }
        if (*iterations == fit->settings.iterations)
            return stop(s, HK_ITERATION_LIMIT, "more iterations may lead further");
        HK_TRY(advance(s, &moved));
        if (fit->stopped) return stop(s, HK_STOPPED, "");
        *iterations += moved;
        if (moved) continue;
        if (!small && !s->rough)
            return stop(s, HK_STALLED, "no step brings the pose nearer to the target");
        s->further = small ? MOST_FURTHER : 0;
        HK_TRY(settle(s, &over, &moved));
        if (over) return stop(s, HK_CONVERGED, "");
    }
}

hk_status hk_fit_run(hk_fit *fit, int *iterations, hk_fit_end *end)
{
    search s = {.fit = fit, .damping = FIRST_DAMPING, .end = end, .rough = true};
    bool found;
    *iterations = 0;
    *end = (hk_fit_end){.reason = HK_CONVERGED};
    memset(fit->left_out, 0, (size_t)fit->observed_count);
    fit->outlier_count = 0;
    if (!(fit->settings.outlier > 0)) s.rough = false;
    HK_TRY(begin(&s, &found));
    if (fit->stopped) return stop(&s, HK_STOPPED, "");
    if (found) return iterate(&s, iterations);
    if (end->reason == HK_NOT_HELD) return HK_OK;
    char why[sizeof end->detail];
    memcpy(why, end->detail, sizeof why);
    snprintf(end->detail, sizeof end->detail,
             "no pose was found to begin with: begin with a stiffer material (%.200s)", why);
    end->reason = HK_LOAD_STEP_LIMIT;
    return HK_OK;
}
