#include "gpu/layout.h"

#include <limits.h>
#include <omp.h>

#include "gpu/slots.h"

// ---------------------------------------------------------------- batches

typedef struct batch_source {
    int32_t material, part;
} batch_source;

// Which batches a material has: a run of numbers.
typedef struct sources {
    batch_source *batch;  // [batch_count]
    int32_t *first;       // [material_count + 1]
} sources;

int hk_gpu_layout_law(const hk_gpu_layout *l)
{
    for (int q = 1; q < l->batch_count; q++)
        if (l->batches[q].law != l->batches[0].law) return HK_LAW_COUNT;
    return l->batch_count > 0 ? (int)l->batches[0].law : (int)HK_LAW_COUNT;
}

static hk_status list_batches(const hk_model *m, hk_gpu_layout *l, sources *s)
{
    size_t room = HK_LAW_PARTS * (size_t)m->material_count;
    bool *used = HK_ZEROS(bool, m->material_count);
    s->batch = HK_ARRAY(batch_source, room);
    s->first = HK_ZEROS(int32_t, m->material_count + 1);
    l->batches = HK_ARRAY(hk_law_part, room);
    if (!used || !s->batch || !s->first || !l->batches) {
        hk_free(used);
        return HK_NO_MEMORY;
    }
    for (int t = 0; t < m->tet_count; t++) used[m->tet_material[t]] = true;
    for (int k = 0; k < m->material_count; k++) {
        for (int part = 0; part < HK_LAW_PARTS && used[k]; part++) {
            if (!hk_has_part(&m->materials[k], part)) continue;
            s->batch[l->batch_count] = (batch_source){k, part};
            l->batches[l->batch_count] = hk_material_part(&m->materials[k], part);
            l->blends |= l->batches[l->batch_count++].blend_law.upper > 0;
        }
        s->first[k + 1] = l->batch_count;
    }
    hk_free(used);
    return HK_OK;
}

static bool wants_elements(const hk_gpu_layout *l)
{
    for (int q = 0; q < l->batch_count; q++)
        if (hk_law_describe(l->batches[q].law)->element_values > 0) return true;
    return false;
}

// ---------------------------------------------------------------- neighbours

// The tets at every vertex (model's numbers).
typedef struct incidence {
    int64_t *start;  // [vertex_count + 1]
    int32_t *tet;
} incidence;

static hk_status find_incidence(const hk_model *m, incidence *s)
{
    s->start = HK_ZEROS(int64_t, m->vertex_count + 1);
    s->tet = HK_ARRAY(int32_t, 4 * (size_t)m->tet_count);
    int64_t *next = HK_ARRAY(int64_t, m->vertex_count);
    if (!s->start || !s->tet || !next) {
        hk_free(next);
        return HK_NO_MEMORY;
    }
    for (int64_t k = 0; k < 4 * (int64_t)m->tet_count; k++) s->start[m->tets[k] + 1]++;
    for (int v = 0; v < m->vertex_count; v++) s->start[v + 1] += s->start[v];
    memcpy(next, s->start, sizeof *next * (size_t)m->vertex_count);
    for (int64_t k = 0; k < 4 * (int64_t)m->tet_count; k++)
        s->tet[next[m->tets[k]]++] = (int32_t)(k / 4);
    hk_free(next);
    return HK_OK;
}

// A small set of numbers that remembers the order in which they came.
typedef struct number_set {
    int room;       // a power of two
    int32_t *key;   // [room] −1: free
    int32_t *at;    // [room] its position in `list`
    int32_t *list;  // [room / 2]
    int count;
} number_set;

static void set_free(number_set *s)
{
    hk_free(s->key);
    hk_free(s->at);
    hk_free(s->list);
}

static hk_status set_make(number_set *s, int room)
{
    s->room = room;
    s->key = HK_ARRAY(int32_t, room);
    s->at = HK_ARRAY(int32_t, room);
    s->list = HK_ARRAY(int32_t, room / 2);
    if (!s->key || !s->at || !s->list) return HK_NO_MEMORY;
    for (int k = 0; k < room; k++) s->key[k] = -1;
    s->count = 0;
    return HK_OK;
}

static int set_find(const number_set *s, int32_t number)
{
    int k = (int)((uint32_t)number * 2654435761u >> 7) & (s->room - 1);
    while (s->key[k] >= 0 && s->key[k] != number) k = (k + 1) & (s->room - 1);
    return k;
}

static void set_clear(number_set *s)
{
    // Removing only what is there would break the chains; the keys of the list are all there are.
    for (int k = 0; k < s->room; k++) s->key[k] = -1;
    s->count = 0;
}

static hk_status set_grow(number_set *s)
{
    number_set larger = {0};
    hk_status status = set_make(&larger, 2 * s->room);
    if (status != HK_OK) {
        set_free(&larger);
        return status;
    }
    for (int k = 0; k < s->count; k++) {
        int at = set_find(&larger, s->list[k]);
        larger.key[at] = s->list[k];
        larger.at[at] = larger.count;
        larger.list[larger.count++] = s->list[k];
    }
    set_free(s);
    *s = larger;
    return HK_OK;
}

static hk_status set_add(number_set *s, int32_t number)
{
    int k = set_find(s, number);
    if (s->key[k] == number) return HK_OK;
    if (s->count == s->room / 2) {
        HK_TRY(set_grow(s));
        k = set_find(s, number);
    }
    s->key[k] = number;
    s->at[k] = s->count;
    s->list[s->count++] = number;
    return HK_OK;
}

// ---------------------------------------------------------------- a patch

// What a thread needs to lay out a patch.
typedef struct worker {
    const hk_model *model;
    hk_gpu_layout *layout;
    const sources *sources;
    const incidence *incidence;
    const int32_t *number;   // [vertex_count] model's vertex → the vertex here
    number_set tets;         // model's numbers
    number_set locals;       // vertices here: own ones first
    int32_t *batch_count;    // [batch_count] items
    int32_t *batch_corners;  // [batch_count] their corners at own vertices
    hk_gpu_slot_workspace slots;
    uint16_t *dealt;  // [most_rounds][most_own] corners of a vertex in the rounds of a batch
} worker;

static void worker_free(worker *w)
{
    set_free(&w->tets);
    set_free(&w->locals);
    hk_free(w->batch_count);
    hk_free(w->batch_corners);
    hk_gpu_slot_workspace_free(&w->slots);
    hk_free(w->dealt);
}

static hk_status worker_make(worker *w)
{
    HK_TRY(set_make(&w->tets, 8192));
    HK_TRY(set_make(&w->locals, 2048));
    w->batch_count = HK_ARRAY(int32_t, w->layout->batch_count);
    w->batch_corners = HK_ARRAY(int32_t, w->layout->batch_count);
    w->dealt = HK_ARRAY(uint16_t, (size_t)w->layout->most_rounds * (size_t)w->layout->most_own);
    if (!w->batch_count || !w->batch_corners || !w->dealt) return HK_NO_MEMORY;
    return hk_gpu_slot_workspace_make(&w->slots, w->layout->most_own, w->layout->cut.round_size);
}

static int32_t model_vertex(const worker *w, int32_t here)
{
    return w->model->order[w->layout->place[here]];
}

// Tets and vertices of a patch, and the number of its items in every batch.
static hk_status look_around(worker *w, int patch)
{
    const hk_model *m = w->model;
    const hk_gpu_layout *l = w->layout;
    set_clear(&w->tets);
    set_clear(&w->locals);
    for (int32_t v = l->vertex_start[patch]; v < l->vertex_start[patch + 1]; v++) {
        HK_TRY(set_add(&w->locals, v));
        int32_t own = model_vertex(w, v);
        for (int64_t k = w->incidence->start[own]; k < w->incidence->start[own + 1]; k++)
            HK_TRY(set_add(&w->tets, w->incidence->tet[k]));
    }
    memset(w->batch_count, 0, sizeof *w->batch_count * (size_t)l->batch_count);
    memset(w->batch_corners, 0, sizeof *w->batch_corners * (size_t)l->batch_count);
    for (int k = 0; k < w->tets.count; k++) {
        const int32_t *corner = m->tets + 4 * (int64_t)w->tets.list[k];
        int own = 0;
        for (int c = 0; c < 4; c++) {
            int32_t v = w->number[corner[c]];
            HK_TRY(set_add(&w->locals, v));
            own += v >= l->vertex_start[patch] && v < l->vertex_start[patch + 1];
        }
        int32_t material = m->tet_material[w->tets.list[k]];
        for (int q = w->sources->first[material]; q < w->sources->first[material + 1]; q++) {
            w->batch_count[q]++;
            w->batch_corners[q] += own;
        }
    }
    return HK_OK;
}

// Of so many vertices, in 16 bytes.
static int vertex_room(const hk_gpu_cut *cut, int vertices)
{
    return (hk_max_int(cut->vertex_bytes, 16) * vertices + 15) / 16;
}

// How many rounds the items of a batch take in a patch.
static int rounds_of(const worker *w, int batch)
{
    enum { FEWEST = 64 };  // items
    const hk_gpu_cut *cut = &w->layout->cut;
    int items = w->batch_count[batch], corners = w->batch_corners[batch];
    int rounds = (items + cut->round_size - 1) / cut->round_size;
    int room = cut->room - vertex_room(cut, w->locals.count) - HK_GPU_FIRST_SLOT;
    // A sixteenth for the skew, and for rounds with a few corners more than others.
    while (cut->room > 0 && rounds * FEWEST < items && corners + corners / 16 > room * rounds)
        rounds++;
    return (rounds + cut->groups - 1) / cut->groups * cut->groups;
}

// Sizes, to be summed up: the entries for the patch hold its own numbers for now.
static hk_status measure_patch(worker *w, int patch)
{
    hk_gpu_layout *l = w->layout;
    HK_TRY(look_around(w, patch));
    int own = l->vertex_start[patch + 1] - l->vertex_start[patch];
    if (w->locals.count >= HK_GPU_COUNTS)
        return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": %d vertices around one patch",
                       w->locals.count);
    l->ghost_start[patch + 1] = w->locals.count - own;
    for (int q = 0; q < l->batch_count; q++) {
        l->item_start[patch + 1] += w->batch_count[q];
        l->round_start[patch + 1] += rounds_of(w, q);
    }
    return HK_OK;
}

static hk_gpu_item item_of(const worker *w, int tet)
{
    hk_gpu_item item = {0};  // HK_GPU_NO_SLOT
    for (int c = 0; c < 4; c++) {
        int32_t vertex = w->number[w->model->tets[4 * (int64_t)tet + c]];
        item.corner[c] = (uint16_t)w->locals.at[set_find(&w->locals, vertex)];
    }
    return item;
}

static void write_shape(float *const to[HK_GPU_SHAPE_PARTS], const double *numbers, int64_t at)
{
    for (int k = 0; k < HK_GPU_SHAPE_PARTS; k++) {
        int width = hk_gpu_shape_width(k);
        for (int i = 0; i < width; i++) to[k][width * at + i] = (float)*numbers++;
    }
}

// Its rest shape, and what its law wants to know of it.
static void fill_shape(const worker *w, int part, int64_t at)
{
    hk_gpu_layout *l = w->layout;
    const double *corner[4];
    double inverse[9];
    for (int c = 0; c < 4; c++) {
        int32_t vertex = model_vertex(w, w->locals.list[l->items[at].corner[c]]);
        corner[c] = w->model->rest + 3 * (int64_t)vertex;
    }
    hk_corner_inverse(corner, inverse);
    write_shape(l->shape, inverse, at);
    if (!l->element) return;
    memset(l->element + 4 * at, 0, 4 * sizeof(float));
    if (part == HK_LAW_PART) return;
    const double *direction = hk_part_direction(w->model, l->item_tet[at], part);
    for (int i = 0; i < 3; i++) l->element[4 * at + i] = (float)direction[i];
}

// Items of a batch of `size` that go to round r.
static int round_share(int size, int rounds, int r)
{
    int whole = size / (HK_GPU_BANKS * rounds),
        rest = size - whole * HK_GPU_BANKS * rounds - r * HK_GPU_BANKS;
    return whole * HK_GPU_BANKS + hk_max_int(0, hk_min_int(rest, HK_GPU_BANKS));
}

// The round with room where the own vertices of an item have the fewest corners so far.
static int choose_round(const worker *w, int own, const hk_gpu_item *item, int size, int rounds,
                        const hk_gpu_round *round)
{
    int best = -1, least = INT_MAX;
    for (int r = 0; r < rounds; r++) {
        if (round[r].last - round[r].first == round_share(size, rounds, r)) continue;
        const uint16_t *dealt = w->dealt + (size_t)r * (size_t)w->layout->most_own;
        int crowd = 0;
        for (int c = 0; c < 4; c++)
            if (item->corner[c] < own) crowd += dealt[item->corner[c]];
        if (crowd >= least) continue;
        least = crowd;
        best = r;
    }
    return best;
}

// The items of a batch are dealt out to its rounds so that every vertex has about the same number
// of corners in each: threads of a warp that collect them wait for the one with the most.
static void fill_batch(const worker *w, int own, int batch, int64_t at, int rounds,
                       hk_gpu_round *round)
{
    hk_gpu_layout *l = w->layout;
    const batch_source *source = &w->sources->batch[batch];
    memset(w->dealt, 0, sizeof *w->dealt * (size_t)rounds * (size_t)l->most_own);
    for (int k = 0; k < w->tets.count; k++) {
        int32_t tet = w->tets.list[k];
        if (w->model->tet_material[tet] != source->material) continue;
        hk_gpu_item item = item_of(w, tet);
        int r = choose_round(w, own, &item, w->batch_count[batch], rounds, round);
        uint16_t *dealt = w->dealt + (size_t)r * (size_t)l->most_own;
        for (int c = 0; c < 4; c++)
            if (item.corner[c] < own) dealt[item.corner[c]]++;
        l->item_tet[at + round[r].last] = tet;
        l->items[at + round[r].last++] = item;
    }
    for (int r = 0; r < rounds; r++) {
        hk_gpu_order_corners(l->items + at + round[r].first, round[r].last - round[r].first);
        for (int64_t k = round[r].first; k < round[r].last; k++)
            fill_shape(w, source->part, at + k);
    }
}

// Its energy counts where its first vertex in the order of the patches is an own one.
static void mark_counting(const worker *w, int own, hk_gpu_item *item)
{
    int first = 0;
    for (int c = 1; c < 4; c++)
        if (w->locals.list[item->corner[c]] < w->locals.list[item->corner[first]]) first = c;
    if (item->corner[first] < own) item->corner[0] |= HK_GPU_COUNTS;
}

static hk_status fill_patch(worker *w, int patch)
{
    hk_gpu_layout *l = w->layout;
    HK_TRY(look_around(w, patch));
    int own = l->vertex_start[patch + 1] - l->vertex_start[patch];
    memcpy(l->ghost + l->ghost_start[patch], w->locals.list + own,
           sizeof *l->ghost * (size_t)(w->locals.count - own));
    int32_t first = 0;
    hk_gpu_round *round = l->rounds + l->round_start[patch];
    hk_gpu_item *items = l->items + l->item_start[patch];
    for (int q = 0; q < l->batch_count; q++) {
        int size = w->batch_count[q], rounds = rounds_of(w, q);
        for (int r = 0; r < rounds; r++) {
            round[r].first = round[r].last = first;
            round[r].batch = q;
            first += round_share(size, rounds, r);
        }
        if (rounds > 0) fill_batch(w, own, q, l->item_start[patch], rounds, round);
        for (int r = 0; r < rounds; r++) {
            hk_gpu_number_slots(&w->slots, own, &round[r], items, l->count + round[r].counts,
                                l->base + round[r].bases);
            for (int k = round[r].first; k < round[r].last; k++) mark_counting(w, own, &items[k]);
        }
        round += rounds;
    }
    return HK_OK;
}

// ---------------------------------------------------------------- all patches

static hk_status for_patches(const worker *like, int threads, hk_status (*work)(worker *, int))
{
    hk_status worst = HK_OK;
    char message[256] = "";
#pragma omp parallel num_threads(threads)
    {
        worker w = *like;
        hk_status status = worker_make(&w);
#pragma omp for schedule(dynamic, 16)
        for (int p = 0; p < w.layout->patch_count; p++)
            if (status == HK_OK) status = work(&w, p);
        if (status != HK_OK) {
#pragma omp critical
            {
                worst = status;
                strncpy(message, hk_error(), sizeof message - 1);
            }
        }
        worker_free(&w);
    }
    return worst == HK_OK ? HK_OK : hk_fail(worst, "%s", message);
}

// Where the numbers of every round lie: known once its patch is.
static void place_rounds(hk_gpu_layout *l)
{
    int64_t counts = 0, bases = 0;
    for (int p = 0; p < l->patch_count; p++) {
        int own = l->vertex_start[p + 1] - l->vertex_start[p];
        l->patches[p] = (hk_gpu_patch){
            .vertex = l->vertex_start[p],
            .own = own,
            .ghost = l->ghost_start[p],
            .locals = own + l->ghost_start[p + 1] - l->ghost_start[p],
            .item = l->item_start[p],
            .round = l->round_start[p],
            .rounds = l->round_start[p + 1] - l->round_start[p],
            .items = l->item_start[p + 1] - l->item_start[p],
        };
        for (int r = l->round_start[p]; r < l->round_start[p + 1]; r++) {
            l->rounds[r].counts = (int32_t)counts;
            l->rounds[r].bases = (int32_t)bases;
            counts += own;
            bases += hk_gpu_slices(own);
        }
    }
    l->count_size = counts;
    l->base_size = bases;
}

static hk_status allocate_shapes(size_t items, float *shape[HK_GPU_SHAPE_PARTS])
{
    for (int k = 0; k < HK_GPU_SHAPE_PARTS; k++) {
        shape[k] = HK_ARRAY(float, (size_t)hk_gpu_shape_width(k) * items);
        if (!shape[k]) return HK_NO_MEMORY;
    }
    return HK_OK;
}

static hk_status allocate_items(hk_gpu_layout *l)
{
    for (int p = 0; p < l->patch_count; p++) {
        int own = l->vertex_start[p + 1] - l->vertex_start[p];
        l->most_locals = hk_max_int(l->most_locals, own + l->ghost_start[p + 1]);
        l->most_items = hk_max_int(l->most_items, l->item_start[p + 1]);
        l->most_rounds = hk_max_int(l->most_rounds, l->round_start[p + 1]);
        l->ghost_start[p + 1] += l->ghost_start[p];
        l->item_start[p + 1] += l->item_start[p];
        l->round_start[p + 1] += l->round_start[p];
    }
    size_t items = (size_t)l->item_start[l->patch_count];
    if (items >= (size_t)1 << 28)
        return hk_fail(HK_UNSUPPORTED, "backend \"cuda\": %zu elements are too many for one device",
                       items);
    size_t ghosts = (size_t)l->ghost_start[l->patch_count];
    l->ghost = HK_ARRAY(int32_t, ghosts);
    HK_TRY(allocate_shapes(items, l->shape));
    l->items = HK_ARRAY(hk_gpu_item, items);
    l->item_tet = HK_ARRAY(int32_t, items);
    l->rounds = HK_ZEROS(hk_gpu_round, l->round_start[l->patch_count] + 1);  // one may be checked
    l->patches = HK_ARRAY(hk_gpu_patch, l->patch_count);
    if (!l->ghost || !l->items || !l->item_tet || !l->rounds || !l->patches) return HK_NO_MEMORY;
    if (wants_elements(l)) {
        l->element = HK_ARRAY(float, 4 * items);
        if (!l->element) return HK_NO_MEMORY;
    }
    place_rounds(l);
    l->count = HK_ARRAY(uint16_t, l->count_size);
    l->base = HK_ARRAY(uint16_t, l->base_size);
    return l->count && l->base ? HK_OK : HK_NO_MEMORY;
}

static void count_slots(hk_gpu_layout *l)
{
    for (int p = 0; p < l->patch_count; p++) {
        const hk_gpu_patch *patch = &l->patches[p];
        int most = HK_GPU_FIRST_SLOT;
        for (int r = 0; r < patch->rounds; r++)
            most = hk_max_int(
                most, hk_gpu_slots_of(patch->own, l->count + l->rounds[patch->round + r].counts));
        l->most_slots = hk_max_int(l->most_slots, most);
        l->most_room = hk_max_int(l->most_room, vertex_room(&l->cut, patch->locals) + most);
    }
}

static hk_status lay_out(const hk_model *m, int threads, worker *w)
{
    hk_gpu_layout *l = w->layout;
    l->ghost_start = HK_ZEROS(int32_t, l->patch_count + 1);
    l->item_start = HK_ZEROS(int32_t, l->patch_count + 1);
    l->round_start = HK_ZEROS(int32_t, l->patch_count + 1);
    int32_t *number = HK_ARRAY(int32_t, m->vertex_count);
    hk_status status = HK_NO_MEMORY;
    if (l->ghost_start && l->item_start && l->round_start && number) {
        for (int v = 0; v < m->vertex_count; v++) number[m->order[l->place[v]]] = v;
        w->number = number;
        status = for_patches(w, threads, measure_patch);
        if (status == HK_OK) status = allocate_items(l);
        if (status == HK_OK) status = for_patches(w, threads, fill_patch);
        if (status == HK_OK) count_slots(l);
    }
    hk_free(number);
    return status;
}

static hk_status build(const hk_model *m, int threads, hk_gpu_layout *l)
{
    sources from = {0};
    incidence around = {0};
    worker w = {.model = m, .layout = l, .sources = &from, .incidence = &around};
    hk_status status = hk_gpu_cut_patches(m, l);
    if (status == HK_OK) status = list_batches(m, l, &from);
    if (status == HK_OK) status = find_incidence(m, &around);
    if (status == HK_OK) status = lay_out(m, threads, &w);
    hk_free(from.batch);
    hk_free(from.first);
    hk_free(around.start);
    hk_free(around.tet);
    return status;
}

hk_status hk_gpu_layout_create(const hk_model *m, const hk_gpu_cut *cut, int threads,
                               hk_gpu_layout **layout)
{
    hk_gpu_layout *l = HK_NEW(hk_gpu_layout);
    if (!l) return HK_NO_MEMORY;
    l->cut = *cut;
    l->vertex_count = m->vertex_count;
    hk_status status = build(m, threads > 0 ? threads : omp_get_num_procs(), l);
    if (status != HK_OK) {
        hk_gpu_layout_free(l);
        return status;
    }
    *layout = l;
    return HK_OK;
}

void hk_gpu_layout_free(hk_gpu_layout *l)
{
    if (!l || l->users-- > 0) return;
    hk_free(l->batches);
    hk_free(l->place);
    hk_free(l->patches);
    hk_free(l->body_of_patch);
    hk_free(l->vertex_start);
    hk_free(l->ghost_start);
    hk_free(l->ghost);
    for (int k = 0; k < HK_GPU_SHAPE_PARTS; k++) hk_free(l->shape[k]);
    hk_free(l->item_start);
    hk_free(l->items);
    hk_free(l->item_tet);
    hk_free(l->element);
    hk_free(l->round_start);
    hk_free(l->rounds);
    hk_free(l->count);
    hk_free(l->base);
    hk_free(l);
}
