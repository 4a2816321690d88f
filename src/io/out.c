#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 18 };

struct hk_out {
    char *path;        // as the user wrote it, for messages
    char *target;      // what is renamed to; NULL: written directly (a device, a pipe)
    char *temporary;   // beside the target
    const char *tail;  // of a file that is added to: how it ends, and where that begins
    off_t tail_at;
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

// Nobody can guess it: who could put a link there beforehand would choose what is written to.
static hk_status random_name(uint64_t *name)
{
    if (getrandom(name, sizeof *name, GRND_NONBLOCK) == (ssize_t)sizeof *name) return HK_OK;
    int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && read(file, name, sizeof *name) == (ssize_t)sizeof *name;
    if (file >= 0) close(file);
    return good ? HK_OK : hk_fail(HK_IO_ERROR, "this system gives no random numbers");
}

// A new file in the target's folder, with the permissions and the owner of the one it replaces.
static hk_status open_temporary(hk_out *out, const struct stat *old)
{
    const char *slash = strrchr(out->target, '/');
    int folder = slash ? (int)(slash + 1 - out->target) : 0;
    size_t room = (size_t)folder + 64;
    out->temporary = HK_ARRAY(char, room);
    if (!out->temporary) return HK_NO_MEMORY;
    int error = EEXIST;
    for (int attempt = 0; attempt < 100 && out->file < 0; ++attempt) {
        uint64_t name;
        HK_TRY(random_name(&name));
        snprintf(out->temporary, room, "%.*s.hooke-%016" PRIx64 ".tmp", folder, out->target, name);
        out->file = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         old ? 0600 : 0666);
        error = errno;
        if (out->file < 0 && error != EEXIST && error != EINTR) break;
    }
    if (out->file < 0) {
        hk_free(out->temporary);
        out->temporary = NULL;
        return fail_writing(out->path, error);
    }
    if (!old) return HK_OK;
    // Whoever may read the old file may read the new one. An owner that we may not give it to is
    // ourselves from now on.
    if (old->st_uid != geteuid() || old->st_gid != getegid()) {
        if (fchown(out->file, old->st_uid, old->st_gid) != 0) errno = 0;
    }
    if (fchmod(out->file, old->st_mode & 0777) != 0) return fail_writing(out->path, errno);
    return HK_OK;
}

// Where a chain of links ends whose last one leads to nothing yet.
static hk_status follow_link(const char *path, char target[PATH_MAX])
{
    enum { MOST_LINKS = 40 };
    if (snprintf(target, PATH_MAX, "%s", path) >= PATH_MAX) return fail_writing(path, ENAMETOOLONG);
    for (int k = 0; k < MOST_LINKS; ++k) {
        char next[PATH_MAX];
        struct stat info;
        if (lstat(target, &info) != 0 || !S_ISLNK(info.st_mode)) return HK_OK;
        ssize_t length = readlink(target, next, sizeof next - 1);
        if (length < 0) return fail_writing(path, errno);
        next[length] = '\0';
        const char *slash = strrchr(target, '/');
        size_t folder = slash && next[0] != '/' ? (size_t)(slash + 1 - target) : 0;
        if (folder + (size_t)length >= PATH_MAX) return fail_writing(path, ENAMETOOLONG);
        memcpy(target + folder, next, (size_t)length + 1);
    }
    return fail_writing(path, ELOOP);
}

// What writing to a path comes to.
typedef struct destination {
    bool exists;
    bool direct;  // a device or a pipe, which must not be replaced by a file
    struct stat info;
    char target[PATH_MAX];  // the file to replace or to make
} destination;

static hk_status find_destination(const char *path, destination *d)
{
    size_t length = strlen(path);
    if (length == 0) return hk_fail(HK_IO_ERROR, "cannot write a file without a name");
    if (path[length - 1] == '/')
        return hk_fail(HK_IO_ERROR, "cannot write %s: it names a folder", path);
    HK_TRY(make_folders(path));
    d->exists = stat(path, &d->info) == 0;
    d->direct = d->exists && !S_ISREG(d->info.st_mode);
    if (d->exists && S_ISDIR(d->info.st_mode)) return fail_writing(path, EISDIR);
    if (d->direct) return access(path, W_OK) == 0 ? HK_OK : fail_writing(path, errno);
    // A link stays a link: its target is what is replaced.
    if (!d->exists) return follow_link(path, d->target);
    if (!realpath(path, d->target)) return fail_writing(path, errno);
    // Who takes the right to write from everybody protects the file, from the superuser as well.
    if ((d->info.st_mode & 0222) == 0)
        return hk_fail(HK_IO_ERROR, "cannot write %s: it is protected (read-only)", path);
    return access(d->target, W_OK) == 0 ? HK_OK : fail_writing(path, errno);
}

static hk_status open_file(hk_out *out)
{
    destination *d = HK_NEW(destination);
    if (!d) return HK_NO_MEMORY;
    hk_status status = find_destination(out->path, d);
    if (status == HK_OK && d->direct) {
        out->file = open(out->path, O_WRONLY | O_CLOEXEC);
        if (out->file < 0) status = fail_writing(out->path, errno);
    } else if (status == HK_OK) {
        out->target = hk_strdup(d->target);
        status = out->target ? open_temporary(out, d->exists ? &d->info : NULL) : HK_NO_MEMORY;
    }
    hk_free(d);
    return status;
}

// Where the file ends as it should, what is written next takes the place of that end.
static hk_status open_tail(hk_out *out)
{
    struct stat info;
    size_t length = strlen(out->tail);
    char end[64];
    out->file = open(out->path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (out->file < 0 || fstat(out->file, &info) != 0) return fail_writing(out->path, errno);
    out->tail_at = info.st_size - (off_t)length;
    if (!S_ISREG(info.st_mode) || out->tail_at < 0 || length > sizeof end ||
        pread(out->file, end, length, out->tail_at) != (ssize_t)length ||
        memcmp(end, out->tail, length) != 0)
        return hk_fail(HK_IO_ERROR, "cannot add to %s: it does not end as Hooke writes it",
                       out->path);
    return lseek(out->file, out->tail_at, SEEK_SET) < 0 ? fail_writing(out->path, errno) : HK_OK;
}

static hk_status open_out(const char *path, const char *tail, hk_out **out)
{
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
    made->tail = tail;
    if (status == HK_OK) status = tail ? open_tail(made) : open_file(made);
    if (status != HK_OK) {
        hk_out_abandon(made);
        return status;
    }
    *out = made;
    return HK_OK;
}

hk_status hk_out_open(const char *path, hk_out **out)
{
    return open_out(path, NULL, out);
}

hk_status hk_out_append(const char *path, const char *tail, hk_out **out)
{
    return open_out(path, tail, out);
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

static void restore_tail(hk_out *out)
{
    off_t end = out->tail_at + (off_t)strlen(out->tail);
    ssize_t written = pwrite(out->file, out->tail, strlen(out->tail), out->tail_at);
    if (written < 0 || ftruncate(out->file, end) != 0) errno = 0;  // the first error is told
}

hk_status hk_out_commit(hk_out *out)
{
    if (out->no_memory) {
        hk_out_abandon(out);
        return hk_no_memory();
    }
    if (out->tail) hk_out_text(out, "%s", out->tail);
    flush(out);
    // A disk that is full: the file stays as it was.
    if (out->tail && out->error) restore_tail(out);
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

// ---------------------------------------------------------------- whole files

hk_status hk_file_save(const char *path, const void *data, size_t size)
{
    if (!path || (!data && size > 0))
        return hk_fail(HK_BAD_INPUT, "hk_file_save: %s is NULL", path ? "data" : "path");
    hk_out *out;
    HK_TRY(hk_out_open(path, &out));
    hk_out_bytes(out, data, size);
    return hk_out_commit(out);
}

// A file is replaced by renaming, so it is the folder that must be open to us.
static hk_status check_folder(const char *path, char *target)
{
    char *slash = strrchr(target, '/');
    if (slash) slash[slash == target] = '\0';
    return access(slash ? target : ".", W_OK | X_OK) == 0 ? HK_OK : fail_writing(path, errno);
}

hk_status hk_file_check(const char *path)
{
    if (!path) return hk_fail(HK_BAD_INPUT, "hk_file_check: path is NULL");
    destination *d = HK_NEW(destination);
    if (!d) return HK_NO_MEMORY;
    hk_status status = find_destination(path, d);
    if (status == HK_OK && !d->direct) status = check_folder(path, d->target);
    hk_free(d);
    return status;
}
