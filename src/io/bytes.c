#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static hk_status fail_reading(const char *path)
{
    return hk_fail(HK_IO_ERROR, "cannot read %s: %s", path, strerror(errno));
}

// Reads to the end, or a little more than `most` bytes. The size of a regular file is known
// beforehand; pipes grow the block.
static hk_status read_all(int file, const char *path, size_t expected, size_t most, hk_bytes *bytes)
{
    void *data = NULL;
    size_t size = 0, room = 0;
    hk_status status = hk_reserve(&data, 0, 1, &room, expected + 2);
    while (status == HK_OK && size <= most) {
        ssize_t got = read(file, (char *)data + size, room - size - 1);
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            status = fail_reading(path);
            break;
        }
        size += (size_t)got;
        // One byte stays free for the '\0', and one to notice the end of the file.
        if (room - size < 2) status = hk_reserve(&data, size, 1, &room, 2 * size + 65536);
    }
    if (status != HK_OK) {
        hk_free(data);
        return status;
    }
    ((char *)data)[size] = '\0';
    *bytes = (hk_bytes){data, size};
    return HK_OK;
}

hk_status hk_bytes_load(const char *path, hk_bytes *bytes)
{
    return hk_bytes_load_most(path, SIZE_MAX, bytes);
}

hk_status hk_bytes_load_most(const char *path, size_t most, hk_bytes *bytes)
{
    int file;
    do file = open(path, O_RDONLY | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    if (file < 0) return hk_fail(HK_IO_ERROR, "cannot open %s: %s", path, strerror(errno));
    struct stat info = {0};
    hk_status status;
    if (fstat(file, &info) != 0)
        status = fail_reading(path);
    else if (S_ISDIR(info.st_mode))
        status = hk_fail(HK_IO_ERROR, "cannot read %s: it is a folder", path);
    else
        status =
            read_all(file, path, S_ISREG(info.st_mode) ? (size_t)info.st_size : 65536, most, bytes);
    close(file);
    return status;
}

void hk_bytes_free(hk_bytes *bytes)
{
    hk_free(bytes->data);
    *bytes = (hk_bytes){0};
}
