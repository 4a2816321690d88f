// The table of formats, and a mesh from and to a path.
#include "io/io.h"

#include <stdio.h>
#include <strings.h>

#define HK_FORMAT_ENTRY(name) &hk_##name##_format,
static const hk_format *const g_formats[] = {HK_FORMATS(HK_FORMAT_ENTRY)};
#undef HK_FORMAT_ENTRY

// ---------------------------------------------------------------- the list for users

// The format of the ending of that number, counted over all formats; NULL: there is none.
static const hk_format *format_at(int number, const char **ending)
{
    for (int f = 0, count = 0; f < HK_COUNT_OF(g_formats); ++f)
        for (int e = 0; e < HK_FORMAT_ENDINGS && g_formats[f]->endings[e]; ++e)
            if (count++ == number) {
                *ending = g_formats[f]->endings[e];
                return g_formats[f];
            }
    return NULL;
}

int hk_mesh_format_count(void)
{
    const char *ending;
    int count = 0;
    while (format_at(count, &ending)) ++count;
    return count;
}

hk_mesh_format hk_mesh_format_at(int number)
{
    const char *ending;
    const hk_format *format = format_at(number, &ending);
    if (!format) return (hk_mesh_format){0};
    return (hk_mesh_format){.ending = ending,
                            .reads = format->read || format->load,
                            .writes = format->write,
                            .surface = format->surface};
}

// ---------------------------------------------------------------- a mesh from and to a path

// The ending of the file's own name, with its dot; "" if it has none.
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash + 1 : path, '.');
    return dot ? dot : "";
}

const hk_format *hk_format_for(const char *path)
{
    const char *ending;
    const hk_format *format;
    for (int k = 0; (format = format_at(k, &ending)); ++k)
        if (strcasecmp(ending_of(path), ending) == 0) return format;
    return NULL;
}

static hk_status fail_unknown(const char *path, bool writing)
{
    char list[256] = "";
    size_t used = 0;
    for (int k = 0; k < hk_mesh_format_count(); ++k) {
        hk_mesh_format format = hk_mesh_format_at(k);
        if (!(writing ? format.writes : format.reads) || used >= sizeof list) continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                                 format.ending);
    }
    const char *ending = ending_of(path);
    return hk_fail(HK_UNSUPPORTED, "%s: cannot %s a mesh %s%s%s%s; the formats are %s", path,
                   writing ? "write" : "read", ending[0] ? "as" : "without an ending",
                   ending[0] ? " \"" : "", ending, ending[0] ? "\"" : "", list);
}

hk_status hk_mesh_load(const char *path, hk_mesh **mesh)
{
    if (!path || !mesh)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_load: %s is NULL", path ? "mesh" : "path");
    const hk_format *format = hk_format_for(path);
    if (!format || (!format->read && !format->load)) return fail_unknown(path, false);
    hk_mesh *made = NULL;
    if (format->load) {
        HK_TRY(format->load(path, &made));
    } else {
        hk_bytes bytes;
        HK_TRY(hk_bytes_load(path, &bytes));
        hk_status status = format->read(path, bytes.data, bytes.size, &made);
        hk_bytes_free(&bytes);
        if (status != HK_OK) return status;
    }
    hk_status status = hk_mesh_finish(made, path);
    if (status == HK_OK && !(made->path = hk_strdup(path))) status = HK_NO_MEMORY;
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

static hk_status check_fields(const hk_field *fields, int field_count)
{
    if (field_count < 0 || (field_count > 0 && !fields))
        return hk_fail(HK_BAD_INPUT, "hk_mesh_save: %d fields at %s", field_count,
                       fields ? "an address" : "NULL");
    for (int f = 0; f < field_count; ++f) {
        const hk_field *field = &fields[f];
        if (!field->name || !field->values)
            return hk_fail(HK_BAD_INPUT, "hk_mesh_save: field %d has no %s", f,
                           field->name ? "values" : "name");
        if (field->components != 1 && field->components != 3 && field->components != 9)
            return hk_fail(HK_BAD_INPUT,
                           "hk_mesh_save: field \"%s\" has %d components, not 1, 3 or 9",
                           field->name, field->components);
        if (field->site != HK_ON_VERTICES && field->site != HK_ON_TETS)
            return hk_fail(HK_BAD_INPUT, "hk_mesh_save: field \"%s\" is on site %d", field->name,
                           (int)field->site);
    }
    return HK_OK;
}

hk_status hk_mesh_save(const hk_mesh *mesh, const char *path, const hk_field *fields,
                       int field_count)
{
    if (!mesh || !path)
        return hk_fail(HK_BAD_INPUT, "hk_mesh_save: %s is NULL", mesh ? "path" : "mesh");
    const hk_format *format = hk_format_for(path);
    if (!format || !format->write) return fail_unknown(path, true);
    HK_TRY(check_fields(fields, field_count));
    hk_out *out;
    HK_TRY(hk_out_open(path, &out));
    hk_status status = format->write(out, mesh, fields, field_count);
    if (status != HK_OK) {
        hk_out_abandon(out);
        return status;
    }
    return hk_out_commit(out);
}
