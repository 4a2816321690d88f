// For tests of the file formats: files built in memory byte by byte, readers that must succeed or
// fail with a message, temporary folders, and every allocation failing once.
#ifndef MESH_FILE_CHECKS_H
#define MESH_FILE_CHECKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "failing_alloc.h"
#include "io/io.h"

typedef hk_status reader_fn(const char *name, const char *data, size_t size, hk_mesh **mesh);

// ---------------------------------------------------------------- bytes

typedef struct buffer {
    char *data;
    size_t size, room;
} buffer;

static inline void put(buffer *b, const void *bytes, size_t size)
{
    if (b->size + size + 1 > b->room) {
        b->room = 2 * (b->size + size) + 64;
        b->data = realloc(b->data, b->room);
        assert_non_null(b->data);
    }
    if (size) memcpy(b->data + b->size, bytes, size);
    b->size += size;
    b->data[b->size] = '\0';
}

__attribute__((format(printf, 2, 3))) static inline void putf(buffer *b, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, sizeof text - 1);
    put(b, text, (size_t)length);
}

// The low `size` bytes of a number, in either order.
static inline void put_int(buffer *b, uint64_t value, int size, bool big_endian)
{
    for (int i = 0; i < size; i++) {
        int shift = 8 * (big_endian ? size - 1 - i : i);
        unsigned char byte = (unsigned char)(value >> shift);
        put(b, &byte, 1);
    }
}

static inline void put_real(buffer *b, double value, int size, bool big_endian)
{
    uint64_t bits = 0;
    float single = (float)value;
    uint32_t half;
    memcpy(&half, &single, 4);
    memcpy(&bits, &value, 8);
    put_int(b, size == 4 ? half : bits, size, big_endian);
}

static inline void put_base64(buffer *b, const char *bytes, size_t size)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < size ? (unsigned char)bytes[i + k] : 0);
        char group[4];
        for (int k = 0; k < 4; k++) group[k] = letters[bits >> (18 - 6 * k) & 63];
        if (i + 1 >= size) group[2] = '=';
        if (i + 2 >= size) group[3] = '=';
        put(b, group, 4);
    }
}

static inline void drop(buffer *b)
{
    free(b->data);
    *b = (buffer){0};
}

// ---------------------------------------------------------------- reading

// Reads and finishes; the test fails if that fails. The bytes are copied to a block of their exact
// size, so that sanitizers see a step beyond them.
static inline hk_mesh *read_bytes(reader_fn *read, const char *data, size_t size)
{
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    copy[size] = '\0';
    hk_mesh *mesh = NULL;
    hk_status status = read("mesh", copy, size, &mesh);
    if (status == HK_OK) status = hk_mesh_finish(mesh, "mesh");
    if (status != HK_OK) fail_msg("%s", hk_error());
    free(copy);
    return mesh;
}

static inline hk_mesh *read_text(reader_fn *read, const char *text)
{
    return read_bytes(read, text, strlen(text));
}

// Must fail with a message that begins with "mesh" and holds `fragment`; no mesh comes out.
static inline void read_fails(reader_fn *read, const char *data, size_t size, const char *fragment)
{
    hk_mesh *mesh = (hk_mesh *)&size;
    hk_status status = read("mesh", data, size, &mesh);
    if (status == HK_OK) fail_msg("read, but expected \"%s\"", fragment);
    assert_ptr_equal(mesh, &size);
    if (!strstr(hk_error(), fragment) || strncmp(hk_error(), "mesh:", 5) != 0)
        fail_msg("expected \"mesh:… %s\", found \"%s\"", fragment, hk_error());
}

typedef struct bad_file {
    const char *text, *fragment;
} bad_file;

static inline void all_fail(reader_fn *read, const bad_file *files, int count)
{
    for (int i = 0; i < count; i++)
        read_fails(read, files[i].text, strlen(files[i].text), files[i].fragment);
}

// Every beginning of a file either fails with a message or is a mesh; `whole` of them must fail.
static inline void cut_anywhere(reader_fn *read, const char *data, size_t size, size_t must_fail)
{
    for (size_t length = 0; length < size; length++) {
        char *copy = malloc(length + 1);
        assert_non_null(copy);
        memcpy(copy, data, length);
        copy[length] = '\0';
        hk_mesh *mesh = NULL;
        hk_status status = read("mesh", copy, length, &mesh);
        if (status == HK_OK) {
            if (length < must_fail) fail_msg("read from only %zu bytes", length);
            assert_int_equal(hk_mesh_finish(mesh, "mesh"), HK_OK);
            hk_mesh_free(mesh);
        } else {
            assert_true(strncmp(hk_error(), "mesh:", 5) == 0);
        }
        free(copy);
    }
}

static inline void read_without_memory(reader_fn *read, const char *data, size_t size)
{
    for (int n = 1;; n++) {
        assert_true(n < 10000);
        failing_alloc_install(n);
        hk_mesh *mesh = NULL;
        hk_status status = read("mesh", data, size, &mesh);
        bool reached = failing_alloc_count() >= n;
        if (status == HK_OK) hk_mesh_free(mesh);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) {
            assert_int_equal(status, HK_OK);
            break;
        }
        assert_int_equal(status, HK_NO_MEMORY);
        if (mesh) fail_msg("a mesh in spite of failure %d", n);
    }
}

static inline void has_note(const hk_mesh *mesh, const char *fragment)
{
    for (int i = 0; i < hk_mesh_note_count(mesh); i++)
        if (strstr(hk_mesh_note(mesh, i), fragment)) return;
    fail_msg("no note with \"%s\"", fragment);
}

// ---------------------------------------------------------------- files

// A path in a new temporary folder; remove_path takes both away.
static inline char *temporary_path(const char *file)
{
    static char path[512];
    const char *base = getenv("TMPDIR");
    char folder[256];
    snprintf(folder, sizeof folder, "%s/hooke_test_XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return path;
}

static inline void remove_path(char *path)
{
    unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);  // nothing else was left there
}

static inline hk_bytes load_file(const char *path)
{
    hk_bytes bytes;
    if (hk_bytes_load(path, &bytes) != HK_OK) fail_msg("%s", hk_error());
    return bytes;
}

static inline hk_mesh *load_mesh(const char *path)
{
    hk_mesh *mesh = NULL;
    if (hk_mesh_load(path, &mesh) != HK_OK) fail_msg("%s", hk_error());
    return mesh;
}

static inline void save_mesh(const hk_mesh *mesh, const char *path, const hk_field *fields,
                             int field_count)
{
    if (hk_mesh_save(mesh, path, fields, field_count) != HK_OK) fail_msg("%s", hk_error());
}

static inline void save_without_memory(const hk_mesh *mesh, const char *path,
                                       const hk_field *fields, int field_count)
{
    for (int n = 1;; n++) {
        assert_true(n < 10000);
        failing_alloc_install(n);
        hk_status status = hk_mesh_save(mesh, path, fields, field_count);
        bool reached = failing_alloc_count() >= n;
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) {
            assert_int_equal(status, HK_OK);
            break;
        }
        assert_int_equal(status, HK_NO_MEMORY);
        assert_int_not_equal(access(path, F_OK), 0);
    }
}

static inline void same_geometry(const hk_mesh *a, const hk_mesh *b)
{
    assert_int_equal(a->vertex_count, b->vertex_count);
    assert_int_equal(a->tet_count, b->tet_count);
    assert_int_equal(a->triangle_count, b->triangle_count);
    assert_memory_equal(a->positions, b->positions, 3 * sizeof(double) * (size_t)a->vertex_count);
    assert_memory_equal(a->tets, b->tets, 4 * sizeof(int32_t) * (size_t)a->tet_count);
    assert_memory_equal(a->triangles, b->triangles,
                        3 * sizeof(int32_t) * (size_t)a->triangle_count);
}

// ---------------------------------------------------------------- a small mesh

// Two tets over one triangle, with coordinates that text must not round.
static const double two_positions[5][3] = {
    {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1.0 / 3}, {1.1, 1, 1e-7 + 1}};
static const int32_t two_tets[2][4] = {{0, 1, 2, 3}, {1, 2, 3, 4}};
static const int32_t two_triangles[4][3] = {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}};

static inline hk_mesh *two_tet_mesh(void)
{
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_from_arrays(5, two_positions[0], 2, two_tets[0], 0, NULL, &mesh),
                     HK_OK);
    return mesh;
}

// Vertex 4 belongs to no triangle.
static inline hk_mesh *surface_mesh(void)
{
    hk_mesh *mesh = NULL;
    assert_int_equal(hk_mesh_from_arrays(5, two_positions[0], 0, NULL, 4, two_triangles[0], &mesh),
                     HK_OK);
    return mesh;
}

#endif
