// Memory, paths and files of the command line.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Creates the folders of `path` that are missing.
static bool make_folders(const char *path, char *why, size_t size)
{
    if (path[0] == '\0') {
        snprintf(why, size, "a file to write has no name");
        return false;
    }
    char *folder = cli_format("%s", path);
    bool good = true;
    for (char *at = folder + 1; good && (at = strchr(at, '/')) != NULL; ++at) {
        *at = '\0';
        // EEXIST is also what a file in the way says; opening the file below will tell.
        if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
            snprintf(why, size, "cannot create the folder %s: %s", folder, strerror(errno));
            good = false;
        }
        *at = '/';
    }
    free(folder);
    return good;
}

bool cli_can_write(const char *path, char *why, size_t size)
{
    if (!make_folders(path, why, size)) return false;
    struct stat about;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        snprintf(why, size, "cannot write %s: it is a folder", path);
        return false;
    }
    // Files are replaced by renaming, so it is the folder that must be open to us.
    const char *name = cli_file_name(path);
    char *folder = name == path ? cli_format(".") : cli_format("%.*s", (int)(name - path), path);
    bool good = access(folder, W_OK | X_OK) == 0;
    if (!good) snprintf(why, size, "cannot write %s: %s", path, strerror(errno));
    free(folder);
    return good;
}

bool cli_same_file(const char *path, const char *other)
{
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

// ---------------------------------------------------------------- writing

static bool write_all(int file, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(file, data, size);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        data += done;
        size -= (size_t)done;
    }
    return true;
}

bool cli_write_whole(const char *path, const char *data, size_t size, char *why, size_t why_size)
{
    if (!make_folders(path, why, why_size)) return false;
    char *temporary = cli_format("%s.%ld.tmp", path, (long)getpid());
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool good = file >= 0;
    if (good) {
        good = write_all(file, data, size);
        int failure = errno;
        if (close(file) != 0 && good) {
            good = false;
            failure = errno;
        }
        errno = failure;
        if (good) good = rename(temporary, path) == 0;
        if (!good) {
            failure = errno;
            unlink(temporary);
            errno = failure;
        }
    }
    if (!good) snprintf(why, why_size, "cannot write %s: %s", path, strerror(errno));
    free(temporary);
    return good;
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
