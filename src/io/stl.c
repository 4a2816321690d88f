// STL, text and binary. Vertices are not shared in the file; those of equal coordinates, bit by
// bit, become one. Triangles that lose a corner by this are left out and noted.
#include <math.h>
#include <strings.h>

#include "io/shell.h"
#include "io/soup.h"
#include "io/values.h"

enum { HEADER = 80, RECORD = 50 };  // bytes; a uint32 count stands between

// Vertices by their coordinates: open addressing, at most half full.
typedef struct weld {
    hk_soup soup;
    int32_t *slots;  // [slot_count] vertex or -1
    size_t slot_count;
    size_t flat;  // triangles with a corner twice
} weld;

static void weld_free(weld *w)
{
    hk_soup_free(&w->soup);
    hk_free(w->slots);
}

static size_t hash_position(const double position[3])
{
    uint64_t hash = 0;
    for (int k = 0; k < 3; k++) {
        uint64_t bits;
        memcpy(&bits, &position[k], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (size_t)(hash ^ hash >> 32);
}

// The slot of this position: that of the vertex there, or a free one.
static size_t find_slot(const weld *w, const double position[3])
{
    size_t slot = hash_position(position) & (w->slot_count - 1);
    while (w->slots[slot] >= 0 && memcmp(w->soup.positions + 3 * (size_t)w->slots[slot], position,
                                         3 * sizeof(double)) != 0)
        slot = (slot + 1) & (w->slot_count - 1);
    return slot;
}

static hk_status grow(weld *w)
{
    size_t count = w->slot_count ? 2 * w->slot_count : 64;
    int32_t *slots = HK_ARRAY(int32_t, count);
    if (!slots) return HK_NO_MEMORY;
    memset(slots, 0xff, count * sizeof *slots);
    hk_free(w->slots);
    w->slots = slots;
    w->slot_count = count;
    for (size_t i = 0; i < w->soup.vertex_count; i++)
        slots[find_slot(w, w->soup.positions + 3 * i)] = (int32_t)i;
    return HK_OK;
}

static hk_status weld_vertex(weld *w, double position[3], int32_t *vertex)
{
    for (int k = 0; k < 3; k++) position[k] += 0.0;  // −0 and 0 are the same place
    if (2 * (w->soup.vertex_count + 1) > w->slot_count) HK_TRY(grow(w));
    size_t slot = find_slot(w, position);
    if (w->slots[slot] < 0) {
        HK_TRY(hk_soup_vertices(&w->soup, 1, position));
        w->slots[slot] = (int32_t)w->soup.vertex_count - 1;
    }
    *vertex = w->slots[slot];
    return HK_OK;
}

static hk_status weld_triangle(weld *w, double corners[9])
{
    int32_t v[3];
    for (int k = 0; k < 3; k++) HK_TRY(weld_vertex(w, corners + 3 * k, &v[k]));
    if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) {
        w->flat++;
        return HK_OK;
    }
    return hk_soup_triangle(&w->soup, v[0], v[1], v[2]);
}

// ---------------------------------------------------------------- text

static bool same(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && strncasecmp(word, wanted, length) == 0;
}

static hk_status expect(hk_scan *scan, const char *wanted)
{
    const char *word;
    size_t length;
    HK_TRY(hk_scan_word(scan, wanted, &word, &length));
    if (same(word, length, wanted)) return HK_OK;
    return hk_scan_fail(scan, "expected %s, found \"%s\"", wanted, hk_quote(word, length).text);
}

// After "facet": its normal is not used, and some programs write NaN there.
static hk_status read_facet(hk_scan *scan, weld *w)
{
    double corners[9];
    hk_scan_skip_line(scan);
    HK_TRY(expect(scan, "outer"));
    HK_TRY(expect(scan, "loop"));
    for (int k = 0; k < 9; k++) {
        if (k % 3 == 0) HK_TRY(expect(scan, "vertex"));
        HK_TRY(hk_scan_real(scan, "a coordinate", &corners[k]));
    }
    HK_TRY(expect(scan, "endloop"));
    HK_TRY(expect(scan, "endfacet"));
    return weld_triangle(w, corners);
}

static hk_status read_text(const char *name, const char *data, size_t size, weld *w)
{
    hk_scan scan = hk_scan_begin(name, data, size, 0);
    bool in_solid = false;
    while (hk_scan_more(&scan)) {
        const char *word;
        size_t length;
        HK_TRY(hk_scan_word(&scan, "facet", &word, &length));
        if (in_solid && same(word, length, "facet")) {
            HK_TRY(read_facet(&scan, w));
        } else if (in_solid && same(word, length, "endsolid")) {
            hk_scan_skip_line(&scan);
            in_solid = false;
        } else if (!in_solid && same(word, length, "solid")) {
            hk_scan_skip_line(&scan);
            in_solid = true;
        } else {
            return hk_scan_fail(&scan, "expected %s, found \"%s\"",
                                in_solid ? "facet or endsolid" : "solid",
                                hk_quote(word, length).text);
        }
    }
    if (in_solid) return hk_scan_fail(&scan, "the file ends where endsolid was expected");
    return HK_OK;
}

// ---------------------------------------------------------------- binary

static size_t binary_size(const char *data)
{
    int64_t count;
    hk_value_int(HK_VALUE_UINT32, hk_must_swap(true), data + HEADER, &count);
    return HEADER + 4 + RECORD * (size_t)count;
}

// Binary files may begin with "solid" too: then their length gives them away, or bytes that no
// text has.
static bool is_text(const char *data, size_t size)
{
    size_t blank = 0;
    while (blank < size && (data[blank] == ' ' || (data[blank] >= '\t' && data[blank] <= '\r')))
        blank++;
    if (size - blank < 5 || strncasecmp(data + blank, "solid", 5) != 0) return false;
    if (size >= HEADER + 4 && binary_size(data) == size) return false;
    size_t looked_at = size < 512 ? size : 512;
    for (size_t i = 0; i < looked_at; i++)
        if ((unsigned char)data[i] < '\t') return false;
    return true;
}

static hk_status read_binary(const char *name, const char *data, size_t size, weld *w,
                             size_t *trailing)
{
    if (size < HEADER + 4)
        return hk_fail(HK_BAD_INPUT,
                       "%s: byte %zu: the file ends within the header: expected \"solid …\" or a "
                       "binary STL of at least %d bytes",
                       name, size, HEADER + 4);
    size_t announced = binary_size(data), count = (announced - HEADER - 4) / RECORD;
    if (announced > size)
        return hk_fail(HK_BAD_INPUT,
                       "%s: byte %d: %zu triangles need %zu bytes, but the file has %zu", name,
                       HEADER, count, announced, size);
    *trailing = size - announced;
    for (size_t i = 0; i < count; i++) {
        size_t offset = HEADER + 4 + RECORD * i + 12;  // after the normal, which is not used
        hk_values values = {.name = name,
                            .bytes = (const unsigned char *)data + offset,
                            .size = 36,
                            .offset = offset,
                            .type = HK_VALUE_FLOAT32,
                            .swap = hk_must_swap(true)};
        double corners[9];
        HK_TRY(hk_values_reals(&values, 9, "a coordinate", corners));
        HK_TRY(weld_triangle(w, corners));
    }
    return HK_OK;
}

static hk_status finish(const char *name, const weld *w, size_t trailing, hk_mesh **mesh)
{
    if (!w->soup.triangle_count)
        return hk_fail(HK_BAD_INPUT, "%s: expected triangles, found %s", name,
                       w->flat ? "only some whose corners coincide" : "none");
    HK_TRY(hk_soup_mesh(&w->soup, mesh));
    if (w->flat)
        HK_TRY(hk_mesh_add_note(*mesh, "left out: %zu triangle%s whose corners coincide", w->flat,
                                w->flat == 1 ? "" : "s"));
    if (trailing)
        HK_TRY(hk_mesh_add_note(*mesh, "%zu bytes after the last triangle passed over", trailing));
    return HK_OK;
}

static hk_status read_stl(const char *name, const char *data, size_t size, hk_mesh **mesh)
{
    weld w = {0};
    size_t trailing = 0;
    hk_mesh *made = NULL;
    hk_status status = is_text(data, size) ? read_text(name, data, size, &w)
                                           : read_binary(name, data, size, &w, &trailing);
    if (status == HK_OK) status = finish(name, &w, trailing, &made);
    weld_free(&w);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

// ---------------------------------------------------------------- writing

static void put_float(unsigned char *at, double value)
{
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (hk_must_swap(true)) bits = __builtin_bswap32(bits);
    memcpy(at, &bits, sizeof bits);
}

static hk_status write_stl(hk_out *out, const hk_mesh *mesh, const hk_field *fields,
                           int field_count)
{
    (void)fields;
    (void)field_count;
    hk_shell shell;
    HK_TRY(hk_shell_of(mesh, ".stl", &shell));
    hk_status status = hk_shell_fits_float(&shell, ".stl");
    if (status != HK_OK) {
        hk_shell_free(&shell);
        return status;
    }
    char header[HEADER + 4] = "binary STL by Hooke";
    uint32_t count = (uint32_t)shell.triangle_count;
    if (hk_must_swap(true)) count = __builtin_bswap32(count);
    memcpy(header + HEADER, &count, sizeof count);
    hk_out_bytes(out, header, sizeof header);
    for (int i = 0; i < shell.triangle_count; i++) {
        const int32_t *corners = shell.triangles + 3 * (size_t)i;
        unsigned char record[RECORD] = {0};
        double normal[3];
        hk_triangle_normal(shell.positions, corners, normal);
        double length = sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
        bool sound = length > 0 && isfinite(length);
        for (int k = 0; k < 3; k++) {
            put_float(record + 4 * k, sound ? normal[k] / length : 0.0);
            for (int c = 0; c < 3; c++)
                put_float(record + 12 + 12 * c + 4 * k,
                          shell.positions[3 * (size_t)corners[c] + (size_t)k]);
        }
        hk_out_bytes(out, record, sizeof record);
    }
    hk_shell_free(&shell);
    return HK_OK;
}

const hk_format hk_stl_format = {
    .endings = {".stl"},
    .surface = true,
    .read = read_stl,
    .write = write_stl,
};
