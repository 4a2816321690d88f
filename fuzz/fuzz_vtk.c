// Any bytes as a .vtk: a mesh or a message, never a crash.
#include "mesh_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hk_mesh *mesh = NULL;
    hk_status status = hk_vtk_format.read("fuzz.vtk", (const char *)data, size, &mesh);
    check_outcome(status, mesh);
    return 0;
}
