// What engineers ask of a run or a pose: reactions, the largest displacement and stress, and
// probes.
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static json_t *vector_json(const double v[3])
{
    return json_pack("[o, o, o]", cli_json_real(v[0]), cli_json_real(v[1]), cli_json_real(v[2]));
}

static const char *body_name(const void *of, int body)
{
    const hk_scene *scene = of;
    const hk_model_def *def = hk_scene_model(scene);
    const hk_body_def *found =
        body >= 0 && body < def->body_count ? hk_def_at(def->bodies, body) : NULL;
    return found && found->name ? found->name : "body";
}

static bool same_name(const hk_reaction *a, const hk_reaction *b)
{
    if (a->name || b->name) return a->name && b->name && strcmp(a->name, b->name) == 0;
    return a->moves == b->moves && a->number == b->number;
}

// "wall", or "fix 0" and "move 0" without a name; with that of the body, as in "bar.wall", where
// several are called so. To be freed.
static char *name_constraint(cli_bodies bodies, const hk_reaction *all, int count, int which)
{
    const hk_reaction *r = &all[which];
    bool alone = true;
    for (int k = 0; k < count && alone; ++k) alone = k == which || !same_name(&all[k], r);
    const char *body = alone ? "" : bodies.name(bodies.of, r->body), *dot = alone ? "" : ".";
    if (r->name) return cli_format("%s%s%s", body, dot, r->name);
    return cli_format("%s%s%s %d", body, dot, r->moves ? "move" : "fix", r->number);
}

// ---------------------------------------------------------------- the state

// [hk_model_constraint_count]; NULL: there are none, or they could not be found.
static hk_reaction *find_reactions(hk_world *world, int *count)
{
    *count = hk_model_constraint_count(hk_world_model(world));
    if (*count == 0) return NULL;
    hk_reaction *reactions = cli_realloc(NULL, (size_t)*count, sizeof *reactions);
    if (hk_world_reactions(world, reactions, NULL) == HK_OK) return reactions;
    free(reactions);
    *count = 0;
    return NULL;
}

json_t *cli_reactions_json(hk_world *world, cli_bodies bodies)
{
    int count;
    hk_reaction *reactions = find_reactions(world, &count);
    json_t *list = count > 0 ? json_array() : NULL;
    for (int k = 0; k < count; ++k) {
        const hk_reaction *r = &reactions[k];
        char *name = name_constraint(bodies, reactions, count, k);
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:i, s:o, s:o, s:o}", "body",
                                        cli_json_text(bodies.name(bodies.of, r->body)),
                                        "constraint", cli_json_text(name), "vertices", r->vertices,
                                        "force", vector_json(r->force), "moment",
                                        vector_json(r->moment), "center", vector_json(r->center)));
        free(name);
    }
    free(reactions);
    return list;
}

json_t *cli_greatest_json(hk_world *world, cli_bodies bodies)
{
    hk_greatest g;
    if (hk_world_greatest(world, &g) != HK_OK) return NULL;
    json_t *object = json_object();
    if (g.displacement_body >= 0)
        json_object_set_new(
            object, "displacement",
            json_pack("{s:o, s:o, s:i, s:o}", "value", cli_json_real(g.displacement), "body",
                      cli_json_text(bodies.name(bodies.of, g.displacement_body)), "vertex",
                      g.vertex, "place", vector_json(g.displacement_place)));
    if (g.von_mises_body >= 0)
        json_object_set_new(object, "von_mises",
                            json_pack("{s:o, s:o, s:i, s:o}", "value", cli_json_real(g.von_mises),
                                      "body",
                                      cli_json_text(bodies.name(bodies.of, g.von_mises_body)),
                                      "tet", g.tet, "place", vector_json(g.von_mises_place)));
    return object;
}

static int find_body(const hk_scene *scene, const char *name)
{
    const hk_model_def *def = hk_scene_model(scene);
    for (int k = 0; k < def->body_count; ++k)
        if (!name || strcmp(body_name(scene, k), name) == 0) return k;
    return -1;
}

bool cli_probe_find(const hk_world *world, const hk_scene *scene, int number, hk_probe *probe,
                    char *why, size_t size)
{
    const hk_probe_def *def = &hk_scene_output(scene)->probes[number];
    int body = find_body(scene, def->body);
    if (body < 0) {
        snprintf(why, size, "probe \"%s\": there is no body \"%s\"", def->name, def->body);
        return false;
    }
    if (hk_model_probe(hk_world_model(world), body, def->at, probe) == HK_OK) return true;
    snprintf(why, size, "probe \"%s\": %s", def->name, hk_error());
    return false;
}

// What is told of the tet that a probe lies in: fields of the world, and of a tensor the six
// numbers that are its own.
enum { VON_MISES, STRESS, PRINCIPAL, STRAIN, FIELDS };
static const struct {
    const char *name;
    int width;
    int count;
    int own[6];
} fields[FIELDS] = {{"von_mises", 1, 1, {0}},
                    {"stress", 9, 6, {0, 4, 8, 1, 5, 2}},
                    {"principal_stress", 3, 3, {0, 1, 2}},
                    {"strain", 9, 6, {0, 4, 8, 1, 5, 2}}};

// [tets][width] each, or NULL where there are no tets.
typedef struct tet_fields {
    double *of[FIELDS];
} tet_fields;

static tet_fields find_fields(hk_world *world)
{
    tet_fields found = {0};
    size_t count = (size_t)hk_model_tet_count(hk_world_model(world));
    for (int f = 0; f < FIELDS && count > 0; ++f) {
        found.of[f] = cli_realloc(NULL, count * (size_t)fields[f].width, sizeof(double));
        if (hk_world_field(world, fields[f].name, found.of[f]) == HK_OK) continue;
        free(found.of[f]);
        found.of[f] = NULL;
    }
    return found;
}

static void free_fields(tet_fields *f)
{
    for (int k = 0; k < FIELDS; ++k) free(f->of[k]);
}

// Position, displacement, and the fields of the tet that it lies in, NULL without one.
typedef struct probe_state {
    double at[3], moved[3];
    const double *of[FIELDS];
} probe_state;

static bool read_probe(const hk_world *world, const hk_probe *probe, const tet_fields *found,
                       probe_state *state)
{
    const double *rest = hk_model_rest_positions(hk_world_model(world));
    if (hk_world_probe(world, probe, state->at) != HK_OK) return false;
    for (int i = 0; i < 3; ++i) {
        state->moved[i] = state->at[i];
        for (int k = 0; k < probe->count; ++k)
            state->moved[i] -= probe->weights[k] * rest[3 * (size_t)probe->vertices[k] + (size_t)i];
    }
    for (int f = 0; f < FIELDS; ++f)
        state->of[f] = probe->tet >= 0 && found->of[f]
                           ? found->of[f] + (size_t)fields[f].width * (size_t)probe->tet
                           : NULL;
    return true;
}

static json_t *field_json(const double *values, int width)
{
    if (!values) return json_null();
    if (width == 1) return cli_json_real(values[0]);
    json_t *list = json_array();
    for (int k = 0; k < width; ++k) json_array_append_new(list, cli_json_real(values[k]));
    return list;
}

// probes: {name: [x, y, z]}; probe_values: {name: {"displacement", "von_mises", "stress", …}}
static void put_probes(json_t *object, hk_world *world, const hk_scene *scene)
{
    const hk_output_def *output = hk_scene_output(scene);
    if (output->probe_count == 0) return;
    tet_fields found = find_fields(world);
    json_t *places = json_object(), *values = json_object();
    for (int k = 0; k < output->probe_count; ++k) {
        hk_probe probe;
        probe_state state;
        char why[256];
        if (!cli_probe_find(world, scene, k, &probe, why, sizeof why) ||
            !read_probe(world, &probe, &found, &state))
            continue;
        const char *name = output->probes[k].name;
        json_object_set_new(places, name, vector_json(state.at));
        json_t *value = json_pack("{s:o}", "displacement", vector_json(state.moved));
        for (int f = 0; f < FIELDS; ++f)
            json_object_set_new(value, fields[f].name, field_json(state.of[f], fields[f].width));
        json_object_set_new(values, name, value);
    }
    free_fields(&found);
    json_object_set_new(object, "probes", places);
    json_object_set_new(object, "probe_values", values);
}

json_t *cli_engineering_json(hk_world *world, const hk_scene *scene)
{
    json_t *object = json_object();
    cli_bodies bodies = {body_name, scene};
    json_t *reactions = cli_reactions_json(world, bodies);
    json_t *greatest = cli_greatest_json(world, bodies);
    if (reactions) json_object_set_new(object, "reactions", reactions);
    if (greatest) json_object_set_new(object, "greatest", greatest);
    put_probes(object, world, scene);
    return object;
}

// ---------------------------------------------------------------- one number of it

static const json_t *member(const json_t *from, const char *text, size_t length)
{
    char key[256];
    snprintf(key, sizeof key, "%.*s", (int)length, text);
    size_t row = (size_t)(text[0] - 'x'), column = length == 2 ? (size_t)(text[1] - 'x') : 0;
    if (json_is_array(from) && length == 1 && *text >= '0' && *text <= '9')
        return json_array_get(from, (size_t)(*text - '0'));
    if (json_is_array(from) && length == 1 && row < 3) return json_array_get(from, row);
    if (json_array_size(from) == 9 && length == 2 && row < 3 && column < 3)
        return json_array_get(from, 3 * row + column);
    return json_object_get(from, key);
}

// What a path with dots leads to: von_mises.place.x
static const json_t *walk(const json_t *from, const char *path)
{
    while (from && *path) {
        size_t length = strcspn(path, ".");
        from = member(from, path, length);
        path += length + (path[length] == '.');
    }
    return json_is_object(from) ? json_object_get(from, "value") : from;
}

// What follows a name and a dot; NULL: the path begins otherwise.
static const char *after(const char *path, const char *name)
{
    size_t length = name ? strlen(name) : 0;
    return name && strncmp(path, name, length) == 0 && path[length] == '.' ? path + length + 1
                                                                           : NULL;
}

static const json_t *find_reaction(const json_t *list, const char *path)
{
    size_t k;
    json_t *entry;
    json_array_foreach(list, k, entry)
    {
        const char *rest = after(path, json_string_value(json_object_get(entry, "constraint")));
        // reactions.wall.y is the force
        if (rest) return walk(rest[0] && !rest[1] ? json_object_get(entry, "force") : entry, rest);
    }
    return NULL;
}

static const json_t *find_probe(const json_t *probes, const char *path)
{
    const char *name;
    const json_t *entry;
    json_object_foreach((json_t *)(uintptr_t)probes, name, entry)
    {
        const char *rest = after(path, name);
        if (rest) return walk(entry, rest);
    }
    return NULL;
}

bool cli_engineering_value(const json_t *results, const char *name, double *value)
{
    const json_t *found;
    const char *rest;
    if ((rest = after(name, "reactions")))
        found = find_reaction(json_object_get(results, "reactions"), rest);
    else if ((rest = after(name, "probes")))
        found = find_probe(json_object_get(results, "probe_values"), rest);
    else
        found = walk(results, name);
    *value = json_is_number(found) ? json_number_value(found) : NAN;
    return json_is_number(found) || json_is_null(found);
}

char *cli_engineering_names(const json_t *results)
{
    const json_t *entry;
    const char *name;
    size_t k;
    char *text = cli_format("greatest.displacement, greatest.von_mises");
    json_array_foreach(json_object_get(results, "reactions"), k, entry)
    {
        char *longer = cli_format("%s, reactions.%s.x", text,
                                  json_string_value(json_object_get(entry, "constraint")));
        free(text);
        text = longer;
    }
    json_object_foreach((json_t *)json_object_get(results, "probes"), name, entry)
    {
        char *longer = cli_format("%s, probes.%s.displacement.x", text, name);
        free(text);
        text = longer;
    }
    return text;
}

const char *cli_engineering_unit(const char *name)
{
    if (strstr(name, "von_mises")) return "Pa";
    if (strncmp(name, "reactions.", 10) != 0) return "m";
    return strstr(name, ".moment.") ? "N m" : "N";
}

bool cli_engineering_is(const char *name)
{
    return strncmp(name, "reactions.", 10) == 0 || strncmp(name, "greatest.", 9) == 0 ||
           strncmp(name, "probes.", 7) == 0;
}

// ---------------------------------------------------------------- the summary

static void print_vector(FILE *stream, const json_t *v)
{
    fprintf(stream, "(%.6g, %.6g, %.6g)", json_number_value(json_array_get(v, 0)),
            json_number_value(json_array_get(v, 1)), json_number_value(json_array_get(v, 2)));
}

static void print_greatest(FILE *stream, const json_t *greatest, const char *key, const char *what,
                           const char *unit)
{
    const json_t *found = json_object_get(greatest, key);
    if (!found) return;
    fprintf(stream, "  %-11s %.6g %s at ", what, json_number_value(json_object_get(found, "value")),
            unit);
    print_vector(stream, json_object_get(found, "place"));
    fprintf(stream, "\n");
}

void cli_engineering_print(FILE *stream, const json_t *results)
{
    enum { MOST = 8 };
    const json_t *greatest = json_object_get(results, "greatest");
    const json_t *reactions = json_object_get(results, "reactions");
    const json_t *probes = json_object_get(results, "probes");
    print_greatest(stream, greatest, "von_mises", "von Mises", "Pa");
    for (size_t k = 0; k < json_array_size(reactions) && k < MOST; ++k) {
        const json_t *r = json_array_get(reactions, k);
        fprintf(stream, "  reaction    %s, %s: force ",
                cli_name(json_string_value(json_object_get(r, "body"))),
                cli_name(json_string_value(json_object_get(r, "constraint"))));
        print_vector(stream, json_object_get(r, "force"));
        fprintf(stream, " N, moment ");
        print_vector(stream, json_object_get(r, "moment"));
        fprintf(stream, " N m\n");
    }
    if (json_array_size(reactions) > MOST)
        fprintf(stream, "  reaction    … %d more\n", (int)json_array_size(reactions) - MOST);
    const char *name;
    const json_t *place;
    json_object_foreach((json_t *)probes, name, place)
    {
        fprintf(stream, "  probe       %s: ", cli_name(name));
        print_vector(stream, place);
        fprintf(stream, " m\n");
    }
}

// ---------------------------------------------------------------- files over time

static void append(cli_text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(cli_text *to, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length >= 0) {
        to->text = cli_realloc(to->text, to->length + (size_t)length + 1, 1);
        vsnprintf(to->text + to->length, (size_t)length + 1, format, again);
        to->length += (size_t)length;
    }
    va_end(again);
}

// The heads of columns, "NAME.x" and so on; what would end a column or a line in a name is _.
static void append_columns(cli_text *to, const char *name, const char *const *columns, int count)
{
    char *plain = cli_format("%s", name);
    for (char *c = plain; *c; ++c)
        if (*c == ',' || *c == '"' || (unsigned char)*c < ' ') *c = '_';
    for (int k = 0; k < count; ++k) append(to, ",%s.%s", plain, columns[k]);
    free(plain);
}

static void add_reaction_head(cli_text *to, hk_world *world, cli_bodies bodies)
{
    static const char *const columns[] = {"x", "y", "z", "moment.x", "moment.y", "moment.z"};
    int count;
    hk_reaction *reactions = find_reactions(world, &count);
    append(to, "t");
    for (int k = 0; k < count; ++k) {
        char *name = name_constraint(bodies, reactions, count, k);
        append_columns(to, name, columns, 6);
        free(name);
    }
    append(to, "\n");
    free(reactions);
}

void cli_reactions_add(cli_text *to, hk_world *world)
{
    int count;
    hk_reaction *reactions = find_reactions(world, &count);
    append(to, "%.15g", hk_world_time(world));
    for (int k = 0; k < count; ++k) {
        const double *f = reactions[k].force, *m = reactions[k].moment;
        append(to, ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", f[0], f[1], f[2], m[0], m[1], m[2]);
    }
    append(to, "\n");
    free(reactions);
}

static void add_probe_head(cli_text *to, const hk_output_def *output)
{
    static const char *const columns[] = {
        "x",
        "y",
        "z",
        "displacement.x",
        "displacement.y",
        "displacement.z",
        "von_mises",
        "stress.xx",
        "stress.yy",
        "stress.zz",
        "stress.xy",
        "stress.yz",
        "stress.xz",
        "principal_stress.0",
        "principal_stress.1",
        "principal_stress.2",
        "strain.xx",
        "strain.yy",
        "strain.zz",
        "strain.xy",
        "strain.yz",
        "strain.xz",
    };
    append(to, "t");
    for (int k = 0; k < output->probe_count; ++k)
        append_columns(to, output->probes[k].name, columns,
                       (int)(sizeof columns / sizeof *columns));
    append(to, "\n");
}

static void add_probes(cli_engineering *e, hk_world *world, const hk_scene *scene)
{
    const hk_output_def *output = hk_scene_output(scene);
    tet_fields found = find_fields(world);
    cli_text *to = &e->probe_rows;
    append(to, "%.15g", hk_world_time(world));
    for (int k = 0; k < output->probe_count; ++k) {
        probe_state s = {0};
        read_probe(world, &e->probes[k], &found, &s);
        append(to, ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", s.at[0], s.at[1], s.at[2], s.moved[0],
               s.moved[1], s.moved[2]);
        for (int f = 0; f < FIELDS; ++f)
            for (int c = 0; c < fields[f].count; ++c) {
                double value = s.of[f] ? s.of[f][fields[f].own[c]] : NAN;
                if (isfinite(value))
                    append(to, ",%.17g", value);
                else
                    append(to, ",");
            }
    }
    append(to, "\n");
    free_fields(&found);
}

// Rows that came with a checkpoint go on where they have the same columns. Takes the head over.
static void begin_rows(cli_text *rows, cli_text head, const char *path)
{
    bool goes_on = rows->length >= head.length && head.length > 0 &&
                   memcmp(rows->text, head.text, head.length) == 0;
    if (rows->length > 0 && path && !goes_on)
        cli_note("%s begins at the checkpoint: its columns are others", path);
    free(goes_on ? head.text : rows->text);
    if (!goes_on) *rows = head;
}

void cli_reactions_begin(cli_text *rows, hk_world *world, cli_bodies bodies, const char *path)
{
    cli_text head = {0};
    if (path) add_reaction_head(&head, world, bodies);
    begin_rows(rows, head, path);
}

bool cli_engineering_begin(cli_engineering *e, hk_world *world, const hk_scene *scene, char *why,
                           size_t size)
{
    const hk_output_def *output = hk_scene_output(scene);
    cli_text probes = {0};
    e->probes = cli_realloc(NULL, (size_t)output->probe_count + 1, sizeof *e->probes);
    for (int k = 0; k < output->probe_count; ++k)
        if (!cli_probe_find(world, scene, k, &e->probes[k], why, size)) return false;
    if (output->probe_file) add_probe_head(&probes, output);
    cli_reactions_begin(&e->reaction_rows, world, (cli_bodies){body_name, scene},
                        output->reactions);
    begin_rows(&e->probe_rows, probes, output->probe_file);
    return true;
}

void cli_engineering_add(cli_engineering *e, hk_world *world, const hk_scene *scene)
{
    const hk_output_def *output = hk_scene_output(scene);
    if (output->reactions) cli_reactions_add(&e->reaction_rows, world);
    if (output->probe_file) add_probes(e, world, scene);
}

static bool write_rows(const cli_text *rows, const char *path, char *why, size_t size)
{
    return !path || rows->length == 0 || cli_write_whole(path, rows->text, rows->length, why, size);
}

bool cli_engineering_end(cli_engineering *e, const char *reactions, const char *probes, char *why,
                         size_t size)
{
    bool good = write_rows(&e->reaction_rows, reactions, why, size) &&
                write_rows(&e->probe_rows, probes, why, size);
    cli_engineering_free(e);
    return good;
}

void cli_engineering_free(cli_engineering *e)
{
    free(e->probes);
    free(e->reaction_rows.text);
    free(e->probe_rows.text);
    *e = (cli_engineering){0};
}
