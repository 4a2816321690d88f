// The layout of a model in the memory of a GPU (gpu/layout.h): every vertex belongs to one patch,
// every element at a vertex is in its patch, every corner at an own vertex has a slot of its own,
// in the order in which the threads read them, and every element counts once.
#include "sheets.h"
#include "gpu/layout.h"

static hk_model *bar(bool regions)
{
    hk_body_def body = hk_default_body_def();
    hk_selector half = select_box(0.5, -1, -1, 2, 2, 2);
    hk_region_def region = {.def_size = sizeof(hk_region_def),
                            .select = half,
                            .material = material_of("corotated", 4e5, 0.2)};
    body.material = material_of("neo_hookean", 1e5, 0.3);
    if (regions) {
        body.material.fibre_stiffness = 1e5;
        body.material.fibre_direction[0] = 1;
        body.regions = &region;
        body.region_count = 1;
    }
    return model_of(&body, box_mesh(1, 0.5, 0.4, 9, 5, 4), 0);
}

static void check_vertices(const hk_model *m, const hk_gpu_layout *l)
{
    uint8_t *seen = calloc((size_t)m->vertex_count, 1);
    for (int v = 0; v < m->vertex_count; v++) seen[l->place[v]]++;
    for (int v = 0; v < m->vertex_count; v++) assert_int_equal(seen[v], 1);
    free(seen);
    assert_int_equal(l->vertex_start[0], 0);
    assert_int_equal(l->vertex_start[l->patch_count], m->vertex_count);
    for (int p = 0; p < l->patch_count; p++) {
        int own = l->vertex_start[p + 1] - l->vertex_start[p];
        assert_true(own > 0 && own <= l->most_own);
        assert_int_equal(l->patches[p].own, own);
    }
}

// The vertex here that a local number of a patch stands for.
static int vertex_of(const hk_gpu_layout *l, int patch, int local)
{
    const hk_gpu_patch *p = &l->patches[patch];
    assert_true(local < p->locals);
    return local < p->own ? p->vertex + local : l->ghost[p->ghost + local - p->own];
}

static void check_item(const hk_model *m, const hk_gpu_layout *l, int patch, int64_t at)
{
    const hk_gpu_item *item = &l->items[at];
    const int32_t *tet = m->tets + 4 * (int64_t)l->item_tet[at];
    const double *corner[4];
    double inverse[9];
    for (int c = 0; c < 4; c++) {
        int v = m->order[l->place[vertex_of(l, patch, item->corner[c] & ~HK_GPU_COUNTS)]];
        corner[c] = m->rest + 3 * (int64_t)v;
        assert_true(v == tet[0] || v == tet[1] || v == tet[2] || v == tet[3]);
    }
    hk_corner_inverse(corner, inverse);
    const float *a = l->shape[0] + 4 * at, *b = l->shape[1] + 4 * at;
    const double shape[] = {a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], l->shape[2][at]};
    double size = 0;
    for (int i = 0; i < 9; i++) size = fmax(size, fabs(inverse[i]));
    for (int i = 0; i < 9; i++) assert_float_equal(shape[i], inverse[i], 1e-7 * size);
    int part = l->element && (l->element[4 * at] != 0 || l->element[4 * at + 1] != 0 ||
                              l->element[4 * at + 2] != 0);
    const double *fibre = hk_part_direction(m, l->item_tet[at], HK_FIBRE_PART);
    for (int i = 0; i < 3 && part; i++) assert_float_equal(l->element[4 * at + i], fibre[i], 1e-6);
}

// The slots of own vertex v in a round, as the threads of its warp find them.
static int slot_of(const hk_gpu_layout *l, const hk_gpu_round *round, int own, int v, int rank)
{
    int slice = v / HK_GPU_SLICE * HK_GPU_SLICE, slot = l->base[round->bases + v / HK_GPU_SLICE];
    for (int k = 0; k <= rank; k++)
        for (int u = slice; u < slice + HK_GPU_SLICE && u < own; u++)
            if (l->count[round->counts + u] > k && (k < rank || u < v)) slot++;
    return slot + HK_GPU_SKEW * rank;
}

static void check_round(const hk_gpu_layout *l, const hk_gpu_patch *p, const hk_gpu_round *round)
{
    int *owner = malloc(sizeof(int) * (size_t)l->most_slots);
    for (int s = 0; s < l->most_slots; s++) owner[s] = -1;
    for (int v = 0; v < p->own; v++)
        for (int k = 0; k < l->count[round->counts + v]; k++) {
            int slot = slot_of(l, round, p->own, v, k);
            assert_true(slot >= HK_GPU_FIRST_SLOT && slot < l->most_slots && owner[slot] == -1);
            owner[slot] = v;
        }
    for (int k = round->first; k < round->last; k++)
        for (int c = 0; c < 4; c++) {
            const hk_gpu_item *item = &l->items[p->item + k];
            int v = item->corner[c] & ~HK_GPU_COUNTS;
            if (v >= p->own) {
                assert_int_equal(item->slot[c], HK_GPU_NO_SLOT);
                continue;
            }
            assert_int_equal(owner[item->slot[c]], v);
            owner[item->slot[c]] = -2;  // taken
        }
    for (int s = 0; s < l->most_slots; s++) assert_true(owner[s] < 0);
    free(owner);
}

static void check_layout(const hk_model *m, hk_gpu_cut cut)
{
    hk_gpu_layout *l;
    CHECK_OK(hk_gpu_layout_create(m, &cut, 2, &l));
    bool one_law = m->material_count == 1;
    assert_int_equal(hk_gpu_layout_law(l), one_law ? HK_LAW_neo_hookean : HK_LAW_COUNT);
    check_vertices(m, l);
    int parts = l->batch_count, counted = 0, expected = 0;
    int64_t corners = 0, wanted = 0;
    for (int t = 0; t < m->tet_count; t++)
        for (int part = 0; part < HK_LAW_PARTS; part++) {
            bool has = hk_has_part(&m->materials[m->tet_material[t]], part);
            expected += has;
            wanted += 4 * has;
        }
    for (int p = 0; p < l->patch_count; p++) {
        int last = 0;
        assert_int_equal(l->patches[p].rounds % cut.groups, 0);
        assert_true(l->patches[p].items <= l->most_items && l->patches[p].own <= l->most_own);
        assert_true(l->patches[p].rounds <= l->most_rounds);
        for (int r = 0; r < l->patches[p].rounds; r++) {
            const hk_gpu_round *at = &l->rounds[l->patches[p].round + r];
            assert_true(at->first == last && at->last - at->first <= cut.round_size &&
                        at->batch < parts);
            last = at->last;
            check_round(l, &l->patches[p], at);
            for (int v = 0; v < l->patches[p].own; v++) corners += l->count[at->counts + v];
        }
        assert_int_equal(last, l->patches[p].items);
        for (int k = 0; k < last; k++) {
            check_item(m, l, p, l->patches[p].item + k);
            counted += (l->items[l->patches[p].item + k].corner[0] & HK_GPU_COUNTS) != 0;
        }
    }
    assert_int_equal(counted, expected);
    assert_int_equal(corners, wanted);  // every corner is summed up in one patch
    hk_gpu_layout_free(l);
}

static void test_layouts(void **state)
{
    (void)state;
    for (int regions = 0; regions < 2; regions++) {
        hk_model *model = bar(regions);
        check_layout(model, (hk_gpu_cut){.patch_size = 256, .round_size = 1024, .groups = 1});
        check_layout(model, (hk_gpu_cut){.patch_size = 64, .round_size = 128, .groups = 1});
        check_layout(model, (hk_gpu_cut){.patch_size = 32, .round_size = 4096, .groups = 1});
        check_layout(model,
                     (hk_gpu_cut){.patch_size = 64, .round_size = 4096, .groups = 1, .room = 600});
        check_layout(model,
                     (hk_gpu_cut){.patch_size = 64, .round_size = 256, .groups = 4, .even = true});
        check_layout(model,
                     (hk_gpu_cut){.patch_size = 32, .round_size = 64, .groups = 3, .even = true});
        hk_model_free(model);
    }
}

// Eight threads that write 16 bytes each take as many turns as the fullest of eight banks has
// places: for how many turns there is a need, and how many they take.
static void count_turns(const hk_gpu_layout *l, int64_t *needed, int64_t *taken)
{
    *needed = *taken = 0;
    for (int p = 0; p < l->patch_count; p++)
        for (int r = 0; r < l->patches[p].rounds; r++) {
            const hk_gpu_round *round = &l->rounds[l->patches[p].round + r];
            const hk_gpu_item *items = l->items + l->patches[p].item;
            for (int first = round->first; first < round->last; first += 8)
                for (int c = 0; c < 4; c++) {
                    int load[8] = {0}, most = 0;
                    for (int k = first; k < first + 8 && k < round->last; k++)
                        if (items[k].slot[c] != HK_GPU_NO_SLOT) {
                            int bank = items[k].slot[c] % 8;
                            most = ++load[bank] > most ? load[bank] : most;
                        }
                    *needed += most > 0;
                    *taken += most;
                }
        }
}

static void test_rounds_fit_and_slots_seldom_clash(void **state)
{
    (void)state;
    enum { ROOM = 2500 };
    hk_body_def body = hk_default_body_def();
    body.material = material_of("neo_hookean", 1e5, 0.3);
    hk_model *model = model_of(&body, box_mesh(1, 1, 1, 10, 10, 10), 0);
    hk_gpu_layout *l;
    hk_gpu_cut cut = {.patch_size = 128, .round_size = 4096, .groups = 1, .room = ROOM};
    CHECK_OK(hk_gpu_layout_create(model, &cut, 2, &l));
    hk_model_free(model);
    assert_true(l->most_room > ROOM / 2 && l->most_room <= ROOM + ROOM / 32);
    int64_t needed, taken;
    count_turns(l, &needed, &taken);
    if (!(taken <= needed + needed / 5))
        fail_msg("%lld turns for %lld", (long long)taken, (long long)needed);
    hk_gpu_layout_free(l);
}

// All vertices of a sheet are somebody's, though there are no tets.
static void test_sheets(void **state)
{
    (void)state;
    hk_body_def body = hk_default_body_def();
    body.material = cloth_of(100, 1e-3, 0.3);
    hk_model *model = model_of(&body, sheet_mesh(1, 1, 9, 7), 0);
    hk_gpu_cut cut = {.patch_size = 32, .round_size = 128, .groups = 1};
    hk_gpu_layout *l = NULL;
    CHECK_OK(hk_gpu_layout_create(model, &cut, 1, &l));
    int owned = 0;
    for (int p = 0; p < l->patch_count; p++) {
        assert_int_equal(l->patches[p].items, 0);
        assert_int_equal(l->patches[p].locals, l->patches[p].own);
        owned += l->patches[p].own;
    }
    assert_int_equal(owned, hk_model_vertex_count(model));
    hk_gpu_layout_free(l);
    hk_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_rounds_fit_and_slots_seldom_clash),
        cmocka_unit_test(test_sheets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
