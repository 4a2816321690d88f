#include "solver/untorn.h"

#include <math.h>

enum { SECTIONS = 6 };
// How much of the inverse of its diagonal a vertex that is whole has in A⁻¹.
#define WHOLE 1.5

hk_status hk_untorn_create(hk_model *model, hk_problem *problem, hk_untorn **untorn)
{
    hk_untorn *u = HK_NEW(hk_untorn);
    if (!u) return HK_NO_MEMORY;
    hk_model_retain(model);
    u->model = model;
    u->problem = problem;
    *untorn = u;
    return HK_OK;
}

void hk_untorn_free(hk_untorn *u)
{
    if (!u) return;
    while (u->kept) {
        hk_kept_matrix *next = u->kept->next;
        hk_constant_matrix_release(&u->kept->matrix);
        hk_free(u->kept->weight);
        hk_free(u->kept);
        u->kept = next;
    }
    hk_problem_free(u->problem);
    hk_model_free(u->model);
    hk_free(u);
}

static hk_status add(hk_untorn *u, const double *weight, int flags, hk_kept_matrix **kept)
{
    size_t count = (size_t)u->model->material_count;
    hk_kept_matrix *k = HK_NEW(hk_kept_matrix);
    if (!k) return HK_NO_MEMORY;
    k->flags = flags;
    k->weight = HK_ARRAY(double, count);
    if (!k->weight) {
        hk_free(k);
        return HK_NO_MEMORY;
    }
    memcpy(k->weight, weight, count * sizeof(double));
    *kept = k;
    return HK_OK;
}

hk_status hk_untorn_keep(hk_untorn *u, hk_constant_matrix *matrix)
{
    hk_kept_matrix *k;
    HK_TRY(add(u, matrix->weight, matrix->flags, &k));
    hk_low_rank_release(&matrix->live);
    matrix->live = (hk_low_rank){0};
    k->matrix = *matrix;
    // The first one is that of a world that is not torn, whenever it is made.
    k->factorisations = matrix->factorisations > 0 ? matrix->factorisations : 1;
    *matrix = (hk_constant_matrix){.problem = matrix->problem};
    k->next = u->kept;
    u->kept = k;
    return HK_OK;
}

void hk_untorn_give_back(hk_untorn *u, hk_constant_matrix *matrix)
{
    hk_kept_matrix *k = u->kept;
    if (!k) return;
    u->kept = k->next;
    *matrix = k->matrix;
    hk_free(k->weight);
    hk_free(k);
}

int64_t hk_untorn_factorisations(const hk_untorn *u)
{
    int64_t sum = 0;
    for (const hk_kept_matrix *k = u->kept; k; k = k->next)
        if (k->matrix.factorisations > k->factorisations)
            sum += k->matrix.factorisations - k->factorisations;
    return sum;
}

hk_status hk_untorn_find(hk_untorn *u, const double *weight, int flags, hk_constant_matrix **matrix)
{
    size_t bytes = sizeof(double) * (size_t)u->model->material_count;
    for (hk_kept_matrix *k = u->kept; k; k = k->next)
        if (k->flags == flags && memcmp(k->weight, weight, bytes) == 0) {
            *matrix = &k->matrix;
            return HK_OK;
        }
    hk_kept_matrix *k;
    HK_TRY(add(u, weight, flags, &k));
    k->factorisations = 1;  // the first is that of a world that is not torn
    hk_status status = hk_constant_matrix_init(&k->matrix, u->problem, weight, flags);
    if (status != HK_OK) {
        hk_constant_matrix_release(&k->matrix);
        hk_free(k->weight);
        hk_free(k);
        return status;
    }
    k->next = u->kept;
    u->kept = k;
    *matrix = &k->matrix;
    return HK_OK;
}

// ---------------------------------------------------------------- sections

// A torn mesh, vertices in Morton order.
typedef struct mesh {
    const hk_problem *problem;
    int count, rows;
    int32_t *start, *list;  // elements of every vertex: tets, then triangles
    int32_t *copies;        // [rows] vertices that come from each
    int8_t *section;        // [count] of vertices with others of the same origin; −1: none yet
    int32_t *queue;         // [count]
    int32_t *distance;      // [count] from one section, in edges; −1: out of reach
    float *inverse;         // [SECTIONS][count] 1/(distance + ½), 0: out of reach
} mesh;

static const int32_t *corners_of(const hk_model *m, int32_t element, int *count)
{
    *count = element < m->tet_count ? 4 : 3;
    return element < m->tet_count ? m->tets + 4 * (int64_t)element
                                  : m->triangles + 3 * ((int64_t)element - m->tet_count);
}

static void list_elements(mesh *g)
{
    const hk_model *m = g->problem->model;
    int count;
    for (int32_t e = 0; e < m->tet_count + m->triangle_count; e++) {
        const int32_t *c = corners_of(m, e, &count);
        for (int k = 0; k < count; k++) g->start[m->place[c[k]] + 1]++;
    }
    for (int v = 0; v < g->count; v++) g->start[v + 1] += g->start[v];
    for (int32_t e = 0; e < m->tet_count + m->triangle_count; e++) {
        const int32_t *c = corners_of(m, e, &count);
        for (int k = 0; k < count; k++) g->list[g->start[m->place[c[k]]]++] = e;
    }
    for (int v = g->count; v > 0; v--) g->start[v] = g->start[v - 1];
    g->start[0] = 0;
}

static bool shares(const mesh *g, int32_t v)
{
    return g->copies[g->problem->origin[v]] > 1;
}

// Calls visit for every vertex that has an element in common with v.
typedef void visit_fn(mesh *g, int32_t neighbour, void *context);
static void visit_around(mesh *g, int32_t v, visit_fn *visit, void *context)
{
    const hk_model *m = g->problem->model;
    for (int e = g->start[v]; e < g->start[v + 1]; e++) {
        int count;
        const int32_t *c = corners_of(m, g->list[e], &count);
        for (int k = 0; k < count; k++) visit(g, m->place[c[k]], context);
    }
}

typedef struct vote {
    int count[SECTIONS];
} vote;

static void count_vote(mesh *g, int32_t v, void *context)
{
    if (g->section[v] >= 0 && g->section[v] < SECTIONS) ((vote *)context)->count[g->section[v]]++;
}

typedef struct line {
    int first, last;
    uint8_t *seen;
} line;

static void enqueue_sharing(mesh *g, int32_t v, void *context)
{
    line *l = context;
    if (l->seen[v] || !shares(g, v)) return;
    l->seen[v] = 1;
    g->queue[l->last++] = v;
}

// What most neighbours have, of those that no vertex of the same origin has.
static void choose_section(mesh *g, const int32_t *by_origin, const int32_t *first, int32_t v)
{
    int32_t row = g->problem->origin[v];
    bool taken[SECTIONS] = {false};
    vote votes = {{0}};
    int best = SECTIONS;
    for (int k = first[row]; k < first[row + 1]; k++) {
        int8_t s = g->section[by_origin[k]];
        if (s >= 0 && s < SECTIONS) taken[s] = true;
    }
    visit_around(g, v, count_vote, &votes);
    for (int s = SECTIONS - 1; s >= 0; s--)
        if (!taken[s] && (best == SECTIONS || votes.count[s] >= votes.count[best])) best = s;
    g->section[v] = (int8_t)best;
}

// Along the cracks, so that a side of one has one section.
static hk_status choose_sections(mesh *g)
{
    const int32_t *origin = g->problem->origin;
    int32_t *first = HK_ZEROS(int32_t, g->rows + 1), *by = HK_ARRAY(int32_t, g->count);
    uint8_t *seen = HK_ZEROS(uint8_t, g->count);
    bool well = first && by && seen;
    if (well) {
        for (int v = 0; v < g->count; v++) first[origin[v] + 1]++;
        for (int r = 0; r < g->rows; r++) first[r + 1] += first[r];
        for (int v = 0; v < g->count; v++) by[first[origin[v]]++] = v;
        for (int r = g->rows; r > 0; r--) first[r] = first[r - 1];
        first[0] = 0;
        memset(g->section, -1, (size_t)g->count);
        line l = {0, 0, seen};
        for (int v = 0; v < g->count; v++) {
            enqueue_sharing(g, v, &l);
            for (; l.first < l.last; l.first++) {
                choose_section(g, by, first, g->queue[l.first]);
                visit_around(g, g->queue[l.first], enqueue_sharing, &l);
            }
        }
    }
    hk_free(first);
    hk_free(by);
    hk_free(seen);
    return well ? HK_OK : HK_NO_MEMORY;
}

typedef struct wave {
    int first, last;
    int32_t next;
} wave;

static void reach(mesh *g, int32_t v, void *context)
{
    wave *w = context;
    if (g->distance[v] >= 0) return;
    g->distance[v] = w->next;
    g->queue[w->last++] = v;
}

static void measure_section(mesh *g, int section)
{
    wave w = {0};
    for (int v = 0; v < g->count; v++) {
        g->distance[v] = -1;
        if (g->section[v] == section) reach(g, v, &w);
    }
    for (; w.first < w.last; w.first++) {
        int32_t v = g->queue[w.first];
        w.next = g->distance[v] + 1;
        visit_around(g, v, reach, &w);
    }
    float *to = g->inverse + (size_t)section * (size_t)g->count;
    for (int v = 0; v < g->count; v++)
        to[v] = g->distance[v] < 0 ? 0 : 1 / ((float)g->distance[v] + 0.5f);
}

// Θ of a vertex in a section, 0: it has none there. Untouched components are in the first.
static double weight_of(const mesh *g, int32_t v, int section, int count)
{
    if (shares(g, v)) return g->section[v] == section;
    double sum = 0;
    for (int s = 0; s < count; s++) {
        double own = (double)g->inverse[(size_t)s * (size_t)g->count + (size_t)v];
        sum += own * own;
    }
    if (sum == 0) return section == 0;
    return (double)g->inverse[(size_t)section * (size_t)g->count + (size_t)v] / sqrt(sum);
}

static hk_status fill_sections(const mesh *g, hk_sections *s)
{
    int64_t entries = 0;
    s->start = HK_ZEROS(int64_t, s->count + 1);
    s->from = HK_ZEROS(double, 4 * (size_t)g->rows);
    s->to = HK_ZEROS(double, 4 * (size_t)g->rows);
    s->sum = HK_ARRAY(double, 4 * (size_t)g->count);
    s->left = HK_ARRAY(hk_left, g->count);
    if (!s->start || !s->from || !s->to || !s->sum || !s->left) return HK_NO_MEMORY;
    for (int k = 0; k < s->count; k++)
        for (int v = 0; v < g->count; v++) entries += weight_of(g, v, k, s->count) > 0;
    s->entries = HK_ARRAY(hk_section_entry, entries);
    if (!s->entries) return HK_NO_MEMORY;
    entries = 0;
    for (int k = 0; k < s->count; k++) {
        for (int v = 0; v < g->count; v++) {
            double weight = weight_of(g, v, k, s->count);
            if (weight > 0)
                s->entries[entries++] = (hk_section_entry){v, g->problem->origin[v], weight};
        }
        s->start[k + 1] = entries;
    }
    const hk_problem *p = g->problem, *old = p->untorn->problem;
    for (int v = 0; v < g->count; v++) {
        double mass = old->mass[p->origin[v]];
        if (!shares(g, v) || p->held[v] || !(mass > 0)) continue;
        double part = g->section[v] == SECTIONS ? 1 : 1 - WHOLE * p->mass[v] / mass;
        if (part > 0) s->left[s->left_count++] = (hk_left){v, part};
    }
    return HK_OK;
}

// ---------------------------------------------------------------- pieces

static void reach_piece(mesh *g, int32_t v, void *context)
{
    wave *w = context;
    if (g->distance[v] >= 0) return;
    g->distance[v] = w->next;
    g->queue[w->last++] = v;
}

// Pieces without held vertices one after the other. The queue is theirs afterwards.
static hk_status find_pieces(mesh *g, hk_sections *s)
{
    const hk_problem *p = g->problem;
    size_t room = 0;
    wave w = {0};
    memset(g->distance, 0xff, sizeof(int32_t) * (size_t)g->count);
    for (int v = 0; v < g->count; v++) {
        if (g->distance[v] >= 0) continue;
        int first = w.last;
        bool held = false;
        for (reach_piece(g, v, &w); w.first < w.last; w.first++) {
            held |= p->held[g->queue[w.first]];
            visit_around(g, g->queue[w.first], reach_piece, &w);
        }
        if (held || p->axes) continue;
        HK_TRY(hk_reserve((void **)&s->pieces, (size_t)s->piece_count, sizeof *s->pieces, &room,
                          (size_t)s->piece_count + 1));
        s->pieces[s->piece_count++] = (hk_piece){.start = first, .count = w.last - first};
    }
    s->piece_vertices = g->queue;
    g->queue = NULL;
    return HK_OK;
}

// ---------------------------------------------------------------- all of it

static hk_status find_crack(const mesh *g, const double *weight, hk_sections *s)
{
    uint8_t *torn = HK_ARRAY(uint8_t, g->count);
    s->swept = HK_ARRAY(double, 4 * (size_t)g->count);
    bool complete = torn && s->swept;
    for (int v = 0; v < g->count && complete; v++) torn[v] = shares(g, v);
    hk_status status = complete ? hk_crack_init(&s->crack, g->problem, weight, torn) : HK_NO_MEMORY;
    hk_free(torn);
    return status;
}

static hk_status make(mesh *g, const double *weight, hk_sections *s)
{
    const hk_model *m = g->problem->model;
    size_t n = (size_t)g->count;
    g->start = HK_ZEROS(int32_t, n + 1);
    g->list = HK_ARRAY(int32_t, 4 * (size_t)m->tet_count + 3 * (size_t)m->triangle_count);
    g->copies = HK_ZEROS(int32_t, g->rows);
    g->section = HK_ARRAY(int8_t, n);
    g->queue = HK_ARRAY(int32_t, n);
    g->distance = HK_ARRAY(int32_t, n);
    g->inverse = HK_ZEROS(float, SECTIONS *n);
    if (!g->start || !g->list || !g->copies || !g->section || !g->queue || !g->distance ||
        !g->inverse)
        return HK_NO_MEMORY;
    for (size_t v = 0; v < n; v++) g->copies[g->problem->origin[v]]++;
    list_elements(g);
    HK_TRY(choose_sections(g));
    s->count = 1;
    for (size_t v = 0; v < n; v++)
        if (g->section[v] < SECTIONS) s->count = hk_max_int(s->count, g->section[v] + 1);
    for (int k = 0; k < s->count; k++) measure_section(g, k);
    HK_TRY(fill_sections(g, s));
    HK_TRY(find_crack(g, weight, s));
    return find_pieces(g, s);
}

hk_status hk_sections_make(const hk_problem *p, const double *weight, hk_sections **sections)
{
    hk_sections *s = HK_NEW(hk_sections);
    if (!s) return HK_NO_MEMORY;
    mesh g = {.problem = p, .count = p->vertex_count, .rows = p->untorn->problem->vertex_count};
    s->rows = g.rows;
    hk_status status = make(&g, weight, s);
    hk_free(g.start);
    hk_free(g.list);
    hk_free(g.copies);
    hk_free(g.section);
    hk_free(g.queue);
    hk_free(g.distance);
    hk_free(g.inverse);
    if (status != HK_OK) {
        hk_sections_free(s);
        return status;
    }
    *sections = s;
    return HK_OK;
}

void hk_sections_free(hk_sections *s)
{
    if (!s) return;
    hk_free(s->start);
    hk_free(s->entries);
    hk_free(s->left);
    hk_free(s->from);
    hk_free(s->to);
    hk_free(s->sum);
    hk_free(s->pieces);
    hk_free(s->piece_vertices);
    hk_crack_release(&s->crack);
    hk_free(s->swept);
    hk_free(s);
}
