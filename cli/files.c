// Memory, paths and files of the command line.
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli.h"

// ---------------------------------------------------------------- memory

static void *or_exit(void *block)
{
    if (block) return block;
    // Files are written whole, so leaving here breaks none of them.
    fputs("hooke: error: out of memory\n", stderr);
    exit(CLI_FAILED);
}

void *cli_realloc(void *block, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) return or_exit(NULL);
    return or_exit(realloc(block, count * size > 0 ? count * size : 1));
}

char *cli_format(const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = or_exit(length < 0 ? NULL : malloc((size_t)length + 1));
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

// ---------------------------------------------------------------- paths

char *cli_output_path(const char *folder, const char *path)
{
    if (!folder || path[0] == '/') return cli_format("%s", path);
    size_t length = strlen(folder);
    return cli_format("%s%s%s", folder, folder[length - 1] == '/' ? "" : "/", path);
}

const char *cli_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool cli_ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcasecmp(text + length - tail, ending) == 0;
}

bool cli_can_write(const char *path, char *why, size_t size)
{
    if (hk_file_check(path) == HK_OK) return true;
    snprintf(why, size, "%s", hk_error());
    return false;
}

bool cli_same_file(const char *path, const char *other)
{
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

// ---------------------------------------------------------------- writing

bool cli_write_whole(const char *path, const void *data, size_t size, char *why, size_t why_size)
{
    if (hk_file_save(path, data, size) == HK_OK) return true;
    snprintf(why, why_size, "%s", hk_error());
    return false;
}

cli_endings cli_formats(cli_formats_for what)
{
    cli_endings list = {""};
    for (int i = 0; i < hk_mesh_format_count(); ++i) {
        hk_mesh_format format = hk_mesh_format_at(i);
        if (!(what == CLI_READING ? format.reads : format.writes)) continue;
        if (what == CLI_WRITING_SURFACES && !format.surface) continue;
        size_t used = strlen(list.text);
        snprintf(list.text + used, sizeof list.text - used, "%s%s", used ? " " : "", format.ending);
    }
    return list;
}
