// Lists that do not fit grow, nothing is dropped: a world whose buffers are taken away before every
// step has the same bits as one that keeps them.
#include "contact/contacts.h"
#include "contact/touches.h"
#include "term/contact.h"
#include "world/world.h"

#include "contact_bodies.h"

static hk_world *make_world(const contact_run *run)
{
    hk_mesh *mesh = box_mesh(0.2, 0.1, 0.2, 4, 2, 4);
    hk_body_def bodies[3];
    for (int k = 0; k < 3; k++) {
        bodies[k] = hk_default_body_def();
        bodies[k].mesh = mesh;
        bodies[k].material = material_of("neo_hookean", 1e5, 0.3);
        bodies[k].velocity[1] = -0.5;
        bodies[k].transform.translate[0] = 0.013 * k;
        bodies[k].transform.translate[1] = 0.002 + 0.103 * k;
        bodies[k].transform.translate[2] = 0.017 * k;
    }
    hk_obstacle_def floor = hk_default_obstacle_def();
    hk_contact_def contact = hk_default_contact_def();
    contact.distance = 2e-3;
    contact.friction = 0.3;
    hk_model_def def = hk_default_model_def();
    def.contact = &contact;
    def.bodies = bodies;
    def.body_count = 3;
    def.obstacles = &floor;
    def.obstacle_count = 1;
    hk_world *world = contact_world(&def, run);
    hk_mesh_free(mesh);
    return world;
}

#define TAKE(array, capacity) (hk_free(array), (array) = NULL, (capacity) = 0)

static void take_buffers(hk_contacts *c)
{
    hk_touches *t = c->touches;
    c->count = c->slide_count = c->swept_count = 0;
    TAKE(c->list, c->capacity);
    TAKE(c->uses.use, c->uses.capacity);
    TAKE(c->force, c->force_capacity);
    TAKE(c->partial, c->partial_capacity);
    TAKE(c->swept, c->swept_capacity);
    TAKE(c->slides, c->slide_capacity);
    TAKE(c->slide_uses.use, c->slide_uses.capacity);
    hk_pairs_free(&c->triangle_pairs);
    hk_pairs_free(&c->edge_pairs);
    t->near_count = 0;
    TAKE(t->gap, t->gap_capacity);
    TAKE(t->touch, t->touch_capacity);
    TAKE(t->near, t->near_capacity);
    TAKE(t->uses.use, t->uses.capacity);
}

static void test_growth(void **state)
{
    (void)state;
    static const char *const methods[] = {"newton", "descent", "vbd", "xpbd"};
    for (int k = 0; k < 4; k++) {
        contact_run run = {.method = methods[k], .step = 0.005, .iterations = k ? 20 : 10};
        hk_world *worlds[2] = {make_world(&run), make_world(&run)};
        size_t bytes =
            3 * sizeof(double) * (size_t)hk_model_vertex_count(hk_world_model(worlds[0]));
        for (int n = 0; n < 4; n++) {
            for (int w = 0; w < 2; w++) {
                hk_contacts *c = hk_terms_contacts(worlds[w]->problem->terms);
                c->reach = -1;  // both detect at the same times
                c->touches->version = -1;
                if (w == 1) take_buffers(c);
                march_apart(worlds[w], methods[k], 1);
                assert_true(c->capacity > 0 && c->count > 0 && c->count <= c->capacity);
            }
            assert_memory_equal(hk_world_positions(worlds[0]), hk_world_positions(worlds[1]),
                                bytes);
        }
        for (int w = 0; w < 2; w++) hk_world_free(worlds[w]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_growth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
