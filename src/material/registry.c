// The list of materials for users: the laws of solids, then the materials of sheets and ropes.
#include "material/material.h"
#include "material/sheet.h"

int hk_material_count(void)
{
    return hk_law_count() + hk_sheet_count();
}

static const hk_sheet_info *sheet(int material)
{
    return hk_sheet_describe(material - hk_law_count());
}

hk_material_use hk_material_kind(int material)
{
    if (material < 0 || material >= hk_material_count()) return HK_FOR_NOTHING;
    if (material < hk_law_count()) return HK_FOR_SOLIDS;
    return hk_is_rope(sheet(material)->name) ? HK_FOR_ROPES : HK_FOR_SHEETS;
}

static const hk_law_info *law(int material)
{
    return hk_law_describe((hk_law)material);
}

const char *hk_material_name(int material)
{
    switch (hk_material_kind(material)) {
    case HK_FOR_SOLIDS: return law(material)->name;
    case HK_FOR_SHEETS:
    case HK_FOR_ROPES: return sheet(material)->name;
    case HK_FOR_NOTHING: break;
    }
    return NULL;
}

const char *hk_material_summary(int material)
{
    switch (hk_material_kind(material)) {
    case HK_FOR_SOLIDS: return law(material)->summary;
    case HK_FOR_SHEETS:
    case HK_FOR_ROPES: return sheet(material)->summary;
    case HK_FOR_NOTHING: break;
    }
    return NULL;
}

const char *const *hk_material_parameters(int material)
{
    switch (hk_material_kind(material)) {
    case HK_FOR_SOLIDS: return law(material)->parameters;
    case HK_FOR_SHEETS:
    case HK_FOR_ROPES: return sheet(material)->parameters;
    case HK_FOR_NOTHING: break;
    }
    return NULL;
}
