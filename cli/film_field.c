// What the colours of a film show: fields of files and worlds by name, and parts of meshes.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "film.h"

// ---------------------------------------------------------------- names

static const char *unit_of(const char *field)
{
    static const char *const units[][2] = {
        {"displacement", "m"}, {"velocity", "m/s"}, {"von_mises", "Pa"}, {"stress", "Pa"},
        {"pressure", "Pa"},    {"force", "N"},      {"reaction", "N"},   {"energy", "J"},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; ++i)
        if (strstr(field, units[i][0])) return units[i][1];
    return "";
}

// The number behind ".x", ".yy", ".2"; -1: none. Tensors of six are xx, yy, zz, xy, yz, xz, those
// of nine are told by their numbers.
static int component_of(const char *text)
{
    static const char *const names[] = {"x", "y", "z", "xx", "yy", "zz", "xy", "yz", "xz"};
    static const int numbers[] = {0, 1, 2, 0, 1, 2, 3, 4, 5};
    for (int i = 0; i < 9; ++i)
        if (strcmp(text, names[i]) == 0) return numbers[i];
    return text[0] >= '0' && text[0] <= '8' && text[1] == '\0' ? text[0] - '0' : -1;
}

bool film_parse_quantity(const char *text, film_quantity *q)
{
    *q = (film_quantity){.component = -1, .unit = ""};
    if (!text[0] || strlen(text) >= sizeof q->field) return false;
    if (strcmp(text, "none") == 0 || strcmp(text, "body") == 0) return true;
    if (strcmp(text, "stress") == 0) text = "von_mises";
    if (strcmp(text, "contact") == 0) text = "contact_force";
    snprintf(q->field, sizeof q->field, "%s", text);
    char *dot = strrchr(q->field, '.');
    if (dot && component_of(dot + 1) >= 0) {
        q->component = component_of(dot + 1);
        *dot = '\0';
    }
    bool whole = q->component < 0;
    q->color = strcmp(text, "von_mises") == 0       ? FILM_STRESS
               : strcmp(text, "displacement") == 0  ? FILM_DISPLACEMENT
               : strcmp(text, "contact_force") == 0 ? FILM_CONTACT
                                                    : FILM_FIELD;
    q->unit = unit_of(q->field);
    q->peaks = strcmp(q->unit, "Pa") == 0;
    q->unsign = whole && q->color != FILM_FIELD;
    snprintf(q->title, sizeof q->title, "%s", q->color == FILM_STRESS ? "von Mises stress" : text);
    for (char *at = q->title; *at; ++at)
        if (*at == '_') *at = ' ';
    return true;
}

// ---------------------------------------------------------------- values

const hk_field *film_find_field(const hk_mesh *mesh, const char *name, hk_field *found)
{
    for (int i = 0; i < hk_mesh_field_count(mesh); ++i) {
        *found = hk_mesh_field(mesh, i);
        if (found->name && found->values && strcmp(found->name, name) == 0) return found;
    }
    return NULL;
}

static double length_of(const double *v, int components)
{
    // Of a symmetric tensor of six numbers those beside the diagonal count twice.
    double sum = 0;
    for (int k = 0; k < components; ++k) sum += (components == 6 && k > 2 ? 2 : 1) * v[k] * v[k];
    return sqrt(sum);
}

// The von Mises stress of a symmetric tensor: xx, yy, zz, xy, yz, xz, or all nine by rows.
static double von_mises_of(const double *v, int components)
{
    bool nine = components == 9;
    double xx = v[0], yy = v[nine ? 4 : 1], zz = v[nine ? 8 : 2];
    double xy = v[nine ? 1 : 3], yz = v[nine ? 5 : 4], xz = v[nine ? 2 : 5];
    double normal = (xx - yy) * (xx - yy) + (yy - zz) * (yy - zz) + (zz - xx) * (zz - xx);
    return sqrt(0.5 * normal + 3 * (xy * xy + yz * yz + xz * xz));
}

static double number_of(const hk_field *field, int component, int64_t item)
{
    const double *v = field->values + item * field->components;
    if (field->components == 1) return v[0];
    if (component >= 0) return v[component];
    bool stress =
        (field->components == 6 || field->components == 9) && strstr(field->name, "stress");
    return stress ? von_mises_of(v, field->components) : length_of(v, field->components);
}

static double tet_volume(const double *x, const int32_t *t)
{
    double e[3][3];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) e[i][k] = x[3 * t[i + 1] + k] - x[3 * t[0] + k];
    return fabs(e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) +
                e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) +
                e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6;
}

double *film_field_values(const hk_mesh *mesh, const double *rest, const hk_field *field,
                          int component)
{
    int count = hk_mesh_vertex_count(mesh), tets = hk_mesh_tet_count(mesh);
    double *values = cli_realloc(NULL, (size_t)count, sizeof(double));
    for (int i = 0; i < count; ++i)
        values[i] = field->site == HK_ON_VERTICES ? number_of(field, component, i) : 0;
    if (field->site == HK_ON_TETS) {
        double *volumes = cli_realloc(NULL, (size_t)count, sizeof(double));
        memset(volumes, 0, (size_t)count * sizeof(double));
        for (int i = 0; i < tets; ++i) {
            const int32_t *t = hk_mesh_tets(mesh) + 4 * (size_t)i;
            double volume = tet_volume(rest, t), value = number_of(field, component, i);
            if (!isfinite(value)) continue;
            for (int k = 0; k < 4; ++k) {
                values[t[k]] += volume * value;
                volumes[t[k]] += volume;
            }
        }
        for (int i = 0; i < count; ++i)
            if (volumes[i] > 0) values[i] /= volumes[i];
        free(volumes);
    }
    for (int i = 0; i < count; ++i)
        if (!isfinite(values[i])) values[i] = 0;
    return values;
}

void film_exaggerate(film *f, double factor)
{
    for (int i = 0; i < f->frame_count; ++i) {
        const surface *s = &f->surfaces[f->frames[i].surface];
        float *x = f->frames[i].positions;
        for (int v = 0; v < s->shape.vertex_count; ++v) {
            if (s->bodies && s->bodies[v] == FILM_OBSTACLE) continue;
            for (int k = 3 * v; k < 3 * v + 3; ++k)
                x[k] = s->rest[k] + (float)factor * (x[k] - s->rest[k]);
        }
    }
}
