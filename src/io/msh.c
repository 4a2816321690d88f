// Gmsh .msh: the header, the sections and what all versions share.
#define _GNU_SOURCE  // memmem
#include "io/msh.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

// ---------------------------------------------------------------- values

hk_status hk_msh_fail(const hk_msh *msh, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (!msh->binary) return hk_scan_fail(&msh->scan, "%s", message);
    long long offset = msh->scan.at - msh->data;
    if (msh->scan.item)
        return hk_fail(HK_BAD_INPUT, "%s: byte %lld: %s %lld: %s", msh->scan.name, offset,
                       msh->scan.item, (long long)msh->scan.number, message);
    return hk_fail(HK_BAD_INPUT, "%s: byte %lld: %s", msh->scan.name, offset, message);
}

void hk_msh_record(hk_msh *msh)
{
    msh->in_record = false;
}

hk_status hk_msh_record_end(hk_msh *msh)
{
    msh->in_record = false;
    return msh->binary ? HK_OK : hk_scan_line_end(&msh->scan);
}

// Text: whether a value may follow here.
static inline hk_status next_on_line(hk_msh *msh, const char *what)
{
    if (msh->in_record) HK_TRY(hk_scan_on_line(&msh->scan, what));
    msh->in_record = true;
    return HK_OK;
}

static inline hk_status take_bytes(hk_msh *msh, const char *what, void *value, size_t size)
{
    if ((size_t)(msh->scan.end - msh->scan.at) < size)
        return hk_msh_fail(msh, "the file ends where %s was expected", what);
    if (msh->swap)
        for (size_t i = 0; i < size; ++i) ((char *)value)[i] = msh->scan.at[size - 1 - i];
    else
        memcpy(value, msh->scan.at, size);
    msh->scan.at += size;
    return HK_OK;
}

hk_status hk_msh_int(hk_msh *msh, const char *what, int64_t *value)
{
    if (msh->binary) {
        int32_t narrow = 0;
        HK_TRY(take_bytes(msh, what, &narrow, sizeof narrow));
        *value = narrow;
        return HK_OK;
    }
    HK_TRY(next_on_line(msh, what));
    return hk_scan_int(&msh->scan, what, value);
}

hk_status hk_msh_size(hk_msh *msh, const char *what, int64_t *value)
{
    if (!msh->binary) return hk_msh_int(msh, what, value);
    if (msh->size_bytes == 8) {
        uint64_t wide = 0;
        HK_TRY(take_bytes(msh, what, &wide, sizeof wide));
        if (wide > INT64_MAX)
            return hk_msh_fail(msh, "expected %s, found %llu", what, (unsigned long long)wide);
        *value = (int64_t)wide;
    } else {
        uint32_t narrow = 0;
        HK_TRY(take_bytes(msh, what, &narrow, sizeof narrow));
        *value = narrow;
    }
    return HK_OK;
}

hk_status hk_msh_real(hk_msh *msh, const char *what, double *value)
{
    if (!msh->binary) {
        HK_TRY(next_on_line(msh, what));
        return hk_scan_real(&msh->scan, what, value);
    }
    double taken = 0;
    HK_TRY(take_bytes(msh, what, &taken, sizeof taken));
    if (!isfinite(taken))
        return hk_msh_fail(msh, "expected %s, a finite number, found %g", what, taken);
    *value = taken;
    return HK_OK;
}

hk_status hk_msh_skip_real(hk_msh *msh, const char *what)
{
    double ignored;
    if (msh->binary) return take_bytes(msh, what, &ignored, sizeof ignored);
    HK_TRY(next_on_line(msh, what));
    const char *word;
    size_t length;
    return hk_scan_word(&msh->scan, what, &word, &length);
}

hk_status hk_msh_room(const hk_msh *msh, const char *what, int64_t count, size_t text_bytes,
                      size_t binary_bytes)
{
    if (count < 0)
        return hk_msh_fail(msh, "%s is %lld: it must not be negative", what, (long long)count);
    // The last line of a text may lack its newline.
    size_t left = (size_t)(msh->scan.end - msh->scan.at) + !msh->binary;
    size_t room = left / (msh->binary ? binary_bytes : text_bytes);
    if ((uint64_t)count > room)
        return hk_msh_fail(msh, "%s is %lld, but the rest of the file has room for %zu at most",
                           what, (long long)count, room);
    if (count > INT_MAX)
        return hk_msh_fail(msh, "%s is %lld: more than %d is not supported", what, (long long)count,
                           INT_MAX);
    return HK_OK;
}

hk_status hk_msh_count(hk_msh *msh, const char *what, size_t text_bytes, size_t binary_bytes,
                       int *count)
{
    int64_t value;
    HK_TRY(hk_msh_size(msh, what, &value));
    HK_TRY(hk_msh_room(msh, what, value, text_bytes, binary_bytes));
    *count = (int)value;
    return HK_OK;
}

hk_status hk_msh_text_count(hk_msh *msh, const char *what, size_t text_bytes, size_t binary_bytes,
                            int *count)
{
    int64_t value;
    hk_status status = hk_scan_int(&msh->scan, what, &value);
    // Lines mean nothing in a binary file: its messages tell the byte.
    if (status != HK_OK) return msh->binary ? hk_msh_fail(msh, "expected %s", what) : status;
    HK_TRY(hk_msh_room(msh, what, value, text_bytes, binary_bytes));
    *count = (int)value;
    return HK_OK;
}

// ---------------------------------------------------------------- nodes and elements

hk_status hk_msh_nodes_end(hk_msh *msh)
{
    msh->scan.item = NULL;
    int duplicate;
    hk_status status = hk_collect_number(&msh->collect, &duplicate);
    if (status != HK_OK && duplicate >= 0)
        return hk_msh_fail(msh, "node %lld is defined twice: the second time as node %d of $Nodes",
                           (long long)msh->collect.ids[duplicate], duplicate + 1);
    msh->has_nodes = status == HK_OK;
    return status;
}

// By Gmsh's number of the type. Corners come first in all of them.
hk_msh_type hk_msh_type_of(int64_t type)
{
    static const hk_msh_type types[] = {
        [1] = {2, HK_ELEMENT_LINE, false},      [2] = {3, HK_ELEMENT_TRIANGLE, false},
        [3] = {4, HK_ELEMENT_QUAD, false},      [4] = {4, HK_ELEMENT_TET, false},
        [5] = {8, HK_ELEMENT_HEX, false},       [6] = {6, HK_ELEMENT_PRISM, false},
        [7] = {5, HK_ELEMENT_PYRAMID, false},   [8] = {3, HK_ELEMENT_LINE, true},
        [9] = {6, HK_ELEMENT_TRIANGLE, true},   [10] = {9, HK_ELEMENT_QUAD, true},
        [11] = {10, HK_ELEMENT_TET, true},      [12] = {27, HK_ELEMENT_HEX, true},
        [13] = {18, HK_ELEMENT_PRISM, true},    [14] = {14, HK_ELEMENT_PYRAMID, true},
        [15] = {1, HK_ELEMENT_POINT, false},    [16] = {8, HK_ELEMENT_QUAD, true},
        [17] = {20, HK_ELEMENT_HEX, true},      [18] = {15, HK_ELEMENT_PRISM, true},
        [19] = {13, HK_ELEMENT_PYRAMID, true},  [20] = {9, HK_ELEMENT_TRIANGLE, true},
        [21] = {10, HK_ELEMENT_TRIANGLE, true}, [22] = {12, HK_ELEMENT_TRIANGLE, true},
        [23] = {15, HK_ELEMENT_TRIANGLE, true}, [24] = {15, HK_ELEMENT_TRIANGLE, true},
        [25] = {21, HK_ELEMENT_TRIANGLE, true}, [26] = {4, HK_ELEMENT_LINE, true},
        [27] = {5, HK_ELEMENT_LINE, true},      [28] = {6, HK_ELEMENT_LINE, true},
        [29] = {20, HK_ELEMENT_TET, true},      [30] = {35, HK_ELEMENT_TET, true},
        [31] = {56, HK_ELEMENT_TET, true},      [92] = {64, HK_ELEMENT_HEX, true},
        [93] = {125, HK_ELEMENT_HEX, true},
    };
    if (type > 0 && type < HK_COUNT_OF(types) && types[type].nodes > 0) return types[type];
    return (hk_msh_type){0, HK_ELEMENT_OTHER, false};
}

static hk_status fail_unknown_node(const hk_msh *msh, hk_msh_type type, int64_t id)
{
    int64_t least, most;
    hk_collect_id_range(&msh->collect, &least, &most);
    if (least > most)
        return hk_msh_fail(msh, "this %s names node %lld, but there are no nodes",
                           hk_element_name(type.shape), (long long)id);
    return hk_msh_fail(
        msh, "this %s names node %lld, which is not defined (nodes are %lld to %lld)",
        hk_element_name(type.shape), (long long)id, (long long)least, (long long)most);
}

void hk_msh_exchange_middles(int32_t nodes[10])
{
    int32_t kept = nodes[8];
    nodes[8] = nodes[9];
    nodes[9] = kept;
}

hk_status hk_msh_element(hk_msh *msh, hk_msh_type type, int group_count, const int *groups)
{
    if (type.nodes == 0) {
        hk_scan_skip_line(&msh->scan);
        hk_msh_record(msh);
        return hk_collect_element(&msh->collect, type.shape, false, NULL, 0, NULL);
    }
    // Quadratic tets and triangles are taken whole; of others of higher order the corners are.
    bool quadratic = (type.shape == HK_ELEMENT_TET && type.nodes == 10) ||
                     (type.shape == HK_ELEMENT_TRIANGLE && type.nodes == 6);
    int32_t corners[10];
    int corner_count = quadratic ? type.nodes : hk_element_corners(type.shape);
    for (int i = 0; i < type.nodes; ++i) {
        int64_t id;
        HK_TRY(msh->wide_ids ? hk_msh_size(msh, "a node of the element", &id)
                             : hk_msh_int(msh, "a node of the element", &id));
        int vertex = hk_collect_find(&msh->collect, id);
        if (vertex < 0) return fail_unknown_node(msh, type, id);
        if (i < corner_count) corners[i] = vertex;
    }
    HK_TRY(hk_msh_record_end(msh));
    if (quadratic) {
        if (type.shape == HK_ELEMENT_TET) hk_msh_exchange_middles(corners);
        return hk_collect_quadratic(&msh->collect, type.shape, corners, group_count, groups);
    }
    return hk_collect_element(&msh->collect, type.shape, type.high_order, corners, group_count,
                              groups);
}

// ---------------------------------------------------------------- sections

// What follows "$MeshFormat". Other versions than ours are named.
static hk_status read_format(hk_msh *msh, int *version)
{
    double number;
    int64_t kind, size;
    hk_msh_record(msh);
    HK_TRY(hk_msh_real(msh, "the version of the format", &number));
    HK_TRY(hk_msh_int(msh, "the kind of file (0: text, 1: binary)", &kind));
    HK_TRY(hk_msh_int(msh, "the size of numbers (8)", &size));
    HK_TRY(hk_msh_record_end(msh));
    if (number >= 2 && number < 3)
        *version = 2;
    else if (fabs(number - 4.1) < 1e-6)
        *version = 4;
    else
        return hk_msh_fail(msh,
                           "Gmsh format %g is not read: save the mesh as version 2.2 or 4.1 "
                           "(Mesh.MshFileVersion)",
                           number);
    if (kind != 0 && kind != 1)
        return hk_msh_fail(msh, "expected 0 (text) or 1 (binary) after the version, found %lld",
                           (long long)kind);
    if (size != 8 && !(size == 4 && *version == 4))
        return hk_msh_fail(msh, "numbers of %lld bytes are not read, only of 8", (long long)size);
    if (kind == 0) return HK_OK;
    hk_scan_skip_line(&msh->scan);
    msh->binary = true;
    msh->size_bytes = (int)size;
    msh->wide_ids = *version == 4;
    int64_t one;
    HK_TRY(hk_msh_int(msh, "the number 1 that tells the byte order", &one));
    msh->swap = one == INT64_C(0x01000000);
    if (one != 1 && !msh->swap)
        return hk_msh_fail(msh, "expected the number 1 that tells the byte order, found %lld",
                           (long long)one);
    return HK_OK;
}

// One line: dimension, tag and a name in quotes.
static hk_status read_physical_name(hk_msh *msh)
{
    hk_scan *scan = &msh->scan;
    int64_t dimension, tag;
    HK_TRY(hk_scan_int(scan, "the dimension of a physical group", &dimension));
    if (dimension < 0 || dimension > 3)
        return hk_msh_fail(msh, "the dimension of a physical group is 0 to 3, not %lld",
                           (long long)dimension);
    HK_TRY(hk_scan_on_line(scan, "the tag of a physical group"));
    HK_TRY(hk_scan_int(scan, "the tag of a physical group", &tag));
    HK_TRY(hk_scan_on_line(scan, "the name of a physical group"));
    const char *begin = scan->at;
    hk_scan_skip_line(scan);
    const char *end = scan->at;
    while (end > begin && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' ')) --end;
    if (end - begin >= 2 && *begin == '"' && end[-1] == '"') {
        ++begin;
        --end;
    }
    if (begin == end) return HK_OK;
    int group;
    HK_TRY(hk_collect_group_of(&msh->collect, (int)dimension, tag, &group));
    return hk_collect_name_group(&msh->collect, group, begin, (size_t)(end - begin));
}

// Text also in binary files.
static hk_status read_physical_names(hk_msh *msh)
{
    int count = 0;
    HK_TRY(hk_msh_text_count(msh, "the number of physical names", 6, 6, &count));
    hk_status status = HK_OK;
    for (int i = 0; i < count && status == HK_OK; ++i) status = read_physical_name(msh);
    if (status == HK_BAD_INPUT && msh->binary)
        return hk_msh_fail(msh, "expected dimension, tag and name of a physical group");
    return status;
}

static bool is_section(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(word, name, length) == 0;
}

// Moves to the line that ends the section, which stays to be read.
static hk_status skip_section(hk_msh *msh, const char *section, size_t length)
{
    hk_scan *scan = &msh->scan;
    char end[64];
    int end_length = snprintf(end, sizeof end, "$End%.*s", (int)length - 1, section + 1);
    const char *found = memmem(scan->at, (size_t)(scan->end - scan->at), end, (size_t)end_length);
    if (!found)
        return hk_msh_fail(msh, "section %.*s is not ended by %s", (int)length, section, end);
    if (!msh->binary)
        while (scan->at < found) {
            const char *newline = memchr(scan->at, '\n', (size_t)(found - scan->at));
            if (!newline) break;
            hk_scan_skip_line(scan);
        }
    scan->at = found;
    if (!is_section(section, length, "$Comments"))
        hk_collect_skipped(&msh->collect, section, length);
    return HK_OK;
}

static hk_status read_elements(hk_msh *msh, int version)
{
    if (!msh->has_nodes) return hk_msh_fail(msh, "$Elements must come after $Nodes");
    if (msh->has_elements) return hk_msh_fail(msh, "a second $Elements section");
    msh->has_elements = true;
    return version == 2 ? hk_msh_v2_elements(msh) : hk_msh_v4_elements(msh);
}

static hk_status read_section(hk_msh *msh, int version, const char *word, size_t length)
{
    bool parametric = is_section(word, length, "$ParametricNodes");
    if (is_section(word, length, "$PhysicalNames")) return read_physical_names(msh);
    if (is_section(word, length, "$Nodes") || (parametric && version == 2)) {
        if (msh->has_nodes) return hk_msh_fail(msh, "a second $Nodes section");
        return version == 2 ? hk_msh_v2_nodes(msh, parametric) : hk_msh_v4_nodes(msh);
    }
    if (is_section(word, length, "$Elements")) return read_elements(msh, version);
    bool partitioned = is_section(word, length, "$PartitionedEntities");
    if (version == 4 && (partitioned || is_section(word, length, "$Entities"))) {
        if (msh->entity_map && !partitioned)
            return hk_msh_fail(msh, "a second section of entities");
        if (msh->has_elements) return hk_msh_fail(msh, "entities must come before $Elements");
        return hk_msh_v4_entities(msh, partitioned);
    }
    return skip_section(msh, word, length);
}

static hk_status read_section_end(hk_msh *msh, const char *section, size_t length)
{
    char end[64];
    snprintf(end, sizeof end, "$End%.*s", (int)length - 1, section + 1);
    msh->scan.item = NULL;
    if (hk_scan_accept(&msh->scan, end)) return HK_OK;
    if (!hk_scan_more(&msh->scan))
        return hk_msh_fail(msh, "the file ends where %s was expected", end);
    const char *word;
    size_t found;
    hk_scan ahead = msh->scan;
    HK_TRY(hk_scan_word(&ahead, end, &word, &found));
    return hk_msh_fail(msh, "expected %s after what the section announces, found \"%s\"", end,
                       hk_quote(word, found).text);
}

static hk_status read_all(hk_msh *msh)
{
    int version = 0;
    while (hk_scan_more(&msh->scan)) {
        const char *word;
        size_t length;
        hk_scan before = msh->scan;
        HK_TRY(hk_scan_word(&msh->scan, "a section", &word, &length));
        if (word[0] != '$' || length < 2 || length > 40) {
            msh->scan = before;
            return hk_msh_fail(msh, "expected a section such as %s, found \"%s\"%s",
                               version ? "$Elements" : "$MeshFormat", hk_quote(word, length).text,
                               version ? "" : ": not a Gmsh mesh");
        }
        if (is_section(word, length, "$MeshFormat")) {
            if (version) return hk_msh_fail(msh, "a second $MeshFormat section");
            HK_TRY(read_format(msh, &version));
        } else if (version || is_section(word, length, "$Comments")) {
            HK_TRY(read_section(msh, version, word, length));
        } else {
            return hk_msh_fail(msh, "%s stands before $MeshFormat%s", hk_quote(word, length).text,
                               is_section(word, length, "$NOD") ? ": format 1 is not read" : "");
        }
        HK_TRY(read_section_end(msh, word, length));
    }
    msh->collect.merge_repeats = version == 2;
    const char *missing = !version ? "$MeshFormat" : !msh->has_nodes ? "$Nodes" : "$Elements";
    if (!msh->has_nodes || !msh->has_elements)
        return hk_msh_fail(msh, "the file ends without a section %s", missing);
    return HK_OK;
}

static hk_status read_msh(const char *name, const char *data, size_t size, hk_mesh **mesh)
{
    hk_msh msh = {.scan = hk_scan_begin(name, data, size, 0), .data = data};
    msh.collect.name = name;
    hk_mesh *made = NULL;
    hk_status status = read_all(&msh);
    if (status == HK_OK) status = hk_collect_mesh(&msh.collect, &made);
    hk_collect_free(&msh.collect);
    hk_idmap_free(msh.entity_map);
    hk_free(msh.entities);
    hk_free(msh.entity_keys);
    hk_free(msh.entity_groups);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

const hk_format hk_msh_format = {
    .endings = {".msh"},
    .read = read_msh,
    .write = hk_msh_write,
};
