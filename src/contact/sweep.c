#include <omp.h>

#include "contact/sweep_parts.h"

// ---------------------------------------------------------------- creation

static void find_runs(hk_sweep *s)
{
    const hk_contacts *c = s->contacts;
    const hk_patches *t = s->patches;
    for (int b = 0; b < s->body_count; b++) {
        int *run = s->bodies[b].patches;
        for (int k = t->root[b]; k < t->root[b + 1]; k++) {
            if (t->other[k] >= 0) continue;
            if (run[1] == 0) run[0] = -1 - t->other[k];
            run[1] = -t->other[k];
        }
    }
    for (int p = 0; p < c->body_points; p++) {
        int *run = s->bodies[c->side[p]].points;
        if (run[1] == 0) run[0] = p;
        run[1] = p + 1;
    }
}

hk_status hk_sweep_create(hk_contacts *c, hk_sweep **sweep)
{
    hk_sweep *s = HK_NEW(hk_sweep);
    if (!s) return HK_NO_MEMORY;
    s->contacts = c;
    s->body_count = c->settings->body_count;
    s->obstacle_count = c->settings->obstacle_count;
    size_t bodies = (size_t)s->body_count, obstacles = (size_t)s->obstacle_count;
    s->bodies = HK_ZEROS(hk_sweep_body, bodies);
    s->obstacle_box = HK_ZEROS(hk_box, obstacles + 1);
    s->driven = HK_ZEROS(double, obstacles + 1);
    s->end = HK_ZEROS(double, 3 * (size_t)c->body_points);
    s->base = HK_ZEROS(double, 3 * (size_t)c->body_points);
    s->found = HK_ZEROS(hk_sweep_found, c->threads);
    s->changed = HK_ZEROS(uint8_t, c->point_count);
    s->arrival = HK_ZEROS(hk_sweep_arrival, c->point_count);
    s->shortened = HK_ZEROS(uint8_t, c->body_points);
    s->ahead = HK_ZEROS(double, c->body_points);
    s->margin = 0.5 * c->settings->distance;
    s->changing = HK_ZEROS(uint8_t, c->body_points);
    bool complete = s->bodies && s->obstacle_box && s->driven && s->end && s->base && s->found &&
                    s->changed && s->arrival && s->ahead && s->shortened && s->changing;
    hk_status status = complete ? hk_patches_create(c, &s->patches) : HK_NO_MEMORY;
    if (status == HK_OK) find_runs(s);
    if (status == HK_OK) status = hk_sweep_list_around(s);
    if (status == HK_OK) status = hk_sweep_list_beside(s);
    if (status == HK_OK) {
        s->patch_way = HK_ZEROS(double, s->patches->count + 1);
        s->patch_margin = HK_ZEROS(double, s->patches->count + 1);
        s->stale = HK_ZEROS(uint8_t, s->patches->root[s->patches->side_count] + 1);
        s->slab = HK_ZEROS(hk_sweep_slab, s->patches->count + 1);
        bool all = s->patch_way && s->patch_margin && s->stale && s->slab;
        if (!all) status = HK_NO_MEMORY;
    }
    if (status != HK_OK) {
        hk_sweep_free(s);
        return status;
    }
    *sweep = s;
    return HK_OK;
}

void hk_sweep_free(hk_sweep *s)
{
    if (!s) return;
    for (int b = 0; s->bodies && b < s->body_count; b++) {
        hk_free(s->bodies[b].self);
        hk_free(s->bodies[b].own);
    }
    for (int k = 0; s->found && k < s->contacts->threads; k++) hk_free(s->found[k].list);
    hk_patches_free(s->patches);
    hk_free(s->bodies);
    hk_free(s->obstacle_box);
    hk_free(s->driven);
    hk_free(s->patch_way);
    hk_free(s->patch_margin);
    hk_free(s->end);
    hk_free(s->base);
    hk_free(s->beside_start);
    hk_free(s->beside);
    hk_free(s->clear);
    hk_free(s->shape);
    for (int k = 0; k < 2; k++) hk_free(s->fit[k]);
    hk_free(s->stale);
    hk_free(s->slab);
    hk_free(s->tasks);
    hk_free(s->found);
    hk_free(s->pairs);
    hk_free(s->changed);
    hk_free(s->arrival);
    hk_free(s->ring_start);
    hk_free(s->ring);
    hk_free(s->fan_start);
    hk_free(s->fan);
    hk_free(s->ahead);
    hk_free(s->shortened);
    hk_free(s->changing);
    hk_free(s);
}

const hk_sweep_pair *hk_sweep_pairs(const hk_sweep *s, size_t *count)
{
    *count = s->count;
    return s->pairs;
}

// ---------------------------------------------------------------- where bodies are

hk_status hk_sweep_each_body(hk_sweep *s, hk_sweep_body_fn *each, void *context)
{
    enum { FEW = 4 };  // they are done sooner than threads begin
    hk_status status = HK_OK;
    int threads = s->contacts->threads;
    if (threads == 1 || s->body_count <= FEW) {
        for (int b = 0; b < s->body_count; b++) HK_TRY(each(s, b, context));
        return HK_OK;
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (int b = 0; b < s->body_count; b++) {
        hk_status done = each(s, b, context);
        if (done == HK_OK) continue;
#pragma omp atomic write
        status = done;
    }
    return status;
}

static hk_status take_body(hk_sweep *s, int b, void *context)
{
    const double *x = context;
    hk_contacts *c = s->contacts;
    hk_sweep_body *body = &s->bodies[b];
    bool same = true;
    for (int p = body->points[0]; p < body->points[1]; p++) {
        const double *from = x + 4 * (size_t)c->vertex[p];
        for (size_t i = 0; i < 3; i++) {
            same &= from[i] == s->end[3 * (size_t)p + i];
            c->x[3 * (size_t)p + i] = from[i];
        }
    }
    body->followed &= same;
    body->turned = body->placed = false;
    return HK_OK;
}

void hk_sweep_take(hk_sweep *s, const double *x)
{
    hk_sweep_each_body(s, take_body, (void *)x);
}

// ---------------------------------------------------------------- boxes

// The box of all ways of a body, and their mean.
static void find_body_box(hk_sweep *s, int b, bool guard)
{
    const hk_contacts *c = s->contacts;
    hk_sweep_body *body = &s->bodies[b];
    double sum[3] = {0}, margin = 0;
    hk_box all = HK_BOX_OF_NOTHING;
    for (int p = body->points[0]; p < body->points[1]; p++) {
        const double *x = c->x + 3 * (size_t)p, *move = c->move + 3 * (size_t)p;
        for (int i = 0; i < 3; i++) {
            double to = x[i] + move[i], low = to < x[i] ? to : x[i], high = to < x[i] ? x[i] : to;
            if (low < all.low[i]) all.low[i] = low;
            if (high > all.high[i]) all.high[i] = high;
            sum[i] += move[i];
        }
        s->ahead[p] = guard ? s->margin : HK_SWEEP_AHEAD * s->margin + hk_sweep_driven(c, p);
        if (s->ahead[p] > margin) margin = s->ahead[p];
    }
    margin += hk_contact_radius(c->settings, b);
    for (int i = 0; i < 3; i++) {
        body->mean[i] = sum[i] / (body->points[1] - body->points[0]);
        all.low[i] -= margin;
        all.high[i] += margin;
    }
    body->box = all;
}

// Boxes of points as someone sees them who goes the mean way of the body.
static void find_point_boxes(hk_sweep *s, int b)
{
    const hk_contacts *c = s->contacts;
    const hk_sweep_body *body = &s->bodies[b];
    double radius = hk_contact_radius(c->settings, b);
    for (int p = body->points[0]; p < body->points[1]; p++) {
        const double *x = c->x + 3 * (size_t)p, *move = c->move + 3 * (size_t)p;
        double thick = s->ahead[p] + radius, low[3], high[3];
        for (int i = 0; i < 3; i++) {
            double to = x[i] + move[i] - body->mean[i];
            low[i] = (to < x[i] ? to : x[i]) - thick;
            high[i] = (to < x[i] ? x[i] : to) + thick;
        }
        s->patches->point[p] = hk_patch_round(low, high);
    }
}

static void find_obstacle_box(hk_sweep *s, int o)
{
    const hk_contacts *c = s->contacts;
    const hk_obstacle *obstacle = &c->settings->obstacles[o];
    s->obstacle_box[o] = HK_BOX_OF_NOTHING;
    s->driven[o] = c->plane_of[o] >= 0 ? hk_sweep_driven(c, c->plane_of[o]) : 0;
    if (c->plane_of[o] >= 0) return;
    for (int p = c->start_of[o]; p < c->start_of[o] + obstacle->vertex_count; p++) {
        double thick = obstacle->radius + hk_sweep_driven(c, p);
        hk_box box;
        for (int i = 0; i < 3; i++) {
            box.low[i] = c->x[3 * (size_t)p + (size_t)i] - thick;
            box.high[i] = c->x[3 * (size_t)p + (size_t)i] + thick;
        }
        s->driven[o] = fmax(s->driven[o], thick - obstacle->radius);
        hk_box_surround(&s->obstacle_box[o], &box);
        s->patches->point[p] = hk_patch_round(box.low, box.high);
    }
}

static const hk_box *box_of(const hk_sweep *s, int side)
{
    return side < s->body_count ? &s->bodies[side].box : &s->obstacle_box[side - s->body_count];
}

// Nodes with points that have other ways.
static void mark_nodes(hk_sweep *s, int b)
{
    const hk_patches *p = s->patches;
    for (int k = p->root[b + 1] - 1; k >= p->root[b]; k--) {
        uint8_t any = 0;
        if (p->other[k] >= 0) {
            s->stale[k] = s->stale[k + 1] | s->stale[p->other[k]];
            continue;
        }
        const hk_patch *patch = &p->patches[-1 - p->other[k]];
        for (int i = patch->corners[0]; i < patch->corners[1]; i++)
            any |= s->changing[p->corners[i]];
        s->stale[k] = any;
    }
}

// Boxes of nodes, and the longest ways of patches.
static void refit(hk_sweep *s, int b)
{
    const hk_contacts *c = s->contacts;
    const hk_patches *p = s->patches;
    const hk_sweep_body *body = &s->bodies[b];
    find_point_boxes(s, b);
    hk_patches_refit(s->patches, b);
    hk_sweep_find_slabs(s, b);
    for (int k = body->patches[0]; k < body->patches[1]; k++) {
        const hk_patch *patch = &p->patches[k];
        double longest = 0, margin = 0;
        for (int i = patch->corners[0]; i < patch->corners[1]; i++) {
            double d[3];
            closest_minus(c->move + 3 * (size_t)p->corners[i], body->mean, d);
            double square = closest_dot(d, d), each = s->ahead[p->corners[i]];
            if (square > longest) longest = square;
            if (each > margin) margin = each;
        }
        s->patch_way[k] = sqrt(longest);
        s->patch_margin[k] = margin;
    }
}

// ---------------------------------------------------------------- who is near whom

static hk_status add_task(hk_sweep *s, int a, int b)
{
    if (s->task_count == s->task_room)
        HK_TRY(hk_reserve((void **)&s->tasks, s->task_count, sizeof *s->tasks, &s->task_room,
                          s->task_count + 1));
    s->tasks[s->task_count++] = (hk_sweep_task){.sides = {a, b}};
    return HK_OK;
}

// The least height of a box over a plane.
static double height_of(const hk_box *box, const double *point, const double *normal)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        sum += normal[i] * ((normal[i] > 0 ? box->low[i] : box->high[i]) - point[i]);
    return sum;
}

static bool is_near_plane(const hk_sweep *s, const hk_box *box, int obstacle)
{
    int32_t plane = s->contacts->plane_of[obstacle];
    double normal[3], *point = s->contacts->x + 3 * (size_t)plane;
    closest_minus(point + 3, point, normal);
    return height_of(box, point, normal) <= s->driven[obstacle] + s->contacts->settings->distance;
}

static bool meets(const hk_sweep *s, int a, int b)
{
    const hk_contacts *c = s->contacts;
    int32_t plane = b < s->body_count ? -1 : c->plane_of[b - s->body_count];
    bool near = plane >= 0 ? is_near_plane(s, &s->bodies[a].box, b - s->body_count)
                           : hk_box_overlap(&s->bodies[a].box, box_of(s, b));
    return near && hk_contact_touches(c->settings, a, b);
}

static hk_status list_tasks(hk_sweep *s, hk_sweep_aim aim)
{
    s->task_count = 0;
    for (int a = 0; a < s->body_count; a++) {
        if (s->bodies[a].points[1] == s->bodies[a].points[0]) continue;
        for (int b = a + 1; b < s->body_count + s->obstacle_count; b++) {
            bool stale = s->bodies[a].stale || (b < s->body_count && s->bodies[b].stale);
            if ((aim == HK_SWEEP_AGAIN && !stale) || !meets(s, a, b)) continue;
            HK_TRY(add_task(s, a, b));
            s->tasks[s->task_count - 1].part =
                aim == HK_SWEEP_AGAIN ? HK_SWEEP_CHANGED : HK_SWEEP_ALL;
        }
    }
    return HK_OK;
}

// ---------------------------------------------------------------- pairs

static hk_status search_plane(const hk_sweep *s, int b, int side, bool guard, bool changed,
                              hk_sweep_found *f)
{
    const hk_contacts *c = s->contacts;
    const hk_sweep_body *body = &s->bodies[b];
    int32_t plane = c->plane_of[side - s->body_count];
    double radius = hk_contact_radius(c->settings, b), normal[3];
    double driven = s->driven[side - s->body_count];
    const double *point = c->x + 3 * (size_t)plane;
    closest_minus(point + 3, point, normal);
    size_t most = f->count + (size_t)(body->points[1] - body->points[0]);
    HK_TRY(hk_reserve((void **)&f->list, f->count, sizeof *f->list, &f->room, most));
    for (int p = body->points[0]; p < body->points[1]; p++) {
        double d[3];
        if (changed && !s->changing[p]) continue;
        closest_minus(c->x + 3 * (size_t)p, point, d);
        double gap = closest_dot(normal, d) - radius;
        double down = -closest_dot(normal, c->move + 3 * (size_t)p);
        if (!guard && gap - down >= HK_SWEEP_AHEAD * c->settings->distance + driven) continue;
        if (guard && down <= hk_sweep_room(gap, c->settings->distance)) continue;
        hk_sweep_pair *pair = &f->list[f->count++];
        pair->way = (hk_way_pair){.point = {p, plane, plane + 1, plane + 1},
                                  .kind = HK_VERTEX_PLANE,
                                  .thickness = radius};
        pair->sides[0] = b;
        pair->sides[1] = side;
        pair->width = c->settings->distance;
        hk_sweep_measure(c, pair);
        pair->nearer = fmax(0, down);
        double floor = 0.5 * fmin(gap, c->settings->distance);
        pair->time = down > gap - floor ? fmax(0, gap - floor) / down : 1;
    }
    return HK_OK;
}

// How much farther the first of two sides goes.
static void find_more(const hk_sweep *s, int a, int b, hk_sweep_search *search)
{
    double low[3], high[3], more[3], largest = 0;
    for (int i = 0; i < 3; i++) {
        more[i] = s->bodies[a].mean[i] - (b < s->body_count ? s->bodies[b].mean[i] : 0);
        largest = fmax(largest, fmax(fabs(box_of(s, a)->low[i]), fabs(box_of(s, a)->high[i])));
    }
    // Sums with boxes are rounded once more.
    double slack = 0x1p-21 * largest;
    for (int i = 0; i < 3; i++) {
        low[i] = fmin(0, more[i]) - slack;
        high[i] = fmax(0, more[i]) + slack;
    }
    search->more = hk_patch_round(low, high);
    search->apart =
        sqrt(closest_dot(more, more)) + (b < s->body_count ? 0 : s->driven[b - s->body_count]);
    search->thickness =
        hk_contact_radius(s->contacts->settings, a) + hk_contact_radius(s->contacts->settings, b);
}

static hk_status do_task(hk_sweep *s, bool guard, hk_sweep_task *task, int thread)
{
    hk_sweep_search search = {.sweep = s, .found = &s->found[thread], .guard = guard};
    int a = task->sides[0], b = task->sides[1];
    bool plane = b >= s->body_count && s->contacts->plane_of[b - s->body_count] >= 0;
    bool changed = task->part == HK_SWEEP_CHANGED;
    task->found = thread;
    task->first = search.found->count;
    task->count = 0;
    find_more(s, a, b, &search);
    HK_TRY(plane ? search_plane(s, a, b, guard, changed, search.found)
                 : hk_patches_meet(s->patches, a, b, &search.more, changed ? s->stale : NULL,
                                   hk_sweep_search_patches, &search));
    task->count = search.found->count - task->first;
    return HK_OK;
}

// Adds the pairs of all tasks in the order of these.
static hk_status join_found(hk_sweep *s)
{
    size_t total = s->count;
    for (size_t k = 0; k < s->task_count; k++) total += s->tasks[k].count;
    HK_TRY(hk_reserve((void **)&s->pairs, s->count, sizeof *s->pairs, &s->room, total));
    for (size_t k = 0; k < s->task_count; k++) {
        const hk_sweep_task *task = &s->tasks[k];
        if (task->count == 0) continue;
        memcpy(s->pairs + s->count, s->found[task->found].list + task->first,
               task->count * sizeof *s->pairs);
        s->count += task->count;
    }
    return HK_OK;
}

// Every task by whoever is free.
static hk_status do_tasks(hk_sweep *s, bool guard)
{
    int threads = s->contacts->threads;
    hk_status status = HK_OK;
    for (int k = 0; k < threads; k++) s->found[k].count = 0;
    if (s->task_count <= 1 || threads == 1) {
        for (size_t k = 0; k < s->task_count; k++) HK_TRY(do_task(s, guard, &s->tasks[k], 0));
        return join_found(s);
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t k = 0; k < s->task_count; k++) {
        hk_status done = do_task(s, guard, &s->tasks[k], omp_get_thread_num());
        if (done == HK_OK) continue;
#pragma omp atomic write
        status = done;
    }
    return status == HK_OK ? join_found(s) : status;
}

// Marks bodies that take part in tasks with the trees of their patches.
static bool mark_bodies(const hk_sweep *s, uint8_t *marks)
{
    const hk_contacts *c = s->contacts;
    bool any = false;
    memset(marks, 0, (size_t)s->body_count);
    for (size_t k = 0; k < s->task_count; k++) {
        int a = s->tasks[k].sides[0], b = s->tasks[k].sides[1];
        if (b >= s->body_count && c->plane_of[b - s->body_count] >= 0) continue;
        any = true;
        marks[a] = 1;
        if (b < s->body_count) marks[b] = 1;
    }
    return any;
}

static hk_status box_body(hk_sweep *s, int b, void *context)
{
    hk_sweep_aim aim = *(const hk_sweep_aim *)context;
    hk_sweep_body *body = &s->bodies[b];
    if (aim != HK_SWEEP_AGAIN) body->stale = body->fitted = false;
    if (body->points[1] == body->points[0] || (aim == HK_SWEEP_AGAIN && !body->stale)) return HK_OK;
    find_body_box(s, b, aim != HK_SWEEP_FORCES);
    return HK_OK;
}

static hk_status refit_body(hk_sweep *s, int b, void *context)
{
    hk_sweep_aim aim = *(const hk_sweep_aim *)context;
    if (!s->changed[b]) return HK_OK;
    if (s->bodies[b].stale || !s->bodies[b].fitted) refit(s, b);
    if (aim == HK_SWEEP_AGAIN) mark_nodes(s, b);
    s->bodies[b].fitted = true;
    return HK_OK;
}

// Rounding turns a normal by some units in the last place of coordinates, relative to the distance
// of the closest points; at the far end of an edge that is to be far less than the gap.
static void find_tilting(hk_sweep *s)
{
    double largest = 0, edge = 0;
    for (int b = 0; b < s->body_count; b++) {
        if (s->bodies[b].points[1] == s->bodies[b].points[0]) continue;
        edge = fmax(edge, s->contacts->settings->bodies[b].edge);
        for (int i = 0; i < 3; i++)
            largest =
                fmax(largest, fmax(fabs(s->bodies[b].box.low[i]), fabs(s->bodies[b].box.high[i])));
    }
    s->tilting = 1e4 * DBL_EPSILON * largest * edge;
}

hk_status hk_sweep_search_ways(hk_sweep *s, hk_sweep_aim aim)
{
    HK_TRY(hk_sweep_each_body(s, box_body, &aim));
    find_tilting(s);
    HK_TRY(list_tasks(s, aim));
    if (mark_bodies(s, s->changed)) HK_TRY(hk_sweep_each_body(s, refit_body, &aim));
    if (aim != HK_SWEEP_AGAIN) s->count = 0;
    HK_TRY(do_tasks(s, aim != HK_SWEEP_FORCES));
    for (int b = 0; b < s->body_count; b++) s->bodies[b].stale = false;
    return HK_OK;
}

static hk_status take_moves(hk_sweep *s, int b, void *context)
{
    const double *to = context;
    hk_contacts *c = s->contacts;
    for (int p = s->bodies[b].points[0]; p < s->bodies[b].points[1]; p++) {
        double *move = c->move + 3 * (size_t)p;
        closest_minus(to + 4 * (size_t)c->vertex[p], c->x + 3 * (size_t)p, move);
        // The caller will see that, too.
        if (!isfinite(move[0] + move[1] + move[2])) move[0] = move[1] = move[2] = 0;
    }
    return hk_sweep_cover_self(s, b);
}

hk_status hk_sweep_find(hk_sweep *s, const double *to)
{
    hk_contacts *c = s->contacts;
    double start = hk_now();
    memset(c->move + 3 * (size_t)c->body_points, 0,
           3 * sizeof(double) * (size_t)(c->point_count - c->body_points));
    HK_TRY(hk_sweep_each_body(s, take_moves, (void *)to));
    for (int o = 0; o < s->obstacle_count; o++) {
        find_obstacle_box(s, o);
        hk_patches_refit(s->patches, s->body_count + o);
        hk_sweep_find_slabs(s, s->body_count + o);
    }
    HK_TRY(hk_sweep_search_ways(s, HK_SWEEP_FORCES));
    HK_TRY(hk_sweep_add_selves(s));
    hk_sweep_drop_late(s);
    c->detect_s += hk_now() - start;
    return HK_OK;
}
