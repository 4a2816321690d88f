#include "design/modify.h"

#include <math.h>

#include "math/dense.h"

// ---------------------------------------------------------------- creation

static hk_status build(hk_modify *m)
{
    const hk_reference *r = m->reference;
    size_t n = 4 * (size_t)r->vertex_count;
    HK_TRY(hk_poisson_create(r, &m->poisson));
    double **vectors[] = {&m->base, &m->right, &m->plain, &m->step};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++)
        if (!(*vectors[k] = HK_ZEROS(double, n))) return HK_NO_MEMORY;
    for (int k = 0; k < HK_MODIFY_WINDOW; k++) {
        m->moves[k] = HK_ZEROS(double, n);
        m->changes[k] = HK_ZEROS(double, n);
        if (!m->moves[k] || !m->changes[k]) return HK_NO_MEMORY;
    }
    m->turns = hk_reference_new_turns(r, 1);
    m->partial = HK_ZEROS(double, r->tets->patch_count);
    return m->turns && m->partial ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_modify_create(const hk_reference *reference, hk_modify **modify)
{
    hk_modify *m = HK_NEW(hk_modify);
    if (!m) return HK_NO_MEMORY;
    m->reference = reference;
    hk_status status = build(m);
    if (status != HK_OK) {
        hk_modify_free(m);
        return status;
    }
    *modify = m;
    return HK_OK;
}

void hk_modify_free(hk_modify *m)
{
    if (!m) return;
    hk_poisson_free(m->poisson);
    hk_free(m->base);
    hk_free(m->turns);
    hk_free(m->right);
    hk_free(m->plain);
    hk_free(m->step);
    for (int k = 0; k < HK_MODIFY_WINDOW; k++) {
        hk_free(m->moves[k]);
        hk_free(m->changes[k]);
    }
    hk_free(m->partial);
    hk_free(m);
}

void hk_modify_restart(hk_modify *m)
{
    m->known = m->mixed = false;
    m->count = m->next = 0;
}

void hk_modify_set_base(hk_modify *m, const double *base)
{
    memcpy(m->base, base, 4 * sizeof(double) * (size_t)m->reference->vertex_count);
    hk_reference_reset_turns(m->reference, 1, m->turns);
    hk_modify_restart(m);
}

hk_status hk_modify_hold(hk_modify *m, const uint8_t *held, int tie_count, hk_modify_tie *ties)
{
    hk_poisson_tie *plain = HK_ARRAY(hk_poisson_tie, tie_count);
    if (!plain) return HK_NO_MEMORY;
    for (int k = 0; k < tie_count; k++) plain[k] = ties[k].tie;
    hk_status status = hk_poisson_factor(m->poisson, held, NULL, tie_count, plain);
    hk_free(plain);
    m->tie_count = tie_count;
    m->ties = ties;
    hk_modify_restart(m);
    return status;
}

// ---------------------------------------------------------------- a plain step

typedef struct pass {
    hk_modify *m;
    hk_rigid_pass rigid;
} pass;

static void fill_rigid(void *context, int k, void *slots)
{
    pass *p = context;
    const hk_reference *r = p->m->reference;
    const hk_tet_patch *patch = &r->tets->patches[k];
    const hk_tet_batch *batch = &r->tets->batches[patch->batch];
    p->m->partial[k] = 0;
    if (hk_reference_skips(r, patch, slots)) return;
    hk_rigid_pass rigid = p->rigid;
    rigid.turn = p->m->turns + hk_reference_turns(r, patch->batch, 1);
    p->m->partial[k] = r->kernels->rigid(batch, &rigid, patch->first, patch->last, slots);
}

static double add_ties(hk_modify *m, const double *x)
{
    double energy = 0;
    for (int k = 0; k < m->tie_count; k++) {
        const hk_poisson_tie *tie = &m->ties[k].tie;
        for (int i = 0; i < 3; i++) {
            double gap = m->ties[k].target[i];
            for (int a = 0; a < tie->count; a++)
                gap -= tie->factor[a] * x[4 * (int64_t)tie->vertex[a] + i];
            for (int a = 0; a < tie->count; a++)
                m->right[4 * (int64_t)tie->vertex[a] + i] += tie->weight * tie->factor[a] * gap;
            energy += 0.5 * tie->weight * gap * gap;
        }
    }
    return energy;
}

// right = −∇E with held vertices at their goals, rotations being those of x. Returns E.
static double evaluate(hk_modify *m, const double *x, const double *at)
{
    const hk_reference *r = m->reference;
    pass p = {.m = m, .rigid = {.base = m->base, .x = x, .at = at}};
    hk_tet_gather(r->tets, fill_rigid, &p, m->right);
    double energy = 0;
    for (int k = 0; k < r->tets->patch_count; k++) energy += m->partial[k];
    return energy + add_ties(m, at);
}

// ---------------------------------------------------------------- acceleration

static double product(const hk_modify *m, const double *a, const double *b)
{
    double sum = 0;
    for (int64_t k = 0; k < 4 * (int64_t)m->reference->vertex_count; k++) sum += a[k] * b[k];
    return sum;
}

// Takes the differences between this plain step, x → x + step, and the last one into the window.
static void remember(hk_modify *m, const double *x, const double *step)
{
    int64_t size = 4 * (int64_t)m->reference->vertex_count;
    if (m->known) {
        double *move = m->moves[m->next], *change = m->changes[m->next];
        for (int64_t k = 0; k < size; k++) {
            move[k] = x[k] + step[k] - m->plain[k];
            change[k] = step[k] - m->step[k];
        }
        if (m->count < HK_MODIFY_WINDOW) m->count++;
        for (int k = 0; k < m->count; k++)
            m->gram[m->next][k] = m->gram[k][m->next] = product(m, change, m->changes[k]);
        m->next = (m->next + 1) % HK_MODIFY_WINDOW;
    }
    for (int64_t k = 0; k < size; k++) {
        m->plain[k] = x[k] + step[k];
        m->step[k] = step[k];
    }
    m->known = true;
}

// x = plain − Σ θ moves, where θ makes ‖step − Σ θ changes‖ least.
static void mix(hk_modify *m, double *x)
{
    enum { MOST = HK_MODIFY_WINDOW };
    int64_t size = 4 * (int64_t)m->reference->vertex_count;
    double a[MOST * MOST], theta[MOST];
    int n = m->count;
    m->mixed = false;
    memcpy(x, m->plain, sizeof(double) * (size_t)size);
    if (n == 0) return;
    double trace = 0;
    for (int i = 0; i < n; i++) trace += m->gram[i][i];
    for (int i = 0; i < n; i++) {
        theta[i] = product(m, m->changes[i], m->step);
        for (int j = 0; j < n; j++) a[n * i + j] = m->gram[i][j] + (i == j ? 1e-10 * trace : 0);
    }
    if (!(trace > 0) || !hk_dense_factor(a, n)) return;
    hk_dense_solve(a, n, theta);
    for (int i = 0; i < n; i++)
        if (!isfinite(theta[i])) return;
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k < size; k++) x[k] -= theta[i] * m->moves[i][k];
    m->mixed = true;
}

// ---------------------------------------------------------------- a step

static void put_held(const hk_modify *m, const double *goal, double *x)
{
    for (int64_t v = 0; v < m->reference->vertex_count; v++)
        if (m->poisson->held[v]) memcpy(x + 4 * v, goal + 4 * v, 4 * sizeof(double));
}

double hk_modify_step(hk_modify *m, const double *goal, double *x)
{
    int64_t size = 4 * (int64_t)m->reference->vertex_count;
    double energy;
    if (m->known) {
        energy = evaluate(m, x, x);
        if (m->mixed && !(energy <= m->energy)) {  // the plain step instead
            memcpy(x, m->plain, sizeof(double) * (size_t)size);
            m->count = m->next = 0;
            energy = evaluate(m, x, x);
        }
    } else {  // rotations of the shape before its vertices were put elsewhere
        memcpy(m->plain, x, sizeof(double) * (size_t)size);
        put_held(m, goal, x);
        energy = evaluate(m, m->plain, x);
    }
    m->energy = energy;
    hk_poisson_solve(m->poisson, m->right, m->right);
    double way = 0;
    for (int64_t v = 0; v < m->reference->vertex_count; v++) {
        const double *u = m->right + 4 * v;
        way = fmax(way, u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    }
    remember(m, x, m->right);
    mix(m, x);
    return sqrt(way);
}
