// Observed places of vertices.
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "design/fit.h"
#include "io/io.h"

// ---------------------------------------------------------------- taking them

static void forget_target(hk_fit *fit)
{
    void **arrays[] = {(void **)&fit->vertex,   (void **)&fit->target,   (void **)&fit->residual,
                       (void **)&fit->weight,   (void **)&fit->sort,     (void **)&fit->left_out,
                       (void **)&fit->distance, (void **)&fit->outliers, (void **)&fit->ranks};
    for (int k = 0; k < HK_COUNT_OF(arrays); k++) {
        hk_free(*arrays[k]);
        *arrays[k] = NULL;
    }
    fit->given_count = fit->observed_count = fit->outlier_count = 0;
}

static hk_status allocate(hk_fit *fit, int count)
{
    size_t n = (size_t)count;
    fit->vertex = HK_ARRAY(int32_t, n);
    fit->target = HK_ARRAY(double, 3 * n);
    fit->residual = HK_ZEROS(double, 3 * n);
    fit->weight = HK_ZEROS(double, n);
    fit->distance = HK_ZEROS(double, n);
    fit->sort = HK_ZEROS(double, n);
    fit->left_out = HK_ZEROS(uint8_t, n);
    fit->outliers = HK_ZEROS(int32_t, n);
    fit->ranks = HK_ZEROS(hk_fit_rank, n);
    bool complete = fit->ranks && fit->vertex && fit->target && fit->residual && fit->weight &&
                    fit->distance && fit->sort && fit->left_out && fit->outliers;
    return complete ? HK_OK : HK_NO_MEMORY;
}

// Free vertices first, each half in the order given.
static void sort_vertices(hk_fit *fit, int count, const int32_t *vertices, const double *positions)
{
    const hk_model *m = fit->equilibrium->model;
    for (int held = 0; held < 2; held++) {
        for (int k = 0; k < count; k++) {
            if ((m->hold[vertices[k]] != HK_FREE) != held) continue;
            int to = fit->given_count++;
            fit->vertex[to] = vertices[k];
            memcpy(fit->target + 3 * (int64_t)to, positions + 3 * (int64_t)k, 3 * sizeof(double));
        }
        if (!held) fit->observed_count = fit->given_count;
    }
}

static hk_status check_count(const hk_fit *fit, int count, const int32_t *vertices)
{
    const hk_model *m = fit->equilibrium->model;
    int64_t free = 0;
    for (int k = 0; k < count; k++) free += m->hold[vertices[k]] == HK_FREE;
    if (free == 0)
        return hk_fail(HK_BAD_INPUT,
                       "the target has no vertex that is free to move: what is held tells nothing "
                       "of the material");
    if (3 * free <= fit->variable_count)
        return hk_fail(
            HK_BAD_INPUT,
            "the target has %lld free vertices, too few for %d parameters: %d are needed "
            "at least",
            (long long)free, fit->variable_count, fit->variable_count / 3 + 1);
    return HK_OK;
}

static hk_status take_target(hk_fit *fit, int count, const int32_t *vertices,
                             const double *positions)
{
    HK_TRY(check_count(fit, count, vertices));
    forget_target(fit);
    hk_status status = allocate(fit, count);
    if (status != HK_OK) {
        forget_target(fit);
        return status;
    }
    sort_vertices(fit, count, vertices, positions);
    return HK_OK;
}

static hk_status check_target(const hk_fit *fit, int count, const int32_t *vertices,
                              const double *positions, uint8_t *seen)
{
    int n = fit->equilibrium->model->vertex_count;
    for (int k = 0; k < count; k++) {
        if (vertices[k] < 0 || vertices[k] >= n)
            return hk_fail(HK_BAD_INPUT, "target %d: there is no vertex %d (vertices: 0 to %d)", k,
                           vertices[k], n - 1);
        if (!hk_is_finite3(positions + 3 * (int64_t)k))
            return hk_fail(HK_BAD_INPUT, "target %d: the position of vertex %d is not finite", k,
                           vertices[k]);
        if (seen[vertices[k]]++)
            return hk_fail(HK_BAD_INPUT, "target %d: vertex %d is there already", k, vertices[k]);
    }
    return HK_OK;
}

hk_status hk_fit_set_target(hk_fit *fit, int count, const int32_t *vertices,
                            const double *positions)
{
    if (!fit || count < 1 || !vertices || !positions)
        return hk_fail(HK_BAD_INPUT, "hk_fit_set_target: fit, vertices and positions are needed");
    uint8_t *seen = HK_ZEROS(uint8_t, fit->equilibrium->model->vertex_count);
    hk_status status = seen ? check_target(fit, count, vertices, positions, seen) : HK_NO_MEMORY;
    hk_free(seen);
    return status == HK_OK ? take_target(fit, count, vertices, positions) : status;
}

// ---------------------------------------------------------------- files

typedef struct rows {
    int count;
    int32_t *vertices;    // [vertex_count]
    double *positions;    // [vertex_count][3]
    int32_t *first_line;  // [vertex_count] where a vertex stands; 0: nowhere
} rows;

static hk_status read_row(hk_scan *scan, int vertex_count, rows *r)
{
    static const char *const names[3] = {"x", "y", "z"};
    int64_t vertex;
    int line = scan->line;
    HK_TRY(hk_scan_int(scan, "the number of a vertex", &vertex));
    if (vertex < 0 || vertex >= vertex_count)
        return hk_scan_fail(scan, "there is no vertex %lld (the scene has vertices 0 to %d)",
                            (long long)vertex, vertex_count - 1);
    if (r->first_line[vertex])
        return hk_scan_fail(scan, "vertex %lld is there already, in line %d", (long long)vertex,
                            r->first_line[vertex]);
    for (int i = 0; i < 3; i++) {
        HK_TRY(hk_scan_on_line(scan, names[i]));
        HK_TRY(hk_scan_real(scan, names[i], &r->positions[3 * (int64_t)r->count + i]));
    }
    HK_TRY(hk_scan_line_end(scan));
    r->first_line[vertex] = line;
    r->vertices[r->count++] = (int32_t)vertex;
    return HK_OK;
}

// The first line may name the columns.
static hk_status read_rows(const char *name, const hk_bytes *bytes, int vertex_count, rows *r)
{
    hk_scan scan = hk_scan_begin(name, bytes->data, bytes->size, '#');
    scan.separator = ',';
    if (hk_scan_more(&scan) && hk_scan_accept(&scan, "vertex")) {
        static const char *const names[3] = {"x", "y", "z"};
        for (int i = 0; i < 3; i++)
            if (!hk_scan_accept(&scan, names[i]))
                return hk_scan_fail(&scan, "the columns must be vertex,x,y,z");
        HK_TRY(hk_scan_line_end(&scan));
    }
    while (hk_scan_more(&scan)) HK_TRY(read_row(&scan, vertex_count, r));
    if (r->count == 0) return hk_fail(HK_BAD_INPUT, "%s: it has no rows vertex,x,y,z", name);
    return HK_OK;
}

static hk_status load_rows(hk_fit *fit, const char *path)
{
    int n = fit->equilibrium->model->vertex_count;
    hk_bytes bytes;
    HK_TRY(hk_bytes_load(path, &bytes));
    rows r = {.vertices = HK_ARRAY(int32_t, n),
              .positions = HK_ARRAY(double, 3 * (size_t)n),
              .first_line = HK_ZEROS(int32_t, n)};
    hk_status status = r.vertices && r.positions && r.first_line ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) status = read_rows(path, &bytes, n, &r);
    if (status == HK_OK) {
        status = take_target(fit, r.count, r.vertices, r.positions);
        if (status != HK_OK) status = hk_fail_within(status, "%s", path);
    }
    hk_bytes_free(&bytes);
    hk_free(r.vertices);
    hk_free(r.positions);
    hk_free(r.first_line);
    return status;
}

static hk_status take_mesh(hk_fit *fit, const hk_mesh *mesh)
{
    int n = fit->equilibrium->model->vertex_count;
    if (mesh->vertex_count != n)
        return hk_fail(HK_BAD_INPUT,
                       "the mesh has %d vertices, the scene has %d: a target must be the scene's "
                       "own mesh, deformed; for some of its vertices give a .csv with rows "
                       "vertex,x,y,z",
                       mesh->vertex_count, n);
    int32_t *vertices = HK_ARRAY(int32_t, n);
    if (!vertices) return HK_NO_MEMORY;
    for (int v = 0; v < n; v++) vertices[v] = v;
    hk_status status = hk_fit_set_target(fit, n, vertices, mesh->positions);
    hk_free(vertices);
    return status;
}

hk_status hk_fit_load_target(hk_fit *fit, const char *path)
{
    if (!fit || !path) return hk_fail(HK_BAD_INPUT, "hk_fit_load_target: fit and path are needed");
    const char *ending = strrchr(path, '.');
    if (ending && strcasecmp(ending, ".csv") == 0) return load_rows(fit, path);
    hk_mesh *mesh;
    HK_TRY(hk_mesh_load(path, &mesh));
    hk_status status = take_mesh(fit, mesh);
    hk_mesh_free(mesh);
    return status == HK_OK ? HK_OK : hk_fail_within(status, "%s", path);
}
