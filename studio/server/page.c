// The built page: files of one folder.
#include <stdlib.h>
#include <string.h>

#include "server.h"

enum { MAX_PAGE_FILE = 32 << 20 };

static const char missing[] =
    "<!doctype html><meta charset=utf-8><title>Hooke Studio</title>"
    "<body style='font: 16px/1.5 sans-serif; max-width: 40em; margin: 4em auto; padding: 0 1em'>"
    "<h1>The page is not built</h1><p>The server of Hooke Studio runs, but this build has no page: "
    "it is made with <code>node</code> and <code>npm</code>. Install them "
    "(<code>apt-get install nodejs npm</code>), then run <code>make studio</code>, or say where "
    "the built page is with <code>hooke studio --page FOLDER</code>.";

static const char *type_of(const char *path)
{
    static const struct {
        const char *ending, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".ico", "image/x-icon"},
        {".json", "application/json"},
        {".woff2", "font/woff2"},
        {".map", "application/json"},
        {".wasm", "application/wasm"},
        {".webp", "image/webp"},
        {".jpg", "image/jpeg"},
    };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof types[0]; ++i)
        if (strcmp(dot, types[i].ending) == 0) return types[i].type;
    return "application/octet-stream";
}

void st_get_page(const st_request *request, st_reply *reply)
{
    const char *folder = request->server->files.page;
    bool index = strcmp(request->path, "/") == 0 || strcmp(request->path, "/index.html") == 0;
    const char *name = index ? "/index.html" : request->path;
    st_why why;
    st_fail_http(&why, 404, "there is nothing at this address");
    char *path = folder ? st_format("%s%s", folder, name) : NULL;
    char *real = path && !strstr(name, "..") ? realpath(path, NULL) : NULL;
    size_t length = folder ? strlen(folder) : 0;
    if (real && strncmp(real, folder, length) == 0 && real[length] == '/')
        reply->data = st_file_read(real, MAX_PAGE_FILE, &reply->size, &why);
    reply->status = 200;
    reply->type = type_of(name);
    if (!reply->data && index) {
        reply->data = st_copy(missing);
        reply->size = sizeof missing - 1;
    } else if (!reply->data) {
        st_reply_error(reply, &why);
    }
    free(real);
    free(path);
}
