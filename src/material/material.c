// From a user's definition to the coefficients of a law, and single evaluations.
#define HK_DESCRIBE_LAWS
#define HK_DOUBLE 1
#define HK_LANES  1
#include "core/def.h"
#include "core/vector.h"
#include "material/laws.h"
#include "material/material.h"
#include "material/sheet.h"

#include <math.h>
#include <stdio.h>

static const hk_law_info *const g_laws[HK_LAW_COUNT] = {
#define HK_LAW_ENTRY(X) [HK_LAW_##X] = &X##_info,
    HK_LAWS(HK_LAW_ENTRY)
#undef HK_LAW_ENTRY
};

const hk_law_info *hk_law_describe(hk_law law)
{
    return g_laws[law];
}

bool hk_law_decomposes(hk_law law)
{
#define HK_LAW_ENTRY(X) [HK_LAW_##X] = X##_decomposes,
    static const bool decomposes[HK_LAW_COUNT] = {HK_LAWS(HK_LAW_ENTRY)};
#undef HK_LAW_ENTRY
    return decomposes[law];
}

// Laws that users find in the list come first (fibre and custom are last).
int hk_law_count(void)
{
    int count = 0;
    while (count < HK_LAW_COUNT && !g_laws[count]->internal) count++;
    return count;
}

void hk_fill_material_def(hk_material_def *def, size_t size)
{
    const hk_material_def standard = {
        .model = "neo_hookean",
        .young = 1e6,
        .poisson = 0.45,
        .density = 1000,
        .fibre_direction = {1, 0, 0},
        .axis_directions = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    };
    hk_def_fill(&hk_def_material, &standard, def, size);
}

static hk_status find_law(const char *model, hk_law *law)
{
    if (!model) return hk_fail(HK_BAD_INPUT, "material: no model is given");
    char known[512];
    size_t used = 0;
    known[0] = '\0';
    for (int k = 0; k < hk_law_count(); k++) {
        if (strcmp(model, g_laws[k]->name) == 0) {
            *law = (hk_law)k;
            return HK_OK;
        }
        int more =
            snprintf(known + used, sizeof known - used, "%s%s", k ? ", " : "", g_laws[k]->name);
        used += more > 0 ? (size_t)more : 0;
        if (used >= sizeof known) used = sizeof known - 1;
    }
    if (strcmp(model, g_laws[HK_LAW_custom]->name) == 0) {
        *law = HK_LAW_custom;
        return HK_OK;
    }
    if (hk_is_sheet_material(model))
        return hk_fail(HK_BAD_INPUT, "material %s: it is for sheets or ropes, not for tetrahedra",
                       model);
    return hk_fail(HK_BAD_INPUT, "material: unknown model \"%s\" (known: %s)", model, known);
}

// ---------------------------------------------------------------- coefficients

static hk_status check_moduli(const hk_material_def *def)
{
    if (!(isfinite(def->young) && def->young > 0))
        return hk_fail(HK_BAD_INPUT, "material %s: young must be greater than 0 (is %g)",
                       def->model, def->young);
    if (!(def->poisson > -1 && def->poisson < 0.5))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: poisson must be greater than -1 and less than 0.5 (is %g)",
                       def->model, def->poisson);
    return HK_OK;
}

static int parameter_count(const hk_law_info *law)
{
    int count = 0;
    while (law->parameters[count]) count++;
    return count;
}

// Takes the named parameters; `named` gets a bit for each.
static hk_status take_named(const hk_material_def *def, const hk_law_info *law, hk_law_params *p,
                            unsigned *named)
{
    if (def->parameter_count < 0 || def->parameter_count > HK_MAX_PARAMETERS)
        return hk_fail(HK_BAD_INPUT, "material %s: parameter_count is %d (0 to %d)", def->model,
                       def->parameter_count, HK_MAX_PARAMETERS);
    for (int k = 0; k < def->parameter_count; k++) {
        const hk_parameter *given = &def->parameters[k];
        int index = 0, count = parameter_count(law);
        while (index < count && (!given->name || strcmp(given->name, law->parameters[index])))
            index++;
        if (index == count)
            return hk_fail(HK_BAD_INPUT, "material %s: it has no parameter \"%s\"", def->model,
                           given->name ? given->name : "(null)");
        bool fits = isfinite(given->value) && ((law->any_sign >> index & 1) || given->value >= 0) &&
                    (!(law->positive >> index & 1) || given->value > 0);
        if (!fits)
            return hk_fail(HK_BAD_INPUT, "material %s: %s must be %s (is %g)", def->model,
                           given->name,
                           (law->positive >> index & 1)   ? "greater than 0"
                           : (law->any_sign >> index & 1) ? "finite"
                                                          : "0 or more",
                           given->value);
        p->c[index] = given->value;
        *named |= 1u << index;
    }
    return HK_OK;
}

static hk_status check_all_named(const hk_material_def *def, const hk_law_info *law, unsigned named)
{
    for (int k = 0; k < parameter_count(law); k++)
        if (!((named | law->optional) >> k & 1))
            return hk_fail(
                HK_BAD_INPUT,
                "material %s: give young and poisson, or all coefficients: %s is missing",
                def->model, law->parameters[k]);
    if (law->curves && !(def->f.count || def->g.count || def->h.count))
        return hk_fail(HK_BAD_INPUT, "material %s: give young and poisson, or curves f, g, h",
                       def->model);
    return HK_OK;
}

// Pa. No matter is nearly as stiff, and squares of forces are still finite.
#define STIFFEST 1e30

// Whether nowhere among strong compressions and stretches, along one, two and three axes, the
// energy is well below that of the state of rest. Laws with a term λ/2 (J − 1)² or the like have no
// lower bound where λ < 0, though they are stable at rest.
static bool is_bounded(const hk_material_def *def, double at_rest, double scale)
{
    static const double stretches[] = {0.01, 0.1, 0.3, 0.6, 1.5, 3, 10, 100};
    for (int k = 0; k < HK_COUNT_OF(stretches); k++)
        for (int axes = 1; axes <= 3; axes++) {
            double F[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, energy;
            for (int i = 0; i < axes; i++) F[4 * i] = stretches[k];
            if (hk_material_evaluate(def, F, false, &energy, NULL, NULL) != HK_OK) return true;
            if (energy < at_rest - 1e-6 * scale) return false;
        }
    return true;
}

// The state of rest must be free of stress and stable: both moduli positive.
static hk_status check_rest(const hk_material_def *def, hk_material *m)
{
    double P[9], H[81], energy;
    hk_material_def plain = *def;
    plain.fibre_stiffness = 0;
    for (int k = 0; k < 3; k++) plain.axes[k].count = 0;
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    HK_TRY(hk_material_evaluate(&plain, identity, false, &energy, P, H));
    double shear = H[1 * 9 + 1], bulk = (H[0] + 2 * H[4]) / 3;  // P_01/F_01; Σ P_00/F_ii
    double scale = fabs(shear) + fabs(bulk);
    if (!isfinite(scale))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: its moduli are too large to compute with (at most %g Pa)",
                       def->model, STIFFEST);
    if (!(scale <= STIFFEST))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: its moduli are too large to compute with (shear modulus %g "
                       "Pa, bulk modulus %g Pa; at most %g)",
                       def->model, shear, bulk, STIFFEST);
    if (!(fabs(P[0]) <= 1e-8 * scale))
        return hk_fail(HK_BAD_INPUT, "material %s: it is not free of stress at rest (%g Pa)",
                       def->model, P[0]);
    if (!(shear > 0 && bulk > 0))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: unstable at rest: shear modulus %g Pa, bulk modulus %g Pa",
                       def->model, shear, bulk);
    if (!is_bounded(&plain, energy, scale))
        hk_log(HK_LOG_WARNING,
               "material %s: its energy has no lower bound (poisson or lambda is below 0, or a "
               "curve falls without end): bodies may collapse or grow without end; corotated and "
               "stvk have one",
               def->model);
    m->modulus = H[0];
    m->young = 9 * bulk * shear / (3 * bulk + shear);
    return HK_OK;
}

// A law of the user's own may be under stress at rest, but it must be defined there. How stiff it
// is follows from the moduli.
static hk_status check_custom(hk_material *m)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double P[9], H[81], sum = hk_custom_stress(&m->params.custom, identity, P);
    hk_custom_hessian(&m->params.custom, identity, 1, H);
    for (int k = 0; k < 9; k++) sum += P[k];
    for (int k = 0; k < 81; k++) sum += H[k];
    if (!isfinite(sum))
        return hk_fail(HK_BAD_INPUT,
                       "material custom: energy, stress and stiffness at rest must be finite");
    double mu = m->params.c[0], lambda = m->params.c[1];
    m->modulus = 2 * mu + lambda;
    m->young = mu * (3 * lambda + 2 * mu) / (lambda + mu);
    return HK_OK;
}

// The curve that a user gave as `name`, if any.
static hk_status take_curve(const hk_material_def *def, const hk_law_info *law, const char *name,
                            const hk_curve *given, hk_law_curve *curve)
{
    if (given->count == 0) return HK_OK;
    if (given->count < 0 || !given->values)
        return hk_fail(HK_BAD_INPUT, "material %s: curve %s has a count of %d and %s values",
                       def->model, name, given->count, given->values ? "some" : "no");
    if (!law->curves)
        return hk_fail(HK_BAD_INPUT, "material %s: it takes no curves f, g, h or axes", def->model);
    return law->make_curve(name, given, curve);
}

// A curve that rests at stretch 1.
static hk_status take_strand(const hk_material_def *def, const hk_law_info *law, const char *name,
                             const hk_curve *given, hk_law_curve *curve, double *stiffness)
{
    HK_TRY(take_curve(def, law, name, given, curve));
    *stiffness = curve_at(curve, 0).dd;
    if (!(*stiffness > 0 && fabs(curve->slope) <= 1e-8 * *stiffness))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: the curve %s must rest at stretch 1 (force %g, slope %g)",
                       def->model, name, curve->slope, *stiffness);
    curve->value = 0;  // no energy at rest
    return HK_OK;
}

hk_status hk_strand_curve(const hk_material_def *def, const char *name, const hk_curve *given,
                          hk_law_curve *curve, double *stiffness)
{
    return take_strand(def, g_laws[HK_LAW_spline], name, given, curve, stiffness);
}

// One along each axis.
static hk_status take_axes(const hk_material_def *def, const hk_law_info *law, hk_material *m)
{
    static const char *const names[3] = {"of axis 0", "of axis 1", "of axis 2"};
    for (int k = 0; k < 3; k++) {
        double stiffness;
        if (def->axes[k].count == 0) continue;
        hk_law_curve *curve = &m->axes[m->axis_count];
        HK_TRY(take_strand(def, law, names[k], &def->axes[k], curve, &stiffness));
        if (!hk_unit3(def->axis_directions[k], m->axis_directions[m->axis_count]))
            return hk_fail(HK_BAD_INPUT, "material %s: the direction %s has no length", def->model,
                           names[k]);
        m->axis_count++;
        m->strand_modulus += stiffness;
    }
    return HK_OK;
}

// The functions of a law of the user's own.
static hk_status take_custom(const hk_material_def *def, hk_material *m)
{
    const hk_custom_law *given = &def->custom;
    bool some = given->energy || given->stress || given->hessian;
    if (m->law != HK_LAW_custom && some)
        return hk_fail(HK_BAD_INPUT, "material %s: only the model \"custom\" takes functions",
                       def->model);
    if (m->law != HK_LAW_custom) return HK_OK;
    if (!given->energy || !given->stress)
        return hk_fail(HK_BAD_INPUT,
                       "material custom: custom.%s is NULL: energy and stress are needed",
                       given->energy ? "stress" : "energy");
    m->params.custom = *given;
    return check_moduli(def);
}

// Everything but what needs an evaluation.
static hk_status resolve(const hk_material_def *def, hk_material *m)
{
    hk_law_params *p = &m->params;
    *m = (hk_material){.fibre_stiffness = def->fibre_stiffness};
    HK_TRY(find_law(def->model, &m->law));
    HK_TRY(take_custom(def, m));
    if (!(isfinite(def->fibre_stiffness) && def->fibre_stiffness >= 0))
        return hk_fail(HK_BAD_INPUT, "material %s: fibre stiffness must be 0 or more (is %g)",
                       def->model, def->fibre_stiffness);
    const hk_law_info *info = g_laws[m->law];
    m->strand_modulus = m->fibre_stiffness;
    bool from_moduli =
        !(isnan(def->young) && (isnan(def->poisson) || def->parameter_count > 0 || info->curves));
    if (from_moduli) {
        HK_TRY(check_moduli(def));
        double mu = def->young / (2 * (1 + def->poisson));
        double lambda = def->young * def->poisson / ((1 + def->poisson) * (1 - 2 * def->poisson));
        info->from_lame(mu, lambda, p);
    } else {
        info->from_lame(0, 0, p);  // for the coefficients that need not be named
    }
    unsigned named = 0;
    HK_TRY(take_named(def, info, p, &named));
    if (!from_moduli) HK_TRY(check_all_named(def, info, named));
    if (info->check) HK_TRY(info->check(p));
    HK_TRY(take_curve(def, info, "f", &def->f, &p->curves[0]));
    HK_TRY(take_curve(def, info, "g", &def->g, &p->curves[1]));
    HK_TRY(take_curve(def, info, "h", &def->h, &p->curves[2]));
    return take_axes(def, info, m);
}

hk_invertible hk_default_invertible(void)
{
    return (hk_invertible){.upper = 0.15, .lower = 0.05, .decay = 0.05};
}

static hk_status take_conversion(const hk_material_def *def, hk_material *m)
{
    hk_invertible usual = hk_default_invertible();
    const hk_invertible *c = &def->invertible;
    m->blend_law = (hk_blend_law){0};
    if (c->upper == 0 && hk_law_describe(m->law)->converts) c = &usual;
    if (c->upper <= 0) return HK_OK;
    if (!(c->upper > c->lower && c->lower >= 0 && c->upper < 1))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: invertible needs 0 <= lower < upper < 1 (are %g and %g)",
                       def->model, c->lower, c->upper);
    if (!(c->decay > 0 && c->decay <= 1))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: the decay of invertible must be above 0 and at most 1 (is %g)",
                       def->model, c->decay);
    if (!(isfinite(c->stiffness) && c->stiffness >= 0))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: the stiffness of invertible must be 0 or more (is %g)",
                       def->model, c->stiffness);
    // By default about the shear modulus, which is what w is for a material without volume term.
    double stiffness = c->stiffness > 0 ? c->stiffness : m->modulus / 3;
    m->blend_law = (hk_blend_law){c->upper, c->lower, c->decay, stiffness, m->modulus, c == &usual};
    return HK_OK;
}

hk_status hk_material_resolve(const hk_material_def *def, hk_material *material)
{
    hk_material m;
    HK_TRY(resolve(def, &m));
    HK_TRY(m.law == HK_LAW_custom ? check_custom(&m) : check_rest(def, &m));
    m.density = def->density;
    if (!(isfinite(m.density) && m.density > 0))
        return hk_fail(HK_BAD_INPUT, "material %s: density must be greater than 0 (is %g)",
                       def->model, m.density);
    m.viscous = def->viscous;
    if (!(isfinite(m.viscous) && m.viscous >= 0))
        return hk_fail(HK_BAD_INPUT, "material %s: viscous must be 0 or more (is %g s)", def->model,
                       m.viscous);
    if (def->thickness != 0 || def->membrane || def->bending_form)
        return hk_fail(HK_BAD_INPUT,
                       "material %s: thickness, membrane and bending_form are of sheets",
                       def->model);
    HK_TRY(take_conversion(def, &m));
    *material = m;
    return HK_OK;
}

// ---------------------------------------------------------------- one deformation gradient

typedef struct evaluation {
    double energy;
    mat3 P;
    double H[81];
} evaluation;

static const vec3 g_axes[3] = {{{1, 0, 0}}, {{0, 1, 0}}, {{0, 0, 1}}};

#define HK_EVALUATE(X)                                                                           \
    static void X##_evaluate(const hk_law_params *p, const double *element, mat3 F, double keep, \
                             evaluation *e)                                                      \
    {                                                                                            \
        mat3 H = m3_displacement(F);                                                             \
        e->energy += X##_energy(p, element, H);                                                  \
        e->P = m3_add(e->P, X##_stress(p, element, H));                                          \
        X##_stiffness s = X##_stiffness_of(p, element, F, keep);                                 \
        for (int j = 0; j < 3; j++)                                                              \
            for (int l = 0; l < 3; l++) {                                                        \
                mat3 block = X##_block(&s, g_axes[j], g_axes[l]);                                \
                for (int i = 0; i < 3; i++)                                                      \
                    for (int k = 0; k < 3; k++)                                                  \
                        e->H[(3 * i + j) * 9 + 3 * k + l] += block.m[i][k];                      \
            }                                                                                    \
    }
HK_LAWS(HK_EVALUATE)
#undef HK_EVALUATE

typedef void evaluate_fn(const hk_law_params *p, const double *element, mat3 F, double keep,
                         evaluation *e);
static evaluate_fn *const g_evaluate[HK_LAW_COUNT] = {
#define HK_EVALUATE_ENTRY(X) [HK_LAW_##X] = X##_evaluate,
    HK_LAWS(HK_EVALUATE_ENTRY)
#undef HK_EVALUATE_ENTRY
};

double hk_material_uniaxial(const hk_material *material, double stretch)
{
    mat3 F = m3_identity();
    F.m[0][0] = stretch;
    evaluation e = {0};
    g_evaluate[material->law](&material->params, NULL, F, 1, &e);
    return e.P.m[0][0];
}

double hk_material_slope(const hk_material *material, double low, double high)
{
    double slope =
        (hk_material_uniaxial(material, high) - hk_material_uniaxial(material, low)) / (high - low);
    // A material that softens over the range is still as stiff as at rest near rest.
    return slope > 0 ? slope : material->modulus;
}

double hk_material_projective(const hk_material *material)
{
    const hk_law_info *info = hk_law_describe(material->law);
    return info->projective ? info->projective(&material->params) : 0;
}

hk_law_params hk_strand_params(const hk_law_curve *curve)
{
    return (hk_law_params){.curves = {*curve}};
}

hk_law_params hk_fibre_params(double stiffness)
{
    const hk_law_curve curve = {.powers = 3, .power = {0, 0, stiffness / 2}};
    return hk_strand_params(&curve);
}

static hk_status add_strands(const hk_material_def *def, const hk_material *m, mat3 F, double keep,
                             evaluation *e)
{
    for (int k = 0; k < m->axis_count; k++) {
        hk_law_params p = hk_strand_params(&m->axes[k]);
        g_evaluate[HK_LAW_fibre](&p, m->axis_directions[k], F, keep, e);
    }
    if (!(m->fibre_stiffness > 0)) return HK_OK;
    double unit[3];
    if (!hk_unit3(def->fibre_direction, unit))
        return hk_fail(HK_BAD_INPUT, "material %s: the fibre direction has no length", def->model);
    hk_law_params p = hk_fibre_params(m->fibre_stiffness);
    g_evaluate[HK_LAW_fibre](&p, unit, F, keep, e);
    return HK_OK;
}

hk_status hk_material_evaluate(const hk_material_def *def, const double F[9], bool projected,
                               double *energy, double stress[9], double hessian[81])
{
    if (!def || !F) return hk_fail(HK_BAD_INPUT, "hk_material_evaluate: def and F are needed");
    hk_material m;
    HK_TRY(hk_def_check(&hk_def_material, def));
    HK_TRY(resolve(def, &m));
    mat3 f;
    memcpy(f.m, F, sizeof f.m);
    evaluation e = {0};
    double keep = projected ? 0 : 1;
    g_evaluate[m.law](&m.params, NULL, f, keep, &e);
    HK_TRY(add_strands(def, &m, f, keep, &e));
    if (!(e.energy < INFINITY)) {  // +inf or NaN: the law is not defined here
        e = (evaluation){.energy = INFINITY};
    }
    if (energy) *energy = e.energy;
    if (stress) memcpy(stress, e.P.m, 9 * sizeof(double));
    if (hessian) memcpy(hessian, e.H, 81 * sizeof(double));
    return HK_OK;
}
