#include "scene/node.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

const hk_range HK_ANY_NUMBER = {-INFINITY, INFINITY, false, false};
const hk_range HK_POSITIVE = {0, INFINITY, true, false};
const hk_range HK_NOT_NEGATIVE = {0, INFINITY, false, false};

hk_node hk_node_root(const hk_source *source)
{
    return (hk_node){.source = source, .json = source->root};
}

// ---------------------------------------------------------------- objects and arrays

static hk_status type_fail(const hk_node *node, const char *wanted)
{
    char value[80];
    hk_describe_value(node->json, value, sizeof value);
    return hk_node_fail(node, "must be %s (is %s)", wanted, value);
}

static bool is_among(const char *text, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0) return true;
    return false;
}

hk_status hk_node_keys(const hk_node *node, const char *const *keys, int count)
{
    if (!json_is_object(node->json)) return type_fail(node, "an object {…}");
    const char *key;
    json_t *value;
    json_object_foreach(node->json, key, value) if (!is_among(key, keys, count))
    {
        hk_node child = {node->source, node, key, 0, value};
        return hk_node_fail_unknown(&child, keys, count);
    }
    return HK_OK;
}

hk_status hk_node_only(const hk_node *node, const char *const *keys, int count, int *which,
                       hk_node *child)
{
    HK_TRY(hk_node_keys(node, keys, count));
    char list[256];
    if (json_object_size(node->json) != 1)
        return hk_node_fail(node, "must have exactly one of %s",
                            hk_list_words(keys, count, list, sizeof list));
    for (int i = 0; i < count; i++)
        if (hk_node_member(node, keys[i], child)) *which = i;
    return HK_OK;
}

bool hk_node_member(const hk_node *node, const char *key, hk_node *child)
{
    json_t *value = json_object_get(node->json, key);
    if (!value) return false;
    *child = (hk_node){node->source, node, key, 0, value};
    return true;
}

hk_status hk_node_need(const hk_node *node, const char *key, hk_node *child)
{
    if (hk_node_member(node, key, child)) return HK_OK;
    return hk_node_fail(node, "\"%s\" is missing", key);
}

hk_status hk_node_array(const hk_node *node, int least, int *count)
{
    if (!json_is_array(node->json)) return type_fail(node, "an array […]");
    size_t size = json_array_size(node->json);
    if (size > INT_MAX) return hk_node_fail(node, "has too many items (%zu)", size);
    if ((int)size < least)
        return hk_node_fail(node, "must have at least %d item%s (has %zu)", least,
                            least == 1 ? "" : "s", size);
    *count = (int)size;
    return HK_OK;
}

hk_node hk_node_item(const hk_node *node, int index)
{
    size_t place = (size_t)index;
    return (hk_node){node->source, node, NULL, place, json_array_get(node->json, place)};
}

// ---------------------------------------------------------------- values

hk_status hk_node_number(const hk_node *node, hk_range range, double *value)
{
    if (!json_is_number(node->json)) return type_fail(node, "a number");
    double number = json_number_value(node->json);
    if (range.low_excluded ? !(number > range.low) : !(number >= range.low))
        return hk_node_fail(node, "must be %s %.15g (is %.15g)",
                            range.low_excluded ? "greater than" : "at least", range.low, number);
    if (range.high_excluded ? !(number < range.high) : !(number <= range.high))
        return hk_node_fail(node, "must be %s %.15g (is %.15g)",
                            range.high_excluded ? "less than" : "at most", range.high, number);
    *value = number;
    return HK_OK;
}

hk_status hk_node_int(const hk_node *node, int low, int *value)
{
    if (!json_is_number(node->json)) return type_fail(node, "a whole number");
    double number = json_number_value(node->json);
    if (number != floor(number))
        return hk_node_fail(node, "must be a whole number (is %.15g)", number);
    HK_TRY(hk_node_number(node, (hk_range){low, INT_MAX, false, false}, &number));
    *value = (int)number;
    return HK_OK;
}

static hk_status exactly(const hk_node *node, int count)
{
    char wanted[64], value[80];
    snprintf(wanted, sizeof wanted, "an array of %d numbers", count);
    if (!json_is_array(node->json)) return type_fail(node, wanted);
    size_t size = json_array_size(node->json);
    snprintf(value, sizeof value, "%zu item%s", size, size == 1 ? "" : "s");
    if (size != (size_t)count) return hk_node_fail(node, "must be %s (has %s)", wanted, value);
    return HK_OK;
}

hk_status hk_node_numbers(const hk_node *node, int count, hk_range range, double *values)
{
    HK_TRY(exactly(node, count));
    for (int i = 0; i < count; i++) {
        hk_node item = hk_node_item(node, i);
        HK_TRY(hk_node_number(&item, range, &values[i]));
    }
    return HK_OK;
}

hk_status hk_node_ints(const hk_node *node, int count, int low, int *values)
{
    HK_TRY(exactly(node, count));
    for (int i = 0; i < count; i++) {
        hk_node item = hk_node_item(node, i);
        HK_TRY(hk_node_int(&item, low, &values[i]));
    }
    return HK_OK;
}

hk_status hk_node_direction(const hk_node *node, double values[3])
{
    HK_TRY(hk_node_numbers(node, 3, HK_ANY_NUMBER, values));
    if (values[0] == 0 && values[1] == 0 && values[2] == 0)
        return hk_node_fail(node, "must be a direction (is 0 in all three coordinates)");
    return HK_OK;
}

hk_status hk_node_text(const hk_node *node, const char **text)
{
    if (!json_is_string(node->json)) return type_fail(node, "text");
    if (json_string_length(node->json) == 0) return hk_node_fail(node, "must not be empty");
    *text = json_string_value(node->json);
    return HK_OK;
}

hk_status hk_node_choice(const hk_node *node, const char *const *words, int count, int *which)
{
    char list[512], value[80], hint[96] = "";
    const char *text = json_string_value(node->json);
    for (int i = 0; i < count && text; i++)
        if (strcmp(text, words[i]) == 0) {
            *which = i;
            return HK_OK;
        }
    const char *nearest = text ? hk_nearest_word(text, words, count) : NULL;
    if (nearest) snprintf(hint, sizeof hint, ": did you mean \"%s\"?", nearest);
    hk_describe_value(node->json, value, sizeof value);
    hk_list_words(words, count, list, sizeof list);
    return hk_node_fail(node, "must be one of %s (is %s%s)", list, value, hint);
}

// ---------------------------------------------------------------- members

// Whether there is a member to read; a missing required one is an error.
static hk_status find_member(const hk_node *node, const char *key, hk_need need, hk_node *child,
                             bool *found)
{
    *found = hk_node_member(node, key, child);
    return *found || need == HK_OPTIONAL ? HK_OK : hk_node_need(node, key, child);
}

hk_status hk_member_number(const hk_node *node, const char *key, hk_need need, hk_range range,
                           double *value)
{
    hk_node child;
    bool found;
    HK_TRY(find_member(node, key, need, &child, &found));
    return found ? hk_node_number(&child, range, value) : HK_OK;
}

hk_status hk_member_int(const hk_node *node, const char *key, hk_need need, int low, int *value)
{
    hk_node child;
    bool found;
    HK_TRY(find_member(node, key, need, &child, &found));
    return found ? hk_node_int(&child, low, value) : HK_OK;
}

hk_status hk_member_numbers(const hk_node *node, const char *key, hk_need need, int count,
                            hk_range range, double *values)
{
    hk_node child;
    bool found;
    HK_TRY(find_member(node, key, need, &child, &found));
    return found ? hk_node_numbers(&child, count, range, values) : HK_OK;
}

hk_status hk_member_direction(const hk_node *node, const char *key, hk_need need, double values[3])
{
    hk_node child;
    bool found;
    HK_TRY(find_member(node, key, need, &child, &found));
    return found ? hk_node_direction(&child, values) : HK_OK;
}

hk_status hk_member_bool(const hk_node *node, const char *key, hk_need need, bool *value)
{
    hk_node child;
    bool found;
    HK_TRY(find_member(node, key, need, &child, &found));
    if (!found) return HK_OK;
    if (!json_is_boolean(child.json)) return type_fail(&child, "true or false");
    *value = json_is_true(child.json);
    return HK_OK;
}

hk_status hk_member_flag(const hk_node *node, const char *key, int *value)
{
    bool given = *value != 0;
    HK_TRY(hk_member_bool(node, key, HK_OPTIONAL, &given));
    *value = given;
    return HK_OK;
}

hk_status hk_member_text(const hk_node *node, const char *key, hk_need need, hk_arena *arena,
                         const char **text)
{
    hk_node child;
    bool found;
    HK_TRY(find_member(node, key, need, &child, &found));
    if (!found) return HK_OK;
    const char *value = NULL;
    HK_TRY(hk_node_text(&child, &value));
    char *copy = hk_arena_text(arena, value, strlen(value));
    if (!copy) return HK_NO_MEMORY;
    *text = copy;
    return HK_OK;
}

hk_status hk_member_choice(const hk_node *node, const char *key, hk_need need,
                           const char *const *words, int count, int *which)
{
    hk_node child;
    bool found;
    HK_TRY(find_member(node, key, need, &child, &found));
    return found ? hk_node_choice(&child, words, count, which) : HK_OK;
}
