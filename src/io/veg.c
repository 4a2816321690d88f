// Vega .veg: sections that begin with a star. Vertices, tets and sets of tets are read; materials
// and regions belong to a scene and are skipped with a note.
#include "io/collect.h"

#include <stdio.h>

typedef struct veg {
    hk_scan scan;
    hk_collect collect;
    bool has_vertices, has_elements;
    int64_t *element_ids;  // [tet_count] numbers of the tets in the file
    size_t id_capacity;
    hk_idmap *elements;
    int set_count;
} veg;

static bool is_word(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(word, wanted, length) == 0;
}

static hk_status int_on_line(hk_scan *scan, const char *what, int64_t *value)
{
    HK_TRY(hk_scan_on_line(scan, what));
    return hk_scan_int(scan, what, value);
}

// "count kind …" on one line; the kind is the dimension or the number of nodes.
static hk_status read_header(hk_scan *scan, const char *what, const char *kind_what, int *count,
                             int64_t *kind)
{
    HK_TRY(hk_scan_count(scan, what, 8, count));
    return int_on_line(scan, kind_what, kind);
}

// ---------------------------------------------------------------- sections

static hk_status read_vertices(veg *v)
{
    static const char *const axes[3] = {"its x coordinate", "its y coordinate", "its z coordinate"};
    hk_scan *scan = &v->scan;
    if (v->has_vertices) return hk_scan_fail(scan, "a second *VERTICES section");
    int count;
    int64_t dimension;
    HK_TRY(read_header(scan, "the number of vertices", "their dimension", &count, &dimension));
    if (dimension != 3)
        return hk_scan_fail(scan, "vertices of dimension %lld: only 3 can be read",
                            (long long)dimension);
    hk_scan_skip_line(scan);
    for (int i = 0; i < count; ++i) {
        int64_t id;
        double position[3];
        scan->item = NULL;
        HK_TRY(hk_scan_int(scan, "a vertex number", &id));
        scan->item = "vertex";
        scan->number = id;
        for (int k = 0; k < 3; ++k) {
            HK_TRY(hk_scan_on_line(scan, axes[k]));
            HK_TRY(hk_scan_real(scan, axes[k], &position[k]));
        }
        // Attributes and markers of an included .node file may follow.
        hk_scan_skip_line(scan);
        HK_TRY(hk_collect_vertex(&v->collect, id, position));
    }
    scan->item = NULL;
    int duplicate;
    hk_status status = hk_collect_number(&v->collect, &duplicate);
    if (status != HK_OK && duplicate >= 0)
        return hk_scan_fail(scan,
                            "vertex %lld is defined twice: the second time as vertex %d of "
                            "*VERTICES",
                            (long long)v->collect.ids[duplicate], duplicate + 1);
    v->has_vertices = status == HK_OK;
    return status;
}

// The kind of elements, and how many nodes the header must give.
static hk_status read_element_kind(hk_scan *scan, hk_element_shape *shape)
{
    const char *word;
    size_t length;
    HK_TRY(hk_scan_word(scan, "the type of the elements (TET)", &word, &length));
    if (is_word(word, length, "TET") || is_word(word, length, "TETS")) {
        *shape = HK_ELEMENT_TET;
        return HK_OK;
    }
    if (is_word(word, length, "CUBIC") || is_word(word, length, "CUBE")) {
        *shape = HK_ELEMENT_HEX;
        return HK_OK;
    }
    return hk_scan_fail(scan, "expected TET or CUBIC after *ELEMENTS, found \"%s\"",
                        hk_quote(word, length).text);
}

static hk_status read_element(veg *v, hk_element_shape shape, int64_t nodes)
{
    hk_scan *scan = &v->scan;
    hk_collect *collect = &v->collect;
    int64_t id;
    int32_t corners[10];
    scan->item = NULL;
    HK_TRY(hk_scan_int(scan, "an element number", &id));
    scan->item = "element";
    scan->number = id;
    for (int i = 0; i < nodes; ++i) {
        int64_t vertex_id;
        HK_TRY(int_on_line(scan, "a vertex of the element", &vertex_id));
        corners[i] = hk_collect_find(collect, vertex_id);
        if (corners[i] < 0) {
            int64_t least, most;
            hk_collect_id_range(collect, &least, &most);
            return hk_scan_fail(scan, "names vertex %lld, but the vertices are %lld to %lld",
                                (long long)vertex_id, (long long)least, (long long)most);
        }
    }
    hk_scan_skip_line(scan);
    if (shape == HK_ELEMENT_TET) {
        size_t count = collect->soup.tet_count;
        HK_TRY(hk_reserve((void **)&v->element_ids, count, sizeof(int64_t), &v->id_capacity,
                          count + 1));
        v->element_ids[count] = id;
    }
    return hk_collect_element(collect, shape, nodes == 10, corners, 0, NULL);
}

static hk_status read_elements(veg *v)
{
    hk_scan *scan = &v->scan;
    if (!v->has_vertices) return hk_scan_fail(scan, "*ELEMENTS must come after *VERTICES");
    if (v->has_elements) return hk_scan_fail(scan, "a second *ELEMENTS section");
    hk_element_shape shape = HK_ELEMENT_OTHER;
    int count;
    int64_t nodes;
    HK_TRY(read_element_kind(scan, &shape));
    HK_TRY(read_header(scan, "the number of elements", "the nodes of an element", &count, &nodes));
    bool fits = shape == HK_ELEMENT_TET ? nodes == 4 || nodes == 10 : nodes == 8;
    if (!fits)
        return hk_scan_fail(scan, "a %s cannot have %lld nodes", hk_element_name(shape),
                            (long long)nodes);
    hk_scan_skip_line(scan);
    for (int e = 0; e < count; ++e) HK_TRY(read_element(v, shape, nodes));
    scan->item = NULL;
    v->has_elements = true;
    if (shape != HK_ELEMENT_TET) return HK_OK;
    int duplicate;
    hk_status status = hk_idmap_new(count, v->element_ids, &v->elements, &duplicate);
    if (status != HK_OK && duplicate >= 0)
        return hk_scan_fail(scan, "element %lld is defined twice",
                            (long long)v->element_ids[duplicate]);
    return status;
}

// "*SET name", then element numbers up to the next section.
static hk_status read_set(veg *v)
{
    hk_scan *scan = &v->scan;
    const char *name;
    size_t length;
    int group;
    HK_TRY(hk_scan_on_line(scan, "the name of the set"));
    HK_TRY(hk_scan_word(scan, "the name of the set", &name, &length));
    if (!v->has_elements) return hk_scan_fail(scan, "*SET must come after *ELEMENTS");
    HK_TRY(hk_collect_group_of(&v->collect, 3, v->set_count++, &group));
    HK_TRY(hk_collect_name_group(&v->collect, group, name, length));
    while (hk_scan_more(scan) && *scan->at != '*') {
        int64_t id;
        HK_TRY(hk_scan_int(scan, "an element number", &id));
        int tet = v->elements ? hk_idmap_find(v->elements, id) : 0;
        if (tet < 0)
            return hk_scan_fail(scan, "set \"%s\" names element %lld, which is not defined",
                                hk_quote(name, length).text, (long long)id);
        // Elements that were left out leave their sets empty.
        if (v->elements) HK_TRY(hk_collect_join(&v->collect, group, tet));
    }
    return HK_OK;
}

static void skip_section(veg *v, const char *section, size_t length)
{
    hk_scan *scan = &v->scan;
    hk_scan_skip_line(scan);
    while (hk_scan_more(scan) && *scan->at != '*') hk_scan_skip_line(scan);
    hk_collect_skipped(&v->collect, section, length);
}

static hk_status read_all(veg *v)
{
    hk_scan *scan = &v->scan;
    while (hk_scan_more(scan)) {
        const char *word;
        size_t length;
        HK_TRY(hk_scan_word(scan, "a section", &word, &length));
        if (word[0] != '*')
            return hk_scan_fail(scan, "expected a section such as *VERTICES, found \"%s\"",
                                hk_quote(word, length).text);
        if (is_word(word, length, "*VERTICES"))
            HK_TRY(read_vertices(v));
        else if (is_word(word, length, "*ELEMENTS"))
            HK_TRY(read_elements(v));
        else if (is_word(word, length, "*SET"))
            HK_TRY(read_set(v));
        else if (is_word(word, length, "*INCLUDE"))
            return hk_scan_fail(scan, "*INCLUDE can be followed only from a file on disk, and not "
                                      "from an included file");
        else
            skip_section(v, word, length);
    }
    if (!v->has_vertices) return hk_scan_fail(scan, "the file ends without *VERTICES");
    if (!v->has_elements) return hk_scan_fail(scan, "the file ends without *ELEMENTS");
    return HK_OK;
}

static hk_status read_veg(const char *name, const char *data, size_t size, hk_mesh **mesh)
{
    veg v = {.scan = hk_scan_begin(name, data, size, '#'), .collect = {.name = name}};
    v.scan.separator = ',';
    hk_mesh *made = NULL;
    hk_status status = read_all(&v);
    if (status == HK_OK) status = hk_collect_mesh(&v.collect, &made);
    hk_collect_free(&v.collect);
    hk_idmap_free(v.elements);
    hk_free(v.element_ids);
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

// ---------------------------------------------------------------- included files

typedef struct text {
    void *data;
    size_t size, room;
} text;

static hk_status append(text *t, const char *data, size_t size)
{
    HK_TRY(hk_reserve(&t->data, t->size, 1, &t->room, t->size + size));
    if (size) memcpy((char *)t->data + t->size, data, size);
    t->size += size;
    return HK_OK;
}

// Puts the file that stands after *INCLUDE in its place.
static hk_status append_included(text *t, hk_scan *scan, const char *path)
{
    const char *name;
    size_t length;
    HK_TRY(hk_scan_on_line(scan, "the name of a file"));
    HK_TRY(hk_scan_word(scan, "the name of a file", &name, &length));
    if (length >= 2 && name[0] == '"' && name[length - 1] == '"') {
        ++name;
        length -= 2;
    }
    if (length == 0 || name[0] == '/')
        return hk_scan_fail(scan, "*INCLUDE wants a file name relative to the .veg");
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    char *beside = HK_ARRAY(char, folder + length + 1);
    if (!beside) return HK_NO_MEMORY;
    memcpy(beside, path, folder);
    memcpy(beside + folder, name, length);
    beside[folder + length] = '\0';
    hk_bytes bytes = {0};
    hk_status status = hk_bytes_load(beside, &bytes);
    if (status == HK_IO_ERROR) hk_fail_within(status, "%s:%d", scan->name, scan->line);
    if (status == HK_OK) status = append(t, bytes.data, bytes.size);
    if (status == HK_OK) status = append(t, "\n", 1);
    hk_bytes_free(&bytes);
    hk_free(beside);
    return status;
}

static hk_status expand(const char *path, const hk_bytes *bytes, text *t, int *included)
{
    enum { MOST_INCLUDES = 32 };
    hk_scan scan = hk_scan_begin(path, bytes->data, bytes->size, '#');
    while (scan.at < scan.end) {
        const char *line = scan.at;
        if (hk_scan_more_on_line(&scan) && *scan.at == '*' && hk_scan_accept(&scan, "*INCLUDE")) {
            if (++*included > MOST_INCLUDES)
                return hk_scan_fail(&scan, "more than %d *INCLUDE lines", MOST_INCLUDES);
            HK_TRY(append_included(t, &scan, path));
            hk_scan_skip_line(&scan);
        } else {
            hk_scan_skip_line(&scan);
            HK_TRY(append(t, line, (size_t)(scan.at - line)));
        }
    }
    return HK_OK;
}

static hk_status load_veg(const char *path, hk_mesh **mesh)
{
    static const char remark[] = " (with its includes)";
    hk_bytes bytes;
    HK_TRY(hk_bytes_load(path, &bytes));
    text t = {0};
    int included = 0;
    char *name = NULL;
    hk_status status = expand(path, &bytes, &t, &included);
    if (status == HK_OK && included > 0) {
        // Lines are counted in the whole: the name in messages says so.
        name = HK_ARRAY(char, strlen(path) + sizeof remark);
        if (name) snprintf(name, strlen(path) + sizeof remark, "%s%s", path, remark);
        status = name ? read_veg(name, t.data, t.size, mesh) : HK_NO_MEMORY;
    } else if (status == HK_OK) {
        status = read_veg(path, bytes.data, bytes.size, mesh);
    }
    hk_bytes_free(&bytes);
    hk_free(t.data);
    hk_free(name);
    return status;
}

const hk_format hk_veg_format = {
    .endings = {".veg"},
    .read = read_veg,
    .load = load_veg,
};
