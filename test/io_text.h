// What the tests of the file formats share: text or bytes written by the test itself, a folder for
// files, and questions about a mesh that was read.
#ifndef IO_TEXT_H
#define IO_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "io/io.h"
#include "skipping.h"

// A file in memory, written piece by piece.
typedef struct io_text {
    char bytes[16384];
    size_t size;
    bool swapped;  // numbers in the byte order that is not this machine's
} io_text;

static inline void put_bytes(io_text *text, const void *bytes, size_t size)
{
    assert_true(text->size + size <= sizeof text->bytes);
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

static inline void put_number(io_text *text, const void *bytes, size_t size)
{
    char turned[8];
    for (size_t i = 0; i < size; i++)
        turned[i] = ((const char *)bytes)[text->swapped ? size - 1 - i : i];
    put_bytes(text, turned, size);
}

static inline void put(io_text *text, const char *line)
{
    put_bytes(text, line, strlen(line));
}
static inline void put_int(io_text *text, int32_t value)
{
    put_number(text, &value, 4);
}
static inline void put_size(io_text *text, uint64_t value)
{
    put_number(text, &value, 8);
}
static inline void put_real(io_text *text, double value)
{
    put_number(text, &value, 8);
}

// The notes of a mesh, one a line.
static inline const char *notes_of(const hk_mesh *mesh)
{
    static char all[4096];
    all[0] = '\0';
    for (int n = 0; n < hk_mesh_note_count(mesh); n++) {
        strncat(all, hk_mesh_note(mesh, n), sizeof all - strlen(all) - 2);
        strcat(all, "\n");
    }
    return all;
}

static inline void assert_contains(const char *text, const char *fragment)
{
    if (!strstr(text, fragment)) fail_msg("\"%s\" lacks \"%s\"", text, fragment);
}

static inline void assert_note(const hk_mesh *mesh, const char *fragment)
{
    assert_contains(notes_of(mesh), fragment);
}

// The group of that name must have that dimension and those items.
static inline void assert_group(const hk_mesh *mesh, const char *name, int dimension, int count,
                                const int32_t *items)
{
    const hk_group *found = NULL;
    for (int g = 0; g < mesh->group_count && !found; g++)
        if (strcmp(mesh->groups[g].name, name) == 0 && mesh->groups[g].dimension == dimension)
            found = &mesh->groups[g];
    if (!found) fail_msg("no group \"%s\" of dimension %d", name, dimension);
    assert_int_equal(found->count, count);
    assert_memory_equal(found->items, items, (size_t)count * sizeof(int32_t));
}

// A file that must be refused, with a message that has this fragment.
typedef struct bad_file {
    const char *text;
    const char *message;
} bad_file;
typedef hk_status read_fn(const char *name, const char *data, size_t size, hk_mesh **mesh);

static inline void assert_refused(read_fn *read, const char *name, const void *data, size_t size,
                                  const char *message)
{
    // An exact copy: the sanitizer sees a read beyond the end.
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    hk_mesh *mesh = NULL;
    hk_status status = read(name, copy, size, &mesh);
    free(copy);
    assert_null(mesh);
    assert_true(status == HK_BAD_INPUT || status == HK_UNSUPPORTED);
    assert_contains(hk_error(), message);
}

// Every prefix of a good file is read or refused, and never more than that.
static inline void try_all_prefixes(read_fn *read, const char *data, size_t size)
{
    for (size_t length = 0; length <= size; length++) {
        char *copy = malloc(length ? length : 1);
        assert_non_null(copy);
        memcpy(copy, data, length);
        hk_mesh *mesh = NULL;
        hk_status status = read("prefix", copy, length, &mesh);
        assert_true((status == HK_OK) == (mesh != NULL));
        hk_mesh_free(mesh);
        free(copy);
    }
}

// The n-th allocation fails, for every n that the reader reaches: nothing leaks.
static inline void try_failing_allocations(read_fn *read, const char *data, size_t size)
{
    for (int n = 1;; n++) {
        failing_alloc_install(n);
        hk_mesh *mesh = NULL;
        hk_status status = read("alloc", data, size, &mesh);
        bool reached = failing_alloc_count() >= n;
        assert_true((status == HK_OK) == (mesh != NULL));
        hk_mesh_free(mesh);
        assert_int_equal(failing_alloc_live(), 0);
        failing_alloc_remove();
        if (!reached) {
            assert_int_equal(status, HK_OK);
            break;
        }
        assert_int_equal(status, HK_NO_MEMORY);
    }
}

// A new folder for the files of one test; ends with '/'.
static inline const char *make_folder(void)
{
    static char folder[64];
    strcpy(folder, "/tmp/hooke-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    strcat(folder, "/");
    return folder;
}

static inline void remove_folder(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static inline void save_text(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

#endif
