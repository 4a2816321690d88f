#include "design/modify.h"

#include <math.h>

// ---------------------------------------------------------------- creation

static hk_status build(hk_modify *m)
{
    const hk_reference *r = m->reference;
    size_t n = 4 * (size_t)r->vertex_count;
    HK_TRY(hk_poisson_create(r, &m->poisson));
    double **vectors[] = {&m->base, &m->right};
    for (int k = 0; k < HK_COUNT_OF(vectors); k++)
        if (!(*vectors[k] = HK_ZEROS(double, n))) return HK_NO_MEMORY;
    hk_secant_init(&m->secant, (int64_t)n, r->threads, HK_MODIFY_WINDOW);
    HK_TRY(hk_secant_reserve(&m->secant));
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
    hk_secant_release(&m->secant);
    hk_free(m->partial);
    hk_free(m);
}

void hk_modify_restart(hk_modify *m)
{
    m->mixed = false;
    hk_secant_forget(&m->secant);
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

// ---------------------------------------------------------------- a step

static void put_held(const hk_modify *m, const double *goal, double *x)
{
    for (int64_t v = 0; v < m->reference->vertex_count; v++)
        if (m->poisson->held[v]) memcpy(x + 4 * v, goal + 4 * v, 4 * sizeof(double));
}

double hk_modify_step(hk_modify *m, const double *goal, double *x)
{
    int64_t size = 4 * (int64_t)m->reference->vertex_count;
    double energy, *before = m->secant.plain;
    if (m->secant.known) {
        energy = evaluate(m, x, x);
        if (m->mixed && !(energy <= m->energy)) {  // the plain step instead
            memcpy(x, before, sizeof(double) * (size_t)size);
            m->secant.count = m->secant.next = 0;
            energy = evaluate(m, x, x);
        }
    } else {  // rotations of the shape before its vertices were put elsewhere
        memcpy(before, x, sizeof(double) * (size_t)size);
        put_held(m, goal, x);
        energy = evaluate(m, before, x);
    }
    m->energy = energy;
    hk_poisson_solve(m->poisson, m->right, m->right);
    double way = 0;
    for (int64_t v = 0; v < m->reference->vertex_count; v++) {
        const double *u = m->right + 4 * v;
        way = fmax(way, u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    }
    m->mixed = false;
    hk_secant_improve(&m->secant, x, m->right, &m->mixed);  // its vectors are there
    for (int64_t k = 0; k < size; k++) x[k] += m->right[k];
    return sqrt(way);
}
