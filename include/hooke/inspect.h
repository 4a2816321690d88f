/* What a model is made of, vertex by vertex: for programs that show it and let people choose parts
 * of it. A part of hooke.h, which includes it. */
#ifndef HOOKE_INSPECT_H
#define HOOKE_INSPECT_H

#include <hooke/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What holds a vertex: a sum of HK_AXIS_X, HK_AXIS_Y and HK_AXIS_Z, of the axes that are fixed, or
 * HK_MOVED where it follows a prescribed path; and HK_TIED where an attachment pulls. */
enum { HK_MOVED = 8, HK_TIED = 32 };
/* holds is [vertex_count]. For worlds that are edited: of hk_world_model(). Vertices of no element
 * are held still, too. */
HK_API hk_status hk_model_holds(const hk_model *model, uint8_t *holds);
/* Forces of the loads, N, [vertex_count][3], in full; pressures as they act on the rest shape. */
HK_API hk_status hk_model_load_forces(const hk_model *model, double *forces);
/* The vertices (from 0 to the body's count) and the tets of a body that a selector means, at rest:
 * 0 or 1 for each; either array may be NULL. */
HK_API hk_status hk_model_select(const hk_model *model, int body, const hk_selector *selector,
                                 uint8_t *vertices, uint8_t *tets);
HK_API int hk_model_body_tet_count(const hk_model *model, int body);

#ifdef __cplusplus
}
#endif
#endif
