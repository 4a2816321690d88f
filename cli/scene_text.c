// Finds members in the text of a scene and replaces, adds or removes them there, so that the
// user's line breaks, order and way to write numbers stay. jansson has accepted the text before:
// the scanner may rely on it being JSON, and still never leaves the buffer.
#include "scene_text.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

// ---------------------------------------------------------------- scanning

typedef struct member {
    size_t key, key_end;      // with the quotes
    size_t value, value_end;  // of the text
} member;

typedef struct members {
    member *items;
    int count;
    size_t open;  // of the object's brace
} members;

typedef struct span {
    const char *text;
    size_t length;
} span;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_space(span s, size_t at)
{
    while (at < s.length && is_space(s.text[at])) ++at;
    return at;
}

// From the opening quote to behind the closing one.
static size_t skip_string(span s, size_t at)
{
    for (++at; at < s.length && s.text[at] != '"'; ++at)
        if (s.text[at] == '\\') ++at;
    return at < s.length ? at + 1 : s.length;
}

static size_t skip_nested(span s, size_t at)
{
    int depth = 0;
    while (at < s.length) {
        char c = s.text[at];
        if (c == '"') {
            at = skip_string(s, at);
            continue;
        }
        ++at;
        if (c == '{' || c == '[') ++depth;
        if ((c == '}' || c == ']') && --depth == 0) break;
    }
    return at;
}

static size_t skip_value(span s, size_t at)
{
    if (at >= s.length) return s.length;
    char c = s.text[at];
    if (c == '"') return skip_string(s, at);
    if (c == '{' || c == '[') return skip_nested(s, at);
    while (at < s.length && !is_space(s.text[at]) && !strchr(",]}", s.text[at])) ++at;
    return at;
}

// The members of the object that begins at `open`. False: there is none.
static bool list_members(span s, size_t open, members *list)
{
    *list = (members){.open = open};
    if (open >= s.length || s.text[open] != '{') return false;
    for (size_t at = skip_space(s, open + 1); at < s.length && s.text[at] == '"';) {
        member m = {.key = at, .key_end = skip_string(s, at)};
        m.value = skip_space(s, skip_space(s, m.key_end) + 1);
        m.value_end = skip_value(s, m.value);
        list->items = cli_realloc(list->items, (size_t)list->count + 1, sizeof *list->items);
        list->items[list->count++] = m;
        at = skip_space(s, m.value_end);
        if (at < s.length && s.text[at] == ',') at = skip_space(s, at + 1);
    }
    return true;
}

// The name of a member, decoded: "ph\u0061ses" is "phases". To be given back.
static json_t *decode_key(span s, const member *m)
{
    return json_loadb(s.text + m->key, m->key_end - m->key, JSON_DECODE_ANY, NULL);
}

static int find_member(span s, const members *list, bool (*wanted)(const char *name))
{
    for (int i = 0; i < list->count; ++i) {
        json_t *key = decode_key(s, &list->items[i]);
        bool found = key && json_is_string(key) && wanted(json_string_value(key));
        json_decref(key);
        if (found) return i;
    }
    return -1;
}

static bool is_solver(const char *name)
{
    return strcmp(name, "solver") == 0;
}

static bool is_phases(const char *name)
{
    return strcmp(name, "phases") == 0;
}

static bool is_single_phase(const char *name)  // length1, rho1, …
{
    size_t head = strncmp(name, "length", 6) == 0 ? 6 : strncmp(name, "rho", 3) == 0 ? 3 : 0;
    return head > 0 && name[head] != '\0' &&
           strspn(name + head, "0123456789") == strlen(name + head);
}

static bool list_solver(span s, members *list)
{
    members root;
    *list = (members){0};
    int solver = list_members(s, skip_space(s, 0), &root) ? find_member(s, &root, is_solver) : -1;
    bool found = solver >= 0 && list_members(s, root.items[solver].value, list);
    free(root.items);
    return found;
}

// ---------------------------------------------------------------- editing

// Takes `text` over and returns it with [from, to) replaced.
static char *splice(char *text, size_t *length, size_t from, size_t to, const char *replacement)
{
    size_t size = strlen(replacement), rest = *length - to;
    char *result = cli_realloc(NULL, from + size + rest + 1, 1);
    memcpy(result, text, from);
    memcpy(result + from, replacement, size);
    memcpy(result + from + size, text + to, rest);
    *length = from + size + rest;
    result[*length] = '\0';
    free(text);
    return result;
}

// A member goes with one of the commas beside it.
static char *remove_member(char *text, size_t *length, const members *list, int which)
{
    const member *m = &list->items[which];
    if (which > 0) return splice(text, length, list->items[which - 1].value_end, m->value_end, "");
    if (list->count > 1) return splice(text, length, m->key, list->items[1].key, "");
    return splice(text, length, m->key, m->value_end, "");
}

// Behind the last member, set as that one is: on a line of its own if it has one.
static char *add_phases(char *text, size_t *length, const members *list, const char *phases)
{
    char *addition;
    size_t at = list->open + 1;
    if (list->count == 0) {
        addition = cli_format("\"phases\": %s", phases);
    } else {
        const member *last = &list->items[list->count - 1];
        size_t gap = last->key;
        while (is_space(text[gap - 1])) --gap;
        at = last->value_end;
        bool spaced = last->value > last->key_end + 1;
        bool plain =
            gap == last->key || (list->count == 1 && !memchr(text + gap, '\n', last->key - gap));
        int before = plain && list->count == 1 ? 0 : (int)(last->key - gap);
        addition = cli_format(",%s%.*s\"phases\"%.*s%s",
                              plain && list->count == 1 && spaced ? " " : "", before, text + gap,
                              (int)(last->value - last->key_end), text + last->key_end, phases);
    }
    text = splice(text, length, at, at, addition);
    free(addition);
    return text;
}

static char *put_phases(char *text, size_t *length, const char *phases)
{
    members list;
    bool there = list_solver((span){text, *length}, &list);
    for (int which;
         there && (which = find_member((span){text, *length}, &list, is_single_phase)) >= 0;) {
        text = remove_member(text, length, &list, which);
        free(list.items);
        there = list_solver((span){text, *length}, &list);
    }
    if (there) {
        int which = find_member((span){text, *length}, &list, is_phases);
        if (which >= 0)
            text =
                splice(text, length, list.items[which].value, list.items[which].value_end, phases);
        else
            text = add_phases(text, length, &list, phases);
    }
    free(list.items);
    return text;
}

// ---------------------------------------------------------------- checking

static json_t *parse(const char *text, size_t length)
{
    return json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
}

static void forget_phases(json_t *root)
{
    json_t *solver = json_object_get(root, "solver"), *value;
    const char *name;
    void *next;
    json_object_foreach_safe(solver, next, name, value)
    {
        if (is_phases(name) || is_single_phase(name)) json_object_del(solver, name);
    }
}

// Whether the new text says what the old one does, and the phases that it should.
static bool is_same_otherwise(json_t *old, json_t *new, const char *phases)
{
    json_t *wanted = json_loads(phases, JSON_DECODE_INT_AS_REAL, NULL);
    bool same = json_equal(json_object_get(json_object_get(new, "solver"), "phases"), wanted);
    json_decref(wanted);
    forget_phases(old);
    forget_phases(new);
    return same && json_equal(old, new);
}

char *cli_text_with_phases(const char *text, size_t length, const char *phases,
                           size_t *result_length, char *why, size_t why_size)
{
    json_t *old = parse(text, length);
    if (!json_is_object(json_object_get(old, "solver"))) {
        snprintf(why, why_size, "there is no \"solver\" to write the phases into");
        json_decref(old);
        return NULL;
    }
    char *result = cli_realloc(NULL, length + 1, 1);
    memcpy(result, text, length);
    result[length] = '\0';
    *result_length = length;
    result = put_phases(result, result_length, phases);
    json_t *new = parse(result, *result_length);
    bool good = new &&is_same_otherwise(old, new, phases);
    json_decref(old);
    json_decref(new);
    if (good) return result;
    snprintf(why, why_size, "cannot find the place of the phases in the text");
    free(result);
    return NULL;
}

bool cli_text_method(const char *text, size_t length, char *method, size_t size)
{
    json_t *root = parse(text, length);
    if (!root) return false;
    const char *name =
        json_string_value(json_object_get(json_object_get(root, "solver"), "method"));
    snprintf(method, size, "%s", name ? name : "");
    json_decref(root);
    return true;
}
