// HTTP: who may ask, and who answers. civetweb parses requests and has a thread for each; every
// request comes to begin_request first.
#include <civetweb.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "server.h"
#include "stacks.h"

static const struct {
    const char *method, *path;
    void (*answer)(const st_request *request, st_reply *reply);
} routes[] = {
    {"GET", "/api/tables", st_get_tables},
    {"GET", "/api/gallery", st_get_gallery},
    {"GET", "/api/scene", st_get_scene},
    {"PUT", "/api/scene", st_put_scene},
    {"POST", "/api/check", st_check_scene},
    {"GET", "/api/thumbnail", st_get_thumbnail},
    {"POST", "/api/upload", st_post_upload},
    {"GET", "/api/export", st_get_export},
    {"GET", "/", st_get_page},
    {"GET", "/index.html", st_get_page},
};

// ---------------------------------------------------------------- requests

void st_request_value(const st_request *request, const char *key, char *value, size_t size)
{
    value[0] = '\0';
    const char *query = request->query;
    int length = query ? mg_get_var(query, strlen(query), key, value, size) : -1;
    if (length < 0) value[0] = '\0';
    // With an end of text within it is not what it seems: then it is no name of anything.
    if (length >= 0 && strlen(value) != (size_t)length) snprintf(value, size, "//");
}

static bool check_length(const st_request *request, size_t most, st_why *why)
{
    if (request->length < 0) return st_fail_http(why, 411, "the length of the body is missing");
    if ((unsigned long long)request->length > most)
        return st_fail_http(why, 413, "too large: at most %zu KiB", most >> 10);
    return true;
}

char *st_request_body(const st_request *request, size_t most, size_t *size, st_why *why)
{
    if (!check_length(request, most, why)) return NULL;
    char *body = st_alloc((size_t)request->length + 1, 1);
    for (*size = 0; *size < (size_t)request->length;) {
        int got = mg_read(request->connection, body + *size, (size_t)request->length - *size);
        if (got <= 0) {
            st_fail_http(why, 400, "the body ends before its length");
            free(body);
            return NULL;
        }
        *size += (size_t)got;
    }
    return body;
}

bool st_request_store(const st_request *request, const char *path, size_t most, st_why *why)
{
    if (!check_length(request, most, why)) return false;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0) return st_fail_http(why, 500, "cannot write the upload: %s", strerror(errno));
    char buffer[65536];
    bool good = true;
    for (long long left = request->length; left > 0 && good;) {
        int got = mg_read(request->connection, buffer, sizeof buffer);
        if (got <= 0)
            good = st_fail_http(why, 400, "the upload ends before its length");
        else if (write(file, buffer, (size_t)got) != got)
            good = st_fail_http(why, 507, "cannot write the upload: %s", strerror(errno));
        left -= got;
    }
    if (close(file) != 0 && good) good = st_fail_http(why, 507, "cannot write the upload");
    if (!good) unlink(path);
    return good;
}

// ---------------------------------------------------------------- replies

void st_reply_json(st_reply *reply, int status, json_t *object)
{
    reply->status = status;
    reply->type = "application/json";
    reply->data = json_dumps(object, JSON_COMPACT);
    reply->size = reply->data ? strlen(reply->data) : 0;
    json_decref(object);
}

void st_reply_error(st_reply *reply, const st_why *why)
{
    json_t *object = json_pack("{s:b, s:o}", "ok", 0, "error", st_json_text(why->text));
    if (why->line > 0) {
        json_object_set_new(object, "line", json_integer(why->line));
        json_object_set_new(object, "column", json_integer(why->column));
    }
    st_reply_json(reply, why->status ? why->status : 400, object);
}

static void send_reply(struct mg_connection *connection, st_reply *reply)
{
    char extra[256] = "";
    if (reply->attachment[0])
        snprintf(extra, sizeof extra, "Content-Disposition: attachment; filename=\"%s\"\r\n",
                 reply->attachment);
    if (reply->retry_after > 0)
        snprintf(extra, sizeof extra, "Retry-After: %d\r\n", reply->retry_after);
    mg_printf(connection,
              "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
              "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
              "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
              "X-Frame-Options: DENY\r\n"
              "Content-Security-Policy: default-src 'self'; style-src 'self' 'unsafe-inline'; "
              "img-src 'self' data: blob:; worker-src 'self' blob:; connect-src 'self' ws: blob:; "
              "frame-ancestors 'none'\r\n%s\r\n",
              reply->status, mg_get_response_code_text(connection, reply->status),
              reply->type ? reply->type : "text/plain; charset=utf-8", reply->size, extra);
    for (size_t sent = 0; sent < reply->size;) {
        size_t part = reply->size - sent < (1u << 20) ? reply->size - sent : 1u << 20;
        int written = mg_write(connection, (const char *)reply->data + sent, part);
        if (written <= 0) break;
        sent += (size_t)written;
    }
    free(reply->data);
}

// ---------------------------------------------------------------- who may ask

// In a time that does not depend on where they differ.
static bool is_token(const char *given, const char *token)
{
    if (strlen(given) != ST_TOKEN_LENGTH) return false;
    unsigned char difference = 0;
    for (int i = 0; i < ST_TOKEN_LENGTH; ++i) difference |= (unsigned char)(given[i] ^ token[i]);
    return difference == 0;
}

static bool has_token(const st_request *request)
{
    char given[128];
    st_request_value(request, "token", given, sizeof given);
    const char *header = mg_get_header(request->connection, "X-Hooke-Token");
    return is_token(given, request->server->token) ||
           (header && is_token(header, request->server->token));
}

static bool is_address(const char *host)
{
    unsigned char buffer[16];
    return inet_pton(AF_INET, host, buffer) == 1 || inet_pton(AF_INET6, host, buffer) == 1;
}

// Whether "host:port" is this server. Names are refused but for those that cannot be made to lead
// here by others; a server that listens on a network is known by its address or by its own name.
static bool is_own_host(const studio *server, const char *host)
{
    char name[256], own[256];
    const char *colon = strrchr(host, ':');
    if (!colon || (size_t)(colon - host) >= sizeof name) return false;
    char *end;
    long port = strtol(colon + 1, &end, 10);
    if (*end || end == colon + 1 || port != server->port) return false;
    const char *from = host;
    size_t length = (size_t)(colon - host);
    if (host[0] == '[' && length >= 2 && host[length - 1] == ']') ++from, length -= 2;
    memcpy(name, from, length);
    name[length] = '\0';
    if (strcasecmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 ||
        strcmp(name, "::1") == 0 || strcasecmp(name, server->listen) == 0)
        return true;
    if (!server->any_host) return false;
    return is_address(name) || (gethostname(own, sizeof own) == 0 && strcasecmp(name, own) == 0);
}

static bool is_own_origin(const studio *server, const char *origin)
{
    return strncasecmp(origin, "http://", 7) == 0 && is_own_host(server, origin + 7);
}

// Files of the page that hold nothing that is not in every copy of Hooke.
static bool is_public(const char *path)
{
    return strncmp(path, "/assets/", 8) == 0 || strncmp(path, "/favicon.", 9) == 0;
}

static bool may_ask(const st_request *request, st_why *why)
{
    const char *host = mg_get_header(request->connection, "Host");
    const char *origin = mg_get_header(request->connection, "Origin");
    if (!host || !is_own_host(request->server, host))
        return st_fail_http(why, 403, "this host is not served here");
    if (origin && !is_own_origin(request->server, origin))
        return st_fail_http(why, 403, "requests from other sites are refused");
    if (is_public(request->path) && strcmp(request->method, "GET") == 0) return true;
    if (!has_token(request))
        return st_fail_http(why, 403,
                            "the token is wrong or missing: open the address that `hooke studio` "
                            "prints, with all of what follows the question mark");
    return true;
}

// ---------------------------------------------------------------- answering

static void answer(const st_request *request, st_reply *reply)
{
    bool known = false;
    if (is_public(request->path) && strcmp(request->method, "GET") == 0) {
        st_get_page(request, reply);
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; ++i) {
        if (strcmp(request->path, routes[i].path) != 0) continue;
        known = true;
        if (strcmp(request->method, routes[i].method) != 0) continue;
        routes[i].answer(request, reply);
        return;
    }
    st_why why;
    if (known)
        st_fail_http(&why, 405, "%s is not answered to %s", request->path, request->method);
    else
        st_fail_http(&why, 404, "there is nothing at this address");
    st_reply_error(reply, &why);
}

// civetweb reads to its end, however slowly it comes, what is left of a body when its request was
// answered: that would hold a thread for each who never ends. Here the answer is followed by the
// end of the connection, and who goes on sending is listened to for a moment only, so that the
// answer is not lost.
static void end_connection(const st_request *request, bool trusted)
{
    static const double most_ms[] = {1000, 10000}, most_bytes[] = {1 << 20, ST_MAX_UPLOAD};
    const struct mg_request_info *info = mg_get_request_info(request->connection);
    int found = request->length != 0
                    ? st_find_socket(info->server_port, info->remote_addr, info->remote_port)
                    : -1;
    if (found < 0) return;
    shutdown(found, SHUT_WR);
    char buffer[16384];
    double until = st_now() + most_ms[trusted], left = most_bytes[trusted];
    for (double wait; left > 0 && (wait = until - st_now()) > 0;) {
        struct pollfd ready = {.fd = found, .events = POLLIN};
        if (poll(&ready, 1, 1 + (int)wait) <= 0) break;
        ssize_t got = recv(found, buffer, sizeof buffer, MSG_DONTWAIT);
        if (got <= 0) break;
        left -= (double)got;
    }
    shutdown(found, SHUT_RD);
}

// Returns the status that was sent, 0 for civetweb to go on with a WebSocket.
static int begin_request(struct mg_connection *connection)
{
    const struct mg_request_info *info = mg_get_request_info(connection);
    st_request request = {.server = info->user_data,
                          .connection = connection,
                          .method = info->request_method,
                          .path = info->local_uri ? info->local_uri : "",
                          .query = info->query_string,
                          .length = info->content_length};
    st_reply reply = {.status = 500};
    st_why why;
    bool trusted = may_ask(&request, &why);
    if (!trusted) {
        st_reply_error(&reply, &why);
    } else if (strcmp(request.path, "/ws") == 0) {
        const char *upgrade = mg_get_header(connection, "Upgrade");
        if (upgrade && strcasecmp(upgrade, "websocket") == 0 &&
            !st_hub_is_full(request.server->hub))
            return 0;
        if (upgrade)
            st_fail_http(&why, 503, "too many pages are connected: %d at most", ST_MAX_CLIENTS);
        else
            st_fail_http(&why, 426, "this address is for WebSockets");
        st_reply_error(&reply, &why);
    } else {
        answer(&request, &reply);
    }
    send_reply(connection, &reply);
    end_connection(&request, trusted);
    return reply.status;
}

static int keep_silent(const struct mg_connection *connection, const char *message)
{
    (void)connection;
    (void)message;
    return 1;
}

// ---------------------------------------------------------------- starting and stopping

static bool make_token(char *token, st_why *why)
{
    unsigned char bytes[ST_TOKEN_LENGTH / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return st_fail(why, "the system gives no random numbers for the token");
    for (size_t i = 0; i < sizeof bytes; ++i) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static bool start_http(studio *server, int port, st_why *why)
{
    static const struct mg_callbacks callbacks = {
        .begin_request = begin_request, .log_message = keep_silent, .log_access = keep_silent};
    bool six = strchr(server->listen, ':') != NULL;
    char *ports = st_format(six ? "[%s]:%d" : "%s:%d", server->listen, port);
    // A connection that says nothing holds a thread until its time is up.
    const char *options[] = {"listening_ports",
                             ports,
                             "num_threads",
                             "160",
                             "request_timeout_ms",
                             "5000",
                             "websocket_timeout_ms",
                             "10000",
                             "enable_websocket_ping_pong",
                             "yes",
                             "enable_keep_alive",
                             "no",
                             "tcp_nodelay",
                             "1",
                             "access_control_allow_origin",
                             "",
                             "access_control_allow_methods",
                             "",
                             "enable_directory_listing",
                             "no",
                             "max_request_size",
                             "16384",
                             NULL};
    server->http = mg_start(&callbacks, server, options);
    struct mg_server_port found[4];
    if (!server->http || mg_get_server_ports(server->http, 4, found) < 1) {
        st_fail(why, "cannot listen on %s; is the port in use? --port 0 takes any that is free",
                ports);
        free(ports);
        return false;
    }
    free(ports);
    signal(SIGCHLD, SIG_DFL);  // thumbnails are waited for
    server->port = found[0].port;
    server->url = st_format(six ? "http://[%s]:%d/?token=%s" : "http://%s:%d/?token=%s",
                            server->listen, server->port, server->token);
    return true;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

static bool start(studio *server, const studio_options *options, st_why *why)
{
    const char *listen = options->listen ? options->listen : "127.0.0.1";
    if (strcasecmp(listen, "localhost") == 0) listen = "127.0.0.1";
    if (!is_address(listen))
        return st_fail(why, "--listen %s: expected an address, as in 0.0.0.0 or 192.168.1.5",
                       listen);
    if (strchr(listen, ':') && !mg_check_feature(MG_FEATURES_IPV6))
        return st_fail(why, "--listen %s: the civetweb of this build has no IPv6", listen);
    server->listen = st_copy(listen);
    server->any_host = !is_loopback(listen);
    char *here = options->scene ? st_folder_of(options->scene) : NULL;
    bool good =
        make_token(server->token, why) &&
        st_files_open(&server->files, options->scenes, here, options->uploads, options->page, why);
    free(here);
    if (!good) return false;
    server->hub = st_hub_create();
    server->watch = st_watch_create();
    server->thumbnails = st_thumbnails_create(options->program, server->files.folder[ST_UPLOADS]);
    server->session = st_session_create(&server->files, server->hub, options->threads);
    st_enlarge_stacks();
    mg_init_library(0);
    if (!start_http(server, options->port, why)) return false;
    st_ws_register(server);
    if (options->scene) st_session_open(server->session, options->scene);
    return true;
}

bool studio_start(const studio_options *options, studio **server, char *why, size_t size)
{
    st_why reason = {.line = 0};
    json_object_seed(0);
    st_now();
    studio *made = st_alloc(1, sizeof *made);
    if (start(made, options, &reason)) {
        *server = made;
        return true;
    }
    snprintf(why, size, "%s", reason.text);
    studio_stop(made);
    return false;
}

const char *studio_url(const studio *server)
{
    return server->url;
}

void studio_stop(studio *server)
{
    if (!server) return;
    st_session_quit(server->session);
    if (server->http) mg_stop(server->http);
    st_session_free(server->session);
    st_thumbnails_free(server->thumbnails);
    st_watch_free(server->watch);
    st_hub_free(server->hub);
    st_files_close(&server->files);
    free(server->listen);
    free(server->url);
    free(server);
}
