// Quasi-minimal residuals by coupled two-term recurrences without look-ahead (Freund & Nachtigal
// 1994, as in Barrett et al., Templates for the Solution of Linear Systems, 1994, with M₁ = M and
// M₂ = 1). For symmetric A and M the left vectors are the right ones before M⁻¹, w = v and q = p:
// products with Aᵀ are not needed.
#include "linear/krylov_parts.h"

// A denominator that is nothing beside the vectors it is of.
static bool vanishes(double value, double scale)
{
    return !(fabs(value) > 1e-30 * scale);
}

typedef struct recurrence {
    double *v, *y;  // right Lanczos vector, and M⁻¹ of it: v itself where there is no M
    double *w, *z;  // left one, twice: M₂ = 1; those of v where A is symmetric
    double *p, *q, *Ap, *d, *s;
    bool symmetric, plain;  // A, and without M
    double rho, xi, epsilon;
} recurrence;

static recurrence begin(hk_krylov *k, double *r)
{
    size_t bytes = sizeof(double) * (size_t)k->size;
    recurrence f = {.symmetric = k->a->apply_transposed == NULL,
                    .plain = k->a->precondition == NULL};
    f.v = k->vector[0], f.p = k->vector[2], f.Ap = k->vector[3];
    f.d = k->vector[4], f.s = k->vector[5];
    f.y = f.plain ? f.v : k->vector[1];
    f.w = f.symmetric ? f.v : k->vector[6];
    f.q = f.symmetric ? f.p : k->vector[7];
    f.z = k->vector[8];
    memcpy(f.v, r, bytes);
    memset(f.d, 0, bytes);
    memset(f.s, 0, bytes);
    if (!f.plain) hk_krylov_precondition(k, f.v, f.y);
    f.rho = hk_krylov_norm(k, f.y);
    if (!f.symmetric) memcpy(f.w, r, bytes);
    f.xi = f.symmetric ? f.rho : hk_krylov_norm(k, f.w);
    return f;
}

// v, y, w become unit vectors; returns δ = wᵀ y, which is 1 where all three are one.
static double normalise(hk_krylov *k, recurrence *f)
{
    hk_krylov_scale(k, 1 / f->rho, f->v, f->v);
    if (!f->plain) hk_krylov_scale(k, 1 / f->rho, f->y, f->y);
    if (!f->symmetric) hk_krylov_scale(k, 1 / f->xi, f->w, f->w);
    return f->plain && f->symmetric ? 1 : hk_krylov_dot(k, f->w, f->y);
}

// q goes with M⁻ᵀ w.
static void find_directions(hk_krylov *k, recurrence *f, double delta, bool first)
{
    double back = first ? 0 : -f->xi * delta / f->epsilon;
    if (first)
        memcpy(f->p, f->y, sizeof(double) * (size_t)k->size);
    else
        hk_krylov_onto(k, f->y, back, f->p);
    if (f->symmetric) return;
    hk_krylov_precondition(k, f->w, f->z);
    if (first)
        memcpy(f->q, f->z, sizeof(double) * (size_t)k->size);
    else
        hk_krylov_onto(k, f->z, -f->rho * delta / f->epsilon, f->q);
}

// v = A p − β v, w = Aᵀ q − β w.
static void advance(hk_krylov *k, recurrence *f, double beta)
{
    if (f->plain)
        f->rho = hk_krylov_onto_norm(k, f->Ap, -beta, f->v);
    else {
        hk_krylov_onto(k, f->Ap, -beta, f->v);
        hk_krylov_precondition(k, f->v, f->y);
        f->rho = hk_krylov_norm(k, f->y);
    }
    f->xi = f->rho;
    if (f->symmetric) return;
    k->a->apply_transposed(k->a->context, f->q, f->z);
    f->xi = hk_krylov_onto_norm(k, f->z, -beta, f->w);
}

hk_krylov_end hk_krylov_qmr(hk_krylov *k, double *r)
{
    recurrence f = begin(k, r);
    double gamma = 1, eta = -1, theta = 0;
    for (bool first = true;; first = false) {
        if (f.rho == 0 || f.xi == 0) return HK_KRYLOV_BROKEN;
        double rho = f.rho, delta = normalise(k, &f);
        if (vanishes(delta, 1)) return HK_KRYLOV_BROKEN;
        find_directions(k, &f, delta, first);
        hk_krylov_apply(k, f.p, f.Ap);
        f.epsilon = hk_krylov_dot(k, f.q, f.Ap);
        double beta = f.epsilon / delta;
        if (vanishes(f.epsilon, 1) || !isfinite(beta)) return HK_KRYLOV_BROKEN;
        advance(k, &f, beta);
        double theta_before = theta, gamma_before = gamma;
        theta = f.rho / (gamma_before * fabs(beta));
        gamma = 1 / sqrt(1 + theta * theta);
        if (gamma == 0) return HK_KRYLOV_BROKEN;
        eta *= -rho * gamma * gamma / (beta * gamma_before * gamma_before);
        double keep = theta_before * gamma * (theta_before * gamma);
        hk_krylov_direction to = {f.p, f.Ap, f.d, f.s};
        if (hk_krylov_stops(k, hk_krylov_step(k, &to, eta, keep, r))) return HK_KRYLOV_DONE;
    }
}
