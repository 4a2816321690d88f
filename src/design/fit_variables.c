// The parameters of a fit: how users name them, and how they get into the materials of a model.
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "design/fit.h"

// Values may go so far from where they began.
#define FARTHEST 1e12
// Poisson's ratios that are tried.
#define LEAST_POISSON    -0.9999
#define GREATEST_POISSON 0.49999

// ---------------------------------------------------------------- values

double hk_fit_value(const hk_fit_variable *v, double theta)
{
    switch (v->map) {
    case HK_FIT_LOG: return exp(theta);
    case HK_FIT_SINH: return v->scale * sinh(theta);
    case HK_FIT_POISSON: return -1 + 1.5 / (1 + exp(-theta));
    }
    return NAN;
}

double hk_fit_theta(const hk_fit_variable *v, double value)
{
    switch (v->map) {
    case HK_FIT_LOG: return log(value);
    case HK_FIT_SINH: return asinh(value / v->scale);
    case HK_FIT_POISSON: return log((1 + value) / (0.5 - value));
    }
    return NAN;
}

double hk_fit_rate(const hk_fit_variable *v, double theta)
{
    switch (v->map) {
    case HK_FIT_LOG: return exp(theta);
    case HK_FIT_SINH: return v->scale * cosh(theta);
    case HK_FIT_POISSON: {
        double fraction = 1 / (1 + exp(-theta));
        return 1.5 * fraction * (1 - fraction);
    }
    }
    return NAN;
}

// ---------------------------------------------------------------- materials

static hk_status copy_curve(hk_curve *curve, int width)
{
    const double *from = curve->values;
    size_t count = (size_t)width * (size_t)curve->count;
    curve->values = NULL;
    if (count == 0) return HK_OK;
    double *values = HK_ARRAY(double, count);
    if (!values) return HK_NO_MEMORY;
    memcpy(values, from, count * sizeof(double));
    curve->values = values;
    return HK_OK;
}

// A definition that points to nothing of the user's, of a material that resolves.
static hk_status copy_material(const hk_material_def *from, const hk_material *resolved,
                               hk_material_def *to)
{
    const hk_law_info *law = hk_law_describe(resolved->law);
    hk_material_def copy = *from;
    hk_curve *curves[] = {&copy.f, &copy.g, &copy.h, &copy.axes[0], &copy.axes[1], &copy.axes[2]};
    copy.model = law->name;
    copy.fibre_directions = NULL;
    for (int k = 0; k < copy.parameter_count; k++)
        for (const char *const *name = law->parameters; *name; name++)
            if (strcmp(*name, copy.parameters[k].name) == 0) copy.parameters[k].name = *name;
    hk_status status = HK_OK;
    for (int k = 0; k < HK_COUNT_OF(curves); k++)
        if (status == HK_OK)
            status = copy_curve(curves[k], resolved->law == HK_LAW_spline ? 2 : 1);
        else
            curves[k]->values = NULL;
    *to = copy;
    return status;
}

// Materials are numbered as hk_model_create does: of every body its own, then those of its regions.
hk_status hk_fit_take_materials(hk_fit *fit, const hk_model_input *input)
{
    const hk_model *m = fit->equilibrium->model;
    fit->sources = HK_ZEROS(hk_fit_source, m->material_count);
    fit->materials = HK_ZEROS(hk_material_def, m->material_count);
    if (!fit->sources || !fit->materials) return HK_NO_MEMORY;
    for (int b = 0; b < input->def.body_count; b++) {
        const hk_body_def *body = &input->bodies[b];
        for (int r = -1; r < body->region_count; r++) {
            int number = fit->material_count++;
            fit->sources[number] = (hk_fit_source){.body = b, .region = r};
            if (m->bodies[b].tet_count == 0) continue;
            const hk_material_def *def = r < 0 ? &body->material : &body->regions[r].material;
            HK_TRY(copy_material(def, &m->materials[number], &fit->materials[number]));
        }
    }
    for (int t = 0; t < m->tet_count; t++) fit->sources[m->tet_material[t]].used = true;
    return HK_OK;
}

static hk_status fail_of(const hk_fit *fit, int material, const char *message)
{
    const hk_fit_source *s = &fit->sources[material];
    const char *name = fit->equilibrium->model->bodies[s->body].name;
    if (s->region < 0) return hk_fail(HK_BAD_INPUT, "body %d (%s): %s", s->body, name, message);
    return hk_fail(HK_BAD_INPUT, "body %d (%s), region %d: %s", s->body, name, s->region, message);
}

// "young, poisson, density, mu, lambda"
static void list_fields(const hk_law_info *law, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "young, poisson, density, fibre.stiffness");
    for (const char *const *name = law->parameters; *name && used < size; name++)
        used += (size_t)snprintf(text + used, size - used, ", %s", *name);
}

// A parameter of the law by its name; one that was made from E and ν is from now on given.
static double *own_parameter(hk_material_def *def, const hk_material *resolved, int index)
{
    const char *name = hk_law_describe(resolved->law)->parameters[index];
    for (int k = 0; k < def->parameter_count; k++)
        if (strcmp(def->parameters[k].name, name) == 0) return &def->parameters[k].value;
    if (def->parameter_count == HK_MAX_PARAMETERS) return NULL;
    def->parameters[def->parameter_count] = (hk_parameter){name, resolved->params.c[index]};
    return &def->parameters[def->parameter_count++].value;
}

// Where the number is; `map` says of which kind it is.
static double *find_field(hk_fit *fit, int material, const char *field, hk_fit_map *map)
{
    hk_material_def *def = &fit->materials[material];
    const hk_material *resolved = &fit->equilibrium->model->materials[material];
    const hk_law_info *law = hk_law_describe(resolved->law);
    *map = strcmp(field, "poisson") == 0 ? HK_FIT_POISSON : HK_FIT_LOG;
    if (strcmp(field, "young") == 0) return &def->young;
    if (strcmp(field, "poisson") == 0) return &def->poisson;
    if (strcmp(field, "density") == 0) return &def->density;
    if (strcmp(field, "fibre.stiffness") == 0) return &def->fibre_stiffness;
    for (int k = 0; law->parameters[k]; k++) {
        if (strcmp(field, law->parameters[k]) != 0) continue;
        if (law->any_sign >> k & 1) *map = HK_FIT_SINH;
        return own_parameter(def, resolved, k);
    }
    return NULL;
}

static hk_status check_field(hk_fit *fit, int material, const char *field, double *start,
                             hk_fit_map *map)
{
    const hk_model *m = fit->equilibrium->model;
    char text[320], known[160];
    if (m->bodies[fit->sources[material].body].tet_count == 0)
        return fail_of(fit, material, "it is a sheet, and fits are for materials of tets");
    const double *value = find_field(fit, material, field, map);
    const char *model = fit->materials[material].model;
    if (!value) {
        list_fields(hk_law_describe(m->materials[material].law), known, sizeof known);
        snprintf(text, sizeof text, "there is no \"%.40s\" to vary in material %s (there are: %s)",
                 field, model, known);
        return fail_of(fit, material, text);
    }
    if (isnan(*value)) {
        snprintf(text, sizeof text,
                 "material %s has no %s, for its coefficients come by name: vary those, or give "
                 "young and poisson",
                 model, field);
        return fail_of(fit, material, text);
    }
    if (*map != HK_FIT_POISSON && (*map == HK_FIT_SINH ? *value == 0 : !(*value > 0))) {
        snprintf(text, sizeof text, "%s is %g: give it a start that is %s", field, *value,
                 *map == HK_FIT_SINH ? "not 0" : "greater than 0");
        return fail_of(fit, material, text);
    }
    *start = *value;
    return HK_OK;
}

static void say_nothing(void *context, hk_log_level level, const char *message)
{
    (void)context, (void)level, (void)message;
}

// Warnings of values that are only tried help nobody: those of the scene came when it was read, and
// those of what is found come where it is used.
hk_status hk_fit_put(hk_fit *fit, const hk_fit_variable *v, double value)
{
    hk_fit_map map;
    hk_status status = HK_OK;
    hk_log_divert(say_nothing, NULL);
    for (int k = 0; k < v->material_count && status == HK_OK; k++) {
        int material = v->materials[k];
        *find_field(fit, material, v->field, &map) = value;
        status = hk_material_resolve(&fit->materials[material],
                                     &fit->equilibrium->model->materials[material]);
    }
    hk_log_divert(NULL, NULL);
    return status;
}

hk_status hk_fit_apply(hk_fit *fit, const double *theta)
{
    for (int k = 0; k < fit->variable_count; k++)
        HK_TRY(hk_fit_put(fit, &fit->variables[k], hk_fit_value(&fit->variables[k], theta[k])));
    return hk_equilibrium_take_materials(fit->equilibrium);
}

// ---------------------------------------------------------------- what users name

// "bodies.BODY[.regions.REGION][.material].FIELD", or FIELD alone.
typedef struct path {
    char text[160];
    char *body, *region, *field;  // of text; NULL: not said
} path;

// The part up to the next dot, and past it; NULL: there is none.
static char *next_part(char **at)
{
    char *part = *at, *dot = strchr(part, '.');
    if (!dot) return NULL;
    *dot = '\0';
    *at = dot + 1;
    return part;
}

static bool skip_word(char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0 || (*at)[length] != '.') return false;
    *at += length + 1;
    return true;
}

static hk_status split_path(const char *item, size_t length, path *p)
{
    *p = (path){.field = p->text};
    if (length == 0) return hk_fail(HK_BAD_INPUT, "vary: a name is missing between two commas");
    if (length >= sizeof p->text)
        return hk_fail(HK_BAD_INPUT, "vary: \"%.40s…\" is too long", item);
    memcpy(p->text, item, length);
    char *at = p->text;
    if (!skip_word(&at, "bodies")) {
        skip_word(&at, "material");
        p->field = at;
        return HK_OK;
    }
    p->body = next_part(&at);
    if (p->body && skip_word(&at, "regions")) {
        p->region = next_part(&at);
        if (!p->region) p->body = NULL;
    }
    if (!p->body)
        return hk_fail(HK_BAD_INPUT,
                       "vary: expected bodies.0.young or bodies.0.regions.1.young, not \"%.*s\"",
                       (int)length, item);
    skip_word(&at, "material");
    p->field = at;
    return HK_OK;
}

static bool is_number(const char *text, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end != '\0' || value > 1000000) return false;
    *number = (int)value;
    return true;
}

static bool means_body(const hk_model *m, const char *text, int body)
{
    int number;
    if (strcmp(text, "*") == 0) return true;
    return is_number(text, &number) ? number == body : strcmp(text, m->bodies[body].name) == 0;
}

static bool means_source(const hk_model *m, const path *p, const hk_fit_source *s)
{
    int number;
    if (!p->body) return true;
    if (!means_body(m, p->body, s->body)) return false;
    if (!p->region) return s->region < 0;
    if (strcmp(p->region, "*") == 0) return s->region >= 0;
    return is_number(p->region, &number) && number == s->region;
}

static hk_status add_variable(hk_fit *fit, const char *name, size_t length, const char *field,
                              hk_fit_variable **variable)
{
    size_t count = (size_t)fit->variable_count;
    hk_fit_variable *more = HK_ZEROS(hk_fit_variable, count + 1);
    if (!more) return HK_NO_MEMORY;
    if (count > 0) memcpy(more, fit->variables, count * sizeof *more);
    hk_free(fit->variables);
    fit->variables = more;
    hk_fit_variable *v = &more[fit->variable_count++];
    v->name = hk_strndup(name, length);
    v->field = hk_strdup(field);
    v->materials = HK_ZEROS(int32_t, fit->material_count);
    if (!v->name || !v->field || !v->materials) return HK_NO_MEMORY;
    v->parameter.name = v->name;
    v->density = strcmp(field, "density") == 0;
    *variable = v;
    return HK_OK;
}

static void set_range(hk_fit_variable *v)
{
    double start = v->parameter.start;
    if (v->map == HK_FIT_SINH) v->scale = fabs(start) / 10;
    double theta = hk_fit_theta(v, start);
    v->low = theta - log(FARTHEST);
    v->high = theta + log(FARTHEST);
    if (v->map == HK_FIT_SINH) v->low = -(v->high = asinh(FARTHEST));
    if (v->map != HK_FIT_POISSON) return;
    v->low = fmin(theta, hk_fit_theta(v, LEAST_POISSON));
    v->high = fmax(theta, hk_fit_theta(v, GREATEST_POISSON));
}

static hk_status join_material(hk_fit *fit, hk_fit_variable *v, int material)
{
    double start = NAN;
    hk_fit_map map = HK_FIT_LOG;
    HK_TRY(check_field(fit, material, v->field, &start, &map));
    hk_fit_parameter *p = &v->parameter;
    if (v->material_count > 0 && (map != v->map || fabs(start - p->start) > 1e-12 * fabs(start)))
        return hk_fail(HK_BAD_INPUT,
                       "vary: %s is not the same in all materials (%g, and %g in body %d%s): name "
                       "those to vary, as in bodies.0.%s or bodies.0.regions.*.%s",
                       v->field, p->start, start, fit->sources[material].body,
                       fit->sources[material].region >= 0 ? ", a region" : "", v->field, v->field);
    p->start = p->value = start;
    p->deviation = NAN;
    v->map = map;
    v->materials[v->material_count++] = material;
    set_range(v);
    return HK_OK;
}

// The name of a variable that stands for one material of many.
static void name_source(const hk_fit_source *s, const char *field, char *text, size_t size)
{
    if (s->region < 0)
        snprintf(text, size, "bodies.%d.%s", s->body, field);
    else
        snprintf(text, size, "bodies.%d.regions.%d.%s", s->body, s->region, field);
}

static hk_status take_item(hk_fit *fit, const char *item, size_t length)
{
    const hk_model *m = fit->equilibrium->model;
    path p;
    HK_TRY(split_path(item, length, &p));
    bool each = (p.body && strcmp(p.body, "*") == 0) || (p.region && strcmp(p.region, "*") == 0);
    hk_fit_variable *v = NULL;
    bool named = false;
    for (int k = 0; k < fit->material_count; k++) {
        const hk_fit_source *s = &fit->sources[k];
        if (!means_source(m, &p, s)) continue;
        named = true;
        // What is meant by all leaves out those who cannot.
        bool sheet = m->bodies[s->body].tet_count == 0;
        if ((each || !p.body) && (sheet || !s->used)) continue;
        if (!sheet && !s->used) return fail_of(fit, k, "no tet has this material");
        char name[200];
        name_source(s, p.field, name, sizeof name);
        if (each)
            HK_TRY(add_variable(fit, name, strlen(name), p.field, &v));
        else if (!v)
            HK_TRY(add_variable(fit, item, length, p.field, &v));
        HK_TRY(join_material(fit, v, k));
    }
    if (v) return HK_OK;
    return hk_fail(HK_BAD_INPUT, "vary: \"%.*s\" names %s", (int)length, item,
                   named ? "no material of tets" : "no body or region of the scene");
}

// Two that would set the same number.
static hk_status check_twice(const hk_fit *fit)
{
    for (int a = 0; a < fit->variable_count; a++)
        for (int b = 0; b < a; b++) {
            const hk_fit_variable *u = &fit->variables[a], *v = &fit->variables[b];
            if (strcmp(u->field, v->field) != 0) continue;
            for (int i = 0; i < u->material_count; i++)
                for (int j = 0; j < v->material_count; j++)
                    if (u->materials[i] == v->materials[j])
                        return hk_fail(HK_BAD_INPUT, "vary: %s and %s are the same number", v->name,
                                       u->name);
        }
    return HK_OK;
}

hk_status hk_fit_take_variables(hk_fit *fit, const char *vary)
{
    if (!vary || !*vary)
        return hk_fail(HK_BAD_INPUT, "vary: name what is to be found, as in \"young,poisson\"");
    for (const char *at = vary;; at++) {
        const char *end = at + strcspn(at, ","), *last = end;
        while (at < end && isspace((unsigned char)*at)) at++;
        while (last > at && isspace((unsigned char)last[-1])) last--;
        HK_TRY(take_item(fit, at, (size_t)(last - at)));
        at = end;
        if (!*at) break;
    }
    return check_twice(fit);
}

void hk_fit_release_variables(hk_fit *fit)
{
    for (int k = 0; fit->variables && k < fit->variable_count; k++) {
        hk_free(fit->variables[k].name);
        hk_free(fit->variables[k].field);
        hk_free(fit->variables[k].materials);
    }
    for (int k = 0; fit->materials && k < fit->material_count; k++) {
        hk_material_def *d = &fit->materials[k];
        const hk_curve *curves[] = {&d->f, &d->g, &d->h, &d->axes[0], &d->axes[1], &d->axes[2]};
        for (int i = 0; i < HK_COUNT_OF(curves); i++) hk_free((void *)curves[i]->values);
    }
    hk_free(fit->variables);
    hk_free(fit->materials);
    hk_free(fit->sources);
}
