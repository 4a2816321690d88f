// WebSockets: each has a thread of civetweb that reads it, and a client of the hub that writes.
#include <civetweb.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server.h"

static bool write_message(void *connection, const st_message *message)
{
    return mg_websocket_write(connection, message->opcode, (const char *)message->data,
                              message->size) > 0;
}

// What belongs to a connection.
typedef struct page {
    st_client *client;
    st_watched *watched;
} page;

// ---------------------------------------------------------------- coming and going

// begin_request has looked at token, host and origin before.
static int connect_client(const struct mg_connection *connection, void *context)
{
    (void)connection;
    studio *server = context;
    return st_hub_is_full(server->hub);
}

static void welcome(studio *server, int number)
{
    const hk_machine_info *machine = hk_machine();
    json_t *object =
        json_pack("{s:s, s:i, s:s, s:i, s:i, s:i, s:s, s:{s:i, s:s, s:o}}", "type", "welcome",
                  "protocol", 1, "version", hk_version(), "client", number, "editor",
                  st_hub_editor(server->hub), "clients", st_hub_count(server->hub), "session",
                  st_session_name(server->session), "machine", "threads", machine->threads, "lanes",
                  machine->single_lanes, "warning", st_json_text(machine->warning));
    st_send(server->hub, number, object);
    st_send_last_status(server->hub, number);
    st_session_client_came(server->session, number);
}

static void ready(struct mg_connection *connection, void *context)
{
    studio *server = context;
    st_client *client = st_hub_add(server->hub, connection, write_message);
    if (!client) return;
    const struct mg_request_info *info = mg_get_request_info(connection);
    page *p = st_alloc(1, sizeof *p);
    p->client = client;
    p->watched = st_watch_add(server->watch, client, info->server_port, info->remote_addr,
                              info->remote_port);
    mg_set_user_connection_data(connection, p);
    welcome(server, st_client_number(client));
}

static void closed(const struct mg_connection *connection, void *context)
{
    studio *server = context;
    page *p = mg_get_user_connection_data(connection);
    if (!p) return;
    int number = st_client_number(p->client);
    st_watch_remove(server->watch, p->watched);
    st_hub_remove(p->client);
    st_session_client_left(server->session, number);
    mg_set_user_connection_data(connection, NULL);
    free(p);
}

// ---------------------------------------------------------------- messages

static void refuse(studio *server, int client, const json_t *message, const char *text)
{
    json_t *object = json_pack("{s:s, s:s}", "type", "error", "message", text);
    json_t *id = json_object_get(message, "id");
    if (json_is_number(id)) json_object_set(object, "id", id);
    st_send(server->hub, client, object);
}

static void finish(studio *server, int client, const json_t *message)
{
    json_t *id = json_object_get(message, "id");
    if (!json_is_number(id)) return;
    st_send(server->hub, client, json_pack("{s:s, s:O}", "type", "done", "id", id));
}

static void answer_ping(studio *server, int client, const json_t *message)
{
    st_send(server->hub, client,
            json_pack("{s:s, s:o, s:f}", "type", "pong", "sent",
                      st_json_real(st_read_real(message, "sent", 0)), "server", st_now()));
}

static bool set_view(st_client *client, const json_t *message)
{
    static const char *const names[] = {"none", "displacement", "velocity",     "von_mises",
                                        "J",    "stretch",      "contact_force"};
    const char *field = st_read_text(message, "field");
    st_view view = {.contacts = json_is_true(json_object_get(message, "contacts"))};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (strcmp(field ? field : "none", names[i]) != 0) continue;
        strcpy(view.field, names[i]);
        st_client_set_view(client, &view);
        return true;
    }
    return false;
}

// What needs no simulation is done at once. False: it is for the simulation.
static bool answer_here(studio *server, st_client *client, const json_t *message)
{
    const char *type = st_read_text(message, "type");
    int number = st_client_number(client);
    if (strcmp(type, "ack") == 0) {
        double frame = st_read_real(message, "frame", 0);
        if (frame >= 0 && frame <= UINT32_MAX) st_client_acknowledge(client, (uint32_t)frame);
    } else if (strcmp(type, "ping") == 0) {
        answer_ping(server, number, message);
    } else if (strcmp(type, "edit") == 0) {
        st_hub_take_over(server->hub, number);
        finish(server, number, message);
    } else {
        return false;
    }
    return true;
}

static void take_message(studio *server, st_client *client, json_t *message)
{
    const char *type = st_read_text(message, "type");
    int number = st_client_number(client);
    if (!type) {
        refuse(server, number, message, "a message needs a \"type\"");
    } else if (strcmp(type, "fields") == 0 && !set_view(client, message)) {
        refuse(server, number, message, "there is no such field");
    } else if (!answer_here(server, client, message)) {
        if (strcmp(type, "fields") != 0 && st_hub_editor(server->hub) != number)
            refuse(server, number, message, "another page is editing");
        else if (!st_session_command(server->session, number, json_incref(message)))
            refuse(server, number, message, "too much at once: the simulation does not keep up");
    }
}

// Returns 0 to close the connection.
static int take_frame(struct mg_connection *connection, int bits, char *data, size_t size,
                      void *context)
{
    enum { OPCODE = 0x0f, FINAL = 0x80 };
    studio *server = context;
    page *p = mg_get_user_connection_data(connection);
    int opcode = bits & OPCODE;
    if (!p || st_client_is_lost(p->client)) return 0;
    st_watch_heard(server->watch, p->watched);
    if (opcode == MG_WEBSOCKET_OPCODE_PING || opcode == MG_WEBSOCKET_OPCODE_PONG) return 1;
    bool whole = (bits & FINAL) != 0;
    if (opcode != MG_WEBSOCKET_OPCODE_TEXT || !whole || size > ST_MAX_TEXT) return 0;
    json_error_t error;
    json_t *message = json_loadb(data, size, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(message))
        take_message(server, p->client, message);
    else
        refuse(server, st_client_number(p->client), NULL, "expected a JSON object");
    json_decref(message);
    return 1;
}

void st_ws_register(studio *server)
{
    mg_set_websocket_handler(server->http, "/ws", connect_client, ready, take_frame, closed,
                             server);
}
