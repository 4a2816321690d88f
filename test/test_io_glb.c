// Binary glTF and ParaView collections: what was written is taken apart again.
#include <jansson.h>
#include <math.h>

#include "mesh_file_checks.h"

typedef struct glb {
    hk_bytes file;
    json_t *json;
    const char *binary;
    size_t binary_size;
} glb;

static uint32_t word_at(const char *data, size_t offset)
{
    const unsigned char *p = (const unsigned char *)data + offset;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static glb open_glb(const char *path)
{
    glb g = {.file = load_file(path)};
    const char *data = g.file.data;
    size_t size = g.file.size;
    assert_true(size >= 28);
    assert_memory_equal(data, "glTF", 4);
    assert_int_equal(word_at(data, 4), 2);
    assert_int_equal(word_at(data, 8), size);
    size_t json_size = word_at(data, 12);
    assert_int_equal(json_size % 4, 0);
    assert_memory_equal(data + 16, "JSON", 4);
    assert_true(20 + json_size + 8 <= size);
    g.binary_size = word_at(data, 20 + json_size);
    assert_int_equal(g.binary_size % 4, 0);
    assert_memory_equal(data + 24 + json_size, "BIN\0", 4);
    assert_int_equal(28 + json_size + g.binary_size, size);
    g.binary = data + 28 + json_size;
    json_error_t error;
    g.json = json_loadb(data + 20, json_size, 0, &error);
    if (!g.json) fail_msg("%s", error.text);
    return g;
}

static void close_glb(glb *g)
{
    json_decref(g->json);
    hk_bytes_free(&g->file);
}

static json_int_t integer_of(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

// The numbers of an accessor, after checks of all that glTF demands of it.
static const char *accessor(const glb *g, json_int_t number, int component, const char *type,
                            size_t count)
{
    json_t *a = json_array_get(json_object_get(g->json, "accessors"), (size_t)number);
    assert_non_null(a);
    assert_int_equal(integer_of(a, "componentType"), component);
    assert_string_equal(json_string_value(json_object_get(a, "type")), type);
    assert_int_equal(integer_of(a, "count"), count);
    json_t *view = json_array_get(json_object_get(g->json, "bufferViews"),
                                  (size_t)integer_of(a, "bufferView"));
    assert_non_null(view);
    assert_int_equal(integer_of(view, "buffer"), 0);
    size_t offset = (size_t)integer_of(view, "byteOffset");
    size_t length = (size_t)integer_of(view, "byteLength");
    assert_int_equal(offset % 4, 0);
    assert_int_equal(length, 4 * count * (strcmp(type, "VEC3") == 0 ? 3 : 1));
    assert_true(offset + length <= g->binary_size);
    assert_int_equal(integer_of(view, "target"), component == 5125 ? 34963 : 34962);
    return g->binary + offset;
}

static json_t *attributes_of(const glb *g, json_int_t *indices)
{
    json_t *mesh = json_array_get(json_object_get(g->json, "meshes"), 0);
    json_t *primitive = json_array_get(json_object_get(mesh, "primitives"), 0);
    *indices = integer_of(primitive, "indices");
    assert_int_equal(integer_of(primitive, "mode"), 4);
    return json_object_get(primitive, "attributes");
}

static void the_surface_is_written(void **state)
{
    (void)state;
    char *path = temporary_path("two.glb");
    hk_mesh *mesh = two_tet_mesh();
    save_mesh(mesh, path, NULL, 0);
    glb g = open_glb(path);
    json_t *asset = json_object_get(g.json, "asset");
    assert_string_equal(json_string_value(json_object_get(asset, "version")), "2.0");
    json_t *material = json_array_get(json_object_get(g.json, "materials"), 0);
    assert_true(json_is_true(json_object_get(material, "doubleSided")));
    json_t *buffer_ = json_array_get(json_object_get(g.json, "buffers"), 0);
    assert_int_equal(integer_of(buffer_, "byteLength"), g.binary_size);
    json_int_t indices;
    json_t *attributes = attributes_of(&g, &indices);
    assert_null(json_object_get(attributes, "COLOR_0"));
    float positions[5][3], normals[5][3];
    int32_t triangles[6][3];
    json_int_t position = integer_of(attributes, "POSITION");
    memcpy(positions, accessor(&g, position, 5126, "VEC3", 5), sizeof positions);
    memcpy(normals, accessor(&g, integer_of(attributes, "NORMAL"), 5126, "VEC3", 5),
           sizeof normals);
    memcpy(triangles, accessor(&g, indices, 5125, "SCALAR", 18), sizeof triangles);

    float low[3], high[3];
    for (int i = 0; i < 5; i++) {
        double length = 0;
        for (int k = 0; k < 3; k++) {
            assert_true(positions[i][k] == (float)two_positions[i][k]);
            if (i == 0 || positions[i][k] < low[k]) low[k] = positions[i][k];
            if (i == 0 || positions[i][k] > high[k]) high[k] = positions[i][k];
            length += (double)normals[i][k] * (double)normals[i][k];
        }
        assert_true(fabs(length - 1) < 1e-6);
    }
    json_t *first = json_array_get(json_object_get(g.json, "accessors"), (size_t)position);
    for (size_t k = 0; k < 3; k++) {
        json_t *least = json_array_get(json_object_get(first, "min"), k);
        json_t *most = json_array_get(json_object_get(first, "max"), k);
        assert_true((float)json_number_value(least) == low[k]);
        assert_true((float)json_number_value(most) == high[k]);
    }
    // Outward: the normal at the lowest corner looks away from the middle.
    assert_true(normals[0][0] < 0 && normals[0][1] < 0 && normals[0][2] < 0);
    for (int i = 0; i < 18; i++) assert_in_range(triangles[i / 3][i % 3], 0, 4);
    close_glb(&g);
    hk_mesh_free(mesh);
    remove_path(path);
}

static void check_colours(const hk_mesh *mesh, const hk_field *fields, int count,
                          float colours[5][3])
{
    char *path = temporary_path("colour.glb");
    save_mesh(mesh, path, fields, count);
    glb g = open_glb(path);
    json_int_t indices;
    json_t *attributes = attributes_of(&g, &indices);
    memcpy(colours, accessor(&g, integer_of(attributes, "COLOR_0"), 5126, "VEC3", 5),
           5 * 3 * sizeof(float));
    for (int i = 0; i < 15; i++)
        assert_true(colours[i / 3][i % 3] >= 0 && colours[i / 3][i % 3] <= 1);
    close_glb(&g);
    unlink(path);
    save_without_memory(mesh, path, fields, count);
    remove_path(path);
}

static double brightness(const float colour[3])
{
    return 0.2126 * (double)colour[0] + 0.7152 * (double)colour[1] + 0.0722 * (double)colour[2];
}

static void fields_become_colours(void **state)
{
    (void)state;
    hk_mesh *mesh = two_tet_mesh();
    const double vectors[15] = {0}, rising[5] = {-1e308, -5e307, 0, 5e307, 1e308};
    const double of_tets[2] = {0, 10}, flat[5] = {3, 3, 3, 3, 3}, hole[5] = {0, 1, NAN, 2, 3};
    float colours[5][3];
    const hk_field two[] = {{"u", HK_ON_VERTICES, 3, vectors}, {"h", HK_ON_VERTICES, 1, rising}};
    check_colours(mesh, two, 2, colours);
    for (int i = 1; i < 5; i++) assert_true(brightness(colours[i]) > brightness(colours[i - 1]));
    assert_true(fabs((double)colours[4][0] - 0.982250) < 1e-4);  // yellow, 253 of 255 in sRGB

    const hk_field tets = {"s", HK_ON_TETS, 1, of_tets};
    check_colours(mesh, &tets, 1, colours);
    assert_true(brightness(colours[0]) < brightness(colours[1]));  // 0 is of tet 0 only
    assert_true(brightness(colours[1]) < brightness(colours[4]));  // 1 of both, 4 of tet 1 only
    assert_memory_equal(colours[1], colours[2], sizeof colours[1]);

    const hk_field constant = {"c", HK_ON_VERTICES, 1, flat};
    check_colours(mesh, &constant, 1, colours);
    assert_memory_equal(colours[0], colours[4], sizeof colours[0]);

    const hk_field holed = {"n", HK_ON_VERTICES, 1, hole};
    check_colours(mesh, &holed, 1, colours);
    assert_true(colours[2][0] == colours[2][1] && colours[2][1] == colours[2][2]);
    hk_mesh_free(mesh);
}

static void flat_triangles_still_have_normals(void **state)
{
    (void)state;
    const double line[3][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
    const int32_t triangle[3] = {0, 1, 2};
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_from_arrays(3, line[0], 0, NULL, 1, triangle, &mesh), HK_OK);
    char *path = temporary_path("flat.glb");
    save_mesh(mesh, path, NULL, 0);
    glb g = open_glb(path);
    json_int_t indices;
    json_t *attributes = attributes_of(&g, &indices);
    float normal[3];
    memcpy(normal, accessor(&g, integer_of(attributes, "NORMAL"), 5126, "VEC3", 3), sizeof normal);
    assert_true(normal[0] == 0 && normal[1] == 0 && normal[2] == 1);
    close_glb(&g);
    hk_mesh_free(mesh);
    remove_path(path);
}

// ---------------------------------------------------------------- series

static void a_series_names_its_files(void **state)
{
    (void)state;
    char *path = temporary_path("run.pvd");
    const double times[] = {0, 1.0 / 3, 2.5};
    const char *const files[] = {"run_0.vtu", "sub/run_1.vtu", "a<b>&\"c\".vtu"};
    assert_int_equal(hk_series_save(path, times, files, 3), HK_OK);
    hk_bytes bytes = load_file(path);
    assert_non_null(strstr(bytes.data, "<VTKFile type=\"Collection\""));
    assert_non_null(strstr(bytes.data, "<DataSet timestep=\"0\" part=\"0\" file=\"run_0.vtu\"/>"));
    assert_non_null(strstr(bytes.data, "timestep=\"0.333333333333333\" part=\"0\" "
                                       "file=\"sub/run_1.vtu\"/>"));
    assert_non_null(strstr(bytes.data, "file=\"a&lt;b&gt;&amp;&quot;c&quot;.vtu\"/>"));
    hk_bytes_free(&bytes);
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_status status = hk_series_save(path, times, files, 3);
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        assert_int_equal(status, reached ? HK_NO_MEMORY : HK_OK);
        if (!reached) break;
    }
    assert_int_equal(hk_series_save(path, NULL, NULL, 0), HK_OK);
    remove_path(path);
}

// One by one a series becomes the same file as at once; what is not a series is left alone.
static void a_series_grows_in_place(void **state)
{
    (void)state;
    char *path = temporary_path("run.pvd");
    const double times[] = {0, 1.0 / 3, 2.5};
    const char *const files[] = {"run_0.vtu", "sub/run_1.vtu", "a<b>&\"c\".vtu"};
    assert_int_equal(hk_series_save(path, times, files, 3), HK_OK);
    hk_bytes whole = load_file(path);
    assert_int_equal(hk_series_save(path, times, files, 1), HK_OK);
    for (int k = 1; k < 3; k++) assert_int_equal(hk_series_append(path, times[k], files[k]), HK_OK);
    hk_bytes grown = load_file(path);
    assert_int_equal(grown.size, whole.size);
    assert_memory_equal(grown.data, whole.data, whole.size);
    hk_bytes_free(&grown);
    assert_int_equal(hk_file_save(path, "<VTKFile>\n", 10), HK_OK);
    assert_int_equal(hk_series_append(path, 1, "b"), HK_IO_ERROR);
    grown = load_file(path);
    assert_string_equal(grown.data, "<VTKFile>\n");
    assert_int_equal(hk_series_append("/nowhere/x.pvd", 1, "b"), HK_IO_ERROR);
    assert_int_equal(hk_series_append(path, NAN, "b"), HK_BAD_INPUT);
    assert_int_equal(hk_series_append(NULL, 1, "b"), HK_BAD_INPUT);
    hk_bytes_free(&grown);
    hk_bytes_free(&whole);
    remove_path(path);
}

static void a_wrong_series_is_refused(void **state)
{
    (void)state;
    const double times[] = {0, NAN};
    const char *const files[] = {"a", NULL};
    assert_int_equal(hk_series_save(NULL, times, files, 1), HK_BAD_INPUT);
    assert_int_equal(hk_series_save("x.pvd", times, files, -1), HK_BAD_INPUT);
    assert_int_equal(hk_series_save("x.pvd", NULL, files, 1), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "times is NULL"));
    assert_int_equal(hk_series_save("x.pvd", times, NULL, 1), HK_BAD_INPUT);
    assert_int_equal(hk_series_save("x.pvd", times, files, 2), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "file 1 is NULL"));
    const char *const two[] = {"a", "b"};
    assert_int_equal(hk_series_save("x.pvd", times, two, 2), HK_BAD_INPUT);
    assert_non_null(strstr(hk_error(), "the time of file 1 is not finite"));
    assert_int_not_equal(access("x.pvd", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_surface_is_written),
        cmocka_unit_test(fields_become_colours),
        cmocka_unit_test(flat_triangles_still_have_normals),
        cmocka_unit_test(a_series_names_its_files),
        cmocka_unit_test(a_series_grows_in_place),
        cmocka_unit_test(a_wrong_series_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
