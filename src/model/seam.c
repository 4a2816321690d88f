// Seams: two lines of vertices, joined by springs.
#include "model/springs.h"

#include <math.h>
#include <stdlib.h>

#include "mesh/select.h"

typedef struct side {
    int count;
    int32_t *vertex;  // [count] of the model, in their order
    double *at;       // [count] length of the line up to there, m
} side;

static void release(side *s)
{
    hk_free(s->vertex);
    hk_free(s->at);
}

// ---------------------------------------------------------------- lines of vertices

typedef struct ranked {
    double key;
    int32_t vertex;
} ranked;

static int by_key(const void *a, const void *b)
{
    const ranked *p = a, *q = b;
    if (p->key != q->key) return p->key < q->key ? -1 : 1;
    return p->vertex < q->vertex ? -1 : p->vertex > q->vertex;
}

// Along the longest side of the box around them.
static hk_status sort_along(const hk_model *m, side *s)
{
    int axis = 0;
    double longest = -1;
    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int k = 0; k < s->count; k++) {
            low = fmin(low, m->rest[3 * (int64_t)s->vertex[k] + i]);
            high = fmax(high, m->rest[3 * (int64_t)s->vertex[k] + i]);
        }
        if (high - low > longest) {
            longest = high - low;
            axis = i;
        }
    }
    ranked *list = HK_ARRAY(ranked, s->count);
    if (!list) return HK_NO_MEMORY;
    for (int k = 0; k < s->count; k++)
        list[k] = (ranked){m->rest[3 * (int64_t)s->vertex[k] + axis], s->vertex[k]};
    qsort(list, (size_t)s->count, sizeof *list, by_key);
    for (int k = 0; k < s->count; k++) s->vertex[k] = list[k].vertex;
    hk_free(list);
    return HK_OK;
}

static hk_status take_selected(const hk_model *m, const hk_body *body, const hk_mesh *mesh,
                               const hk_selector *select, side *s)
{
    uint8_t *chosen = HK_ARRAY(uint8_t, mesh->vertex_count);
    s->vertex = HK_ARRAY(int32_t, mesh->vertex_count);
    hk_status status = chosen && s->vertex ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = hk_select_vertices(mesh, select, chosen);
    for (int v = 0; v < mesh->vertex_count && status == HK_OK; v++)
        if (chosen[v] && m->mass[body->vertex_start + v] > 0)
            s->vertex[s->count++] = body->vertex_start + v;
    hk_free(chosen);
    if (status == HK_OK && s->count == 0) return hk_select_none(mesh, "it selects no vertex");
    return status == HK_OK ? sort_along(m, s) : status;
}

static hk_status take_listed(const hk_model *m, const hk_body *body, const hk_selector *select,
                             side *s)
{
    s->vertex = HK_ARRAY(int32_t, select->vertex_count);
    if (!s->vertex) return HK_NO_MEMORY;
    for (int k = 0; k < select->vertex_count; k++) {
        int32_t v = select->vertices[k];
        if (v < 0 || v >= body->vertex_count)
            return hk_fail(HK_BAD_INPUT, "body %s has no vertex %d (vertices: 0 to %d)", body->name,
                           v, body->vertex_count - 1);
        if (!(m->mass[body->vertex_start + v] > 0))
            return hk_fail(HK_BAD_INPUT, "vertex %d of body %s belongs to no element", v,
                           body->name);
        s->vertex[s->count++] = body->vertex_start + v;
    }
    return s->count > 0 ? HK_OK : hk_fail(HK_BAD_INPUT, "its list of vertices is empty");
}

static double between(const hk_model *m, int32_t a, int32_t b)
{
    const double *p = m->rest + 3 * (int64_t)a, *q = m->rest + 3 * (int64_t)b;
    return hypot(hypot(p[0] - q[0], p[1] - q[1]), p[2] - q[2]);
}

static hk_status take_side(const hk_model *m, const hk_side_def *def, bool reverse, side *s)
{
    if (def->body < 0 || def->body >= m->body_count)
        return hk_fail(HK_BAD_INPUT, "there is no body %d (bodies: 0 to %d)", def->body,
                       m->body_count - 1);
    const hk_body *body = &m->bodies[def->body];
    if (def->select.kind == HK_SELECT_VERTICES) {
        HK_TRY(take_listed(m, body, &def->select, s));
    } else {
        hk_mesh *mesh;
        HK_TRY(hk_model_body_mesh(m, def->body, &mesh));
        hk_status status = take_selected(m, body, mesh, &def->select, s);
        hk_mesh_free(mesh);
        HK_TRY(status);
    }
    for (int k = 0; reverse && 2 * k < s->count - 1; k++) {
        int32_t kept = s->vertex[k];
        s->vertex[k] = s->vertex[s->count - 1 - k];
        s->vertex[s->count - 1 - k] = kept;
    }
    s->at = HK_ZEROS(double, s->count);
    if (!s->at) return HK_NO_MEMORY;
    for (int k = 1; k < s->count; k++)
        s->at[k] = s->at[k - 1] + between(m, s->vertex[k - 1], s->vertex[k]);
    return HK_OK;
}

// ---------------------------------------------------------------- the springs

// What a vertex has of its line: half the way to its neighbours.
static double reach(const side *s, int k)
{
    int low = hk_max_int(k - 1, 0), high = hk_min_int(k + 1, s->count - 1);
    return 0.5 * (s->at[high] - s->at[low]);
}

// The point of a line at a part 0..1 of its length.
static void join_part(const side *s, double part, int end, hk_point_spring *spring)
{
    double at = part * s->at[s->count - 1];
    int k = 0;
    while (k + 2 < s->count && s->at[k + 1] < at) k++;
    double span = s->count > 1 ? s->at[k + 1] - s->at[k] : 0;
    double far = span > 0 ? fmin(1, fmax(0, (at - s->at[k]) / span)) : 0;
    if (far < 1) hk_point_spring_join(spring, end, s->vertex[k], 1 - far);
    if (far > 0) hk_point_spring_join(spring, end, s->vertex[k + 1], far);
}

static hk_status join(hk_model *m, const hk_seam_def *def, const side sides[2],
                      hk_time_factor *factor)
{
    int of = sides[0].count < sides[1].count;
    const side *fine = &sides[of], *coarse = &sides[1 - of];
    double length = fine->at[fine->count - 1];
    for (int k = 0; k < fine->count; k++) {
        double part = length > 0 ? fine->at[k] / length : 0;
        // A seam of a single pair has no length: it counts as one metre.
        double share = length > 0 ? reach(fine, k) : 1;
        hk_point_spring spring = {.slack = def->slack != 0,
                                  .stiffness = def->stiffness * share,
                                  .damping = def->damping * share,
                                  .breaking = def->breaking * share,
                                  .to = def->to,
                                  .factor = factor};
        hk_point_spring_join(&spring, of, fine->vertex[k], 1);
        if (fine->count == coarse->count)
            hk_point_spring_join(&spring, 1 - of, coarse->vertex[k], 1);
        else
            join_part(coarse, part, 1 - of, &spring);
        // A vertex that both sides have (where an edge is sewn to its neighbour) needs no spring.
        if (spring.count == 1) continue;
        spring.rest = hk_point_spring_length(&spring, m->rest, 3, NULL);
        HK_TRY(hk_point_springs_add(m, &spring));
    }
    return HK_OK;
}

static hk_status check(const hk_seam_def *def)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"damping", def->damping},
               {"breaking force", def->breaking},
               {"distance in the end", def->to}};
    if (!(isfinite(def->stiffness) && def->stiffness > 0))
        return hk_fail(HK_BAD_INPUT, "its stiffness must be greater than 0 (is %g N/m2)",
                       def->stiffness);
    for (int k = 0; k < HK_COUNT_OF(all); k++)
        if (!(isfinite(all[k].value) && all[k].value >= 0))
            return hk_fail(HK_BAD_INPUT, "its %s must be 0 or more (is %g)", all[k].name,
                           all[k].value);
    return HK_OK;
}

hk_status hk_model_take_seam(const hk_seam_def *def, hk_model *m)
{
    side sides[2] = {0};
    hk_time_factor *factor = NULL;
    HK_TRY(check(def));
    HK_TRY(hk_time_factor_create(&def->factor, &factor));
    hk_status status = HK_OK;
    for (int k = 0; k < 2 && status == HK_OK; k++) {
        status = take_side(m, &def->sides[k], k == 1 && def->reverse, &sides[k]);
        if (status != HK_OK) status = hk_fail_within(status, "side %d", k);
    }
    if (status == HK_OK) status = join(m, def, sides, factor);
    hk_time_factor_free(factor);
    release(&sides[0]);
    release(&sides[1]);
    return status;
}
