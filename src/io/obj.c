// Wavefront .obj: vertices and faces, or, where it has no faces, lines. Polygons become fans of
// triangles; texture coordinates, normals, groups and materials are passed over.
#include <inttypes.h>
#include <limits.h>

#include "io/shell.h"
#include "io/soup.h"

typedef struct obj_reader {
    hk_scan scan;
    hk_soup soup;
    int32_t *corners;  // of the face being read
    size_t corner_capacity;
    // Faces may name vertices that come later: the farthest of them, to be checked at the end.
    int64_t farthest;
    int farthest_line;
    const char *farthest_what;
    size_t polylines;
    size_t other_elements;  // points, curves and surfaces, and lines beside faces
    size_t unknown;         // lines with a word that .obj does not have
    int unknown_line;
    hk_quoted unknown_word;
} obj_reader;

// Whether the statement goes on; a backslash at the end of a line continues it on the next.
static bool more_values(hk_scan *scan)
{
    while (hk_scan_more_on_line(scan)) {
        if (*scan->at != '\\') return true;
        const char *next = scan->at + 1;
        if (next < scan->end && *next == '\r') next++;
        if (next < scan->end && *next != '\n') return true;
        hk_scan_skip_line(scan);
    }
    return false;
}

// Whether a token's last letter is the backslash that continues the line (there need not be a
// space before it).
static bool continues(const hk_scan *scan, const char *word, size_t length)
{
    if (length < 2 || word[length - 1] != '\\') return false;
    const char *next = word + length;
    if (next < scan->end && *next == '\r') next++;
    return next >= scan->end || *next == '\n';
}

static void skip_statement(hk_scan *scan)
{
    while (more_values(scan)) {
        const char *word;
        size_t length;
        if (hk_scan_word(scan, "", &word, &length) != HK_OK) return;
        if (continues(scan, word, length)) hk_scan_skip_line(scan);
    }
}

static hk_status read_vertex(obj_reader *reader)
{
    static const char *const names[] = {"x of a vertex", "y of a vertex", "z of a vertex"};
    double position[3];
    for (int k = 0; k < 3; k++) {
        if (!more_values(&reader->scan))
            return hk_scan_fail(&reader->scan, "expected %s, found the end of the line", names[k]);
        HK_TRY(hk_scan_real(&reader->scan, names[k], &position[k]));
    }
    skip_statement(&reader->scan);  // a weight or a colour
    return hk_soup_vertices(&reader->soup, 1, position);
}

// "7", "7/1", "7//3", "-1/-1/-1": only the first number matters. `what`: "a corner of a face".
static hk_status read_corner(obj_reader *reader, const char *what, int32_t *corner)
{
    hk_scan *scan = &reader->scan;
    const char *word;
    size_t length;
    HK_TRY(hk_scan_word(scan, what, &word, &length));
    if (continues(scan, word, length)) scan->at = word + --length;
    size_t at = 0;
    bool negative = word[0] == '-';
    at += negative || word[0] == '+';
    size_t digits = at;
    int64_t number = 0;
    for (; at < length && word[at] >= '0' && word[at] <= '9'; at++)
        if (number <= INT_MAX) number = 10 * number + (word[at] - '0');
    bool good = at > digits && (at == length || word[at] == '/');
    for (size_t i = at; i < length && good; i++)
        good = word[i] == '/' || word[i] == '-' || (word[i] >= '0' && word[i] <= '9');
    if (!good)
        return hk_scan_fail(scan, "expected %s (v, v/vt or v/vt/vn), found \"%s\"", what,
                            hk_quote(word, length).text);
    int64_t count = (int64_t)reader->soup.vertex_count;
    if (number == 0) return hk_scan_fail(scan, "%s is vertex 0, but they count from 1", what);
    if (negative && number > count)
        return hk_scan_fail(
            scan, "%s is vertex -%" PRId64 ", but only %" PRId64 " vertices come before it", what,
            number, count);
    if (number > INT_MAX)
        return hk_scan_fail(scan, "%s is vertex \"%s\", which is too large", what,
                            hk_quote(word, length).text);
    if (negative) number = count + 1 - number;
    if (number > reader->farthest) {
        reader->farthest = number;
        reader->farthest_line = scan->line;
        reader->farthest_what = what;
    }
    *corner = (int32_t)(number - 1);
    return HK_OK;
}

static hk_status read_corners(obj_reader *reader, const char *what, size_t *count)
{
    *count = 0;
    while (more_values(&reader->scan)) {
        HK_TRY(hk_reserve((void **)&reader->corners, *count, sizeof(int32_t),
                          &reader->corner_capacity, *count + 1));
        HK_TRY(read_corner(reader, what, &reader->corners[(*count)++]));
    }
    return HK_OK;
}

static hk_status read_face(obj_reader *reader)
{
    size_t count;
    HK_TRY(read_corners(reader, "a corner of a face", &count));
    if (count < 3)
        return hk_scan_fail(&reader->scan, "expected at least 3 corners of a face, found %zu",
                            count);
    return hk_soup_polygon(&reader->soup, reader->corners, count);
}

static hk_status read_polyline(obj_reader *reader)
{
    size_t count;
    HK_TRY(read_corners(reader, "a vertex of a line", &count));
    if (count < 2)
        return hk_scan_fail(&reader->scan, "expected at least 2 vertices of a line, found %zu",
                            count);
    for (size_t k = 1; k < count; k++)
        HK_TRY(hk_soup_line(&reader->soup, reader->corners[k - 1], reader->corners[k]));
    reader->polylines++;
    return HK_OK;
}

static bool is_one_of(const char *word, size_t length, const char *const *list)
{
    for (; *list; list++)
        if (strlen(*list) == length && memcmp(*list, word, length) == 0) return true;
    return false;
}

static hk_status read_statement(obj_reader *reader)
{
    static const char *const passed_over[] = {
        "vt",        "vn",     "vp",     "g",        "o",        "s",    "mg",
        "usemtl",    "mtllib", "bevel",  "c_interp", "d_interp", "lod",  "shadow_obj",
        "trace_obj", "maplib", "usemap", "deg",      "bmat",     "step", "cstype",
        "parm",      "trim",   "hole",   "scrv",     "sp",       "end",  "con",
        "call",      "csh",    "ctech",  "stech",    NULL};
    static const char *const elements[] = {"p", "curv", "curv2", "surf", NULL};
    const char *word;
    size_t length;
    hk_scan *scan = &reader->scan;
    HK_TRY(hk_scan_word(scan, "a statement", &word, &length));
    if (length == 1 && word[0] == 'v') return read_vertex(reader);
    if (length == 1 && word[0] == 'f') return read_face(reader);
    if (length == 2 && word[0] == 'f' && word[1] == 'o') return read_face(reader);
    if (length == 1 && word[0] == 'l') return read_polyline(reader);
    if (is_one_of(word, length, elements)) {
        reader->other_elements++;
    } else if (!is_one_of(word, length, passed_over)) {
        if (!reader->unknown++) {
            reader->unknown_line = scan->line;
            reader->unknown_word = hk_quote(word, length);
        }
    }
    skip_statement(scan);
    return HK_OK;
}

static hk_status read_statements(obj_reader *reader)
{
    while (hk_scan_more(&reader->scan)) HK_TRY(read_statement(reader));
    const char *name = reader->scan.name;
    if (reader->farthest > (int64_t)reader->soup.vertex_count)
        return hk_fail(HK_BAD_INPUT,
                       "%s:%d: %s is vertex %" PRId64 ", but the file has %zu vertices", name,
                       reader->farthest_line, reader->farthest_what, reader->farthest,
                       reader->soup.vertex_count);
    if (reader->soup.triangle_count) {  // lines drawn on a surface
        reader->other_elements += reader->polylines;
        reader->soup.line_count = 0;
    }
    if (reader->soup.triangle_count || reader->soup.line_count) return HK_OK;
    if (reader->unknown)
        return hk_fail(HK_BAD_INPUT,
                       "%s:%d: expected a statement of .obj, found \"%s\"; there are no faces",
                       name, reader->unknown_line, reader->unknown_word.text);
    return hk_fail(HK_BAD_INPUT, "%s:%d: expected faces (\"f …\"), found the end of the file", name,
                   reader->scan.line);
}

static hk_status add_notes(const obj_reader *reader, hk_mesh *mesh)
{
    if (reader->other_elements)
        HK_TRY(hk_mesh_add_note(mesh, "left out: %zu points, lines, curves or surfaces",
                                reader->other_elements));
    if (reader->unknown)
        HK_TRY(hk_mesh_add_note(mesh,
                                "%zu line%s passed over that .obj does not know (\"%s\" in "
                                "line %d first)",
                                reader->unknown, reader->unknown == 1 ? "" : "s",
                                reader->unknown_word.text, reader->unknown_line));
    return HK_OK;
}

static hk_status read_obj(const char *name, const char *data, size_t size, hk_mesh **mesh)
{
    obj_reader reader = {.scan = hk_scan_begin(name, data, size, '#')};
    hk_mesh *made = NULL;
    hk_status status = read_statements(&reader);
    if (status == HK_OK) status = hk_soup_mesh(&reader.soup, &made);
    if (status == HK_OK) status = add_notes(&reader, made);
    hk_soup_free(&reader.soup);
    hk_free(reader.corners);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

static void write_vertices(hk_out *out, int count, const double *positions)
{
    for (int i = 0; i < count; i++) {
        const double *p = positions + 3 * (size_t)i;
        hk_out_text(out, "v %.17g %.17g %.17g\n", p[0], p[1], p[2]);
    }
}

// Lines that run on are one statement.
static void write_polylines(hk_out *out, const hk_mesh *mesh)
{
    hk_out_text(out, "# Hooke: %d vertices, %d lines\n", mesh->vertex_count, mesh->line_count);
    write_vertices(out, mesh->vertex_count, mesh->positions);
    for (int i = 0; i < mesh->line_count; i++) {
        const int32_t *l = mesh->lines + 2 * (size_t)i;
        if (i == 0 || l[-1] != l[0]) hk_out_text(out, "%sl %d", i ? "\n" : "", l[0] + 1);
        hk_out_text(out, " %d", l[1] + 1);
    }
    hk_out_text(out, "\n");
}

static hk_status write_obj(hk_out *out, const hk_mesh *mesh, const hk_field *fields,
                           int field_count)
{
    (void)fields;
    (void)field_count;
    if (mesh->line_count && !mesh->tet_count && !mesh->triangle_count) {
        write_polylines(out, mesh);
        return HK_OK;
    }
    hk_shell shell;
    HK_TRY(hk_shell_of(mesh, ".obj", &shell));
    hk_out_text(out, "# Hooke: %d vertices, %d triangles\n", shell.vertex_count,
                shell.triangle_count);
    write_vertices(out, shell.vertex_count, shell.positions);
    for (int i = 0; i < shell.triangle_count; i++) {
        const int32_t *t = shell.triangles + 3 * (size_t)i;
        hk_out_text(out, "f %d %d %d\n", t[0] + 1, t[1] + 1, t[2] + 1);
    }
    hk_shell_free(&shell);
    return HK_OK;
}

const hk_format hk_obj_format = {
    .endings = {".obj"},
    .surface = true,
    .read = read_obj,
    .write = write_obj,
};
