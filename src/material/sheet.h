// What sheets (triangles without tets) are made of: springs along the edges and a bending
// stiffness. It is no law of a deformation gradient and so stands beside the laws.
#ifndef HK_MATERIAL_SHEET_H
#define HK_MATERIAL_SHEET_H

#include "core/base.h"

typedef struct hk_sheet_material {
    double density;  // kg/m²
    double stretch;  // N/m, about Young's modulus × thickness
    double bending;  // N·m
} hk_sheet_material;

// How users see one.
typedef struct hk_sheet_info {
    const char *name, *summary;
    const char *parameters[3];  // NULL-terminated
} hk_sheet_info;
int hk_sheet_count(void);
const hk_sheet_info *hk_sheet_describe(int material);

// Whether `model` names a material of sheets.
bool hk_is_sheet_material(const char *model);
// Checks a definition; messages name the parameter.
hk_status hk_sheet_material_resolve(const hk_material_def *def, hk_sheet_material *material);

#endif
