// The evaluation of links, for one scalar type: included by links.c with
//   SCALAR   float or double
//   NAME(x)  the name of x for it
//   ROOT     the square root
//   NOTHING  the share of the rest length below which a link has no direction

// Some links in a row, as structures of arrays: compilers turn the arithmetic into wide
// instructions.
typedef struct NAME(chunk) {
    SCALAR d[3][CHUNK];
    SCALAR length[CHUNK];   // ‖d‖
    SCALAR stretch[CHUNK];  // ‖d‖ − r
    SCALAR across[CHUNK];   // w (1 − r/‖d‖): the force is this times d
    const SCALAR *weight, *rest;
} NAME(chunk);

static inline const SCALAR *NAME(at)(const void *x, int32_t vertex)
{
    return (const SCALAR *)x + 4 * (int64_t)vertex;
}

static inline void NAME(subtract)(NAME(chunk) * c, int i, const SCALAR *a, const SCALAR *b)
{
    c->d[0][i] = a[0] - b[0];
    c->d[1][i] = a[1] - b[1];
    c->d[2][i] = a[2] - b[2];
}

// Differences first: the coefficients add up to 0, their rounding errors do not.
static inline void NAME(combine_bend)(const hk_links *t, const void *x, int link, NAME(chunk) * c,
                                      int i)
{
    const int32_t *vertex = t->vertex + t->start[link];
    const SCALAR *weight = (const SCALAR *)t->scalars + t->start[link];
    const SCALAR *middle = NAME(at)(x, vertex[0]);
    SCALAR sum[3] = {0};
    for (int a = 1; a < t->start[link + 1] - t->start[link]; a++) {
        const SCALAR *other = NAME(at)(x, vertex[a]);
        for (int k = 0; k < 3; k++) sum[k] += weight[a] * (other[k] - middle[k]);
    }
    for (int k = 0; k < 3; k++) c->d[k][i] = sum[k];
}

static inline void NAME(combine)(const hk_links *t, const void *x, int first, int last,
                                 NAME(chunk) * c)
{
    int springs = t->spring_count, others = springs + t->bend_count, k = first;
    for (; k < last && k < springs; k++)
        NAME(subtract)
        (c, k - first, NAME(at)(x, t->vertex[2 * k]), NAME(at)(x, t->vertex[2 * k + 1]));
    for (; k < last && k < others; k++) NAME(combine_bend)(t, x, k, c, k - first);
    for (; k < last; k++)
        NAME(subtract)
        (c, k - first, NAME(at)(x, t->vertex[t->start[k]]), NAME(at)(t->target, k - others));
}

static inline SCALAR NAME(length_of)(const NAME(chunk) * c, int k)
{
    return ROOT(c->d[0][k] * c->d[0][k] + c->d[1][k] * c->d[1][k] + c->d[2][k] * c->d[2][k]);
}

// From displacements to d, of springs and bends that begin at d of the base; and the stretch from
// ‖d‖² − r² = (‖d₀‖² − r²) + (2 d₀ + Δd)·Δd = (‖d‖ − r)(‖d‖ + r).
static inline void NAME(add_base)(const hk_links *t, int first, int last, NAME(chunk) * c)
{
    for (int k = 0; k < last - first; k++) {
        const float *base = t->base_d + 4 * (int64_t)(first + k);
        SCALAR more = (SCALAR)base[3];
        for (int i = 0; i < 3; i++) {
            SCALAR d0 = (SCALAR)base[i], moved = c->d[i][k];
            more += (2 * d0 + moved) * moved;
            c->d[i][k] = d0 + moved;
        }
        SCALAR r = c->rest[k], length = NAME(length_of)(c, k), sum = length + r;
        c->length[k] = length;
        c->stretch[k] = more / (sum > 0 ? sum : 1);
        SCALAR some = length > NOTHING * r ? length : 1;
        c->across[k] = length > NOTHING * r ? c->weight[k] * c->stretch[k] / some : c->weight[k];
    }
}

// Links [first, last), at most CHUNK.
static inline void NAME(measure)(const hk_links *t, const void *x, int first, int last,
                                 NAME(chunk) * c)
{
    int ties = t->spring_count + t->bend_count, from = 0;
    c->weight = (const SCALAR *)t->scalars + t->start[t->link_count] + first;
    c->rest = c->weight + t->link_count;
    NAME(combine)(t, x, first, last, c);
    if (t->has_base && first < ties) {
        NAME(add_base)(t, first, hk_min_int(last, ties), c);
        from = hk_min_int(last, ties) - first;
    }
    for (int k = from; k < last - first; k++) {
        SCALAR w = c->weight[k], r = c->rest[k], length = NAME(length_of)(c, k);
        c->length[k] = length;
        c->stretch[k] = length - r;
        SCALAR some = length > NOTHING * r ? length : 1;  // never a quotient by 0
        c->across[k] = length > NOTHING * r ? w - w * r / some : w;
    }
}

// Four sums, so that no addition waits for the one before.
static inline double NAME(energy_of)(const NAME(chunk) * c, int count)
{
    double sum[4] = {0};
    for (int k = 0; k < count; k++) {
        double stretch = (double)c->stretch[k];
        sum[k & 3] += 0.5 * (double)c->weight[k] * stretch * stretch;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static double NAME(energy)(const hk_links *t, const void *x, int first, int last)
{
    double sum = 0;
    for (int k = first; k < last; k += CHUNK) {
        NAME(chunk) c;
        int end = hk_min_int(k + CHUNK, last);
        NAME(measure)(t, x, k, end, &c);
        sum += NAME(energy_of)(&c, end - k);
    }
    return sum;
}

// The forces into t->vector.
static double NAME(forces)(const hk_links *t, const void *x, int first, int last)
{
    double sum = 0;
    for (int k = first; k < last; k += CHUNK) {
        NAME(chunk) c;
        SCALAR *vector = (SCALAR *)t->vector + 4 * (int64_t)k;
        int end = hk_min_int(k + CHUNK, last);
        NAME(measure)(t, x, k, end, &c);
        for (int i = 0; i < end - k; i++)
            for (int j = 0; j < 3; j++) vector[4 * i + j] = c.across[i] * c.d[j][i];
        sum += NAME(energy_of)(&c, end - k);
    }
    return sum;
}

// B = across I + along n nᵀ with the negative part of `across` × keep.
static inline void NAME(parts_of)(const NAME(chunk) * c, int i, SCALAR keep, SCALAR *across,
                                  SCALAR n[3], SCALAR *along)
{
    bool turning = c->length[i] > NOTHING * c->rest[i] && c->rest[i] > 0;
    *across = c->across[i] < 0 ? keep * c->across[i] : c->across[i];
    *along = turning ? c->weight[i] - *across : 0;
    for (int k = 0; k < 3; k++) n[k] = turning ? c->d[k][i] / c->length[i] : 0;
}

// The diagonals of B into t->vector.
static void NAME(diagonals)(const hk_links *t, const void *x, double keep, int first, int last)
{
    for (int k = first; k < last; k += CHUNK) {
        NAME(chunk) c;
        SCALAR across, along, n[3], *vector = (SCALAR *)t->vector + 4 * (int64_t)k;
        int end = hk_min_int(k + CHUNK, last);
        NAME(measure)(t, x, k, end, &c);
        for (int i = 0; i < end - k; i++) {
            NAME(parts_of)(&c, i, (SCALAR)keep, &across, n, &along);
            for (int j = 0; j < 3; j++) vector[4 * i + j] = along * n[j] * n[j] + across;
        }
    }
}

static void NAME(stiffness)(const hk_links *t, const void *x, double keep, int first, int last,
                            void *blocks)
{
    for (int k = first; k < last; k += CHUNK) {
        NAME(chunk) c;
        SCALAR across, along, n[3], *block = (SCALAR *)blocks + HK_LINK_STIFFNESS * (int64_t)k;
        int end = hk_min_int(k + CHUNK, last);
        NAME(measure)(t, x, k, end, &c);
        for (int link = 0; link < end - k; link++) {
            NAME(parts_of)(&c, link, (SCALAR)keep, &across, n, &along);
            for (int i = 0; i < 3; i++)
                for (int j = i; j < 3; j++) *block++ = along * n[i] * n[j] + (i == j ? across : 0);
        }
    }
}

// to[vertex] += Σ c vector, or Σ c² vector, for users [first, last).
static void NAME(gather)(const hk_links *t, bool squared, int first, int last, void *to)
{
    const SCALAR *vector = t->vector, *coefficient = t->use_coefficient;
    for (int u = first; u < last; u++) {
        SCALAR *own = (SCALAR *)to + 4 * (int64_t)t->user[u];
        SCALAR x = own[0], y = own[1], z = own[2];
        for (int k = t->use_start[u]; k < t->use_start[u + 1]; k++) {
            SCALAR c = squared ? coefficient[k] * coefficient[k] : coefficient[k];
            const SCALAR *v = vector + 4 * (int64_t)t->use_link[k];
            x += c * v[0];
            y += c * v[1];
            z += c * v[2];
        }
        own[0] = x;
        own[1] = y;
        own[2] = z;
    }
}

static void NAME(store)(void *array, int64_t index, double value)
{
    ((SCALAR *)array)[index] = (SCALAR)value;
}

#undef SCALAR
#undef NAME
#undef ROOT
#undef NOTHING
