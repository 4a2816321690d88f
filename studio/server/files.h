// Which files may be read and written, and what they are called. Scenes and meshes lie in three
// folders ("roots"); nothing outside of them is touched, whatever paths say and links lead to.
#ifndef STUDIO_FILES_H
#define STUDIO_FILES_H

#include "util.h"

typedef enum st_root { ST_SCENES = 0, ST_HERE, ST_UPLOADS, ST_ROOT_COUNT } st_root;

typedef struct st_files {
    char *folder[ST_ROOT_COUNT];  // real paths; NULL: there is none
    char *page;                   // of the built page; NULL: there is none
} st_files;

// Folders that are NULL are looked for (scenes, page), made (uploads), or are none (here).
bool st_files_open(st_files *files, const char *scenes, const char *here, const char *uploads,
                   const char *page, st_why *why);
void st_files_close(st_files *files);
const char *st_root_name(st_root root);

// The path on disk of "scenes/contact/arch.json", to be freed; NULL: it is no such name, is not
// there (unless `may_be_new`), or leads out of its root.
char *st_files_find(const st_files *files, const char *name, bool may_be_new, st_root *root,
                    st_why *why);
// The path of a file of this name in the uploads, that may be written; NULL as above.
char *st_files_upload(const st_files *files, const char *file, st_why *why);
// The name of a path on disk, to be freed; NULL: it is in no root.
char *st_files_name(const st_files *files, const char *path);
// Whether a root may be written to.
bool st_files_writable(st_root root);
// Whether all files that a scene's text names lie in the roots; they are relative to `folder`.
bool st_files_check_scene(const st_files *files, const char *text, size_t length,
                          const char *folder, st_why *why);
// The whole of a file, to be freed, with a '\0' behind it.
char *st_file_read(const char *path, size_t most, size_t *size, st_why *why);
// The path without what follows its last slash. To be freed.
char *st_folder_of(const char *path);

#endif
