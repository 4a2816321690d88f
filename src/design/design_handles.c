// Handles: points and regions of a shape that are dragged.
#include <math.h>

#include "core/def.h"
#include "core/vector.h"
#include "design/design.h"

enum { MOST_TIED = 4 };
// How stiff the tie of a point between vertices is, relative to the Laplacian's diagonal there: it
// stays behind its target by about the reciprocal of the way that it was dragged.
#define TIE_STIFFNESS 1e4

void hk_fill_handle_def(hk_handle_def *def, size_t size)
{
    const hk_handle_def standard = {.side = HK_LOADED_SHAPE};
    hk_def_fill(&hk_def_handle, &standard, def, size);
}

// ---------------------------------------------------------------- what they want

// Where vertex k of a region goes.
static void goal_of(const hk_handle *h, int k, double goal[3])
{
    const double *p = h->start + 3 * (int64_t)k;
    for (int i = 0; i < 3; i++) {
        const double *row = h->transform + 4 * i;
        goal[i] = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
    }
}

static void point_of(const hk_handle *h, double point[3])
{
    for (int i = 0; i < 3; i++) {
        point[i] = 0;
        for (int k = 0; k < h->count; k++)
            point[i] += (h->tie ? h->weight[k] : 1.0 / h->count) * h->start[3 * (int64_t)k + i];
    }
}

// Where the point of a tie, or the centre of a region, goes.
static void target_of(const hk_handle *h, double target[3])
{
    double p[3];
    point_of(h, p);
    for (int i = 0; i < 3; i++) {
        const double *row = h->transform + 4 * i;
        target[i] = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
    }
}

void hk_design_set_goals(hk_design *d)
{
    const hk_design_point *p = &d->now;
    int tie = 0;
    memcpy(d->goal, p->shape[p->given], 4 * sizeof(double) * (size_t)d->reference->vertex_count);
    for (int n = 0; n < p->handle_count; n++) {
        const hk_handle *h = &p->handles[n];
        if (!h->held) continue;
        if (h->tie) target_of(h, d->ties[tie++].target);
        for (int k = 0; k < h->count && !h->tie; k++)
            goal_of(h, k, d->goal + 4 * (int64_t)h->vertex[k]);
    }
}

// ---------------------------------------------------------------- their matrix

static hk_status add_tie(hk_design *d, const hk_handle *h)
{
    HK_TRY(hk_reserve((void **)&d->ties, (size_t)d->tie_count, sizeof *d->ties, &d->tie_capacity,
                      (size_t)d->tie_count + 1));
    hk_modify_tie *t = &d->ties[d->tie_count++];
    *t = (hk_modify_tie){.tie = {.count = h->count}};
    double most = 0;
    for (int k = 0; k < h->count; k++) {
        t->tie.vertex[k] = h->vertex[k];
        t->tie.factor[k] = h->weight[k];
        most = fmax(most, d->reference->diagonal[h->vertex[k]]);
    }
    t->tie.weight = TIE_STIFFNESS * most;
    target_of(h, t->target);
    return HK_OK;
}

hk_status hk_design_factor_handles(hk_design *d)
{
    const hk_design_point *p = &d->now;
    const hk_model *m = p->model;
    if (d->modify_ready) return HK_OK;
    for (int v = 0; v < m->vertex_count; v++) d->held[m->place[v]] = m->hold[v] != HK_FREE;
    d->tie_count = 0;
    for (int n = 0; n < p->handle_count; n++) {
        const hk_handle *h = &p->handles[n];
        if (!h->held) continue;
        if (h->tie) HK_TRY(add_tie(d, h));
        for (int k = 0; k < h->count && !h->tie; k++) d->held[h->vertex[k]] = 1;
    }
    HK_TRY(hk_modify_hold(d->modify, d->held, d->tie_count, d->ties));
    hk_modify_set_base(d->modify, p->base);
    d->modify_ready = true;
    return HK_OK;
}

// ---------------------------------------------------------------- grabbing

static hk_status check_weights(const hk_handle_def *def)
{
    double sum = 0;
    if (def->count > MOST_TIED)
        return hk_fail(HK_BAD_INPUT, "hk_handle_def: a point has 1 to %d vertices (is %d)",
                       MOST_TIED, def->count);
    for (int k = 0; k < def->count; k++) sum += def->weights[k];
    if (!(fabs(sum - 1) <= 1e-6))
        return hk_fail(HK_BAD_INPUT, "hk_handle_def: weights must add up to 1 (they do to %g)",
                       sum);
    return HK_OK;
}

static hk_status check_def(const hk_design *d, const hk_handle_def *def)
{
    int n = d->reference->vertex_count;
    if (def->count < 1 || def->count > n || !def->vertices)
        return hk_fail(HK_BAD_INPUT, "hk_handle_def: 1 to %d vertices are needed (are %d)", n,
                       def->count);
    for (int k = 0; k < def->count; k++)
        if (def->vertices[k] < 0 || def->vertices[k] >= n)
            return hk_fail(HK_BAD_INPUT, "hk_handle_def: there is no vertex %d (vertices: 0 to %d)",
                           def->vertices[k], n - 1);
    return def->weights ? check_weights(def) : HK_OK;
}

// Vertices of a point must be neighbours, for the matrix has no place for others.
static hk_status check_joined(const hk_design *d, const hk_handle *h)
{
    const hk_reference *r = d->reference;
    for (int a = 0; a < h->count; a++)
        for (int b = a + 1; b < h->count; b++) {
            bool joined = false;
            int32_t v = h->vertex[a];
            for (int k = r->neighbour_start[v]; k < r->neighbour_start[v + 1]; k++)
                joined = joined || r->neighbour[k] == h->vertex[b];
            if (!joined)
                return hk_fail(HK_BAD_INPUT,
                               "hk_handle_def: vertices %d and %d are of no common tet; a point "
                               "lies in one tet",
                               r->model->order[h->vertex[a]], r->model->order[h->vertex[b]]);
        }
    return HK_OK;
}

static hk_status fill_handle(const hk_design *d, const hk_handle_def *def, const double *shape,
                             hk_handle *h)
{
    *h = (hk_handle){.held = true, .count = def->count, .tie = def->weights && def->count > 1};
    h->vertex = HK_ARRAY(int32_t, def->count);
    h->start = HK_ARRAY(double, 3 * (size_t)def->count);
    if (!h->vertex || !h->start) return HK_NO_MEMORY;
    for (int k = 0; k < def->count; k++) {
        h->vertex[k] = d->reference->model->place[def->vertices[k]];
        memcpy(h->start + 3 * (int64_t)k, shape + 4 * (int64_t)h->vertex[k], 3 * sizeof(double));
        if (h->tie) h->weight[k] = def->weights[k];
    }
    for (int i = 0; i < 3; i++) h->transform[4 * i + i] = 1;
    return h->tie ? check_joined(d, h) : HK_OK;
}

static hk_status add_handle(hk_edit *edit, const hk_handle_def *def, int *number)
{
    hk_design_point *p = &edit->next;
    HK_TRY(hk_edit_give(edit, def->side));
    int n = 0;
    while (n < p->handle_count && p->handles[n].held) n++;
    *number = n;
    if (n == p->handle_count) p->handle_count++;  // copies have room for one more
    return fill_handle(edit->design, def, p->shape[p->given], &p->handles[n]);
}

hk_status hk_design_grab(hk_design *d, const hk_handle_def *def, int *handle)
{
    hk_edit edit;
    hk_handle_def own;
    int number = -1;
    if (!d || !def || !handle)
        return hk_fail(HK_BAD_INPUT, "hk_design_grab: design, def and handle are needed");
    hk_fill_handle_def(&own, sizeof own);
    HK_TRY(hk_def_take(&hk_def_handle, def, &own));
    HK_TRY(check_def(d, &own));
    HK_TRY(hk_edit_begin(d, "hk_design_grab", "drag", -1, &edit));
    hk_status status = add_handle(&edit, &own, &number);
    edit.handle = number;
    edit.anew = true;
    HK_TRY(hk_edit_end(&edit, status));
    *handle = number;
    hk_design_factor_handles(d);  // what fails here is tried again by the next preview
    return HK_OK;
}

// ---------------------------------------------------------------- dragging

static hk_status check_handle(const hk_design *d, int handle, const char *call)
{
    if (!d) return hk_fail(HK_BAD_INPUT, "%s: design is needed", call);
    if (handle < 0 || handle >= d->now.handle_count || !d->now.handles[handle].held)
        return hk_fail(HK_BAD_INPUT, "%s: there is no handle %d", call, handle);
    return HK_OK;
}

// A drag that goes on is no edit of its own: nothing is copied.
static bool goes_on(const hk_design *d, int handle)
{
    const hk_history *h = &d->history;
    return h->open_handle == handle && !h->next[0] && h->now == h->count && h->count > 0;
}

static hk_status set_transform(hk_design *d, const char *call, int handle,
                               const double transform[12])
{
    hk_edit edit;
    if (goes_on(d, handle)) {
        hk_design_take_up(d);
        hk_refiner_cancel(d->refiner, ++d->version);
        memcpy(d->now.handles[handle].transform, transform, 12 * sizeof(double));
        d->now.settled = d->now.refined = d->posted = false;
        hk_modify_restart(d->modify);
        return HK_OK;
    }
    HK_TRY(hk_edit_begin(d, call, "drag", handle, &edit));
    memcpy(edit.next.handles[handle].transform, transform, 12 * sizeof(double));
    edit.next.settled = false;
    return hk_edit_end(&edit, HK_OK);
}

hk_status hk_design_drag(hk_design *d, int handle, const double target[3])
{
    double transform[12] = {[0] = 1, [5] = 1, [10] = 1}, point[3];
    HK_TRY(check_handle(d, handle, "hk_design_drag"));
    if (!target || !hk_is_finite3(target))
        return hk_fail(HK_BAD_INPUT, "hk_design_drag: the target must be finite numbers");
    point_of(&d->now.handles[handle], point);
    for (int i = 0; i < 3; i++) transform[4 * i + 3] = target[i] - point[i];
    return set_transform(d, "hk_design_drag", handle, transform);
}

hk_status hk_design_drag_frame(hk_design *d, int handle, const double transform[12])
{
    HK_TRY(check_handle(d, handle, "hk_design_drag_frame"));
    for (int i = 0; i < 12; i += 3)
        if (!transform || !hk_is_finite3(transform + i))
            return hk_fail(HK_BAD_INPUT, "hk_design_drag_frame: 12 finite numbers are needed");
    return set_transform(d, "hk_design_drag_frame", handle, transform);
}

hk_status hk_design_release(hk_design *d, int handle)
{
    hk_edit edit;
    HK_TRY(check_handle(d, handle, "hk_design_release"));
    HK_TRY(hk_edit_begin(d, "hk_design_release", "release", handle, &edit));
    hk_handle_release(&edit.next.handles[handle]);
    hk_edit_rebase(&edit);
    for (int k = 0; k < edit.next.handle_count; k++)
        if (edit.next.handles[k].held) edit.next.settled = false;
    return hk_edit_end(&edit, HK_OK);
}
