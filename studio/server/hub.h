// The clients: what is on its way to each of them. Nobody who sends waits for a client: messages
// go into its queue, which is bounded, frames into a slot where a newer one replaces an older one,
// and a thread for each client writes them.
#ifndef STUDIO_HUB_H
#define STUDIO_HUB_H

#include "util.h"

enum { ST_MAX_CLIENTS = 8, ST_ALL_CLIENTS = 0 };

// What is sent, shared by all who get it.
typedef struct st_message {
    _Atomic int references;
    int opcode;      // of WebSocket
    uint32_t frame;  // its number; 0: it is none
    size_t size;
    unsigned char data[];
} st_message;
st_message *st_message_create(int opcode, size_t size);
void st_message_release(st_message *message);

// What a client wants to see in its frames.
enum { ST_FIELD_NAME = 24 };
typedef struct st_view {
    char field[ST_FIELD_NAME];  // "none", "von_mises", …
    bool contacts;
} st_view;

typedef struct st_hub st_hub;
typedef struct st_client st_client;

st_hub *st_hub_create(void);
void st_hub_free(st_hub *hub);  // when all connections are closed

// How bytes are written to a connection: false where that failed.
typedef bool st_write_fn(void *connection, const st_message *message);
// NULL: there are too many. The writer is called from the thread of the client.
st_client *st_hub_add(st_hub *hub, void *connection, st_write_fn *write);
bool st_hub_is_full(st_hub *hub);
void st_hub_remove(st_client *client);  // waits until its thread has ended
int st_client_number(const st_client *client);
bool st_client_is_lost(const st_client *client);  // it cannot be written to, or did not keep up

// The object is taken over.
void st_send(st_hub *hub, int client, json_t *object);
// The message is taken over.
void st_send_message(st_hub *hub, int client, st_message *message);
// Kept for those who come later, as the state of what it is of.
void st_send_status(st_hub *hub, json_t *object);
void st_send_last_status(st_hub *hub, int client);

// ---- frames
void st_client_acknowledge(st_client *client, uint32_t frame);
void st_client_set_view(st_client *client, const st_view *view);
// The different views of those who could be sent a frame now, and how many there are.
int st_hub_views(st_hub *hub, st_view views[ST_MAX_CLIENTS]);
// To all who have this view, in place of older ones that wait. The message is taken over.
void st_hub_publish(st_hub *hub, const st_view *view, st_message *message);
// Frames of what is no longer there are not sent any more.
void st_hub_forget_frames(st_hub *hub);

// ---- who edits
int st_hub_count(st_hub *hub);
int st_hub_editor(st_hub *hub);  // its number; 0: nobody
void st_hub_take_over(st_hub *hub, int client);

#endif
