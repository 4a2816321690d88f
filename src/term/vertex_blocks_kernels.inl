// What is done vertex by vertex, for one scalar type: included by stars.c with
//   SCALAR   float or double
//   NAME(x)  the name of x for it

// A 3×3 block, upper triangle, and a gradient into lane `lane` of sums.
static inline void NAME(add_lane)(SCALAR *sums, int lanes, int lane, const double g[3],
                                  const double h[6])
{
    for (int i = 0; i < 3; i++) sums[i * lanes + lane] += (SCALAR)g[i];
    for (int i = 0; i < 6; i++) sums[(3 + i) * lanes + lane] += (SCALAR)h[i];
}

// What the terms but the tets say of the vertices of a group, those that are quadratic or the
// others, which have energies of their own.
static void NAME(add_terms)(const hk_vertex_blocks *s, bool quadratic, const int32_t *own,
                            const SCALAR *x, SCALAR *sums)
{
    int lanes = s->term->lanes->lanes;
    for (int k = 0; k < s->terms->count; k++) {
        const hk_term *term = s->terms->term[k];
        bool is_quadratic = term->ops->of_displacement && !term->ops->vertex_energy;
        if (!term->ops->vertex || is_quadratic != quadratic) continue;
        for (int l = 0; l < lanes; l++) {
            double g[3] = {0}, h[6] = {0};
            if (term->ops->vertex(term, own[l], x, g, h)) NAME(add_lane)(sums, lanes, l, g, h);
        }
    }
}

// Their energies at x + length × step.
static void NAME(add_energies)(const hk_vertex_blocks *s, const int32_t *own, const SCALAR *x,
                               const SCALAR *step, const SCALAR *length, SCALAR *energy)
{
    int lanes = s->term->lanes->lanes;
    for (int k = 0; k < s->terms->count; k++) {
        const hk_term *term = s->terms->term[k];
        if (!term->ops->vertex_energy) continue;
        for (int l = 0; l < lanes; l++) {
            double moved[3];
            for (int i = 0; i < 3; i++) moved[i] = (double)length[l] * (double)step[i * lanes + l];
            energy[l] += (SCALAR)term->ops->vertex_energy(term, own[l], x, moved);
        }
    }
}

// The energy of the group's elements at x + length × step.
static void NAME(star_energies)(const hk_vertex_blocks *s, int group, const SCALAR *x, const SCALAR *step,
                                const SCALAR *length, SCALAR *energy)
{
    const hk_lane_table *table = s->term->lanes;
    const int32_t *own = s->own + (int64_t)group * table->lanes;
    _Alignas(HK_ALIGNMENT) char at[3 * HK_ALIGNMENT];
    int lanes = table->lanes;
    table->vertex->reach(x, own, step, length, at);
    for (int l = 0; l < lanes; l++) energy[l] = 0;
    for (int q = 0; q < s->batch_count; q++)
        table->vertex->law[s->batches[q].law].energy(&s->batches[q], x, at, s->block_start[q][group],
                                                    s->block_start[q][group + 1], energy);
    NAME(add_energies)(s, own, x, step, length, energy);
}

// The change of the quadratic energy with these sums.
static double NAME(quadratic_change)(const SCALAR *sums, int lanes, int l, const SCALAR *step,
                                     double length)
{
    double d[3], value = 0;
    for (int i = 0; i < 3; i++) d[i] = length * (double)step[i * lanes + l];
    for (int i = 0, q = 3; i < 3; i++) {
        value += (double)sums[i * lanes + l] * d[i];
        for (int j = i; j < 3; j++, q++)
            value += (i == j ? 0.5 : 1) * (double)sums[q * lanes + l] * d[i] * d[j];
    }
    return value;
}

// Halves the lengths of lanes whose energy would rise.
static void NAME(shorten)(const hk_vertex_blocks *s, int group, double noise_of, const SCALAR *x,
                          const SCALAR *quadratic, const SCALAR *step, SCALAR *length)
{
    int lanes = s->term->lanes->lanes;
    const SCALAR *noise = (const SCALAR *)s->noise + (int64_t)group * lanes;
    _Alignas(HK_ALIGNMENT) SCALAR nothing[HK_ALIGNMENT / sizeof(SCALAR)] = {0};
    _Alignas(HK_ALIGNMENT) SCALAR before[HK_ALIGNMENT / sizeof(SCALAR)];
    _Alignas(HK_ALIGNMENT) SCALAR after[HK_ALIGNMENT / sizeof(SCALAR)];
    NAME(star_energies)(s, group, x, step, nothing, before);
    for (int halvings = 0; halvings <= MOST_HALVINGS; halvings++) {
        bool done = true;
        NAME(star_energies)(s, group, x, step, length, after);
        for (int l = 0; l < lanes; l++) {
            double change =
                (double)after[l] - (double)before[l] +
                NAME(quadratic_change)(quadratic, lanes, l, step, (double)length[l]);
            if (length[l] == 0 || change <= noise_of * (double)noise[l]) continue;
            length[l] = halvings < MOST_HALVINGS ? length[l] / 2 : 0;
            done = false;
        }
        if (done) return;
    }
}

// Vertices that have left their regions go back along their way.
static void NAME(truncate_group)(const hk_vertex_blocks *s, const void *before, const int32_t *own,
                                 SCALAR *x)
{
    for (int k = 0; k < s->terms->count; k++) {
        const hk_term *term = s->terms->term[k];
        if (!term->ops->regions) continue;
        for (int l = 0; l < s->term->lanes->lanes; l++)
            term->ops->regions->truncate_vertex(term, own[l], before, x);
    }
}

// Takes coordinates that stay out of gradients and blocks: steps along them are 0.
static void NAME(hold_axes)(const uint8_t *axes, const int32_t *own, int lanes, SCALAR *sums)
{
    static const int pair[3][3] = {{3, 4, 5}, {4, 6, 7}, {5, 7, 8}};  // xx xy xz yy yz zz
    for (int l = 0; l < lanes; l++)
        for (int i = 0; i < 3; i++) {
            if (!(axes[own[l]] >> i & 1)) continue;
            sums[i * lanes + l] = 0;
            for (int j = 0; j < 3; j++)
                if (j != i) sums[pair[i][j] * lanes + l] = 0;
            if (!(sums[pair[i][i] * lanes + l] > 0)) sums[pair[i][i] * lanes + l] = 1;
        }
}

static void NAME(sweep_group)(const hk_vertex_blocks *s, const hk_vertex_forces *f, const hk_vertex_sweep *how,
                              int group, SCALAR *to)
{
    const SCALAR *x = how->from ? how->from : to;
    enum { WIDTH = HK_ALIGNMENT / sizeof(SCALAR) };
    const hk_lane_table *table = s->term->lanes;
    const int32_t *own = s->own + (int64_t)group * table->lanes;
    _Alignas(HK_ALIGNMENT) SCALAR sums[HK_VERTEX_SUMS * WIDTH], step[3 * WIDTH], length[WIDTH];
    _Alignas(HK_ALIGNMENT) SCALAR quadratic[HK_VERTEX_SUMS * WIDTH];
    int size = HK_VERTEX_SUMS * table->lanes;
    for (int k = 0; k < size; k++) sums[k] = quadratic[k] = 0;
    for (int q = 0; q < s->batch_count; q++)
        table->vertex->law[s->batches[q].law].push(&s->batches[q], x, own, s->block_start[q][group],
                                                  s->block_start[q][group + 1], sums);
    NAME(add_terms)(s, false, own, x, sums);
    table->vertex->pull(x, own, f->target, f->force, quadratic);
    NAME(add_terms)(s, true, own, x, quadratic);
    for (int k = 0; k < size; k++) sums[k] += quadratic[k];
    if (f->axes) NAME(hold_axes)(f->axes, own, table->lanes, sums);
    table->vertex->solve(sums, f->shift, step);
    for (int l = 0; l < table->lanes; l++) length[l] = (SCALAR)how->length;
    if (how->careful) NAME(shorten)(s, group, how->noise, x, quadratic, step, length);
    table->vertex->move(to, own, step, length);
    if (how->before) NAME(truncate_group)(s, how->before, own, to);
}

static void NAME(sweep_colour)(const hk_vertex_blocks *s, const hk_vertex_forces *f,
                               const hk_vertex_sweep *how, int colour, SCALAR *x)
{
#pragma omp for schedule(static)
    for (int group = s->colour_start[colour]; group < s->colour_start[colour + 1]; group++)
        NAME(sweep_group)(s, f, how, group, x);
}

static void NAME(sweep)(const hk_vertex_blocks *s, const hk_vertex_forces *f, const hk_vertex_sweep *how,
                        SCALAR *x)
{
#pragma omp parallel num_threads(s->term->threads)
    for (int k = 0; k < s->colours.colour_count; k++)
        NAME(sweep_colour)(s, f, how, k, x);
}
