// From a value of the scene to its line and column, by walking the text, which is known to be
// valid JSON. Bounds are checked all the same.
#include "scene/node.h"

typedef struct text_range {
    const char *at, *end;
} text_range;

static void skip_space(text_range *text)
{
    while (text->at < text->end && strchr(" \t\r\n", *text->at) && *text->at) text->at++;
}

static void skip_string(text_range *text)
{
    text->at++;
    while (text->at < text->end && *text->at != '"')
        text->at += *text->at == '\\' && text->at + 1 < text->end ? 2 : 1;
    if (text->at < text->end) text->at++;
}

static void skip_value(text_range *text)
{
    int depth = 0;
    while (text->at < text->end) {
        char c = *text->at;
        if (c == '"') {
            skip_string(text);
            if (depth == 0) return;
            continue;
        }
        if (c == '{' || c == '[') depth++;
        if (c == '}' || c == ']') {
            if (depth == 0) return;
            if (--depth == 0) {
                text->at++;
                return;
            }
        }
        if (depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n')) return;
        text->at++;
    }
}

// Whether the string literal [from, to) spells `key`; escapes are left to jansson.
static bool spells(const char *from, const char *to, const char *key)
{
    size_t length = (size_t)(to - from);
    if (length < 2) return false;
    if (!memchr(from, '\\', length))
        return strlen(key) == length - 2 && memcmp(from + 1, key, length - 2) == 0;
    json_t *decoded = json_loadb(from, length, JSON_DECODE_ANY, NULL);
    bool same = decoded && strcmp(json_string_value(decoded), key) == 0;
    json_decref(decoded);
    return same;
}

// From the '{' to the value (or the key) of the member; false leaves the text anywhere.
static bool enter_object(text_range *text, const char *key, bool at_key)
{
    if (text->at >= text->end || *text->at != '{') return false;
    text->at++;
    for (;;) {
        skip_space(text);
        if (text->at >= text->end || *text->at != '"') return false;
        const char *from = text->at;
        skip_string(text);
        bool found = spells(from, text->at, key);
        if (found && at_key) {
            text->at = from;
            return true;
        }
        skip_space(text);
        if (text->at < text->end) text->at++;  // ':'
        skip_space(text);
        if (found) return true;
        skip_value(text);
        skip_space(text);
        if (text->at < text->end && *text->at == ',') text->at++;
    }
}

static bool enter_array(text_range *text, size_t index)
{
    if (text->at >= text->end || *text->at != '[') return false;
    text->at++;
    for (size_t i = 0;; i++) {
        skip_space(text);
        if (text->at >= text->end || *text->at == ']') return false;
        if (i == index) return true;
        skip_value(text);
        skip_space(text);
        if (text->at < text->end && *text->at == ',') text->at++;
    }
}

// Moves to the node, or to the innermost value around it that the text has.
static bool find(const hk_node *node, bool at_key, text_range *text)
{
    if (!node->parent) {
        skip_space(text);
        return true;
    }
    if (!find(node->parent, false, text)) return false;
    text_range inside = *text;
    bool found =
        node->key ? enter_object(&inside, node->key, at_key) : enter_array(&inside, node->index);
    if (found) *text = inside;
    return found;
}

bool hk_node_locate(const hk_node *node, bool at_key, int *line, int *column)
{
    const hk_source *source = node->source;
    text_range text = {source->text, source->text + source->length};
    bool found = find(node, at_key, &text);
    *line = 1;
    *column = 1;
    for (const char *c = source->text; c < text.at; c++) {
        if (*c == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)*c & 0xC0) != 0x80) {
            ++*column;  // columns count characters, not bytes of UTF-8
        }
    }
    return found;
}
