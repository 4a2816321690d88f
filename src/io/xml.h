// A pull scanner for the XML that .vtu files use: elements and attributes with line numbers.
// No name spaces, no DTD, no CDATA. It copies nothing: what it returns points into the text.
#ifndef HK_XML_H
#define HK_XML_H

#include "io/io.h"

typedef struct hk_xml_text {
    const char *begin;
    size_t length;
} hk_xml_text;

typedef enum hk_xml_event { HK_XML_START = 0, HK_XML_END, HK_XML_DONE } hk_xml_event;

enum { HK_XML_DEPTH = 32, HK_XML_ATTRIBUTES = 32 };

typedef struct hk_xml {
    const char *name;  // of the file, for messages
    const char *at, *end;
    int line;  // of `at`, from 1
    int depth;
    hk_xml_text open[HK_XML_DEPTH];  // the elements we are in
    bool closes_itself;              // <a/>: its end comes next
    // Of the last start or end:
    hk_xml_text element;
    int element_line;
    int attribute_count;
    struct {
        hk_xml_text name, value;
    } attributes[HK_XML_ATTRIBUTES];
} hk_xml;

hk_xml hk_xml_begin(const char *name, const char *data, size_t size);
// The next start or end of an element; text, comments and instructions between are passed over.
hk_status hk_xml_next(hk_xml *xml, hk_xml_event *event);
bool hk_xml_is(hk_xml_text text, const char *word);
// Whether the element around the current one is called that.
bool hk_xml_inside(const hk_xml *xml, const char *word);
// The attribute of the current element as written, or {NULL, 0}.
hk_xml_text hk_xml_attribute(const hk_xml *xml, const char *name);
// With &lt; and the like decoded, cut to the buffer's size; "" if there is none.
void hk_xml_attribute_text(const hk_xml *xml, const char *name, char *buffer, size_t size);
// A whole number that is not negative; missing: an error, or `fallback` if it is not negative.
hk_status hk_xml_attribute_count(const hk_xml *xml, const char *name, int64_t fallback,
                                 int64_t *value);
// The text from here to the next '<'; does not move.
hk_xml_text hk_xml_content(const hk_xml *xml);
hk_status hk_xml_fail(const hk_xml *xml, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Writes text so that it may stand in an attribute.
void hk_xml_write_text(hk_out *out, const char *text);

#endif
