// The passes for one precision: SCALAR and NAME(x) are defined by vertex_pass.c, which includes
// this once for each.
typedef SCALAR NAME(quad) __attribute__((vector_size(4 * sizeof(SCALAR))));

static void NAME(load)(hk_vertices *v, const double *x)
{
    const hk_problem *p = v->problem;
    SCALAR *target = v->target, *force = v->force;
    double squares = 0, reach = 0;
    for (int64_t k = 0; k < p->vertex_count; k++) {
        const double *base = base_of(v, k);
        double stiffness = p->inertia[k];
        for (int i = 0; i < 3; i++) {
            double pull = stiffness > 0 ? p->force[4 * k + i] / stiffness : 0;
            ((SCALAR *)v->q)[4 * k + i] = (SCALAR)(x[4 * k + i] - base[i]);
            target[4 * k + i] = (SCALAR)(p->y[4 * k + i] + pull - base[i]);
            force[4 * k + i] = stiffness > 0 ? 0 : (SCALAR)p->force[4 * k + i];
        }
        target[4 * k + 3] = (SCALAR)stiffness;
        squares += stiffness * stiffness;
        for (int i = 0; i < 3; i++)
            reach = fmax(reach, fmax(fabs((double)((SCALAR *)v->q)[4 * k + i]),
                                     fabs((double)target[4 * k + i])));
    }
    v->rounding = sqrt(3 * squares) * reach * hk_vertices_epsilon(v);
}

static void NAME(store)(const hk_vertices *v, const SCALAR *q, double *x)
{
    const hk_problem *p = v->problem;
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t k = 0; k < p->vertex_count; k++) {
        const double *base = base_of(v, k);
        for (int i = 0; i < 3 && !p->held[k]; i++) x[4 * k + i] = (double)q[4 * k + i] + base[i];
    }
}

static void NAME(invert)(hk_vertices *v)
{
    const hk_problem *p = v->problem;
    SCALAR *inverse = v->inverse;
    double largest = 0;
    for (int64_t k = 0; k < 4 * (int64_t)p->vertex_count; k++) {
        double size = fabs((double)inverse[k]);  // (fmax of this crashes GCC 12 for aarch64)
        if (size > largest) largest = size;
    }
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (int64_t k = 0; k < p->vertex_count; k++)
        for (int i = 0; i < 4; i++) {
            double whole = fabs((double)inverse[4 * k + i] + p->inertia[k] + p->shift);
            if (v->floor) whole = fmax(whole, v->floor[k]);
            bool moves = i < 3 && !p->held[k] && !(hk_problem_axes(p, k) >> i & 1);
            inverse[4 * k + i] = moves ? (SCALAR)(1 / fmax(whole, 1e-6 * largest)) : 0;
        }
}

static hk_vertex_sums NAME(measure)(const hk_vertices *v, int64_t first, int64_t last)
{
    const hk_problem *p = v->problem;
    const SCALAR *q = v->q, *target = v->target, *force = v->force, *g = v->gradient;
    hk_vertex_sums sums = {0, 0, 0};
    for (int64_t k = first; k < last; k++) {
        if (p->held[k]) continue;
        double stiffness = (double)target[4 * k + 3];
        for (int64_t i = 4 * k; i < 4 * k + 3; i++) {
            double away = (double)q[i] - (double)target[i];
            double pull = stiffness * away - (double)force[i];
            double total = (double)g[i] + pull;
            sums.energy += 0.5 * stiffness * away * away - (double)force[i] * (double)q[i];
            if (hk_problem_axes(p, k) >> (i - 4 * k) & 1) total = 0;
            sums.square += total * total;
            sums.reach = fmax(sums.reach, fabs((double)q[i]));
        }
    }
    return sums;
}

static void NAME(whole_gradient)(const hk_vertices *v, double *gradient)
{
    const SCALAR *q = v->q, *target = v->target, *force = v->force, *g = v->gradient;
    for (int64_t k = 0; k < v->problem->vertex_count; k++)
        for (int64_t i = 4 * k; i < 4 * k + 3; i++) {
            double away = (double)q[i] - (double)target[i];
            gradient[i] = (double)g[i] + (double)target[4 * k + 3] * away - (double)force[i];
        }
    hk_problem_mask(v->problem, gradient);
}

// The squared norms of elastic, external and inertia forces.
static void NAME(squares)(const hk_vertices *v, double sums[3])
{
    const hk_problem *p = v->problem;
    const SCALAR *q = v->q, *g = v->gradient;
    sums[0] = sums[1] = sums[2] = 0;
    for (int64_t k = 0; k < p->vertex_count; k++) {
        const double *base = base_of(v, k);
        for (int i = 0; i < 3; i++) {
            int64_t at = 4 * k + i;
            double inertia = p->inertia[k] * ((double)q[at] + base[i] - p->y[at]);
            sums[0] += (double)g[at] * (double)g[at];
            sums[1] += p->force[at] * p->force[at];
            sums[2] += inertia * inertia;
        }
    }
}

// q − α P g of one vertex.
#define DOWN(k) (q[k] - length * inverse[k] * (g[k] + target[k][3] * (q[k] - target[k]) - force[k]))

static void NAME(step)(hk_vertices *v, SCALAR length, SCALAR omega, int64_t first, int64_t end)
{
    NAME(quad) *q = v->q, *last = v->last;
    const NAME(quad) *g = v->gradient, *inverse = v->inverse;
    const NAME(quad) *target = v->target, *force = v->force;
    for (int64_t k = first; k < end; k++) {
        NAME(quad) next = omega * (DOWN(k) - last[k]) + last[k];
        last[k] = q[k];
        q[k] = next;
    }
}

static void NAME(step_momentum)(hk_vertices *v, SCALAR length, SCALAR momentum, int64_t first,
                                int64_t end)
{
    NAME(quad) *q = v->q, *last = v->last;
    const NAME(quad) *g = v->gradient, *inverse = v->inverse;
    const NAME(quad) *target = v->target, *force = v->force;
    for (int64_t k = first; k < end; k++) {
        NAME(quad) down = DOWN(k);
        q[k] = down + momentum * (down - last[k]);
        last[k] = down;
    }
}
#undef DOWN

static void NAME(accelerate)(hk_vertices *v, const NAME(quad) * before, SCALAR omega, int64_t first,
                             int64_t end)
{
    NAME(quad) *q = v->q, *last = v->last;
    for (int64_t k = first; k < end; k++) {
        q[k] = omega * (q[k] - last[k]) + last[k];
        last[k] = before[k];
    }
}

static void NAME(extrapolate)(hk_vertices *v, SCALAR momentum, int64_t first, int64_t end)
{
    NAME(quad) *q = v->q, *last = v->last;
    for (int64_t k = first; k < end; k++) {
        NAME(quad) down = q[k];
        q[k] = down + momentum * (down - last[k]);
        last[k] = down;
    }
}
