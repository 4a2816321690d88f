#define HK_DOUBLE 1
#define HK_LANES  1
#include "material/custom_call.h"

#include <stdbool.h>

#include "material/law.h"
#include "math/dense.h"

// ---------------------------------------------------------------- energy, stress, stiffness

static bool all_finite(const double F[9])
{
    double sum = 0;
    for (int k = 0; k < 9; k++) sum += fabs(F[k]);
    return sum < INFINITY;
}

double hk_custom_energy(const hk_custom_law *law, const double F[9])
{
    if (!all_finite(F)) return INFINITY;
    double energy = law->energy(law->context, F);
    return energy < INFINITY ? energy : INFINITY;  // also NaN
}

double hk_custom_stress(const hk_custom_law *law, const double F[9], double P[9])
{
    double energy = hk_custom_energy(law, F);
    memset(P, 0, 9 * sizeof *P);
    if (energy < INFINITY) law->stress(law->context, F, P);
    return energy;
}

// Central differences, of one side where the law is not defined on the other. A step of ε^(1/3)
// leaves an error of about ε^(2/3) of the stress and of its third derivative.
static void difference(const hk_custom_law *law, const double F[9], double H[81])
{
    const double step = 6e-6;
    double at[9], from[9], to[9], moved[9];
    hk_custom_stress(law, F, at);
    for (int k = 0; k < 9; k++) {
        memcpy(moved, F, sizeof moved);
        volatile double low = F[k] - step, high = F[k] + step;  // as they are rounded
        double first = low, last = high;
        moved[k] = first;
        if (!(hk_custom_stress(law, moved, from) < INFINITY)) {
            memcpy(from, at, sizeof from);
            first = F[k];
        }
        moved[k] = last;
        if (!(hk_custom_stress(law, moved, to) < INFINITY)) {
            memcpy(to, at, sizeof to);
            last = F[k];
        }
        for (int i = 0; i < 9; i++)
            H[9 * i + k] = last > first ? (to[i] - from[i]) / (last - first) : 0;
    }
}

// ---------------------------------------------------------------- symmetric 9×9 matrices

enum { N = 9 };

static void symmetrise(double H[81])
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            H[N * i + j] = H[N * j + i] = 0.5 * (H[N * i + j] + H[N * j + i]);
}

static bool is_positive(const double H[81])
{
    double l[81];
    memcpy(l, H, sizeof l);
    return hk_dense_factor(l, N);
}

// Multiplies negative eigenvalues by keep.
static void raise_eigenvalues(double H[81], double keep)
{
    double a[81], v[81], size = 0;
    for (int k = 0; k < 81; k++) size += H[k] * H[k];
    if (size < INFINITY) hk_dense_project(H, N, keep, a, v);
}

void hk_custom_hessian(const hk_custom_law *law, const double F[9], double keep, double H[81])
{
    memset(H, 0, 81 * sizeof *H);
    if (!(hk_custom_energy(law, F) < INFINITY)) return;
    if (law->hessian)
        law->hessian(law->context, F, H);
    else
        difference(law, F, H);
    symmetrise(H);
    if (keep < 1 && !is_positive(H)) raise_eigenvalues(H, keep);
}

// ---------------------------------------------------------------- tet by tet

// The rotation nearest to F, and F with its stretches within [low, high].
static void nearest(const double F[9], double low, double high, double R[9], double clamped[9])
{
    mat3 f;
    memcpy(f.m, F, sizeof f.m);
    svd3 s = svd3_of(f);
    mat3 rotation = polar_rotation_of(s);
    vec3 stretch;
    for (int i = 0; i < 3; i++) stretch.v[i] = fmin(fmax(s.s.v[i], low), high);
    mat3 within = m3_mult(m3_scale_columns(s.u, stretch), s.v);
    memcpy(R, rotation.m, sizeof rotation.m);
    if (clamped) memcpy(clamped, within.m, sizeof within.m);
}

// (1 − l) ψ + l w‖F − R‖² with its gradient and, if H is not NULL, its Hessian, R being held.
static double blended(const hk_custom_blend *b, const double F[9], double keep, double P[9],
                      double H[81])
{
    double energy = 0, own = 1 - b->weight, w = b->weight * b->stiffness;
    memset(P, 0, 9 * sizeof *P);
    if (H) memset(H, 0, 81 * sizeof *H);
    if (own > 0) {  // else the law takes no part, and need not be defined
        energy = own * hk_custom_stress(b->law, F, P);
        if (H) hk_custom_hessian(b->law, F, keep, H);
        for (int k = 0; k < 9; k++) P[k] *= own;
        for (int k = 0; H && k < 81; k++) H[k] *= own;
    }
    if (!(w > 0)) return energy;
    double R[9];
    nearest(F, 0, 1, R, NULL);
    for (int k = 0; k < 9; k++) {
        energy += w * (F[k] - R[k]) * (F[k] - R[k]);
        P[k] += 2 * w * (F[k] - R[k]);
        if (H) H[10 * k] += 2 * w;
    }
    return energy;
}

// −(H + k)⁻¹ g with eigenvalues of at least k/10: always downhill.
static void newton_step(double H[81], double k, const double g[9], double step[9])
{
    for (int j = 0; j < N; j++) H[10 * j] += 0.9 * k;
    if (!is_positive(H)) raise_eigenvalues(H, 0);
    for (int j = 0; j < N; j++) {
        H[10 * j] += 0.1 * k;
        step[j] = -g[j];
    }
    if (hk_dense_factor(H, N))
        hk_dense_solve(H, N, step);
    else
        memset(step, 0, N * sizeof *step);  // it is not finite
}

// ψ(z) + k/2 ‖z − p‖² with its gradient and the Hessian of ψ.
static double prox_merit(const hk_custom_blend *blend, double k, const double p[9],
                         const double z[9], double g[9], double H[81])
{
    double merit = blended(blend, z, 1, g, H);
    for (int i = 0; i < 9; i++) {
        double away = z[i] - p[i];
        merit += 0.5 * k * away * away;
        g[i] += k * away;
    }
    return merit;
}

// As prox_stretches, over all of F. The first guess is the best of p, of stretches that most laws
// can do, and of none.
void hk_custom_prox(const hk_custom_blend *blend, double k, const double p[9], double z[9])
{
    enum { PASSES = 24, GUESSES = 3 };
    const double epsilon = 2.3e-16, tolerance = 1e-13 * k;
    double guess[GUESSES][9], g[9], H[81], step[9] = {0}, trial[9], least = INFINITY;
    memcpy(z, p, 9 * sizeof *z);
    if (!all_finite(p)) return;
    memcpy(guess[0], p, sizeof guess[0]);
    nearest(p, 0.1, 2, guess[2], guess[1]);
    memcpy(trial, p, sizeof trial);
    for (int n = 0; n < GUESSES; n++) {
        double merit = prox_merit(blend, k, p, guess[n], g, NULL);
        if (!(merit < least)) continue;
        least = merit;
        memcpy(trial, guess[n], sizeof trial);
    }
    least = INFINITY;
    for (int pass = 0; pass < PASSES; pass++) {
        double merit = prox_merit(blend, k, p, trial, g, H), slope = 0;
        for (int i = 0; i < 9; i++) slope = fmax(slope, fabs(g[i]));
        double noise = 8 * epsilon * (fabs(merit) + k);
        bool good =
            merit < INFINITY && slope < INFINITY && (!(least < INFINITY) || merit <= least + noise);
        if (good) {
            memcpy(z, trial, sizeof trial);
            least = fmin(merit, least);
            if (slope <= tolerance) return;
            newton_step(H, k, g, step);
        } else if (!(least < INFINITY)) {
            return;  // none is defined
        }
        for (int i = 0; i < 9; i++) {
            if (!good) step[i] *= 0.5;
            trial[i] = z[i] + step[i];
        }
    }
}

void hk_custom_response(const hk_custom_blend *blend, const double F[9], double P[9], double H[81])
{
    double energy = blended(blend, F, 0, P, H), sum = fabs(energy);
    for (int k = 0; k < 9; k++) sum += fabs(P[k]);
    for (int k = 0; k < 81; k++) sum += fabs(H[k]);
    if (sum < INFINITY) return;
    const hk_custom_blend all = {blend->law, 1, blend->stiffness};
    memset(P, 0, 9 * sizeof *P);
    memset(H, 0, 81 * sizeof *H);
    if (all_finite(F)) blended(&all, F, 0, P, H);
}
