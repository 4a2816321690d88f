// A validator for the part of JSON Schema (draft 2020-12) that docs/scene.schema.json uses. A
// keyword that it does not know fails the test: none is skipped in silence.
#ifndef SCHEMA_CHECK_H
#define SCHEMA_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static bool schema_accepts(const json_t *root, const json_t *schema, const json_t *value);

static bool schema_is_type(const char *type, const json_t *value)
{
    if (strcmp(type, "object") == 0) return json_is_object(value);
    if (strcmp(type, "array") == 0) return json_is_array(value);
    if (strcmp(type, "string") == 0) return json_is_string(value);
    if (strcmp(type, "boolean") == 0) return json_is_boolean(value);
    if (strcmp(type, "number") == 0) return json_is_number(value);
    if (strcmp(type, "integer") == 0)
        return json_is_number(value) && json_number_value(value) == floor(json_number_value(value));
    fail_msg("schema: unknown type \"%s\"", type);
    return false;
}

// 3 and 3.0 are equal in JSON Schema, which json_equal does not think.
static bool schema_equal(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

static const json_t *schema_resolve(const json_t *root, const char *reference)
{
    static const char prefix[] = "#/$defs/";
    assert_int_equal(strncmp(reference, prefix, sizeof prefix - 1), 0);
    const json_t *found =
        json_object_get(json_object_get(root, "$defs"), reference + sizeof prefix - 1);
    if (!found) fail_msg("schema: %s leads nowhere", reference);
    return found;
}

static bool schema_is_type_of(const json_t *types, const json_t *value)
{
    if (json_is_string(types)) return schema_is_type(json_string_value(types), value);
    size_t i;
    json_t *type;
    json_array_foreach(types, i,
                       type) if (schema_is_type(json_string_value(type), value)) return true;
    return false;
}

static bool schema_has_all(const json_t *names, const json_t *value)
{
    size_t i;
    json_t *name;
    json_array_foreach(names, i,
                       name) if (!json_object_get(value, json_string_value(name))) return false;
    return true;
}

static bool schema_object_keyword(const json_t *root, const json_t *schema, const char *keyword,
                                  const json_t *rule, const json_t *value, bool *known)
{
    const char *key;
    json_t *item, *part;
    *known = true;
    if (strcmp(keyword, "properties") == 0) {
        json_object_foreach((json_t *)rule, key, part)
        {
            item = json_object_get(value, key);
            if (item && !schema_accepts(root, part, item)) return false;
        }
        return true;
    }
    if (strcmp(keyword, "additionalProperties") == 0) {
        const json_t *named = json_object_get(schema, "properties");
        json_object_foreach((json_t *)value, key,
                            item) if (!json_object_get(named, key) &&
                                      !schema_accepts(root, rule, item)) return false;
        return true;
    }
    if (strcmp(keyword, "required") == 0)
        return !json_is_object(value) || schema_has_all(rule, value);
    if (strcmp(keyword, "dependentRequired") == 0) {
        json_object_foreach((json_t *)rule, key,
                            part) if (json_object_get(value, key) &&
                                      !schema_has_all(part, value)) return false;
        return true;
    }
    size_t limit = (size_t)json_integer_value(rule);
    if (strcmp(keyword, "minProperties") == 0)
        return !json_is_object(value) || json_object_size(value) >= limit;
    if (strcmp(keyword, "maxProperties") == 0)
        return !json_is_object(value) || json_object_size(value) <= limit;
    *known = false;
    return true;
}

static bool schema_array_keyword(const json_t *root, const char *keyword, const json_t *rule,
                                 const json_t *value, bool *known)
{
    *known = true;
    size_t i;
    json_t *item;
    if (strcmp(keyword, "items") == 0) {
        json_array_foreach(value, i, item) if (!schema_accepts(root, rule, item)) return false;
        return true;
    }
    if (strcmp(keyword, "prefixItems") == 0) {
        json_array_foreach(value, i, item)
        {
            const json_t *own = json_array_get(rule, i);
            if (own && !schema_accepts(root, own, item)) return false;
        }
        return true;
    }
    size_t limit = (size_t)json_integer_value(rule);
    if (strcmp(keyword, "minItems") == 0)
        return !json_is_array(value) || json_array_size(value) >= limit;
    if (strcmp(keyword, "maxItems") == 0)
        return !json_is_array(value) || json_array_size(value) <= limit;
    *known = false;
    return true;
}

static bool schema_simple_keyword(const char *keyword, const json_t *rule, const json_t *value,
                                  bool *known)
{
    *known = true;
    if (strcmp(keyword, "type") == 0) return schema_is_type_of(rule, value);
    if (strcmp(keyword, "const") == 0) return schema_equal(rule, value);
    if (strcmp(keyword, "enum") == 0) {
        size_t i;
        json_t *item;
        json_array_foreach(rule, i, item) if (schema_equal(item, value)) return true;
        return false;
    }
    if (strcmp(keyword, "minLength") == 0)
        return !json_is_string(value) ||
               json_string_length(value) >= (size_t)json_integer_value(rule);
    double number = json_number_value(value), limit = json_number_value(rule);
    bool other = !json_is_number(value);
    if (strcmp(keyword, "minimum") == 0) return other || number >= limit;
    if (strcmp(keyword, "maximum") == 0) return other || number <= limit;
    if (strcmp(keyword, "exclusiveMinimum") == 0) return other || number > limit;
    if (strcmp(keyword, "exclusiveMaximum") == 0) return other || number < limit;
    *known = false;
    return true;
}

static bool schema_logic_keyword(const json_t *root, const json_t *schema, const char *keyword,
                                 const json_t *rule, const json_t *value, bool *known)
{
    *known = true;
    size_t i;
    json_t *part;
    if (strcmp(keyword, "$ref") == 0)
        return schema_accepts(root, schema_resolve(root, json_string_value(rule)), value);
    if (strcmp(keyword, "not") == 0) return !schema_accepts(root, rule, value);
    if (strcmp(keyword, "allOf") == 0) {
        json_array_foreach(rule, i, part) if (!schema_accepts(root, part, value)) return false;
        return true;
    }
    if (strcmp(keyword, "anyOf") == 0) {
        json_array_foreach(rule, i, part) if (schema_accepts(root, part, value)) return true;
        return false;
    }
    if (strcmp(keyword, "if") == 0)
        return !schema_accepts(root, rule, value) ||
               schema_accepts(root, json_object_get(schema, "then"), value);
    static const char *const others[] = {"then",  "$schema",     "$defs",
                                         "title", "description", "default"};
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strcmp(keyword, others[k]) == 0) return true;
    *known = false;
    return true;
}

static bool schema_accepts(const json_t *root, const json_t *schema, const json_t *value)
{
    if (json_is_boolean(schema)) return json_is_true(schema);
    assert_true(json_is_object(schema));
    const char *keyword;
    json_t *rule;
    json_object_foreach((json_t *)schema, keyword, rule)
    {
        bool known;
        bool accepted = schema_simple_keyword(keyword, rule, value, &known);
        if (!known) accepted = schema_array_keyword(root, keyword, rule, value, &known);
        if (!known) accepted = schema_object_keyword(root, schema, keyword, rule, value, &known);
        if (!known) accepted = schema_logic_keyword(root, schema, keyword, rule, value, &known);
        if (!known) fail_msg("schema: unknown keyword \"%s\"", keyword);
        if (!accepted) return false;
    }
    return true;
}

#endif
