// Medit .mesh (text): keywords, each followed by a count and as many records.
#include "io/collect.h"

#include <stdio.h>

typedef struct medit {
    hk_scan scan;
    hk_collect collect;
    bool has_vertices;
} medit;

typedef struct element_keyword {
    const char *keyword;
    hk_element_shape shape;
    int nodes;  // before the reference
    bool high_order;
} element_keyword;

static const element_keyword g_elements[] = {
    {"Edges", HK_ELEMENT_LINE, 2, false},
    {"Triangles", HK_ELEMENT_TRIANGLE, 3, false},
    {"TrianglesP2", HK_ELEMENT_TRIANGLE, 6, true},
    {"Quadrilaterals", HK_ELEMENT_QUAD, 4, false},
    {"Tetrahedra", HK_ELEMENT_TET, 4, false},
    {"TetrahedraP2", HK_ELEMENT_TET, 10, true},
    {"Hexahedra", HK_ELEMENT_HEX, 8, false},
    {"Hexaedra", HK_ELEMENT_HEX, 8, false},  // so spelt by older programs
    {"Prisms", HK_ELEMENT_PRISM, 6, false},
    {"Pyramids", HK_ELEMENT_PYRAMID, 5, false},
};

// ---------------------------------------------------------------- vertices

static hk_status read_vertices(medit *m)
{
    static const char *const axes[3] = {"its x coordinate", "its y coordinate", "its z coordinate"};
    hk_scan *scan = &m->scan;
    hk_collect *collect = &m->collect;
    if (m->has_vertices) return hk_scan_fail(scan, "a second list of Vertices");
    int count;
    HK_TRY(hk_scan_count(scan, "the number of vertices", 8, &count));
    scan->item = "vertex";
    for (int v = 0; v < count; ++v) {
        double position[3];
        int64_t reference;
        int group;
        scan->number = v + 1;
        for (int i = 0; i < 3; ++i) HK_TRY(hk_scan_real(scan, axes[i], &position[i]));
        HK_TRY(hk_scan_int(scan, "its reference", &reference));
        HK_TRY(hk_collect_vertex(collect, v + 1, position));
        HK_TRY(hk_collect_group_of(collect, 0, reference, &group));
        HK_TRY(hk_collect_join(collect, group, v));
    }
    scan->item = NULL;
    m->has_vertices = true;
    return hk_collect_number(collect, NULL);
}

// ---------------------------------------------------------------- elements

// References of edges, and of what is left out, would only make groups of nothing.
static bool has_group(hk_element_shape shape)
{
    return shape == HK_ELEMENT_TET || shape == HK_ELEMENT_TRIANGLE || shape == HK_ELEMENT_QUAD;
}

static hk_status read_element(medit *m, const element_keyword *kind)
{
    hk_scan *scan = &m->scan;
    int32_t corners[10];
    for (int i = 0; i < kind->nodes; ++i) {
        int64_t id;
        HK_TRY(hk_scan_int(scan, "a vertex number", &id));
        corners[i] = hk_collect_find(&m->collect, id);
        if (corners[i] < 0)
            return hk_scan_fail(scan, "names vertex %lld, but there are %zu, numbered from 1",
                                (long long)id, m->collect.soup.vertex_count);
    }
    int64_t reference;
    HK_TRY(hk_scan_int(scan, "its reference", &reference));
    int group = 0, group_count = has_group(kind->shape);
    if (group_count)
        HK_TRY(
            hk_collect_group_of(&m->collect, hk_element_dimension(kind->shape), reference, &group));
    return hk_collect_element(&m->collect, kind->shape, kind->high_order, corners, group_count,
                              &group);
}

static hk_status read_elements(medit *m, const element_keyword *kind)
{
    hk_scan *scan = &m->scan;
    if (!m->has_vertices) return hk_scan_fail(scan, "%s must come after Vertices", kind->keyword);
    int count;
    char what[64];
    snprintf(what, sizeof what, "the number of %s", kind->keyword);
    HK_TRY(hk_scan_count(scan, what, 2 * (size_t)kind->nodes + 2, &count));
    scan->item = hk_element_name(kind->shape);
    for (int e = 0; e < count; ++e) {
        scan->number = e + 1;
        HK_TRY(read_element(m, kind));
    }
    scan->item = NULL;
    return HK_OK;
}

// ---------------------------------------------------------------- keywords

static bool starts_keyword(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// Whatever a keyword is, its values are numbers: the next word begins the next keyword.
static hk_status skip_values(medit *m, const char *keyword, size_t length)
{
    const char *word;
    size_t ignored;
    while (hk_scan_more(&m->scan) && !starts_keyword(*m->scan.at))
        HK_TRY(hk_scan_word(&m->scan, "a value", &word, &ignored));
    hk_collect_skipped(&m->collect, keyword, length);
    return HK_OK;
}

static hk_status read_keyword(medit *m, const char *word, size_t length)
{
    for (int k = 0; k < HK_COUNT_OF(g_elements); ++k)
        if (strlen(g_elements[k].keyword) == length &&
            memcmp(word, g_elements[k].keyword, length) == 0)
            return read_elements(m, &g_elements[k]);
    if (length == 8 && memcmp(word, "Vertices", 8) == 0) return read_vertices(m);
    if (length == 9 && memcmp(word, "Dimension", 9) == 0) {
        int64_t dimension;
        HK_TRY(hk_scan_int(&m->scan, "the dimension", &dimension));
        if (dimension == 3) return HK_OK;
        return hk_scan_fail(&m->scan, "a mesh of dimension %lld: only 3 can be read",
                            (long long)dimension);
    }
    return skip_values(m, word, length);
}

static hk_status read_all(medit *m)
{
    hk_scan *scan = &m->scan;
    if (!hk_scan_accept(scan, "MeshVersionFormatted")) {
        const char *word;
        size_t length;
        HK_TRY(hk_scan_word(scan, "MeshVersionFormatted", &word, &length));
        return hk_scan_fail(scan,
                            "expected MeshVersionFormatted, found \"%s\": not a Medit mesh "
                            "in text form",
                            hk_quote(word, length).text);
    }
    int64_t version;
    HK_TRY(hk_scan_int(scan, "the version of the format", &version));
    bool ended = false;
    while (!ended && hk_scan_more(scan)) {
        const char *word;
        size_t length;
        if (!starts_keyword(*scan->at)) {
            hk_scan ahead = *scan;
            HK_TRY(hk_scan_word(&ahead, "a keyword", &word, &length));
            return hk_scan_fail(scan,
                                "expected a keyword, found \"%s\": is the count before wrong?",
                                hk_quote(word, length).text);
        }
        HK_TRY(hk_scan_word(scan, "a keyword", &word, &length));
        ended = length == 3 && memcmp(word, "End", 3) == 0;
        if (!ended) HK_TRY(read_keyword(m, word, length));
    }
    if (!m->has_vertices) return hk_scan_fail(scan, "the file ends without Vertices");
    return HK_OK;
}

static hk_status read_medit(const char *name, const char *data, size_t size, hk_mesh **mesh)
{
    medit m = {.scan = hk_scan_begin(name, data, size, '#'),
               .collect = {.name = name, .drop_lone_groups = true}};
    hk_mesh *made = NULL;
    hk_status status = read_all(&m);
    if (status == HK_OK) status = hk_collect_mesh(&m.collect, &made);
    hk_collect_free(&m.collect);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

const hk_format hk_medit_format = {
    .endings = {".mesh"},
    .read = read_medit,
};
