// Any bytes as a .vtk: a mesh or a message, never a crash.
#include <stdlib.h>

#include "io/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    // As hk_bytes_load gives it: with a '\0' after the bytes.
    char *bytes = malloc(size + 1);
    if (!bytes) return 0;
    if (size) memcpy(bytes, data, size);
    bytes[size] = '\0';
    hk_mesh *mesh = NULL;
    if (hk_vtk_read("fuzz.vtk", bytes, size, &mesh) == HK_OK) {
        if (hk_mesh_finish(mesh, "fuzz.vtk") != HK_OK) abort();  // readers check what they read
        hk_mesh_free(mesh);
    }
    free(bytes);
    return 0;
}
