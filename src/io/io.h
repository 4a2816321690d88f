// What the file formats share: loading a file, scanning text with line numbers, writing a file
// whole or not at all, and the table of formats. One format is one file and one line in list.h.
#ifndef HK_IO_H
#define HK_IO_H

#include "io/list.h"
#include "mesh/mesh.h"

// ---------------------------------------------------------------- reading

// A file's bytes, with a '\0' after them that does not count.
typedef struct hk_bytes {
    char *data;
    size_t size;
} hk_bytes;
hk_status hk_bytes_load(const char *path, hk_bytes *bytes);
// Of a pipe or device, which may not end, little more than so many bytes.
hk_status hk_bytes_load_most(const char *path, size_t most, hk_bytes *bytes);
void hk_bytes_free(hk_bytes *bytes);

// A cursor over text. Space, tabs, '\r' and newlines separate tokens; `comment` (or 0) starts a
// comment that runs to the end of the line.
typedef struct hk_scan {
    const char *name;  // of the file, for messages
    const char *at, *end;
    int line;  // of `at`, from 1
    char comment;
    char separator;    // one more character that separates tokens, as ','; 0: none
    const char *item;  // what is being read ("node"), for messages; NULL: not said
    int64_t number;    // and which one
} hk_scan;
hk_scan hk_scan_begin(const char *name, const char *data, size_t size, char comment);
// Skips separators and comments; false at the end of the text.
bool hk_scan_more(hk_scan *scan);
// Skips spaces and comments but stays on this line; false at its end (or the text's).
bool hk_scan_more_on_line(hk_scan *scan);
// Moves past the end of this line.
void hk_scan_skip_line(hk_scan *scan);
// The next token (not copied); an error at the end of the text. `what` names it in messages.
hk_status hk_scan_word(hk_scan *scan, const char *what, const char **word, size_t *length);
// Whether the next token is exactly `word`; if so moves past it.
bool hk_scan_accept(hk_scan *scan, const char *word);
// Fails unless another token stands on this line; `what` is missing otherwise.
hk_status hk_scan_on_line(hk_scan *scan, const char *what);
// Fails if another token stands on this line.
hk_status hk_scan_line_end(hk_scan *scan);
// Numbers; errors say file, line, what was expected and what stands there. Reals must be finite
// (NaN and infinity are errors), integers must fit. Fast: millions of numbers a second.
hk_status hk_scan_real(hk_scan *scan, const char *what, double *value);
hk_status hk_scan_int(hk_scan *scan, const char *what, int64_t *value);
// A count that the text must still have room for: 0 ≤ value and value * least_bytes_each ≤ what is
// left of the text (so a lying header cannot make us allocate absurd memory), and value fits int.
hk_status hk_scan_count(hk_scan *scan, const char *what, size_t least_bytes_each, int *value);
// Fails with "name:line: message", or "name:line: item number: message" while `item` is set.
hk_status hk_scan_fail(const hk_scan *scan, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// A token fit for a message: at most 40 bytes of it, what cannot be printed as '?'.
typedef struct hk_quoted {
    char text[48];
} hk_quoted;
hk_quoted hk_quote(const char *word, size_t length);

// File ids (any 64-bit numbers) to 0-based vertices. Dense ranges are a table, others a hash.
typedef struct hk_idmap hk_idmap;
// An id that occurs twice is HK_BAD_INPUT with *duplicate the place of its second occurrence in
// `ids`, for the caller to name it better; *duplicate is -1 otherwise. It may be NULL.
hk_status hk_idmap_new(int count, const int64_t *ids, hk_idmap **map, int *duplicate);
// -1 if unknown.
int hk_idmap_find(const hk_idmap *map, int64_t id);
void hk_idmap_free(hk_idmap *map);

// ---------------------------------------------------------------- writing

// A file under a temporary name beside `path`; hk_out_commit renames it, anything else removes it.
// Errors are kept and told by commit, so a writer need not check every call.
typedef struct hk_out hk_out;
hk_status hk_out_open(const char *path, hk_out **out);  // creates missing folders
// What is written goes before the end of a file that is there, which ends in `tail` (a constant of
// less than 64 bytes), in one piece as long as it is short: the file is whole before and after.
hk_status hk_out_append(const char *path, const char *tail, hk_out **out);
void hk_out_bytes(hk_out *out, const void *data, size_t size);
void hk_out_text(hk_out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
hk_status hk_out_commit(hk_out *out);  // frees `out` in every case
void hk_out_abandon(hk_out *out);      // NULL is fine

// ---------------------------------------------------------------- formats

// The first ending is the format's own.
enum { HK_FORMAT_ENDINGS = 2 };
typedef struct hk_format {
    const char *endings[HK_FORMAT_ENDINGS];  // {".msh"}
    bool surface;                            // what is written holds no tets, but their surface
    // From the bytes of one file to a mesh (before hk_mesh_finish). NULL: cannot be read.
    hk_status (*read)(const char *name, const char *data, size_t size, hk_mesh **mesh);
    // NULL: cannot be written.
    hk_status (*write)(hk_out *out, const hk_mesh *mesh, const hk_field *fields, int field_count);
    // For formats of more than one file; used instead of `read` when not NULL.
    hk_status (*load)(const char *path, hk_mesh **mesh);
} hk_format;
const hk_format *hk_format_for(const char *path);  // by the ending, any case; NULL: unknown

#define HK_FORMAT_DECLARE(name) extern const hk_format hk_##name##_format;
HK_FORMATS(HK_FORMAT_DECLARE)
#undef HK_FORMAT_DECLARE

// The two files of TetGen, for checks of what is no file.
hk_status hk_tetgen_read(const char *node_name, const char *node, size_t node_size,
                         const char *ele_name, const char *ele, size_t ele_size, hk_mesh **mesh);

#endif
