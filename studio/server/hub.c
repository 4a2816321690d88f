#include "hub.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_QUEUED = 256,             // messages to a client, and
    MAX_QUEUED_BYTES = 64 << 20,  // bytes of them
    MAX_UNSEEN = 2,               // frames that are sent and not acknowledged
    OPCODE_TEXT = 1
};

struct st_client {
    st_hub *hub;
    st_client *next;
    int number;
    void *connection;
    st_write_fn *write;
    pthread_t thread;
    pthread_cond_t wake;
    st_message *queue[MAX_QUEUED];  // a ring
    int first, count;
    size_t bytes;
    st_message *frame;            // the newest, that waits
    uint32_t unseen[MAX_UNSEEN];  // numbers of frames; 0: none
    st_view view;
    bool leaving, lost;
};

struct st_hub {
    pthread_mutex_t mutex;
    st_client *clients;  // the oldest first
    int editor, last_number;
    st_message *status;
};

// ---------------------------------------------------------------- messages

st_message *st_message_create(int opcode, size_t size)
{
    st_message *message = st_alloc(1, sizeof *message + size);
    atomic_init(&message->references, 1);
    message->opcode = opcode;
    message->size = size;
    return message;
}

static st_message *retain(st_message *message)
{
    atomic_fetch_add(&message->references, 1);
    return message;
}

void st_message_release(st_message *message)
{
    if (message && atomic_fetch_sub(&message->references, 1) == 1) free(message);
}

static st_message *text_message(json_t *object)
{
    size_t size = json_dumpb(object, NULL, 0, JSON_COMPACT);
    st_message *message = st_message_create(OPCODE_TEXT, size);
    json_dumpb(object, (char *)message->data, size, JSON_COMPACT);
    json_decref(object);
    return message;
}

// ---------------------------------------------------------------- the thread of a client

static bool can_take_frame(const st_client *client)
{
    for (int i = 0; i < MAX_UNSEEN; ++i)
        if (client->unseen[i] == 0) return true;
    return false;
}

// The next message, in order, then the newest frame; NULL: there is nothing to send.
static st_message *take_next(st_client *client)
{
    if (client->count > 0) {
        st_message *message = client->queue[client->first];
        client->first = (client->first + 1) % MAX_QUEUED;
        client->count--;
        client->bytes -= message->size;
        return message;
    }
    if (!client->frame || !can_take_frame(client)) return NULL;
    st_message *frame = client->frame;
    client->frame = NULL;
    for (int i = 0; i < MAX_UNSEEN; ++i) {
        if (client->unseen[i] != 0) continue;
        client->unseen[i] = frame->frame;
        break;
    }
    return frame;
}

static void *write_messages(void *context)
{
    st_client *client = context;
    st_hub *hub = client->hub;
    pthread_mutex_lock(&hub->mutex);
    while (!client->leaving && !client->lost) {
        st_message *message = take_next(client);
        if (!message) {
            pthread_cond_wait(&client->wake, &hub->mutex);
            continue;
        }
        pthread_mutex_unlock(&hub->mutex);
        bool good = client->write(client->connection, message);
        st_message_release(message);
        pthread_mutex_lock(&hub->mutex);
        if (!good) client->lost = true;
    }
    pthread_mutex_unlock(&hub->mutex);
    return NULL;
}

// ---------------------------------------------------------------- coming and going

st_hub *st_hub_create(void)
{
    st_hub *hub = st_alloc(1, sizeof *hub);
    pthread_mutex_init(&hub->mutex, NULL);
    return hub;
}

void st_hub_free(st_hub *hub)
{
    if (!hub) return;
    st_message_release(hub->status);
    pthread_mutex_destroy(&hub->mutex);
    free(hub);
}

static int count_clients(const st_hub *hub)
{
    int count = 0;
    for (const st_client *c = hub->clients; c; c = c->next) count += !c->lost;
    return count;
}

static void put_message(st_client *client, st_message *message)
{
    if (client->lost || client->leaving) return;
    if (client->count == MAX_QUEUED || client->bytes + message->size > MAX_QUEUED_BYTES) {
        client->lost = true;
    } else {
        client->queue[(client->first + client->count++) % MAX_QUEUED] = retain(message);
        client->bytes += message->size;
    }
    pthread_cond_signal(&client->wake);
}

static void put_to(st_hub *hub, int number, st_message *message)
{
    for (st_client *c = hub->clients; c; c = c->next)
        if (number == ST_ALL_CLIENTS || c->number == number) put_message(c, message);
}

static void tell_clients(st_hub *hub)
{
    st_message *message = text_message(json_pack("{s:s, s:i, s:i}", "type", "clients", "clients",
                                                 count_clients(hub), "editor", hub->editor));
    put_to(hub, ST_ALL_CLIENTS, message);
    st_message_release(message);
}

st_client *st_hub_add(st_hub *hub, void *connection, st_write_fn *write)
{
    st_client *client = st_alloc(1, sizeof *client);
    *client = (st_client){.hub = hub, .connection = connection, .write = write};
    strcpy(client->view.field, "none");
    pthread_cond_init(&client->wake, NULL);
    pthread_mutex_lock(&hub->mutex);
    bool good = count_clients(hub) < ST_MAX_CLIENTS;
    client->number = hub->last_number + 1;
    good = good && pthread_create(&client->thread, NULL, write_messages, client) == 0;
    if (good) {
        hub->last_number++;
        st_client **last = &hub->clients;
        while (*last) last = &(*last)->next;
        *last = client;
        if (hub->editor == 0) hub->editor = client->number;
    }
    pthread_mutex_unlock(&hub->mutex);
    if (good) return client;
    pthread_cond_destroy(&client->wake);
    free(client);
    return NULL;
}

bool st_hub_is_full(st_hub *hub)
{
    return st_hub_count(hub) >= ST_MAX_CLIENTS;
}

static void unlink_client(st_client *client)
{
    st_hub *hub = client->hub;
    st_client **at = &hub->clients;
    while (*at && *at != client) at = &(*at)->next;
    if (*at) *at = client->next;
    if (hub->editor == client->number) {
        hub->editor = 0;
        for (st_client *c = hub->clients; c && hub->editor == 0; c = c->next)
            if (!c->lost) hub->editor = c->number;
    }
    tell_clients(hub);
}

void st_hub_remove(st_client *client)
{
    if (!client) return;
    st_hub *hub = client->hub;
    pthread_mutex_lock(&hub->mutex);
    client->leaving = true;
    pthread_cond_signal(&client->wake);
    unlink_client(client);
    pthread_mutex_unlock(&hub->mutex);
    pthread_join(client->thread, NULL);
    for (; client->count > 0; client->count--) {
        st_message_release(client->queue[client->first]);
        client->first = (client->first + 1) % MAX_QUEUED;
    }
    st_message_release(client->frame);
    pthread_cond_destroy(&client->wake);
    free(client);
}

int st_client_number(const st_client *client)
{
    return client->number;
}

bool st_client_is_lost(const st_client *client)
{
    pthread_mutex_lock(&client->hub->mutex);
    bool lost = client->lost;
    pthread_mutex_unlock(&client->hub->mutex);
    return lost;
}

// ---------------------------------------------------------------- sending

void st_send_message(st_hub *hub, int client, st_message *message)
{
    pthread_mutex_lock(&hub->mutex);
    put_to(hub, client, message);
    pthread_mutex_unlock(&hub->mutex);
    st_message_release(message);
}

void st_send(st_hub *hub, int client, json_t *object)
{
    st_send_message(hub, client, text_message(object));
}

void st_send_status(st_hub *hub, json_t *object)
{
    st_message *message = text_message(object);
    pthread_mutex_lock(&hub->mutex);
    st_message_release(hub->status);
    hub->status = message;
    put_to(hub, ST_ALL_CLIENTS, message);
    pthread_mutex_unlock(&hub->mutex);
}

void st_send_last_status(st_hub *hub, int client)
{
    pthread_mutex_lock(&hub->mutex);
    if (hub->status) put_to(hub, client, hub->status);
    tell_clients(hub);
    pthread_mutex_unlock(&hub->mutex);
}

// ---------------------------------------------------------------- frames

void st_client_acknowledge(st_client *client, uint32_t frame)
{
    pthread_mutex_lock(&client->hub->mutex);
    for (int i = 0; i < MAX_UNSEEN; ++i)
        if (client->unseen[i] <= frame) client->unseen[i] = 0;
    pthread_cond_signal(&client->wake);
    pthread_mutex_unlock(&client->hub->mutex);
}

void st_client_set_view(st_client *client, const st_view *view)
{
    pthread_mutex_lock(&client->hub->mutex);
    client->view = *view;
    pthread_mutex_unlock(&client->hub->mutex);
}

static bool is_same_view(const st_view *a, const st_view *b)
{
    return a->contacts == b->contacts && strcmp(a->field, b->field) == 0;
}

int st_hub_views(st_hub *hub, st_view views[ST_MAX_CLIENTS])
{
    int count = 0;
    pthread_mutex_lock(&hub->mutex);
    for (st_client *c = hub->clients; c; c = c->next) {
        bool known = c->lost || c->leaving;
        for (int i = 0; i < count && !known; ++i) known = is_same_view(&views[i], &c->view);
        if (!known && count < ST_MAX_CLIENTS) views[count++] = c->view;
    }
    pthread_mutex_unlock(&hub->mutex);
    return count;
}

void st_hub_publish(st_hub *hub, const st_view *view, st_message *message)
{
    pthread_mutex_lock(&hub->mutex);
    for (st_client *c = hub->clients; c; c = c->next) {
        if (c->lost || c->leaving || !is_same_view(&c->view, view)) continue;
        st_message_release(c->frame);
        c->frame = retain(message);
        pthread_cond_signal(&c->wake);
    }
    pthread_mutex_unlock(&hub->mutex);
    st_message_release(message);
}

void st_hub_forget_frames(st_hub *hub)
{
    pthread_mutex_lock(&hub->mutex);
    for (st_client *c = hub->clients; c; c = c->next) {
        st_message_release(c->frame);
        c->frame = NULL;
    }
    pthread_mutex_unlock(&hub->mutex);
}

// ---------------------------------------------------------------- who edits

int st_hub_count(st_hub *hub)
{
    pthread_mutex_lock(&hub->mutex);
    int count = count_clients(hub);
    pthread_mutex_unlock(&hub->mutex);
    return count;
}

int st_hub_editor(st_hub *hub)
{
    pthread_mutex_lock(&hub->mutex);
    int editor = hub->editor;
    pthread_mutex_unlock(&hub->mutex);
    return editor;
}

void st_hub_take_over(st_hub *hub, int client)
{
    pthread_mutex_lock(&hub->mutex);
    hub->editor = client;
    tell_clients(hub);
    pthread_mutex_unlock(&hub->mutex);
}
