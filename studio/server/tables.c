// What a page is built from: the tables of the library, the same that the command line has.
#include <math.h>
#include <string.h>

#include "server.h"

static json_t *words_of(const char *const *words)
{
    if (!words) return json_null();
    json_t *array = json_array();
    for (; *words; ++words) json_array_append_new(array, json_string(*words));
    return array;
}

static json_t *option(const hk_option_info *info)
{
    json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", info->name, "help", info->help,
                               "words", words_of(info->words), "minimum",
                               st_json_real(info->minimum), "maximum", st_json_real(info->maximum));
    json_object_set_new(object, "fallback",
                        info->words ? json_string(info->words[(int)info->fallback])
                                    : st_json_real(info->fallback));
    return object;
}

static json_t *methods(void)
{
    json_t *array = json_array();
    for (int m = 0; m < hk_method_count(); ++m) {
        json_t *options = json_array();
        for (int k = 0; k < hk_method_option_count(m); ++k)
            json_array_append_new(options, option(hk_method_option(m, k)));
        hk_solver_def defaults = hk_method_defaults(m, false);
        json_array_append_new(
            array, json_pack("{s:s, s:s, s:i, s:o, s:o}", "name", hk_method_name(m), "summary",
                             hk_method_summary(m), "iterations", defaults.iterations, "tolerance",
                             st_json_real(defaults.tolerance), "options", options));
    }
    return array;
}

static json_t *materials(void)
{
    json_t *array = json_array();
    for (int m = 0; m < hk_material_count(); ++m)
        json_array_append_new(array, json_pack("{s:s, s:s, s:o, s:s}", "name", hk_material_name(m),
                                               "summary", hk_material_summary(m), "parameters",
                                               words_of(hk_material_parameters(m)), "use",
                                               hk_material_kind(m) == HK_FOR_SOLIDS   ? "solids"
                                               : hk_material_kind(m) == HK_FOR_SHEETS ? "sheets"
                                                                                      : "ropes"));
    return array;
}

static json_t *named(int count, const char *(*name)(int), const char *(*summary)(int))
{
    json_t *array = json_array();
    for (int i = 0; i < count; ++i)
        json_array_append_new(array,
                              json_pack("{s:s, s:s}", "name", name(i), "summary", summary(i)));
    return array;
}

static json_t *formats(void)
{
    json_t *array = json_array();
    for (int i = 0; i < hk_mesh_format_count(); ++i) {
        hk_mesh_format f = hk_mesh_format_at(i);
        json_array_append_new(array, json_pack("{s:s, s:b, s:b, s:b}", "ending", f.ending, "reads",
                                               (int)f.reads, "writes", (int)f.writes, "surface",
                                               (int)f.surface));
    }
    return array;
}

static json_t *fields(void)
{
    static const char *const table[][3] = {
        {"displacement", "displacement", "m"},        {"velocity", "speed", "m/s"},
        {"von_mises", "von Mises stress", "Pa"},      {"J", "volume ratio J", ""},
        {"stretch", "largest principal stretch", ""}, {"contact_force", "contact force", "N"},
    };
    json_t *array = json_array();
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
        json_array_append_new(array, json_pack("{s:s, s:s, s:s}", "name", table[i][0], "label",
                                               table[i][1], "unit", table[i][2]));
    return array;
}

void st_get_tables(const st_request *request, st_reply *reply)
{
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "methods", methods(), "materials", materials(),
        "integrators", named(hk_integrator_count(), hk_integrator_name, hk_integrator_summary),
        "contact_laws", named(hk_contact_law_count(), hk_contact_law_name, hk_contact_law_summary),
        "formats", formats(), "fields", fields(), "version", hk_version(), "uploads",
        st_json_text(request->server->files.folder[ST_UPLOADS]));
    st_reply_json(reply, 200, object);
}
