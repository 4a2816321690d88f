// docs/scene.schema.json and the reader of scene files must agree: a list of scenes, and every
// value of one big scene replaced by many others, are given to both.
//
// The parts of the schema that list materials, methods and integrators follow from the library's
// own lists: with HOOKE_UPDATE_SCHEMA=1, as the build of this program calls it, they are written
// anew.
#include <glob.h>
#include <stdlib.h>

#include "schema_check.h"
#include "material/sheet.h"
#include "scene/node.h"

static const char schema_path[] = "../docs/scene.schema.json";

static json_t *load_schema(void)
{
    json_error_t error;
    json_t *schema = json_load_file(schema_path, JSON_REJECT_DUPLICATES, &error);
    if (!schema) fail_msg("%s:%d: %s", schema_path, error.line, error.text);
    return schema;
}

// ---------------------------------------------------------------- what the library lists

// {"if": {"properties": {key: {"const": name}}, "required": [key]},
//  "then": {"properties": …, "additionalProperties": false}}
// The rule of the default name also holds where the key is missing.
static json_t *rule_for(const char *key, const char *name, const char *standard,
                        const char *summary, json_t *properties)
{
    json_t *condition = json_pack("{s:{s:{s:s}}}", "properties", key, "const", name);
    if (strcmp(name, standard) != 0)
        json_object_set_new(condition, "required", json_pack("[s]", key));
    return json_pack("{s:o, s:{s:s, s:o, s:b}}", "if", condition, "then", "description", summary,
                     "properties", properties, "additionalProperties", 0);
}

static json_t *allow(const char *const *keys, int count)
{
    json_t *properties = json_object();
    for (int i = 0; i < count; i++) json_object_set_new(properties, keys[i], json_true());
    return properties;
}

static void add_number(json_t *properties, const char *key, const char *text, const char *bound,
                       int value)
{
    json_object_set_new(
        properties, key,
        json_pack("{s:s, s:s, s:i}", "description", text, "type", "number", bound, value));
}

static json_t *shell_rule(int material, const char *standard)
{
    static const char *const common[] = {"model", "young", "poisson", "density", "viscous"};
    json_t *properties = allow(common, HK_COUNT_OF(common)), *laws = json_array();
    json_t *forms = json_array();
    for (int k = 0; k < hk_membrane_count(); k++)
        json_array_append_new(laws, json_string(hk_membrane_name(k)));
    for (const char *const *form = hk_bending_names(); *form; form++)
        json_array_append_new(forms, json_string(*form));
    json_object_set_new(properties, "membrane",
                        json_pack("{s:s, s:o, s:s}", "description", "The law in its plane.", "enum",
                                  laws, "default", hk_membrane_name(0)));
    json_object_set_new(properties, "bending_form",
                        json_pack("{s:s, s:o, s:s}", "description",
                                  "Angles at edges, the quadratic form of cotangents, or nothing.",
                                  "enum", forms, "default", "hinges"));
    json_object_set_new(properties, "warp_direction",
                        json_pack("{s:s, s:s}", "description", "Of the rest shape; x unless given.",
                                  "$ref", "#/$defs/direction"));
    add_number(properties, "thickness", "m.", "exclusiveMinimum", 0);
    add_number(properties, "warp", "Of orthotropic: Young's modulus × thickness, N/m.",
               "exclusiveMinimum", 0);
    add_number(properties, "weft", "The same across.", "exclusiveMinimum", 0);
    add_number(properties, "shear", "Shear modulus × thickness, N/m.", "exclusiveMinimum", 0);
    add_number(properties, "bending", "N·m; from young, poisson and thickness unless given.",
               "minimum", 0);
    add_number(properties, "area_density", "kg/m²; density × thickness unless given.",
               "exclusiveMinimum", 0);
    add_number(properties, "limit", "Pa, of what limits its stretches.", "minimum", 0);
    json_object_set_new(properties, "low",
                        json_pack("{s:s, s:i, s:i, s:f}", "type", "number", "exclusiveMinimum", 0,
                                  "maximum", 1, "default", 0.95));
    json_object_set_new(
        properties, "high",
        json_pack("{s:s, s:i, s:f}", "type", "number", "minimum", 1, "default", 1.05));
    json_object_set_new(
        properties, "axes",
        json_pack("{s:s, s:s, s:i, s:i, s:{s:s, s:{s:{s:s}, s:{s:s}}, s:b, s:[ss]}}", "description",
                  "Strands along directions in it, each with a curve of its own.", "type", "array",
                  "minItems", 1, "maxItems", 3, "items", "type", "object", "properties",
                  "direction", "$ref", "#/$defs/direction", "f", "$ref", "#/$defs/points",
                  "additionalProperties", 0, "required", "direction", "f"));
    json_t *rule = rule_for("model", "shell", standard, hk_material_summary(material), properties);
    json_object_set_new(json_object_get(rule, "then"), "required", json_pack("[s]", "thickness"));
    return rule;
}

static json_t *rope_rule(int material, const char *standard)
{
    static const char *const common[] = {"model", "young", "density", "viscous"};
    json_t *properties = allow(common, HK_COUNT_OF(common)), *forms = json_array();
    for (const char *const *form = hk_bending_names(); *form; form++)
        json_array_append_new(forms, json_string(*form));
    json_object_set_new(properties, "bending_form",
                        json_pack("{s:s, s:o}", "description",
                                  "Angles between lines, the Laplacian of the line, or nothing; "
                                  "hinges unless given, of a slack rope cotangent.",
                                  "enum", forms));
    add_number(properties, "radius", "m.", "exclusiveMinimum", 0);
    add_number(properties, "stretch", "N; young × its section unless given.", "exclusiveMinimum",
               0);
    add_number(properties, "bending", "N·m²; young × π radius⁴/4 unless given.", "minimum", 0);
    add_number(properties, "line_density", "kg/m; density × its section unless given.",
               "exclusiveMinimum", 0);
    json_object_set_new(properties, "slack",
                        json_pack("{s:s, s:s, s:b}", "description", "It pulls, but does not push.",
                                  "type", "boolean", "default", 0));
    json_t *rule = rule_for("model", "rope", standard, hk_material_summary(material), properties);
    json_object_set_new(json_object_get(rule, "then"), "required", json_pack("[s]", "radius"));
    return rule;
}

static json_t *material_rules(json_t *names)
{
    static const char *const common[] = {"model", "young",      "poisson", "density",
                                         "fibre", "invertible", "viscous"};
    static const char *const of_sheets[] = {"model", "density", "viscous"};
    json_t *rules = json_array();
    hk_material_def standard = hk_default_material_def();
    for (int m = 0; m < hk_material_count(); m++) {
        if (hk_material_kind(m) != HK_FOR_SOLIDS) continue;
        const char *name = hk_material_name(m);
        json_array_append_new(names, json_string(name));
        json_t *properties = allow(common, HK_COUNT_OF(common));
        for (const char *const *own = hk_material_parameters(m); *own; own++) {
            json_t *type = strcmp(*own, "volume_penalty") == 0
                               ? json_pack("[ss]", "number", "boolean")
                               : json_string("number");
            json_t *rule = json_pack("{s:o}", "type", type);
            bool low = strcmp(*own, "low") == 0, high = strcmp(*own, "high") == 0;
            if (low) json_object_set_new(rule, "minimum", json_integer(0));
            if (low) json_object_set_new(rule, "maximum", json_integer(1));
            if (high) json_object_set_new(rule, "minimum", json_integer(1));
            json_object_set_new(properties, *own, rule);
        }
        const char *curve = strcmp(name, "spline") == 0       ? "#/$defs/points"
                            : strcmp(name, "polynomial") == 0 ? "#/$defs/coefficients"
                                                              : NULL;
        for (int k = 0; k < 3 && curve; k++)
            json_object_set_new(properties, (const char *[]){"f", "g", "h"}[k],
                                json_pack("{s:s}", "$ref", curve));
        if (curve)
            json_object_set_new(
                properties, "axes",
                json_pack("{s:s, s:s, s:i, s:i, s:{s:s, s:{s:{s:s}, s:{s:s}}, s:b, s:[ss]}}",
                          "description",
                          "Orthotropic: a curve of its own along up to three directions.", "type",
                          "array", "minItems", 1, "maxItems", 3, "items", "type", "object",
                          "properties", "direction", "$ref", "#/$defs/direction", "f", "$ref",
                          curve, "additionalProperties", 0, "required", "direction", "f"));
        json_t *rule = rule_for("model", name, standard.model, hk_material_summary(m), properties);
        json_object_set_new(json_object_get(rule, "then"), "dependentRequired",
                            json_pack("{s:[s], s:[s]}", "young", "poisson", "poisson", "young"));
        json_array_append_new(rules, rule);
    }
    for (int m = 0; m < hk_material_count(); m++) {
        const char *name = hk_material_name(m);
        if (hk_material_kind(m) == HK_FOR_SOLIDS) continue;
        json_array_append_new(names, json_string(name));
        if (hk_material_kind(m) == HK_FOR_ROPES) {
            json_array_append_new(rules, rope_rule(m, standard.model));
            continue;
        }
        if (strcmp(name, "shell") == 0) {
            json_array_append_new(rules, shell_rule(m, standard.model));
            continue;
        }
        json_t *properties = allow(of_sheets, HK_COUNT_OF(of_sheets));
        json_object_set_new(properties, "stretch",
                            json_pack("{s:s, s:s, s:i}", "description",
                                      "About Young's modulus × thickness, N/m.", "type", "number",
                                      "exclusiveMinimum", 0));
        json_object_set_new(properties, "bending",
                            json_pack("{s:s, s:s, s:i, s:i}", "description",
                                      "Bending stiffness, N·m.", "type", "number", "minimum", 0,
                                      "default", 0));
        json_t *rule = rule_for("model", name, standard.model, hk_material_summary(m), properties);
        json_object_set_new(json_object_get(rule, "then"), "required",
                            json_pack("[ss]", "density", "stretch"));
        json_array_append_new(rules, rule);
    }
    return rules;
}

static json_t *option_rule(const hk_option_info *info)
{
    json_t *rule = json_pack("{s:s}", "description", info->help);
    if (!info->words) {
        json_object_set_new(rule, "type", json_string("number"));
        if (isfinite(info->minimum)) json_object_set_new(rule, "minimum", json_real(info->minimum));
        if (isfinite(info->maximum)) json_object_set_new(rule, "maximum", json_real(info->maximum));
        if (isfinite(info->fallback))
            json_object_set_new(rule, "default", json_real(info->fallback));
        return rule;
    }
    json_t *words = json_array();
    for (int i = 0; info->words[i]; i++) json_array_append_new(words, json_string(info->words[i]));
    // A boolean stands for the word that means it.
    static const char *const meanings[2][3] = {{"false", "off", "no"}, {"true", "on", "yes"}};
    for (int value = 0; value < 2; value++) {
        bool found = false;
        for (int i = 0; info->words[i]; i++)
            for (int k = 0; k < 3; k++)
                found = found || strcmp(info->words[i], meanings[value][k]) == 0;
        if (found) json_array_append_new(words, json_boolean(value));
    }
    json_object_set_new(rule, "enum", words);
    json_object_set_new(rule, "default", json_string(info->words[(int)info->fallback]));
    return rule;
}

static json_t *method_rules(json_t *names)
{
    static const char *const common[] = {"method"};
    json_t *rules = json_array();
    hk_solver_def standard = hk_default_solver_def();
    for (int m = 0; m < hk_method_count(); m++) {
        json_array_append_new(names, json_string(hk_method_name(m)));
        json_t *properties = allow(common, HK_COUNT_OF(common));
        hk_solver_def step = hk_method_defaults(m, false), pose = hk_method_defaults(m, true);
        json_t *iterations = json_pack("{s:i}", "default", step.iterations);
        if (pose.iterations != step.iterations) {
            char text[64];
            snprintf(text, sizeof text, "Of a pose %d unless given.", pose.iterations);
            json_object_set_new(iterations, "description", json_string(text));
        }
        json_object_set_new(properties, "iterations", iterations);
        json_object_set_new(properties, "tolerance", json_pack("{s:f}", "default", step.tolerance));
        for (int i = 0; i < hk_method_option_count(m); i++) {
            const hk_option_info *info = hk_method_option(m, i);
            json_object_set_new(properties, info->name, option_rule(info));
            if (strcmp(info->name, "length1") == 0)
                json_object_set_new(
                    properties, "phases",
                    json_pack("{s:s, s:s, s:i, s:i, s:{s:s, s:i, s:i, s:[{s:s, s:i}, {s:s, s:i, "
                              "s:f}]}}",
                              "description",
                              "Instead of length1, rho1, …: a list of [length, rho].", "type",
                              "array", "minItems", 1, "maxItems", 8, "items", "type", "array",
                              "minItems", 2, "maxItems", 2, "prefixItems", "type", "number",
                              "minimum", 0, "type", "number", "minimum", 0, "maximum", 0.99999));
        }
        json_array_append_new(rules, rule_for("method", hk_method_name(m), standard.method,
                                              hk_method_summary(m), properties));
    }
    return rules;
}

// Puts the library's lists into $defs.<room>; says whether they were there already.
static bool fill(json_t *schema, const char *room, const char *key, json_t *names, json_t *rules,
                 const char *standard)
{
    json_t *place = json_object_get(json_object_get(schema, "$defs"), room);
    json_t *words = json_object_get(json_object_get(place, "properties"), key);
    assert_non_null(words);
    bool same = json_equal(json_object_get(words, "enum"), names) &&
                json_equal(json_object_get(place, "allOf"), rules) &&
                strcmp(json_string_value(json_object_get(words, "default")), standard) == 0;
    json_object_set_new(words, "enum", names);
    json_object_set_new(words, "default", json_string(standard));
    json_object_set_new(place, "allOf", rules);
    return same;
}

static bool fill_integrators(json_t *schema)
{
    json_t *time = json_object_get(json_object_get(schema, "properties"), "time");
    json_t *own = json_object_get(json_object_get(time, "properties"), "integrator");
    json_t *words = json_array_get(json_object_get(own, "anyOf"), 0), *names = json_array();
    assert_non_null(words);
    for (int k = 0; k < hk_integrator_count(); k++)
        json_array_append_new(names, json_string(hk_integrator_name(k)));
    bool same = json_equal(json_object_get(words, "enum"), names);
    json_object_set_new(words, "enum", names);
    return same;
}

static bool fill_contact_laws(json_t *schema)
{
    json_t *contact = json_object_get(json_object_get(schema, "properties"), "contact");
    json_t *law = json_object_get(json_object_get(contact, "properties"), "law");
    json_t *names = json_array();
    assert_non_null(law);
    for (int k = 0; k < hk_contact_law_count(); k++)
        json_array_append_new(names, json_string(hk_contact_law_name(k)));
    bool same = json_equal(json_object_get(law, "enum"), names);
    json_object_set_new(law, "enum", names);
    return same;
}

static void schema_lists_materials_and_methods(void **state)
{
    (void)state;
    json_t *schema = load_schema(), *models = json_array(), *methods = json_array();
    json_t *laws = material_rules(models), *solvers = method_rules(methods);
    bool same = fill(schema, "material", "model", models, laws, hk_default_material_def().model);
    same =
        fill(schema, "solver", "method", methods, solvers, hk_default_solver_def().method) && same;
    same = fill_integrators(schema) && same;
    same = fill_contact_laws(schema) && same;
    if (getenv("HOOKE_UPDATE_SCHEMA")) {
        if (!same) assert_int_equal(json_dump_file(schema, schema_path, JSON_INDENT(2)), 0);
    } else if (!same)
        fail_msg("%s does not list the materials and methods of this library:"
                 " run this test with HOOKE_UPDATE_SCHEMA=1",
                 schema_path);
    json_decref(schema);
}

// ---------------------------------------------------------------- agreement

static const char small_scene[] =
    "{\"bodies\": [{\"mesh\": {\"box\": {\"size\": [1, 1, 1], \"cells\": [1, 1, 1]}},"
    " \"material\": {\"young\": 1e6, \"poisson\": 0.4}}]}";

typedef enum verdict {
    GOOD,
    BAD,
    BEYOND  // wrong, but no schema can say so
} verdict;

// Some text of the message of what is BEYOND.
typedef struct change {
    verdict expected;
    const char *sets[3];
    const char *message;
} change;

#define MATERIAL(text)  "bodies.0.material=" text
#define SHELL(text)     MATERIAL("{\"model\": \"shell\", \"thickness\": 1e-3, " text "}")
#define ROPE(text)      MATERIAL("{\"model\": \"rope\", \"radius\": 0.01, " text "}")
#define ROPE_MESH(text) "bodies.0.mesh={\"rope\": {\"cells\": 4, " text "}}"
#define FIX(text)       "bodies.0.fix=[" text "]"
#define FILL(text)      "bodies.0.mesh={\"fill\": {\"file\": \"none.obj\", " text "}}"
#define OBSTACLE(text)  "obstacles=[{" text "}]"
#define SPRING(text)    "springs=[{\"stiffness\": 100, " text "}]"
#define ENDS            "\"from\": [0, 3, 0], \"to\": {\"body\": \"body0\", \"vertex\": 1}"
#define FROM(text)      SPRING("\"to\": [0, 3, 0], \"from\": {\"body\": \"body0\", " text "}")
#define SEAM(text)      "seams=[{\"stiffness\": 100, " text "}]"
#define SIDES                                                               \
    "\"from\": {\"body\": \"body0\", \"select\": {\"vertices\": [0, 1]}}, " \
    "\"to\": {\"body\": \"body0\", \"select\": {\"vertices\": [3, 2]}}"
#define PLANE "\"plane\": {\"normal\": [0, 1, 0]}"

static const change changes[] = {
    {GOOD, {"threads=4"}, NULL},
    {GOOD, {"damping.laplacian=0.1"}, NULL},
    {BAD, {"damping.laplacian=-1"}, NULL},
    {GOOD, {MATERIAL("{\"young\": 1e5, \"poisson\": 0.3, \"viscous\": 0.01}")}, NULL},
    {BAD, {MATERIAL("{\"young\": 1e5, \"poisson\": 0.3, \"viscous\": -1}")}, NULL},
    {BAD, {MATERIAL("{\"young\": 1e5, \"poisson\": 0.3, \"thickness\": 1}")}, NULL},
    {GOOD, {SHELL("\"young\": 1e5, \"poisson\": 0.3")}, NULL},
    {GOOD,
     {SHELL("\"young\": 1e5, \"poisson\": 0.3, \"membrane\": \"arap\", \"bending_form\": "
            "\"cotangent\", \"limit\": 1e5, \"high\": 1.1")},
     NULL},
    {GOOD,
     {SHELL("\"membrane\": \"orthotropic\", \"warp\": 300, \"weft\": 200, \"shear\": 20, "
            "\"poisson\": 0.2, \"axes\": [{\"direction\": [1, 0, 0], \"f\": [[0.9, -1e4], [1, "
            "0], [1.1, 1e4]]}]")},
     NULL},
    {BAD, {SHELL("\"young\": 1e5, \"poisson\": 0.3, \"membrane\": \"fung\"")}, NULL},
    {BAD, {SHELL("\"young\": 1e5, \"poisson\": 0.3, \"stretch\": 3")}, NULL},
    {BAD, {SHELL("\"young\": 1e5, \"poisson\": 0.3, \"high\": 0.9")}, NULL},
    {BEYOND, {SHELL("\"young\": 1e5")}, "poisson"},
    {BEYOND, {SHELL("\"membrane\": \"orthotropic\", \"warp\": 300")}, "weft"},
    {GOOD,
     {"bodies.0.load=[{\"select\": {\"all\": true}, \"wind\": {\"velocity\": [1, 0, 0]}}]"},
     NULL},
    {BAD,
     {"bodies.0.load=[{\"select\": {\"all\": true}, \"wind\": {\"velocity\": [1, 0, 0], \"drag\": "
      "-1}}]"},
     NULL},
    {BAD, {"bodies.0.load=[{\"select\": {\"all\": true}, \"wind\": {}}]"}, NULL},
    {BAD, {"threads=-1"}, NULL},
    {BAD, {"threads=1.5"}, NULL},
    {BAD, {"threads=1e10"}, NULL},
    {GOOD, {"$schema=somewhere"}, NULL},
    {BAD, {"$schema=1"}, NULL},
    {BAD, {"thread=1"}, NULL},
    {GOOD, {"backend=cuda"}, NULL},
    {BAD, {"backend=gpu"}, NULL},
    {GOOD, {"gravity=[0,0,0]"}, NULL},
    {BAD, {"gravity=[0,0]"}, NULL},
    {BAD, {"gravity=9.81"}, NULL},
    {BAD, {"gravity=[0,0,\"1\"]"}, NULL},
    {GOOD, {"time={}"}, NULL},
    {GOOD, {"time.step=1e-3", "time.end=0"}, NULL},
    {GOOD, {"time.steps=0"}, NULL},
    {BAD, {"time={\"steps\": 3, \"end\": 1}"}, NULL},
    {BAD, {"time.steps=-1"}, NULL},
    {BAD, {"time.end=-1e-9"}, NULL},
    {BAD, {"time.step=0"}, NULL},
    {BEYOND, {"time.step=1e-300", "time.end=1"}, "too many"},
    {GOOD, {"time.integrator=backward_euler"}, NULL},
    {BAD, {"time.integrator=euler"}, NULL},
    {GOOD, {"time.integrator=trbdf2"}, NULL},
    {GOOD, {"time.integrator={\"newmark\": {\"beta\": 0.3, \"gamma\": 0.6}}"}, NULL},
    {BAD, {"time.integrator={\"newmark\": {\"beta\": 0}}"}, NULL},
    {BAD, {"time.integrator={\"bdf2\": {}}"}, NULL},
    {GOOD, {"time.conserve=true"}, NULL},
    {BAD, {"time.conserve=1"}, NULL},
    {GOOD, {"contact={}"}, NULL},
    {GOOD, {"contact.law=log", "contact.self=false"}, NULL},
    {BAD, {"contact.law=soft"}, NULL},
    {BAD, {"contact.slip_speed=0"}, NULL},
    {BAD, {"contact.friction=-1"}, NULL},
    {BAD, {"contact.certify=1"}, NULL},
    {BAD, {"contact.when=before"}, NULL},
    {GOOD, {"contact.between=[{\"bodies\": [\"body0\", \"body*\"], \"ignore\": true}]"}, NULL},
    {BAD, {"contact.between=[{\"bodies\": [\"body0\"], \"ignore\": true}]"}, NULL},
    {BAD, {"contact.between=[{\"bodies\": [\"body0\", \"body0\"]}]"}, NULL},
    {BAD,
     {"contact.between=[{\"bodies\": [\"body0\", \"body0\"], \"ignore\": true, \"friction\": "
      "1}]"},
     NULL},
    {BEYOND,
     {"contact.between=[{\"bodies\": [\"body0\", \"floor\"], \"friction\": 1}]"},
     "no obstacle \"floor\""},
    {GOOD, {"obstacles=[]"}, NULL},
    {GOOD, {OBSTACLE(PLANE ", \"friction\": 0.5")}, NULL},
    {BAD, {OBSTACLE("\"plane\": {}")}, NULL},
    {BAD, {OBSTACLE("\"name\": \"floor\"")}, NULL},
    {BAD, {OBSTACLE(PLANE ", \"box\": {\"min\": [0, 0, 0], \"max\": [1, 1, 1]}")}, NULL},
    {GOOD, {OBSTACLE("\"box\": {\"min\": [0, 0, 0], \"max\": [1, 1, 1]}")}, NULL},
    {BEYOND, {OBSTACLE("\"box\": {\"min\": [0, 0, 0], \"max\": [1, 0, 1]}")}, "its max[1]"},
    {GOOD, {OBSTACLE(PLANE ", \"move\": [{\"translate\": [0, 1, 0], \"over\": 1}]")}, NULL},
    {BAD, {OBSTACLE(PLANE ", \"move\": [{\"select\": {\"all\": true}}]")}, NULL},
    {BAD, {OBSTACLE(PLANE ", \"move\": [], \"formula\": {\"x\": \"t\"}")}, NULL},
    {BAD, {OBSTACLE(PLANE ", \"keys\": [{}]")}, NULL},
    {BEYOND, {OBSTACLE(PLANE ", \"keys\": [{\"t\": 1}, {\"t\": 0}]")}, "key 1"},
    {BAD, {OBSTACLE(PLANE ", \"formula\": {}")}, NULL},
    {BAD, {OBSTACLE(PLANE ", \"formula\": {\"x\": 1}")}, NULL},
    {BEYOND, {OBSTACLE(PLANE ", \"formula\": {\"x\": \"1+\"}")}, "column 3"},
    {BAD,
     {OBSTACLE("\"cylinder\": {\"from\": [0, 0, 0], \"to\": [0, 1, 0], \"radius\": 1, \"sides\": "
               "5000}")},
     NULL},
    {GOOD, {OBSTACLE("\"mesh\": {\"sphere\": {\"radius\": 1, \"cells\": 2}}")}, NULL},
    {GOOD, {"springs=[]", "seams=[]"}, NULL},
    {GOOD,
     {SPRING(ENDS ", \"rest\": 0, \"goal\": 1, \"over\": 2, \"damping\": 1, \"breaking\": 5, "
                  "\"slack\": true, \"name\": \"a\"")},
     NULL},
    {GOOD, {SPRING(ENDS ", \"goal\": 1, \"factor\": \"t\"")}, NULL},
    {BAD, {SPRING(ENDS ", \"goal\": 1, \"factor\": \"t\", \"over\": 1")}, NULL},
    {BAD, {SPRING(ENDS ", \"rest\": -1")}, NULL},
    {BAD, {SPRING(ENDS ", \"slack\": 1")}, NULL},
    {BAD, {SPRING(ENDS ", \"colour\": 1")}, NULL},
    {BAD, {SPRING(ENDS), "springs.0.stiffness=0"}, NULL},
    {BAD, {SPRING("\"from\": [0, 0, 0]")}, NULL},
    {BAD, {SPRING("\"from\": [0, 0, 0], \"to\": [1, 0, 0]")}, NULL},
    {GOOD, {FROM("\"at\": [0.3, 0.2, 0.1]")}, NULL},
    {GOOD, {FROM("\"nearest\": [3, 2, 1]")}, NULL},
    {GOOD, {FROM("\"vertices\": [0, 1], \"weights\": [0.3, 0.7]")}, NULL},
    {BAD, {FROM("\"vertices\": [0, 1]")}, NULL},
    {BAD, {FROM("\"vertex\": 0, \"weights\": [1]")}, NULL},
    {BAD, {FROM("\"vertex\": 0, \"at\": [0, 0, 0]")}, NULL},
    {BAD, {FROM("\"vertex\": -1")}, NULL},
    {BAD, {SPRING("\"to\": [0, 3, 0], \"from\": {\"vertex\": 1}")}, NULL},
    {BEYOND, {FROM("\"vertex\": 99")}, "springs[0].from.vertex: is no vertex"},
    {BEYOND, {FROM("\"vertices\": [0, 1], \"weights\": [1]")}, "springs[0].from.weights"},
    {BEYOND,
     {SPRING("\"to\": [0, 3, 0], \"from\": {\"body\": \"bar\", \"vertex\": 1}")},
     "there is no body \"bar\""},
    {GOOD,
     {SEAM(SIDES ", \"distance\": 0, \"over\": 2, \"damping\": 1, \"breaking\": 5, "
                 "\"reverse\": true, \"slack\": false, \"name\": \"a\"")},
     NULL},
    {BAD, {SEAM(SIDES ", \"distance\": -1")}, NULL},
    {BAD, {SEAM(SIDES ", \"rest\": 1")}, NULL},
    {BAD, {SEAM(SIDES), "seams.0.to.select={}"}, NULL},
    {BAD, {SEAM(SIDES), "seams.0.to=[0, 0, 0]"}, NULL},
    {BAD, {SEAM("\"from\": {\"body\": \"body0\", \"select\": {\"all\": true}}")}, NULL},
    {GOOD, {"bodies.0.friction=0.4"}, NULL},
    {BAD, {"bodies.0.thickness=-1"}, NULL},
    {GOOD, {"bodies.0.array={\"count\": [2, 1, 1], \"step\": [2, 2, 2]}"}, NULL},
    {BAD, {"bodies.0.array={\"count\": [2, 1, 0], \"step\": [2, 2, 2]}"}, NULL},
    {BAD, {"bodies.0.array={\"count\": [2, 1, 1]}"}, NULL},
    {GOOD, {"bodies.0.copies=[{}, {\"translate\": [1, 2, 3]}]"}, NULL},
    {BAD, {"bodies.0.copies=[]"}, NULL},
    {BAD,
     {"bodies.0.copies=[{}]", "bodies.0.array={\"count\": [2, 1, 1], \"step\": [2, 2, 2]}"},
     NULL},
    {GOOD,
     {"bodies.0.mesh={\"torus\": {\"radius\": 1, \"thickness\": 0.1, \"cells\": [1, 3]}}"},
     NULL},
    {BAD,
     {"bodies.0.mesh={\"torus\": {\"radius\": 1, \"thickness\": 0.1, \"cells\": [1, 2]}}"},
     NULL},
    {BEYOND,
     {"bodies.0.mesh={\"torus\": {\"radius\": 1, \"thickness\": 3, \"cells\": [1, 3]}}"},
     "meet itself"},
    {GOOD, {"bodies.0.mesh={\"pyramid\": {\"size\": [1, 1, 3]}}"}, NULL},
    {BAD, {"bodies.0.mesh={\"pyramid\": {\"size\": [1, 1, 3], \"cells\": 1}}"}, NULL},
    {BAD, {"bodies=[]"}, NULL},
    {BAD, {"bodies=null"}, NULL},
    {BAD, {"bodies.1={}"}, NULL},
    {BAD, {"bodies.0.name="}, NULL},
    {BAD, {"bodies.0.mesh={}"}, NULL},
    {GOOD, {"bodies.0.mesh.order=2"}, NULL},
    {GOOD, {"bodies.0.mesh.order=1"}, NULL},
    {BAD, {"bodies.0.mesh.order=3"}, NULL},
    {BAD, {"bodies.0.mesh.order=0"}, NULL},
    {BAD, {"bodies.0.mesh={\"order\": 2}"}, NULL},
    {BAD, {"bodies.0.mesh={\"file\": \"a.msh\", \"sphere\": {\"radius\": 1, \"cells\": 2}}"}, NULL},
    {BEYOND, {"bodies.0.mesh={\"file\": \"no/such.msh\"}"}, "no/such.msh"},
    {GOOD, {"bodies.0.mesh={\"sphere\": {\"radius\": 1, \"cells\": 2}}"}, NULL},
    {BAD, {"bodies.0.mesh={\"sphere\": {\"radius\": 1, \"cells\": 0}}"}, NULL},
    {BAD, {"bodies.0.mesh={\"sphere\": {\"radius\": -1, \"cells\": 2}}"}, NULL},
    {GOOD,
     {"bodies.0.mesh={\"cylinder\": {\"radius\": 1, \"length\": 2, \"cells\": [2, 2]}}"},
     NULL},
    {BAD, {"bodies.0.mesh={\"cylinder\": {\"radius\": 1, \"cells\": [2, 2]}}"}, NULL},
    {BAD, {"bodies.0.mesh={\"sheet\": {\"size\": [1, 1], \"cells\": [2, 2, 2]}}"}, NULL},
    {GOOD, {"bodies.0.mesh={\"sheet\": {\"size\": [1, 1], \"cells\": [2, 2]}}"}, NULL},
    {GOOD, {"bodies.0.mesh={\"figure\": {\"height\": 1, \"cells\": 10}}"}, NULL},
    {BAD, {"bodies.0.mesh={\"figure\": {\"height\": 1, \"cells\": 9}}"}, NULL},
    {BAD, {"bodies.0.mesh={\"figure\": {\"height\": 0, \"cells\": 10}}"}, NULL},
    {BAD, {"bodies.0.mesh={\"figure\": {\"cells\": 10}}"}, NULL},
    {BAD, {"bodies.0.mesh={\"figure\": {\"height\": 1, \"cells\": 10, \"size\": 1}}"}, NULL},
    {BEYOND, {"bodies.0.mesh.box.cells=[100000,100000,100000]"}, "bodies[0].mesh.box"},
    {BEYOND, {FILL("\"cells\": 9, \"grade\": 0, \"skin\": false")}, "none.obj"},
    {BEYOND, {FILL("\"size\": 0.1, \"sharp_angle\": 30")}, "none.obj"},
    {BEYOND, {FILL("\"thickness\": 0.1, \"least_part\": 1")}, "none.obj"},
    {BAD, {"bodies.0.mesh={\"fill\": {\"size\": 1}}"}, NULL},
    {BAD, {FILL("\"size\": 0.1, \"cells\": 9")}, NULL},
    {BAD, {FILL("\"size\": 0")}, NULL},
    {BAD, {FILL("\"cells\": 0")}, NULL},
    {BAD, {FILL("\"grade\": 1.5")}, NULL},
    {BAD, {FILL("\"thickness\": 0")}, NULL},
    {BAD, {FILL("\"sharp_angle\": 0.5")}, NULL},
    {BAD, {FILL("\"least_part\": -0.1")}, NULL},
    {BAD, {FILL("\"skin\": 1")}, NULL},
    {BAD, {FILL("\"colour\": 1")}, NULL},
    {GOOD, {"output.skin=\"out/a.obj\""}, NULL},
    {BAD, {"output.skin=1"}, NULL},
    {GOOD, {"bodies.0.skin={\"sphere\": {\"radius\": 1, \"cells\": 2}}"}, NULL},
    {GOOD, {"bodies.0.skin.sphere={\"radius\": 1, \"cells\": 2}"}, NULL},
    {BAD, {"bodies.0.skin={}"}, NULL},
    {BAD, {"bodies.0.skin=fine.obj"}, NULL},
    {BEYOND, {"bodies.0.skin.file=no/such.obj"}, "bodies[0].skin.file"},
    {GOOD,
     {"bodies.0.transform={\"scale\": 2, \"rotate\": {\"axis\": [0, 0, 2], \"degrees\": 90}}"},
     NULL},
    {BAD, {"bodies.0.transform.scale=0"}, NULL},
    {BAD, {"bodies.0.transform.rotate={\"axis\": [0, 0, 0], \"degrees\": 90}"}, NULL},
    {BAD,
     {"bodies.0.transform.rotate={\"axis\": [0, 0, 1], \"degrees\": 9, \"center\": [0, 0, 0]}"},
     NULL},
    {BAD, {"bodies.0.material.young=0"}, NULL},
    {BAD, {"bodies.0.material.poisson=0.5"}, NULL},
    {BAD, {"bodies.0.material.poisson=-1"}, NULL},
    {GOOD, {"bodies.0.material.poisson=-0.99"}, NULL},
    {BAD, {"bodies.0.material.density=0"}, NULL},
    {BAD, {"bodies.0.material.model=jelly"}, NULL},
    {BAD, {"bodies.0.material.model=fibre"}, NULL},
    {BAD, {"bodies.0.material.model=custom"}, NULL},
    {BAD, {MATERIAL("{\"young\": 1}")}, NULL},
    {BAD, {MATERIAL("{\"poisson\": 0.1}")}, NULL},
    {BEYOND, {MATERIAL("{}")}, "young and poisson"},
    {GOOD, {MATERIAL("{\"mu\": 1e5, \"lambda\": 1e6}")}, NULL},
    {BEYOND, {MATERIAL("{\"mu\": 1e5}")}, "lambda"},
    {BEYOND, {MATERIAL("{\"mu\": -1, \"lambda\": 1e6}")}, "mu must be"},
    {BAD, {MATERIAL("{\"mu\": 1e5, \"lambda\": \"1e6\"}")}, NULL},
    {GOOD, {"bodies.0.material.model=stvk", "bodies.0.material.volume_penalty=true"}, NULL},
    {GOOD, {"bodies.0.material.model=stvk", "bodies.0.material.volume_penalty=false"}, NULL},
    {GOOD, {"bodies.0.material.model=stvk", "bodies.0.material.volume_penalty=1e4"}, NULL},
    {BAD, {"bodies.0.material.model=stvk", "bodies.0.material.volume_penalty=yes"}, NULL},
    {BEYOND,
     {MATERIAL("{\"model\": \"stvk\", \"mu\": 1, \"lambda\": 1, \"volume_penalty\": true}")},
     "young"},
    {BAD, {"bodies.0.material.volume_penalty=1"}, NULL},
    {GOOD, {"bodies.0.material.model=spline"}, NULL},
    {GOOD,
     {"bodies.0.material.model=spline", "bodies.0.material.f=[[0.5,-1e6],[1,0],[2,2e6]]"},
     NULL},
    {BEYOND,
     {"bodies.0.material.model=spline", "bodies.0.material.f=[[0.5,-1e6],[2,2e6],[1,0]]"},
     "increasing"},
    {BAD, {"bodies.0.material.model=spline", "bodies.0.material.f=[[1,0]]"}, NULL},
    {BAD, {"bodies.0.material.model=spline", "bodies.0.material.f=[[1,0,1],[2,0,1]]"}, NULL},
    {BAD, {"bodies.0.material.model=spline", "bodies.0.material.f=[1,2]"}, NULL},
    {GOOD, {"bodies.0.material.model=polynomial", "bodies.0.material.f=[0,0,1e6]"}, NULL},
    {BAD, {"bodies.0.material.model=polynomial", "bodies.0.material.f=[]"}, NULL},
    {BAD, {"bodies.0.material.model=polynomial", "bodies.0.material.f=[[1,0],[2,0]]"}, NULL},
    {BAD, {"bodies.0.material.f=[0,0,1]"}, NULL},
    {GOOD, {"bodies.0.material.fibre={\"stiffness\": 1e5, \"direction\": [1, 1, 0]}"}, NULL},
    {BAD, {"bodies.0.material.fibre={\"stiffness\": 1e5, \"direction\": [0, 0, 0]}"}, NULL},
    {BAD, {"bodies.0.material.fibre={\"stiffness\": -1, \"direction\": [1, 0, 0]}"}, NULL},
    {BAD, {"bodies.0.material.fibre={\"stiffness\": 1e5}"}, NULL},
    {GOOD, {"bodies.0.material.invertible=true"}, NULL},
    {GOOD,
     {"damping={\"air\": 0.1, \"air_per_vertex\": 0.1, \"viscous\": 0.01, \"ether\": 1, \"pbd\": "
      "2}"},
     NULL},
    {BAD, {"damping={\"air\": -0.1}"}, NULL},
    {BAD, {"damping={\"air_per_vertex\": -0.1}"}, NULL},
    {BAD, {"damping={\"water\": 1}"}, NULL},
    {GOOD, {"bodies.0.material.invertible={\"upper\": 0.5, \"lower\": 0.1}"}, NULL},
    {BAD, {"bodies.0.material.invertible=1"}, NULL},
    {BAD, {"bodies.0.material.invertible={\"upper\": -1}"}, NULL},
    {BAD, {"bodies.0.material.invertible={\"least\": 0.1}"}, NULL},
    {GOOD,
     {MATERIAL("{\"model\": \"polynomial\", \"young\": 1e6, \"poisson\": 0.4, \"axes\": "
               "[{\"direction\": [1, 0, 0], \"f\": [0, 0, 1e5]}]}")},
     NULL},
    {BAD,
     {MATERIAL("{\"model\": \"polynomial\", \"young\": 1e6, \"poisson\": 0.4, \"axes\": []}")},
     NULL},
    {BAD,
     {MATERIAL("{\"model\": \"polynomial\", \"young\": 1e6, \"poisson\": 0.4, \"axes\": "
               "[{\"direction\": [1, 0, 0]}]}")},
     NULL},
    {BAD,
     {MATERIAL("{\"model\": \"polynomial\", \"young\": 1e6, \"poisson\": 0.4, \"axes\": [{\"f\": "
               "[0, 0, 1e5]}]}")},
     NULL},
    {BAD,
     {MATERIAL("{\"model\": \"polynomial\", \"young\": 1e6, \"poisson\": 0.4, \"axes\": "
               "[{\"direction\": [0, 0, 0], \"f\": [0, 0, 1e5]}]}")},
     NULL},
    {BAD,
     {MATERIAL("{\"model\": \"polynomial\", \"young\": 1e6, \"poisson\": 0.4, \"axes\": "
               "[{\"direction\": [1, 0, 0], \"f\": [0, 0, 1e5], \"g\": [0]}]}")},
     NULL},
    {BEYOND,
     {MATERIAL("{\"model\": \"polynomial\", \"young\": 1e6, \"poisson\": 0.4, \"axes\": "
               "[{\"direction\": [1, 0, 0], \"f\": [0, 5, 1e5]}]}")},
     "must rest at stretch 1"},
    {GOOD,
     {MATERIAL("{\"model\": \"mass_spring\", \"density\": 0.2, \"stretch\": 100, \"bending\": 0}")},
     NULL},
    {GOOD, {ROPE_MESH("\"length\": 2"), ROPE("\"young\": 1e6")}, NULL},
    {GOOD,
     {ROPE_MESH("\"points\": [[0, 0, 0], [1, 0, 0], [1, 1, 0]]"), ROPE("\"young\": 1e6")},
     NULL},
    {GOOD,
     {ROPE_MESH("\"length\": 2"), ROPE("\"stretch\": 100, \"bending\": 0, \"slack\": true")},
     NULL},
    {BEYOND,
     {ROPE_MESH("\"length\": 2"), ROPE("\"stretch\": 100")},
     "young (or stretch and bending)"},
    {BEYOND,
     {ROPE_MESH("\"length\": 2"),
      ROPE("\"young\": 1e6, \"slack\": true, \"bending_form\": \"hinges\"")},
     "a slack rope cannot bend by angles"},
    {BAD, {ROPE_MESH("\"length\": 2"), ROPE("\"young\": 1e6, \"slack\": 1")}, NULL},
    {BAD, {ROPE_MESH("\"length\": 2"), ROPE("\"young\": 1e6, \"line_density\": 0")}, NULL},
    {BAD, {ROPE_MESH("\"length\": 2"), MATERIAL("{\"model\": \"rope\", \"young\": 1}")}, NULL},
    {BAD, {ROPE_MESH("\"length\": 0")}, NULL},
    {BAD, {ROPE_MESH("\"points\": [[0, 0, 0]]")}, NULL},
    {BAD, {ROPE_MESH("\"points\": [[0, 0, 0], [0, 1]]")}, NULL},
    {BAD, {ROPE_MESH("\"points\": [[0, 0, 0], [0, 1, 0]], \"length\": 1")}, NULL},
    {BAD, {"bodies.0.mesh={\"rope\": {\"length\": 1}}"}, NULL},
    {BAD, {MATERIAL("{\"model\": \"mass_spring\", \"density\": 0.2}")}, NULL},
    {BAD, {MATERIAL("{\"model\": \"mass_spring\", \"stretch\": 100}")}, NULL},
    {BAD, {MATERIAL("{\"model\": \"mass_spring\", \"density\": 1, \"stretch\": 0}")}, NULL},
    {BAD,
     {MATERIAL("{\"model\": \"mass_spring\", \"density\": 1, \"stretch\": 1, \"bending\": -1}")},
     NULL},
    {BAD,
     {MATERIAL("{\"model\": \"mass_spring\", \"density\": 1, \"stretch\": 1, \"young\": 1, "
               "\"poisson\": 0}")},
     NULL},
    {BAD, {MATERIAL("{\"young\": 1, \"poisson\": 0, \"stretch\": 1}")}, NULL},
    {GOOD, {"bodies.0.attach=[{\"select\": {\"all\": true}, \"stiffness\": 1e4}]"}, NULL},
    {BAD, {"bodies.0.attach=[{\"select\": {\"all\": true}}]"}, NULL},
    {BAD, {"bodies.0.attach=[{\"stiffness\": 1}]"}, NULL},
    {BAD, {"bodies.0.attach=[{\"select\": {\"all\": true}, \"stiffness\": -1}]"}, NULL},
    {BAD,
     {"bodies.0.attach=[{\"select\": {\"all\": true}, \"stiffness\": 1, \"force\": [0, 0, 0]}]"},
     NULL},
    {GOOD, {FIX("{\"all\": true}")}, NULL},
    {BAD, {FIX("{\"all\": false}")}, NULL},
    {BAD, {FIX("{}")}, NULL},
    {BAD, {FIX("{\"all\": true, \"vertices\": [0]}")}, NULL},
    {GOOD, {FIX("{\"select\": {\"all\": true}, \"axes\": \"x\", \"name\": \"wall\"}")}, NULL},
    {GOOD, {FIX("{\"select\": {\"all\": true}, \"axes\": [\"x\", \"z\"]}")}, NULL},
    {GOOD, {FIX("{\"select\": {\"all\": true}}")}, NULL},
    {BAD, {FIX("{\"select\": {\"all\": true}, \"axes\": \"w\"}")}, "axes"},
    {BAD, {FIX("{\"select\": {\"all\": true}, \"axes\": []}")}, NULL},
    {BAD, {FIX("{\"select\": {\"all\": true}, \"axis\": \"x\"}")}, NULL},
    {BAD, {FIX("{\"axes\": \"x\"}")}, NULL},
    {GOOD, {"bodies.0.load=[{\"select\": {\"all\": true}, \"pressure\": 5, \"over\": 1}]"}, NULL},
    {GOOD,
     {"bodies.0.load=[{\"select\": {\"all\": true}, \"torque\": {\"axis\": [1, 0, 0], \"center\": "
      "[0, 0, 0], \"moment\": 2}, \"factor\": \"sin(t)\"}]"},
     NULL},
    {BAD,
     {"bodies.0.load=[{\"select\": {\"all\": true}, \"torque\": {\"axis\": [1, 0, 0]}}]"},
     NULL},
    {GOOD, {"gravity={\"value\": [0, 1, 0], \"factor\": [[0, 0], [1, 2]]}"}, NULL},
    {BAD, {"gravity={\"factor\": \"t\"}"}, NULL},
    {BAD, {"gravity={\"value\": [0, 1, 0], \"factor\": [[0, 0, 1]]}"}, NULL},
    {GOOD, {"output.probes=[{\"name\": \"a\", \"at\": [0, 0, 0]}]"}, NULL},
    {BAD, {"output.probes=[{\"name\": \"a\"}]"}, NULL},
    {GOOD, {"output.reactions=a.csv", "output.probe_file=b.csv"}, NULL},
    {GOOD, {FIX("")}, NULL},
    {BAD, {"bodies.0.fix={\"all\": true}"}, NULL},
    {GOOD, {FIX("{\"box\": [[1, 1, 1], [0, 0, 0]]}")}, NULL},
    {BAD, {FIX("{\"box\": [[1, 1, 1]]}")}, NULL},
    {BAD, {FIX("{\"box\": [[1, 1], [0, 0]]}")}, NULL},
    {GOOD, {FIX("{\"sphere\": {\"center\": [0, 0, 0], \"radius\": 0}}")}, NULL},
    {BAD, {FIX("{\"sphere\": {\"center\": [0, 0, 0], \"radius\": -1}}")}, NULL},
    {GOOD, {FIX("{\"vertices\": [0, 7.0]}")}, NULL},
    {BEYOND, {FIX("{\"vertices\": [0, 8]}")}, "vertices[1]"},
    {BAD, {FIX("{\"vertices\": [-1]}")}, NULL},
    {BAD, {FIX("{\"vertices\": [0.5]}")}, NULL},
    {BEYOND, {FIX("{\"group\": \"bone\"}")}, "no groups"},
    {BAD, {FIX("{\"group\": \"\"}")}, NULL},
    {GOOD, {FIX("{\"not\": {\"any\": [{\"vertices\": [0]}, {\"not\": {\"all\": true}}]}}")}, NULL},
    {BAD, {FIX("{\"not\": {\"any\": [{\"vertices\": [0]}, {\"not\": {\"al\": true}}]}}")}, NULL},
    {GOOD, {"bodies.0.move=[{\"select\": {\"all\": true}}]"}, NULL},
    {BAD, {"bodies.0.move=[{\"select\": {\"all\": true}, \"over\": -1}]"}, NULL},
    {BAD, {"bodies.0.move=[{}]"}, NULL},
    {GOOD,
     {"bodies.0.load=[{\"select\": {\"all\": true}, \"force\": [0, 1, 0], \"distribute\": "
      "\"area\"}]"},
     NULL},
    {BAD, {"bodies.0.load=[{\"select\": {\"all\": true}}]"}, NULL},
    {BAD,
     {"bodies.0.load=[{\"select\": {\"all\": true}, \"force\": [0, 1, 0], \"distribute\": \"x\"}]"},
     NULL},
    {GOOD, {"bodies.0.initial.velocity=[1,2,3]"}, NULL},
    {BAD, {"bodies.0.initial.speed=1"}, NULL},
    {GOOD, {"bodies.0.initial.pose=true"}, NULL},
    {GOOD, {"bodies.0.initial.state=\"sagged.hks\""}, NULL},
    {BAD, {"bodies.0.initial.pose=1"}, NULL},
    {BAD, {"bodies.0.initial.state=7"}, NULL},
    {BAD, {"bodies.0.regions=[{\"select\": {\"all\": true}}]"}, NULL},
    {GOOD, {"solver={}"}, NULL},
    {GOOD, {"solver.iterations=0", "solver.tolerance=0"}, NULL},
    {BAD, {"solver.iterations=-1"}, NULL},
    {BAD, {"solver.tolerance=-1"}, NULL},
    {BAD, {"solver.tolerance=1"}, NULL},
    {BAD, {"solver.method=magic"}, NULL},
    {BAD, {"solver.no_such_option=1"}, NULL},
    {GOOD, {"solver={\"method\": \"descent\", \"phases\": [[8, 0.5], [88, 0.99]]}"}, NULL},
    {BAD, {"solver={\"method\": \"descent\", \"phases\": [[8, 1]]}"}, NULL},
    {BAD, {"solver={\"method\": \"descent\", \"phases\": [[-8, 0.5]]}"}, NULL},
    {BAD, {"solver={\"method\": \"descent\", \"phases\": [[8, 0.5, 1]]}"}, NULL},
    {BAD, {"solver={\"method\": \"newton\", \"phases\": [[8, 0.5]]}"}, NULL},
    {BAD, {"output.every=-1"}, NULL},
    {GOOD,
     {"output={\"every\": 0, \"vtu\": \"a.pvd\", \"points\": \"b\", \"stats\": \"c.json\"}"},
     NULL},
    {BAD, {"output.stats="}, NULL},
    {BAD, {"output.csv=x"}, NULL},
};

// What the reader and the schema say of text with overrides.
static bool reader_accepts(const char *text, const char *const *sets, int count)
{
    hk_scene *scene = NULL;
    hk_status status = hk_scene_parse(text, strlen(text), "test", sets, count, &scene);
    hk_scene_free(scene);
    return status == HK_OK;
}

static bool schema_accepts_text(const json_t *schema, const char *text, const char *const *sets,
                                int count)
{
    hk_source source = {.name = "test", .text = text, .length = strlen(text)};
    assert_int_equal(hk_source_open(&source, sets, count), HK_OK);
    bool accepted = schema_accepts(schema, schema, source.root);
    hk_source_close(&source);
    return accepted;
}

static void listed_scenes_agree(void **state)
{
    (void)state;
    json_t *schema = load_schema();
    for (int i = 0; i < HK_COUNT_OF(changes); i++) {
        const change *c = &changes[i];
        int count = 0;
        while (count < 3 && c->sets[count]) count++;
        bool by_schema = schema_accepts_text(schema, small_scene, c->sets, count);
        bool by_reader = reader_accepts(small_scene, c->sets, count);
        if (by_reader != (c->expected == GOOD))
            fail_msg("%s: the reader says %s", c->sets[0], by_reader ? "good" : hk_error());
        if (by_schema != (c->expected != BAD))
            fail_msg("%s: the schema says %s", c->sets[0], by_schema ? "good" : "bad");
        if (c->message && !strstr(hk_error(), c->message))
            fail_msg("%s: \"%s\" does not mention %s", c->sets[0], hk_error(), c->message);
    }
    json_decref(schema);
}

// Every parameter of every law and every option of every method, with every other.
static void parameters_agree(void **state)
{
    (void)state;
    json_t *schema = load_schema();
    char model[100], value[100];
    const char *sets[2] = {model, value};
    for (int m = 0; m < hk_material_count(); m++)
        for (int n = 0; n < hk_material_count(); n++)
            for (const char *const *own = hk_material_parameters(n); *own; own++) {
                snprintf(model, sizeof model, "bodies.0.material.model=%s", hk_material_name(m));
                snprintf(value, sizeof value, "bodies.0.material.%s=1e6", *own);
                assert_int_equal(schema_accepts_text(schema, small_scene, sets, 2),
                                 reader_accepts(small_scene, sets, 2));
            }
    static const char *const values[] = {"0", "1", "-1e300", "1e300", "no_such_word", "true", "[]"};
    for (int m = 0; m < hk_method_count(); m++)
        for (int n = 0; n < hk_method_count(); n++)
            for (int o = 0; o < hk_method_option_count(n); o++) {
                const hk_option_info *info = hk_method_option(n, o);
                snprintf(model, sizeof model, "solver.method=%s", hk_method_name(m));
                for (int v = 0; v < HK_COUNT_OF(values) + (info->words != NULL); v++) {
                    snprintf(value, sizeof value, "solver.%s=%s", info->name,
                             v < HK_COUNT_OF(values) ? values[v] : info->words[0]);
                    if (schema_accepts_text(schema, small_scene, sets, 2) !=
                        reader_accepts(small_scene, sets, 2))
                        fail_msg("%s %s: schema and reader differ (%s)", model, value, hk_error());
                }
            }
    json_decref(schema);
}

// ---------------------------------------------------------------- every value replaced

static const char big_scene[] =
    "{\"$schema\": \"x\", \"time\": {\"step\": 0.01, \"steps\": 3, \"integrator\":"
    " \"backward_euler\"}, \"gravity\": [0, -9.81, 0], \"solver\": {\"method\": \"newton\","
    " \"iterations\": 5, \"tolerance\": 1e-8}, \"threads\": 1, \"backend\": \"auto\", \"bodies\": ["
    "{\"name\": \"a\", \"mesh\": {\"box\": {\"size\": [1, 1, 1], \"cells\": [1, 1, 1]}},"
    " \"transform\": {\"scale\": 2, \"rotate\": {\"axis\": [0, 1, 0], \"degrees\": 90},"
    " \"translate\": [0, 1, 0]}, \"material\": {\"model\": \"stvk\", \"young\": 1e6, \"poisson\":"
    " 0.4, \"density\": 900, \"volume_penalty\": true, \"fibre\": {\"stiffness\": 1e5,"
    " \"direction\": [1, 0, 0]}}, \"regions\": [{\"select\": {\"all\": true}, \"material\":"
    " {\"model\": \"spline\", \"young\": 1e6, \"poisson\": 0.4, \"f\": [[0.5, -1e6], [1, 0], [2,"
    " 2e6]]}}, {\"select\": {\"vertices\": [0, 1, 2]}, \"material\": {\"model\": \"polynomial\","
    " \"young\": 1e6, \"poisson\": 0.4, \"f\": [0, 0, 1e6]}}], \"initial\": {\"velocity\": [0, 1,"
    " 2]}, \"fix\": [{\"box\": [[0, 0, 0], [1, 1, 1]]}, {\"not\": {\"any\": [{\"sphere\":"
    " {\"center\": [0, 0, 0], \"radius\": 1}}, {\"all\": true}]}}], \"move\": [{\"select\":"
    " {\"all\": true}, \"rotate\": {\"axis\": [1, 0, 0], \"center\": [0, 0, 0], \"degrees\": 9},"
    " \"translate\": [0, 0, 0], \"over\": 1}], \"load\": [{\"select\": {\"all\": true}, \"force\":"
    " [0, 1, 0], \"distribute\": \"area\"}]},"
    "{\"mesh\": {\"cylinder\": {\"radius\": 1, \"length\": 2, \"cells\": [2, 2]}}, \"material\":"
    " {\"mu\": 1e5, \"lambda\": 1e6}},"
    "{\"mesh\": {\"torus\": {\"radius\": 1, \"thickness\": 0.2, \"cells\": [1, 3]}}, \"friction\":"
    " 0.1, \"thickness\": 0, \"array\": {\"count\": [1, 2, 1], \"step\": [1, 1, 1]}, \"material\":"
    " {\"young\": 1, \"poisson\": 0}},"
    "{\"mesh\": {\"wedge\": {\"radius\": 1, \"thickness\": 0.2, \"degrees\": 9, \"length\": 1,"
    " \"cells\": [1, 1, 1]}}, \"copies\": [{\"rotate\": {\"axis\": [0, 0, 1], \"degrees\": 9},"
    " \"translate\": [1, 0, 0]}], \"material\": {\"young\": 1, \"poisson\": 0}},"
    "{\"mesh\": {\"funnel\": {\"radius\": 1, \"neck\": 0.2, \"height\": 1, \"length\": 1,"
    " \"thickness\": 0.1, \"cells\": [3, 2]}}, \"material\": {\"young\": 1, \"poisson\": 0}},"
    "{\"mesh\": {\"sphere\": {\"radius\": 1, \"cells\": 2}}, \"material\": {\"model\": \"arap\","
    " \"young\": 1, \"poisson\": 0}},"
    "{\"mesh\": {\"helix\": {\"radius\": 1, \"pitch\": 0.5, \"turns\": 1, \"thickness\": 0.1,"
    " \"strands\": 1, \"cells\": 1}}, \"material\": {\"young\": 1, \"poisson\": 0}},"
    "{\"mesh\": {\"sheet\": {\"size\": [1, 1], \"cells\": [2, 2]}}, \"material\": {\"model\":"
    " \"mass_spring\", \"density\": 0.2, \"stretch\": 100, \"bending\": 1e-3}, \"attach\":"
    " [{\"select\": {\"all\": true}, \"stiffness\": 10, \"rotate\": {\"axis\": [1, 0, 0], "
    "\"center\":"
    " [0, 0, 0], \"degrees\": 9}, \"translate\": [0, 0, 0], \"over\": 1}]}],"
    " \"contact\": {\"distance\": 1e-3, \"stiffness\": 1e5, \"friction\": 0.3, \"slip_speed\": "
    "1e-3,"
    " \"friction_passes\": 1, \"self\": true, \"law\": \"log\", \"overlap\": \"recover\","
    " \"certify\": false, \"when\": \"after\", \"between\": [{\"bodies\": [\"body1\", \"floor\"],"
    " \"friction\": 0.5}, {\"bodies\": [\"body1\", \"body5\"], \"ignore\": true}]},"
    " \"obstacles\": [{\"name\": \"floor\", \"plane\": {\"point\": [0, 0, 0], \"normal\": [0, 1,"
    " 0]}, \"friction\": 0.5, \"move\": [{\"rotate\": {\"axis\": [1, 0, 0], \"center\": [0, 0,"
    " 0], \"degrees\": 9}, \"translate\": [0, 0, 0], \"over\": 1}]}, {\"box\": {\"min\": [0, 0,"
    " 0], \"max\": [1, 1, 1]}, \"transform\": {\"scale\": 2}}, {\"sphere\": {\"center\": [0, 0,"
    " 0], \"radius\": 1}, \"keys\": [{\"t\": 2, \"rotate\": {\"axis\": [1, 0, 0], \"center\": [0,"
    " 0, 0], \"degrees\": 9}, \"translate\": [0, 0, 0]}]}, {\"capsule\": {\"from\": [0, 0, 0],"
    " \"to\": [1, 0, 0], \"radius\": 1}, \"formula\": {\"x\": \"t\", \"rotate\": {\"axis\": [1, 0,"
    " 0], \"center\": [0, 0, 0], \"degrees\": \"t\"}}}, {\"cylinder\": {\"from\": [0, 0, 0],"
    " \"to\": [1, 0, 0], \"radius\": 1, \"sides\": 6}}, {\"plate\": {\"point\": [0, 0, 0],"
    " \"normal\": [0, 1, 0], \"size\": [1, 1], \"thickness\": 0.1}}, {\"mesh\": {\"pyramid\":"
    " {\"size\": [1, 1, 1]}}}],"
    " \"output\": {\"every\": 0.1, \"vtu\": \"a.pvd\", \"points\": \"b\", \"stats\": \"c\"}}";

typedef struct tally {
    const json_t *schema;
    json_t *root;  // of the scene, which is changed in place
    int good, bad, beyond;
} tally;

static void compare(tally *t)
{
    char *text = json_dumps(t->root, JSON_COMPACT);
    assert_non_null(text);
    bool by_schema = schema_accepts(t->schema, t->schema, t->root);
    bool by_reader = reader_accepts(text, NULL, 0);
    if (by_reader && !by_schema) fail_msg("the reader takes what the schema does not: %s", text);
    if (by_schema && !by_reader) {
        // Only what the rooms for materials and meshes say themselves, or what needs the mesh.
        static const char *const allowed[] = {"material stvk",
                                              "material polynomial",
                                              "material spline",
                                              "material neo_hookean",
                                              "is no vertex",
                                              "increasing order",
                                              "spline f",
                                              "helix",
                                              "polynomial f",
                                              "needs \"young\"",
                                              "would be inverted",
                                              "no obstacle",
                                              "its max[",
                                              "the same point",
                                              "formula \"",
                                              "torus.",
                                              "wedge.",
                                              "funnel.",
                                              "transform:",
                                              "no vertex of the body"};
        bool expected = false;
        for (int i = 0; i < HK_COUNT_OF(allowed); i++)
            expected = expected || strstr(hk_error(), allowed[i]);
        if (!expected)
            fail_msg("the schema takes what the reader does not: %s\n%s", hk_error(), text);
        t->beyond++;
    }
    if (!by_schema) t->bad++;
    if (by_reader) t->good++;
    hk_free(text);  // jansson's memory is Hooke's
}

static void vary(tally *t, json_t *value);

static void vary_member(tally *t, json_t *object, const char *key)
{
    static const char *const others[] = {"null", "true", "false", "0",  "-1",     "0.5",
                                         "3",    "1e30", "\"x\"", "[]", "[1, 1]", "{}"};
    json_t *kept = json_incref(json_object_get(object, key));
    vary(t, kept);
    for (int i = 0; i < HK_COUNT_OF(others); i++) {
        json_object_set_new(object, key, json_loads(others[i], JSON_DECODE_ANY, NULL));
        compare(t);
    }
    json_object_del(object, key);
    compare(t);
    json_object_set_new(object, key, kept);
}

static void vary_item(tally *t, json_t *array, size_t index)
{
    json_t *kept = json_incref(json_array_get(array, index));
    vary(t, kept);
    json_array_set_new(array, index, json_null());
    compare(t);
    json_array_set_new(array, index, json_real(-2.5));
    compare(t);
    json_array_remove(array, index);
    compare(t);
    json_array_insert_new(array, index, kept);
}

static void vary(tally *t, json_t *value)
{
    if (json_is_object(value)) {
        json_object_set_new(value, "surprise", json_true());
        compare(t);
        json_object_del(value, "surprise");
        json_t *names = json_array();
        const char *key;
        json_t *member;
        json_object_foreach(value, key, member) json_array_append_new(names, json_string(key));
        size_t i;
        json_t *name;
        json_array_foreach(names, i, name) vary_member(t, value, json_string_value(name));
        json_decref(names);
    }
    for (size_t i = 0; json_is_array(value) && i < json_array_size(value); i++)
        vary_item(t, value, i);
}

static void varied_scenes_agree(void **state)
{
    (void)state;
    json_t *schema = load_schema();
    tally t = {.schema = schema, .root = json_loads(big_scene, JSON_DECODE_INT_AS_REAL, NULL)};
    assert_non_null(t.root);
    compare(&t);
    if (t.good != 1) fail_msg("the big scene itself is wrong: %s", hk_error());
    vary(&t, t.root);
    json_decref(t.root);
    json_decref(schema);
    // Most changes are wrong, but far from all.
    print_message("%d good, %d bad, %d beyond the schema\n", t.good, t.bad, t.beyond);
    assert_true(t.good > 100 && t.bad > 500);
}

// ---------------------------------------------------------------- the scenes that come along

static void shipped_scenes_are_valid(void **state)
{
    (void)state;
    json_t *schema = load_schema();
    glob_t found;
    assert_int_equal(glob("../scenes/*.json", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 5);
    assert_int_equal(glob("../scenes/figures/*.json", GLOB_APPEND, NULL, &found), 0);
    assert_int_equal(glob("../scenes/large/*.json", GLOB_APPEND, NULL, &found), 0);
    assert_int_equal(glob("../scenes/contact/*.json", GLOB_APPEND, NULL, &found), 0);
    assert_true(found.gl_pathc >= 25);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        hk_scene *scene = NULL;
        if (hk_scene_load(path, NULL, 0, &scene) != HK_OK) fail_msg("%s", hk_error());
        hk_scene_free(scene);
        json_t *json = json_load_file(path, 0, NULL);
        assert_non_null(json);
        if (!schema_accepts(schema, schema, json)) fail_msg("%s: not by the schema", path);
        json_decref(json);
    }
    globfree(&found);
    json_decref(schema);
}

int main(void)
{
    // Points jansson at Hooke's memory before the first JSON value is made here.
    reader_accepts(small_scene, NULL, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schema_lists_materials_and_methods),
        cmocka_unit_test(listed_scenes_agree),
        cmocka_unit_test(parameters_agree),
        cmocka_unit_test(varied_scenes_agree),
        cmocka_unit_test(shipped_scenes_are_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
