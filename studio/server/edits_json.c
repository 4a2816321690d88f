// Materials and methods in messages, and a scene's text with the edits.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "edits.h"

// ---------------------------------------------------------------- materials

static int find_material(const char *name)
{
    for (int m = 0; name && m < hk_material_count(); ++m)
        if (strcmp(hk_material_name(m), name) == 0) return m;
    return -1;
}

static const char *find_parameter(int material, const char *name)
{
    const char *const *names = material >= 0 ? hk_material_parameters(material) : NULL;
    for (; names && *names; ++names)
        if (strcmp(*names, name) == 0) return *names;
    return NULL;
}

static bool put_parameter(hk_material_def *material, const char *name, double value, st_why *why)
{
    for (int k = 0; k < material->parameter_count; ++k)
        if (strcmp(material->parameters[k].name, name) == 0) {
            material->parameters[k].value = value;
            return true;
        }
    if (material->parameter_count == HK_MAX_PARAMETERS)
        return st_fail(why, "a material has %d parameters at most", HK_MAX_PARAMETERS);
    material->parameters[material->parameter_count++] = (hk_parameter){name, value};
    return true;
}

static bool read_parameters(json_t *parameters, hk_material_def *material, st_why *why)
{
    const char *key;
    json_t *value;
    int number = find_material(material->model);
    json_object_foreach(parameters, key, value)
    {
        const char *name = find_parameter(number, key);
        if (!name) return st_fail(why, "%s has no parameter \"%s\"", material->model, key);
        if (!json_is_number(value)) return st_fail(why, "%s: expected a number", key);
        if (!put_parameter(material, name, json_number_value(value), why)) return false;
    }
    return true;
}

static bool read_number(const json_t *object, const char *key, double *value, st_why *why)
{
    json_t *number = json_object_get(object, key);
    if (!number) return true;
    if (!json_is_number(number) || !isfinite(json_number_value(number)))
        return st_fail(why, "\"%s\": expected a number", key);
    *value = json_number_value(number);
    return true;
}

static double parameter(const hk_material_def *material, const char *name)
{
    for (int k = 0; k < material->parameter_count; ++k)
        if (strcmp(material->parameters[k].name, name) == 0) return material->parameters[k].value;
    return NAN;
}

// About as stiff and as heavy as the sheet was: a spring net of E t is a shell of E and t.
static void convert_sheet(const hk_material_def *from, hk_material_def *to)
{
    double thickness = from->thickness > 0 ? from->thickness : 1e-3, bending = 0;
    if (strcmp(to->model, "shell") == 0) {
        to->thickness = thickness;
        to->young = parameter(from, "stretch") / thickness;
        to->poisson = 0.3;
        to->density = from->density / thickness;
        return;
    }
    double warp = parameter(from, "warp"), area = parameter(from, "area_density");
    to->density = isfinite(area) ? area : from->density * thickness;
    bending = parameter(from, "bending");
    if (!isfinite(bending))
        bending = from->young * pow(thickness, 3) / (12 * (1 - from->poisson * from->poisson));
    to->parameters[0] = (hk_parameter){"stretch", isfinite(warp) ? warp : from->young * thickness};
    to->parameters[1] = (hk_parameter){"bending", isfinite(bending) ? bending : 0};
    to->parameter_count = 2;
}

// Coefficients that are given beside E replace what would come of it: those that are stresses go
// along with E. Without an E from before there were only coefficients, and now there is E.
static void follow_moduli(hk_material_def *material, double before)
{
    static const char *const numbers[] = {"s3", "low", "high"};
    if (hk_material_kind(find_material(material->model)) == HK_FOR_SHEETS) return;
    if (!isfinite(before)) material->parameter_count = 0;
    for (int k = 0; k < material->parameter_count; ++k) {
        bool is_number = false;
        for (int i = 0; i < 3; ++i)
            is_number = is_number || strcmp(material->parameters[k].name, numbers[i]) == 0;
        if (!is_number) material->parameters[k].value *= material->young / before;
    }
}

static bool change_model(const char *model, const hk_material_def *from, hk_material_def *to,
                         st_why *why)
{
    int number = find_material(model), before = find_material(from->model);
    if (number < 0) return st_fail(why, "there is no material \"%s\"", model);
    *to = hk_default_material_def();
    to->model = hk_material_name(number);
    if (hk_material_kind(number) == HK_FOR_SHEETS && before >= 0 &&
        hk_material_kind(before) == HK_FOR_SHEETS) {
        convert_sheet(from, to);
        return true;
    }
    if (isfinite(from->young)) to->young = from->young;
    if (isfinite(from->poisson)) to->poisson = from->poisson;
    to->density = from->density;
    to->tear_stress = from->tear_stress;
    to->tear_strain = from->tear_strain;
    return true;
}

bool st_read_material(const json_t *message, hk_material_def *material, st_why *why)
{
    hk_material_def read = *material;
    if (!json_is_object(message)) return st_fail(why, "\"material\": expected an object");
    const char *model = st_read_text(message, "model");
    if (model && strcmp(model, material->model) != 0 && !change_model(model, material, &read, why))
        return false;
    double young = read.young;
    bool has_moduli = json_object_get(message, "young") || json_object_get(message, "poisson");
    if (!read_number(message, "young", &read.young, why) ||
        !read_number(message, "poisson", &read.poisson, why) ||
        !read_number(message, "density", &read.density, why) ||
        !read_number(message, "thickness", &read.thickness, why))
        return false;
    if (has_moduli) follow_moduli(&read, young);
    if (!read_parameters(json_object_get(message, "parameters"), &read, why)) return false;
    *material = read;
    return true;
}

json_t *st_material_json(const hk_material_def *material)
{
    bool has_moduli = strcmp(material->model, "mass_spring") != 0;
    bool rope = strcmp(material->model, "rope") == 0;
    double mass = fmax(parameter(material, "area_density"), parameter(material, "line_density"));
    json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "model", material->model, "young",
                               st_json_real(has_moduli ? material->young : NAN), "poisson",
                               st_json_real(has_moduli && !rope ? material->poisson : NAN),
                               "density", st_json_real(isfinite(mass) ? NAN : material->density));
    if (strcmp(material->model, "shell") == 0)
        json_object_set_new(object, "thickness", st_json_real(material->thickness));
    json_t *parameters = json_object();
    for (int k = 0; k < material->parameter_count; ++k)
        json_object_set_new(parameters, material->parameters[k].name,
                            st_json_real(material->parameters[k].value));
    json_object_set_new(object, "parameters", parameters);
    return object;
}

// ---------------------------------------------------------------- methods

static int find_method(const char *name)
{
    for (int m = 0; name && m < hk_method_count(); ++m)
        if (strcmp(hk_method_name(m), name) == 0) return m;
    return -1;
}

static const hk_option_info *find_option(int method, const char *name)
{
    for (int k = 0; k < hk_method_option_count(method); ++k)
        if (strcmp(hk_method_option(method, k)->name, name) == 0)
            return hk_method_option(method, k);
    return NULL;
}

static const char *find_word(const hk_option_info *info, const char *word)
{
    for (const char *const *w = info->words; w && *w && word; ++w)
        if (strcmp(*w, word) == 0) return *w;
    return NULL;
}

static bool read_option(int method, const char *key, const json_t *value, st_solver *solver,
                        st_why *why)
{
    const hk_option_info *info = find_option(method, key);
    const char *name = hk_method_name(method);
    if (!info) return st_fail(why, "%s has no option \"%s\"", name, key);
    hk_option option = {.name = info->name};
    if (info->words) {
        option.text = find_word(info, json_string_value(value));
        if (!option.text) return st_fail(why, "%s.%s: there is no such word", name, key);
    } else if (json_is_number(value)) {
        option.number = json_number_value(value);
    } else {
        return st_fail(why, "%s.%s: expected a number", name, key);
    }
    if (solver->def.option_count == ST_MAX_OPTIONS) return st_fail(why, "too many options");
    solver->options[solver->def.option_count++] = option;
    return true;
}

bool st_read_solver(const json_t *message, st_solver *solver, st_why *why)
{
    const char *name = st_read_text(message, "method"), *key;
    int method = find_method(name);
    json_t *value;
    double iterations = 0, tolerance = 0;
    if (method < 0) return st_fail(why, "there is no method \"%s\"", name ? name : "");
    if (!read_number(message, "iterations", &iterations, why) ||
        !read_number(message, "tolerance", &tolerance, why))
        return false;
    if (iterations < 0 || iterations > 1e6 || iterations != floor(iterations))
        return st_fail(why, "\"iterations\": expected a whole number, at most a million");
    st_solver read = {.def = hk_default_solver_def()};
    read.def.method = hk_method_name(method);
    read.def.iterations = (int)iterations;
    read.def.tolerance = tolerance;
    json_object_foreach(json_object_get(message, "options"), key, value)
    {
        if (!read_option(method, key, value, &read, why)) return false;
    }
    *solver = read;
    return true;
}

// Names are the library's where it has them; a scene's live as long as the scene.
void st_copy_solver(st_solver *solver, const hk_solver_def *def)
{
    *solver = (st_solver){.def = *def};
    int count = def->option_count < ST_MAX_OPTIONS ? def->option_count : ST_MAX_OPTIONS;
    for (int k = 0; k < count; ++k) solver->options[k] = def->options[k];
    solver->def.option_count = count;
    solver->def.options = NULL;
}

hk_solver_def st_solver_def(const st_solver *solver)
{
    hk_solver_def def = solver->def;
    def.options = solver->options;
    return def;
}

json_t *st_solver_json(const hk_solver_def *def)
{
    json_t *options = json_object();
    for (int k = 0; k < def->option_count; ++k)
        json_object_set_new(options, def->options[k].name,
                            def->options[k].text ? json_string(def->options[k].text)
                                                 : st_json_real(def->options[k].number));
    int method = find_method(def->method);
    hk_solver_def usual = hk_method_defaults(method < 0 ? 0 : method, false);
    return json_pack("{s:s, s:i, s:o, s:o}", "method", def->method, "iterations",
                     def->iterations > 0 ? def->iterations : usual.iterations, "tolerance",
                     st_json_real(def->tolerance > 0 ? def->tolerance : usual.tolerance), "options",
                     options);
}

// ---------------------------------------------------------------- a scene's text

static json_t *vertices_json(const int32_t *vertices, int count)
{
    json_t *array = json_array();
    for (int i = 0; i < count; ++i) json_array_append_new(array, json_integer(vertices[i]));
    return json_pack("{s:o}", "vertices", array);
}

// As scenes have it: parameters beside the others, numbers that come from them left out.
static json_t *scene_material(const hk_material_def *material, const json_t *before)
{
    json_t *object = before ? json_deep_copy(before) : json_object();
    const char *old = st_read_text(object, "model"), *key;
    json_t *made = st_material_json(material), *value;
    if (old && strcmp(old, material->model) != 0) json_object_clear(object);
    json_object_foreach(made, key, value)
    {
        if (json_is_string(value) || json_is_number(value)) json_object_set(object, key, value);
    }
    json_object_foreach(json_object_get(made, "parameters"), key, value)
    {
        json_object_set(object, key, value);
    }
    json_decref(made);
    return object;
}

static json_t *list_of(json_t *object, const char *key)
{
    json_t *list = json_object_get(object, key);
    if (json_is_array(list)) return list;
    json_object_set_new(object, key, json_array());
    return json_object_get(object, key);
}

static void put_regions(const st_body_edits *edits, json_t *body)
{
    json_t *list = list_of(body, "regions");
    for (int r = 0; r < edits->region_count; ++r) {
        const st_region *region = &edits->regions[r];
        json_t *there = json_array_get(list, (size_t)r);
        json_t *material = scene_material(&region->material, json_object_get(there, "material"));
        if (there)
            json_object_set_new(there, "material", material);
        else
            json_array_append_new(
                list, json_pack("{s:o, s:o}", "select",
                                vertices_json(region->vertices, region->select.vertex_count),
                                "material", material));
    }
}

static void put_loads(const st_body_edits *edits, json_t *body)
{
    json_t *list = list_of(body, "load");
    bool cleared = edits->load_count == 0 || edits->loads[0].vertices;
    if (cleared) json_array_clear(list);
    for (int k = 0; k < edits->load_count; ++k) {
        const st_load *load = &edits->loads[k];
        if (!load->vertices) continue;
        json_t *object = json_pack("{s:o}", "select",
                                   vertices_json(load->vertices, load->def.select.vertex_count));
        if (load->def.pressure != 0)
            json_object_set_new(object, "pressure", json_real(load->def.pressure));
        else
            json_object_set_new(object, "force", st_json_vector(load->def.force, 3));
        json_array_append_new(list, object);
    }
}

// Each fix without the vertices that were freed: not (not it, or one of them).
static void put_freed(json_t *fixes, json_t *freed)
{
    size_t k;
    json_t *fix;
    json_array_foreach(fixes, k, fix)
    {
        json_t *select = json_object_get(fix, "select");
        json_t *left =
            json_pack("{s:{s:[{s:O}, O]}}", "not", "any", "not", select ? select : fix, freed);
        if (select)
            json_object_set_new(fix, "select", left);
        else
            json_array_set_new(fixes, k, left);
    }
}

static json_t *held_so(const st_body_edits *edits, st_hold hold, int *count)
{
    int32_t *vertices = st_alloc((size_t)edits->vertex_count, sizeof *vertices);
    *count = 0;
    for (int v = 0; v < edits->vertex_count; ++v)
        if (edits->holds[v] == hold) vertices[(*count)++] = v;
    json_t *select = vertices_json(vertices, *count);
    free(vertices);
    return select;
}

static void put_fixes(const st_body_edits *edits, json_t *body)
{
    int freed_count, fixed_count;
    json_t *freed = held_so(edits, ST_HOLD_FREED, &freed_count);
    json_t *fixed = held_so(edits, ST_HOLD_FIXED, &fixed_count);
    if (freed_count > 0) put_freed(list_of(body, "fix"), freed);
    if (fixed_count > 0) json_array_append(list_of(body, "fix"), fixed);
    json_decref(freed);
    json_decref(fixed);
}

static void put_body(const st_body_edits *edits, json_t *body)
{
    if (edits->material_changed)
        json_object_set_new(body, "material",
                            scene_material(&edits->material, json_object_get(body, "material")));
    if (edits->regions_changed) put_regions(edits, body);
    if (edits->loads_changed) put_loads(edits, body);
    if (edits->holds_changed) put_fixes(edits, body);
}

static void put_settings(const st_edits *edits, json_t *root)
{
    if (edits->gravity_changed)
        json_object_set_new(root, "gravity", st_json_vector(edits->gravity, 3));
    if (edits->step_changed) {
        json_t *time = json_object_get(root, "time");
        if (!time) json_object_set_new(root, "time", time = json_object());
        json_object_set_new(time, "step", json_real(edits->step));
    }
    if (edits->damping_changed) {
        const hk_damping *d = &edits->damping;
        json_t *damping = json_object_get(root, "damping");
        if (!damping) json_object_set_new(root, "damping", damping = json_object());
        json_t *now =
            json_pack("{s:f, s:f, s:f, s:f, s:f}", "air", d->air, "viscous", d->viscous, "ether",
                      d->ether, "pbd", d->pbd, "air_per_vertex", d->air_per_vertex);
        json_object_update(damping, now);
        json_decref(now);
    }
    if (edits->solver_changed) {
        hk_solver_def def = st_solver_def(&edits->solver);
        json_t *solver = st_solver_json(&def), *options = json_object_get(solver, "options");
        json_object_update(solver, options);
        json_object_del(solver, "options");
        json_object_set_new(root, "solver", solver);
    }
}

json_t *st_edits_scene(const st_edits *edits, st_why *why)
{
    json_t *root = json_loadb(edits->scene->text, edits->scene->length, 0, NULL);
    json_t *bodies = json_object_get(root, "bodies");
    bool changed = false, good = true;
    for (int b = 0; b < edits->body_count; ++b) {
        const st_body_edits *body = &edits->bodies[b];
        changed = changed || body->material_changed || body->regions_changed ||
                  body->loads_changed || body->holds_changed;
    }
    if (changed && json_array_size(bodies) != (size_t)edits->body_count)
        good = st_fail(why, "the scene makes bodies as copies: what was changed of one of them "
                            "cannot be written");
    for (int b = 0; b < edits->body_count && changed && good; ++b)
        put_body(&edits->bodies[b], json_array_get(bodies, (size_t)b));
    if (good) {
        put_settings(edits, root);
        return root;
    }
    json_decref(root);
    return NULL;
}
