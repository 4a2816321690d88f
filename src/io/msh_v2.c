// Gmsh .msh, version 2: $Nodes and $Elements as text and as bytes.
#include "io/msh.h"

// The count of a section is text in both kinds of file; bytes begin on the next line.
static hk_status section_count(hk_msh *msh, const char *what, size_t text_bytes,
                               size_t binary_bytes, int *count)
{
    HK_TRY(hk_msh_text_count(msh, what, text_bytes, binary_bytes, count));
    if (msh->binary) hk_scan_skip_line(&msh->scan);
    return HK_OK;
}

hk_status hk_msh_v2_nodes(hk_msh *msh, bool parametric)
{
    if (parametric && msh->binary)
        return hk_msh_fail(msh, "binary $ParametricNodes are not read: save the mesh without "
                                "parametric coordinates (Mesh.SaveParametric = 0)");
    int count;
    HK_TRY(section_count(msh, "the number of nodes", 8, 4 + 3 * sizeof(double), &count));
    for (int i = 0; i < count; ++i) {
        int64_t id;
        double position[3];
        hk_msh_record(msh);
        msh->scan.item = NULL;
        HK_TRY(hk_msh_int(msh, "a node number", &id));
        msh->scan.item = "node";
        msh->scan.number = id;
        HK_TRY(hk_msh_real(msh, "its x coordinate", &position[0]));
        HK_TRY(hk_msh_real(msh, "its y coordinate", &position[1]));
        HK_TRY(hk_msh_real(msh, "its z coordinate", &position[2]));
        if (parametric)
            hk_scan_skip_line(&msh->scan);
        else
            HK_TRY(hk_msh_record_end(msh));
        HK_TRY(hk_collect_vertex(&msh->collect, id, position));
    }
    return hk_msh_nodes_end(msh);
}

// Tags of an element: the first is its physical group, 0 for none.
static hk_status read_tags(hk_msh *msh, int64_t tag_count, int64_t *physical)
{
    *physical = 0;
    for (int64_t i = 0; i < tag_count; ++i) {
        int64_t tag;
        HK_TRY(hk_msh_int(msh, "a tag of the element", &tag));
        if (i == 0) *physical = tag;
    }
    return HK_OK;
}

static hk_status read_element(hk_msh *msh, hk_msh_type type, int64_t tag_count)
{
    int64_t physical;
    HK_TRY(read_tags(msh, tag_count, &physical));
    int dimension = hk_element_dimension(type.shape), group;
    if (physical == 0 || dimension < 0) return hk_msh_element(msh, type, 0, NULL);
    // A negative tag says that the element is reversed in its group.
    if (physical < 0 && physical > INT64_MIN) physical = -physical;
    HK_TRY(hk_collect_group_of(&msh->collect, dimension, physical, &group));
    return hk_msh_element(msh, type, 1, &group);
}

static hk_status check_tag_count(const hk_msh *msh, int64_t tag_count)
{
    if (tag_count < 0 || tag_count > 10000)
        return hk_msh_fail(msh, "expected its number of tags, found %lld", (long long)tag_count);
    return HK_OK;
}

static hk_status read_text_element(hk_msh *msh)
{
    int64_t id, type, tag_count;
    hk_msh_record(msh);
    msh->scan.item = NULL;
    HK_TRY(hk_msh_int(msh, "an element number", &id));
    msh->scan.item = "element";
    msh->scan.number = id;
    HK_TRY(hk_msh_int(msh, "its type", &type));
    HK_TRY(hk_msh_int(msh, "its number of tags", &tag_count));
    HK_TRY(check_tag_count(msh, tag_count));
    return read_element(msh, hk_msh_type_of(type), tag_count);
}

// A header (type, count, number of tags) and as many elements. Returns their count.
static hk_status read_binary_block(hk_msh *msh, int left, int *count)
{
    int64_t type_number, in_block, tag_count;
    HK_TRY(hk_msh_int(msh, "the type of a block of elements", &type_number));
    HK_TRY(hk_msh_int(msh, "the number of elements of a block", &in_block));
    HK_TRY(hk_msh_int(msh, "the number of tags of a block", &tag_count));
    hk_msh_type type = hk_msh_type_of(type_number);
    if (type.nodes == 0)
        return hk_msh_fail(msh,
                           "element type %lld is unknown, so that its elements cannot be "
                           "skipped",
                           (long long)type_number);
    if (in_block < 1 || in_block > left)
        return hk_msh_fail(msh, "a block of %lld elements, but the section has %d left",
                           (long long)in_block, left);
    HK_TRY(check_tag_count(msh, tag_count));
    for (int64_t i = 0; i < in_block; ++i) {
        int64_t id;
        msh->scan.item = NULL;
        HK_TRY(hk_msh_int(msh, "an element number", &id));
        msh->scan.item = "element";
        msh->scan.number = id;
        HK_TRY(read_element(msh, type, tag_count));
    }
    msh->scan.item = NULL;
    *count = (int)in_block;
    return HK_OK;
}

hk_status hk_msh_v2_elements(hk_msh *msh)
{
    int count, in_block = 1;
    HK_TRY(section_count(msh, "the number of elements", 8, 8, &count));
    for (int done = 0; done < count; done += in_block) {
        if (msh->binary)
            HK_TRY(read_binary_block(msh, count - done, &in_block));
        else
            HK_TRY(read_text_element(msh));
    }
    return HK_OK;
}
