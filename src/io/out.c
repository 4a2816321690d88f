#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 18 };

struct hk_out {
    char *path;       // as the user wrote it, for messages
    char *target;     // what is renamed to; NULL: written directly (a device, a pipe)
    char *temporary;  // beside the target
    int file;
    int error;         // errno of the first failure, 0: none so far
    bool no_memory;    // a formatted text did not fit in memory
    locale_t numbers;  // the C locale: numbers have a point whatever the program's locale
    size_t used;
    char *buffer;  // [BUFFER_SIZE]
};

// ---------------------------------------------------------------- opening

// Makes the folders that `path` goes through. The last part is the file's own name.
static hk_status make_folders(const char *path)
{
    char *folder = hk_strdup(path);
    if (!folder) return HK_NO_MEMORY;
    hk_status status = HK_OK;
    for (char *slash = strchr(folder + (*folder != '\0'), '/'); slash && status == HK_OK;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        struct stat info;
        // mkdir of a folder that exists may also fail with EROFS or EACCES: look first.
        if (stat(folder, &info) != 0 && mkdir(folder, 0777) != 0 && errno != EEXIST)
            status = hk_fail(HK_IO_ERROR, "cannot write %s: cannot create the folder %s: %s", path,
                             folder, strerror(errno));
        *slash = '/';
    }
    hk_free(folder);
    return status;
}

static hk_status fail_writing(const char *path, int error)
{
    return hk_fail(HK_IO_ERROR, "cannot write %s: %s", path, strerror(error));
}

// A new file in the target's folder, under a name that no other process or thread uses.
static hk_status open_temporary(hk_out *out, mode_t mode, bool keep_mode)
{
    static atomic_uint counter;
    const char *slash = strrchr(out->target, '/');
    int folder = slash ? (int)(slash + 1 - out->target) : 0;
    size_t room = (size_t)folder + 64;
    out->temporary = HK_ARRAY(char, room);
    if (!out->temporary) return HK_NO_MEMORY;
    for (int attempt = 0; attempt < 1000 && out->file < 0; ++attempt) {
        snprintf(out->temporary, room, "%.*s.hooke-%ld-%u.tmp", folder, out->target, (long)getpid(),
                 atomic_fetch_add(&counter, 1));
        out->file = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->file < 0 && errno != EEXIST && errno != EINTR) break;
    }
    if (out->file < 0) {
        int error = errno;
        hk_free(out->temporary);
        out->temporary = NULL;
        return fail_writing(out->path, error);
    }
    // Whoever may read the old file may read the new one. If not allowed, the usual mode stays.
    if (keep_mode && fchmod(out->file, mode & 0777) != 0) errno = 0;
    return HK_OK;
}

static hk_status open_file(hk_out *out)
{
    struct stat info = {0};
    bool exists = stat(out->path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) return fail_writing(out->path, EISDIR);
    if (exists && !S_ISREG(info.st_mode)) {
        // A device or a pipe must not be replaced by a file.
        out->file = open(out->path, O_WRONLY | O_CLOEXEC);
        return out->file < 0 ? fail_writing(out->path, errno) : HK_OK;
    }
    // A link stays a link: its target is what is replaced.
    char resolved[PATH_MAX];
    out->target = hk_strdup(exists && realpath(out->path, resolved) ? resolved : out->path);
    if (!out->target) return HK_NO_MEMORY;
    if (exists && access(out->target, W_OK) != 0) return fail_writing(out->path, errno);
    return open_temporary(out, info.st_mode, exists);
}

hk_status hk_out_open(const char *path, hk_out **out)
{
    size_t length = strlen(path);
    if (length == 0) return hk_fail(HK_IO_ERROR, "cannot write a file without a name");
    if (path[length - 1] == '/')
        return hk_fail(HK_IO_ERROR, "cannot write %s: it names a folder", path);
    HK_TRY(make_folders(path));
    hk_out *made = HK_NEW(hk_out);
    if (!made) return HK_NO_MEMORY;
    made->file = -1;
    hk_status status = HK_OK;
    made->path = hk_strdup(path);
    made->buffer = HK_ARRAY(char, BUFFER_SIZE);
    if (!made->path || !made->buffer) status = HK_NO_MEMORY;
    if (status == HK_OK) {
        made->numbers = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (made->numbers == (locale_t)0) status = hk_no_memory();
    }
    if (status == HK_OK) status = open_file(made);
    if (status != HK_OK) {
        hk_out_abandon(made);
        return status;
    }
    *out = made;
    return HK_OK;
}

// ---------------------------------------------------------------- writing

static void write_through(hk_out *out, const char *data, size_t size)
{
    while (size > 0 && !out->error) {
        ssize_t written = write(out->file, data, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            out->error = written < 0 ? errno : ENOSPC;
            return;
        }
        data += written;
        size -= (size_t)written;
    }
}

static void flush(hk_out *out)
{
    write_through(out, out->buffer, out->used);
    out->used = 0;
}

void hk_out_bytes(hk_out *out, const void *data, size_t size)
{
    if (size > BUFFER_SIZE - out->used) flush(out);
    if (size > BUFFER_SIZE) {
        write_through(out, data, size);
    } else if (size > 0) {
        memcpy(out->buffer + out->used, data, size);
        out->used += size;
    }
}

static void text_too_long_for_buffer(hk_out *out, size_t length, const char *format,
                                     va_list arguments)
{
    char *text = HK_ARRAY(char, length + 1);
    if (!text) {
        out->no_memory = true;
        return;
    }
    vsnprintf(text, length + 1, format, arguments);
    hk_out_bytes(out, text, length);
    hk_free(text);
}

void hk_out_text(hk_out *out, const char *format, ...)
{
    locale_t before = uselocale(out->numbers);
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t room = BUFFER_SIZE - out->used;
    int length = vsnprintf(out->buffer + out->used, room, format, arguments);
    if (length < 0) {
        out->error = out->error ? out->error : EOVERFLOW;
    } else if ((size_t)length < room) {
        out->used += (size_t)length;
    } else {
        text_too_long_for_buffer(out, (size_t)length, format, again);
    }
    va_end(again);
    va_end(arguments);
    uselocale(before);
}

// ---------------------------------------------------------------- closing

hk_status hk_out_commit(hk_out *out)
{
    if (out->no_memory) {
        hk_out_abandon(out);
        return hk_no_memory();
    }
    flush(out);
    // Network file systems tell of a full disk no earlier than here.
    if (close(out->file) != 0 && !out->error && errno != EINTR) out->error = errno;
    out->file = -1;
    if (!out->error && out->target && rename(out->temporary, out->target) != 0) out->error = errno;
    hk_status status = HK_OK;
    if (out->error) {
        status = fail_writing(out->path, out->error);
    } else {
        hk_free(out->temporary);
        out->temporary = NULL;
    }
    hk_out_abandon(out);
    return status;
}

void hk_out_abandon(hk_out *out)
{
    if (!out) return;
    if (out->file >= 0) close(out->file);
    if (out->temporary) unlink(out->temporary);
    if (out->numbers != (locale_t)0) freelocale(out->numbers);
    hk_free(out->temporary);
    hk_free(out->target);
    hk_free(out->path);
    hk_free(out->buffer);
    hk_free(out);
}
