// What ropes are made of: a round section of radius r and Young's modulus E, so that
//
//   E A = π r² E,   E I = π r⁴/4 E,   mass per length π r² × density,
//
// or what was measured in place of these: of a rope of many strands E I is far below.
#include "material/sheet.h"

#include <math.h>

#include "material/material.h"

enum { RADIUS, STRETCH, BENDING, LINE_DENSITY, SLACK, PARAMETERS };

const hk_sheet_info hk_rope_info = {"rope",
                                    "for ropes (lines): stretching and bending of a round section",
                                    {[RADIUS] = "radius",
                                     [STRETCH] = "stretch",
                                     [BENDING] = "bending",
                                     [LINE_DENSITY] = "line_density",
                                     [SLACK] = "slack"}};

static hk_status refuse_foreign(const hk_material_def *def)
{
    if (def->fibre_stiffness != 0 || def->f.count || def->g.count || def->h.count ||
        def->axes[0].count || def->axes[1].count || def->axes[2].count)
        return hk_fail(HK_BAD_INPUT, "material %s: it takes no curves and no fibre", def->model);
    if (def->thickness != 0 || def->membrane)
        return hk_fail(HK_BAD_INPUT, "material %s: thickness and membrane are of \"shell\"",
                       def->model);
    if (def->tear_stress != 0 || def->tear_strain != 0)
        return hk_fail(HK_BAD_INPUT,
                       "material %s: ropes do not tear; \"springs\" break (\"breaking\")",
                       def->model);
    return HK_OK;
}

static hk_status find_stiffness(const hk_material_def *def, const double *values,
                                hk_sheet_material *s)
{
    double r = s->radius, area = acos(-1.0) * r * r;
    if (isnan(values[STRETCH]) || isnan(values[BENDING]))
        HK_TRY(hk_sheet_need(def, "young (or stretch and bending)", def->young, false));
    s->stretch = isnan(values[STRETCH]) ? area * def->young : values[STRETCH];
    s->bending = isnan(values[BENDING]) ? area * r * r / 4 * def->young : values[BENDING];
    HK_TRY(hk_sheet_need(def, "stretch", s->stretch, false));
    HK_TRY(hk_sheet_need(def, "bending", s->bending, true));
    if (isnan(values[LINE_DENSITY]))
        HK_TRY(hk_sheet_need(def, "density (or line_density)", def->density, false));
    s->density = isnan(values[LINE_DENSITY]) ? area * def->density : values[LINE_DENSITY];
    return hk_sheet_need(def, "line_density", s->density, false);
}

// Lines of a slack rope may shrink to nothing, which has no direction that an angle could be of.
static hk_status find_form(const hk_material_def *def, hk_sheet_material *s)
{
    s->form = HK_BENDING_COTANGENT;
    if (def->bending_form || !s->slack) HK_TRY(hk_sheet_find_form(def, &s->form));
    if (!(s->bending > 0)) s->form = HK_BENDING_NONE;
    if (s->slack && s->form == HK_BENDING_HINGES)
        return hk_fail(HK_BAD_INPUT,
                       "material %s: a slack rope cannot bend by angles, for its lines may shrink "
                       "to nothing: set \"bending_form\" to \"cotangent\" or \"none\"",
                       def->model);
    return HK_OK;
}

hk_status hk_rope_resolve(const hk_material_def *def, hk_sheet_material *material)
{
    double values[PARAMETERS] = {
        [RADIUS] = NAN, [STRETCH] = NAN, [BENDING] = NAN, [LINE_DENSITY] = NAN, [SLACK] = 0};
    hk_sheet_material s = {.rope = true, .viscous = def->viscous};
    HK_TRY(hk_sheet_take_parameters(def, hk_rope_info.parameters, values));
    HK_TRY(refuse_foreign(def));
    if (isnan(values[RADIUS]))
        return hk_fail(HK_BAD_INPUT, "material %s: radius (m) must be given", def->model);
    HK_TRY(hk_sheet_need(def, "radius", values[RADIUS], false));
    s.radius = values[RADIUS];
    s.slack = values[SLACK] != 0;
    HK_TRY(find_stiffness(def, values, &s));
    HK_TRY(find_form(def, &s));
    *material = s;
    return HK_OK;
}
