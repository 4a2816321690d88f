// The evaluation of links, for one scalar type: included by links.c with
//   SCALAR   float or double
//   NAME(x)  the name of x for it
//   ROOT     the square root
//   NOTHING  the share of the rest length below which a link has no direction

// Four numbers at a time; only as aligned as one.
typedef SCALAR NAME(four) __attribute__((vector_size(4 * sizeof(SCALAR)), aligned(sizeof(SCALAR)),
                                         may_alias));

// What a link is: d and the numbers that follow from it.
typedef struct NAME(link) {
    NAME(four) d;
    SCALAR weight, rest, length;
    SCALAR across;  // w (1 − r/‖d‖): the force is this times d
} NAME(link);

static inline const NAME(four) *NAME(at)(const SCALAR *x, int32_t vertex)
{
    return (const NAME(four) *)(x + 4 * (int64_t)vertex);
}

static inline void NAME(combine)(const hk_links *t, const SCALAR *x, int k, NAME(four) *d)
{
    const int32_t *vertex = t->vertex + t->start[k];
    if (k < t->spring_count) {
        *d = *NAME(at)(x, vertex[0]) - *NAME(at)(x, vertex[1]);
    } else if (k < t->spring_count + t->bend_count) {
        // Differences first: the sum of the coefficients is 0, their rounding is not.
        const SCALAR *c = (const SCALAR *)t->scalars + t->start[k];
        NAME(four) middle = *NAME(at)(x, vertex[0]), sum = {0};
        for (int a = 1; a < t->start[k + 1] - t->start[k]; a++)
            sum += c[a] * (*NAME(at)(x, vertex[a]) - middle);
        *d = sum;
    } else {
        int attachment = k - t->spring_count - t->bend_count;
        *d = *NAME(at)(x, vertex[0]) - *NAME(at)(t->target, attachment);
    }
}

static inline void NAME(evaluate)(const hk_links *t, const SCALAR *x, int k, NAME(link) *link)
{
    const SCALAR *weight = (const SCALAR *)t->scalars + t->start[t->link_count];
    const SCALAR *rest = weight + t->link_count;
    NAME(combine)(t, x, k, &link->d);
    NAME(four) square = link->d * link->d;
    link->weight = weight[k];
    link->rest = rest[k];
    link->length = ROOT(square[0] + square[1] + square[2]);
    bool has_direction = link->length > NOTHING * link->rest;
    link->across =
        has_direction ? link->weight - link->weight * link->rest / link->length : link->weight;
}

static inline double NAME(energy_of)(const NAME(link) *link)
{
    double stretch = link->length - link->rest;
    return 0.5 * (double)link->weight * stretch * stretch;
}

static double NAME(energy)(const hk_links *t, const void *x, int first, int last)
{
    double sum = 0;
    for (int k = first; k < last; k++) {
        NAME(link) link;
        NAME(evaluate)(t, x, k, &link);
        sum += NAME(energy_of)(&link);
    }
    return sum;
}

// The forces into t->vector.
static double NAME(forces)(const hk_links *t, const void *x, int first, int last)
{
    double sum = 0;
    NAME(four) *vector = t->vector;
    for (int k = first; k < last; k++) {
        NAME(link) link;
        NAME(evaluate)(t, x, k, &link);
        vector[k] = link.across * link.d;
        sum += NAME(energy_of)(&link);
    }
    return sum;
}

// B = across I + along n nᵀ with the negative part of `across` × keep.
static inline void NAME(parts_of)(const NAME(link) *link, SCALAR keep, SCALAR *across,
                                     NAME(four) *n, SCALAR *along)
{
    *across = link->across < 0 ? keep * link->across : link->across;
    *n = link->d;
    *along = 0;
    if (!(link->length > NOTHING * link->rest && link->rest > 0)) return;
    *n = link->d / link->length;
    *along = link->weight - *across;
}

// The diagonals of B into t->vector.
static void NAME(diagonals)(const hk_links *t, const void *x, double keep, int first, int last)
{
    NAME(four) *vector = t->vector;
    for (int k = first; k < last; k++) {
        NAME(link) link;
        NAME(four) n;
        SCALAR across, along;
        NAME(evaluate)(t, x, k, &link);
        NAME(parts_of)(&link, (SCALAR)keep, &across, &n, &along);
        vector[k] = along * n * n + (NAME(four)){across, across, across, 0};
    }
}

static void NAME(stiffness)(const hk_links *t, const void *x, double keep, int first, int last,
                            void *blocks)
{
    for (int k = first; k < last; k++) {
        SCALAR *block = (SCALAR *)blocks + HK_LINK_STIFFNESS * (int64_t)k;
        NAME(link) link;
        NAME(four) n;
        SCALAR across, along;
        NAME(evaluate)(t, x, k, &link);
        NAME(parts_of)(&link, (SCALAR)keep, &across, &n, &along);
        for (int i = 0, at = 0; i < 3; i++)
            for (int j = i; j < 3; j++, at++)
                block[at] = along * n[i] * n[j] + (i == j ? across : 0);
    }
}

// to[vertex] += Σ c vector, or Σ c² vector, for users [first, last).
static void NAME(gather)(const hk_links *t, bool squared, int first, int last, void *to)
{
    const NAME(four) *vector = t->vector;
    const SCALAR *coefficient = t->use_coefficient;
    for (int u = first; u < last; u++) {
        NAME(four) *sum = (NAME(four) *)((SCALAR *)to + 4 * (int64_t)t->user[u]), own = *sum;
        for (int k = t->use_start[u]; k < t->use_start[u + 1]; k++) {
            SCALAR c = coefficient[k];
            own += (squared ? c * c : c) * vector[t->use_link[k]];
        }
        *sum = own;
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
