#include "material/sheet.h"

#include <math.h>
#include <stdio.h>

#include "core/vector.h"
#include "material/material.h"

enum { MASS_SPRING, SHELL, SHEETS, ROPE = SHEETS, MATERIALS };
enum { STRETCH, SPRING_BENDING, SPRING_PARAMETERS };
enum { WARP, WEFT, SHEAR, BENDING, AREA_DENSITY, LIMIT, LOW, HIGH, SHELL_PARAMETERS };
_Static_assert((int)SHELL_PARAMETERS <= (int)HK_MAX_PARAMETERS, "a definition holds all of them");

static const hk_sheet_info g_materials[SHEETS] = {
    [MASS_SPRING] = {"mass_spring",
                     "for sheets (cloth): springs along the edges of the triangles, and bending",
                     {[STRETCH] = "stretch", [SPRING_BENDING] = "bending"}},
    [SHELL] = {"shell",
               "for sheets: triangles with a thickness, a law in their plane, and bending",
               {[WARP] = "warp",
                [WEFT] = "weft",
                [SHEAR] = "shear",
                [BENDING] = "bending",
                [AREA_DENSITY] = "area_density",
                [LIMIT] = "limit",
                [LOW] = "low",
                [HIGH] = "high"}},
};

static const struct {
    const char *name, *summary;
} g_membranes[HK_MEMBRANE_COUNT] = {
    [HK_MEMBRANE_stvk] = {"stvk", "linear in the Green strain"},
    [HK_MEMBRANE_neo_hookean] = {"neo_hookean", "of a rubber sheet that becomes thinner"},
    [HK_MEMBRANE_corotated] = {"corotated", "linear in the stretches"},
    [HK_MEMBRANE_arap] = {"arap", "the same without Poisson's effect"},
    [HK_MEMBRANE_orthotropic] = {"orthotropic", "stvk with moduli of its own along warp and weft"},
};

static const char *const g_bendings[] = {[HK_BENDING_NONE] = "none",
                                         [HK_BENDING_HINGES] = "hinges",
                                         [HK_BENDING_COTANGENT] = "cotangent",
                                         NULL};

int hk_sheet_count(void)
{
    return MATERIALS;
}

const hk_sheet_info *hk_sheet_describe(int material)
{
    return material == ROPE ? &hk_rope_info : &g_materials[material];
}

const char *const *hk_bending_names(void)
{
    return g_bendings;
}

int hk_membrane_count(void)
{
    return HK_MEMBRANE_COUNT;
}

static bool is_membrane(int law)
{
    return law >= 0 && law < HK_MEMBRANE_COUNT;
}

const char *hk_membrane_name(int law)
{
    return is_membrane(law) ? g_membranes[law].name : NULL;
}

const char *hk_membrane_summary(int law)
{
    return is_membrane(law) ? g_membranes[law].summary : NULL;
}

bool hk_is_sheet_material(const char *model)
{
    for (int k = 0; k < hk_sheet_count(); k++)
        if (model && strcmp(model, hk_sheet_describe(k)->name) == 0) return true;
    return false;
}

bool hk_is_shell(const char *model)
{
    return model && strcmp(model, g_materials[SHELL].name) == 0;
}

bool hk_is_rope(const char *model)
{
    return model && strcmp(model, hk_rope_info.name) == 0;
}

hk_status hk_sheet_take_parameters(const hk_material_def *def, const char *const *names,
                                   double *values)
{
    if (def->parameter_count < 0 || def->parameter_count > HK_MAX_PARAMETERS)
        return hk_fail(HK_BAD_INPUT, "material %s: parameter_count is %d (0 to %d)", def->model,
                       def->parameter_count, HK_MAX_PARAMETERS);
    for (int k = 0; k < def->parameter_count; k++) {
        const hk_parameter *given = &def->parameters[k];
        int which = 0;
        while (names[which] && (!given->name || strcmp(given->name, names[which]))) which++;
        if (!names[which])
            return hk_fail(HK_BAD_INPUT, "material %s: it has no parameter \"%s\"", def->model,
                           given->name ? given->name : "(null)");
        values[which] = given->value;
    }
    return HK_OK;
}

hk_status hk_sheet_need(const hk_material_def *def, const char *name, double value, bool zero)
{
    if (isfinite(value) && (value > 0 || (zero && value == 0))) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "material %s: %s must be %s (is %g)", def->model, name,
                   zero ? "0 or more" : "greater than 0", value);
}

static hk_status check_density(const hk_material_def *def)
{
    return hk_sheet_need(def, "density", def->density, false);
}

// ---------------------------------------------------------------- mass_spring

static hk_status resolve_springs(const hk_material_def *def, hk_sheet_material *material)
{
    double values[SPRING_PARAMETERS] = {[STRETCH] = NAN, [SPRING_BENDING] = 0};
    HK_TRY(hk_sheet_take_parameters(def, g_materials[MASS_SPRING].parameters, values));
    if (isnan(values[STRETCH]))
        return hk_fail(HK_BAD_INPUT, "material %s: stretch (N/m) must be given", def->model);
    HK_TRY(hk_sheet_need(def, "stretch", values[STRETCH], false));
    HK_TRY(hk_sheet_need(def, "bending", values[SPRING_BENDING], true));
    HK_TRY(check_density(def));
    if (def->fibre_stiffness != 0 || def->f.count || def->g.count || def->h.count ||
        def->axes[0].count || def->axes[1].count || def->axes[2].count)
        return hk_fail(HK_BAD_INPUT, "material %s: it takes no curves and no fibre", def->model);
    if (def->thickness != 0 || def->membrane || def->bending_form)
        return hk_fail(HK_BAD_INPUT,
                       "material %s: thickness, membrane and a form of bending are of \"shell\"",
                       def->model);
    if (def->tear_stress > 0)
        return hk_fail(HK_BAD_INPUT,
                       "material %s: springs have no stress: it tears at a tear_strain, or take "
                       "\"shell\"",
                       def->model);
    *material = (hk_sheet_material){.density = def->density,
                                    .tear_strain = def->tear_strain,
                                    .stretch = values[STRETCH],
                                    .bending = values[SPRING_BENDING],
                                    .viscous = def->viscous};
    return HK_OK;
}

// ---------------------------------------------------------------- shell

static hk_status find_word(const hk_material_def *def, const char *what, const char *word,
                           const char *const *words, int count, int *found)
{
    char known[256] = "";
    for (int k = 0; k < count; k++) {
        if (strcmp(word, words[k]) == 0) {
            *found = k;
            return HK_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", k ? ", " : "", words[k]);
    }
    return hk_fail(HK_BAD_INPUT, "material %s: unknown %s \"%s\" (known: %s)", def->model, what,
                   word, known);
}

hk_status hk_sheet_find_form(const hk_material_def *def, hk_bending *form)
{
    int found = HK_BENDING_HINGES;
    if (def->bending_form)
        HK_TRY(find_word(def, "bending_form", def->bending_form, g_bendings,
                         HK_COUNT_OF(g_bendings) - 1, &found));
    *form = (hk_bending)found;
    return HK_OK;
}

static hk_status find_words(const hk_material_def *def, hk_sheet_material *s)
{
    const char *laws[HK_MEMBRANE_COUNT];
    int law = HK_MEMBRANE_stvk;
    for (int k = 0; k < HK_MEMBRANE_COUNT; k++) laws[k] = g_membranes[k].name;
    if (def->membrane)
        HK_TRY(find_word(def, "membrane", def->membrane, laws, HK_MEMBRANE_COUNT, &law));
    s->membrane.law = (hk_membrane_law)law;
    return hk_sheet_find_form(def, &s->form);
}

// Moduli in the plane from E, ν and the thickness (plane stress).
static hk_status take_moduli(const hk_material_def *def, hk_sheet_material *s)
{
    hk_membrane *m = &s->membrane;
    double nu = def->poisson, h = def->thickness;
    HK_TRY(hk_sheet_need(def, "young", def->young, false));
    if (!(nu > -1 && nu < 0.5))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: poisson must be greater than -1 and less than 0.5 (is %g)",
                       def->model, nu);
    if (nu < 0 && m->law == HK_MEMBRANE_neo_hookean)
        return hk_fail(HK_BAD_INPUT,
                       "material %s: neo_hookean needs a poisson of 0 or more (is %g)", def->model,
                       nu);
    m->mu = h * def->young / (2 * (1 + nu));
    m->solid_lambda = h * def->young * nu / ((1 + nu) * (1 - 2 * nu));
    m->lambda = m->law == HK_MEMBRANE_arap ? 0 : h * def->young * nu / (1 - nu * nu);
    m->green[0] = m->green[2] = 2 * m->mu + m->lambda;
    m->green[1] = m->lambda;
    m->green[3] = m->mu;
    m->modulus = 2 * m->mu + fmax(m->lambda, 0);
    s->stretch = h * def->young;
    s->bending = def->young * h * h * h / (12 * (1 - nu * nu));
    return HK_OK;
}

// Those of a cloth as they are measured: ν is that of a pull along the warp. By symmetry
// weft × ν = warp × (that of a pull along the weft).
static hk_status take_cloth(const hk_material_def *def, const double *values, hk_sheet_material *s)
{
    hk_membrane *m = &s->membrane;
    double warp = values[WARP], weft = values[WEFT];
    double nu = isnan(def->poisson) ? 0 : def->poisson;
    HK_TRY(hk_sheet_need(def, "warp", warp, false));
    HK_TRY(hk_sheet_need(def, "weft", weft, false));
    HK_TRY(hk_sheet_need(def, "shear", values[SHEAR], false));
    double left = 1 - nu * nu * weft / warp;
    if (!(nu > -1 && left > 1e-6))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: poisson (%g) must lie between -1 and the root of warp/weft "
                       "(%g)",
                       def->model, nu, sqrt(warp / weft));
    m->green[0] = warp / left;
    m->green[1] = nu * weft / left;
    m->green[2] = weft / left;
    m->green[3] = values[SHEAR];
    m->mu = values[SHEAR];
    m->modulus = fmax(fmax(m->green[0], m->green[2]) + fabs(m->green[1]), 2 * m->mu);
    s->stretch = fmax(warp, weft);
    s->bending = 0;
    return HK_OK;
}

static void scale_curve(hk_law_curve *c, double factor)
{
    for (int k = 0; k < HK_CURVE_POWERS; k++) c->power[k] *= factor;
    for (int k = 0; k < HK_CURVE_KNOTS; k++) c->jump[k] *= factor;
    c->value *= factor;
    c->slope *= factor;
}

static hk_status take_strands(const hk_material_def *def, hk_membrane *m)
{
    static const char *const names[3] = {"of axis 0", "of axis 1", "of axis 2"};
    for (int k = 0; k < HK_MOST_STRANDS; k++) {
        if (def->axes[k].count == 0) continue;
        hk_law_curve *curve = &m->strand[m->strand_count];
        double stiffness;
        HK_TRY(hk_strand_curve(def, names[k], &def->axes[k], curve, &stiffness));
        scale_curve(curve, def->thickness);
        if (!hk_unit3(def->axis_directions[k], m->direction[m->strand_count]))
            return hk_fail(HK_BAD_INPUT, "material %s: the direction %s has no length", def->model,
                           names[k]);
        m->strand_count++;
        m->modulus += stiffness * def->thickness;
    }
    return HK_OK;
}

static hk_status take_limit(const hk_material_def *def, const double *values, hk_membrane *m)
{
    m->limit = values[LIMIT] * def->thickness;
    m->low = values[LOW];
    m->high = values[HIGH];
    HK_TRY(hk_sheet_need(def, "limit", values[LIMIT], true));
    if (!(m->low > 0 && m->low <= 1 && m->high >= 1 && isfinite(m->high)))
        return hk_fail(HK_BAD_INPUT,
                       "material %s: the stretches must be limited by 0 < low <= 1 <= high (are %g "
                       "and %g)",
                       def->model, m->low, m->high);
    m->modulus += 2 * m->limit;
    return HK_OK;
}

static hk_status refuse_foreign(const hk_material_def *def, const hk_sheet_material *s,
                                const double *values)
{
    if (def->fibre_stiffness != 0 || def->f.count || def->g.count || def->h.count)
        return hk_fail(HK_BAD_INPUT,
                       "material %s: it takes no fibre and no curves f, g, h, but axes with curves",
                       def->model);
    if (s->membrane.law == HK_MEMBRANE_orthotropic) return HK_OK;
    for (int k = WARP; k <= SHEAR; k++)
        if (!isnan(values[k]))
            return hk_fail(HK_BAD_INPUT, "material %s: %s is of the membrane \"orthotropic\"",
                           def->model, g_materials[SHELL].parameters[k]);
    return HK_OK;
}

static hk_status resolve_shell(const hk_material_def *def, hk_sheet_material *material)
{
    double values[SHELL_PARAMETERS] = {
        [WARP] = NAN, [WEFT] = NAN,  [SHEAR] = NAN,        [BENDING] = NAN,
        [LOW] = 0.95, [HIGH] = 1.05, [AREA_DENSITY] = NAN, [LIMIT] = 0};
    hk_sheet_material s = {.shell = true, .viscous = def->viscous};
    HK_TRY(hk_sheet_take_parameters(def, g_materials[SHELL].parameters, values));
    HK_TRY(find_words(def, &s));
    HK_TRY(refuse_foreign(def, &s, values));
    HK_TRY(hk_sheet_need(def, "thickness", def->thickness, false));
    HK_TRY(s.membrane.law == HK_MEMBRANE_orthotropic ? take_cloth(def, values, &s)
                                                     : take_moduli(def, &s));
    HK_TRY(take_strands(def, &s.membrane));
    HK_TRY(take_limit(def, values, &s.membrane));
    if (!isnan(values[BENDING])) s.bending = values[BENDING];
    HK_TRY(hk_sheet_need(def, "bending", s.bending, true));
    HK_TRY(check_density(def));
    s.density = def->density * def->thickness;
    if (!isnan(values[AREA_DENSITY])) s.density = values[AREA_DENSITY];
    HK_TRY(hk_sheet_need(def, "area_density", s.density, false));
    const double *d = def->warp_direction, along_x[3] = {1, 0, 0};
    if (!hk_unit3(d[0] == 0 && d[1] == 0 && d[2] == 0 ? along_x : d, s.warp))
        return hk_fail(HK_BAD_INPUT, "material %s: the direction of the warp has no length",
                       def->model);
    s.tear_stress = def->tear_stress * def->thickness;
    s.tear_strain = def->tear_strain;
    *material = s;
    return HK_OK;
}

hk_status hk_sheet_material_resolve(const hk_material_def *def, hk_sheet_material *material)
{
    HK_TRY(hk_check_tear(def));
    HK_TRY(hk_sheet_need(def, "viscous", def->viscous, true));
    if (hk_is_rope(def->model)) return hk_rope_resolve(def, material);
    return hk_is_shell(def->model) ? resolve_shell(def, material) : resolve_springs(def, material);
}
