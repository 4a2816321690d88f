// Any bytes as a TetGen pair: a mesh or a message, never a crash. A line with '@' ends the .node.
#include "mesh_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *node = (const char *)data, *split = size ? memchr(node, '@', size) : NULL;
    size_t node_size = split ? (size_t)(split - node) : size;
    const char *ele = split ? split + 1 : node + size;
    hk_mesh *mesh = NULL;
    hk_status status = hk_tetgen_read("fuzz.node", node, node_size, "fuzz.ele", ele,
                                      size - (size_t)(ele - node), &mesh);
    check_outcome(status, mesh);
    return 0;
}
