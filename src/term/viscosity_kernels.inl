// Products with K for one scalar type: included by viscosity.c with
//   SCALAR   float or double
//   NAME(x)  the name of x for it
//   BLOCKS   the member that has the blocks

// Steps relative to the anchor: a product of large displacements that nearly cancel would lose the
// small forces of a body that moves fast.
static void NAME(fill_step)(hk_viscosity *t, const hk_single_frame *frame, const SCALAR *x)
{
    static const double zero[3] = {0};
    SCALAR *step = t->step;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int v = 0; v < t->vertex_count; v++) {
        int64_t at = 4 * (int64_t)v, base = 4 * (int64_t)t->anchor[v];
        const double *here = frame ? frame->origin + 3 * (int64_t)frame->body_of[v] : zero;
        const double *there =
            frame ? frame->origin + 3 * (int64_t)frame->body_of[t->anchor[v]] : zero;
        for (int i = 0; i < 3; i++) {
            double own = (double)x[at + i] + here[i] - t->before[at + i];
            double of_anchor = (double)x[base + i] + there[i] - t->before[base + i];
            step[at + i] = (SCALAR)(own - of_anchor);
        }
    }
}

// Adds r K step at vertices [first, last) to the gradient, if there is one; returns their share of
// r/2 stepᵀ K step. Rows of K add up to 0, so that differences to the own step do.
static double NAME(add_rows)(const hk_viscosity *t, int first, int last, SCALAR *gradient)
{
    const SCALAR *step = t->step, rate = (SCALAR)t->rate;
    double energy = 0;
    for (int v = first; v < last; v++) {
        const SCALAR *own = step + 4 * (int64_t)v;
        SCALAR force[3] = {0, 0, 0};
        for (int64_t k = t->start[v]; k < t->start[v + 1]; k++) {
            const SCALAR *b = t->BLOCKS + 9 * k, *other = step + 4 * (int64_t)t->column[k];
            SCALAR d[3] = {other[0] - own[0], other[1] - own[1], other[2] - own[2]};
            for (int i = 0; i < 3; i++)
                force[i] += b[3 * i] * d[0] + b[3 * i + 1] * d[1] + b[3 * i + 2] * d[2];
        }
        for (int i = 0; i < 3; i++) {
            energy += 0.5 * t->rate * (double)own[i] * (double)force[i];
            if (gradient) gradient[4 * (int64_t)v + i] += rate * force[i];
        }
    }
    return energy;
}

static double NAME(add_product)(hk_viscosity *t, const hk_single_frame *frame, const SCALAR *x,
                                SCALAR *gradient)
{
    NAME(fill_step)(t, frame, x);
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
    int64_t size = 4 * (int64_t)t->vertex_count;
#pragma omp parallel for schedule(static) num_threads(t->threads)
    for (int64_t k = 0; k < size; k++) diagonal[k] += (SCALAR)(t->rate * t->diagonal[k]);
}
