#include "io/xml.h"

#include <stdio.h>

hk_xml hk_xml_begin(const char *name, const char *data, size_t size)
{
    hk_xml xml = {.name = name, .at = data, .end = data + size, .line = 1};
    if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) xml.at += 3;  // byte order mark
    return xml;
}

hk_status hk_xml_fail(const hk_xml *xml, int line, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return hk_fail(HK_BAD_INPUT, "%s:%d: %s", xml->name, line, message);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ':';
}

// Moves to `target`, counting lines.
static void move_to(hk_xml *xml, const char *target)
{
    while (xml->at < target) {
        const char *newline = memchr(xml->at, '\n', (size_t)(target - xml->at));
        if (!newline) break;
        xml->line++;
        xml->at = newline + 1;
    }
    xml->at = target;
}

static void skip_space(hk_xml *xml)
{
    for (; xml->at < xml->end && is_space(*xml->at); xml->at++) xml->line += *xml->at == '\n';
}

static bool stands(const hk_xml *xml, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(xml->end - xml->at) >= length && memcmp(xml->at, word, length) == 0;
}

// Past the next `word`; an error if there is none.
static hk_status skip_past(hk_xml *xml, const char *word, const char *what)
{
    int line = xml->line;
    for (;;) {
        const char *found = memchr(xml->at, word[0], (size_t)(xml->end - xml->at));
        if (!found) return hk_xml_fail(xml, line, "expected '%s' to end %s", word, what);
        move_to(xml, found);
        if (stands(xml, word)) break;
        xml->at++;
    }
    xml->at += strlen(word);
    return HK_OK;
}

// To the next '<' that starts or ends an element; at the end of the text if there is none.
static hk_status skip_to_tag(hk_xml *xml)
{
    for (;;) {
        const char *tag = memchr(xml->at, '<', (size_t)(xml->end - xml->at));
        move_to(xml, tag ? tag : xml->end);
        if (!tag) return HK_OK;
        if (stands(xml, "<!--"))
            HK_TRY(skip_past(xml, "-->", "a comment"));
        else if (stands(xml, "<?"))
            HK_TRY(skip_past(xml, "?>", "an instruction"));
        else if (stands(xml, "<!"))
            HK_TRY(skip_past(xml, ">", "a declaration"));
        else
            return HK_OK;
    }
}

static hk_status take_name(hk_xml *xml, const char *what, hk_xml_text *text)
{
    text->begin = xml->at;
    while (xml->at < xml->end && is_name(*xml->at)) xml->at++;
    text->length = (size_t)(xml->at - text->begin);
    if (text->length) return HK_OK;
    if (xml->at == xml->end)
        return hk_xml_fail(xml, xml->line, "the file ends where %s was expected", what);
    return hk_xml_fail(xml, xml->line, "expected %s, found \"%s\"", what,
                       hk_quote(xml->at, 1).text);
}

static hk_status take_attribute(hk_xml *xml)
{
    if (xml->attribute_count == HK_XML_ATTRIBUTES)
        return hk_xml_fail(xml, xml->line, "more than %d attributes", HK_XML_ATTRIBUTES);
    hk_xml_text name;
    HK_TRY(take_name(xml, "an attribute or '>'", &name));
    skip_space(xml);
    if (!stands(xml, "="))
        return hk_xml_fail(xml, xml->line, "expected '=' after the attribute \"%s\"",
                           hk_quote(name.begin, name.length).text);
    xml->at++;
    skip_space(xml);
    if (!stands(xml, "\"") && !stands(xml, "'"))
        return hk_xml_fail(xml, xml->line, "expected the value of \"%s\" in quotes",
                           hk_quote(name.begin, name.length).text);
    char quote = *xml->at++;
    const char *close = memchr(xml->at, quote, (size_t)(xml->end - xml->at));
    if (!close)
        return hk_xml_fail(xml, xml->line, "the value of \"%s\" has no closing quote",
                           hk_quote(name.begin, name.length).text);
    xml->attributes[xml->attribute_count].name = name;
    xml->attributes[xml->attribute_count].value = (hk_xml_text){xml->at, (size_t)(close - xml->at)};
    xml->attribute_count++;
    move_to(xml, close + 1);
    return HK_OK;
}

static hk_status take_start(hk_xml *xml)
{
    xml->at++;
    HK_TRY(take_name(xml, "the name of an element", &xml->element));
    for (;;) {
        skip_space(xml);
        if (stands(xml, "/>")) {
            xml->at += 2;
            xml->closes_itself = true;
            break;
        }
        if (stands(xml, ">")) {
            xml->at++;
            break;
        }
        HK_TRY(take_attribute(xml));
    }
    if (xml->depth == HK_XML_DEPTH)
        return hk_xml_fail(xml, xml->line, "elements are nested more than %d deep", HK_XML_DEPTH);
    xml->open[xml->depth++] = xml->element;
    return HK_OK;
}

static hk_status take_end(hk_xml *xml)
{
    xml->at += 2;
    HK_TRY(take_name(xml, "the name of an element", &xml->element));
    skip_space(xml);
    hk_quoted name = hk_quote(xml->element.begin, xml->element.length);
    if (!stands(xml, ">"))
        return hk_xml_fail(xml, xml->line, "expected '>' after \"</%s\"", name.text);
    xml->at++;
    if (!xml->depth) return hk_xml_fail(xml, xml->line, "</%s> ends nothing", name.text);
    hk_xml_text open = xml->open[xml->depth - 1];
    if (open.length != xml->element.length || memcmp(open.begin, xml->element.begin, open.length))
        return hk_xml_fail(xml, xml->line, "expected </%s>, found </%s>",
                           hk_quote(open.begin, open.length).text, name.text);
    return HK_OK;
}

hk_status hk_xml_next(hk_xml *xml, hk_xml_event *event)
{
    xml->attribute_count = 0;
    if (xml->closes_itself) {
        xml->closes_itself = false;
        xml->depth--;
        *event = HK_XML_END;
        return HK_OK;
    }
    HK_TRY(skip_to_tag(xml));
    xml->element_line = xml->line;
    if (xml->at == xml->end) {
        if (xml->depth) {
            hk_xml_text open = xml->open[xml->depth - 1];
            return hk_xml_fail(xml, xml->line, "the file ends where </%s> was expected",
                               hk_quote(open.begin, open.length).text);
        }
        *event = HK_XML_DONE;
        return HK_OK;
    }
    if (stands(xml, "</")) {
        HK_TRY(take_end(xml));
        xml->depth--;
        *event = HK_XML_END;
        return HK_OK;
    }
    *event = HK_XML_START;
    return take_start(xml);
}

bool hk_xml_is(hk_xml_text text, const char *word)
{
    return text.begin && strlen(word) == text.length && memcmp(text.begin, word, text.length) == 0;
}

bool hk_xml_inside(const hk_xml *xml, const char *word)
{
    return xml->depth >= 2 && hk_xml_is(xml->open[xml->depth - 2], word);
}

hk_xml_text hk_xml_attribute(const hk_xml *xml, const char *name)
{
    for (int i = 0; i < xml->attribute_count; i++)
        if (hk_xml_is(xml->attributes[i].name, name)) return xml->attributes[i].value;
    return (hk_xml_text){NULL, 0};
}

static const struct {
    const char *code;
    char letter;
} entities[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}};

void hk_xml_attribute_text(const hk_xml *xml, const char *name, char *buffer, size_t size)
{
    hk_xml_text raw = hk_xml_attribute(xml, name);
    size_t used = 0;
    for (size_t i = 0; i < raw.length && used + 1 < size;) {
        char letter = raw.begin[i];
        size_t taken = 1;
        for (int e = 0; letter == '&' && e < HK_COUNT_OF(entities); e++) {
            size_t length = strlen(entities[e].code);
            if (raw.length - i < length || memcmp(raw.begin + i, entities[e].code, length) != 0)
                continue;
            letter = entities[e].letter;
            taken = length;
            break;
        }
        buffer[used++] = letter;
        i += taken;
    }
    buffer[used] = '\0';
}

hk_status hk_xml_attribute_count(const hk_xml *xml, const char *name, int64_t fallback,
                                 int64_t *value)
{
    hk_xml_text raw = hk_xml_attribute(xml, name);
    hk_quoted element = hk_quote(xml->element.begin, xml->element.length);
    if (!raw.begin) {
        if (fallback < 0)
            return hk_xml_fail(xml, xml->element_line, "expected the attribute %s of <%s>", name,
                               element.text);
        *value = fallback;
        return HK_OK;
    }
    hk_scan scan = hk_scan_begin(xml->name, raw.begin, raw.length, 0);
    int64_t number;
    if (hk_scan_int(&scan, name, &number) != HK_OK || number < 0 || hk_scan_more(&scan))
        return hk_xml_fail(xml, xml->element_line,
                           "expected a whole number as %s of <%s>, found \"%s\"", name,
                           element.text, hk_quote(raw.begin, raw.length).text);
    *value = number;
    return HK_OK;
}

hk_xml_text hk_xml_content(const hk_xml *xml)
{
    if (xml->closes_itself) return (hk_xml_text){xml->at, 0};
    const char *tag = memchr(xml->at, '<', (size_t)(xml->end - xml->at));
    return (hk_xml_text){xml->at, (size_t)((tag ? tag : xml->end) - xml->at)};
}

void hk_xml_write_text(hk_out *out, const char *text)
{
    for (; *text; text++) {
        const char *code = NULL;
        for (int e = 0; e < HK_COUNT_OF(entities); e++)
            if (*text == entities[e].letter) code = entities[e].code;
        // XML 1.0 cannot hold control characters at all.
        char letter = (unsigned char)*text < 0x20 ? ' ' : *text;
        if (code)
            hk_out_text(out, "%s", code);
        else
            hk_out_bytes(out, &letter, 1);
    }
}
