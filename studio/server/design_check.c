// What a person wants to know before a part is made: whether the loaded shape stays, or is left at
// a touch, and whether the rest shape passes through itself. It takes a factorisation, so that a
// thread does it when nothing has been edited for a while.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "design.h"

enum { QUIET_MS = 250, POLL_MS = 20, NOTHING_MS = 1000, MOST_TETS = 120000 };

struct st_check {
    pthread_t thread;
    atomic_bool done;
    uint64_t version;
    hk_model *model;  // rest positions: the rest shape
    double *loaded;
    st_check_result result;
};

static void find_overlaps(const hk_world *world, st_check_result *result)
{
    hk_mesh *mesh = NULL;  // a new world is where it is at rest
    hk_intersection_report report;
    if (hk_world_mesh(world, &mesh) != HK_OK) return;
    if (hk_mesh_intersections(mesh, 1, &report) == HK_OK) {
        int count;
        const int32_t *triangles, *tets;
        result->overlaps = (int)(report.count - report.touching);
        result->knows_overlaps = true;
        if (report.listed > 0 && hk_mesh_surface(mesh, &count, &triangles, &tets) == HK_OK) {
            int32_t v = triangles[3 * (int64_t)report.first[0].triangles[0]];
            memcpy(result->place, hk_mesh_positions(mesh) + 3 * (int64_t)v, sizeof result->place);
        }
    }
    hk_mesh_free(mesh);
}

static void *look(void *context)
{
    st_check *check = context;
    hk_world *world = NULL;
    hk_analysis *analysis = NULL;
    hk_world_def def = hk_default_world_def();
    def.model = check->model;
    def.threads = 1;
    def.solver.method = "gradient_descent";  // nothing is solved
    if (hk_world_create(&def, &world) == HK_OK) {
        find_overlaps(world, &check->result);
        // Only factors tell; multigrid would not notice.
        check->result.knows_stability =
            hk_machine()->direct_solver[0] != '\0' &&
            hk_analysis_create(world, &analysis) == HK_OK &&
            hk_analysis_set_state(analysis, check->loaded, NAN) == HK_OK &&
            hk_analysis_factor(analysis, 0, NULL, &check->result.stable) == HK_OK;
    }
    hk_analysis_free(analysis);
    hk_world_free(world);
    atomic_store(&check->done, true);
    return NULL;
}

static void begin(st_design *d)
{
    size_t n = 3 * (size_t)hk_design_vertex_count(d->design);
    st_check *check = st_alloc(1, sizeof *check);
    check->version = d->view.version;
    check->loaded = st_alloc(n, sizeof *check->loaded);
    memcpy(check->loaded, d->shapes[HK_LOADED_SHAPE], sizeof(double) * n);
    if (hk_design_model(d->design, &check->model) == HK_OK &&
        pthread_create(&check->thread, NULL, look, check) == 0) {
        d->check = check;
        return;
    }
    hk_model_free(check->model);
    free(check->loaded);
    free(check);
}

void st_design_check_end(st_design *d)
{
    st_check *check = d->check;
    if (!check) return;
    pthread_join(check->thread, NULL);
    if (check->version == d->view.version) d->checked = check->result;
    hk_model_free(check->model);
    free(check->loaded);
    free(check);
    d->check = NULL;
}

double st_design_check(st_session *s)
{
    st_design *d = s->design;
    if (d->check) {
        if (!atomic_load(&d->check->done)) return POLL_MS;
        st_design_check_end(d);
        st_design_tell(s);
        return POLL_MS;
    }
    if (d->view.state != HK_DESIGN_CONVERGED || d->check_version == d->view.version ||
        s->surface.tet_count > MOST_TETS)
        return NOTHING_MS;
    double now = st_now();
    if (d->seen_version != d->view.version) {
        d->seen_version = d->view.version;
        d->check_at = now + QUIET_MS;
    }
    if (now < d->check_at) return d->check_at - now;
    d->check_version = d->view.version;
    d->checked = (st_check_result){.overlaps = 0};
    begin(d);
    return POLL_MS;
}
