// What a world shows: fields, meshes and files.
#include <math.h>
#include <stdio.h>

#include "io/io.h"
#include "term/tet.h"
#include "world/world.h"

// von Mises stress of the Cauchy stress σ = P Fᵀ / J.
static double von_mises(const double P[9], const double F[9], double j)
{
    double s[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            for (int l = 0; l < 3; l++) sum += P[3 * i + l] * F[3 * k + l];
            s[i][k] = sum / j;
        }
    double a = s[0][0] - s[1][1], b = s[1][1] - s[2][2], c = s[2][2] - s[0][0];
    double shear = s[0][1] * s[0][1] + s[1][2] * s[1][2] + s[0][2] * s[0][2];
    return sqrt(0.5 * (a * a + b * b + c * c) + 3 * shear);
}

static double determinant(const double f[9])
{
    return f[0] * (f[4] * f[8] - f[5] * f[7]) + f[1] * (f[5] * f[6] - f[3] * f[8]) +
           f[2] * (f[3] * f[7] - f[4] * f[6]);
}

static hk_status tet_field(hk_world *w, bool stress, double *values)
{
    HK_TRY(hk_world_need_problem(w));
    w->at_work = true;
    int count = w->model->tet_count;
    double *P = HK_ARRAY(double, 9 * (size_t)count), *F = HK_ARRAY(double, 9 * (size_t)count);
    if (P && F) {
        hk_tet_stress((hk_tet_term *)hk_terms_find(w->problem->terms, &hk_tets_term), w->x, P, F);
        for (int64_t t = 0; t < count; t++) {
            double j = determinant(F + 9 * t);
            values[t] = stress ? von_mises(P + 9 * t, F + 9 * t, fabs(j)) : j;
            if (!isfinite(values[t])) values[t] = 0;  // a flat tet has no Cauchy stress
        }
    }
    w->at_work = false;
    hk_free(P);
    hk_free(F);
    return P && F ? HK_OK : HK_NO_MEMORY;
}

hk_status hk_world_field(hk_world *w, const char *name, double *values)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !name || !values)
        return hk_fail(HK_BAD_INPUT, "hk_world_field: world, name and values are needed");
    HK_TRY(hk_world_fetch(w));
    size_t size = 3 * (size_t)w->model->vertex_count;
    if (strcmp(name, "von_mises") == 0) return tet_field(w, true, values);
    if (strcmp(name, "J") == 0) return tet_field(w, false, values);
    if (strcmp(name, "velocity") == 0) {
        memcpy(values, w->velocities, size * sizeof(double));
        return HK_OK;
    }
    if (strcmp(name, "displacement") == 0) {
        for (size_t k = 0; k < size; k++) values[k] = w->positions[k] - w->model->rest[k];
        return HK_OK;
    }
    if (strcmp(name, "contact_force") == 0) return hk_world_contact_forces(w, values);
    return hk_fail(HK_BAD_INPUT,
                   "no field \"%s\" (known: displacement, velocity, von_mises, J, contact_force)",
                   name);
}

// One group a body, so that they can be told apart in the file.
static hk_status name_bodies(const hk_model *m, hk_mesh *mesh)
{
    for (int b = 0; b < m->body_count && m->body_count > 1; b++) {
        hk_group *group;
        const hk_body *body = &m->bodies[b];
        bool sheet = body->tet_count == 0;
        HK_TRY(hk_mesh_add_group(mesh, body->name, sheet ? 2 : 3,
                                 sheet ? body->triangle_count : body->tet_count, &group));
        for (int32_t k = 0; k < group->count; k++)
            group->items[k] = (sheet ? body->triangle_start : body->tet_start) + k;
    }
    return HK_OK;
}

hk_status hk_world_mesh(const hk_world *w, hk_mesh **mesh)
{
    if (!w || !mesh) return hk_fail(HK_BAD_INPUT, "hk_world_mesh: world and mesh are needed");
    HK_TRY(hk_world_fetch_positions(w));
    const hk_model *m = w->model;
    hk_mesh *made;
    HK_TRY(hk_mesh_new(m->vertex_count, m->tet_count, m->triangle_count, &made));
    memcpy(made->positions, w->positions, 3 * sizeof(double) * (size_t)m->vertex_count);
    memcpy(made->tets, m->tets, 4 * sizeof(int32_t) * (size_t)m->tet_count);
    memcpy(made->triangles, m->triangles, 3 * sizeof(int32_t) * (size_t)m->triangle_count);
    hk_status status = hk_model_copy_middles(m, NULL, made);
    if (status == HK_OK) status = name_bodies(m, made);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

enum { FIELDS = 5 };

hk_status hk_world_save(hk_world *w, const char *path)
{
    HK_TRY(hk_world_check_idle(w, __func__));
    if (!w || !path) return hk_fail(HK_BAD_INPUT, "hk_world_save: world and path are needed");
    static const struct {
        const char *name;
        hk_field_site site;
        int components;
    } known[FIELDS] = {{"displacement", HK_ON_VERTICES, 3},
                       {"velocity", HK_ON_VERTICES, 3},
                       {"von_mises", HK_ON_TETS, 1},
                       {"J", HK_ON_TETS, 1},
                       {"contact_force", HK_ON_VERTICES, 3}};
    int count = w->model->contact ? FIELDS : FIELDS - 1;
    hk_mesh *mesh = NULL;
    hk_status status = hk_world_mesh(w, &mesh);
    hk_field fields[FIELDS];
    double *values[FIELDS] = {0};
    for (int k = 0; k < count && status == HK_OK; k++) {
        int sites = known[k].site == HK_ON_TETS ? w->model->tet_count : w->model->vertex_count;
        values[k] = HK_ARRAY(double, (size_t)sites *(size_t)known[k].components);
        status = values[k] ? hk_world_field(w, known[k].name, values[k]) : HK_NO_MEMORY;
        fields[k] = (hk_field){known[k].name, known[k].site, known[k].components, values[k]};
    }
    if (status == HK_OK) status = hk_mesh_save(mesh, path, fields, count);
    for (int k = 0; k < FIELDS; k++) hk_free(values[k]);
    hk_mesh_free(mesh);
    return status;
}

hk_status hk_world_save_points(const hk_world *w, const char *path)
{
    if (!w || !path)
        return hk_fail(HK_BAD_INPUT, "hk_world_save_points: world and path are needed");
    HK_TRY(hk_world_fetch_positions(w));
    hk_out *out;
    HK_TRY(hk_out_open(path, &out));
    hk_out_text(out, "vertex,x,y,z\n");
    for (int v = 0; v < w->model->vertex_count; v++) {
        const double *x = w->positions + 3 * (int64_t)v;
        hk_out_text(out, "%d,%.17g,%.17g,%.17g\n", v, x[0], x[1], x[2]);
    }
    return hk_out_commit(out);
}
