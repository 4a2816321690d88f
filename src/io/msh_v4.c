// Gmsh .msh, version 4.1: $Entities, $Nodes and $Elements as text and as bytes.
#include "io/msh.h"

// Counts in bytes begin on the line after the section's name.
static void begin_section(hk_msh *msh)
{
    if (msh->binary) hk_scan_skip_line(&msh->scan);
    hk_msh_record(msh);
}

static int64_t entity_key(int64_t dimension, int64_t tag)
{
    return dimension * (INT64_C(1) << 32) + tag;
}

// ---------------------------------------------------------------- $Entities, $PartitionedEntities

static hk_status add_entity(hk_msh *msh, int dimension, int64_t tag, int groups)
{
    size_t count = msh->entity_count;
    HK_TRY(hk_reserve((void **)&msh->entities, count, sizeof *msh->entities, &msh->entity_capacity,
                      count + 1));
    HK_TRY(hk_reserve((void **)&msh->entity_keys, count, sizeof(int64_t), &msh->key_capacity,
                      count + 1));
    msh->entities[count] = (hk_msh_entity){(int)msh->entity_group_count - groups, groups};
    msh->entity_keys[count] = entity_key(dimension, tag);
    msh->entity_count = count + 1;
    return HK_OK;
}

// The list of physical tags of an entity; each becomes a group. Their sign is an orientation.
static hk_status read_physical_tags(hk_msh *msh, int dimension, int *count)
{
    // Every element of the entity joins all of them: a lying list must not take all memory.
    enum { MOST_GROUPS = 64 };
    HK_TRY(hk_msh_count(msh, "its number of physical groups", 2, 4, count));
    if (*count > MOST_GROUPS)
        return hk_msh_fail(msh, "it belongs to %d physical groups: more than %d are not supported",
                           *count, MOST_GROUPS);
    int listed = *count, first = (int)msh->entity_group_count;
    for (int i = 0; i < listed; ++i) {
        int64_t tag;
        int group;
        HK_TRY(hk_msh_int(msh, "a physical tag", &tag));
        if (tag < 0 && tag > INT64_MIN) tag = -tag;
        HK_TRY(hk_collect_group_of(&msh->collect, dimension, tag, &group));
        size_t used = msh->entity_group_count;
        bool again = false;
        for (size_t k = (size_t)first; k < used; ++k) again |= msh->entity_groups[k] == group;
        if (again) continue;
        HK_TRY(hk_reserve((void **)&msh->entity_groups, used, sizeof(int),
                          &msh->entity_group_capacity, used + 1));
        msh->entity_groups[used] = group;
        msh->entity_group_count = used + 1;
    }
    *count = (int)msh->entity_group_count - first;
    return HK_OK;
}

// A list of so many integers that are not needed.
static hk_status skip_ints(hk_msh *msh, const char *count_what, const char *what)
{
    int count;
    int64_t ignored;
    HK_TRY(hk_msh_count(msh, count_what, 2, 4, &count));
    for (int i = 0; i < count; ++i) HK_TRY(hk_msh_int(msh, what, &ignored));
    return HK_OK;
}

static hk_status read_entity(hk_msh *msh, int dimension, bool partitioned)
{
    static const char *const names[4] = {"point", "curve", "surface", "volume"};
    int64_t tag, parent;
    int physical;
    hk_msh_record(msh);
    msh->scan.item = NULL;
    HK_TRY(hk_msh_int(msh, "the tag of an entity", &tag));
    msh->scan.item = names[dimension];
    msh->scan.number = tag;
    if (tag < INT32_MIN || tag > INT32_MAX) return hk_msh_fail(msh, "its tag is out of range");
    if (partitioned) {
        HK_TRY(hk_msh_int(msh, "the dimension of its parent", &parent));
        HK_TRY(hk_msh_int(msh, "the tag of its parent", &parent));
        HK_TRY(skip_ints(msh, "its number of partitions", "a partition"));
    }
    // The box around it is not needed: it may hold infinities, so it is not read as numbers.
    for (int i = 0; i < (dimension == 0 ? 3 : 6); ++i) HK_TRY(hk_msh_skip_real(msh, "its bounds"));
    HK_TRY(read_physical_tags(msh, dimension, &physical));
    if (dimension > 0) HK_TRY(skip_ints(msh, "its number of bounds", "the tag of a bound"));
    HK_TRY(hk_msh_record_end(msh));
    return add_entity(msh, dimension, tag, physical);
}

// What precedes the counts of a partitioned mesh: the number of partitions and the ghosts.
static hk_status read_ghosts(hk_msh *msh)
{
    int64_t partitions, ignored;
    int ghosts;
    HK_TRY(hk_msh_size(msh, "the number of partitions", &partitions));
    HK_TRY(hk_msh_record_end(msh));
    HK_TRY(hk_msh_count(msh, "the number of ghost entities", 4, 8, &ghosts));
    HK_TRY(hk_msh_record_end(msh));
    for (int i = 0; i < ghosts; ++i) {
        HK_TRY(hk_msh_int(msh, "the tag of a ghost entity", &ignored));
        HK_TRY(hk_msh_int(msh, "the partition of a ghost entity", &ignored));
        HK_TRY(hk_msh_record_end(msh));
    }
    return HK_OK;
}

hk_status hk_msh_v4_entities(hk_msh *msh, bool partitioned)
{
    static const char *const what[4] = {"the number of points", "the number of curves",
                                        "the number of surfaces", "the number of volumes"};
    int counts[4];
    begin_section(msh);
    // The elements of a partitioned mesh belong to its parts, not to the entities they come from.
    hk_idmap_free(msh->entity_map);
    msh->entity_map = NULL;
    msh->entity_count = msh->entity_group_count = 0;
    if (partitioned) HK_TRY(read_ghosts(msh));
    for (int d = 0; d < 4; ++d) HK_TRY(hk_msh_count(msh, what[d], 9, 24, &counts[d]));
    HK_TRY(hk_msh_record_end(msh));
    for (int d = 0; d < 4; ++d)
        for (int i = 0; i < counts[d]; ++i) HK_TRY(read_entity(msh, d, partitioned));
    msh->scan.item = NULL;
    int duplicate;
    hk_status status =
        hk_idmap_new((int)msh->entity_count, msh->entity_keys, &msh->entity_map, &duplicate);
    if (status != HK_OK && duplicate >= 0)
        return hk_msh_fail(msh, "an entity is defined twice: the second time as number %d of them",
                           duplicate + 1);
    return status;
}

// ---------------------------------------------------------------- $Nodes

// Numbers of a block, then coordinates of a block. `ids` has room for them.
static hk_status read_node_block(hk_msh *msh, int count, int64_t dimension, bool parametric,
                                 int64_t *ids)
{
    static const char *const what[6] = {"its x coordinate", "its y coordinate", "its z coordinate",
                                        "its parameter u",  "its parameter v",  "its parameter w"};
    msh->scan.item = NULL;
    for (int i = 0; i < count; ++i) {
        hk_msh_record(msh);
        HK_TRY(hk_msh_size(msh, "a node number", &ids[i]));
        HK_TRY(hk_msh_record_end(msh));
    }
    msh->scan.item = "node";
    int values = 3 + (parametric ? (int)dimension : 0);
    for (int i = 0; i < count; ++i) {
        double position[6];
        msh->scan.number = ids[i];
        hk_msh_record(msh);
        for (int k = 0; k < values; ++k) HK_TRY(hk_msh_real(msh, what[k], &position[k]));
        HK_TRY(hk_msh_record_end(msh));
        HK_TRY(hk_collect_vertex(&msh->collect, ids[i], position));
    }
    msh->scan.item = NULL;
    return HK_OK;
}

// Dimension and tag of the entity of a block.
static hk_status read_block_entity(hk_msh *msh, int64_t *dimension, int64_t *tag)
{
    hk_msh_record(msh);
    HK_TRY(hk_msh_int(msh, "the dimension of a block", dimension));
    if (*dimension < 0 || *dimension > 3)
        return hk_msh_fail(msh, "the dimension of a block is 0 to 3, not %lld",
                           (long long)*dimension);
    HK_TRY(hk_msh_int(msh, "the entity of a block", tag));
    if (*tag < INT32_MIN || *tag > INT32_MAX)
        return hk_msh_fail(msh, "the entity of a block, %lld, is out of range", (long long)*tag);
    return HK_OK;
}

// "blocks count least most" on one line, for nodes and for elements.
static hk_status read_section_counts(hk_msh *msh, const char *what, size_t text_bytes,
                                     size_t binary_bytes, int *blocks, int *count)
{
    int64_t least, most;
    begin_section(msh);
    HK_TRY(hk_msh_count(msh, "the number of blocks", 8, (size_t)(12 + msh->size_bytes), blocks));
    HK_TRY(hk_msh_count(msh, what, text_bytes, binary_bytes, count));
    HK_TRY(hk_msh_size(msh, "the least number", &least));
    HK_TRY(hk_msh_size(msh, "the greatest number", &most));
    return hk_msh_record_end(msh);
}

static hk_status read_node_blocks(hk_msh *msh, int blocks, int count, int64_t *ids)
{
    int done = 0;
    for (int b = 0; b < blocks; ++b) {
        int64_t dimension, tag, parametric;
        int in_block;
        HK_TRY(read_block_entity(msh, &dimension, &tag));
        HK_TRY(hk_msh_int(msh, "whether the nodes are parametric (0 or 1)", &parametric));
        if (parametric != 0 && parametric != 1)
            return hk_msh_fail(msh,
                               "expected whether the nodes are parametric (0 or 1), found %lld",
                               (long long)parametric);
        HK_TRY(hk_msh_count(msh, "the number of nodes of a block", 8,
                            (size_t)(24 + msh->size_bytes), &in_block));
        HK_TRY(hk_msh_record_end(msh));
        if (in_block > count - done)
            return hk_msh_fail(msh, "a block of %d nodes, but the section has %d left", in_block,
                               count - done);
        HK_TRY(read_node_block(msh, in_block, dimension, parametric == 1, ids));
        done += in_block;
    }
    if (done != count)
        return hk_msh_fail(msh, "the blocks have %d nodes, but the section announces %d", done,
                           count);
    return HK_OK;
}

hk_status hk_msh_v4_nodes(hk_msh *msh)
{
    int blocks, count;
    HK_TRY(read_section_counts(msh, "the number of nodes", 8, (size_t)(24 + msh->size_bytes),
                               &blocks, &count));
    int64_t *ids = HK_ARRAY(int64_t, count);
    if (!ids) return HK_NO_MEMORY;
    hk_status status = read_node_blocks(msh, blocks, count, ids);
    hk_free(ids);
    return status == HK_OK ? hk_msh_nodes_end(msh) : status;
}

// ---------------------------------------------------------------- $Elements

static hk_status read_element_block(hk_msh *msh, int left, int *count)
{
    int64_t dimension, tag, type_number;
    HK_TRY(read_block_entity(msh, &dimension, &tag));
    HK_TRY(hk_msh_int(msh, "the element type of a block", &type_number));
    hk_msh_type type = hk_msh_type_of(type_number);
    size_t binary_bytes = (size_t)((1 + type.nodes) * msh->size_bytes);
    HK_TRY(hk_msh_count(msh, "the number of elements of a block", 2, binary_bytes, count));
    HK_TRY(hk_msh_record_end(msh));
    if (msh->binary && type.nodes == 0)
        return hk_msh_fail(msh,
                           "element type %lld is unknown, so that its elements cannot be "
                           "skipped",
                           (long long)type_number);
    int expected = hk_element_dimension(type.shape);
    if (expected >= 0 && expected != dimension)
        return hk_msh_fail(msh, "a %s has dimension %d, but the block says %lld",
                           hk_element_name(type.shape), expected, (long long)dimension);
    if (*count > left)
        return hk_msh_fail(msh, "a block of %d elements, but the section has %d left", *count,
                           left);
    int entity = msh->entity_map ? hk_idmap_find(msh->entity_map, entity_key(dimension, tag)) : -1;
    hk_msh_entity groups = entity >= 0 ? msh->entities[entity] : (hk_msh_entity){0, 0};
    for (int i = 0; i < *count; ++i) {
        int64_t id;
        hk_msh_record(msh);
        msh->scan.item = NULL;
        HK_TRY(hk_msh_size(msh, "an element number", &id));
        msh->scan.item = "element";
        msh->scan.number = id;
        HK_TRY(hk_msh_element(msh, type, groups.count,
                              groups.count ? msh->entity_groups + groups.first : NULL));
    }
    msh->scan.item = NULL;
    return HK_OK;
}

hk_status hk_msh_v4_elements(hk_msh *msh)
{
    int blocks, count, done = 0, in_block;
    HK_TRY(read_section_counts(msh, "the number of elements", 4, (size_t)(2 * msh->size_bytes),
                               &blocks, &count));
    for (int b = 0; b < blocks; ++b) {
        HK_TRY(read_element_block(msh, count - done, &in_block));
        done += in_block;
    }
    if (done != count)
        return hk_msh_fail(msh, "the blocks have %d elements, but the section announces %d", done,
                           count);
    return HK_OK;
}
