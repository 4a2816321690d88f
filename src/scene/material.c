// "material": a law and its numbers.
#include "scene/scene.h"

#include <math.h>

#include "material/material.h"
#include "material/sheet.h"

static const hk_range POISSON = {-1, 0.5, true, true};

// "spline" draws curves through points, "polynomial" gives coefficients; the others have none.
typedef enum curve_kind { NO_CURVES = 0, POINTS, COEFFICIENTS } curve_kind;

static curve_kind curves_of(const char *model)
{
    if (strcmp(model, "spline") == 0) return POINTS;
    return strcmp(model, "polynomial") == 0 ? COEFFICIENTS : NO_CURVES;
}

static hk_status read_model(hk_scene *scene, const hk_node *node, int *model)
{
    int count = hk_material_count();
    const char **names = HK_ARENA_ARRAY(&scene->arena, const char *, count);
    if (!names) return HK_NO_MEMORY;
    hk_material_def standard = hk_default_material_def();
    *model = 0;
    for (int i = 0; i < count; i++) {
        names[i] = hk_material_name(i);
        if (strcmp(names[i], standard.model) == 0) *model = i;
    }
    return hk_member_choice(node, "model", HK_OPTIONAL, names, count, model);
}

static hk_status check_keys(const hk_node *node, int model)
{
    const char *keys[32] = {"model", "young",      "poisson", "density",
                            "fibre", "invertible", "viscous", "tear"};
    int count = 8;
    if (curves_of(hk_material_name(model)) != NO_CURVES) {
        keys[count++] = "f";
        keys[count++] = "g";
        keys[count++] = "h";
        keys[count++] = "axes";
    }
    for (const char *const *own = hk_material_parameters(model); *own && count < 32; own++)
        keys[count++] = *own;
    return hk_node_keys(node, keys, count);
}

static hk_status read_stiffness(const hk_node *node, hk_material_def *def)
{
    hk_node ignored;
    bool young = hk_node_member(node, "young", &ignored);
    bool poisson = hk_node_member(node, "poisson", &ignored);
    if (young != poisson)
        return hk_node_fail(node, "\"%s\" is given without \"%s\"", young ? "young" : "poisson",
                            young ? "poisson" : "young");
    def->young = NAN;  // unless given, all coefficients come by name
    def->poisson = NAN;
    HK_TRY(hk_member_number(node, "young", HK_OPTIONAL, HK_POSITIVE, &def->young));
    return hk_member_number(node, "poisson", HK_OPTIONAL, POISSON, &def->poisson);
}

// true asks for the k of Extreme section 4.1: k (J − 1)² adds 2k to the bulk modulus
// K = E/3(1 − 2ν), and a tenth of K is meant.
static hk_status read_volume_penalty(const hk_node *node, const hk_material_def *def, double *value)
{
    *value = 0;
    if (json_is_false(node->json)) return HK_OK;
    if (isnan(def->young))
        return hk_node_fail(node, "true needs \"young\" and \"poisson\"; give a number instead");
    *value = 0.1 * def->young / (6 * (1 - 2 * def->poisson));
    return isfinite(*value) ? HK_OK : hk_node_fail(node, "\"young\" is too large");
}

static hk_status read_parameters(const hk_node *node, int model, hk_material_def *def)
{
    for (const char *const *own = hk_material_parameters(model); *own; own++) {
        hk_node child;
        if (!hk_node_member(node, *own, &child)) continue;
        if (def->parameter_count == HK_MAX_PARAMETERS)
            return hk_node_fail(&child, "is one parameter too many (at most %d)",
                                HK_MAX_PARAMETERS);
        hk_parameter *parameter = &def->parameters[def->parameter_count++];
        parameter->name = *own;
        if (strcmp(*own, "volume_penalty") == 0 && json_is_boolean(child.json))
            HK_TRY(read_volume_penalty(&child, def, &parameter->value));
        else
            HK_TRY(hk_node_number(&child, HK_ANY_NUMBER, &parameter->value));
    }
    return HK_OK;
}

static hk_status read_curve(hk_scene *scene, const hk_node *node, const char *key, curve_kind kind,
                            hk_curve *curve)
{
    hk_node child;
    if (!hk_node_member(node, key, &child)) return HK_OK;
    int count, width = kind == POINTS ? 2 : 1;
    HK_TRY(hk_node_array(&child, kind == POINTS ? 2 : 1, &count));
    double *values = HK_ARENA_ARRAY(&scene->arena, double, (size_t)count *(size_t)width);
    if (!values) return HK_NO_MEMORY;
    for (int i = 0; i < count; i++) {
        hk_node item = hk_node_item(&child, i);
        double *value = values + (size_t)i * (size_t)width;
        if (kind == COEFFICIENTS) {
            HK_TRY(hk_node_number(&item, HK_ANY_NUMBER, value));
            continue;
        }
        HK_TRY(hk_node_numbers(&item, 2, HK_ANY_NUMBER, value));
        if (i > 0 && !(value[0] > value[-2]))
            return hk_node_fail(&item, "the points must be in increasing order (%.15g after %.15g)",
                                value[0], value[-2]);
    }
    *curve = (hk_curve){values, count};
    return HK_OK;
}

// "axes": up to three directions, each with a curve of its own.
static hk_status read_axes(hk_scene *scene, const hk_node *node, curve_kind kind,
                           hk_material_def *def)
{
    static const char *const keys[] = {"direction", "f"};
    hk_node axes, ignored;
    if (!hk_node_member(node, "axes", &axes)) return HK_OK;
    int count;
    HK_TRY(hk_node_array(&axes, 1, &count));
    if (count > 3) return hk_node_fail(&axes, "has %d axes (at most 3)", count);
    for (int k = 0; k < count; k++) {
        hk_node axis = hk_node_item(&axes, k);
        HK_TRY(hk_node_keys(&axis, keys, HK_COUNT_OF(keys)));
        HK_TRY(hk_member_direction(&axis, "direction", HK_REQUIRED, def->axis_directions[k]));
        if (!hk_node_member(&axis, "f", &ignored)) return hk_node_fail(&axis, "\"f\" is missing");
        HK_TRY(read_curve(scene, &axis, "f", kind, &def->axes[k]));
    }
    return HK_OK;
}

static hk_status read_fibre(const hk_node *node, hk_material_def *def)
{
    static const char *const keys[] = {"stiffness", "direction"};
    hk_node fibre;
    if (!hk_node_member(node, "fibre", &fibre)) return HK_OK;
    HK_TRY(hk_node_keys(&fibre, keys, HK_COUNT_OF(keys)));
    HK_TRY(
        hk_member_number(&fibre, "stiffness", HK_REQUIRED, HK_NOT_NEGATIVE, &def->fibre_stiffness));
    return hk_member_direction(&fibre, "direction", HK_REQUIRED, def->fibre_direction);
}

// The curves along directions of a shell are drawn through points, as those of spline.
static hk_status read_shell(hk_scene *scene, const hk_node *node, int model, hk_material_def *def)
{
    const char *keys[32] = {"model",     "young",    "poisson",      "density",
                            "thickness", "membrane", "bending_form", "warp_direction",
                            "axes",      "viscous",  "tear"};
    int count = 11, law = 0, form = HK_BENDING_HINGES, forms = 0, laws = hk_membrane_count();
    hk_node ignored;
    for (const char *const *own = hk_material_parameters(model); *own && count < 32; own++)
        keys[count++] = *own;
    HK_TRY(hk_node_keys(node, keys, count));
    *def = hk_default_material_def();
    def->model = hk_material_name(model);
    const char **names = HK_ARENA_ARRAY(&scene->arena, const char *, laws);
    if (!names) return HK_NO_MEMORY;
    for (int k = 0; k < laws; k++) names[k] = hk_membrane_name(k);
    while (hk_bending_names()[forms]) forms++;
    HK_TRY(hk_member_choice(node, "membrane", HK_OPTIONAL, names, laws, &law));
    HK_TRY(hk_member_choice(node, "bending_form", HK_OPTIONAL, hk_bending_names(), forms, &form));
    def->membrane = hk_membrane_name(law);
    def->bending_form = hk_bending_names()[form];
    def->young = def->poisson = NAN;
    HK_TRY(hk_member_number(node, "young", HK_OPTIONAL, HK_POSITIVE, &def->young));
    HK_TRY(hk_member_number(node, "poisson", HK_OPTIONAL, POISSON, &def->poisson));
    HK_TRY(hk_member_number(node, "density", HK_OPTIONAL, HK_POSITIVE, &def->density));
    HK_TRY(hk_member_number(node, "thickness", HK_REQUIRED, HK_POSITIVE, &def->thickness));
    HK_TRY(hk_member_number(node, "viscous", HK_OPTIONAL, HK_NOT_NEGATIVE, &def->viscous));
    HK_TRY(read_parameters(node, model, def));
    HK_TRY(read_axes(scene, node, POINTS, def));
    if (hk_node_member(node, "warp_direction", &ignored))
        HK_TRY(hk_member_direction(node, "warp_direction", HK_OPTIONAL, def->warp_direction));
    HK_TRY(hk_read_tear(node, def));
    hk_sheet_material resolved;
    hk_status status = hk_sheet_material_resolve(def, &resolved);
    return status == HK_OK ? HK_OK : hk_node_fail_within(node, status);
}

// Springs and bending, all numbers by name.
static hk_status read_sheet_material(const hk_node *node, int model, hk_material_def *def)
{
    static const char *const keys[] = {"model", "density", "stretch", "bending", "viscous", "tear"};
    HK_TRY(hk_node_keys(node, keys, HK_COUNT_OF(keys)));
    *def = hk_default_material_def();
    def->model = hk_material_name(model);
    HK_TRY(hk_member_number(node, "density", HK_REQUIRED, HK_POSITIVE, &def->density));
    def->parameter_count = 2;
    def->parameters[0] = (hk_parameter){.name = keys[2]};
    def->parameters[1] = (hk_parameter){.name = keys[3]};
    HK_TRY(hk_member_number(node, keys[2], HK_REQUIRED, HK_POSITIVE, &def->parameters[0].value));
    HK_TRY(
        hk_member_number(node, keys[3], HK_OPTIONAL, HK_NOT_NEGATIVE, &def->parameters[1].value));
    HK_TRY(hk_member_number(node, "viscous", HK_OPTIONAL, HK_NOT_NEGATIVE, &def->viscous));
    HK_TRY(hk_read_tear(node, def));
    hk_sheet_material resolved;
    hk_status status = hk_sheet_material_resolve(def, &resolved);
    return status == HK_OK ? HK_OK : hk_node_fail_within(node, status);
}

// "invertible": true, or an object with its own numbers.
static hk_status read_invertible(const hk_node *node, hk_invertible *invertible)
{
    static const char *const keys[] = {"upper", "lower", "decay", "stiffness"};
    hk_node child;
    if (!hk_node_member(node, "invertible", &child)) return HK_OK;
    *invertible = hk_default_invertible();
    if (json_is_false(child.json)) invertible->upper = -1;
    if (json_is_false(child.json)) return HK_OK;
    if (json_is_true(child.json)) return HK_OK;
    HK_TRY(hk_node_keys(&child, keys, HK_COUNT_OF(keys)));
    HK_TRY(hk_member_number(&child, "upper", HK_OPTIONAL, HK_POSITIVE, &invertible->upper));
    HK_TRY(hk_member_number(&child, "lower", HK_OPTIONAL, HK_NOT_NEGATIVE, &invertible->lower));
    HK_TRY(hk_member_number(&child, "decay", HK_OPTIONAL, HK_POSITIVE, &invertible->decay));
    return hk_member_number(&child, "stiffness", HK_OPTIONAL, HK_POSITIVE, &invertible->stiffness);
}

hk_status hk_read_material(hk_scene *scene, const hk_node *node, hk_material_def *def)
{
    if (!json_is_object(node->json)) return hk_node_keys(node, NULL, 0);
    int model;
    HK_TRY(read_model(scene, node, &model));
    if (hk_is_shell(hk_material_name(model))) return read_shell(scene, node, model, def);
    if (hk_material_kind(model) == HK_FOR_SHEETS) return read_sheet_material(node, model, def);
    HK_TRY(check_keys(node, model));
    *def = hk_default_material_def();
    def->model = hk_material_name(model);
    HK_TRY(read_stiffness(node, def));
    HK_TRY(hk_member_number(node, "density", HK_OPTIONAL, HK_POSITIVE, &def->density));
    HK_TRY(hk_member_number(node, "viscous", HK_OPTIONAL, HK_NOT_NEGATIVE, &def->viscous));
    HK_TRY(read_parameters(node, model, def));
    curve_kind kind = curves_of(def->model);
    if (kind != NO_CURVES) {
        HK_TRY(read_curve(scene, node, "f", kind, &def->f));
        HK_TRY(read_curve(scene, node, "g", kind, &def->g));
        HK_TRY(read_curve(scene, node, "h", kind, &def->h));
        HK_TRY(read_axes(scene, node, kind, def));
    }
    HK_TRY(read_fibre(node, def));
    HK_TRY(hk_read_tear(node, def));
    HK_TRY(read_invertible(node, &def->invertible));
    // The law itself knows which coefficients it needs: let it say so while the place is known.
    hk_material resolved;
    hk_status status = hk_material_resolve(def, &resolved);
    return status == HK_OK ? HK_OK : hk_node_fail_within(node, status);
}
