// What the fuzzers of mesh formats check: any bytes give a sound mesh or a message.
#ifndef MESH_READER_H
#define MESH_READER_H

#include <stdlib.h>

#include "io/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Readers check what they read: finishing can fail only for want of memory. Notes and groups are
// looked at so that the sanitizer sees them.
static inline void check_outcome(hk_status status, hk_mesh *mesh)
{
    if (status != HK_OK) {
        if (mesh || hk_error()[0] == '\0') abort();
        return;
    }
    if (hk_mesh_finish(mesh, "fuzz") != HK_OK) abort();
    if (mesh->tet_count == 0 && mesh->triangle_count == 0 && mesh->line_count == 0) abort();
    for (int n = 0; n < hk_mesh_note_count(mesh); ++n)
        if (hk_mesh_note(mesh, n)[0] == '\0') abort();
    hk_mesh_free(mesh);
}

#endif
