// Hooke Studio: serves the page and the simulation that it shows, until it is told to stop.
#ifndef STUDIO_H
#define STUDIO_H

#include <stdbool.h>
#include <stddef.h>

typedef struct studio_options {
    const char *scene;    // to begin with; NULL: none
    const char *listen;   // NULL: 127.0.0.1
    int port;             // 0: any that is free
    const char *page;     // folder of the built page; NULL: looked for beside the program
    const char *scenes;   // folder of the gallery; NULL: looked for
    const char *uploads;  // NULL: a folder of the user's
    const char *program;  // of `hooke`, which draws the thumbnails; NULL: none are drawn
    int threads;          // of the simulation; -1: as scenes say
} studio_options;

typedef struct studio studio;
// False: the reason is in `why`.
bool studio_start(const studio_options *options, studio **server, char *why, size_t size);
const char *studio_url(const studio *server);
// Ends within a step of the simulation.
void studio_stop(studio *server);

#endif
