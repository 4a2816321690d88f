// Any bytes as a .stl: a mesh or a message, never a crash.
#include "mesh_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hk_mesh *mesh = NULL;
    hk_status status = hk_stl_format.read("fuzz.stl", (const char *)data, size, &mesh);
    check_outcome(status, mesh);
    return 0;
}
