// Strict reading of JSON: a value, where it stands, and checks whose messages say both.
//
//   beam.json:7:42: bodies[0].material.young: must be greater than 0 (is -5)
//   --set time.step=0: time.step: must be greater than 0 (is 0)
//
// jansson holds the values but not their places, so the text is walked again, to the path of the
// offending value, only when there is an error to report.
#ifndef HK_NODE_H
#define HK_NODE_H

#include <jansson.h>

#include "scene/arena.h"

// As values a text takes twenty times its size and more. What is long in a scene, meshes and lists
// of vertices, may be in other files.
enum { HK_SCENE_MOST_BYTES = 32 << 20 };

// One "path=value" that replaced or added a value after the text was read.
typedef struct hk_override {
    const char *given;  // as the user wrote it
    char *path;         // with dots only: "bodies.0.material.young"
} hk_override;

// Where the values come from.
typedef struct hk_source {
    const char *name;  // of the scene, for messages
    const char *text;  // [length], valid JSON once loaded
    size_t length;
    size_t folder_length;  // of the part of `name` up to the last '/', which mesh files are
                           // relative to; 0: the working directory
    hk_override *overrides;
    int override_count;
    json_t *root;
} hk_source;

// Parses the text and applies the overrides. What the arguments point to must outlive the source.
hk_status hk_source_open(hk_source *source, const char *const *sets, int set_count);
void hk_source_close(hk_source *source);
// Applies one override to source->root and notes it.
hk_status hk_source_override(hk_source *source, const char *set);

// One value of the scene; the parent must outlive it.
typedef struct hk_node {
    const hk_source *source;
    const struct hk_node *parent;  // NULL: the whole scene
    const char *key;               // in the parent object; NULL: an item of an array
    size_t index;                  // in the parent array
    json_t *json;
} hk_node;

hk_node hk_node_root(const hk_source *source);

// ---------------------------------------------------------------- errors

// Line and column, from 1, of a value (or its key) in the text. False: it is not in the text, and
// the place is that of the nearest value around it.
bool hk_node_locate(const hk_node *node, bool at_key, int *line, int *column);

// "place: path: message"
hk_status hk_node_fail(const hk_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The same before the message that another room has recorded; returns its status.
hk_status hk_node_fail_within(const hk_node *node, hk_status status);
// The key of the node is none of the known ones.
hk_status hk_node_fail_unknown(const hk_node *node, const char *const *keys, int count);
// "file:line:column" or "--set …"
void hk_node_where(const hk_node *node, bool at_key, char *where, size_t size);

// The word that is most like `text`, or NULL if none is.
const char *hk_nearest_word(const char *text, const char *const *words, int count);
// "a, b, c" into `list`, which is returned.
const char *hk_list_words(const char *const *words, int count, char *list, size_t size);
// "-5", "true", "\"text\"", "an array", …
void hk_describe_value(const json_t *json, char *text, size_t size);

// ---------------------------------------------------------------- objects and arrays

// The value is an object whose keys are all among `keys`.
hk_status hk_node_keys(const hk_node *node, const char *const *keys, int count);
// The value is an object with exactly one key, which is among `keys`.
hk_status hk_node_only(const hk_node *node, const char *const *keys, int count, int *which,
                       hk_node *child);
// The member of an object; false if there is none.
bool hk_node_member(const hk_node *node, const char *key, hk_node *child);
hk_status hk_node_need(const hk_node *node, const char *key, hk_node *child);
// The value is an array of at least `least` items.
hk_status hk_node_array(const hk_node *node, int least, int *count);
hk_node hk_node_item(const hk_node *node, int index);

// ---------------------------------------------------------------- values

typedef struct hk_range {
    double low, high;
    bool low_excluded, high_excluded;
} hk_range;
extern const hk_range HK_ANY_NUMBER, HK_POSITIVE, HK_NOT_NEGATIVE;

hk_status hk_node_number(const hk_node *node, hk_range range, double *value);
hk_status hk_node_int(const hk_node *node, int low, int *value);
hk_status hk_node_numbers(const hk_node *node, int count, hk_range range, double *values);
hk_status hk_node_ints(const hk_node *node, int count, int low, int *values);
// Three numbers that are not all 0.
hk_status hk_node_direction(const hk_node *node, double values[3]);
// Text that is not empty; it lives as long as the source.
hk_status hk_node_text(const hk_node *node, const char **text);
// One of the words.
hk_status hk_node_choice(const hk_node *node, const char *const *words, int count, int *which);

// Members by key. A missing optional one leaves the value as it is.
typedef enum hk_need { HK_OPTIONAL = 0, HK_REQUIRED } hk_need;
hk_status hk_member_number(const hk_node *node, const char *key, hk_need need, hk_range range,
                           double *value);
hk_status hk_member_int(const hk_node *node, const char *key, hk_need need, int low, int *value);
hk_status hk_member_numbers(const hk_node *node, const char *key, hk_need need, int count,
                            hk_range range, double *values);
hk_status hk_member_direction(const hk_node *node, const char *key, hk_need need, double values[3]);
hk_status hk_member_bool(const hk_node *node, const char *key, hk_need need, bool *value);
// An optional one that is 0 or 1.
hk_status hk_member_flag(const hk_node *node, const char *key, int *value);
// Copied into the arena.
hk_status hk_member_text(const hk_node *node, const char *key, hk_need need, hk_arena *arena,
                         const char **text);
hk_status hk_member_choice(const hk_node *node, const char *key, hk_need need,
                           const char *const *words, int count, int *which);

#endif
