// Movies: frames piped to the `ffmpeg` command.
#ifndef HOOKE_VIDEO_H
#define HOOKE_VIDEO_H

#include <stdbool.h>
#include <stddef.h>

#include "picture.h"

typedef struct video video;

// Whether the path ends like a movie: .mp4, .webm.
bool video_is_path(const char *path);
// Finds out before long work whether ffmpeg can be started. On false the reason is in `why`.
bool video_can_write(const char *path, char *why, size_t size);
// Starts ffmpeg, which writes under a temporary name. NULL with the reason in `why` when it cannot
// be started.
video *video_open(const char *path, int width, int height, double rate, char *why, size_t size);
// Adds an opaque picture of the size given to video_open.
bool video_add(video *v, const picture *p, char *why, size_t size);
// Waits for ffmpeg and renames its file; frees `v` in every case.
bool video_close(video *v, char *why, size_t size);
// Stops ffmpeg and removes its file. NULL is fine.
void video_abandon(video *v);

#endif
