// A material as the rest of the library sees it: a law, its coefficients and a density.
#ifndef HK_MATERIAL_H
#define HK_MATERIAL_H

#include "core/base.h"
#include "material/describe.h"
#include "material/list.h"
#include "material/params.h"

typedef struct hk_material {
    hk_law law;
    hk_law_params params;
    double density;          // kg/m³
    double fibre_stiffness;  // Pa; 0: none
    double modulus;          // Pa, ∂P₀₀/∂F₀₀ at rest: how stiff it is, roughly
} hk_material;

// Checks a definition and derives the coefficients; messages name the parameter.
hk_status hk_material_resolve(const hk_material_def *def, hk_material *material);

// P₀₀ of F = diag(stretch, 1, 1), Pa.
double hk_material_uniaxial(const hk_material *material, double stretch);

const hk_law_info *hk_law_describe(hk_law law);

#endif
