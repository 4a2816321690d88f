// The fixed point and Newton–GMRES, both with rotation–strain steps and the merit ‖K⁻¹ f‖.
#include <math.h>

#include "design/rest_solver.h"

// What Newton's steps are solved to, relative to their right-hand side, and in how many iterations.
#define FORCING 1e-2
// Where this is left to do of the residual, or more, the step is solved for as well as it takes to
// be the last.
#define LAST_STEP 1e-4
enum { MOST_GMRES = 40 };
// What is left of the right-hand side then where a factorisation is worth its while.
#define POOR 0.1
// Iterations of GMRES with a warped factor that cost about as much as a new one.
enum { MOST_WARPED = 40 };
#define SHORTEST_FIXED_POINT 0.25
#define SHORTEST_NEWTON      (1.0 / 256)
// A fixed point that gains less than this per iteration, twice in a row, is slower than Newton's
// method.
#define SLOW_RATE 0.5
enum { PATIENCE = 2 };
// Where K⁻¹ f is a shorter way than this, relative to the size of the bodies, the fixed point
// converges linearly, and secants help. What a step along them must leave of the merit at most.
#define NEAR       1e-3
#define WORTH_THAT 0.95

// to = −F̂ from, the mean of F̂ = F⁻¹ around each vertex.
static void carry_back(hk_rest_solver *s, const double *X, const double *from, double *to)
{
    const hk_problem *p = s->inverse->problem;
    hk_rest_tets_carry(s->inverse->tets, X, from, to);
    for (int k = 0; k < p->vertex_count; k++)
        for (int64_t i = 4 * (int64_t)k; i < 4 * (int64_t)k + 4; i++)
            to[i] = p->held[k] ? 0 : -to[i];
}

// The step of the fixed point at `now`, and along it.
static bool take_plain_step(hk_rest_solver *s, double shortest)
{
    double clock = hk_now();
    carry_back(s, s->now.X, s->now.pull, s->step);
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    return hk_rest_advance(s, shortest);
}

// The same with what the last steps tell, as long as that is worth its while.
static hk_status take_secant_step(hk_rest_solver *s, double shortest, bool *advanced)
{
    double clock = hk_now(), length = 1;
    bool improved;
    carry_back(s, s->now.X, s->now.pull, s->step);
    HK_TRY(hk_secant_improve(&s->secant, s->now.X, s->step, &improved));
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    *advanced = false;
    if (improved) {
        bool tried = hk_rest_try(s, &length) && length == 1 && s->trial.sound;
        *advanced = tried && s->trial.merit <= WORTH_THAT * s->now.merit;
        if (*advanced) hk_rest_take_trial(s);
        if (*advanced) return HK_OK;
        hk_secant_forget(&s->secant);
        if (!hk_rest_go_on(s)) return HK_OK;
        *advanced = take_plain_step(s, shortest);
        return HK_OK;
    }
    *advanced = hk_rest_advance(s, shortest);
    return HK_OK;
}

hk_status hk_rest_fixed_point(hk_rest_solver *s, hk_rest_end *end)
{
    bool may_leave = s->settings.method == HK_REST_AUTO, advanced;
    double shortest = may_leave ? SHORTEST_FIXED_POINT : SHORTEST_NEWTON;
    int slow = 0;
    hk_secant_forget(&s->secant);
    for (int k = 0; k < s->settings.iterations; k++) {
        if (hk_rest_converged(s, s->settings.tolerance)) {
            *end = HK_REST_DONE;
            return HK_OK;
        }
        double merit = s->now.merit;
        if (s->now.length <= NEAR * s->inverse->problem->size)
            HK_TRY(take_secant_step(s, shortest, &advanced));
        else
            advanced = take_plain_step(s, shortest);
        if (!advanced) {
            *end = s->stopped ? HK_REST_STOPPED : HK_REST_STUCK;
            return HK_OK;
        }
        *end = HK_REST_STOPPED;
        if (!hk_rest_tell(s, 0)) return HK_OK;
        *end = HK_REST_SLOW;
        slow = k > 0 && s->now.merit > SLOW_RATE * merit ? slow + 1 : 0;
        if (may_leave && slow == PATIENCE) return HK_OK;
    }
    *end = hk_rest_converged(s, s->settings.tolerance) ? HK_REST_DONE : HK_REST_SPENT;
    return HK_OK;
}

// to = F̂ K⁻¹ (∂f/∂X from), the mean of F̂ around each vertex.
static hk_status apply_preconditioned(void *context, const double *from, double *to)
{
    hk_rest_solver *s = context;
    double clock = hk_now();
    hk_inverse_product(s->inverse, from, s->trial.force);
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    HK_TRY(hk_precondition_stiffness(s->precondition, s->trial.force, s->trial.pull));
    s->phase_s[HK_PHASE_SOLVE] += hk_lap(&clock);
    carry_back(s, s->now.X, s->trial.pull, to);
    for (int64_t i = 0; i < 4 * (int64_t)s->inverse->problem->vertex_count; i++) to[i] = -to[i];
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    return HK_OK;
}

// Not where there was no room for a factor of K.
static bool can_use_lu(const hk_rest_solver *s)
{
    return hk_lu_available() && s->precondition->way == &hk_by_direct;
}

// Where the body is stretched many times over K is no longer like ∂f/∂X: then a factorisation of
// that. `by_lu` is false where it finds it singular, and the step is what it was.
static hk_status improve_step(hk_rest_solver *s, bool *by_lu)
{
    size_t bytes = 4 * sizeof(double) * (size_t)s->inverse->problem->vertex_count;
    memcpy(s->right, s->step, bytes);
    if (!strstr(s->report->attempts, "LU steps")) hk_rest_note(s->report, "LU steps");
    HK_TRY(hk_rest_lu_step(s, by_lu));
    if (!*by_lu) memcpy(s->step, s->right, bytes);
    return HK_OK;
}

// A last step has room for what the derivative does not know of.
static double choose_forcing(const hk_rest_solver *s, double tolerance)
{
    double wanted = tolerance * s->inverse->load * s->inverse->scale / s->now.residual;
    return wanted > LAST_STEP ? fmin(0.3 * wanted, 0.3) : FORCING;
}

// Newton's step at `now` by GMRES, and what is left of its right-hand side; trial is workspace.
static hk_status newton_step(hk_rest_solver *s, double forcing, int *iterations, double *left)
{
    double clock = hk_now();
    bool warped = s->precondition->warped;
    HK_TRY(hk_inverse_linearise(s->inverse, s->now.X, s->settings.components));
    carry_back(s, s->now.X, s->now.pull, s->right);
    s->phase_s[HK_PHASE_ELEMENTS] += hk_lap(&clock);
    HK_TRY(hk_gmres_solve(&s->gmres, apply_preconditioned, s, forcing,
                          warped ? MOST_WARPED : MOST_GMRES, s->right, s->step, iterations, left));
    if (warped) s->warped_krylov += *iterations;
    if (warped) HK_TRY(hk_gmres_keep(&s->gmres));
    return HK_OK;
}

// One iteration: HK_REST_DONE where it got on.
static hk_status iterate(hk_rest_solver *s, double tolerance, bool *by_lu, int *iterations,
                         hk_rest_end *end)
{
    bool warped = s->precondition->warped, advanced;
    double left = 0;
    *iterations = 0;
    *end = HK_REST_SLOW;
    if (warped && s->warped_krylov >= MOST_WARPED) return HK_OK;
    double forcing = choose_forcing(s, tolerance), poor = fmax(POOR, 2 * forcing);
    if (!*by_lu) HK_TRY(newton_step(s, forcing, iterations, &left));
    if (s->stopped) *end = HK_REST_STOPPED;
    if (s->stopped || (warped && left > poor)) return HK_OK;
    if (*by_lu || (left > poor && can_use_lu(s))) HK_TRY(improve_step(s, by_lu));
    if (*by_lu)
        HK_TRY(hk_rest_lu_advance(s, SHORTEST_NEWTON, &advanced));
    else
        advanced = hk_rest_advance(s, SHORTEST_NEWTON);
    *end = s->stopped ? HK_REST_STOPPED : advanced ? HK_REST_DONE : HK_REST_STUCK;
    if (s->step_length < 1) hk_gmres_forget(&s->gmres);  // ∂f/∂X is another matter now
    return HK_OK;
}

hk_status hk_rest_newton_gmres(hk_rest_solver *s, double tolerance, int most, hk_rest_end *end)
{
    bool by_lu = false;
    for (int k = 0; k < most; k++) {
        int iterations;
        *end = HK_REST_DONE;
        if (hk_rest_converged(s, tolerance)) return HK_OK;
        HK_TRY(iterate(s, tolerance, &by_lu, &iterations, end));
        if (*end != HK_REST_DONE) return HK_OK;
        *end = HK_REST_STOPPED;
        if (!hk_rest_tell(s, iterations)) return HK_OK;
    }
    *end = hk_rest_converged(s, tolerance) ? HK_REST_DONE : HK_REST_SPENT;
    return HK_OK;
}
