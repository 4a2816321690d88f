// What there is to see of a design: its numbers, its fields, its files.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "design.h"

// ---------------------------------------------------------------- fields

static void gradient(const double *rest, const double *x, const int32_t *t, double F[9])
{
    double R[3][3], D[3][3], inverse[3][3];
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < 3; ++i) {
            R[i][k] = rest[3 * (int64_t)t[k + 1] + i] - rest[3 * (int64_t)t[0] + i];
            D[i][k] = x[3 * (int64_t)t[k + 1] + i] - x[3 * (int64_t)t[0] + i];
        }
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            inverse[j][i] = R[a][c] * R[b][d] - R[a][d] * R[b][c];
        }
    double det = R[0][0] * inverse[0][0] + R[0][1] * inverse[1][0] + R[0][2] * inverse[2][0];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            F[3 * i + j] = 0;
            for (int k = 0; k < 3; ++k) F[3 * i + j] += D[i][k] * inverse[k][j] / det;
        }
}

static double determinant(const double F[9])
{
    return F[0] * (F[4] * F[8] - F[5] * F[7]) - F[1] * (F[3] * F[8] - F[5] * F[6]) +
           F[2] * (F[3] * F[7] - F[4] * F[6]);
}

// The square root of the largest eigenvalue of FᵀF, by the trigonometric solution of its cubic.
static double largest_stretch(const double F[9])
{
    double C[3][3], p = 0, q = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            C[i][j] = 0;
            for (int k = 0; k < 3; ++k) C[i][j] += F[3 * k + i] * F[3 * k + j];
        }
    q = (C[0][0] + C[1][1] + C[2][2]) / 3;
    for (int i = 0; i < 3; ++i) C[i][i] -= q;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) p += C[i][j] * C[i][j];
    p = sqrt(p / 6);
    const double B[9] = {C[0][0], C[0][1], C[0][2], C[1][0], C[1][1],
                         C[1][2], C[2][0], C[2][1], C[2][2]};
    double r = p > 0 ? fmax(-1, fmin(1, determinant(B) / (2 * p * p * p))) : 0;
    return sqrt(fmax(0, q + 2 * p * cos(acos(r) / 3)));
}

// Of the Cauchy stress P Fᵀ / J.
static double von_mises(const hk_material_def *material, const double F[9])
{
    double P[9], S[9], J = determinant(F), sum = 0;
    if (hk_material_evaluate(material, F, false, NULL, P, NULL) != HK_OK || J == 0) return 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            S[3 * i + j] = 0;
            for (int k = 0; k < 3; ++k) S[3 * i + j] += P[3 * i + k] * F[3 * j + k] / J;
        }
    double mean = (S[0] + S[4] + S[8]) / 3;
    for (int k = 0; k < 9; ++k) {
        double d = S[k] - (k % 4 == 0 ? mean : 0);
        sum += d * d;
    }
    return sqrt(1.5 * sum);
}

// [tets] the material of each.
static const hk_material_def **tet_materials(const st_session *s)
{
    const hk_material_def **of = st_alloc((size_t)s->surface.tet_count, sizeof *of);
    const hk_model *model = s->design->model;
    for (int b = 0, start = 0; b < s->edits.body_count; ++b) {
        const st_body_edits *body = &s->edits.bodies[b];
        int count = hk_model_body_tet_count(model, b);
        uint8_t *chosen = st_alloc((size_t)count, 1);
        for (int t = 0; t < count; ++t) of[start + t] = &body->material;
        for (int r = 0; r < body->region_count; ++r) {
            if (hk_model_select(model, b, &body->regions[r].select, NULL, chosen) != HK_OK)
                continue;
            for (int t = 0; t < count; ++t)
                if (chosen[t]) of[start + t] = &body->regions[r].material;
        }
        free(chosen);
        start += count;
    }
    return of;
}

static bool tet_field(st_session *s, const char *name, double *values)
{
    const st_surface *f = &s->surface;
    const double *x = s->design->shapes[HK_LOADED_SHAPE], *rest = s->design->shapes[HK_REST_SHAPE];
    bool is_j = strcmp(name, "J") == 0, is_stretch = strcmp(name, "stretch") == 0;
    if (!is_j && !is_stretch && strcmp(name, "von_mises") != 0) return false;
    double *tets = st_alloc((size_t)f->tet_count, sizeof *tets);
    const hk_material_def **materials = is_j || is_stretch ? NULL : tet_materials(s);
    for (int t = 0; t < f->tet_count; ++t) {
        double F[9];
        gradient(rest, x, f->tet_vertices + 4 * (int64_t)t, F);
        tets[t] = is_j         ? determinant(F)
                  : is_stretch ? largest_stretch(F)
                               : von_mises(materials[t], F);
    }
    st_surface_average(f, tets, values);
    free(materials);
    free(tets);
    return true;
}

static bool compute_field(st_session *s, const char *name, double *values)
{
    const double *x = s->design->shapes[HK_LOADED_SHAPE], *rest = s->design->shapes[HK_REST_SHAPE];
    if (strcmp(name, "displacement") != 0) return tet_field(s, name, values);
    for (int v = 0; v < s->surface.model_vertex_count; ++v) {
        double d[3];
        for (int i = 0; i < 3; ++i) d[i] = x[3 * v + i] - rest[3 * v + i];
        values[v] = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
    return true;
}

static st_field_cache *find_cache(st_session *s, const char *name)
{
    st_field_cache *oldest = &s->design->caches[0];
    for (int k = 0; k < ST_MOST_CACHES; ++k) {
        st_field_cache *cache = &s->design->caches[k];
        if (cache->values && strcmp(cache->name, name) == 0) return cache;
        if (cache->at < oldest->at) oldest = cache;
    }
    free(oldest->values);
    *oldest = (st_field_cache){
        .values = st_alloc((size_t)s->surface.model_vertex_count, sizeof *oldest->values)};
    snprintf(oldest->name, sizeof oldest->name, "%s", name);
    return oldest;
}

// The same on both shapes: what the load does. While a shape is dragged, values may be a few frames
// old: no more than a quarter of the time goes into them.
bool st_design_field(st_session *s, int shape, const char *name, double *values)
{
    const hk_design_view *view = &s->design->view;
    st_field_cache *cache = find_cache(s, name);
    bool known = cache->at > 0,
         moves = view->state == HK_DESIGN_PREVIEW || view->state == HK_DESIGN_REFINING;
    double now = st_now();
    (void)shape;
    if (!known ||
        (cache->sequence != view->sequence && !(moves && now < cache->at + 3 * cache->ms))) {
        if (!compute_field(s, name, cache->values)) return false;
        cache->sequence = view->sequence;
        cache->at = st_now();
        cache->ms = cache->at - now;
    }
    memcpy(values, cache->values, sizeof *values * (size_t)s->surface.model_vertex_count);
    return true;
}

// ---------------------------------------------------------------- numbers

// Where the loaded shape is stretched most: that is where a load that is too large shows.
static json_t *worst_place(st_session *s)
{
    const st_surface *f = &s->surface;
    const double *x = s->design->shapes[HK_LOADED_SHAPE], *rest = s->design->shapes[HK_REST_SHAPE];
    double most = -INFINITY, place[3] = {0};
    for (int t = 0; t < f->tet_count; ++t) {
        const int32_t *tet = f->tet_vertices + 4 * (int64_t)t;
        double F[9], stretch;
        gradient(rest, x, tet, F);
        stretch = largest_stretch(F);
        if (!(stretch > most)) continue;
        most = stretch;
        for (int i = 0; i < 3; ++i)
            place[i] = (x[3 * (int64_t)tet[0] + i] + x[3 * (int64_t)tet[1] + i] +
                        x[3 * (int64_t)tet[2] + i] + x[3 * (int64_t)tet[3] + i]) /
                       4;
    }
    return st_json_vector(place, 3);
}

static double progress(const st_design *d)
{
    if (d->view.state == HK_DESIGN_CONVERGED) return 1;
    if (d->view.state != HK_DESIGN_REFINING) return 0;
    double expected = d->view.refine_ms > 0 ? d->view.refine_ms : 1000;
    double passed = st_now() - d->refining_since;
    return passed / (passed + 0.5 * expected);  // of an unknown length: never quite there
}

static json_t *name_json(const char *name)
{
    const char *plain = st_plain_name(name);
    return plain ? st_json_text(plain) : json_null();
}

static json_t *check_json(const st_session *s)
{
    const st_design *d = s->design;
    const st_check_result *r = &d->checked;
    double place[3];
    bool known = d->view.state == HK_DESIGN_CONVERGED && d->check_version == d->view.version &&
                 !d->check && (r->knows_stability || r->knows_overlaps);
    if (!known) return json_null();
    for (int i = 0; i < 3; ++i) place[i] = r->place[i] - s->surface.origin[i];
    return json_pack("{s:o, s:o, s:o}", "stable",
                     r->knows_stability ? json_boolean(r->stable) : json_null(), "overlaps",
                     r->knows_overlaps ? json_integer(r->overlaps) : json_null(), "place",
                     r->overlaps > 0 ? st_json_vector(place, 3) : json_null());
}

void st_design_tell(st_session *s)
{
    st_design *d = s->design;
    const hk_design_view *v = &d->view;
    bool failed = v->state == HK_DESIGN_FAILED, done = failed || v->state == HK_DESIGN_CONVERGED;
    json_t *object = json_pack(
        "{s:s, s:I, s:s, s:s, s:f, s:o, s:o, s:o, s:i, s:o, s:f, s:s, s:o}", "type", "design",
        "version", (json_int_t)v->version, "state", hk_design_state_name(v->state), "given",
        v->given == HK_REST_SHAPE ? "rest" : "loaded", "progress", progress(d), "sag",
        st_json_real(done ? v->sag : NAN), "least_j", st_json_real(v->least_j), "greatest_stretch",
        st_json_real(v->greatest_stretch), "iterations", v->iterations, "relative_residual",
        st_json_real(v->relative_residual), "load_reached", v->load_reached, "reason",
        hk_reason_name(v->reason), "detail", st_json_text(v->detail));
    json_t *more = json_pack(
        "{s:i, s:i, s:f, s:f, s:o, s:o, s:o}", "handles", v->handles, "out_of_bounds",
        v->out_of_bounds, "preview_ms", v->preview_ms, "refine_ms", v->refine_ms, "undo",
        name_json(hk_design_undo_name(d->design)), "redo",
        name_json(hk_design_redo_name(d->design)), "gravity", st_json_vector(s->edits.gravity, 3));
    json_object_update(object, more);
    json_decref(more);
    json_object_set_new(object, "failure",
                        failed ? json_pack("{s:o, s:f, s:o}", "message", st_json_text(v->detail),
                                           "load_reached", v->load_reached, "place", worst_place(s))
                               : json_null());
    json_object_set_new(object, "check", check_json(s));
    st_send(s->hub, ST_ALL_CLIENTS, object);
    d->last_told = st_now();
    d->untold = false;
}

// ---------------------------------------------------------------- files

// A world of the design, at the loaded shape (or, unloaded, at the rest shape), writes them.
bool st_design_save(st_session *s, int shape, const char *what, const char *path, st_why *why)
{
    hk_model *model = NULL;
    hk_world *world = NULL;
    hk_world_def def = hk_default_world_def();
    if (strcmp(what, "state.hks") == 0) return st_fail(why, "a design has no state of a run");
    def.solver.method = "gradient_descent";  // nothing is solved
    if (hk_design_model(s->design->design, &model) != HK_OK) return st_fail_library(why);
    def.model = model;
    hk_status status = hk_world_create(&def, &world);
    if (status == HK_OK) status = hk_world_set_positions(world, s->design->shapes[shape]);
    if (status == HK_OK)
        status = strcmp(what, "points.csv") == 0 ? hk_world_save_points(world, path)
                                                 : hk_world_save(world, path);
    if (status != HK_OK) st_fail_library(why);
    hk_world_free(world);
    hk_model_free(model);
    return status == HK_OK;
}
