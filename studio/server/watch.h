// Watches how much connections send. civetweb reads a frame of a WebSocket whole, up to 2 GiB of
// it, before it hands it over; here a connection that sends more than any page would without ending
// a frame is cut, and so is one that cannot be written to any more.
#ifndef STUDIO_WATCH_H
#define STUDIO_WATCH_H

#include "hub.h"

typedef struct st_watch st_watch;
st_watch *st_watch_create(void);
void st_watch_free(st_watch *watch);

typedef struct st_watched st_watched;
// The connection between these two ports; NULL: it is not found, and not watched.
st_watched *st_watch_add(st_watch *watch, st_client *client, int own_port, const char *remote,
                         int remote_port);
void st_watch_remove(st_watch *watch, st_watched *watched);
// A frame has come to its end.
void st_watch_heard(st_watch *watch, st_watched *watched);

// The socket of the connection between these two ports; -1: it is not there.
int st_find_socket(int own_port, const char *remote, int remote_port);

#endif
