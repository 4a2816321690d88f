// Products with K for one scalar type: included by viscosity.c with
//   SCALAR   float or double
//   NAME(x)  the name of x for it
//   BLOCKS   the blocks of a term in that precision
// `t` is the term that is asked, `k` the one that has the matrix (its own, or that in double).

// Steps relative to the anchor: a product of large displacements that nearly cancel would lose the
// small forces of a body that moves fast.
static void NAME(fill_step)(const hk_viscosity *t, const SCALAR *x)
{
    const hk_viscosity *k = matrix_of(t);
    SCALAR *step = t->step;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int v = 0; v < t->vertex_count; v++) {
        int64_t at = 4 * (int64_t)v, base = 4 * (int64_t)k->anchor[v];
        const double *here = origin_of(t, v), *there = origin_of(t, k->anchor[v]);
        for (int i = 0; i < 3; i++) {
            double own = (double)x[at + i] + here[i] - k->from[at + i];
            double of_anchor = (double)x[base + i] + there[i] - k->from[base + i];
            step[at + i] = (SCALAR)(own - of_anchor);
        }
    }
}

// Adds r K step at vertices [first, last) to the gradient, if there is one; returns their part of
// r/2 stepᵀ K step. Rows of K add up to 0, so that differences to the own step do.
static double NAME(add_rows)(const hk_viscosity *t, int first, int last, SCALAR *gradient)
{
    const hk_viscosity *m = matrix_of(t);
    const SCALAR *step = t->step, rate = (SCALAR)m->rate;
    double energy = 0;
    for (int v = first; v < last; v++) {
        const SCALAR *own = step + 4 * (int64_t)v;
        SCALAR force[3] = {0, 0, 0};
        for (int64_t k = m->start[v]; k < m->start[v + 1]; k++) {
            const SCALAR *b = t->BLOCKS + 9 * k, *other = step + 4 * (int64_t)m->column[k];
            SCALAR d[3] = {other[0] - own[0], other[1] - own[1], other[2] - own[2]};
            for (int i = 0; i < 3; i++)
                force[i] += b[3 * i] * d[0] + b[3 * i + 1] * d[1] + b[3 * i + 2] * d[2];
        }
        for (int i = 0; i < 3; i++) {
            energy += 0.5 * m->rate * (double)own[i] * (double)force[i];
            if (gradient) gradient[4 * (int64_t)v + i] += rate * force[i];
        }
    }
    return energy;
}

static double NAME(add_product)(const hk_viscosity *t, const SCALAR *x, SCALAR *gradient)
{
    NAME(fill_step)(t, x);
    int runs = run_count(t->vertex_count);
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int r = 0; r < runs; r++)
        t->partial[r] =
            NAME(add_rows)(t, r * RUN, hk_min_int((r + 1) * RUN, t->vertex_count), gradient);
    double energy = 0;
    for (int r = 0; r < runs; r++) energy += t->partial[r];
    return energy;
}

static void NAME(add_diagonal)(const hk_viscosity *t, SCALAR *diagonal)
{
    const hk_viscosity *m = matrix_of(t);
    int64_t size = 4 * (int64_t)t->vertex_count;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int64_t k = 0; k < size; k++) diagonal[k] += (SCALAR)(m->rate * m->diagonal[k]);
}

static void NAME(step_of)(const hk_viscosity *t, int v, const SCALAR *x, double step[3])
{
    const double *from = matrix_of(t)->from + 4 * (int64_t)v, *origin = origin_of(t, v);
    for (int i = 0; i < 3; i++)
        step[i] = (double)x[4 * (int64_t)v + i] + origin[i] - from[i];
}

// r K (x − from) and r K of one vertex. The rows of K add up to 0.
static void NAME(push)(const hk_viscosity *t, int v, const SCALAR *x, double g[3], double h[6])
{
    const hk_viscosity *m = matrix_of(t);
    double own[3];
    NAME(step_of)(t, v, x, own);
    for (int64_t k = m->start[v]; k < m->start[v + 1]; k++) {
        const double *b = m->blocks + 9 * k;
        double d[3];
        NAME(step_of)(t, m->column[k], x, d);
        for (int i = 0; i < 3; i++) d[i] -= own[i];
        for (int i = 0, q = 0; i < 3; i++) {
            g[i] += m->rate * (b[3 * i] * d[0] + b[3 * i + 1] * d[1] + b[3 * i + 2] * d[2]);
            for (int j = i; j < 3; j++, q++) h[q] -= m->rate * 0.5 * (b[3 * i + j] + b[3 * j + i]);
        }
    }
}
