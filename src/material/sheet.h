// What sheets (triangles without tets) are made of: springs along the edges and a bending stiffness
// (mass_spring), or triangles with a thickness, a law in their plane and bending (shell). They are
// no laws of a deformation gradient of solids and so stand beside those.
#ifndef HK_MATERIAL_SHEET_H
#define HK_MATERIAL_SHEET_H

#include "core/base.h"
#include "material/params.h"

// The laws in the plane of a shell (membrane.h), by number.
#define HK_MEMBRANES(LAW) \
    LAW(stvk)             \
    LAW(neo_hookean)      \
    LAW(corotated)        \
    LAW(arap)             \
    LAW(orthotropic)
typedef enum hk_membrane_law {
#define HK_MEMBRANE_NUMBER(name) HK_MEMBRANE_##name,
    HK_MEMBRANES(HK_MEMBRANE_NUMBER)
#undef HK_MEMBRANE_NUMBER
        HK_MEMBRANE_COUNT
} hk_membrane_law;

enum { HK_MOST_STRANDS = 3 };

// All moduli are of the sheet: those of the solid times its thickness, N/m.
typedef struct hk_membrane {
    hk_membrane_law law;
    double mu, lambda;        // in its plane
    double solid_lambda;      // of the solid
    double green[4];          // c₀₀ c₀₁ c₁₁ G of laws quadratic in Green's strain
    double limit, low, high;  // 0: stretches are not limited
    int strand_count;
    hk_law_curve strand[HK_MOST_STRANDS];
    double direction[HK_MOST_STRANDS][3];
    double modulus;  // how stiff it is, roughly
} hk_membrane;

static inline int hk_membrane_is_quadratic(const hk_membrane *m)
{
    return m->law == HK_MEMBRANE_stvk || m->law == HK_MEMBRANE_orthotropic;
}

typedef enum hk_bending { HK_BENDING_NONE, HK_BENDING_HINGES, HK_BENDING_COTANGENT } hk_bending;

typedef struct hk_sheet_material {
    bool shell;
    double density;                   // kg/m²
    double stretch;                   // N/m, about Young's modulus × thickness
    double bending;                   // N·m
    double viscous;                   // s
    double tear_stress, tear_strain;  // N/m and 1, where it tears; 0: never
    // Of a shell.
    hk_bending form;
    hk_membrane membrane;
    double warp[3];  // direction of the rest shape, of the frame of its triangles
} hk_sheet_material;

enum { HK_MOST_SHEET_PARAMETERS = 8 };
// How users see one.
typedef struct hk_sheet_info {
    const char *name, *summary;
    const char *parameters[HK_MOST_SHEET_PARAMETERS + 1];  // NULL-terminated
} hk_sheet_info;
int hk_sheet_count(void);
const hk_sheet_info *hk_sheet_describe(int material);
const char *const *hk_bending_names(void);  // NULL-terminated

// Whether `model` names a material of sheets.
bool hk_is_sheet_material(const char *model);
bool hk_is_shell(const char *model);
// Checks a definition; messages name the parameter.
hk_status hk_sheet_material_resolve(const hk_material_def *def, hk_sheet_material *material);

#endif
