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
    double density;                // kg/m³
    int axis_count;                // of an orthotropic material
    hk_law_curve axes[3];          // φ of the stretch along each
    double axis_directions[3][3];  // unit
    double strand_modulus;         // Pa, of fibre and axes together at rest
    double fibre_stiffness;        // Pa; 0: none
    double modulus;                // Pa, ∂P₀₀/∂F₀₀ at rest: how stiff it is, roughly
    double young;                  // Pa, Young's modulus at rest, without fibre and axes
    hk_blend_law blend_law;        // upper 0: it does not convert
    double tear_stress;            // Pa, largest principal stress, above which it tears; 0: never
    double tear_strain;            // largest principal stretch less 1, the same
    double viscous;                // s, Rayleigh's damping beside that of the world
} hk_material;

// Whether the thresholds of tearing can be such.
hk_status hk_check_tear(const hk_material_def *def);
// Checks a definition and derives the coefficients; messages name the parameter.
hk_status hk_material_resolve(const hk_material_def *def, hk_material *material);

// A curve of control points, as of the law spline, that rests at stretch 1, with its slope there.
hk_status hk_strand_curve(const hk_material_def *def, const char *name, const hk_curve *given,
                          hk_law_curve *curve, double *stiffness);
// The coefficients of strands (material/fibre.h) with the curve φ, or with a stiffness.
hk_law_params hk_strand_params(const hk_law_curve *curve);
hk_law_params hk_fibre_params(double stiffness);

// P₀₀ of F = diag(stretch, 1, 1), Pa.
double hk_material_uniaxial(const hk_material *material, double stretch);
// The slope of that between two stretches, or at rest for a material that softens between them: how
// stiff an element of it is, without fibres and axes.
double hk_material_slope(const hk_material *material, double low, double high);

// The stiffness w of a material that is w/2 times a squared distance from a set, Pa; else 0.
double hk_material_projective(const hk_material *material);

const hk_law_info *hk_law_describe(hk_law law);
// Of the laws that are materials of their own, which come first.
int hk_law_count(void);
// Whether its stress takes a decomposition of F.
bool hk_law_decomposes(hk_law law);

#endif
