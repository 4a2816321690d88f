// Solvers of f(x, X) = 0 that TwoWay tried and found wanting (section 4.2, Figure 3), on top of the
// library's forces and derivatives: gradient descent and nonlinear conjugate gradients with the
// blocks of the diagonal as a preconditioner, and Newton's method with so many sweeps of Jacobi's
// method or iterations of BiCGStab for its systems. The derivative is evaluated in every iteration.
// As in the document a step may raise the residual, but not by too much; where it does, or turns a
// tet inside out, it is halved.
#include <math.h>

#include "bench.h"
#include "design/curves.h"

#define MOST_RISE     1e4
#define SHORTEST      (1.0 / 1024)
#define JACOBI_WEIGHT 0.5
enum { RECENT = 16 };  // iterations after which descent looks back

typedef struct body {
    hk_inverse *inverse;
    int64_t size;  // of a vector
    double *X, *trial, *force, *tried;
    double *inverse_blocks;  // [vertex_count][9] of the diagonal of ∂f/∂X
    double residual;         // ‖f‖
    curve curve;
    double tolerance;
} body;

static double *new_vector(const body *b)
{
    return HK_ZEROS(double, b->size);  // aligned for the kernels
}

static bool evaluate(body *b, const double *X, double *force, double *residual)
{
    double least;
    if (!hk_inverse_force(b->inverse, X, force, &least)) return false;
    *residual = hk_inverse_norm(b->inverse, force);
    return isfinite(*residual);
}

static void begin(body *b, const hk_model *model, const descent_options *o, const char *name,
                  FILE *file)
{
    *b = (body){.tolerance = o->tolerance};
    bench_check(hk_inverse_create(model, o->threads, &b->inverse));
    b->size = 4 * (int64_t)hk_model_vertex_count(model);
    b->X = new_vector(b);
    b->trial = new_vector(b);
    b->force = new_vector(b);
    b->tried = new_vector(b);
    b->inverse_blocks = HK_ZEROS(double, 9 * (size_t)hk_model_vertex_count(model));
    memcpy(b->X, b->inverse->x, sizeof(double) * (size_t)b->size);
    curve_begin(&b->curve, file, name, o->longest);
    evaluate(b, b->X, b->force, &b->residual);
    curve_add(&b->curve, b->residual / b->inverse->scale, 0);
}

static void end(body *b)
{
    curve_end(&b->curve);
    hk_inverse_free(b->inverse);
    hk_free(b->X);
    hk_free(b->trial);
    hk_free(b->force);
    hk_free(b->tried);
    hk_free(b->inverse_blocks);
}

static double dot(const body *b, const double *u, const double *v)
{
    return hk_problem_dot(b->inverse->problem, u, v);
}

// ---------------------------------------------------------------- the diagonal

static void add_diagonal(void *context, int32_t row, int32_t column, const double block[9])
{
    double *blocks = context;
    for (int k = 0; k < 9 && row == column; k++) blocks[9 * (int64_t)row + k] += block[k];
}

static void invert(double m[9])
{
    double c[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, p = (j + 1) % 3, q = (j + 2) % 3;
            c[3 * j + i] = m[3 * a + p] * m[3 * b + q] - m[3 * a + q] * m[3 * b + p];
        }
    double det = m[0] * c[0] + m[1] * c[3] + m[2] * c[6];
    for (int k = 0; k < 9; k++) m[k] = det != 0 ? c[k] / det : 0;
}

static void linearise(body *b)
{
    bench_check(hk_inverse_linearise(b->inverse, b->X, HK_WHOLE_JACOBIAN));
    memset(b->inverse_blocks, 0, 9 * sizeof(double) * (size_t)(b->size / 4));
    hk_inverse_visit(b->inverse, add_diagonal, b->inverse_blocks);
    for (int64_t k = 0; k < b->size / 4; k++) invert(b->inverse_blocks + 9 * k);
}

// to = D⁻¹ from
static void precondition(const body *b, const double *from, double *to)
{
    const uint8_t *held = b->inverse->problem->held;
    for (int64_t k = 0; k < b->size / 4; k++)
        for (int i = 0; i < 3; i++) {
            const double *row = b->inverse_blocks + 9 * k + 3 * i, *f = from + 4 * k;
            to[4 * k + i] = held[k] ? 0 : row[0] * f[0] + row[1] * f[1] + row[2] * f[2];
        }
}

// ---------------------------------------------------------------- steps

// Goes along `step`, at most `length` of it; false: not even a short step is possible.
static bool go_along(body *b, const double *step, double length)
{
    double most = MOST_RISE * fmax(b->residual, b->inverse->scale), residual;
    for (double part = 1; part >= SHORTEST; part *= 0.5) {
        for (int64_t i = 0; i < b->size; i++) b->trial[i] = b->X[i] + part * length * step[i];
        if (!evaluate(b, b->trial, b->tried, &residual) || residual > most) continue;
        double *X = b->X, *force = b->force;
        b->X = b->trial;
        b->force = b->tried;
        b->trial = X;
        b->tried = force;
        b->residual = residual;
        return true;
    }
    return false;
}

static bool tell(body *b)
{
    return curve_add(&b->curve, b->residual / b->inverse->scale, b->tolerance);
}

// ---------------------------------------------------------------- descent

// The step length is halved where the residual has not fallen for some iterations.
static double choose_length(const body *b, double length, double *looked_back)
{
    if (b->curve.iteration % RECENT != 0) return length;
    if (b->residual >= *looked_back) length *= 0.5;
    *looked_back = b->residual;
    return length;
}

void run_gradient_descent(const hk_model *model, const descent_options *o, FILE *file)
{
    body b;
    begin(&b, model, o, "gradient descent (Jacobi)", file);
    double *step = new_vector(&b), length = 0.5, looked_back = INFINITY;
    do {
        linearise(&b);
        precondition(&b, b.force, step);
        for (int64_t i = 0; i < b.size; i++) step[i] = -step[i];
        length = choose_length(&b, length, &looked_back);
    } while (go_along(&b, step, length) && tell(&b));
    hk_free(step);
    end(&b);
}

// Polak and Ribière, from the beginning where that is negative.
void run_nonlinear_cg(const hk_model *model, const descent_options *o, FILE *file)
{
    body b;
    begin(&b, model, o, "nonlinear conjugate gradients", file);
    double *z = new_vector(&b), *before = new_vector(&b), *step = new_vector(&b);
    double length = 0.5, looked_back = INFINITY, old = 0;
    do {
        linearise(&b);
        precondition(&b, b.force, z);
        double now = dot(&b, b.force, z), mixed = dot(&b, before, z);
        double beta = old != 0 ? fmax(0, (now - mixed) / old) : 0;
        for (int64_t i = 0; i < b.size; i++) step[i] = -z[i] + fmin(beta, 1) * step[i];
        memcpy(before, b.force, sizeof(double) * (size_t)b.size);
        old = now;
        length = choose_length(&b, length, &looked_back);
    } while (go_along(&b, step, length) && tell(&b));
    hk_free(z);
    hk_free(before);
    hk_free(step);
    end(&b);
}

// ---------------------------------------------------------------- Newton's method

void run_newton_jacobi(const hk_model *model, const descent_options *o, int sweeps, FILE *file)
{
    body b;
    char name[64];
    snprintf(name, sizeof name, "Newton with %d Jacobi sweeps", sweeps);
    begin(&b, model, o, name, file);
    double *step = new_vector(&b), *left = new_vector(&b), *change = new_vector(&b);
    do {
        linearise(&b);
        memset(step, 0, sizeof(double) * (size_t)b.size);
        for (int k = 0; k < sweeps; k++) {
            hk_inverse_product(b.inverse, step, left);
            for (int64_t i = 0; i < b.size; i++) left[i] = -b.force[i] - left[i];
            precondition(&b, left, change);
            for (int64_t i = 0; i < b.size; i++) step[i] += JACOBI_WEIGHT * change[i];
        }
    } while (go_along(&b, step, 1) && tell(&b));
    hk_free(step);
    hk_free(left);
    hk_free(change);
    end(&b);
}

// The vectors of BiCGStab (van der Vorst 1992).
typedef struct bicgstab {
    double *x, *r, *shadow, *p, *v, *s, *t, *y, *z;
} bicgstab;

static void make_bicgstab(const body *b, bicgstab *w)
{
    double **vectors[] = {&w->x, &w->r, &w->shadow, &w->p, &w->v, &w->s, &w->t, &w->y, &w->z};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) *vectors[k] = new_vector(b);
}

static void free_bicgstab(bicgstab *w)
{
    double *vectors[] = {w->x, w->r, w->shadow, w->p, w->v, w->s, w->t, w->y, w->z};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++) hk_free(vectors[k]);
}

// x = −J⁻¹ f, as near as `most` iterations come to it.
static void solve_bicgstab(body *b, bicgstab *w, int most)
{
    double rho = 1, alpha = 1, omega = 1, target = 1e-10 * b->residual;
    size_t bytes = sizeof(double) * (size_t)b->size;
    memset(w->x, 0, bytes);
    memset(w->p, 0, bytes);
    memset(w->v, 0, bytes);
    for (int64_t i = 0; i < b->size; i++) w->r[i] = w->shadow[i] = -b->force[i];
    for (int k = 0; k < most && bench_cpu() - b->curve.start < b->curve.longest; k++) {
        double next = dot(b, w->shadow, w->r), beta = next / rho * (alpha / omega);
        if (!isfinite(beta) || next == 0) return;
        rho = next;
        for (int64_t i = 0; i < b->size; i++)
            w->p[i] = w->r[i] + beta * (w->p[i] - omega * w->v[i]);
        precondition(b, w->p, w->y);
        hk_inverse_product(b->inverse, w->y, w->v);
        alpha = rho / dot(b, w->shadow, w->v);
        if (!isfinite(alpha)) return;
        for (int64_t i = 0; i < b->size; i++) w->s[i] = w->r[i] - alpha * w->v[i];
        precondition(b, w->s, w->z);
        hk_inverse_product(b->inverse, w->z, w->t);
        omega = dot(b, w->t, w->s) / dot(b, w->t, w->t);
        if (!isfinite(omega) || omega == 0) return;
        for (int64_t i = 0; i < b->size; i++) {
            w->x[i] += alpha * w->y[i] + omega * w->z[i];
            w->r[i] = w->s[i] - omega * w->t[i];
        }
        if (hk_inverse_norm(b->inverse, w->r) <= target) return;
    }
}

void run_newton_bicgstab(const hk_model *model, const descent_options *o, int most, FILE *file)
{
    body b;
    bicgstab w;
    char name[64];
    snprintf(name, sizeof name, "Newton with %d BiCGStab iterations", most);
    begin(&b, model, o, name, file);
    make_bicgstab(&b, &w);
    do {
        linearise(&b);
        solve_bicgstab(&b, &w, most);
    } while (go_along(&b, w.x, 1) && tell(&b));
    free_bicgstab(&w);
    end(&b);
}
