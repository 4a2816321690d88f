// ParaView collections (.pvd): which file shows which time.
#include <math.h>

#include "io/xml.h"

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
    for (int i = 0; i < count; i++) {
        hk_out_text(out, "    <DataSet timestep=\"%.17g\" part=\"0\" file=\"", times[i]);
        hk_xml_write_text(out, files[i]);
        hk_out_text(out, "\"/>\n");
    }
    hk_out_text(out, "  </Collection>\n</VTKFile>\n");
    return hk_out_commit(out);
}
