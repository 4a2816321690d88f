#include "design/balance.h"

#include <math.h>

// Rest lengths stay between these parts of the length in the shape.
#define SHORTEST 0.1
#define LONGEST  2.0
// ε falls from iteration to iteration of the proximal point method: which links are at their bounds
// is found out while the minimum is near. Where rounding makes the matrix indefinite it rises.
#define FIRST_SHIFT 1e-1
#define LESS_SHIFT  0.1
#define LAST_SHIFT  1e-8
#define MORE_SHIFT  100
// So does the rounding of the corners, relative to the usual load of a vertex.
#define FIRST_SOFTNESS 10
#define LESS_SOFTNESS  0.4
enum { OUTER = 60, SEARCH = 30 };
// What an iteration has to gain from here on for another to be worth it.
#define LATE_SHIFT 1e-5
#define SLOW       0.9
// 1/s², the square of a rate of growth that nobody sees.
#define SLOW_GROWTH 0.01

// ---------------------------------------------------------------- creation

static hk_status allocate(hk_balance *b)
{
    size_t links = (size_t)b->count, n = 4 * (size_t)b->vertex_count;
    b->direction = HK_ZEROS(double, 3 * links);
    b->tension = HK_ZEROS(double, links);
    b->slope = HK_ZEROS(double, links);
    b->low = HK_ZEROS(double, links);
    b->high = HK_ZEROS(double, links);
    b->blocks = HK_ZEROS(double, hk_terms_block_size(b->terms));
    b->values = HK_ARRAY(double, hk_pattern_size(&b->assembly->pattern));
    b->right = HK_ARRAY(double, 3 * (size_t)b->assembly->pattern.count);
    b->scale = HK_ZEROS(double, b->vertex_count);
    b->weight = HK_ZEROS(double, b->vertex_count);
    b->lambda = HK_ZEROS(double, n);
    b->anchor = HK_ZEROS(double, n);
    b->gradient = HK_ZEROS(double, n);
    b->step = HK_ZEROS(double, n);
    b->trial = HK_ZEROS(double, n);
    bool complete = b->direction && b->tension && b->slope && b->low && b->high && b->blocks &&
                    b->values && b->right && b->scale && b->weight && b->lambda && b->anchor &&
                    b->gradient && b->step && b->trial;
    return complete ? HK_OK : HK_NO_MEMORY;
}

// d of a link at the shape, differences first.
static void vector_of(const hk_balance *b, int link, double d[3])
{
    const hk_links *t = b->links;
    const double *first = b->x + 4 * (int64_t)t->vertex[t->start[link]];
    for (int i = 0; i < 3; i++) d[i] = 0;
    for (int a = t->start[link] + 1; a < t->start[link + 1]; a++)
        for (int i = 0; i < 3; i++)
            d[i] += t->coefficient[a] * (b->x[4 * (int64_t)t->vertex[a] + i] - first[i]);
}

// Links whose ring is flat have no direction, and carry nothing.
static void measure_links(hk_balance *b)
{
    const hk_links *t = b->links;
    for (int k = 0; k < b->count; k++) {
        double d[3];
        vector_of(b, k, d);
        if (t->rest[k] > 0) hk_unit3(d, b->direction + 3 * (int64_t)k);
        for (int a = t->start[k]; a < t->start[k + 1]; a++)
            b->scale[t->vertex[a]] += t->coefficient[a] * t->coefficient[a] * t->stiffness[k];
    }
}

static hk_status build(const hk_model *model, int threads, hk_balance *b)
{
    HK_TRY(hk_terms_create(model, HK_DOUBLE_PRECISION, threads, NULL, NULL, &b->terms));
    b->links = (const hk_links *)hk_terms_find(b->terms, &hk_links_term);
    b->vertex_count = model->vertex_count;
    b->count = b->links->spring_count + b->links->bend_count;
    HK_TRY(hk_assembly_create(b->terms, b->held, &b->assembly));
    HK_TRY(allocate(b));
    measure_links(b);
    if (b->assembly->pattern.count == 0) return HK_OK;
    return hk_direct_create(&b->assembly->pattern, &b->direct);
}

hk_status hk_balance_create(const hk_model *model, const uint8_t *held, const double *x,
                            const double *load, int threads, hk_balance **balance)
{
    hk_balance *b = HK_NEW(hk_balance);
    if (!b) return HK_NO_MEMORY;
    b->held = held;
    b->x = x;
    b->load = load;
    hk_status status = build(model, threads, b);
    if (status != HK_OK) {
        hk_balance_free(b);
        return status;
    }
    *balance = b;
    return HK_OK;
}

void hk_balance_free(hk_balance *b)
{
    if (!b) return;
    hk_direct_free(b->direct);
    hk_assembly_free(b->assembly);
    hk_terms_free(b->terms);
    double *all[] = {b->direction, b->tension, b->slope,    b->low,   b->high,
                     b->blocks,    b->values,  b->right,    b->scale, b->weight,
                     b->lambda,    b->anchor,  b->gradient, b->step,  b->trial};
    for (int k = 0; k < HK_COUNT_OF(all); k++) hk_free(all[k]);
    hk_free(b);
}

// ---------------------------------------------------------------- Φ

// to += sign × A s at free vertices.
static void add_forces(const hk_balance *b, double sign, double *to)
{
    const hk_links *t = b->links;
    for (int k = 0; k < b->count; k++) {
        const double *n = b->direction + 3 * (int64_t)k;
        if (b->tension[k] == 0) continue;
        for (int a = t->start[k]; a < t->start[k + 1]; a++) {
            int32_t v = t->vertex[a];
            double s = sign * t->coefficient[a] * b->tension[k];
            for (int i = 0; i < 3 && !b->held[v]; i++) to[4 * (int64_t)v + i] += s * n[i];
        }
    }
}

// max(z, 0) with its corner rounded off, (z + √(z² + 4 μ²))/2, and its slope.
static double soft_positive(double z, double mu, double *slope)
{
    double root = sqrt(z * z + 4 * mu * mu),
           value = z > 0 ? (z + root) / 2 : 2 * mu * mu / (root - z);
    *slope = root > 0 ? value / root : 0.5;
    return value;
}

static void find_tensions(hk_balance *b, const double *lambda)
{
    const hk_links *t = b->links;
    for (int k = 0; k < b->count; k++) {
        const double *n = b->direction + 3 * (int64_t)k;
        double along = 0;
        for (int a = t->start[k]; a < t->start[k + 1]; a++) {
            const double *l = lambda + 4 * (int64_t)t->vertex[a];
            along += t->coefficient[a] * (n[0] * l[0] + n[1] * l[1] + n[2] * l[2]);
        }
        double w = t->stiffness[k], range = b->high[k] - b->low[k], above, below;
        if (!(range > 0)) continue;
        double mu = b->softness * fmin(b->usual, 0.1 * range);
        double s = b->low[k] + soft_positive(w * along - b->low[k], mu, &above) -
                   soft_positive(w * along - b->high[k], mu, &below);
        b->tension[k] = fmin(fmax(s, b->low[k]), b->high[k]);
        b->slope[k] = w * fmax(0, above - below);
    }
}

// Tensions and ∇Φ.
static void evaluate(hk_balance *b, const double *lambda)
{
    find_tensions(b, lambda);
    for (int v = 0; v < b->vertex_count; v++) {
        double c = b->held[v] ? 0 : b->shift * b->scale[v];
        for (int64_t i = 4 * (int64_t)v; i < 4 * (int64_t)v + 3; i++)
            b->gradient[i] = b->held[v] ? 0 : c * (lambda[i] - b->anchor[i]) - b->load[i];
    }
    add_forces(b, 1, b->gradient);
}

static double dot(const hk_balance *b, const double *a, const double *c)
{
    double sum = 0;
    for (int v = 0; v < b->vertex_count; v++)
        for (int64_t i = 4 * (int64_t)v; i < 4 * (int64_t)v + 3 && !b->held[v]; i++)
            sum += a[i] * c[i];
    return sum;
}

double hk_balance_norm(const hk_balance *b, const double *vector)
{
    return sqrt(dot(b, vector, vector));
}

void hk_balance_residual(const hk_balance *b, double *residual)
{
    for (int v = 0; v < b->vertex_count; v++)
        for (int64_t i = 4 * (int64_t)v; i < 4 * (int64_t)v + 4; i++)
            residual[i] = b->held[v] ? 0 : b->load[i];
    add_forces(b, -1, residual);
}

// ---------------------------------------------------------------- Newton's method

// Blocks along + across of the links: along n nᵀ + across (1 − n nᵀ).
static void set_block(hk_balance *b, int link, double along, double across)
{
    const double *n = b->direction + 3 * (int64_t)link;
    double *block = b->blocks + HK_LINK_STIFFNESS * (int64_t)link;
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++)
            *block++ = (along - across) * n[i] * n[j] + (i == j ? across : 0);
}

static hk_status factor(hk_balance *b, bool *positive)
{
    hk_assemble(b->assembly, b->blocks, b->weight, b->values);
    b->factorisations++;
    return hk_direct_factor(b->direct, b->values, positive);
}

// step = −(A W D A^T + ε C)⁻¹ ∇Φ
static hk_status find_step(hk_balance *b)
{
    bool positive = false;
    for (int k = 0; k < b->count; k++) set_block(b, k, b->slope[k], 0);
    memset(b->blocks + HK_LINK_STIFFNESS * (int64_t)b->count, 0,  // attachments have no say
           sizeof(double) * HK_LINK_STIFFNESS * (size_t)b->links->attachment_count);
    while (!positive) {
        for (int v = 0; v < b->vertex_count; v++) b->weight[v] = b->shift * b->scale[v];
        HK_TRY(factor(b, &positive));
        if (!positive) b->shift *= MORE_SHIFT;
        if (b->shift > 1) return hk_fail(HK_INTERNAL, "the forces on a sheet have no balance");
    }
    const hk_assembly *a = b->assembly;
    for (int64_t u = 0; u < a->pattern.count; u++)
        for (int i = 0; i < 3; i++)
            b->right[3 * u + i] = -b->gradient[4 * (int64_t)a->vertex[u] + i];
    HK_TRY(hk_direct_solve(b->direct, b->right, b->right));
    for (int64_t u = 0; u < a->pattern.count; u++)
        for (int i = 0; i < 3; i++) b->step[4 * (int64_t)a->vertex[u] + i] = b->right[3 * u + i];
    return HK_OK;
}

static double slope_at(hk_balance *b, double length)
{
    for (int64_t i = 0; i < 4 * (int64_t)b->vertex_count; i++)
        b->trial[i] = b->lambda[i] + length * b->step[i];
    evaluate(b, b->trial);
    return dot(b, b->gradient, b->step);
}

// Along the step the slope of Φ rises from below 0: to where half of it is gone, at least.
static void take_step(hk_balance *b)
{
    double first = dot(b, b->gradient, b->step), low = 0, high = 1, length = 1;
    for (int k = 0; k < SEARCH; k++) {
        double slope = slope_at(b, length);
        if (slope > 0.5 * fabs(first))
            high = length;
        else if (slope < 0.5 * first && length < 1)
            low = length;
        else
            break;
        length = 0.5 * (low + high);
    }
    memcpy(b->lambda, b->trial, 4 * sizeof(double) * (size_t)b->vertex_count);
}

// The minimum of Φ, to a part of what it moves away from λ₀.
static hk_status minimise(hk_balance *b, double enough, int most)
{
    evaluate(b, b->lambda);
    while (b->factorisations < most) {
        double pull = 0;  // ‖ε C (λ − λ₀)‖
        for (int v = 0; v < b->vertex_count; v++)
            for (int64_t i = 4 * (int64_t)v; i < 4 * (int64_t)v + 3; i++) {
                double c = b->shift * b->scale[v] * (b->lambda[i] - b->anchor[i]);
                pull += c * c;
            }
        if (hk_balance_norm(b, b->gradient) <= fmax(enough, 0.01 * sqrt(pull))) return HK_OK;
        HK_TRY(find_step(b));
        take_step(b);
    }
    return HK_OK;
}

// ---------------------------------------------------------------- whole solves

static bool acts_on_any(const hk_balance *b, int link)
{
    const hk_links *t = b->links;
    for (int a = t->start[link]; a < t->start[link + 1]; a++)
        if (!b->held[t->vertex[a]]) return true;
    return false;
}

// Bends never push: that would make a ring that is nearly flat snap to one side.
static void set_bounds(hk_balance *b, bool push)
{
    const hk_links *t = b->links;
    for (int k = 0; k < b->count; k++) {
        double most = acts_on_any(b, k) ? t->stiffness[k] * t->rest[k] : 0;
        bool spring = k < t->spring_count;
        b->high[k] = most * (spring ? 1 - SHORTEST : 1);
        b->low[k] = spring && push ? most * (1 - LONGEST) : 0;
    }
}

hk_status hk_balance_solve(hk_balance *b, bool push, double tolerance, int most)
{
    size_t bytes = 4 * sizeof(double) * (size_t)b->vertex_count;
    double enough = tolerance * hk_balance_norm(b, b->load), before = INFINITY;
    set_bounds(b, push);
    b->shift = FIRST_SHIFT;
    b->factorisations = 0;
    memset(b->lambda, 0, bytes);
    memset(b->tension, 0, sizeof(double) * (size_t)b->count);
    memset(b->slope, 0, sizeof(double) * (size_t)b->count);
    if (!b->direct) return HK_OK;
    b->softness = FIRST_SOFTNESS;
    b->usual = hk_balance_norm(b, b->load) / sqrt(b->assembly->pattern.count);
    for (int k = 0; k < OUTER && b->factorisations < most; k++) {
        memcpy(b->anchor, b->lambda, bytes);
        HK_TRY(minimise(b, 0.1 * enough, most));
        hk_balance_residual(b, b->trial);
        double left = hk_balance_norm(b, b->trial);
        if (left <= enough || (b->shift <= LATE_SHIFT && left > SLOW * before)) break;
        before = left;
        b->shift = fmax(LAST_SHIFT, LESS_SHIFT * b->shift);
        b->softness *= LESS_SOFTNESS;
    }
    return HK_OK;
}

// The Hessian of a link that pulls with s: w along n, and s/‖d‖ across; what has no direction is as
// stiff as all others, and so are attachments.
hk_status hk_balance_is_stable(hk_balance *b, const double *mass, bool *stable)
{
    const hk_links *t = b->links;
    *stable = true;
    if (!b->direct) return HK_OK;
    for (int k = 0; k < t->link_count; k++) {
        double w = t->stiffness[k];
        if (k < b->count && t->rest[k] > 0)
            set_block(b, k, w, b->tension[k] / t->rest[k]);
        else
            for (int i = 0; i < HK_LINK_STIFFNESS; i++)
                b->blocks[HK_LINK_STIFFNESS * (int64_t)k + i] = i == 0 || i == 3 || i == 5 ? w : 0;
    }
    for (int v = 0; v < b->vertex_count; v++)
        b->weight[v] = SLOW_GROWTH * mass[v] + 1e-12 * b->scale[v];
    return factor(b, stable);
}
