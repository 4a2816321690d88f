// What a design was and may be again: copies of its state before and after edits.
#include <stdio.h>

#include "design/design.h"

// ---------------------------------------------------------------- points

void hk_handle_release(hk_handle *h)
{
    hk_free(h->vertex);
    hk_free(h->start);
    *h = (hk_handle){0};
}

void hk_design_point_release(hk_design_point *p)
{
    hk_model_free(p->model);
    for (int side = 0; side < 2; side++) {
        hk_free(p->shape[side]);
        hk_free(p->pair[side]);
    }
    hk_free(p->base);
    for (int k = 0; k < p->handle_count; k++) hk_handle_release(&p->handles[k]);
    hk_free(p->handles);
    *p = (hk_design_point){0};
}

static double *copy_vector(const hk_design *d, const double *from)
{
    size_t size = 4 * (size_t)d->reference->vertex_count;
    double *copy = HK_ARRAY(double, size);
    if (copy) memcpy(copy, from, size * sizeof(double));
    return copy;
}

static hk_status copy_handle(const hk_handle *from, hk_handle *to)
{
    if (!from->held) return HK_OK;
    *to = *from;
    size_t count = (size_t)from->count;
    to->vertex = HK_ARRAY(int32_t, count);
    to->start = HK_ARRAY(double, 3 * count);
    if (!to->vertex || !to->start) return HK_NO_MEMORY;
    memcpy(to->vertex, from->vertex, count * sizeof *to->vertex);
    memcpy(to->start, from->start, 3 * count * sizeof *to->start);
    return HK_OK;
}

static hk_status copy_parts(const hk_design *d, const hk_design_point *from, hk_design_point *to)
{
    for (int side = 0; side < 2; side++) {
        to->shape[side] = copy_vector(d, from->shape[side]);
        to->pair[side] = copy_vector(d, from->pair[side]);
        if (!to->shape[side] || !to->pair[side]) return HK_NO_MEMORY;
    }
    to->base = copy_vector(d, from->base);
    to->handles = HK_ZEROS(hk_handle, from->handle_count + 1);  // and room for one more
    if (!to->base || !to->handles) return HK_NO_MEMORY;
    to->handle_capacity = (size_t)from->handle_count + 1;
    for (int k = 0; k < from->handle_count; k++) {
        to->handle_count++;
        HK_TRY(copy_handle(&from->handles[k], &to->handles[k]));
    }
    return HK_OK;
}

hk_status hk_design_point_copy(const hk_design *d, const hk_design_point *from, hk_design_point *to)
{
    *to = *from;
    hk_model_retain(to->model);
    to->shape[0] = to->shape[1] = to->pair[0] = to->pair[1] = to->base = NULL;
    to->handles = NULL;
    to->handle_count = 0;
    hk_status status = copy_parts(d, from, to);
    if (status != HK_OK) hk_design_point_release(to);
    return status;
}

// ---------------------------------------------------------------- entries

static void release_entry(hk_history_entry *e)
{
    hk_design_point_release(&e->point);
}

void hk_history_release(hk_history *h)
{
    for (int k = 0; k < h->count; k++) release_entry(&h->entries[k]);
    hk_free(h->entries);
    *h = (hk_history){0};
}

hk_status hk_history_reserve(hk_history *h)
{
    return hk_reserve((void **)&h->entries, (size_t)h->count, sizeof *h->entries, &h->capacity,
                      (size_t)h->count + 1);
}

static size_t bytes_of(const hk_design *d, const hk_design_point *p)
{
    size_t bytes = 5 * 4 * sizeof(double) * (size_t)d->reference->vertex_count;
    for (int k = 0; k < p->handle_count; k++)
        bytes += (size_t)p->handles[k].count * (sizeof(int32_t) + 3 * sizeof(double));
    return bytes;
}

// The oldest go; one edit can always be undone. Models are shared, but each may be a copy.
static void forget_oldest(hk_design *d)
{
    hk_history *h = &d->history;
    size_t bytes = 0;
    int first = h->count;
    while (first > 0 && (first == h->count || bytes <= h->most)) {
        const hk_design_point *p = &h->entries[--first].point;
        bytes += bytes_of(d, p);
        if (first + 1 < h->count && p->model != h->entries[first + 1].point.model)
            bytes += 80 * (size_t)p->model->tet_count + 120 * (size_t)p->model->vertex_count;
    }
    if (bytes > h->most && first + 1 < h->count) first++;
    for (int k = 0; k < first; k++) release_entry(&h->entries[k]);
    memmove(h->entries, h->entries + first, sizeof *h->entries * (size_t)(h->count - first));
    h->count -= first;
    h->now -= first;
}

static void forget_redo(hk_history *h)
{
    for (int k = h->now; k < h->count; k++) release_entry(&h->entries[k]);
    h->count = h->now;
}

void hk_history_enter(hk_design *d, const hk_edit *edit, hk_design_point *before)
{
    hk_history *h = &d->history;
    forget_redo(h);
    bool goes_on = edit->handle >= 0 && edit->handle == h->open_handle && !edit->anew;
    if (goes_on && h->count > 0 && !h->next[0]) {
        hk_design_point_release(before);
        return;
    }
    hk_history_entry *e = &h->entries[h->count++];
    snprintf(e->name, sizeof e->name, "%s", h->next[0] ? h->next : edit->name);
    h->next[0] = '\0';
    e->point = *before;
    *before = (hk_design_point){0};
    h->now = h->count;
    h->open_handle = edit->handle;
    forget_oldest(d);
}

// ---------------------------------------------------------------- as users see it

hk_status hk_design_mark(hk_design *d, const char *name)
{
    if (!d || !name || !name[0])
        return hk_fail(HK_BAD_INPUT, "hk_design_mark: design and a name are needed");
    snprintf(d->history.next, sizeof d->history.next, "%s", name);
    return HK_OK;
}

const char *hk_design_undo_name(const hk_design *d)
{
    return d && d->history.now > 0 ? d->history.entries[d->history.now - 1].name : NULL;
}

const char *hk_design_redo_name(const hk_design *d)
{
    return d && d->history.now < d->history.count ? d->history.entries[d->history.now].name : NULL;
}

// Exchanges now and the point of an entry.
static hk_status exchange(hk_design *d, int entry)
{
    hk_design_point now;
    hk_history *h = &d->history;
    hk_design_take_up(d);
    HK_TRY(hk_design_point_copy(d, &d->now, &now));
    hk_design_go_to(d, &h->entries[entry].point);
    h->entries[entry].point = now;
    h->open_handle = -1;
    h->next[0] = '\0';
    return HK_OK;
}

hk_status hk_design_undo(hk_design *d)
{
    if (!d) return hk_fail(HK_BAD_INPUT, "hk_design_undo: design is needed");
    if (d->history.now == 0) return hk_fail(HK_BAD_INPUT, "there is no edit to undo");
    HK_TRY(exchange(d, d->history.now - 1));
    d->history.now--;
    return HK_OK;
}

hk_status hk_design_redo(hk_design *d)
{
    if (!d) return hk_fail(HK_BAD_INPUT, "hk_design_redo: design is needed");
    if (d->history.now == d->history.count)
        return hk_fail(HK_BAD_INPUT, "there is no edit to redo");
    HK_TRY(exchange(d, d->history.now));
    d->history.now++;
    return HK_OK;
}
