// From text and overrides to a tree of JSON values.
#include "scene/node.h"

#include <pthread.h>

// ---------------------------------------------------------------- memory of jansson

// jansson does not always say that it failed for want of memory; this does.
static _Thread_local bool allocation_failed;

static void *jansson_alloc(size_t size)
{
    void *block = hk_alloc(size, 1);
    if (!block) allocation_failed = true;
    return block;
}

// The hook is one for the whole process. That is harmless to a program that uses jansson itself:
// with the default allocator hk_free is free(), and a program that replaced Hooke's allocator
// asked for this.
static void point_jansson_at_hooke(void)
{
    json_set_alloc_funcs(jansson_alloc, hk_free);
}

// ---------------------------------------------------------------- text

static hk_status parse_text(hk_source *source)
{
    if (source->length > HK_SCENE_MOST_BYTES)
        return hk_fail(
            HK_BAD_INPUT,
            "%s: more than %d MB are too long for a scene: keep meshes in files of their "
            "own, and vertices in groups of them instead of lists",
            source->name, HK_SCENE_MOST_BYTES >> 20);
    // Numbers are numbers: 3 and 3.0 mean the same, and 1e30 may be written out.
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL;
    json_error_t error = {.line = -1};
    source->root = json_loadb(source->text, source->length, flags, &error);
    if (source->root) return HK_OK;
    if (allocation_failed) return hk_no_memory();
    const char *hint = "";
    if (strstr(error.text, "near '/'") || strstr(error.text, "near '#'"))
        hint = " (JSON has no comments)";
    return hk_fail(HK_BAD_INPUT, "%s:%d:%d: not valid JSON: %s%s", source->name,
                   error.line > 0 ? error.line : 1, error.column > 0 ? error.column : 1, error.text,
                   hint);
}

hk_status hk_source_open(hk_source *source, const char *const *sets, int set_count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, point_jansson_at_hooke);
    allocation_failed = false;
    if (source->length >= 3 && memcmp(source->text, "\xEF\xBB\xBF", 3) == 0) {
        source->text += 3;  // a byte order mark
        source->length -= 3;
    }
    HK_TRY(parse_text(source));
    if (set_count > 0) {
        source->overrides = HK_ZEROS(hk_override, set_count);
        if (!source->overrides) return HK_NO_MEMORY;
    }
    for (int i = 0; i < set_count; i++) HK_TRY(hk_source_override(source, sets[i]));
    return HK_OK;
}

void hk_source_close(hk_source *source)
{
    for (int i = 0; i < source->override_count; i++) hk_free(source->overrides[i].path);
    hk_free(source->overrides);
    json_decref(source->root);
    source->overrides = NULL;
    source->override_count = 0;
    source->root = NULL;
}

// ---------------------------------------------------------------- overrides

enum { MAX_SEGMENTS = 64 };  // jansson frees a tree by recursion: keep it shallow

static hk_status override_fail(const char *set, const char *problem, const char *what)
{
    return hk_fail(HK_BAD_INPUT, "--set %.200s: %s%.100s", set, problem, what);
}

// The length of "[3]" at `at`, 0 if it is not well formed.
static size_t bracket_length(const char *at)
{
    size_t digits = strspn(at + 1, "0123456789");
    return digits > 0 && at[1 + digits] == ']' && strchr(".[=", at[2 + digits]) ? digits + 2 : 0;
}

// Writes the path up to '=' with "name[3]" as "name.3", since error messages show brackets. Gives
// the number of segments, 0 if one is empty or broken.
static int write_path(const char *set, char *out)
{
    int segments = 1;
    char *to = out;
    for (const char *c = set; *c != '=';) {
        bool separates = *c == '.' || *c == '[';
        if (*c == ']' || (separates && (to == out || to[-1] == '.'))) return 0;
        segments += separates;
        if (*c != '[') {
            *to++ = *c++;
            continue;
        }
        size_t length = bracket_length(c);
        if (length == 0) return 0;
        *to++ = '.';
        memcpy(to, c + 1, length - 2);
        to += length - 2;
        c += length;
    }
    *to = '\0';
    return to[-1] == '.' ? 0 : segments;
}

static hk_status normal_path(const char *set, char **path)
{
    const char *equals = strchr(set, '=');
    if (!equals) return override_fail(set, "expected path=value, as in solver.method=newton", "");
    if (equals == set) return override_fail(set, "the path before '=' is empty", "");
    char *out = HK_ARRAY(char, equals - set + 1);
    if (!out) return HK_NO_MEMORY;
    int segments = write_path(set, out);
    if (segments > 0 && segments <= MAX_SEGMENTS) {
        *path = out;
        return HK_OK;
    }
    hk_free(out);
    return override_fail(
        set, segments ? "the path has too many parts" : "the path has an empty or broken part", "");
}

// JSON if it is that, otherwise text: newton needs no quotes.
static hk_status override_value(const char *set, json_t **value)
{
    const char *text = strchr(set, '=') + 1;
    const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL | JSON_DECODE_ANY;
    json_error_t error = {.line = -1};
    *value = json_loads(text, flags, &error);
    if (*value) return HK_OK;
    if (allocation_failed) return hk_no_memory();
    if (json_error_code(&error) == json_error_numeric_overflow)
        return override_fail(set, "the number is too large", "");
    *value = json_string(text);
    if (*value) return HK_OK;
    if (allocation_failed) return hk_no_memory();
    return override_fail(set, "the value is not valid UTF-8", "");
}

// The first segment of the path and what follows it, NULL at the end.
static size_t first_segment(const char *path, const char **rest)
{
    size_t length = strcspn(path, ".");
    *rest = path[length] ? path + length + 1 : NULL;
    return length;
}

// Some keys exclude each other, and whoever sets one means it to hold: the number of steps and the
// end of time, the size and the number of cells of what is filled, and the sources of a mesh or a
// skin.
static void remove_rivals(json_t *object, const char *owner, size_t owner_length, const char *key)
{
    if (owner_length != 4) return;
    if (memcmp(owner, "time", 4) == 0) {
        if (strcmp(key, "end") == 0) json_object_del(object, "steps");
        if (strcmp(key, "steps") == 0) json_object_del(object, "end");
    } else if (memcmp(owner, "fill", 4) == 0) {
        if (strcmp(key, "size") == 0) json_object_del(object, "cells");
        if (strcmp(key, "cells") == 0) json_object_del(object, "size");
    } else if ((memcmp(owner, "mesh", 4) == 0 || memcmp(owner, "skin", 4) == 0) &&
               strcmp(key, "order") != 0 && !json_object_get(object, key)) {
        json_t *order = json_incref(json_object_get(object, "order"));
        json_object_clear(object);
        if (order) json_object_set_new(object, "order", order);
    }
}

static hk_status array_index(const char *set, const char *segment, size_t length,
                             const json_t *array, size_t *index)
{
    size_t count = json_array_size(array), value = 0;
    bool digits = length > 0 && length < 10 && (length == 1 || segment[0] != '0');
    for (size_t i = 0; i < length && digits; i++) {
        digits = segment[i] >= '0' && segment[i] <= '9';
        if (digits) value = 10 * value + (size_t)(segment[i] - '0');
    }
    if (digits && value <= count) {
        *index = value;
        return HK_OK;
    }
    return hk_fail(HK_BAD_INPUT,
                   "--set %.200s: \"%.*s\" is not a place in an array of %zu: use 0 to %zu%s", set,
                   (int)(length < 40 ? length : 40), segment, count, count,
                   count ? " (the last appends)" : "");
}

// The container that `path` goes through at `json`: an existing one, or a new one. Where the path
// goes on with 0 a list is meant, since no object has a key 0.
static json_t *step_into(json_t *json, const char *key, size_t index, const char *rest)
{
    bool in_array = json_is_array(json);
    json_t *child = in_array ? json_array_get(json, index) : json_object_get(json, key);
    if (child) return child;
    const char *ignored;
    bool list = first_segment(rest, &ignored) == 1 && rest[0] == '0';
    child = list ? json_array() : json_object();
    if (!child) return NULL;
    int failed =
        in_array ? json_array_append_new(json, child) : json_object_set_new(json, key, child);
    return failed ? NULL : child;
}

// jansson refused to add to the tree: for want of memory, or because of the key.
static hk_status refused(const char *set)
{
    return allocation_failed ? hk_no_memory()
                             : override_fail(set, "the path is not valid UTF-8", "");
}

// Takes the reference to `value` in every case.
static hk_status put_value(json_t *json, const char *set, const char *key, size_t index,
                           json_t *value)
{
    int failed;
    if (!json_is_array(json))
        failed = json_object_set_new(json, key, value);
    else if (index < json_array_size(json))
        failed = json_array_set_new(json, index, value);
    else
        failed = json_array_append_new(json, value);
    return failed ? refused(set) : HK_OK;
}

static hk_status put_at_path(json_t *root, const char *set, const char *path, json_t **value)
{
    json_t *json = root;
    const char *owner = "";
    size_t owner_length = 0;
    char key[128];
    for (const char *at = path, *rest; at; at = rest) {
        size_t length = first_segment(at, &rest), index = 0;
        if (length >= sizeof key) return override_fail(set, "the path has a part too long", "");
        memcpy(key, at, length);
        key[length] = '\0';
        if (json_is_array(json))
            HK_TRY(array_index(set, at, length, json, &index));
        else if (json_is_object(json))
            remove_rivals(json, owner, owner_length, key);
        else
            return override_fail(set, "there is neither object nor array to hold ", key);
        if (!rest) {
            json_t *given = *value;
            *value = NULL;
            return put_value(json, set, key, index, given);
        }
        json = step_into(json, key, index, rest);
        if (!json) return refused(set);
        owner = at;
        owner_length = length;
    }
    return HK_OK;
}

hk_status hk_source_override(hk_source *source, const char *set)
{
    if (!set) return hk_fail(HK_BAD_INPUT, "an override is NULL");
    hk_override *override = &source->overrides[source->override_count];
    HK_TRY(normal_path(set, &override->path));
    override->given = set;
    source->override_count++;
    json_t *value = NULL;
    HK_TRY(override_value(set, &value));
    hk_status status = put_at_path(source->root, set, override->path, &value);
    json_decref(value);
    return status;
}
