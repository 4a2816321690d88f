// Changes the text of a scene file in one place and leaves every other byte as it is.
#ifndef HOOKE_CLI_SCENE_TEXT_H
#define HOOKE_CLI_SCENE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

// The text of a scene with `phases`, itself JSON, as the value of "phases" in its "solver". The
// key is added if it is missing; "length1", "rho1", …, which say the same and exclude it, are
// removed. To be freed, ends with '\0' after *result_length bytes. NULL: the reason is in `why`.
char *cli_text_with_phases(const char *text, size_t length, const char *phases,
                           size_t *result_length, char *why, size_t why_size);

// The method that the text itself names: "" if it names none. False: it is no scene.
bool cli_text_method(const char *text, size_t length, char *method, size_t size);

#endif
