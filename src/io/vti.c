#include "io/vti.h"

#include <strings.h>

static size_t plane_size(const hk_image *image)
{
    return ((size_t)image->cells[0] + 1) * ((size_t)image->cells[1] + 1);
}

static uint64_t array_bytes(const hk_image *image, const hk_image_array *array)
{
    size_t nodes = plane_size(image) * ((size_t)image->cells[2] + 1);
    return nodes * (array->whole ? 1 : sizeof(float));
}

static void write_xml(hk_out *out, const hk_image *image)
{
    const char *order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "LittleEndian" : "BigEndian";
    const int *n = image->cells;
    hk_out_text(out,
                "<?xml version=\"1.0\"?>\n"
                "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"%s\" "
                "header_type=\"UInt64\">\n"
                "  <ImageData WholeExtent=\"0 %d 0 %d 0 %d\" Origin=\"%.17g %.17g %.17g\" "
                "Spacing=\"%.17g %.17g %.17g\">\n"
                "    <Piece Extent=\"0 %d 0 %d 0 %d\">\n"
                "      <PointData Scalars=\"%s\">\n",
                order, n[0], n[1], n[2], image->origin[0], image->origin[1], image->origin[2],
                image->spacing, image->spacing, image->spacing, n[0], n[1], n[2],
                image->arrays[0].name);
    uint64_t offset = 0;
    for (int k = 0; k < image->array_count; k++) {
        hk_out_text(out,
                    "        <DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"1\" "
                    "format=\"appended\" offset=\"%llu\"/>\n",
                    image->arrays[k].whole ? "UInt8" : "Float32", image->arrays[k].name,
                    (unsigned long long)offset);
        offset += sizeof(uint64_t) + array_bytes(image, &image->arrays[k]);
    }
    hk_out_text(out, "      </PointData>\n    </Piece>\n  </ImageData>\n"
                     "  <AppendedData encoding=\"raw\">\n_");
}

static void write_array(hk_out *out, const hk_image *image, const hk_image_array *array,
                        float *plane)
{
    size_t count = plane_size(image);
    uint64_t bytes = array_bytes(image, array);
    hk_out_bytes(out, &bytes, sizeof bytes);
    for (int z = 0; z <= image->cells[2]; z++) {
        array->plane(array->context, z, plane);
        if (!array->whole) {
            hk_out_bytes(out, plane, count * sizeof *plane);
            continue;
        }
        uint8_t *small = (uint8_t *)plane;  // fits: entry k is read before byte k is written
        for (size_t k = 0; k < count; k++) {
            float value;
            memcpy(&value, small + k * sizeof value, sizeof value);
            small[k] = (uint8_t)value;
        }
        hk_out_bytes(out, small, count);
    }
}

hk_status hk_vti_save(const char *path, const hk_image *image)
{
    size_t length = strlen(path);
    if (length < 4 || strcasecmp(path + length - 4, ".vti") != 0)
        return hk_fail(HK_BAD_INPUT, "cannot write %s: a grid of values is written as .vti", path);
    float *plane = HK_ARRAY(float, plane_size(image));
    if (!plane) return HK_NO_MEMORY;
    hk_out *out;
    hk_status status = hk_out_open(path, &out);
    if (status == HK_OK) {
        write_xml(out, image);
        for (int k = 0; k < image->array_count; k++)
            write_array(out, image, &image->arrays[k], plane);
        hk_out_text(out, "\n  </AppendedData>\n</VTKFile>\n");
        status = hk_out_commit(out);
    }
    hk_free(plane);
    return status;
}
