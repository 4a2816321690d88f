#include "material/sheet.h"

#include <math.h>

enum { STRETCH, BENDING, PARAMETERS };

static const hk_sheet_info g_materials[] = {
    {"mass_spring",
     "for sheets (cloth): springs along the edges of the triangles, and bending",
     {[STRETCH] = "stretch", [BENDING] = "bending"}},
};

int hk_sheet_count(void)
{
    return HK_COUNT_OF(g_materials);
}

const hk_sheet_info *hk_sheet_describe(int material)
{
    return &g_materials[material];
}

bool hk_is_sheet_material(const char *model)
{
    for (int k = 0; k < hk_sheet_count(); k++)
        if (model && strcmp(model, g_materials[k].name) == 0) return true;
    return false;
}

static hk_status take_parameters(const hk_material_def *def, double values[PARAMETERS])
{
    if (def->parameter_count < 0 || def->parameter_count > HK_MAX_PARAMETERS)
        return hk_fail(HK_BAD_INPUT, "material %s: parameter_count is %d (0 to %d)", def->model,
                       def->parameter_count, HK_MAX_PARAMETERS);
    for (int k = 0; k < def->parameter_count; k++) {
        const hk_parameter *given = &def->parameters[k];
        int which = 0;
        while (which < PARAMETERS &&
               (!given->name || strcmp(given->name, g_materials[0].parameters[which])))
            which++;
        if (which == PARAMETERS)
            return hk_fail(HK_BAD_INPUT, "material %s: it has no parameter \"%s\"", def->model,
                           given->name ? given->name : "(null)");
        values[which] = given->value;
    }
    return HK_OK;
}

hk_status hk_sheet_material_resolve(const hk_material_def *def, hk_sheet_material *material)
{
    double values[PARAMETERS] = {[STRETCH] = NAN, [BENDING] = 0};
    HK_TRY(take_parameters(def, values));
    if (isnan(values[STRETCH]))
        return hk_fail(HK_BAD_INPUT, "material %s: stretch (N/m) must be given", def->model);
    if (!(isfinite(values[STRETCH]) && values[STRETCH] > 0))
        return hk_fail(HK_BAD_INPUT, "material %s: stretch must be greater than 0 (is %g)",
                       def->model, values[STRETCH]);
    if (!(isfinite(values[BENDING]) && values[BENDING] >= 0))
        return hk_fail(HK_BAD_INPUT, "material %s: bending must be 0 or more (is %g)", def->model,
                       values[BENDING]);
    if (!(isfinite(def->density) && def->density > 0))
        return hk_fail(HK_BAD_INPUT, "material %s: density must be greater than 0 (is %g)",
                       def->model, def->density);
    if (def->fibre_stiffness != 0 || def->f.count || def->g.count || def->h.count ||
        def->axes[0].count || def->axes[1].count || def->axes[2].count)
        return hk_fail(HK_BAD_INPUT, "material %s: it takes no curves and no fibre", def->model);
    *material = (hk_sheet_material){def->density, values[STRETCH], values[BENDING]};
    return HK_OK;
}
