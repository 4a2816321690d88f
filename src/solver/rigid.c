#include "solver/rigid.h"

#include "model/partition.h"
#include "solver/held_components.h"
#include "solver/problem.h"

enum { RUN = 2048 };  // vertices in a partial sum

// ---------------------------------------------------------------- which bodies

static void number_bodies(const hk_model *m, const hk_held_components *c, hk_rigid *r)
{
    for (int v = 0; v < m->vertex_count; v++) {
        int32_t of = c->of[v];  // the least of its vertices
        bool moves = c->held[of] == 0 && m->mass[v] > 0;
        r->body_of[v] = of != v ? r->body_of[of] : moves ? r->body_count++ : -1;
    }
}

// A part of a model has been told.
static void take_bodies(const hk_model *m, hk_rigid *r)
{
    const hk_partition *g = m->partition;
    r->body_count = g->rigid_count;
    for (int v = 0; v < m->vertex_count; v++) r->body_of[v] = g->pieces[g->piece[v]].rigid;
}

static hk_status list_vertices(const hk_model *m, hk_rigid *r)
{
    r->start = HK_ZEROS(int32_t, r->body_count + 2);
    r->vertex = HK_ARRAY(int32_t, m->vertex_count);
    r->grabbed = HK_ZEROS(uint8_t, r->body_count);
    r->motion = HK_ZEROS(hk_rigid_motion, r->body_count);
    r->partial = HK_ZEROS(hk_rigid_sums, m->vertex_count / RUN + 1);
    r->other = HK_ZEROS(double, r->body_count ? 4 * (size_t)m->vertex_count : 1);
    if (!r->other || !r->start || !r->vertex || !r->grabbed || !r->motion || !r->partial)
        return HK_NO_MEMORY;
    for (int v = 0; v < m->vertex_count; v++)
        if (r->body_of[v] >= 0) r->start[r->body_of[v] + 2]++;
    for (int b = 0; b < r->body_count; b++) r->start[b + 2] += r->start[b + 1];
    for (int k = 0; k < m->vertex_count; k++) {
        int32_t b = r->body_of[m->order[k]];
        if (b >= 0) r->vertex[r->start[b + 1]++] = k;
    }
    return HK_OK;
}

hk_status hk_rigid_create(const hk_model *m, hk_rigid **rigid)
{
    hk_held_components c = {0};
    hk_rigid *r = HK_NEW(hk_rigid);
    if (!r) return HK_NO_MEMORY;
    r->body_of = HK_ARRAY(int32_t, m->vertex_count);
    hk_status status = r->body_of ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK && !m->partition) status = hk_held_components_find(m, NULL, &c);
    if (status == HK_OK) {
        if (m->partition)
            take_bodies(m, r);
        else
            number_bodies(m, &c, r);
        status = list_vertices(m, r);
    }
    hk_held_components_release(&c);
    if (status != HK_OK) {
        hk_rigid_free(r);
        return status;
    }
    *rigid = r;
    return HK_OK;
}

void hk_rigid_free(hk_rigid *r)
{
    if (!r) return;
    hk_free(r->start);
    hk_free(r->vertex);
    hk_free(r->body_of);
    hk_free(r->grabbed);
    hk_free(r->motion);
    hk_free(r->other);
    hk_free(r->partial);
    hk_free(r);
}

void hk_rigid_mark_grabbed(hk_rigid *r, const hk_live *live)
{
    memset(r->grabbed, 0, (size_t)r->body_count);
    for (int k = 0; live && k < live->grab_count; k++)
        for (int i = 0; i < live->grabs[k].count && live->grabs[k].held; i++) {
            int32_t b = r->body_of[live->grabs[k].vertex[i]];
            if (b >= 0) r->grabbed[b] = 1;
        }
}

// ---------------------------------------------------------------- where they go

static void add_sums(const hk_rigid_sums *part, hk_rigid_sums *sum)
{
    sum->weight += part->weight;
    for (int i = 0; i < 3; i++) {
        sum->from[i] += part->from[i];
        sum->to[i] += part->to[i];
    }
    for (int i = 0; i < 9; i++) sum->moment[i] += part->moment[i];
}

// Over the vertices of a body, or with a motion the moments about its middles.
static hk_rigid_sums sum_up(const hk_problem *p, const double *x, int body,
                            const hk_rigid_motion *motion)
{
    const hk_rigid *r = p->rigid;
    int first = r->start[body], count = r->start[body + 1] - first;
    int runs = (count + RUN - 1) / RUN;
#pragma omp parallel for schedule(static) num_threads(p->threads) if (runs > 1)
    for (int n = 0; n < runs; n++) {
        hk_rigid_sums sum = {0};
        for (int k = n * RUN; k < hk_min_int((n + 1) * RUN, count); k++) {
            int64_t v = r->vertex[first + k];
            if (!hk_partition_counts(p->partition, v)) continue;
            const double *y = p->y + 4 * v, *f = p->force + 4 * v;
            if (motion)
                rigid_add_moment(&sum, motion, p->inertia[v], x + 4 * v, y, f);
            else
                rigid_add(&sum, p->inertia[v], x + 4 * v, y, f);
        }
        r->partial[n] = sum;
    }
    hk_rigid_sums whole = {0};
    for (int n = 0; n < runs; n++) add_sums(&r->partial[n], &whole);
    hk_partition_sum(p->partition, (double *)&whole, sizeof whole / sizeof(double));
    return whole;
}

static void move_body(const hk_problem *p, int body, double *x)
{
    const hk_rigid *r = p->rigid;
    hk_rigid_motion *m = &r->motion[body];
    hk_rigid_sums sums = sum_up(p, x, body, NULL);
    rigid_translation(&sums, m);
    sums = sum_up(p, x, body, m);
    rigid_best_turn(&sums, m);
    int first = r->start[body], end = r->start[body + 1];
#pragma omp parallel for schedule(static) num_threads(p->threads) if (end - first > RUN)
    for (int k = first; k < end; k++) rigid_move(m, x + 4 * (int64_t)r->vertex[k]);
}

bool hk_rigid_any(const hk_problem *p)
{
    hk_rigid *r = p->rigid;
    if (!(p->weight > 0) || r->body_count == 0) return false;
    hk_rigid_mark_grabbed(r, p->terms->live);
    for (int b = 0; b < r->body_count; b++)
        if (!r->grabbed[b]) return true;
    return false;
}

void hk_rigid_align(const hk_problem *p, double *x)
{
    for (int b = 0; b < p->rigid->body_count; b++)
        if (!p->rigid->grabbed[b]) move_body(p, b, x);
}

void hk_rigid_copy(const hk_problem *p, const double *from, double *to)
{
    const hk_rigid *r = p->rigid;
    for (int b = 0; b < r->body_count; b++)
        for (int k = r->start[b]; k < r->start[b + 1] && !r->grabbed[b]; k++)
            memcpy(to + 4 * (int64_t)r->vertex[k], from + 4 * (int64_t)r->vertex[k],
                   3 * sizeof(double));
}
