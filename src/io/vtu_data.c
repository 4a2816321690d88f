#include "io/vtu_data.h"

#include <stdio.h>

#include "io/base64.h"
#include "io/inflate.h"

static const hk_value_name type_names[] = {
    {"Int8", HK_VALUE_INT8},       {"UInt8", HK_VALUE_UINT8},     {"Int16", HK_VALUE_INT16},
    {"UInt16", HK_VALUE_UINT16},   {"Int32", HK_VALUE_INT32},     {"UInt32", HK_VALUE_UINT32},
    {"Int64", HK_VALUE_INT64},     {"UInt64", HK_VALUE_UINT64},   {"Float32", HK_VALUE_FLOAT32},
    {"Float64", HK_VALUE_FLOAT64}, {"vtkIdType", HK_VALUE_INT64},
};

int64_t hk_vtu_most_bytes(const hk_vtu_file *file)
{
    int64_t size = file->end - file->begin;
    return file->compressor[0] ? 64 * size + 65536 : size;
}

hk_status hk_vtu_array_begin(const hk_xml *xml, hk_vtu_array *array)
{
    int line = xml->element_line;
    *array = (hk_vtu_array){.present = true, .line = line, .text_line = xml->line};
    hk_xml_text type = hk_xml_attribute(xml, "type");
    if (!type.begin) return hk_xml_fail(xml, line, "expected the attribute type of <DataArray>");
    array->type = hk_value_type_named(type_names, HK_COUNT_OF(type_names), type.begin, type.length);
    if (array->type == HK_VALUE_NONE)
        return hk_xml_fail(xml, line, "expected Float64, Float32, Int64, … as type, found \"%s\"",
                           hk_quote(type.begin, type.length).text);
    HK_TRY(hk_xml_attribute_count(xml, "NumberOfComponents", 1, &array->components));
    hk_xml_text format = hk_xml_attribute(xml, "format");
    if (!format.begin || hk_xml_is(format, "ascii")) {
        array->format = HK_VTU_ASCII;
    } else if (hk_xml_is(format, "binary")) {
        array->format = HK_VTU_BINARY;
    } else if (hk_xml_is(format, "appended")) {
        array->format = HK_VTU_APPENDED;
        return hk_xml_attribute_count(xml, "offset", -1, &array->offset);
    } else {
        return hk_xml_fail(xml, line, "expected ascii, binary or appended as format, found \"%s\"",
                           hk_quote(format.begin, format.length).text);
    }
    array->text = hk_xml_content(xml);
    return HK_OK;
}

// ---------------------------------------------------------------- bytes, encoded or not

// Where the bytes of one array come from.
typedef struct source {
    const hk_vtu_file *file;
    const char *what;
    bool encoded;  // base64
    hk_base64 text;
    const unsigned char *bytes, *bytes_end;
    size_t offset;  // of bytes in the file, for messages …
    int line;       // … or, if not 0, the line of the text
} source;

static hk_status fail_at(const source *from, const char *message)
{
    if (from->line)
        return hk_fail(HK_BAD_INPUT, "%s:%d: %s: %s", from->file->name, from->line, from->what,
                       message);
    return hk_fail(HK_BAD_INPUT, "%s: byte %zu: %s: %s", from->file->name, from->offset, from->what,
                   message);
}

static hk_status open_source(const hk_vtu_file *file, const hk_vtu_array *array, const char *what,
                             source *from)
{
    *from = (source){.file = file, .what = what, .line = array->text_line};
    if (array->format == HK_VTU_BINARY) {
        from->encoded = true;
        from->text = (hk_base64){array->text.begin, array->text.begin + array->text.length};
        return HK_OK;
    }
    if (!file->has_appended)
        return hk_fail(HK_BAD_INPUT,
                       "%s:%d: %s is in the appended data, but the file has no "
                       "<AppendedData>",
                       file->name, array->line, what);
    if (array->offset > file->end - file->appended)
        return hk_fail(HK_BAD_INPUT,
                       "%s:%d: %s begins at offset %lld of the appended data, which are only %lld "
                       "bytes long",
                       file->name, array->line, what, (long long)array->offset,
                       (long long)(file->end - file->appended));
    const char *begin = file->appended + array->offset;
    from->encoded = file->appended_is_base64;
    from->text = (hk_base64){begin, file->end};
    from->bytes = (const unsigned char *)begin;
    from->bytes_end = (const unsigned char *)file->end;
    from->offset = (size_t)(begin - file->begin);
    from->line = 0;
    return HK_OK;
}

// As many bytes as may still come.
static size_t most_left(const source *from)
{
    return from->encoded ? (size_t)(from->text.end - from->text.at) / 4 * 3 + 3
                         : (size_t)(from->bytes_end - from->bytes);
}

// The next `size` bytes, without moving past them.
static bool peek(const source *from, size_t size, unsigned char *out)
{
    if (from->encoded) {
        hk_base64 text = from->text;
        return hk_base64_decode(&text, size, out) == size;
    }
    if (size > (size_t)(from->bytes_end - from->bytes)) return false;
    memcpy(out, from->bytes, size);
    return true;
}

static uint64_t header_at(const hk_vtu_file *file, const unsigned char *bytes)
{
    int64_t value;
    if (!hk_value_int(file->header, file->swap, bytes, &value)) return UINT64_MAX;
    return (uint64_t)value;
}

// Decoded numbers have no byte of their own in the file: messages name a line and count from it.
static int decoded_line(const source *from)
{
    return from->line ? from->line : from->file->appended_line;
}

// ---------------------------------------------------------------- uncompressed

static hk_status wrong_size(const source *from, uint64_t found, size_t expected)
{
    char message[128];
    snprintf(message, sizeof message, "expected %zu bytes, the header says %llu", expected,
             (unsigned long long)found);
    return fail_at(from, message);
}

static hk_status open_plain(source *from, size_t size, hk_vtu_numbers *numbers)
{
    size_t header = hk_value_size(from->file->header);
    unsigned char bytes[8];
    if (!peek(from, header, bytes)) return fail_at(from, "expected the size of the data");
    uint64_t told = header_at(from->file, bytes);
    if (told != size) return wrong_size(from, told, size);
    if (size > most_left(from) || header + size > most_left(from))
        return fail_at(from, "the data are cut short");
    if (!from->encoded) {
        numbers->values.bytes = from->bytes + header;
        numbers->values.offset = from->offset + header;
    } else {
        // Header and data are one run of base64, so the header is decoded again with them.
        unsigned char *decoded = HK_ARRAY(unsigned char, header + size);
        if (!decoded) return HK_NO_MEMORY;
        numbers->owned = decoded;
        if (!peek(from, header + size, decoded))
            return fail_at(from, "expected base64 text as long as the data");
        numbers->values.bytes = decoded + header;
        numbers->values.line = decoded_line(from);
    }
    numbers->values.size = size;
    return HK_OK;
}

// ---------------------------------------------------------------- compressed

// [number of blocks][size of a block][size of the last block, 0: full][compressed sizes …]
typedef struct block_table {
    uint64_t count, size, last;
    unsigned char *sizes;  // [count] header integers as stored
} block_table;

static hk_status read_block_table(source *from, size_t size, block_table *table,
                                  unsigned char **owned)
{
    size_t each = hk_value_size(from->file->header);
    unsigned char first[24];
    if (!peek(from, 3 * each, first)) return fail_at(from, "expected the table of blocks");
    table->count = header_at(from->file, first);
    table->size = header_at(from->file, first + each);
    table->last = header_at(from->file, first + 2 * each);
    if (table->count > most_left(from) / each)
        return fail_at(from, "the table of blocks is longer than the file");
    uint64_t full = table->last && table->count ? table->count - 1 : table->count, told;
    if (__builtin_mul_overflow(full, table->size, &told) ||
        __builtin_add_overflow(told, table->count ? table->last : 0, &told))
        told = UINT64_MAX;
    if (told != size) return wrong_size(from, told, size);
    size_t bytes = (3 + (size_t)table->count) * each;
    *owned = HK_ARRAY(unsigned char, bytes);
    if (!*owned) return HK_NO_MEMORY;
    if (!peek(from, bytes, *owned)) return fail_at(from, "the table of blocks is cut short");
    table->sizes = *owned + 3 * each;
    // The compressed blocks follow; in base64 they are a run of their own.
    if (from->encoded) {
        hk_base64_decode(&from->text, bytes, *owned);
    } else {
        from->bytes += bytes;
        from->offset += bytes;
    }
    return HK_OK;
}

static hk_status inflate_blocks(source *from, const block_table *table, const unsigned char *packed,
                                size_t packed_size, size_t size, hk_vtu_numbers *numbers)
{
    size_t each = hk_value_size(from->file->header), room = 0, done = 0, used = 0;
    for (uint64_t i = 0; i < table->count; i++) {
        uint64_t stored = header_at(from->file, table->sizes + i * each);
        uint64_t plain = i + 1 == table->count && table->last ? table->last : table->size;
        if (stored > packed_size - used) return fail_at(from, "a compressed block is cut short");
        // So that memory follows what the file really holds.
        if (plain / HK_INFLATE_MOST > stored || plain > size - done)
            return fail_at(from, "a compressed block promises more than it can hold");
        HK_TRY(hk_reserve(&numbers->owned, done, 1, &room, done + plain));
        const char *trouble =
            hk_inflate(packed + used, stored, (unsigned char *)numbers->owned + done, plain);
        if (trouble) return fail_at(from, trouble);
        used += stored;
        done += plain;
    }
    numbers->values.bytes = numbers->owned;
    numbers->values.size = done;
    numbers->values.line = decoded_line(from);
    return HK_OK;
}

static hk_status open_compressed(source *from, size_t size, hk_vtu_numbers *numbers)
{
    if (strcmp(from->file->compressor, "vtkZLibDataCompressor") != 0)
        return hk_fail(HK_UNSUPPORTED,
                       "%s: data compressed by %s cannot be read: save the file with zlib or "
                       "without compression (ParaView: Save Data, Compressor Type: None)",
                       from->file->name, from->file->compressor);
    unsigned char *owned = NULL, *decoded = NULL;
    block_table table = {0};
    hk_status status = read_block_table(from, size, &table, &owned);
    const unsigned char *packed = from->bytes;
    size_t packed_size = most_left(from);
    if (status == HK_OK && from->encoded) {
        size_t each = hk_value_size(from->file->header);
        uint64_t total = 0;
        for (uint64_t i = 0; i < table.count && total <= packed_size; i++) {
            uint64_t stored = header_at(from->file, table.sizes + i * each);
            total = stored > packed_size ? UINT64_MAX : total + stored;
        }
        if (total > packed_size) {
            status = fail_at(from, "a compressed block is cut short");
        } else if (!(decoded = HK_ARRAY(unsigned char, total))) {
            status = HK_NO_MEMORY;
        } else {
            packed = decoded;
            packed_size = hk_base64_decode(&from->text, total, decoded);
        }
    }
    if (status == HK_OK) status = inflate_blocks(from, &table, packed, packed_size, size, numbers);
    hk_free(owned);
    hk_free(decoded);
    return status;
}

// ---------------------------------------------------------------- numbers

hk_status hk_vtu_open(const hk_vtu_file *file, const hk_vtu_array *array, size_t count,
                      const char *what, hk_vtu_numbers *numbers)
{
    *numbers =
        (hk_vtu_numbers){.values = {.name = file->name, .type = array->type, .swap = file->swap}};
    if (array->format == HK_VTU_ASCII) {
        numbers->scan = hk_scan_begin(file->name, array->text.begin, array->text.length, 0);
        numbers->scan.line = array->text_line;
        numbers->values.text = &numbers->scan;
        return hk_values_room(&numbers->values, count, what);
    }
    size_t size;
    if (__builtin_mul_overflow(count, hk_value_size(array->type), &size) ||
        size > (size_t)hk_vtu_most_bytes(file))
        return hk_fail(HK_BAD_INPUT,
                       "%s:%d: expected %zu numbers (%s), more than the file can hold", file->name,
                       array->line, count, what);
    source from;
    HK_TRY(open_source(file, array, what, &from));
    // An empty array may have no block at all.
    if (size == 0) return HK_OK;
    hk_status status = file->compressor[0] ? open_compressed(&from, size, numbers)
                                           : open_plain(&from, size, numbers);
    if (status != HK_OK) hk_vtu_close(numbers);
    return status;
}

hk_status hk_vtu_check_end(hk_vtu_numbers *numbers, size_t count, const char *what)
{
    if (!numbers->values.text || !hk_scan_more(&numbers->scan)) return HK_OK;
    return hk_scan_fail(&numbers->scan, "%s: expected %zu numbers, found more", what, count);
}

void hk_vtu_close(hk_vtu_numbers *numbers)
{
    hk_free(numbers->owned);
    numbers->owned = NULL;
}
