// TetGen's .node (vertices) and .ele (tets), which come as a pair. Numbers may begin with 0 or 1.
#include "io/collect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mesh/quadratic.h"

typedef struct header {
    int count;
    int64_t second;      // dimension of nodes, nodes a tet
    int64_t attributes;  // numbers after each
    int64_t markers;     // of nodes: 1 if each ends with a boundary marker
} header;

// One line: a count and up to three numbers, of which the last may be left out.
static hk_status read_header(hk_scan *scan, const char *what, size_t least_bytes, header *h)
{
    static const char *const names[3] = {"the second number of the header",
                                         "the number of attributes",
                                         "whether there are boundary markers (0 or 1)"};
    HK_TRY(hk_scan_count(scan, what, least_bytes, &h->count));
    int64_t *const values[3] = {&h->second, &h->attributes, &h->markers};
    for (int i = 0; i < 3 && hk_scan_more_on_line(scan); ++i)
        HK_TRY(hk_scan_int(scan, names[i], values[i]));
    if (h->attributes < 0 || h->attributes > 10000)
        return hk_scan_fail(scan, "expected the number of attributes, found %lld",
                            (long long)h->attributes);
    return hk_scan_line_end(scan);
}

static hk_status real_on_line(hk_scan *scan, const char *what, double *value)
{
    HK_TRY(hk_scan_on_line(scan, what));
    return hk_scan_real(scan, what, value);
}

// The number that begins a line; becomes the item of messages.
static hk_status begin_item(hk_scan *scan, const char *item, const char *what, int64_t *id)
{
    scan->item = NULL;
    HK_TRY(hk_scan_int(scan, what, id));
    scan->item = item;
    scan->number = *id;
    return HK_OK;
}

static hk_status no_more(hk_scan *scan, const char *what)
{
    scan->item = NULL;
    if (!hk_scan_more(scan)) return HK_OK;
    return hk_scan_fail(scan, "more follows after the last %s that the header announces", what);
}

// ---------------------------------------------------------------- nodes

static hk_status read_node(hk_collect *collect, hk_scan *scan, const header *h)
{
    static const char *const axes[3] = {"its x coordinate", "its y coordinate", "its z coordinate"};
    int64_t id, marker = 0;
    double position[3], ignored;
    HK_TRY(begin_item(scan, "node", "a node number", &id));
    for (int i = 0; i < 3; ++i) HK_TRY(real_on_line(scan, axes[i], &position[i]));
    for (int64_t i = 0; i < h->attributes; ++i)
        HK_TRY(real_on_line(scan, "an attribute of the node", &ignored));
    if (h->markers) {
        HK_TRY(hk_scan_on_line(scan, "its boundary marker"));
        HK_TRY(hk_scan_int(scan, "its boundary marker", &marker));
    }
    HK_TRY(hk_scan_line_end(scan));
    int32_t vertex = (int32_t)collect->soup.vertex_count;
    HK_TRY(hk_collect_vertex(collect, id, position));
    if (marker == 0) return HK_OK;
    int group;
    HK_TRY(hk_collect_group_of(collect, 0, marker, &group));
    return hk_collect_join(collect, group, vertex);
}

static hk_status read_nodes(hk_collect *collect, hk_scan *scan)
{
    header h = {.second = 3};
    HK_TRY(read_header(scan, "the number of nodes", 8, &h));
    if (h.second != 3)
        return hk_scan_fail(scan, "nodes of dimension %lld: only 3 can be read",
                            (long long)h.second);
    if (h.markers != 0 && h.markers != 1)
        return hk_scan_fail(scan, "the number of boundary markers is %lld: expected 0 or 1",
                            (long long)h.markers);
    for (int i = 0; i < h.count; ++i) HK_TRY(read_node(collect, scan, &h));
    HK_TRY(no_more(scan, "node"));
    int duplicate;
    hk_status status = hk_collect_number(collect, &duplicate);
    if (status != HK_OK && duplicate >= 0)
        return hk_scan_fail(scan,
                            "node %lld is defined twice: the second time as node %d of the file",
                            (long long)collect->ids[duplicate], duplicate + 1);
    return status;
}

// ---------------------------------------------------------------- tets

static hk_status read_corner(hk_collect *collect, hk_scan *scan, int32_t *vertex)
{
    int64_t id;
    HK_TRY(hk_scan_on_line(scan, "a node of the tet"));
    HK_TRY(hk_scan_int(scan, "a node of the tet", &id));
    *vertex = hk_collect_find(collect, id);
    if (*vertex >= 0) return HK_OK;
    int64_t least, most;
    hk_collect_id_range(collect, &least, &most);
    if (least > most)
        return hk_scan_fail(scan, "names node %lld, but the .node file has no nodes",
                            (long long)id);
    return hk_scan_fail(scan, "names node %lld, but the nodes are %lld to %lld", (long long)id,
                        (long long)least, (long long)most);
}

// Regions are told by the first attribute, where it is an integer.
static hk_status read_region(hk_collect *collect, hk_scan *scan, const header *h,
                             int64_t *odd_regions, int *group_count, int *group)
{
    *group_count = 0;
    for (int64_t i = 0; i < h->attributes; ++i) {
        double value;
        HK_TRY(real_on_line(scan, "an attribute of the tet", &value));
        if (i > 0) continue;
        if (value != floor(value) || fabs(value) > 9e15) {
            ++*odd_regions;
        } else {
            HK_TRY(hk_collect_group_of(collect, 3, (int64_t)value, group));
            *group_count = 1;
        }
    }
    return HK_OK;
}

// TetGen puts the six further nodes into the middles of straight edges, in an order of its own that
// depends on the version and on the winding asked for: each belongs to the edge whose middle it is.
static hk_status add_quadratic(hk_collect *collect, hk_scan *scan, const int32_t node[10],
                               int group_count, const int *group)
{
    const double *x = collect->soup.positions;
    int32_t sorted[10];
    memcpy(sorted, node, 4 * sizeof *sorted);
    for (int m = 0; m < HK_MIDDLES; m++) sorted[4 + m] = -1;
    for (int k = 4; k < 10; k++) {
        int nearest = 0;
        double least = INFINITY;
        for (int m = 0; m < HK_MIDDLES; m++) {
            double square = 0;
            for (int i = 0; i < 3; i++) {
                double a = x[3 * (int64_t)node[hk_tet_edges[m][0]] + i];
                double b = x[3 * (int64_t)node[hk_tet_edges[m][1]] + i];
                double d = x[3 * (int64_t)node[k] + i] - (0.5 * a + 0.5 * b);
                square += d * d;
            }
            if (square < least) {
                least = square;
                nearest = m;
            }
        }
        if (sorted[4 + nearest] >= 0)
            return hk_scan_fail(scan,
                                "two of its nodes 5 to 10 lie at the middle of the same edge");
        sorted[4 + nearest] = node[k];
    }
    return hk_collect_quadratic(collect, HK_ELEMENT_TET, sorted, group_count, group);
}

static hk_status read_tets(hk_collect *collect, hk_scan *scan, int64_t *odd_regions)
{
    header h = {.second = 4};
    HK_TRY(read_header(scan, "the number of tets", 9, &h));
    if (h.second != 4 && h.second != 10)
        return hk_scan_fail(scan, "tets of %lld nodes: expected 4 or 10", (long long)h.second);
    for (int e = 0; e < h.count; ++e) {
        int64_t id;
        int32_t corners[10];
        int group_count, group;
        HK_TRY(begin_item(scan, "tet", "a tet number", &id));
        for (int i = 0; i < h.second; ++i) HK_TRY(read_corner(collect, scan, &corners[i]));
        HK_TRY(read_region(collect, scan, &h, odd_regions, &group_count, &group));
        HK_TRY(hk_scan_line_end(scan));
        if (h.second == 10)
            HK_TRY(add_quadratic(collect, scan, corners, group_count, &group));
        else
            HK_TRY(
                hk_collect_element(collect, HK_ELEMENT_TET, false, corners, group_count, &group));
    }
    return no_more(scan, "tet");
}

hk_status hk_tetgen_read(const char *node_name, const char *node, size_t node_size,
                         const char *ele_name, const char *ele, size_t ele_size, hk_mesh **mesh)
{
    hk_scan nodes = hk_scan_begin(node_name, node, node_size, '#');
    hk_scan tets = hk_scan_begin(ele_name, ele, ele_size, '#');
    hk_collect collect = {.name = ele_name, .prefix = {[0] = "marker ", [3] = "region "}};
    hk_mesh *made = NULL;
    int64_t odd_regions = 0;
    hk_status status = read_nodes(&collect, &nodes);
    if (status == HK_OK) status = read_tets(&collect, &tets, &odd_regions);
    if (status == HK_OK) status = hk_collect_mesh(&collect, &made);
    if (status == HK_OK && odd_regions > 0)
        status = hk_mesh_add_note(made,
                                  "the region attribute of %lld tets is not an integer: they are "
                                  "in no group",
                                  (long long)odd_regions);
    hk_collect_free(&collect);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

// ---------------------------------------------------------------- the two files

static hk_status load_tetgen(const char *path, hk_mesh **mesh)
{
    const char *dot = strrchr(path, '.');
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    // The partner's ending is written in the same case: foo.NODE has foo.ELE.
    bool upper = dot && (dot[1] == 'N' || dot[1] == 'E');
    size_t room = stem + 8;
    char *node_path = HK_ARRAY(char, room), *ele_path = HK_ARRAY(char, room);
    hk_bytes node = {0}, ele = {0};
    hk_status status = node_path && ele_path ? HK_OK : HK_NO_MEMORY;
    if (status == HK_OK) {
        snprintf(node_path, room, "%.*s%s", (int)stem, path, upper ? ".NODE" : ".node");
        snprintf(ele_path, room, "%.*s%s", (int)stem, path, upper ? ".ELE" : ".ele");
        status = hk_bytes_load(node_path, &node);
        if (status == HK_OK) status = hk_bytes_load(ele_path, &ele);
        if (status == HK_IO_ERROR)
            hk_fail_within(status, "a TetGen mesh is two files, %s and %s", node_path, ele_path);
    }
    if (status == HK_OK)
        status =
            hk_tetgen_read(node_path, node.data, node.size, ele_path, ele.data, ele.size, mesh);
    hk_bytes_free(&node);
    hk_bytes_free(&ele);
    hk_free(node_path);
    hk_free(ele_path);
    return status;
}

const hk_format hk_tetgen_format = {
    .endings = {".node", ".ele"},
    .load = load_tetgen,
};
