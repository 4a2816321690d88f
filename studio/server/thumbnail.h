// Pictures of scenes, drawn by `hooke render` in processes of their own, one after the other, and
// kept in a folder.
#ifndef STUDIO_THUMBNAIL_H
#define STUDIO_THUMBNAIL_H

#include "util.h"

typedef struct st_thumbnails st_thumbnails;
// program: of hooke; NULL: none are drawn. Pictures go below `folder`.
st_thumbnails *st_thumbnails_create(const char *program, const char *folder);
void st_thumbnails_free(st_thumbnails *thumbnails);

typedef enum st_thumbnail_state {
    ST_THUMBNAIL_READY,
    ST_THUMBNAIL_DRAWING,
    ST_THUMBNAIL_NONE
} st_thumbnail_state;
// Of a scene on disk: the path of its picture, to be freed, or NULL and why there is none yet.
st_thumbnail_state st_thumbnail_find(st_thumbnails *thumbnails, const char *scene, char **picture);

#endif
