// The arrays of a .vtu: text, base64 in place, or a block of the appended data, compressed or not.
#ifndef HK_VTU_DATA_H
#define HK_VTU_DATA_H

#include "io/values.h"
#include "io/xml.h"

hk_status hk_vtu_write(hk_out *out, const hk_mesh *mesh, const hk_field *fields, int field_count);

// What holds for the whole file.
typedef struct hk_vtu_file {
    const char *name;
    const char *begin, *end;
    bool swap;             // the file's byte order is not this machine's
    hk_value_type header;  // UInt32 or UInt64
    char compressor[48];   // "": none
    bool has_appended;
    bool appended_is_base64;
    const char *appended;  // after the '_'
    int appended_line;
} hk_vtu_file;

// The most bytes of numbers that the file can sensibly hold. Arrays may share appended data and
// compressed ones may promise a thousand times their size, so without this bound a small file could
// ask for absurd memory. Meshes shrink to a fifth or so.
int64_t hk_vtu_most_bytes(const hk_vtu_file *file);

typedef enum hk_vtu_encoding { HK_VTU_ASCII = 0, HK_VTU_BINARY, HK_VTU_APPENDED } hk_vtu_encoding;

// One <DataArray>.
typedef struct hk_vtu_array {
    bool present;
    int line;
    hk_value_type type;
    int64_t components;
    hk_vtu_encoding format;
    int64_t offset;    // of appended data
    hk_xml_text text;  // of others
    int text_line;
} hk_vtu_array;

// The element the scanner stands at.
hk_status hk_vtu_array_begin(const hk_xml *xml, hk_vtu_array *array);

// Numbers of one array, ready to be read.
typedef struct hk_vtu_numbers {
    hk_values values;
    hk_scan scan;
    void *owned;  // decoded bytes or NULL
} hk_vtu_numbers;
// Opens an array that must hold `count` numbers. The numbers must stay where they are until closed.
hk_status hk_vtu_open(const hk_vtu_file *file, const hk_vtu_array *array, size_t count,
                      const char *what, hk_vtu_numbers *numbers);
// Fails if text is left over.
hk_status hk_vtu_check_end(hk_vtu_numbers *numbers, size_t count, const char *what);
void hk_vtu_close(hk_vtu_numbers *numbers);

#endif
