#include "watch.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum {
    MOST_UNHEARD = 16 << 20,  // bytes: a frame, and what the system's buffers hold behind it
    EVERY_MS = 50,
    MOST_FILES = 4096
};

struct st_watched {
    st_watched *next;
    st_client *client;
    int socket;
    uint64_t heard;  // bytes that had come when the last frame ended
};

struct st_watch {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    st_watched *list;
    bool quit, started;
};

static uint64_t bytes_received(int socket)
{
    struct tcp_info info = {.tcpi_state = 0};
    socklen_t size = sizeof info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received
                                                                        : 0;
}

static void *watch_all(void *context)
{
    st_watch *w = context;
    pthread_mutex_lock(&w->mutex);
    while (!w->quit) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += EVERY_MS * 1000000L;
        if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
        if (w->list)
            pthread_cond_timedwait(&w->wake, &w->mutex, &until);
        else
            pthread_cond_wait(&w->wake, &w->mutex);
        for (st_watched *k = w->list; k; k = k->next)
            if (bytes_received(k->socket) > k->heard + MOST_UNHEARD || st_client_is_lost(k->client))
                shutdown(k->socket, SHUT_RDWR);  // civetweb closes it
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

st_watch *st_watch_create(void)
{
    st_watch *w = st_alloc(1, sizeof *w);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    w->started = pthread_create(&w->thread, NULL, watch_all, w) == 0;
    return w;
}

void st_watch_free(st_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->mutex);
    w->quit = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    if (w->started) pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->wake);
    free(w);
}

// ---------------------------------------------------------------- connections

static int port_of(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    if (address->ss_family == AF_INET) return ntohs(four->sin_port);
    return address->ss_family == AF_INET6 ? ntohs(six->sin6_port) : -1;
}

// Without the interface that may follow an address: "fe80::1%eth0".
static bool is_address_of(const struct sockaddr_storage *address, const char *text)
{
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    const void *bytes = address->ss_family == AF_INET ? (const void *)&four->sin_addr
                                                      : (const void *)&six->sin6_addr;
    char plain[INET6_ADDRSTRLEN] = "";
    size_t length = strcspn(text, "%");
    if (!inet_ntop(address->ss_family, bytes, plain, sizeof plain)) return false;
    return strlen(plain) == length && strncmp(plain, text, length) == 0;
}

// civetweb does not tell the socket of a connection, but its ports and the other address do.
int st_find_socket(int own_port, const char *remote, int remote_port)
{
    for (int file = 3; file < MOST_FILES; ++file) {
        struct sockaddr_storage own, other;
        socklen_t own_size = sizeof own, other_size = sizeof other;
        if (getpeername(file, (struct sockaddr *)&other, &other_size) != 0 ||
            getsockname(file, (struct sockaddr *)&own, &own_size) != 0)
            continue;
        if (port_of(&own) == own_port && port_of(&other) == remote_port &&
            is_address_of(&other, remote))
            return file;
    }
    return -1;
}

st_watched *st_watch_add(st_watch *w, st_client *client, int own_port, const char *remote,
                         int remote_port)
{
    int found = st_find_socket(own_port, remote, remote_port);
    if (found < 0) return NULL;
    st_watched *k = st_alloc(1, sizeof *k);
    *k = (st_watched){.client = client, .socket = found, .heard = bytes_received(found)};
    pthread_mutex_lock(&w->mutex);
    k->next = w->list;
    w->list = k;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    return k;
}

void st_watch_remove(st_watch *w, st_watched *watched)
{
    if (!watched) return;
    pthread_mutex_lock(&w->mutex);
    st_watched **at = &w->list;
    while (*at != watched) at = &(*at)->next;
    *at = watched->next;
    pthread_mutex_unlock(&w->mutex);
    free(watched);
}

void st_watch_heard(st_watch *w, st_watched *watched)
{
    if (!watched) return;
    pthread_mutex_lock(&w->mutex);
    watched->heard = bytes_received(watched->socket);
    pthread_mutex_unlock(&w->mutex);
}
