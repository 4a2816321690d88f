// What the parts of the server share.
#ifndef STUDIO_SERVER_H
#define STUDIO_SERVER_H

#include "files.h"
#include "hub.h"
#include "session.h"
#include "studio.h"
#include "thumbnail.h"
#include "watch.h"

struct mg_context;

enum { ST_TOKEN_LENGTH = 32 };

struct studio {
    struct mg_context *http;
    char token[ST_TOKEN_LENGTH + 1];
    char *url;
    char *listen;  // address, without brackets
    int port;
    bool any_host;  // it listens on more than the loopback address
    st_files files;
    st_hub *hub;
    st_session *session;
    st_thumbnails *thumbnails;
    st_watch *watch;
};

// ---------------------------------------------------------------- requests (http.c)

enum {
    ST_MAX_TEXT = 256 << 10,   // bytes of a text message
    ST_MAX_SCENE = 4 << 20,    // of a scene's text
    ST_MAX_UPLOAD = 256 << 20  // of a mesh
};

typedef struct st_request {
    studio *server;
    struct mg_connection *connection;
    const char *method, *path, *query;
    long long length;  // of the body; -1: not told
} st_request;

// What is answered; data is freed.
typedef struct st_reply {
    int status;
    const char *type;  // of the data
    void *data;
    size_t size;
    char attachment[128];  // the name that a browser saves it under; "": it is shown
    int retry_after;       // s
} st_reply;

// A value of the query, decoded; "" where there is none.
void st_request_value(const st_request *request, const char *key, char *value, size_t size);
// The body, to be freed, with a '\0' behind it; NULL: the reason is in `why`.
char *st_request_body(const st_request *request, size_t most, size_t *size, st_why *why);
// Writes the body to a file as it comes.
bool st_request_store(const st_request *request, const char *path, size_t most, st_why *why);
void st_reply_json(st_reply *reply, int status, json_t *object);
void st_reply_error(st_reply *reply, const st_why *why);

// ---------------------------------------------------------------- what answers them

void st_get_page(const st_request *request, st_reply *reply);       // page.c
void st_get_tables(const st_request *request, st_reply *reply);     // tables.c
void st_get_gallery(const st_request *request, st_reply *reply);    // gallery.c
void st_get_thumbnail(const st_request *request, st_reply *reply);  // thumbnail.c
void st_get_scene(const st_request *request, st_reply *reply);      // scene_file.c
void st_put_scene(const st_request *request, st_reply *reply);      // scene_file.c
void st_check_scene(const st_request *request, st_reply *reply);    // scene_file.c
void st_post_upload(const st_request *request, st_reply *reply);    // upload.c
void st_get_export(const st_request *request, st_reply *reply);     // export.c

// ---------------------------------------------------------------- WebSocket (ws.c)

void st_ws_register(studio *server);

#endif
