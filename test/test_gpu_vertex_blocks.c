// The blocks that `vbd` has on a GPU (gpu/vertex_blocks.h) and what steers it there
// (gpu/vbd_control.h), on any machine: what the kernels do with them is done here one by one, in
// single precision.
#define HK_DOUBLE 0
#define HK_LANES  1
#include "bodies.h"
#include "term_lists.h"
#include "failing_alloc.h"

#include "gpu/vertex_math.h"
#include "gpu/vertex_blocks.h"
#include "gpu/vbd_control.h"
#include "material/blend.h"
#include "material/laws.h"
#include "math/solve3.h"
#include "model/model.h"
#include "solver/problem.h"

// ---------------------------------------------------------------- a body

// A box whose left part has another stiffness and fibres, its left side held; disturbed.
typedef struct body {
    hk_model *model;
    hk_gpu_layout *layout;
    hk_gpu_vertex_blocks *vertex_blocks;
    hk_problem *problem;   // without inertia and loads
    float (*q)[4];         // [vertex_count] in the order of the patches
    float (*target)[4];    // .w: stiffness, 0: held
    double *x, *gradient;  // [vertex_count][4] in the model's Morton order
} body;

static body make_viscous_body(const char *material, bool mixed, bool viscous, double amount)
{
    body b = {0};
    hk_body_def def = hk_default_body_def();
    def.material = material_of(material, 1e5, 0.35);
    hk_region_def region = {.def_size = sizeof(hk_region_def),
                            .select = select_box(0, 0, 0, 0.5, 1, 1),
                            .material = material_of(material, 2e5, 0.3)};
    region.material.fibre_stiffness = 3e5;
    region.material.fibre_direction[1] = 1;
    hk_selector wall = select_box(-1, -1, -1, 0.01, 2, 2);
    def.fixes = &wall;
    def.fix_count = 1;
    if (mixed) {
        def.regions = &region;
        def.region_count = 1;
    }
    b.model = model_of(&def, box_mesh(1, 1, 1, 5, 5, 5), 0);
    hk_gpu_cut cut = {.patch_size = 32, .round_size = 256, .groups = 1};
    CHECK_OK(hk_gpu_layout_create(b.model, &cut, 2, &b.layout));
    CHECK_OK(hk_gpu_vertex_blocks_create(b.model, NULL, b.layout, viscous, 2, &b.vertex_blocks));
    CHECK_OK(hk_problem_create(b.model, 1, NULL, &b.problem));
    CHECK_OK(hk_problem_begin_pose(b.problem));
    hk_problem_set_load(b.problem, 0);
    int n = b.model->vertex_count;
    b.q = calloc((size_t)n, sizeof *b.q);
    b.target = calloc((size_t)n, sizeof *b.target);
    b.x = hk_calloc(4 * (size_t)n, sizeof(double));
    b.gradient = hk_calloc(4 * (size_t)n, sizeof(double));
    assert_true(b.q && b.target && b.x && b.gradient);
    uint64_t seed = 1;
    for (int k = 0; k < n; k++) {
        int vertex = b.model->order[b.layout->place[k]];
        bool held = b.model->hold[vertex] != HK_FREE;
        const double *rest = b.model->rest + 3 * (int64_t)vertex;
        for (int i = 0; i < 3; i++) {
            double away = held ? 0 : amount * noise(&seed);
            b.q[k][i] = (float)(rest[i] + away);
            b.target[k][i] = (float)(rest[i] + (i == 1 && !held ? -0.05 * rest[0] : 0));
        }
        b.target[k][3] = held ? 0 : (float)(b.model->mass[vertex] * 900);
    }
    return b;
}

static body make_body(const char *material, bool mixed, double amount)
{
    return make_viscous_body(material, mixed, false, amount);
}

static void free_body(body *b)
{
    hk_problem_free(b->problem);
    hk_gpu_vertex_blocks_free(b->vertex_blocks);
    hk_gpu_layout_free(b->layout);
    hk_model_free(b->model);
    free(b->q);
    free(b->target);
    hk_free(b->x);
    hk_free(b->gradient);
}

// ---------------------------------------------------------------- the work of a kernel

typedef struct item {
    mat3 shape;
    int32_t other[3];
} item;

static item item_of(const hk_gpu_vertex_blocks *s, int64_t at)
{
    item e;
    float B[9];
    hk_gpu_vertex_item(s, at, B, e.other);
    memcpy(&e.shape, B, sizeof e.shape);
    return e;
}

static mat3 gradient_of(const body *b, const item *e, const float *own)
{
    mat3 edges;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++) edges.m[i][c] = b->q[e->other[c]][i] - own[i];
    return m3_mul(edges, e->shape);
}

static void push_vertex(hk_law law, const hk_law_params *p, const float *element, mat3 F, vec3 a,
                        vec3 *force, mat3 *block)
{
#define CASE(X) \
    case HK_LAW_##X: X##_vertex(p, element, m3_displacement(F), a, force, block); break;
    switch (law) {
        HK_LAWS(CASE)
    case HK_LAW_COUNT: fail();
    }
#undef CASE
}

// Gradient and block of the elements at vertex k of the blocks.
static void vertex_sums_of(const body *b, int k, vec3 *g, mat3 *H)
{
    const hk_gpu_vertex_blocks *s = b->vertex_blocks;
    const float *own = b->q[s->colours.item[k]];
    *g = v3_set(0, 0, 0);
    *H = m3_zero();
    for (int at = s->start[k]; at < s->start[k + 1]; at++) {
        item e = item_of(s, at);
        const hk_law_part *batch = &b->layout->batches[s->batch ? s->batch[at] : 0];
        float none[4] = {0}, volume = 1 / fabsf(6 * m3_det(e.shape));
        vec3 a, force;
        mat3 block;
        for (int j = 0; j < 3; j++) a.v[j] = -(e.shape.m[0][j] + e.shape.m[1][j] + e.shape.m[2][j]);
        push_vertex(batch->law, &batch->params, s->element ? s->element + 4 * (int64_t)at : none,
                    gradient_of(b, &e, own), a, &force, &block);
        *g = v3_add(*g, v3_scale(force, volume));
        *H = m3_add_scaled(*H, volume, block);
    }
}

static void sweep(body *b)
{
    for (int k = 0; k < b->vertex_blocks->count; k++) {
        int v = b->vertex_blocks->colours.item[k];
        float *q = b->q[v], *target = b->target[v];
        vec3 g;
        mat3 H;
        vertex_sums_of(b, k, &g, &H);
        for (int i = 0; i < 3; i++) {
            g.v[i] += target[3] * (q[i] - target[i]);
            H.m[i][i] += target[3];
        }
        vec3 step = solve3_downhill(H, g);
        for (int i = 0; i < 3; i++) q[i] += step.v[i];
    }
}

// The sums of a check at q, in double precision.
static void check(body *b, double *sums)
{
    for (int k = 0; k < HK_SUM_WIDTH; k++) sums[k] = 0;
    for (int k = 0; k < b->model->vertex_count; k++)
        for (int i = 0; i < 3; i++) b->x[4 * b->layout->place[k] + i] = (double)b->q[k][i];
    sums[HK_SUM_ELASTIC] = hk_terms_part(b->problem->terms, b->x, HK_PART_ELASTIC);
    hk_problem_gradient(b->problem, b->x, b->gradient, NULL, NULL);
    for (int k = 0; k < b->model->vertex_count; k++)
        for (int i = 0; i < 3; i++) {
            double g = b->gradient[4 * b->layout->place[k] + i], w = (double)b->target[k][3];
            double away = (double)b->q[k][i] - (double)b->target[k][i];
            sums[HK_SUM_ELASTIC_FORCE] += g * g;
            if (w == 0) continue;
            sums[HK_SUM_QUADRATIC] += 0.5 * w * away * away;
            sums[HK_SUM_RESIDUAL] += (g + w * away) * (g + w * away);
        }
}

// ---------------------------------------------------------------- the blocks

static void test_colours(void **state)
{
    (void)state;
    body b = make_body("neo_hookean", true, 0);
    const hk_colouring *c = &b.vertex_blocks->colours;
    const hk_model *m = b.model;
    int n = m->vertex_count, *colour = malloc((size_t)n * sizeof *colour);
    for (int v = 0; v < n; v++) colour[v] = -1;
    for (int k = 0; k < c->colour_count; k++)
        for (int i = c->start[k]; i < c->start[k + 1]; i++) {
            assert_int_equal(colour[c->item[i]], -1);
            colour[c->item[i]] = k;
        }
    for (int v = 0; v < n; v++)
        assert_true((colour[v] >= 0) == (m->hold[m->order[b.layout->place[v]]] == HK_FREE));
    for (int k = 0; k < b.vertex_blocks->count; k++)
        for (int at = b.vertex_blocks->start[k]; at < b.vertex_blocks->start[k + 1]; at++) {
            item e = item_of(b.vertex_blocks, at);
            for (int i = 0; i < 3; i++) assert_true(colour[e.other[i]] != colour[c->item[k]]);
        }
    free(colour);
    free_body(&b);
}

// The items of a vertex: one for every part of every tet around it.
static int items_at(const hk_model *m, int vertex)
{
    int count = 0;
    for (int64_t i = 0; i < 4 * (int64_t)m->tet_count; i++)
        if (m->tets[i] == vertex)
            count += m->materials[m->tet_material[i / 4]].strand_modulus > 0 ? 2 : 1;
    return count;
}

static void check_item(const body *b, int v, int64_t at)
{
    const hk_gpu_vertex_blocks *s = b->vertex_blocks;
    const hk_model *m = b->model;
    const int32_t *corner = m->tets + 4 * (int64_t)s->tet[at];
    item e = item_of(s, at);
    int found = 0;
    for (int c = 0; c < 4; c++) {
        found += m->order[b->layout->place[v]] == corner[c];
        for (int i = 0; i < 3; i++) found += m->order[b->layout->place[e.other[i]]] == corner[c];
    }
    assert_int_equal(found, 4);
    mat3 F = gradient_of(b, &e, b->q[v]), product = m3_mult(F, F);  // at rest: the identity
    assert_float_equal(m3_det(F), 1, 1e-5);
    for (int i = 0; i < 9; i++) assert_float_equal(product.m[i / 3][i % 3], (i % 4 == 0), 1e-5);
    double volume = m->volume[s->tet[at]];
    assert_float_equal(1 / fabsf(6 * m3_det(e.shape)), volume, 1e-5 * volume);
    const hk_law_part *batch = &b->layout->batches[s->batch[at]];
    const float *d = s->element + 4 * at;
    assert_float_equal(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], batch->law == HK_LAW_fibre, 1e-6);
    if (batch->law != HK_LAW_fibre) return;
    vec3 along = m3_apply(F, (vec3){{d[0], d[1], d[2]}});
    const double *strands = hk_part_direction(m, s->tet[at], HK_FIBRE_PART);
    for (int i = 0; i < 3; i++) assert_float_equal(along.v[i], strands[i], 1e-5);
}

static void test_items(void **state)
{
    (void)state;
    body b = make_body("neo_hookean", true, 0);
    const hk_gpu_vertex_blocks *s = b.vertex_blocks;
    assert_true(s->batch && s->element);
    for (int k = 0; k < s->count; k++) {
        int v = s->colours.item[k];
        assert_int_equal(s->start[k + 1] - s->start[k],
                         items_at(b.model, b.model->order[b.layout->place[v]]));
        for (int at = s->start[k]; at < s->start[k + 1]; at++) {
            check_item(&b, v, at);
            assert_true(at == s->start[k] || s->tet[at] > s->tet[at - 1] ||
                        s->batch[at] > s->batch[at - 1]);
        }
        assert_true(s->noise[k] > 0);
    }
    free_body(&b);
}

// One material needs neither the numbers of batches nor directions.
static void test_one_material(void **state)
{
    (void)state;
    body b = make_body("neo_hookean", false, 0);
    assert_null(b.vertex_blocks->batch);
    assert_null(b.vertex_blocks->element);
    assert_null(b.vertex_blocks->twin);
    assert_null(b.vertex_blocks->near_start);
    free_body(&b);
}

static void test_memory(void **state)
{
    (void)state;
    body b = make_body("stvk", true, 0);
    int n = 1;
    for (;; n++) {
        failing_alloc_install(n);
        hk_gpu_vertex_blocks *blocks = NULL;
        hk_status status = hk_gpu_vertex_blocks_create(b.model, NULL, b.layout, true, 1, &blocks);
        bool reached = failing_alloc_count() >= n;
        if (status == HK_OK) hk_gpu_vertex_blocks_free(blocks);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) break;
        assert_int_equal(status, HK_NO_MEMORY);
        assert_null(blocks);
    }
    assert_true(n > 10);
    free_body(&b);
}

// Where elements convert, every item knows one of the layout with its share.
static void test_twins(void **state)
{
    (void)state;
    for (int mixed = 0; mixed < 2; mixed++) {
        body b = make_body("stvk", mixed, 0);
        const hk_gpu_vertex_blocks *s = b.vertex_blocks;
        const hk_gpu_layout *l = b.layout;
        int items = l->item_start[l->patch_count], *batch = malloc((size_t)items * sizeof *batch);
        for (int p = 0; p < l->patch_count; p++)
            for (int r = l->round_start[p]; r < l->round_start[p + 1]; r++)
                for (int k = l->rounds[r].first; k < l->rounds[r].last; k++)
                    batch[l->item_start[p] + k] = l->rounds[r].batch;
        assert_true(l->blends && s->twin);
        for (int at = 0; at < s->start[s->count]; at++) {
            assert_in_range(s->twin[at], 0, items - 1);
            assert_int_equal(l->item_tet[s->twin[at]], s->tet[at]);
            assert_int_equal(batch[s->twin[at]], s->batch ? s->batch[at] : 0);
        }
        free(batch);
        free_body(&b);
    }
}

static void test_forces(void **state)
{
    (void)state;
    static const char *const materials[] = {"neo_hookean", "corotated", "spline", "fung"};
    for (int n = 0; n < 4; n++) {
        body b = make_body(materials[n], true, 0.03);
        double sums[HK_SUM_WIDTH], difference = 0, size = 0;
        check(&b, sums);
        for (int k = 0; k < b.vertex_blocks->count; k++) {
            const double *exact =
                b.gradient + 4 * b.layout->place[b.vertex_blocks->colours.item[k]];
            vec3 g;
            mat3 H;
            vertex_sums_of(&b, k, &g, &H);
            for (int i = 0; i < 3; i++) {
                difference += ((double)g.v[i] - exact[i]) * ((double)g.v[i] - exact[i]);
                size += exact[i] * exact[i];
            }
        }
        assert_true(difference <= 1e-11 * size);
        free_body(&b);
    }
}

// Shape gradients are those of the model.
static void test_shapes(void **state)
{
    (void)state;
    body b = make_body("stvk", true, 0);
    const hk_gpu_vertex_blocks *s = b.vertex_blocks;
    const hk_model *m = b.model;
    for (int k = 0; k < s->count; k++)
        for (int64_t at = s->start[k]; at < s->start[k + 1]; at++) {
            item e = item_of(s, at);
            int32_t vertex[4] = {s->colours.item[k], e.other[0], e.other[1], e.other[2]};
            const int32_t *tet = m->tets + 4 * (int64_t)s->tet[at];
            double a[12];  // of the tet's corners
            hk_rest_inverse(m, s->tet[at], a + 3);
            for (int j = 0; j < 3; j++) a[j] = -(a[3 + j] + a[6 + j] + a[9 + j]);
            for (int c = 0; c < 4; c++) {
                float shape[3];
                int corner = 0;
                while (tet[corner] != m->order[b.layout->place[vertex[c]]]) corner++;
                vertex_shape(&e.shape.m[0][0], c, shape);
                for (int j = 0; j < 3; j++)
                    assert_true(fabs((double)shape[j] - a[3 * corner + j]) < 5e-5);
            }
        }
    free_body(&b);
}

// A body that is mirrored, and no more, is pulled back by one rotation, which all corners of all
// elements see alike.
static void test_mirrored(void **state)
{
    (void)state;
    body b = make_body("stvk", true, 0);
    const hk_gpu_vertex_blocks *s = b.vertex_blocks;
    hk_blend_law conversion = {.upper = 0.15f, .lower = 0.05f, .decay = 0.05f, .stiffness = 1};
    for (int v = 0; v < b.model->vertex_count; v++) b.q[v][2] = 7.3f - b.q[v][2];
    for (int k = 0; k < s->count; k++)
        for (int64_t at = s->start[k]; at < s->start[k + 1]; at++) {
            item e = item_of(s, at);
            mat3 F = gradient_of(&b, &e, b.q[s->colours.item[k]]), block = m3_zero();
            vec3 a, force = v3_set(0, 0, 0);
            vertex_shape(&e.shape.m[0][0], 0, a.v);
            assert_float_equal(m3_det(F), -1, 1e-4);
            blend_vertex(&conversion, 1, &F, &a, &force, &block);
            // 2 (F − R) a with R = 1
            for (int i = 0; i < 3; i++)
                assert_float_equal(force.v[i], i == 2 ? -4 * a.v[2] : 0, 1e-3 * v3_norm(a));
        }
    free_body(&b);
}

// ---------------------------------------------------------------- viscous damping

static void blocks_of(hk_law law, const hk_law_params *p, const float *element, mat3 F,
                      mat3 blocks[6])
{
    mat3 axes = m3_identity();
#define CASE(X)                                               \
    case HK_LAW_##X: {                                        \
        X##_stiffness s = X##_stiffness_of(p, element, F, 0); \
        X##_inner(&s, &axes, blocks);                         \
        break;                                                \
    }
    switch (law) {
        HK_LAWS(CASE)
    case HK_LAW_COUNT: fail();
    }
#undef CASE
}

// ∂P/∂F of the layout's items at q as the kernel of law.cu leaves them: [54][item_count].
static float *planes_of(const body *b)
{
    const hk_gpu_layout *l = b->layout;
    const hk_model *m = b->model;
    int items = l->item_start[l->patch_count];
    float *planes = calloc(54 * (size_t)items, sizeof *planes), none[4] = {0};
    int *number = malloc((size_t)m->vertex_count * sizeof *number);
    assert_true(planes && number);
    for (int v = 0; v < m->vertex_count; v++) number[m->order[l->place[v]]] = v;
    for (int p = 0; p < l->patch_count; p++)
        for (int r = l->round_start[p]; r < l->round_start[p + 1]; r++)
            for (int k = l->rounds[r].first; k < l->rounds[r].last; k++) {
                int64_t at = l->item_start[p] + k;
                const hk_law_part *batch = &l->batches[l->rounds[r].batch];
                const int32_t *tet = m->tets + 4 * (int64_t)l->item_tet[at];
                double inverse[9];
                mat3 F = m3_zero(), blocks[6];
                hk_rest_inverse(m, l->item_tet[at], inverse);
                for (int c = 0; c < 3; c++)
                    for (int i = 0; i < 9; i++)
                        F.m[i / 3][i % 3] +=
                            (b->q[number[tet[c + 1]]][i / 3] - b->q[number[tet[0]]][i / 3]) *
                            (float)inverse[3 * c + i % 3];
                blocks_of(batch->law, &batch->params, l->element ? l->element + 4 * at : none, F,
                          blocks);
                for (int n = 0; n < 54; n++)
                    planes[(int64_t)n * items + at] = blocks[n / 9].m[n % 9 / 3][n % 3];
            }
    free(number);
    return planes;
}

// r K of a vertex and its neighbour, as the kernel of vbd.cu adds it up.
static void drag_block(const body *b, const float *planes, int n, float rate, float K[9])
{
    const hk_gpu_vertex_blocks *s = b->vertex_blocks;
    int items = b->layout->item_start[b->layout->patch_count];
    memset(K, 0, 9 * sizeof *K);
    for (int p = s->pair_start[n]; p < s->pair_start[n + 1]; p++) {
        int64_t at = s->pair[p] / 4;
        item e = item_of(s, at);
        const float *B = &e.shape.m[0][0];
        float own[3], other[3];
        vertex_shape(B, 0, own);
        vertex_shape(B, s->pair[p] % 4, other);
        for (int j = 0; j < 3; j++) own[j] *= rate * vertex_volume(B);
        for (int j = 0, q = 0; j < 3; j++)
            for (int l = j; l < 3; l++, q++) {
                float block[9];
                for (int k = 0; k < 9; k++)
                    block[k] = planes[(int64_t)(9 * q + k) * items + s->twin[at]];
                vertex_add_block(j, l, block, own, other, K);
            }
    }
}

// Gradient, block and change of energy of every vertex against the matrix of the CPU.
static void check_drag(body *b, const float *planes, float (*origin)[4])
{
    const hk_gpu_vertex_blocks *s = b->vertex_blocks;
    const float rate = 2;
    double difference = 0, size = 0;
    for (int k = 0; k < b->model->vertex_count; k++)
        for (int i = 0; i < 3; i++) b->x[4 * b->layout->place[k] + i] = (double)origin[k][i];
    begin_step(b->problem, (hk_damping){.viscous = (double)rate}, 1, b->x);
    hk_term *exact = viscosity_of(b->problem);
    for (int k = 0; k < b->model->vertex_count; k++)
        for (int i = 0; i < 3; i++) b->x[4 * b->layout->place[k] + i] = (double)b->q[k][i];
    memset(b->gradient, 0, 4 * (size_t)b->model->vertex_count * sizeof(double));
    hk_viscosity_term.add_gradient(exact, b->x, b->gradient, NULL);
    for (int k = 0; k < s->count; k++) {
        int v = s->colours.item[k];
        float sums[9] = {0}, step[3] = {0.01f, -0.02f, 0.03f};
        for (int n = s->near_start[k]; n < s->near_start[k + 1]; n++) {
            int u = s->near[n];
            float K[9], farther[3];
            for (int i = 0; i < 3; i++)
                farther[i] = b->q[u][i] - origin[u][i] - (b->q[v][i] - origin[v][i]);
            drag_block(b, planes, n, rate, K);
            vertex_drag(K, farther, sums);
        }
        int64_t place = b->layout->place[v];
        for (int i = 0; i < 3; i++) {
            double away = (double)sums[i] - b->gradient[4 * place + i];
            difference += away * away;
            size += b->gradient[4 * place + i] * b->gradient[4 * place + i];
        }
        if (k % 16 > 0) continue;
        double before = hk_viscosity_term.energy(exact, b->x);
        for (int i = 0; i < 3; i++) b->x[4 * place + i] += (double)step[i];
        double change = hk_viscosity_term.energy(exact, b->x) - before;
        for (int i = 0; i < 3; i++) b->x[4 * place + i] -= (double)step[i];
        assert_true(fabs((double)vertex_change(sums, step) - change) < 1e-4 * fabs(change));
    }
    assert_true(size > 0 && difference <= 1e-10 * size);
}

static void test_viscosity(void **state)
{
    (void)state;
    static const char *const materials[] = {"neo_hookean", "corotated", "spline"};
    for (int n = 0; n < 3; n++) {
        body b = make_viscous_body(materials[n], n < 2, true, 0.02);
        float *planes = planes_of(&b);
        int count = b.model->vertex_count;
        float(*origin)[4] = malloc((size_t)count * sizeof *origin);
        memcpy(origin, b.q, (size_t)count * sizeof *origin);
        uint64_t seed = 7;
        for (int v = 0; v < count; v++)
            for (int i = 0; i < 3; i++) b.q[v][i] += (float)(0.02 * noise(&seed));
        check_drag(&b, planes, origin);
        free(planes);
        free(origin);
        free_body(&b);
    }
}

// ---------------------------------------------------------------- sweeps

static hk_gpu_settings usual(void)
{
    return (hk_gpu_settings){.rules = {.check = 4, .tolerance = 1e-4, .slowest = 0.1},
                             .noise = 1e-6};
}

// As the kernels of vbd.cu go about it, for a number of sweeps at most. How many it took, or −1.
static int descend(body *b, int acceleration, int most)
{
    hk_gpu_settings s = usual();
    hk_vbd_rules r = {.acceleration = acceleration,
                      .check = 4,
                      .rho = 0.95,
                      .slowest = vbd_slowest(s.rules.slowest)};
    hk_gpu_control chosen = {.state = HK_GPU_GOING};
    hk_gpu_vbd_control c = {0};
    int n = b->model->vertex_count;
    size_t bytes = (size_t)n * sizeof *b->q;
    float(*good)[4] = malloc(bytes), (*last)[4] = malloc(bytes), (*before)[4] = malloc(bytes);
    double sums[HK_SUM_WIDTH], least = INFINITY;
    vbd_control_begin(&c, &chosen);
    check(b, sums);
    control_start(&s, &c.shared, sums);
    memcpy(good, b->q, bytes);
    memcpy(last, b->q, bytes);
    memcpy(before, b->q, bytes);
    int since = 0;
    for (int k = 1; k <= most && c.shared.state == HK_GPU_GOING; k++) {
        sweep(b);
        float w = (float)vbd_control_weight(&r, &c, since++);
        for (int v = 0; v < n && !c.vbd.quiet && acceleration != HK_ACCELERATION_NONE; v++)
            for (int i = 0; i < 3; i++) {
                bool nesterov = acceleration == HK_ACCELERATION_NESTEROV;
                float q = b->q[v][i], from = nesterov ? q : last[v][i];
                b->q[v][i] = from + w * (q - last[v][i]);
                last[v][i] = nesterov ? q : before[v][i];
                before[v][i] = b->q[v][i];
            }
        if (since < r.check) continue;
        check(b, sums);
        int decision = vbd_control_check(&s, &r, &c, sums, since);
        since = 0;
        if (decision & HK_VBD_UNDO) memcpy(b->q, good, bytes);
        if (decision & HK_VBD_KEEP) memcpy(good, b->q, bytes);
        if (decision & HK_VBD_RESTART) {
            memcpy(last, b->q, bytes);
            memcpy(before, b->q, bytes);
        }
        assert_true(c.shared.energy <= least * (1 + 1e-6));
        least = c.shared.energy;
    }
    free(good);
    free(last);
    free(before);
    return c.shared.state == HK_GPU_CONVERGED ? c.shared.iterations : -1;
}

static void test_sweeps(void **state)
{
    (void)state;
    int sweeps[3];
    for (int kind = 0; kind < 3; kind++) {
        body b = make_body("neo_hookean", true, 0.02);
        sweeps[kind] = descend(&b, kind, 400);
        assert_in_range(sweeps[kind], 1, 400);
        free_body(&b);
    }
    assert_true(sweeps[HK_ACCELERATION_NESTEROV] < sweeps[HK_ACCELERATION_NONE]);
    assert_true(sweeps[HK_ACCELERATION_CHEBYSHEV] < sweeps[HK_ACCELERATION_NONE]);
}

// ---------------------------------------------------------------- decisions

static int decide(hk_gpu_vbd_control *c, int steps, double energy, double residual)
{
    hk_gpu_settings s = usual();
    hk_vbd_rules r = {.acceleration = HK_ACCELERATION_NESTEROV, .check = 4, .steps = steps};
    double sums[HK_SUM_WIDTH] = {0};
    sums[HK_SUM_QUADRATIC] = energy;
    sums[HK_SUM_RESIDUAL] = residual * residual;
    return vbd_control_check(&s, &r, c, sums, 4);
}

static hk_gpu_vbd_control begun(void)
{
    hk_gpu_control chosen = {
        .state = HK_GPU_GOING, .energy = 10, .residual = 5, .scale = 10, .external = 100};
    hk_gpu_vbd_control c = {0};
    vbd_control_begin(&c, &chosen);
    return c;
}

static void test_keeping(void **state)
{
    (void)state;
    hk_gpu_vbd_control c = begun();
    assert_int_equal(decide(&c, HK_VBD_AUTO, 9, 4), HK_VBD_KEEP);
    assert_int_equal(c.shared.iterations, 4);
    assert_int_equal(c.vbd.since_restart, 4);
    assert_float_equal(c.shared.energy, 9, 0);
    // Where the momentum went too far it begins anew, with the careful question still open.
    assert_int_equal(decide(&c, HK_VBD_AUTO, 9.5, 4), HK_VBD_UNDO | HK_VBD_RESTART);
    assert_int_equal(c.vbd.since_restart, 0);
    assert_false(c.vbd.careful || c.vbd.quiet);
    assert_float_equal(c.shared.energy, 9, 0);
    assert_int_equal(decide(&c, HK_VBD_AUTO, 9, 7), HK_VBD_KEEP | HK_VBD_RESTART);
    assert_int_equal(decide(&c, HK_VBD_AUTO, 8, 1e-3), HK_VBD_KEEP);
    assert_int_equal(c.shared.state, HK_GPU_CONVERGED);
    assert_int_equal(c.shared.iterations, 16);
}

static void test_taking_care(void **state)
{
    (void)state;
    hk_vbd_rules r = {.acceleration = HK_ACCELERATION_NESTEROV};
    hk_gpu_vbd_control c = begun();
    // The first sweeps fail: vertices take care, without momentum until the next check.
    assert_int_equal(decide(&c, HK_VBD_AUTO, NAN, 4), HK_VBD_UNDO | HK_VBD_RESTART);
    assert_true(c.vbd.careful && c.vbd.quiet && vbd_is_careful(&r, &c.vbd));
    assert_int_equal(decide(&c, HK_VBD_AUTO, 9, 4), HK_VBD_KEEP | HK_VBD_RESTART);
    assert_true(c.vbd.careful && !c.vbd.quiet);
    for (int k = 1; k < HK_VBD_PATIENCE; k++) {
        assert_true(c.vbd.careful);
        assert_true(decide(&c, HK_VBD_AUTO, 9 - k, 4) & HK_VBD_KEEP);
    }
    assert_false(c.vbd.careful);
    // Careful ones that fail end the solve.
    c = begun();
    decide(&c, HK_VBD_AUTO, 11, 4);
    assert_int_equal(c.shared.state, HK_GPU_GOING);
    decide(&c, HK_VBD_AUTO, 11, 4);
    assert_int_equal(c.shared.state, HK_GPU_STALLED);
    // Full ones are never careful.
    r.steps = HK_VBD_FULL;
    assert_false(vbd_is_careful(&r, &c.vbd));
    r.steps = HK_VBD_CAREFUL;
    c = begun();
    assert_true(vbd_is_careful(&r, &c.vbd));
}

// A check of `descent` says by the number of the good state what becomes of the sweep.
static void test_converting(void **state)
{
    (void)state;
    hk_gpu_settings s = usual();
    hk_vbd_rules r = {.acceleration = HK_ACCELERATION_NESTEROV};
    hk_gpu_vbd_control c = begun();
    hk_gpu_control checked = c.shared;
    c.blended = 1;
    checked.good = 1 - checked.good;
    checked.energy = 8;
    checked.from_good = 1;
    vbd_control_advance(&r, &c, 1);
    assert_int_equal(vbd_control_take(&s, &r, &c, &checked), HK_VBD_KEEP);
    assert_int_equal(c.shared.iterations, 1);
    assert_int_equal(c.shared.from_good, 0);
    assert_false(c.undone);
    assert_float_equal(c.shared.energy, 8, 0);
    // Sweeps that fail again and again become shorter, until nothing is left of them.
    int checks = 0;
    for (; c.shared.state == HK_GPU_GOING && checks < 100; checks++) {
        checked = c.shared;
        vbd_control_advance(&r, &c, 1);
        assert_int_equal(vbd_control_take(&s, &r, &c, &checked), HK_VBD_UNDO | HK_VBD_RESTART);
        assert_true(c.undone);
    }
    assert_int_equal(c.shared.state, HK_GPU_STALLED);
    assert_int_equal(checks, 1 + 1 + 14);  // momentum, care, 2^-14 < 1e-4
    c = begun();
    c.vbd.length = 0.1;
    checked = c.shared;
    checked.good = 1 - checked.good;
    vbd_control_take(&s, &r, &c, &checked);
    assert_float_equal(c.vbd.length, 0.2, 1e-6);
}

// ω goes on from check to check as if there were none.
static void test_chebyshev(void **state)
{
    (void)state;
    hk_gpu_settings s = usual();
    hk_vbd_rules r = {
        .acceleration = HK_ACCELERATION_CHEBYSHEV, .rho = 0.8, .slowest = vbd_slowest(0.1)};
    hk_gpu_vbd_control c = begun();
    double sums[HK_SUM_WIDTH] = {0}, omega = 1, rho = fmin(0.8, 0.81);
    sums[HK_SUM_RESIDUAL] = 16;
    for (int k = 0; k < 9; k++) {
        omega = k == 0 ? 1 : k == 1 ? 2 / (2 - rho * rho) : 4 / (4 - rho * rho * omega);
        assert_float_equal(vbd_control_weight(&r, &c, k % 3), omega, 1e-12);
        sums[HK_SUM_QUADRATIC] = 9 - k;
        if (k % 3 == 2) assert_int_equal(vbd_control_check(&s, &r, &c, sums, 3), HK_VBD_KEEP);
    }
    vbd_control_undo(&s, &r, &c);
    assert_float_equal(vbd_control_weight(&r, &c, 0), 1, 0);
    assert_float_equal(rule_cautious(r.rho, c.vbd.caution), 0.6, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours),      cmocka_unit_test(test_items),
        cmocka_unit_test(test_one_material), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_forces),       cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_mirrored),     cmocka_unit_test(test_viscosity),
        cmocka_unit_test(test_sweeps),       cmocka_unit_test(test_keeping),
        cmocka_unit_test(test_taking_care),  cmocka_unit_test(test_chebyshev),
        cmocka_unit_test(test_twins),        cmocka_unit_test(test_converting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
