// The simulation and its thread. Others put commands and jobs into its queue and go on; what comes
// of them goes to the clients through the hub.
#ifndef STUDIO_SESSION_H
#define STUDIO_SESSION_H

#include "files.h"
#include "hub.h"

typedef struct st_session st_session;

st_session *st_session_create(const st_files *files, st_hub *hub, int threads);
// Its thread ends with the step at which it is; jobs that wait fail.
void st_session_quit(st_session *session);
void st_session_free(st_session *session);

// A scene on disk to begin with.
void st_session_open(st_session *session, const char *path);
// A message of a client, which is taken over. False: too many wait.
bool st_session_command(st_session *session, int client, json_t *message);
// A client came: it is told all that there is; or it has gone.
void st_session_client_came(st_session *session, int client);
void st_session_client_left(st_session *session, int client);
// Different for every start of the server.
const char *st_session_name(const st_session *session);

// Has `work` done by the thread of the simulation and waits for it. False: it is about to end.
typedef void st_job_fn(st_session *session, void *context);
bool st_session_do(st_session *session, st_job_fn *work, void *context);

#endif
