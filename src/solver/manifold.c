#include "solver/manifold.h"

#include <math.h>

#include "math/dense.h"

// ---------------------------------------------------------------- creation

// The middle of a part by mass, and how far its vertices are from its center.
static void measure_part(hk_manifold *m, int number)
{
    const hk_part *part = &m->constraints->parts[number];
    hk_manifold_part *p = &m->parts[number];
    double sum = 0, square = 0;
    for (int k = part->start; k < part->start + part->count; k++) {
        int64_t v = m->vertex[k];
        for (int i = 0; i < 3; i++) {
            p->rest_mean[i] += m->mass[v] * m->rest[4 * v + i];
            square += pow(m->rest[4 * v + i] - part->center[i], 2);
        }
        sum += m->mass[v];
    }
    for (int i = 0; i < 3; i++) p->rest_mean[i] /= sum;
    p->length = square > 0 ? sqrt(square / part->count) : 1;
    p->freedom = part->freedom;
    p->tree = -1;
    for (int i = 0; i < 3; i++) p->R[i][i] = 1;
}

// Returns how many numbers its bases and its factor take.
static size_t count_tree(hk_manifold *m, int number)
{
    const hk_constraints *c = m->constraints;
    hk_manifold_tree *t = &m->trees[number];
    t->first_part = c->tree_start[number];
    t->part_count = c->tree_start[number + 1] - t->first_part;
    t->light = t->part_count == 1;
    for (int k = 0; k < t->part_count; k++) {
        hk_manifold_part *p = &m->parts[c->order[t->first_part + k]];
        p->tree = number;
        p->first = t->count;
        t->count += hk_freedom_count(p->freedom);
        t->light = t->light && !hk_freedom_is_rigid(p->freedom) &&
                   c->parts[c->order[t->first_part]].count <= 8;
    }
    t->block = m->block_count;
    m->block_count += (t->count + 2) / 3;
    m->most = hk_max_int(m->most, t->count);
    return (size_t)t->count * (6 * (size_t)t->part_count + (size_t)t->count);
}

static hk_status share_numbers(hk_manifold *m, size_t total)
{
    m->numbers = HK_ZEROS(double, total);
    m->matrix = HK_ZEROS(double, (size_t)m->most *(size_t)m->most);
    m->unknowns = HK_ZEROS(double, m->most);
    if (!m->numbers || !m->matrix || !m->unknowns) return HK_NO_MEMORY;
    double *next = m->numbers;
    for (int n = 0; n < m->constraints->tree_count; n++) {
        hk_manifold_tree *t = &m->trees[n];
        for (int k = 0; k < t->part_count; k++, next += 6 * t->count)
            m->parts[m->constraints->order[t->first_part + k]].basis = next;
        t->gram = next;
        next += t->count * t->count;
    }
    return HK_OK;
}

static hk_status build(hk_manifold *m)
{
    const hk_model *model = m->model;
    const hk_constraints *c = m->constraints;
    size_t size = 4 * (size_t)model->vertex_count, total = 0;
    m->vertex = HK_ARRAY(int32_t, model->vertex_count);
    m->part_of = HK_ARRAY(int32_t, model->vertex_count);
    m->parts = HK_ZEROS(hk_manifold_part, c->part_count);
    m->trees = HK_ZEROS(hk_manifold_tree, c->tree_count);
    m->vector = HK_ZEROS(double, size);
    m->line = HK_ZEROS(double, size);
    if (!m->vertex || !m->part_of || !m->parts || !m->trees || !m->vector || !m->line)
        return HK_NO_MEMORY;
    for (int v = 0; v < model->vertex_count; v++) m->part_of[model->place[v]] = c->part_of[v];
    for (int k = 0; k < c->part_count; k++)
        for (int i = c->parts[k].start; i < c->parts[k].start + c->parts[k].count; i++)
            m->vertex[i] = model->place[c->vertices[i]];
    for (int k = 0; k < c->part_count; k++) measure_part(m, k);
    for (int n = 0; n < c->tree_count; n++) total += count_tree(m, n);
    HK_TRY(share_numbers(m, total));
    HK_TRY(hk_manifold_take_cavities(m));
    hk_manifold_stand(m, m->rest);
    return HK_OK;
}

hk_status hk_manifold_create(const hk_model *model, const double *mass, const double *rest,
                             hk_manifold **manifold)
{
    *manifold = NULL;
    if (!model->constraints) return HK_OK;
    hk_manifold *m = HK_NEW(hk_manifold);
    if (!m) return HK_NO_MEMORY;
    m->model = model;
    m->constraints = model->constraints;
    m->mass = mass;
    m->rest = rest;
    hk_status status = build(m);
    if (status != HK_OK) {
        hk_manifold_free(m);
        return status;
    }
    *manifold = m;
    return HK_OK;
}

void hk_manifold_free(hk_manifold *m)
{
    if (!m) return;
    hk_manifold_free_cavities(m);
    hk_free(m->vertex);
    hk_free(m->part_of);
    hk_free(m->parts);
    hk_free(m->trees);
    hk_free(m->numbers);
    hk_free(m->matrix);
    hk_free(m->unknowns);
    hk_free(m->vector);
    hk_free(m->line);
    hk_free(m);
}

// ---------------------------------------------------------------- velocities of parts

// Column k of a basis gets a velocity of c and a spin.
static void set_column(hk_manifold_part *p, int count, int k, const double velocity[3],
                       const double spin[3])
{
    for (int i = 0; i < 3; i++) {
        p->basis[i * count + k] = velocity[i];
        p->basis[(3 + i) * count + k] = spin ? spin[i] : 0;
    }
}

// What its parent's unknowns do to a part: v = v_p + ω_p × (c − c_p), ω = ω_p.
static void carry_along(const hk_manifold_part *parent, int count, hk_manifold_part *p)
{
    double arm[3];
    for (int i = 0; i < 3; i++) arm[i] = p->c[i] - parent->c[i];
    for (int k = 0; k < count; k++) {
        double velocity[3], spin[3];
        hk_manifold_column(parent, count, k, arm, velocity);
        for (int i = 0; i < 3; i++) spin[i] = parent->basis[(3 + i) * count + k];
        set_column(p, count, k, velocity, spin);
    }
}

static void add_turn(hk_manifold_part *p, int count, int k, const double axis[3])
{
    double spin[3], arm[3], velocity[3];
    for (int i = 0; i < 3; i++) spin[i] = axis[i] / p->length, arm[i] = p->c[i] - p->at[i];
    hk_cross(spin, arm, velocity);
    set_column(p, count, k, velocity, spin);
}

// Two unit vectors across an axis.
static void across(const double axis[3], double a[3], double b[3])
{
    int least = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(axis[i]) < fabs(axis[least])) least = i;
    double unit[3] = {least == 0, least == 1, least == 2}, norm;
    hk_cross(axis, unit, a);
    norm = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int i = 0; i < 3; i++) a[i] /= norm;
    hk_cross(axis, a, b);
}

static void add_own(const hk_part *part, int count, hk_manifold_part *p)
{
    static const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double a[3], b[3];
    switch (p->freedom) {
    case HK_MOVES_FREELY:
    case HK_MOVES_TOGETHER:
        for (int i = 0; i < 3; i++) set_column(p, count, p->first + i, unit[i], NULL);
        memcpy(p->at, p->c, sizeof p->at);
        for (int i = 0; i < 3 && p->freedom == HK_MOVES_FREELY; i++)
            add_turn(p, count, p->first + 3 + i, unit[i]);
        break;
    case HK_MOVES_ON_BALL:
        for (int i = 0; i < 3; i++) add_turn(p, count, p->first + i, unit[i]);
        break;
    case HK_MOVES_ON_HINGE: add_turn(p, count, p->first, p->axis); break;
    case HK_MOVES_ON_SLIDER:
    case HK_MOVES_ON_LINE: set_column(p, count, p->first, p->axis, NULL); break;
    case HK_MOVES_IN_PLANE:
    case HK_MOVES_ON_SPHERE:
        across(p->axis, a, b);
        set_column(p, count, p->first, a, NULL);
        set_column(p, count, p->first + 1, b, NULL);
        break;
    case HK_MOVES_ON_CYLINDER:
        hk_cross(part->axis, p->axis, a);
        set_column(p, count, p->first, part->axis, NULL);
        set_column(p, count, p->first + 1, a, NULL);
        break;
    default: break;
    }
}

static void find_bases(hk_manifold *m)
{
    const hk_constraints *c = m->constraints;
    m->version++;
    for (int n = 0; n < c->tree_count; n++) {
        hk_manifold_tree *t = &m->trees[n];
        t->known = false;
        for (int k = t->first_part; k < t->first_part + t->part_count; k++) {
            const hk_part *part = &c->parts[c->order[k]];
            hk_manifold_part *p = &m->parts[c->order[k]];
            memset(p->basis, 0, 6 * sizeof(double) * (size_t)t->count);
            if (part->parent >= 0 && m->parts[part->parent].tree == n)
                carry_along(&m->parts[part->parent], t->count, p);
            add_own(part, t->count, p);
        }
    }
}

void hk_manifold_stand(hk_manifold *m, const double *x)
{
    hk_manifold_fit(m, x);
    find_bases(m);
    hk_manifold_find_normals(m, x);
}

bool hk_manifold_retract(hk_manifold *m, double *x)
{
    hk_manifold_fit(m, x);
    hk_manifold_place(m, x);
    find_bases(m);
    return hk_manifold_reach_volumes(m, x);
}

bool hk_manifold_ties(const hk_manifold *m, int64_t vertex)
{
    int part = m->part_of[vertex];
    if (part >= 0) return m->parts[part].tree >= 0;
    return m->cavity_at && m->cavity_at[vertex] >= 0 &&
           m->cavity_held[m->cavity_at[vertex]] != HK_ALL_AXES;
}

void hk_manifold_arm(const hk_manifold *m, int part, int64_t vertex, double arm[3])
{
    const hk_part *own = &m->constraints->parts[part];
    double rest[3];
    for (int i = 0; i < 3; i++) rest[i] = m->rest[4 * vertex + i] - own->center[i];
    // What is not rigid does not turn: a vertex is where c is, and several keep their distances.
    if (own->freedom == HK_MOVES_TOGETHER)
        memcpy(arm, rest, sizeof rest);
    else if (hk_freedom_is_rigid(own->freedom))
        hk_rotate(m->parts[part].R[0], rest, arm);
    else
        arm[0] = arm[1] = arm[2] = 0;
}

// ---------------------------------------------------------------- tangents

// Force and moment about c of a vector at the vertices of a part, times D.
static void sum_part(const hk_manifold *m, int number, const double *weight, const double *vector,
                     double wrench[6])
{
    const hk_part *part = &m->constraints->parts[number];
    for (int i = 0; i < 6; i++) wrench[i] = 0;
    for (int k = part->start; k < part->start + part->count; k++) {
        int64_t v = m->vertex[k];
        double arm[3], force[3], moment[3];
        hk_manifold_arm(m, number, v, arm);
        for (int i = 0; i < 3; i++) force[i] = vector[4 * v + i] * (weight ? weight[4 * v + i] : 1);
        hk_cross(arm, force, moment);
        for (int i = 0; i < 3; i++) wrench[i] += force[i], wrench[3 + i] += moment[i];
    }
}

static void gather(const hk_manifold *m, int tree, const double *weight, const double *vector,
                   double *q)
{
    const hk_manifold_tree *t = &m->trees[tree];
    for (int n = t->first_part; n < t->first_part + t->part_count; n++) {
        int number = m->constraints->order[n];
        const double *basis = m->parts[number].basis;
        double wrench[6];
        sum_part(m, number, weight, vector, wrench);
        for (int k = 0; k < t->count; k++)
            for (int i = 0; i < 6; i++) q[k] += basis[i * t->count + k] * wrench[i];
    }
}

void hk_manifold_gather(const hk_manifold *m, int tree, const double *vector, double *q)
{
    gather(m, tree, NULL, vector, q);
}

void hk_manifold_scatter(const hk_manifold *m, int tree, const double *q, double *vector)
{
    const hk_manifold_tree *t = &m->trees[tree];
    for (int n = t->first_part; n < t->first_part + t->part_count; n++) {
        int number = m->constraints->order[n];
        const hk_part *part = &m->constraints->parts[number];
        double motion[6] = {0};
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < t->count; k++)
                motion[i] += m->parts[number].basis[i * t->count + k] * q[k];
        for (int k = part->start; k < part->start + part->count; k++) {
            int64_t v = m->vertex[k];
            double arm[3], turned[3];
            hk_manifold_arm(m, number, v, arm);
            hk_cross(motion + 3, arm, turned);
            for (int i = 0; i < 3; i++) vector[4 * v + i] = motion[i] + turned[i];
        }
    }
}

// Σ [1 −[r]×]ᵀ D [1 −[r]×] over the vertices of a part, 6×6.
static void sum_squares(const hk_manifold *m, int number, const double *weight, double square[6][6])
{
    const hk_part *part = &m->constraints->parts[number];
    memset(square, 0, 36 * sizeof(double));
    for (int k = part->start; k < part->start + part->count; k++) {
        int64_t v = m->vertex[k];
        double arm[3], row[3][6] = {{0}};
        hk_manifold_arm(m, number, v, arm);
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, l = (i + 2) % 3;
            row[i][i] = 1;
            row[i][3 + j] = arm[l];
            row[i][3 + l] = -arm[j];
            double d = weight ? weight[4 * v + i] : 1;
            for (int a = 0; a < 6; a++)
                for (int b = 0; b < 6; b++) square[a][b] += d * row[i][a] * row[i][b];
        }
    }
}

// JᵀDJ of a tree, factored.
static bool factor_gram(const hk_manifold *m, int tree, const double *weight, double *gram)
{
    const hk_manifold_tree *t = &m->trees[tree];
    int count = t->count;
    memset(gram, 0, sizeof(double) * (size_t)(count * count));
    for (int n = t->first_part; n < t->first_part + t->part_count; n++) {
        int number = m->constraints->order[n];
        const double *basis = m->parts[number].basis;
        double square[6][6];
        sum_squares(m, number, weight, square);
        for (int k = 0; k < count; k++) {
            double column[6] = {0};
            for (int a = 0; a < 6; a++)
                for (int b = 0; b < 6; b++) column[a] += square[a][b] * basis[b * count + k];
            for (int l = 0; l < count; l++)
                for (int a = 0; a < 6; a++) gram[l * count + k] += basis[a * count + l] * column[a];
        }
    }
    return hk_dense_factor(gram, count);
}

static void project(hk_manifold *m, int tree, const double *weight, double *vector)
{
    hk_manifold_tree *t = &m->trees[tree];
    double *gram = weight ? m->matrix : t->gram, *q = m->unknowns;
    if (t->count == 0) {
        hk_manifold_scatter(m, tree, q, vector);
        return;
    }
    bool well = true;
    if (gram == m->matrix || !t->known) {
        well = factor_gram(m, tree, weight, gram);
        t->known = t->known || (gram == t->gram && well);
    }
    memset(q, 0, sizeof(double) * (size_t)t->count);
    if (well) gather(m, tree, weight, vector, q);
    if (well) hk_dense_solve(gram, t->count, q);
    hk_manifold_scatter(m, tree, q, vector);
}

void hk_manifold_tangent(hk_manifold *m, int which, const double *weight, double *vector)
{
    for (int n = 0; n < m->constraints->tree_count; n++)
        if (which & (m->trees[n].light ? HK_LIGHT : HK_HEAVY)) project(m, n, weight, vector);
    if (which & HK_CAVITIES) hk_manifold_flatten(m, weight, vector);
}

void hk_manifold_tangent_by_mass(hk_manifold *m, double *vector)
{
    double *weight = m->line;
    for (int n = 0; n < m->constraints->part_count; n++)
        for (int k = 0; k < m->constraints->parts[n].count; k++) {
            int64_t v = m->vertex[m->constraints->parts[n].start + k];
            for (int i = 0; i < 3; i++) weight[4 * v + i] = m->mass[v];
        }
    hk_manifold_tangent(m, HK_TREES, weight, vector);
}
