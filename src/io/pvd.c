// ParaView collections (.pvd): which file shows which time.
#include <math.h>

#include "io/xml.h"

static const char closing[] = "  </Collection>\n</VTKFile>\n";

static void write_entry(hk_out *out, double time, const char *file)
{
    hk_out_text(out, "    <DataSet timestep=\"%.15g\" part=\"0\" file=\"", time);
    hk_xml_write_text(out, file);
    hk_out_text(out, "\"/>\n");
}

hk_status hk_series_save(const char *path, const double *times, const char *const *files, int count)
{
    if (!path) return hk_fail(HK_BAD_INPUT, "hk_series_save: path is NULL");
    if (count < 0) return hk_fail(HK_BAD_INPUT, "%s: %d files are not possible", path, count);
    if (count > 0 && (!times || !files))
        return hk_fail(HK_BAD_INPUT, "%s: %s is NULL", path, times ? "files" : "times");
    for (int i = 0; i < count; i++) {
        if (!files[i]) return hk_fail(HK_BAD_INPUT, "%s: file %d is NULL", path, i);
        if (!isfinite(times[i]))
            return hk_fail(HK_BAD_INPUT, "%s: the time of file %d is not finite", path, i);
    }
    hk_out *out = NULL;
    HK_TRY(hk_out_open(path, &out));
    hk_out_text(out, "<?xml version=\"1.0\"?>\n"
                     "<VTKFile type=\"Collection\" version=\"0.1\" "
                     "byte_order=\"LittleEndian\">\n  <Collection>\n");
    for (int i = 0; i < count; i++) write_entry(out, times[i], files[i]);
    hk_out_text(out, "%s", closing);
    return hk_out_commit(out);
}

hk_status hk_series_append(const char *path, double time, const char *file)
{
    if (!path || !file)
        return hk_fail(HK_BAD_INPUT, "hk_series_append: %s is NULL", path ? "file" : "path");
    if (!isfinite(time)) return hk_fail(HK_BAD_INPUT, "%s: the time is not finite", path);
    hk_out *out;
    HK_TRY(hk_out_append(path, closing, &out));
    write_entry(out, time, file);
    return hk_out_commit(out);
}
