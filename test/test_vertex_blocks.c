// Gauss–Seidel over vertices: colours, the gradient and the Hessian block of every vertex against
// the tet term's, and sweeps.
#include "bodies.h"
#include "term_lists.h"

#include "model/model.h"
#include "term/vertex_blocks.h"

enum { BLOCK = 6 };

// ---------------------------------------------------------------- colours

static void check_colours(const hk_graph *g, const uint8_t *skip, const hk_colouring *c)
{
    int *colour = malloc((size_t)g->count * sizeof *colour), largest = 0, least = g->count;
    for (int v = 0; v < g->count; v++) colour[v] = -1;
    for (int k = 0; k < c->colour_count; k++) {
        int size = c->start[k + 1] - c->start[k];
        largest = size > largest ? size : largest;
        least = size < least ? size : least;
        for (int i = c->start[k]; i < c->start[k + 1]; i++) {
            assert_int_equal(colour[c->item[i]], -1);
            assert_true(i == c->start[k] || c->item[i] > c->item[i - 1]);
            colour[c->item[i]] = k;
        }
    }
    for (int v = 0; v < g->count; v++) {
        assert_true((colour[v] < 0) == (skip && skip[v]));
        for (int64_t k = g->start[v]; k < g->start[v + 1]; k++)
            assert_true(colour[v] < 0 || colour[v] != colour[g->neighbour[k]]);
    }
    assert_true(2 * least >= largest);  // about equally large
    free(colour);
}

static void test_colours(void **state)
{
    (void)state;
    hk_mesh *mesh = box_mesh(1, 1, 1, 8, 8, 8);
    int tets = hk_mesh_tet_count(mesh), count = hk_mesh_vertex_count(mesh);
    int64_t *start = malloc(((size_t)tets + 1) * sizeof *start);
    for (int k = 0; k <= tets; k++) start[k] = 4 * (int64_t)k;
    uint8_t *skip = calloc((size_t)count, 1);
    for (int v = 0; v < count; v += 7) skip[v] = 1;
    hk_graph g;
    CHECK_OK(hk_graph_create(count, tets, start, hk_mesh_tets(mesh), &g));
    for (int t = 0; t < tets; t++)  // the corners of a tet are neighbours
        for (int c = 1; c < 4; c++) {
            int a = hk_mesh_tets(mesh)[4 * t], b = hk_mesh_tets(mesh)[4 * t + c], found = 0;
            for (int64_t k = g.start[a]; k < g.start[a + 1]; k++) found += g.neighbour[k] == b;
            assert_int_equal(found, 1);
        }
    for (int k = 0; k < 2; k++) {
        hk_colouring c;
        CHECK_OK(hk_colour_graph(g.count, g.start, g.neighbour, k ? skip : NULL, &c));
        assert_in_range(c.colour_count, 4, 12);
        check_colours(&g, k ? skip : NULL, &c);
        hk_colouring_release(&c);
    }
    hk_graph_release(&g);
    free(skip);
    free(start);
    hk_mesh_free(mesh);
}

// ---------------------------------------------------------------- a body

// A box, its left part with another stiffness and fibres, disturbed; the vertices of one side held.
typedef struct body {
    hk_model *model;
    const hk_lane_table *lanes;
    hk_tet_term *term;
    own_list *list;
    hk_vertex_blocks *vertex_blocks;
    uint8_t *held;
    float *blend;  // weights
    void *x;       // scalar[vertex_count][4]
} body;

static void *vector_of(const body *b, size_t per_vertex)
{
    size_t bytes = per_vertex * (size_t)b->model->vertex_count * sizeof(double);
    void *v = aligned_alloc(64, (bytes + 63) / 64 * 64);
    memset(v, 0, bytes);
    return v;
}

static double value_at(const body *b, const void *array, int64_t k)
{
    return b->lanes->scalar_size == 8 ? ((const double *)array)[k]
                                      : (double)((const float *)array)[k];
}

static void set(const body *b, void *array, int64_t k, double value)
{
    if (b->lanes->scalar_size == 8)
        ((double *)array)[k] = value;
    else
        ((float *)array)[k] = (float)value;
}

static body make_body(const char *material, const hk_lane_table *lanes, double amount, bool blended)
{
    body b = {.lanes = lanes};
    hk_body_def def = hk_default_body_def();
    def.material = material_of(material, 1e5, 0.4);
    if (blended) def.material.invertible = hk_default_invertible();
    hk_region_def region = {.def_size = sizeof(hk_region_def),
                            .select = select_box(0, 0, 0, 0.5, 1, 1),
                            .material = material_of(material, 2e5, 0.3)};
    region.material.fibre_stiffness = 3e5;
    region.material.fibre_direction[1] = 1;
    def.regions = &region;
    def.region_count = 1;
    b.model = model_of(&def, box_mesh(1, 1, 1, 4, 4, 4), 0);
    const hk_model *m = b.model;
    CHECK_OK(hk_tet_term_create(m, lanes, 1, &b.term));
    b.list = malloc(sizeof *b.list);
    list_tets(b.list, b.term);
    b.held = calloc((size_t)m->vertex_count, 1);
    b.x = vector_of(&b, 4);
    b.blend = calloc((size_t)m->tet_count, sizeof *b.blend);
    uint64_t seed = 7;
    for (int k = 0; k < m->vertex_count; k++) {
        const double *X = m->rest + 3 * m->order[k];
        b.held[k] = X[0] == 0;
        double at[3] = {1.3 * X[0] + 0.2 * X[1], 0.9 * X[1] - 0.1 * X[2], 0.95 * X[2]};
        for (int i = 0; i < 3; i++) set(&b, b.x, 4 * k + i, at[i] + amount / 4 * noise(&seed));
    }
    CHECK_OK(hk_vertex_blocks_create(&b.list->terms, b.held, &b.vertex_blocks));
    for (int t = 0; t < m->tet_count && blended; t++) b.blend[t] = (float)fmax(0, noise(&seed));
    if (blended) {
        hk_tet_write_blend(b.term, b.blend);
        hk_vertex_blocks_write_blend(b.vertex_blocks, b.blend);
    }
    return b;
}

static void free_body(body *b)
{
    hk_vertex_blocks_free(b->vertex_blocks);
    free(b->list);
    hk_tet_term_free(b->term);
    hk_model_free(b->model);
    free(b->held);
    free(b->blend);
    free(b->x);
}

// ---------------------------------------------------------------- sums

// The blocks of the vertices from those of the tets.
static double *blocks_of_tets(const body *b)
{
    static const int diagonal[4] = {0, 4, 7, 9}, at[BLOCK] = {0, 1, 2, 4, 5, 8};
    int width = b->lanes->lanes;
    size_t size = (size_t)hk_tet_stiffness_size(b->term) * sizeof(double);
    void *values = aligned_alloc(64, (size + 63) / 64 * 64);
    double *blocks = calloc(BLOCK * (size_t)b->model->vertex_count, sizeof *blocks);
    hk_tet_stiffness(b->term, b->x, 1, values);
    for (int q = 0; q < b->term->batch_count; q++) {
        const hk_tet_batch *batch = &b->term->batches[q];
        for (int k = 0; k < batch->count; k++)
            for (int c = 0; c < 4; c++) {
                int v = batch->vertex[(k / width * 4 + c) * width + k % width];
                for (int i = 0; i < BLOCK; i++)
                    blocks[BLOCK * v + i] += value_at(
                        b, values,
                        b->term->stiffness_start[q] +
                            (int64_t)(k / width * HK_TET_STIFFNESS + 9 * diagonal[c] + at[i]) *
                                width +
                            k % width);
            }
    }
    free(values);
    return blocks;
}

static void add_square(double error[2], double value, double truth)
{
    error[0] += (value - truth) * (value - truth);
    error[1] += truth * truth;
}

// Gradient and block of every free vertex, and the energies of the stars.
static void check_sums(const body *b, const char *label, double most)
{
    int width = b->lanes->lanes;
    void *gradient = vector_of(b, 4);
    double energy, *blocks = blocks_of_tets(b), g[2] = {0}, h[2] = {0}, touched = 0;
    hk_tet_gradient(b->term, b->x, gradient, &energy);
    int *seen = calloc((size_t)b->model->vertex_count, sizeof *seen);
    for (int group = 0; group < b->vertex_blocks->group_count; group++) {
        _Alignas(64) double sums[HK_VERTEX_SUMS * 16] = {0}, at[3 * 16], energies[16] = {0};
        const int32_t *own = b->vertex_blocks->own + group * width;
        for (int l = 0; l < width; l++)
            for (int i = 0; i < 3; i++)
                set(b, at, i * width + l, value_at(b, b->x, 4 * own[l] + i));
        for (int q = 0; q < b->vertex_blocks->batch_count; q++) {
            const hk_tet_batch *batch = &b->vertex_blocks->batches[q];
            const hk_vertex_kernels *k = &b->lanes->vertex->law[batch->law];
            int first = b->vertex_blocks->block_start[q][group],
                last = b->vertex_blocks->block_start[q][group + 1];
            k->push(batch, b->x, own, first, last, sums);
            k->energy(batch, b->x, at, first, last, energies);
        }
        for (int l = 0; l < width; l++) {
            if (seen[own[l]]++) continue;  // a copy
            touched += value_at(b, energies, l);
            for (int i = 0; i < 3; i++)
                add_square(g, value_at(b, sums, i * width + l),
                           value_at(b, gradient, 4 * own[l] + i));
            for (int i = 0; i < BLOCK; i++)
                add_square(h, value_at(b, sums, (3 + i) * width + l), blocks[BLOCK * own[l] + i]);
        }
    }
    for (int v = 0; v < b->model->vertex_count; v++) assert_true((seen[v] > 0) == !b->held[v]);
    if (!(sqrt(g[0] / g[1]) < most && sqrt(h[0] / h[1]) < most))
        fail_msg("%s, %s: gradient off by %.1e, blocks by %.1e", b->lanes->name, label,
                 sqrt(g[0] / g[1]), sqrt(h[0] / h[1]));
    assert_true(touched > 2 * energy && touched < 4 * energy);  // without those of held vertices
    free(seen);
    free(blocks);
    free(gradient);
}

static void test_sums(void **state)
{
    (void)state;
    const hk_lane_table *tables[6];
    int count = hk_lanes_available(tables, 6);
    for (int t = 0; t < count; t++)
        for (int m = 0; m < solid_count(); m++)
            for (int blended = 0; blended < 2; blended++) {
                body b = make_body(hk_material_name(m), tables[t], 0.2, blended);
                check_sums(&b, hk_material_name(m), tables[t]->scalar_size == 8 ? 1e-9 : 2e-4);
                free_body(&b);
            }
}

// ---------------------------------------------------------------- sweeps

static double spread(const body *b, hk_vertex_sweep how, int sweeps, double *x)
{
    void *target = vector_of(b, 4), *before = vector_of(b, 4);
    size_t n = 4 * (size_t)b->model->vertex_count;
    hk_vertex_forces forces = {.target = target, .force = target};
    bool together = how.from != NULL;
    for (int k = 0; k < sweeps; k++) {
        memcpy(before, b->x, n * (size_t)b->lanes->scalar_size);
        how.from = together ? before : NULL;
        hk_vertex_blocks_sweep(b->vertex_blocks, &forces, &how, b->x);
    }
    for (size_t k = 0; k < n && x; k++) x[k] = value_at(b, b->x, (int64_t)k);
    free(target);
    free(before);
    return hk_tet_energy(b->term, b->x);
}

// A careful sweep never raises the energy, however far from rest, and leaves held vertices alone.
static void test_careful_sweeps(void **state)
{
    (void)state;
    for (int m = 0; m < solid_count(); m++) {
        const hk_lane_table *lanes = hk_lanes_best(HK_DOUBLE_PRECISION);
        body b = make_body(hk_material_name(m), lanes, 0.6, false);
        if (!isfinite(hk_tet_energy(b.term, b.x))) {  // a law that is not defined inside out
            free_body(&b);
            b = make_body(hk_material_name(m), lanes, 0.25, false);
        }
        size_t bytes = 4 * sizeof(double) * (size_t)b.model->vertex_count;
        double *x = malloc(bytes), last = hk_tet_energy(b.term, b.x), first = last;
        memcpy(x, b.x, bytes);
        if (!isfinite(last)) fail_msg("%s: the start is not defined", hk_material_name(m));
        for (int k = 0; k < 30; k++) {
            double now = spread(&b, (hk_vertex_sweep){.length = 1, .careful = true}, 1, NULL);
            if (!(now <= last * (1 + 1e-12)))
                fail_msg("%s, sweep %d: from %.17g to %.17g J", hk_material_name(m), k, last, now);
            last = now;
        }
        if (!(last < 0.9 * first))
            fail_msg("%s: from %g to %g J", hk_material_name(m), first, last);
        for (int v = 0; v < b.model->vertex_count; v++)
            if (b.held[v]) assert_memory_equal(x + 4 * v, (double *)b.x + 4 * v, 24);
        free(x);
        free_body(&b);
    }
}

// Groups differ with the lanes, what comes of a sweep does not.
static void test_lanes_agree(void **state)
{
    (void)state;
    const hk_lane_table *tables[6];
    int count = hk_lanes_available(tables, 6);
    for (int how = 0; how < 3; how++) {
        double *first = NULL;
        for (int t = 0; t < count; t++) {
            if (tables[t]->scalar_size != 8) continue;
            body b = make_body("neo_hookean", tables[t], 0.2, false);
            double *x = malloc(4 * sizeof(double) * (size_t)b.model->vertex_count);
            hk_vertex_sweep sweep = {
                .length = how == 2 ? 0.4 : 1, .careful = how == 1, .from = how == 2 ? b.x : NULL};
            spread(&b, sweep, 5, x);
            for (int k = 0; k < 4 * b.model->vertex_count && first; k++)
                assert_true(fabs(x[k] - first[k]) < 1e-10);
            if (first)
                free(x);
            else
                first = x;
            free_body(&b);
        }
        free(first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_careful_sweeps),
        cmocka_unit_test(test_lanes_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
