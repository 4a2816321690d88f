// Text for terminals: what comes from files must not steer them.
#define _GNU_SOURCE  // fopencookie
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

// Control characters are shown as \u001b, which is also what JSON has in strings; in streams but
// for new lines and tabs. Those of 8 bits, U+0080 to U+009F, are C2 80 to C2 9F in UTF-8.
static bool is_control(unsigned char c, bool one_line)
{
    return (c < 0x20 && (one_line || (c != '\n' && c != '\t'))) || c == 0x7f;
}

enum { ESCAPED = 6, UTF8_OF_80 = 0xC2 };

// Writes at most ESCAPED bytes, and says how many; `*half`: C2 came last.
static size_t escape(unsigned char c, bool one_line, bool *half, char *to)
{
    char code[ESCAPED + 1];
    bool second = *half;
    *half = false;
    if (is_control(c, one_line) || (second && c >= 0x80 && c < 0xA0)) {
        snprintf(code, sizeof code, "\\u%04x", c);
        memcpy(to, code, ESCAPED);
        return ESCAPED;
    }
    size_t used = 0;
    if (second) to[used++] = (char)UTF8_OF_80;
    *half = c == UTF8_OF_80;
    if (!*half) to[used++] = (char)c;
    return used;
}

void cli_plain_text(const char *text, char *plain, size_t size)
{
    bool half = false;
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
    bool half;
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
    char out[(ESCAPED + 1) * PIECE];
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
    static plain_stream streams[2] = {{STDOUT_FILENO, false}, {STDERR_FILENO, false}};
    cookie_io_functions_t functions = {.write = write_plain};
    FILE *stream = fopencookie(&streams[file == STDERR_FILENO], "w", functions);
    // Messages stay in order with what others write there.
    bool by_lines = file == STDERR_FILENO || isatty(file);
    if (stream) setvbuf(stream, NULL, by_lines ? _IOLBF : _IOFBF, BUFSIZ);
    return stream;
}
