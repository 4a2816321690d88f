// MINRES (Paige & Saunders 1975) with a positive definite preconditioner: Lanczos vectors v of A,
// orthogonal by M⁻¹, and Givens rotations of their tridiagonal matrix.
#include "linear/krylov_parts.h"

// Three of a kind, the newest first.
typedef struct triple {
    double *now, *before, *first;
} triple;

static void shift(triple *t)
{
    double *oldest = t->first;
    t->first = t->before;
    t->before = t->now;
    t->now = oldest;
}

// now = (from − a before − b first) / c
static void combine(const hk_krylov *k, const double *from, double a, double b, double c,
                    const triple *t)
{
    memcpy(t->now, from, sizeof(double) * (size_t)k->size);
    hk_krylov_add(k, -a, t->before, t->now);
    hk_krylov_add(k, -b, t->first, t->now);
    hk_krylov_scale(k, 1 / c, t->now, t->now);
}

hk_krylov_end hk_krylov_minres(hk_krylov *k, double *r)
{
    size_t bytes = sizeof(double) * (size_t)k->size;
    double *const *room = k->vector, *z = room[0], *Az = room[1], *ahead = room[11];
    triple v = {room[2], room[3], room[4]};    // Lanczos vectors, v.before the present one
    triple d = {room[5], room[6], room[7]};    // directions
    triple Ad = {room[8], room[9], room[10]};  // A d
    memcpy(v.before, r, bytes);
    hk_krylov_precondition(k, v.before, z);
    double beta = hk_krylov_dot(k, v.before, z), last = 0;
    double c = 1, c1 = 1, s = 0, s1 = 0;
    if (!(beta > 0)) return HK_KRYLOV_BROKEN;
    double eta = beta = sqrt(beta);
    memset(v.first, 0, bytes);
    memset(d.before, 0, bytes), memset(d.first, 0, bytes);
    memset(Ad.before, 0, bytes), memset(Ad.first, 0, bytes);
    for (;;) {
        hk_krylov_scale(k, 1 / beta, z, z);
        hk_krylov_apply(k, z, Az);
        double alpha = hk_krylov_dot(k, z, Az);
        combine(k, Az, alpha / beta, last > 0 ? beta / last : 0, 1, &v);
        // The last column of the tridiagonal matrix, turned.
        double rho = c * alpha - c1 * s * beta, rho2 = s * alpha + c1 * c * beta, rho3 = s1 * beta;
        hk_krylov_precondition(k, v.now, ahead);
        double next = hk_krylov_dot(k, v.now, ahead);
        next = next > 0 ? sqrt(next) : 0;
        double rho1 = hypot(rho, next);
        if (rho1 == 0) return HK_KRYLOV_BROKEN;
        c1 = c, s1 = s;
        c = rho / rho1, s = next / rho1;
        combine(k, z, rho2, rho3, rho1, &d);
        combine(k, Az, rho2, rho3, rho1, &Ad);
        hk_krylov_add(k, c * eta, d.now, k->x);
        hk_krylov_add(k, -c * eta, Ad.now, r);
        eta *= -s;
        if (hk_krylov_stops(k, hk_krylov_norm(k, r))) return HK_KRYLOV_DONE;
        if (next == 0) return HK_KRYLOV_BROKEN;
        double *free = z;
        z = ahead, ahead = free;
        last = beta, beta = next;
        shift(&v), shift(&d), shift(&Ad);
    }
}
