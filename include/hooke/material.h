/* Materials. A part of hooke.h, which includes it. */
#ifndef HOOKE_MATERIAL_H
#define HOOKE_MATERIAL_H

#include <hooke/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- materials */

typedef struct hk_parameter {
    const char *name;
    double value;
} hk_parameter;

/* A function of one variable: control points {s, value} of a natural cubic spline, or polynomial
 * coefficients c₀, c₁, … of powers of (s − 1). */
typedef struct hk_curve {
    const double *values; /* spline: [count][2]; polynomial: [count] */
    int count;            /* 0: the default curve made from E and ν */
} hk_curve;

/* Invertible model conversion (Wang & Yang 2016, section 5.1): elements whose least stretch falls
 * from `upper` to `lower` turn from their own law to projective dynamics, stiffness × Σ (σ − 1)²,
 * so that flat and inverted ones recover. Nothing changes as long as all stretches are larger. */
typedef struct hk_invertible {
    double upper;     /* usually 0.15; 0: as the material has it (on in time
                         steps for "stvk", off for others);
                         negative: off */
    double lower;     /* usually 0.05 */
    double decay;     /* most by which a blend weight falls in an iteration; usually 0.05 */
    double stiffness; /* Pa; 0: from the material */
} hk_invertible;
HK_API hk_invertible hk_default_invertible(void); /* 0.15, 0.05, 0.05, 0 */

/* A law of the user's own, the model "custom", at a deformation gradient F (row-major 3×3) of any
 * finite numbers, flat and inverted ones included. The functions may be called from several threads
 * at once, at any F in any order, as long as a model or a world lives that was made with them. They
 * must not call the library. All in double precision, whatever precision a method has. */
typedef struct hk_custom_law {
    /* Energy density, J/m³; INFINITY (or NAN) where the law is not defined. */
    double (*energy)(void *context, const double F[9]);
    /* The first Piola–Kirchhoff stress ∂ψ/∂F, Pa, [3][3]; only asked for where the energy is
     * finite.
     */
    void (*stress)(void *context, const double F[9], double P[9]);
    /* ∂P/∂F, Pa, [9][9], index 3·row + column on both sides; only asked for where the energy is
     * finite, and made positive semidefinite by the library where a method wants that. NULL:
     * central differences of the stress, to about 9 digits for 18 stresses. */
    void (*hessian)(void *context, const double F[9], double H[81]);
    void *context; /* passed to all of them */
} hk_custom_law;

enum { HK_MAX_PARAMETERS = 8 };
typedef struct hk_material_def {
    size_t def_size;   /* set by hk_default_material_def() */
    const char *model; /* "neo_hookean", "corotated", …: hk_material_name() lists them; of a sheet
                          "shell", or "mass_spring", which takes density and parameters only; of a
                          rope "rope", which takes young, density, bending_form and parameters;
                          "custom", which is not in the list, takes `custom`, density, and young and
                          poisson, from which methods have their scales */
    double young;      /* Pa; NAN: all coefficients come by name */
    double poisson;    /* - */
    double density;    /* kg/m³; of mass_spring kg/m² */
    hk_parameter parameters[HK_MAX_PARAMETERS]; /* coefficients by name; they replace those from
                                                   E and ν */
    int parameter_count;
    hk_curve f, g, h; /* "spline" gives f′, g′, h′; "polynomial" f, g, h */
    hk_curve axes[3]; /* the same laws, orthotropic: a function of its own of the stretch along each
                         material axis, beside f and given as f is; count 0: none */
    double axis_directions[3][3];   /* of the rest shape, after the transform; by default x, y, z */
    double fibre_stiffness;         /* Pa, added along the fibre; 0: none */
    double fibre_direction[3];      /* of the rest shape, after the body's transform; need not have
                                       length 1 */
    const double *fibre_directions; /* [tets of the body][3], or NULL for one direction */
    hk_invertible invertible;       /* all 0: as the material has it */
    hk_custom_law custom;           /* of the model "custom", on the CPU only; copied */
    double viscous;   /* s: Rayleigh's damping of what is made of it, beside hk_damping.viscous */
    double thickness; /* m, of "shell" */
    /* of "shell", in its plane: "stvk", "neo_hookean", "corotated", "arap", "orthotropic"; NULL:
     * stvk. hk_membrane_name() lists them */
    const char *membrane;
    const char *bending_form; /* of "shell" and "rope": "hinges", "cotangent", "none"; NULL:
                                 hinges */
    double warp_direction[3]; /* of "shell": of the rest shape, after the transform; all 0: x */
    /* Where it tears (docs/tearing.md): above this largest principal stress (Cauchy's, Pa; not of
     * "mass_spring") or this largest stretch less 1; 0: never */
    double tear_stress, tear_strain;
    uint64_t reserved[7];
} hk_material_def;

/* neo_hookean, 1 MPa, 0.45, 1000 kg/m³ */
HK_API void hk_fill_material_def(hk_material_def *def, size_t size);
static inline hk_material_def hk_default_material_def(void)
{
    hk_material_def def;
    hk_fill_material_def(&def, sizeof def);
    return def;
}

/* All materials by number, those for solids first. */
HK_API int hk_material_count(void);
HK_API const char *hk_material_name(int material);
HK_API const char *hk_material_summary(int material);
/* Names of the material's own parameters, NULL-terminated. */
HK_API const char *const *hk_material_parameters(int material);
/* What a material is for: solids (tets) have laws of a deformation gradient; sheets (triangles) do
 * not. "mass_spring" is of sheets: its parameters are stretch (N/m, required) and bending (N·m, 0
 * unless given). So is "shell", triangles with a thickness and a law in their plane
 * (docs/shells.md): young, poisson, thickness and density, or the parameters warp, weft, shear
 * (N/m), bending (N·m) and area_density (kg/m²); limit (Pa), low and high limit its stretches;
 * `axes` are strands along directions in it. HK_FOR_NOTHING: there is no such material. */
typedef enum hk_material_use {
    HK_FOR_NOTHING = 0,
    HK_FOR_SOLIDS,
    HK_FOR_SHEETS,
    HK_FOR_ROPES
} hk_material_use;
HK_API hk_material_use hk_material_kind(int material);
/* The laws in the plane of a "shell". */
HK_API int hk_membrane_count(void);
HK_API const char *hk_membrane_name(int law);
HK_API const char *hk_membrane_summary(int law);

/* Energy density, stress and stiffness of one deformation gradient (row-major 3×3): what the
 * solvers use, in double precision. Any output may be NULL. hessian is ∂P/∂F, [9][9], row-major
 * with index 3·row + column on both sides; `projected` makes it positive semidefinite.
 * energy is INFINITY where the law is not defined (then the rest is 0). */
HK_API hk_status hk_material_evaluate(const hk_material_def *def, const double F[9], bool projected,
                                      double *energy, double stress[9], double hessian[81]);

#ifdef __cplusplus
}
#endif
#endif
