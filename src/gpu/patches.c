// Cuts the bodies of a model into patches, by recursive bisection across the longest side.
#include <math.h>
#include <stdlib.h>

#include "gpu/layout.h"

// Vertices of a body, being sorted into patches.
typedef struct cutter {
    const hk_model *model;
    hk_gpu_layout *layout;
    int32_t *vertices;       // [vertex_count] model's numbers, in the order of the patches
    const int32_t *valence;  // [vertex_count] tets at a vertex: the work that it is
    int body;
} cutter;

static double coordinate(const cutter *c, int32_t vertex, int axis)
{
    return c->model->rest[3 * (int64_t)vertex + axis];
}

static bool comes_before(const cutter *c, int axis, int32_t a, int32_t b)
{
    double p = coordinate(c, a, axis), q = coordinate(c, b, axis);
    return p < q || (p == q && a < b);
}

// Partitions [first, last) about a pivot in the middle: [first, *left) are not after it,
// [*right, last) not before it, and between them there is at most the pivot.
static void partition(const cutter *c, int axis, int first, int last, int *left, int *right)
{
    int32_t *v = c->vertices, pivot = v[first + (last - first) / 2];
    int i = first, j = last - 1;
    while (i <= j) {
        while (comes_before(c, axis, v[i], pivot)) i++;
        while (comes_before(c, axis, pivot, v[j])) j--;
        if (i > j) break;
        int32_t swapped = v[i];
        v[i++] = v[j];
        v[j--] = swapped;
    }
    *left = j + 1;
    *right = i;
}

static int64_t work_of(const cutter *c, int first, int last)
{
    if (!c->layout->cut.even) return last - first;
    int64_t work = 0;
    for (int k = first; k < last; k++) work += c->valence[c->vertices[k]];
    return work;
}

// Hoare's selection, by work: afterwards those before the returned place come first along the axis,
// and have no more than `wanted`, but with one more they would.
static int select_work(const cutter *c, int axis, int first, int64_t wanted, int last)
{
    while (last - first > 1) {
        int left, right;
        partition(c, axis, first, last, &left, &right);
        int64_t before = work_of(c, first, left), upto = before + work_of(c, left, right);
        if (wanted < before) {
            last = left;
        } else if (wanted >= upto) {
            first = right;
            wanted -= upto;
        } else {
            return left;
        }
    }
    return last > first && wanted >= work_of(c, first, last) ? last : first;
}

static int longest_axis(const cutter *c, int first, int last)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int k = first; k < last; k++)
        for (int i = 0; i < 3; i++) {
            double x = coordinate(c, c->vertices[k], i);
            low[i] = fmin(low[i], x);
            high[i] = fmax(high[i], x);
        }
    int axis = 0;
    for (int i = 1; i < 3; i++)
        if (high[i] - low[i] > high[axis] - low[axis]) axis = i;
    return axis;
}

// Cuts [first, last) across its longest side into two runs for about half of the patches each.
static void cut(cutter *c, int first, int last, int patches)
{
    if (patches == 1) {
        c->layout->body_of_patch[c->layout->patch_count] = c->body;
        c->layout->vertex_start[++c->layout->patch_count] = last;
        return;
    }
    int left = patches / 2;
    int64_t wanted = work_of(c, first, last) * left / patches;
    int middle = select_work(c, longest_axis(c, first, last), first, wanted, last);
    // Every patch has a vertex.
    middle = hk_min_int(hk_max_int(middle, first + left), last - (patches - left));
    cut(c, first, middle, left);
    cut(c, middle, last, patches - left);
}

static int patches_of(int vertices, int size)
{
    return (vertices + size - 1) / size;
}

typedef struct ranked {
    int32_t place, valence;
} ranked;

static int by_valence(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->valence != b->valence) return a->valence > b->valence ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

// Own vertices of many elements come first: the threads of a warp then have sums of like length.
// Among equals, along the Morton curve.
static hk_status order_patches(const hk_model *m, const int32_t *valence, hk_gpu_layout *l)
{
    for (int p = 0; p < l->patch_count; p++)
        l->most_own = hk_max_int(l->most_own, l->vertex_start[p + 1] - l->vertex_start[p]);
    ranked *own = HK_ARRAY(ranked, l->most_own);
    if (!own) return HK_NO_MEMORY;
    for (int p = 0; p < l->patch_count; p++) {
        int32_t *vertex = l->place + l->vertex_start[p];
        int count = l->vertex_start[p + 1] - l->vertex_start[p];
        for (int k = 0; k < count; k++) own[k] = (ranked){m->place[vertex[k]], valence[vertex[k]]};
        qsort(own, (size_t)count, sizeof *own, by_valence);
        for (int k = 0; k < count; k++) vertex[k] = own[k].place;
    }
    hk_free(own);
    return HK_OK;
}

// Fills patches and layout->place; bodies do not share patches.
static hk_status cut_bodies(const hk_model *m, const int32_t *valence, hk_gpu_layout *l)
{
    int most = 0;
    for (int b = 0; b < m->body_count; b++)
        most += patches_of(m->bodies[b].vertex_count, l->cut.patch_size);
    l->body_of_patch = HK_ARRAY(int32_t, most);
    l->vertex_start = HK_ZEROS(int32_t, most + 1);
    l->place = HK_ARRAY(int32_t, m->vertex_count);
    if (!l->body_of_patch || !l->vertex_start || !l->place) return HK_NO_MEMORY;
    cutter c = {m, l, l->place, valence, 0};
    for (int v = 0; v < m->vertex_count; v++) l->place[v] = v;
    for (c.body = 0; c.body < m->body_count; c.body++) {
        const hk_body *body = &m->bodies[c.body];
        if (body->vertex_count > 0)
            cut(&c, body->vertex_start, body->vertex_start + body->vertex_count,
                patches_of(body->vertex_count, l->cut.patch_size));
    }
    return order_patches(m, valence, l);
}

hk_status hk_gpu_cut_patches(const hk_model *m, hk_gpu_layout *l)
{
    int32_t *valence = HK_ZEROS(int32_t, m->vertex_count);
    if (!valence) return HK_NO_MEMORY;
    for (int64_t k = 0; k < 4 * (int64_t)m->tet_count; k++) valence[m->tets[k]]++;
    hk_status status = cut_bodies(m, valence, l);
    hk_free(valence);
    return status;
}
