#include "solver/crack.h"

#include <stdlib.h>

#include "term/terms.h"

// Elements around torn vertices, and sweeps on either side.
enum { RINGS = 2, SWEEPS = 2 };

// ---------------------------------------------------------------- rows

typedef struct marking {
    uint8_t *level;  // [vertex_count] 0: far; 1 + RINGS: torn, and less by one for each element
    uint8_t now;
} marking;

static void mark(void *context, const hk_weights *w)
{
    marking *m = context;
    bool near = false;
    for (int k = 0; k < w->count; k++) near = near || m->level[w->vertex[k]] == m->now;
    for (int k = 0; k < w->count && near; k++)
        if (m->level[w->vertex[k]] == 0) m->level[w->vertex[k]] = (uint8_t)(m->now - 1);
}

static hk_status choose_rows(hk_crack *c, const hk_problem *p, const double *weight,
                             const uint8_t *torn)
{
    marking m = {.level = HK_ZEROS(uint8_t, p->vertex_count)};
    c->row = HK_ARRAY(int32_t, p->vertex_count);
    c->vertex = HK_ARRAY(int32_t, p->vertex_count);
    if (!m.level || !c->row || !c->vertex) {
        hk_free(m.level);
        return HK_NO_MEMORY;
    }
    for (int v = 0; v < p->vertex_count; v++) m.level[v] = torn[v] ? 1 + RINGS : 0;
    for (m.now = 1 + RINGS; m.now > 1; m.now--) hk_model_weights(p->model, weight, mark, &m);
    for (int v = 0; v < p->vertex_count; v++) {
        bool chosen = m.level[v] > 0 && !p->held[v];
        c->row[v] = chosen ? c->count : -1;
        if (chosen) c->vertex[c->count++] = v;
    }
    hk_free(m.level);
    return HK_OK;
}

static void count_entries(void *context, const hk_weights *w)
{
    hk_crack *c = context;
    for (int k = 0; k < w->count; k++) {
        int32_t row = c->row[w->vertex[k]];
        if (row >= 0) c->start[row + 1] += w->count - 1;
    }
}

static void add_entries(void *context, const hk_weights *w)
{
    hk_crack *c = context;
    for (int a = 0; a < w->count; a++) {
        int32_t row = c->row[w->vertex[a]];
        if (row < 0) continue;
        c->diagonal[row] += hk_weight_of(w, a, a);
        for (int b = 0; b < w->count; b++) {
            if (b == a) continue;
            c->column[c->start[row]] = w->vertex[b];
            c->number[c->start[row]++] = hk_weight_of(w, a, b);
        }
    }
}

typedef struct entry {
    int32_t column;
    double number;
} entry;

static int by_column(const void *a, const void *b)
{
    const entry *e = a, *f = b;
    return (e->column > f->column) - (e->column < f->column);
}

// What several elements say of a pair becomes one number.
static hk_status merge(hk_crack *c)
{
    int64_t most = 0, to = 0;
    for (int r = 0; r < c->count; r++)
        if (c->start[r + 1] - c->start[r] > most) most = c->start[r + 1] - c->start[r];
    entry *own = HK_ARRAY(entry, most);
    if (!own) return HK_NO_MEMORY;
    for (int r = 0; r < c->count; r++) {
        int64_t first = c->start[r], count = c->start[r + 1] - first, begin = to;
        for (int64_t k = 0; k < count; k++)
            own[k] = (entry){c->column[first + k], c->number[first + k]};
        qsort(own, (size_t)count, sizeof *own, by_column);
        c->start[r] = begin;
        for (int64_t k = 0; k < count; k++) {
            if (to > begin && c->column[to - 1] == own[k].column) {
                c->number[to - 1] += own[k].number;
                continue;
            }
            c->column[to] = own[k].column;
            c->number[to++] = own[k].number;
        }
    }
    c->start[c->count] = to;
    hk_free(own);
    return HK_OK;
}

static hk_status fill(hk_crack *c, const hk_problem *p, const double *weight)
{
    size_t size = 4 * (size_t)p->vertex_count;
    c->start = HK_ZEROS(int64_t, c->count + 1);
    c->diagonal = HK_ZEROS(double, c->count);
    c->given = HK_ZEROS(double, size);
    c->left = HK_ZEROS(double, size);
    if (!c->start || !c->diagonal || !c->given || !c->left) return HK_NO_MEMORY;
    hk_model_weights(p->model, weight, count_entries, c);
    for (int r = 0; r < c->count; r++) c->start[r + 1] += c->start[r];
    c->column = HK_ARRAY(int32_t, c->start[c->count]);
    c->number = HK_ARRAY(double, c->start[c->count]);
    if (!c->column || !c->number) return HK_NO_MEMORY;
    hk_model_weights(p->model, weight, add_entries, c);
    for (int r = c->count; r > 0; r--) c->start[r] = c->start[r - 1];
    c->start[0] = 0;
    return merge(c);
}

hk_status hk_crack_init(hk_crack *c, const hk_problem *p, const double *weight, const uint8_t *torn)
{
    *c = (hk_crack){0};
    HK_TRY(choose_rows(c, p, weight, torn));
    return c->count > 0 ? fill(c, p, weight) : HK_OK;
}

void hk_crack_release(hk_crack *c)
{
    hk_free(c->vertex);
    hk_free(c->row);
    hk_free(c->start);
    hk_free(c->column);
    hk_free(c->number);
    hk_free(c->diagonal);
    hk_free(c->given);
    hk_free(c->left);
}

// ---------------------------------------------------------------- sweeps

// b − (A' − its diagonal) x of a row, and the diagonal.
static double look(const hk_crack *c, const hk_problem *p, int row, const double *x, double rest[3])
{
    int64_t v = c->vertex[row];
    double scale = 1 + p->stiffening, sum[3] = {0};
    for (int64_t k = c->start[row]; k < c->start[row + 1]; k++) {
        const double *other = x + 4 * (int64_t)c->column[k];
        for (int i = 0; i < 3; i++) sum[i] += c->number[k] * other[i];
    }
    for (int i = 0; i < 3; i++) rest[i] = c->given[4 * v + i] - scale * sum[i];
    return scale * c->diagonal[row] + p->inertia[v] + p->shift;
}

static void sweep(const hk_crack *c, const hk_problem *p, const uint8_t *held, bool forwards,
                  double *x)
{
    for (int n = 0; n < c->count; n++) {
        int row = forwards ? n : c->count - 1 - n;
        int64_t v = c->vertex[row];
        double rest[3], diagonal;
        if (held[v]) continue;
        diagonal = look(c, p, row, x, rest);
        for (int i = 0; i < 3 && diagonal > 0; i++) x[4 * v + i] = rest[i] / diagonal;
    }
}

void hk_crack_before(hk_crack *c, const hk_problem *p, const uint8_t *held, const double *b,
                     double *x)
{
    size_t bytes = 4 * sizeof(double) * (size_t)p->vertex_count;
    double scale = 1 + p->stiffening;
    memcpy(c->given, b, bytes);
    memset(x, 0, bytes);
    for (int n = 0; n < SWEEPS; n++) sweep(c, p, held, true, x);
    memcpy(c->left, c->given, bytes);
    for (int row = 0; row < c->count; row++) {
        int64_t v = c->vertex[row];
        double rest[3], diagonal = look(c, p, row, x, rest);
        for (int i = 0; i < 3; i++) c->left[4 * v + i] = rest[i] - diagonal * x[4 * v + i];
        // Rows that are none of these have no x of their own.
        for (int64_t k = c->start[row]; k < c->start[row + 1]; k++) {
            int64_t other = c->column[k];
            for (int i = 0; i < 3 && c->row[other] < 0; i++)
                c->left[4 * other + i] -= scale * c->number[k] * x[4 * v + i];
        }
    }
}

void hk_crack_after(hk_crack *c, const hk_problem *p, const uint8_t *held, double *x)
{
    for (int n = 0; n < SWEEPS; n++) sweep(c, p, held, false, x);
}
