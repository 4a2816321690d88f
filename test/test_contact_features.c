// Closest points of several contacts at once (contact/feature_lanes.h), held to those of one
// (contact/quick.h), for every instruction set that this machine has.
#include "contact/feature_lanes.h"
#include "contact/quick.h"
#include "term/lanes.h"

#include "bodies.h"

enum { BLOCKS = 4000, POINTS = 4 * HK_FEATURE_LANES };

static uint64_t g_seed = 1;

static double random_number(void)
{
    g_seed = g_seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(g_seed >> 11) / (double)(1ull << 52) - 1;
}

// Pairs that lie upon each other like those of two surfaces: sides of 1, gaps of 0.01 to 0.2, some
// of them flat, or with edges that are nearly parallel.
static void make_block(hk_pair_kind kind, hk_feature_block *b, double *x, double *away)
{
    *b = (hk_feature_block){.kind = kind, .count = 1 + (int)(4 + 4 * random_number()) % 8};
    for (int l = 0; l < HK_FEATURE_LANES; l++) {
        int firsts = kind == HK_EDGE_EDGE ? 2 : 1;
        double gap = 0.1 + 0.09 * random_number(), flat = random_number() > 0.8 ? 1e-5 : 1;
        for (int v = 0; v < 4; v++) {
            double *to = x + 4 * (4 * l + v);
            b->point[v][l] = 4 * l + v;
            to[0] = random_number() + 10;
            to[1] = flat * random_number();
            to[2] = 0.05 * random_number() + (v < firsts ? gap : 0);
            for (int i = 0; i < 3; i++) away[4 * (4 * l + v) + i] = 0.01 * random_number();
        }
        b->reach[l] = b->width[l] = 0.15;
        b->stiffness[l] = 3 + random_number();
        b->parallel[l] = kind == HK_EDGE_EDGE ? 1e-3 : 0;
    }
}

static hk_pair pair_of(const hk_feature_block *b, int l)
{
    hk_pair p = {.kind = b->kind,
                 .law = HK_CONTACT_TWO_STAGE,
                 .stiffness = b->stiffness[l],
                 .width = b->reach[l],
                 .parallel = b->parallel[l]};
    for (int k = 0; k < 6; k++) p.common[k] = 0.5;
    return p;
}

// What is said to be far is.
static void check_far(const hk_feature_block *b, int l, const double *x)
{
    double corner[4][3], c[4], w[3];
    for (int v = 0; v < 4; v++) memcpy(corner[v], x + 4 * b->point[v][l], sizeof corner[v]);
    quick_closest(b->kind, (const double(*)[3])corner, c, w);
    assert_true(sqrt(closest_dot(w, w)) > b->reach[l] * (1 - 1e-12));
}

// Where the kernel takes a contact for a plain one, it is, and closest points are the same.
static void check_lane(const hk_feature_block *b, int l, const double *x, const double *away,
                       const hk_features *found)
{
    hk_pair p = pair_of(b, l);
    double corner[4][3], reduced = 0;
    quick_part whole = {.coefficient = 1};
    quick_parts parts;
    hk_pair_state at = {.mollified = false};
    for (int v = 0; v < 4; v++) memcpy(corner[v], x + 4 * b->point[v][l], sizeof corner[v]);
    quick_closest(b->kind, (const double(*)[3])corner, whole.c, whole.w);
    whole.distance = sqrt(closest_dot(whole.w, whole.w));
    assert_true(fabs(whole.distance - found->distance[l]) < 1e-12);
    reduced = whole.distance;
    for (int v = 0; v < 4; v++) {
        assert_true(fabs(whole.c[v] - found->c[v][l]) < 1e-9);
        for (int i = 0; i < 3; i++)
            reduced -= whole.c[v] * whole.w[i] / whole.distance * away[4 * b->point[v][l] + i];
    }
    for (int i = 0; i < 3; i++)
        assert_true(fabs(whole.w[i] / whole.distance - found->normal[i][l]) < 1e-9);
    assert_true(fabs(reduced - found->reduced[l]) < 1e-9);
    pair_mollify(&p, (const double(*)[3])corner, &at);
    assert_false(at.mollified);
    if (whole.distance < b->reach[l]) {
        quick_find_parts(&p, (const double(*)[3])corner, &whole, b->reach[l], &parts);
        assert_int_equal(parts.count, 1);
    }
}

static void test_features(void **state)
{
    (void)state;
    const hk_lane_table *tables[6];
    int count = hk_lanes_available(tables, 6), tested = 0;
    static double x[4 * POINTS] __attribute__((aligned(64)));
    static double away[4 * POINTS] __attribute__((aligned(64)));
    for (int t = 0; t < count; t++) {
        if (!tables[t]->feature) continue;
        int plain = 0, all = 0, far = 0;
        g_seed = 1;
        for (int n = 0; n < BLOCKS; n++) {
            hk_feature_block b;
            hk_features found;
            make_block(n % 2 ? HK_EDGE_EDGE : HK_VERTEX_TRIANGLE, &b, x, away);
            unsigned bits = tables[t]->feature->find(&b, x, away, &found);
            for (int l = 0; l < b.count; l++) {
                all++;
                if (found.far >> l & 1u) far++, check_far(&b, l, x);
                if (!(bits >> l & 1u)) continue;
                plain++;
                check_lane(&b, l, x, away, &found);
            }
        }
        // Random triangles are small and thin; of those that are near enough most are seen.
        assert_true(far > all / 20);
        if (!(plain > all / 20)) fail_msg("%s: %d of %d", tables[t]->name, plain, all);
        tested++;
    }
    assert_true(tested > 0);
}

// Planes are left to others.
static void test_planes(void **state)
{
    (void)state;
    hk_feature_block b = {.kind = HK_VERTEX_PLANE, .count = HK_FEATURE_LANES};
    hk_features found;
    double x[4] __attribute__((aligned(64))) = {0};
    const hk_feature_table *kernels = hk_lanes_best(HK_DOUBLE_PRECISION)->feature;
    assert_int_equal(kernels->find(&b, x, x, &found), 0);
}

// Energy, forces and stiffness of one contact and of the friction at its corners.
static void check_values(const hk_feature_block *b, int l, double keep, const double *x,
                         const hk_feature_forces *forces, const hk_feature_stiffness *stiffness)
{
    static const int symmetric[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    hk_pair p = pair_of(b, l);
    double corner[4][3], g[12], h[144];
    for (int v = 0; v < 4; v++) memcpy(corner[v], x + 3 * b->point[v][l], sizeof corner[v]);
    hk_pair_state at = pair_state(&p, (const double(*)[3])corner);
    pair_gradient(&p, &at, g);
    pair_hessian(&p, &at, keep, h);
    assert_true(fabs(forces->gap[l] - at.distance) < 1e-12);
    assert_true(fabs(forces->energy[l] - pair_energy(&p, &at)) < 1e-12);
    for (int i = 0; i < 12; i++) assert_true(fabs(forces->gradient[i][l] - g[i]) < 1e-9);
    for (int u = 0, pair = 0; u < 4; u++)
        for (int v = u; v < 4; v++, pair++)
            for (int i = 0; i < 9; i++) {
                double slide = stiffness->weight[u][l] * stiffness->weight[v][l] *
                               stiffness->slide[symmetric[i]][l];
                double entry = h[12 * (3 * u + i / 3) + 3 * v + i % 3] + slide;
                assert_true(fabs(stiffness->value[pair][i][l] - entry) < 1e-6 * (1 + fabs(entry)));
            }
}

static void test_values(void **state)
{
    (void)state;
    static const double keeps[3] = {1, 0, 0.4};
    const hk_lane_table *tables[6];
    int count = hk_lanes_available(tables, 6), tested = 0, pushing = 0;
    static double four[4 * POINTS], away[4 * POINTS], x[3 * POINTS + 1];
    for (int t = 0; t < count; t++) {
        const hk_feature_table *kernels = tables[t]->feature;
        if (!kernels) continue;
        g_seed = 2;
        for (int n = 0; n < BLOCKS; n++) {
            static hk_feature_stiffness stiffness;
            hk_feature_block b;
            hk_feature_forces forces;
            make_block(n % 2 ? HK_EDGE_EDGE : HK_VERTEX_TRIANGLE, &b, four, away);
            for (int p = 0; p < POINTS; p++) memcpy(x + 3 * p, four + 4 * p, 3 * sizeof(double));
            for (int k = 0; k < 4 * HK_FEATURE_LANES; k++)
                (&stiffness.weight[0][0])[k] = n % 3 ? random_number() : 0;
            for (int k = 0; k < 6 * HK_FEATURE_LANES; k++)
                (&stiffness.slide[0][0])[k] = random_number();
            unsigned bits = kernels->evaluate(&b, HK_CONTACT_TWO_STAGE, x, &forces);
            unsigned same = kernels->stiffen(&b, HK_CONTACT_TWO_STAGE, keeps[n % 3], x, &stiffness);
            assert_int_equal(bits, same);
            for (int l = 0; l < b.count; l++) {
                if (!(bits >> l & 1u)) continue;
                pushing += forces.energy[l] > 0;
                check_values(&b, l, keeps[n % 3], x, &forces, &stiffness);
            }
        }
        tested++;
    }
    assert_true(tested > 0 && pushing > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_features),
                                       cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_planes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
