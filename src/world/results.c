// What engineers ask of a state: reactions, stress and strain, the largest of them, and probes.
#include <math.h>

#include "model/partition.h"
#include "term/tet.h"
#include "world/world.h"

// ---------------------------------------------------------------- reactions

int hk_model_constraint_count(const hk_model *m)
{
    int count = 0;
    for (int b = 0; m && b < m->body_count; b++)
        count += m->bodies[b].fix_count + m->bodies[b].move_count;
    return count;
}

// f = ∇E + M a at held vertices, 0 at free ones: what balances the forces there.
static hk_status vertex_reactions(hk_world *w, double *f)
{
    const hk_model *m = w->model;
    HK_TRY(hk_world_find_gradient(w, f));
    bool moving = !w->gpu && w->step_before > 0;
    for (int v = 0; v < m->vertex_count; v++) {
        const double *after = w->v + 4 * (int64_t)m->place[v];
        const double *before = w->v_before + 4 * (int64_t)m->place[v];
        for (int i = 0; i < 3; i++) {
            double *to = &f[3 * (int64_t)v + i];
            bool stays = m->axes && m->axes[v] >> i & 1;
            if (m->hold[v] == HK_FREE && !stays)
                *to = 0;
            else if (moving && m->hold[v] >= 0)
                *to += w->problem->mass[m->place[v]] * (after[i] - before[i]) / w->step_before;
        }
    }
    return HK_OK;
}

// The axes along which it holds a vertex.
static int axes_held_by(const hk_model *m, const hk_body *body, const hk_reaction *r, int vertex)
{
    bool moved = m->hold[vertex] >= 0;
    if (!hk_partition_counts(m->partition, m->place[vertex])) return 0;
    if (r->moves) return m->hold[vertex] == body->motion_start + r->number ? HK_ALL_AXES : 0;
    int axes = 0;
    for (int i = 0; i < 3 && !moved; i++)
        if (m->fixed_by[3 * (int64_t)vertex + i] == r->number) axes |= 1 << i;
    return axes;
}

static void sum_reaction(const hk_world *w, const double *f, hk_reaction *r)
{
    const hk_model *m = w->model;
    const hk_body *body = &m->bodies[r->body];
    int first = body->vertex_start, last = first + body->vertex_count;
    for (int v = first; v < last; v++) {
        int axes = axes_held_by(m, body, r, v);
        if (axes == 0) continue;
        r->vertices++;
        for (int i = 0; i < 3; i++) {
            if (axes >> i & 1) r->force[i] += f[3 * (int64_t)v + i];
            r->center[i] += w->positions[3 * (int64_t)v + i];
        }
    }
    double sums[7] = {r->vertices,  r->force[0],  r->force[1], r->force[2],
                      r->center[0], r->center[1], r->center[2]};
    hk_partition_sum(m->partition, sums, HK_COUNT_OF(sums));
    r->vertices = (int)sums[0];
    memcpy(r->force, sums + 1, sizeof r->force);
    for (int i = 0; i < 3; i++) r->center[i] = r->vertices > 0 ? sums[4 + i] / r->vertices : 0;
    for (int v = first; v < last; v++) {
        int axes = axes_held_by(m, body, r, v);
        if (axes == 0) continue;
        const double *at = w->positions + 3 * (int64_t)v;
        double g[3];
        for (int i = 0; i < 3; i++) g[i] = axes >> i & 1 ? f[3 * (int64_t)v + i] : 0;
        double arm[3] = {at[0] - r->center[0], at[1] - r->center[1], at[2] - r->center[2]};
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            r->moment[i] += arm[j] * g[k] - arm[k] * g[j];
        }
    }
    hk_partition_sum(m->partition, r->moment, 3);
}

static void sum_reactions(const hk_world *w, const double *f, hk_reaction *to)
{
    for (int b = 0; b < w->model->body_count; b++) {
        const hk_body *body = &w->model->bodies[b];
        for (int k = 0; k < body->fix_count + body->move_count; k++, to++) {
            bool moves = k >= body->fix_count;
            *to = (hk_reaction){.body = b,
                                .moves = moves,
                                .number = moves ? k - body->fix_count : k,
                                .name = body->constraint_names[k]};
            sum_reaction(w, f, to);
        }
    }
}

hk_status hk_world_find_reactions(hk_world *w, hk_reaction *reactions, double *vertices)
{
    HK_TRY(hk_world_fetch(w));
    double *own = vertices ? NULL : HK_ARRAY(double, 3 * (size_t)w->model->vertex_count);
    double *f = vertices ? vertices : own;
    if (!f) return HK_NO_MEMORY;
    w->at_work = true;
    hk_status status = vertex_reactions(w, f);
    w->at_work = false;
    if (status == HK_OK && reactions) sum_reactions(w, f, reactions);
    hk_free(own);
    return status;
}

hk_status hk_world_reactions(hk_world *w, hk_reaction *reactions, double *vertices)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w) return hk_fail(HK_BAD_INPUT, "hk_world_reactions: world is needed");
    return hk_world_find_reactions(w, reactions, vertices);
}

// ---------------------------------------------------------------- stress and strain

static double determinant(const double f[9])
{
    return f[0] * (f[4] * f[8] - f[5] * f[7]) + f[1] * (f[5] * f[6] - f[3] * f[8]) +
           f[2] * (f[3] * f[7] - f[4] * f[6]);
}

// σ = P Fᵀ / J
static void cauchy(const double P[9], const double F[9], double s[9])
{
    double j = fabs(determinant(F));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            for (int l = 0; l < 3; l++) sum += P[3 * i + l] * F[3 * k + l];
            s[3 * i + k] = sum / j;
        }
}

static double von_mises(const double s[9])
{
    double a = s[0] - s[4], b = s[4] - s[8], c = s[8] - s[0];
    double shear = s[1] * s[1] + s[5] * s[5] + s[2] * s[2];
    return sqrt(0.5 * (a * a + b * b + c * c) + 3 * shear);
}

// Eigenvalues of a symmetric matrix, the largest first: Jacobi's rotations.
static void eigenvalues(const double given[9], double values[3])
{
    double s[9];
    memcpy(s, given, sizeof s);
    for (int sweep = 0; sweep < 30; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                double off = s[3 * p + q];
                if (off == 0) continue;
                double theta = (s[4 * q] - s[4 * p]) / (2 * off);
                double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1));
                double c = 1 / hypot(t, 1), n = c * t;
                int r = 3 - p - q;
                double rp = s[3 * r + p], rq = s[3 * r + q];
                s[4 * p] -= t * off;
                s[4 * q] += t * off;
                s[3 * p + q] = s[3 * q + p] = 0;
                s[3 * r + p] = s[3 * p + r] = c * rp - n * rq;
                s[3 * r + q] = s[3 * q + r] = n * rp + c * rq;
            }
    double high = fmax(s[0], fmax(s[4], s[8])), low = fmin(s[0], fmin(s[4], s[8]));
    values[0] = high;
    values[1] = fmax(fmin(s[0], s[4]), fmin(fmax(s[0], s[4]), s[8]));
    values[2] = low;
}

// E = (FᵀF − 1)/2, Green's.
static void green(const double F[9], double e[9])
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            double sum = i == k ? -1 : 0;
            for (int l = 0; l < 3; l++) sum += F[3 * l + i] * F[3 * l + k];
            e[3 * i + k] = sum / 2;
        }
}

static void fill_tet(hk_tet_result what, const double P[9], const double F[9], double *values)
{
    double s[9];
    cauchy(P, F, s);
    bool sound = true;  // a flat tet has no Cauchy stress
    for (int i = 0; i < 9; i++) sound = sound && isfinite(s[i]);
    for (int i = 0; i < 9 && !sound; i++) s[i] = 0;
    switch (what) {
    case HK_TET_VON_MISES: *values = von_mises(s); break;
    case HK_TET_J: *values = determinant(F); break;
    case HK_TET_STRESS: memcpy(values, s, sizeof s); break;
    case HK_TET_PRINCIPAL: eigenvalues(s, values); break;
    case HK_TET_STRAIN: green(F, values); break;
    }
}

hk_status hk_world_tet_result(hk_world *w, hk_tet_result what, int components, double *values)
{
    HK_TRY(hk_world_need_problem(w));
    int count = w->model->tet_count;
    if (count == 0) return HK_OK;
    double *P = HK_ARRAY(double, 9 * (size_t)count), *F = HK_ARRAY(double, 9 * (size_t)count);
    if (P && F) {
        w->at_work = true;
        hk_tet_stress((hk_tet_term *)hk_terms_find(w->problem->terms, &hk_tets_term), w->x, P, F);
        w->at_work = false;
        for (int64_t t = 0; t < count; t++)
            fill_tet(what, P + 9 * t, F + 9 * t, values + components * t);
        for (int64_t k = 0; k < (int64_t)components * count; k++)
            if (!isfinite(values[k])) values[k] = 0;
    }
    hk_free(P);
    hk_free(F);
    return P && F ? HK_OK : HK_NO_MEMORY;
}

// ---------------------------------------------------------------- the largest

static int body_of_vertex(const hk_model *m, int vertex)
{
    int b = 0;
    while (b + 1 < m->body_count && m->bodies[b + 1].vertex_start <= vertex) b++;
    return b;
}

// Over all parts, from the largest square of this one and the vertex that has it. Of several it is
// the one with the lowest number.
static void find_whole_displacement(const hk_world *w, double most, int vertex, hk_greatest *g)
{
    const hk_model *m = w->model;
    hk_partition *p = m->partition;
    double all = hk_partition_max_of(p, most);
    double number = vertex >= 0 && most == all ? p->vertex[vertex] : INFINITY;
    double first = hk_partition_min_of(p, number), told[5] = {0};
    if (!isfinite(first)) return;
    if (number == first && hk_partition_counts(p, m->place[vertex])) {
        told[0] = body_of_vertex(m, vertex);
        told[1] = number - p->first[2 * (int)told[0]];
        memcpy(told + 2, w->positions + 3 * (int64_t)vertex, 3 * sizeof(double));
    }
    hk_partition_sum(p, told, HK_COUNT_OF(told));
    g->displacement = sqrt(all);
    g->displacement_body = (int)told[0];
    g->vertex = (int)told[1];
    memcpy(g->displacement_place, told + 2, 3 * sizeof(double));
}

// The same of the largest stress and the tet that has it.
static void find_whole_stress(const hk_world *w, double most, int tet, hk_greatest *g)
{
    const hk_model *m = w->model;
    hk_partition *p = m->partition;
    double all = hk_partition_max_of(p, most);
    double number = tet >= 0 && most == all ? p->tet[tet] : INFINITY;
    double first = hk_partition_min_of(p, number), told[5] = {0};
    if (!isfinite(first)) return;
    if (number == first) {
        const int32_t *c = m->tets + 4 * (int64_t)tet;
        told[0] = body_of_vertex(m, c[0]);
        told[1] = number - p->first[2 * (int)told[0] + 1];
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 4; k++) told[2 + i] += w->positions[3 * (int64_t)c[k] + i] / 4;
    }
    hk_partition_sum(p, told, HK_COUNT_OF(told));
    g->von_mises = all;
    g->von_mises_body = (int)told[0];
    g->tet = (int)told[1];
    memcpy(g->von_mises_place, told + 2, 3 * sizeof(double));
}

static void find_displacement(const hk_world *w, hk_greatest *g)
{
    const hk_model *m = w->model;
    int largest = -1;
    double most = -1;
    for (int v = 0; v < m->vertex_count; v++) {
        double sum = 0;
        for (int64_t k = 3 * (int64_t)v; k < 3 * (int64_t)v + 3; k++)
            sum += (w->positions[k] - m->rest[k]) * (w->positions[k] - m->rest[k]);
        if (sum > most) {
            most = sum;
            largest = v;
        }
    }
    if (m->partition) {
        find_whole_displacement(w, most, largest, g);
        return;
    }
    if (largest < 0) return;
    g->displacement = sqrt(most);
    g->displacement_body = body_of_vertex(m, largest);
    g->vertex = largest - m->bodies[g->displacement_body].vertex_start;
    memcpy(g->displacement_place, w->positions + 3 * (int64_t)largest, 3 * sizeof(double));
}

static hk_status find_stress(hk_world *w, hk_greatest *g)
{
    const hk_model *m = w->model;
    if (m->tet_count == 0 && !m->partition) return HK_OK;
    double *stress = HK_ARRAY(double, m->tet_count);
    if (!stress) return HK_NO_MEMORY;
    hk_status status = hk_world_tet_result(w, HK_TET_VON_MISES, 1, stress);
    int largest = 0;
    for (int t = 1; t < m->tet_count && status == HK_OK; t++)
        if (stress[t] > stress[largest]) largest = t;
    if (status == HK_OK && m->partition) {
        bool any = m->tet_count > 0;
        find_whole_stress(w, any ? stress[largest] : -1, any ? largest : -1, g);
    } else if (status == HK_OK) {
        const int32_t *c = m->tets + 4 * (int64_t)largest;
        g->von_mises = stress[largest];
        g->von_mises_body = body_of_vertex(m, c[0]);
        g->tet = largest - m->bodies[g->von_mises_body].tet_start;
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 4; k++)
                g->von_mises_place[i] += w->positions[3 * (int64_t)c[k] + i] / 4;
    }
    hk_free(stress);
    return status;
}

hk_status hk_world_greatest(hk_world *w, hk_greatest *greatest)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !greatest)
        return hk_fail(HK_BAD_INPUT, "hk_world_greatest: world and greatest are needed");
    HK_TRY(hk_world_fetch(w));
    hk_greatest found = {.displacement_body = -1, .von_mises_body = -1, .vertex = -1, .tet = -1};
    find_displacement(w, &found);
    HK_TRY(find_stress(w, &found));
    *greatest = found;
    return HK_OK;
}

// ---------------------------------------------------------------- probes

// Where a body is torn the point stays with its tet, and vertices have kept their numbers within
// their body: reserved[0] is where that began when the probe was made, and 1.
static int32_t probed_vertex(const hk_model *m, const hk_probe *probe, int k)
{
    bool tet = probe->count == 4 && probe->tet >= 0 && probe->tet < m->tet_count;
    if (tet) return m->tets[4 * (int64_t)probe->tet + k];
    if (probe->reserved[0] == 0 || probe->body < 0 || probe->body >= m->body_count)
        return probe->vertices[k];
    return m->bodies[probe->body].vertex_start + probe->vertices[k] -
           (int32_t)(probe->reserved[0] - 1);
}

hk_status hk_world_probe(const hk_world *w, const hk_probe *probe, double place[3])
{
    if (!w || !probe || !place)
        return hk_fail(HK_BAD_INPUT, "hk_world_probe: world, probe and place are needed");
    if (probe->count < 1 || probe->count > 4)
        return hk_fail(HK_BAD_INPUT, "hk_world_probe: hk_model_probe did not make this probe");
    int32_t vertices[4];
    for (int k = 0; k < probe->count; k++) {
        vertices[k] = probed_vertex(w->model, probe, k);
        if (vertices[k] < 0 || vertices[k] >= w->model->vertex_count)
            return hk_fail(HK_BAD_INPUT, "hk_world_probe: there is no vertex %d", vertices[k]);
    }
    HK_TRY(hk_world_fetch_positions(w));
    for (int i = 0; i < 3; i++) {
        place[i] = 0;
        for (int k = 0; k < probe->count; k++)
            place[i] += probe->weights[k] * w->positions[3 * (int64_t)vertices[k] + i];
    }
    return HK_OK;
}
