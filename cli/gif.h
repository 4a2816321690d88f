// Animated GIF89a files.
#ifndef HOOKE_GIF_H
#define HOOKE_GIF_H

#include <stdbool.h>
#include <stddef.h>

#include "picture.h"

typedef struct gif gif;

// `rate`: frames a second; GIF counts in hundredths of a second.
gif *gif_new(int width, int height, double rate);
// Adds an opaque picture of that size. The palette is made of the frames that fit into memory, all
// but in long and large films.
void gif_add(gif *g, const picture *p);
// Writes the file, whole or not at all; frees `g` in every case.
bool gif_save(gif *g, const char *path, char *why, size_t size);
void gif_free(gif *g);  // NULL is fine

#endif
