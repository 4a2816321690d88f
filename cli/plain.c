// Text for terminals: what comes from files must not steer them.
#define _GNU_SOURCE  // fopencookie
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

// Control characters are shown as \u001b, which is also what JSON has in strings; in streams but
// for new lines and tabs. Those of 8 bits, U+0080 to U+009F, are C2 80 to C2 9F in UTF-8; others of
// three bytes turn the direction of what follows, or end a line.
static bool is_control(unsigned char c, bool one_line)
{
    return (c < 0x20 && (one_line || (c != '\n' && c != '\t'))) || c == 0x7f;
}

static bool steers(unsigned code)
{
    return (code >= 0x80 && code < 0xA0) || (code >= 0x200E && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

enum { ESCAPED = 6 };

typedef struct begun {  // the first bytes of a character that may be one of those
    unsigned char byte[2];
    int count;
} begun;

static size_t put_code(unsigned code, char *to)
{
    char text[ESCAPED + 1];
    snprintf(text, sizeof text, "\\u%04x", code & 0xffff);
    memcpy(to, text, ESCAPED);
    return ESCAPED;
}

// The code of a character that ends with c; 0: it does not, or is longer.
static unsigned code_of(const begun *b, unsigned char c)
{
    if (b->count == 0 || c < 0x80 || c >= 0xC0) return 0;
    unsigned low = c & 0x3fu;
    if (b->count == 1) return b->byte[0] == 0xC2 ? 0x80 | low : 0;
    return 0x2000u | (b->byte[1] & 0x3fu) << 6 | low;
}

// Writes at most ESCAPED bytes and those that were begun, and says how many.
static size_t escape(unsigned char c, bool one_line, begun *b, char *to)
{
    size_t used = 0;
    unsigned code = code_of(b, c);
    if (steers(code)) {
        b->count = 0;
        return put_code(code, to);
    }
    if (b->count == 1 && b->byte[0] == 0xE2 && (c == 0x80 || c == 0x81)) {
        b->byte[b->count++] = c;
        return 0;
    }
    for (int k = 0; k < b->count; k++) to[used++] = (char)b->byte[k];
    b->count = 0;
    if (is_control(c, one_line)) return used + put_code(c, to + used);
    if (c == 0xC2 || c == 0xE2)
        b->byte[b->count++] = c;
    else
        to[used++] = (char)c;
    return used;
}

void cli_plain_text(const char *text, char *plain, size_t size)
{
    begun half = {0};
    size_t used = 0;
    for (; *text && used + 2 * ESCAPED < size; ++text)
        used += escape((unsigned char)*text, true, &half, plain + used);
    plain[used] = '\0';
}

const char *cli_name(const char *name)
{
    enum { KEPT = 4, LONGEST = 1024 };
    static char texts[KEPT][LONGEST];
    static int next;
    next = (next + 1) % KEPT;
    cli_plain_text(name ? name : "", texts[next], LONGEST);
    return texts[next];
}

// ---------------------------------------------------------------- streams

typedef struct plain_stream {
    int file;
    begun half;
} plain_stream;

static bool write_all(int file, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(file, data, size);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        data += done;
        size -= (size_t)done;
    }
    return true;
}

static ssize_t write_plain(void *context, const char *data, size_t size)
{
    enum { PIECE = 4096 };
    plain_stream *stream = context;
    char out[ESCAPED * PIECE + 2 * ESCAPED];
    for (size_t at = 0; at < size;) {
        size_t end = size - at < PIECE ? size : at + PIECE, used = 0;
        for (; at < end; ++at)
            used += escape((unsigned char)data[at], false, &stream->half, out + used);
        if (!write_all(stream->file, out, used)) return 0;
    }
    return (ssize_t)size;
}

FILE *cli_plain_stream(int file)
{
    static plain_stream streams[2] = {{.file = STDOUT_FILENO}, {.file = STDERR_FILENO}};
    cookie_io_functions_t functions = {.write = write_plain};
    FILE *stream = fopencookie(&streams[file == STDERR_FILENO], "w", functions);
    // Messages stay in order with what others write there.
    bool by_lines = file == STDERR_FILENO || isatty(file);
    if (stream) setvbuf(stream, NULL, by_lines ? _IOLBF : _IOFBF, BUFSIZ);
    return stream;
}
