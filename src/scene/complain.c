// What a scene's error messages are made of: the place, the path, the value, the word meant.
#include "scene/node.h"

#include <ctype.h>
#include <stdio.h>

// ---------------------------------------------------------------- pieces of text

// How much of a UTF-8 text to keep so that at most `most` bytes remain and no character is split.
static size_t whole_characters(const char *text, size_t length, size_t most)
{
    if (length <= most) return length;
    while (most > 0 && ((unsigned char)text[most] & 0xC0) == 0x80) most--;
    return most;
}

// A string that grows inside a buffer of fixed size; what does not fit becomes an ellipsis.
typedef struct text_buffer {
    char *text;
    size_t size, length;
    bool full;
} text_buffer;

static text_buffer begin(char *text, size_t size)
{
    text[0] = '\0';
    return (text_buffer){.text = text, .size = size};
}

static void put(text_buffer *buffer, const char *text, size_t length)
{
    static const char ellipsis[] = "…";
    size_t room = buffer->size - buffer->length - sizeof ellipsis;  // kept free, with the '\0'
    if (buffer->full) return;
    size_t kept = whole_characters(text, length, room);
    char *to = buffer->text + buffer->length;
    for (size_t i = 0; i < kept; i++) to[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
    buffer->length += kept;
    buffer->full = kept < length;
    if (buffer->full)
        memcpy(to + kept, ellipsis, sizeof ellipsis);
    else
        to[kept] = '\0';
}

static void put_text(text_buffer *buffer, const char *text)
{
    put(buffer, text, strlen(text));
}

// bodies[0].material.young, or bodies.0.material.young as overrides have it
static void put_path(text_buffer *buffer, const hk_node *node, bool dots_only)
{
    if (!node->parent) return;
    put_path(buffer, node->parent, dots_only);
    if (buffer->length > 0 && (node->key || dots_only)) put_text(buffer, ".");
    char index[32];
    snprintf(index, sizeof index, dots_only ? "%zu" : "[%zu]", node->index);
    put_text(buffer, node->key ? node->key : index);
}

void hk_describe_value(const json_t *json, char *text, size_t size)
{
    text_buffer buffer = begin(text, size);
    char number[32];
    switch (json ? json_typeof(json) : JSON_NULL) {
    case JSON_OBJECT: put_text(&buffer, "an object"); break;
    case JSON_ARRAY: put_text(&buffer, "an array"); break;
    case JSON_STRING: {
        const char *value = json_string_value(json);
        size_t length = json_string_length(json);
        size_t kept = whole_characters(value, length, size / 2);
        put_text(&buffer, "\"");
        put(&buffer, value, kept);
        put_text(&buffer, kept < length ? "…\"" : "\"");
        break;
    }
    case JSON_INTEGER:
    case JSON_REAL:
        snprintf(number, sizeof number, "%.15g", json_number_value(json));
        put_text(&buffer, number);
        break;
    case JSON_TRUE: put_text(&buffer, "true"); break;
    case JSON_FALSE: put_text(&buffer, "false"); break;
    case JSON_NULL: put_text(&buffer, "null"); break;
    }
}

const char *hk_list_words(const char *const *words, int count, char *list, size_t size)
{
    text_buffer buffer = begin(list, size);
    for (int i = 0; i < count; i++) {
        if (i > 0) put_text(&buffer, ", ");
        put_text(&buffer, words[i]);
    }
    return list;
}

// ---------------------------------------------------------------- the word meant

enum { LONGEST_WORD = 40 };

// How many letters must be added, dropped, changed or swapped with their neighbour to make b of a,
// whatever their case.
static int edit_distance(const char *a, const char *b)
{
    int m = (int)strlen(a), n = (int)strlen(b);
    int rows[3][LONGEST_WORD + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    for (int j = 0; j <= n; j++) last[j] = j;
    for (int i = 1; i <= m; i++) {
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int p = tolower((unsigned char)a[i - 1]), q = tolower((unsigned char)b[j - 1]);
            row[j] = hk_min_int(hk_min_int(last[j], row[j - 1]) + 1, last[j - 1] + (p != q));
            if (i > 1 && j > 1 && p == tolower((unsigned char)b[j - 2]) &&
                q == tolower((unsigned char)a[i - 2]))
                row[j] = hk_min_int(row[j], before[j - 2] + 1);
        }
        int *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[n];
}

const char *hk_nearest_word(const char *text, const char *const *words, int count)
{
    const char *nearest = NULL;
    size_t length = strlen(text);
    if (length == 0 || length > LONGEST_WORD) return NULL;
    int least = hk_max_int(1, (int)length / 3) + 1;  // further away is another word
    for (int i = 0; i < count; i++) {
        size_t known = strlen(words[i]);
        if (known > LONGEST_WORD) continue;
        // One letter makes a short word another word: a gpu is not a cpu.
        bool same_start = tolower((unsigned char)text[0]) == tolower((unsigned char)words[i][0]);
        if (length <= 3 && !same_start) continue;
        int distance = edit_distance(text, words[i]);
        // "youngs_modulus" means "young", "vel" means "velocity".
        size_t common = length < known ? length : known;
        if (common >= 3 && memcmp(text, words[i], common) == 0) distance = hk_min_int(distance, 1);
        if (distance < least) {
            nearest = words[i];
            least = distance;
        }
    }
    return nearest;
}

// ---------------------------------------------------------------- messages

// The last override whose path is that of the node or leads to it, or (`beyond`) goes through it.
static const hk_override *covering_override(const hk_node *node, bool beyond)
{
    char text[512];
    text_buffer buffer = begin(text, sizeof text);
    put_path(&buffer, node, true);
    const hk_source *source = node->source;
    for (int i = source->override_count - 1; i >= 0; i--) {
        const char *inner = beyond ? source->overrides[i].path : text;
        const char *outer = beyond ? text : source->overrides[i].path;
        size_t length = strlen(outer);
        if (strncmp(inner, outer, length) == 0 && (inner[length] == '.' || !inner[length]))
            return &source->overrides[i];
    }
    return NULL;
}

void hk_node_where(const hk_node *node, bool at_key, char *where, size_t size)
{
    const hk_override *override = covering_override(node, false);
    int line, column;
    bool in_text = hk_node_locate(node, at_key, &line, &column);
    if (!override && !in_text && node->parent) override = covering_override(node, true);
    text_buffer buffer = begin(where, size);
    if (override) {
        put_text(&buffer, "--set ");
        put_text(&buffer, override->given);
        return;
    }
    char place[32];
    snprintf(place, sizeof place, ":%d:%d", line, column);
    put(&buffer, node->source->name,
        whole_characters(node->source->name, strlen(node->source->name), size - sizeof place));
    put_text(&buffer, place);
}

enum { WHERE_SIZE = 300, PATH_SIZE = 200, TEXT_SIZE = 800 };

// "where: path", or "where" for the whole scene
static void begin_message(const hk_node *node, bool at_key, char *text, size_t size)
{
    char where[WHERE_SIZE], path[PATH_SIZE];
    hk_node_where(node, at_key, where, sizeof where);
    text_buffer buffer = begin(path, sizeof path);
    put_path(&buffer, node, false);
    snprintf(text, size, "%s%s%s", where, path[0] ? ": " : "", path);
}

hk_status hk_node_fail(const hk_node *node, const char *format, ...)
{
    char start[WHERE_SIZE + PATH_SIZE], message[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    begin_message(node, false, start, sizeof start);
    return hk_fail(HK_BAD_INPUT, "%s: %s", start, message);
}

hk_status hk_node_fail_unknown(const hk_node *node, const char *const *keys, int count)
{
    char start[WHERE_SIZE + PATH_SIZE], list[512];
    begin_message(node, true, start, sizeof start);
    const char *nearest = hk_nearest_word(node->key, keys, count);
    if (nearest)
        return hk_fail(HK_BAD_INPUT, "%s: unknown key (did you mean \"%s\"?)", start, nearest);
    return hk_fail(HK_BAD_INPUT, "%s: unknown key (known here: %s)", start,
                   hk_list_words(keys, count, list, sizeof list));
}

hk_status hk_node_fail_within(const hk_node *node, hk_status status)
{
    if (status == HK_NO_MEMORY) return status;
    char start[WHERE_SIZE + PATH_SIZE];
    begin_message(node, false, start, sizeof start);
    return hk_fail_within(status, "%s", start);
}
