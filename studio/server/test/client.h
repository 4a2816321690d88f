// A client of the studio over plain sockets: it starts the program and talks to it as a page does,
// or as a page must not.
#ifndef STUDIO_CLIENT_H
#define STUDIO_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

typedef struct studio_program {
    pid_t process;
    int port;
    char token[64], folder[256];  // folder: of the scene; folder/up: the uploads
    char url[256];
} studio_program;
// A scene of this text, in a folder of its own. Fails the test where the program does not start.
void program_start(studio_program *program, const char *scene);
// Ends it and removes its folder. Returns its exit status.
int program_stop(studio_program *program);
long program_memory(const studio_program *program);  // KiB, resident
void program_write(const studio_program *program, const char *name, const void *data, size_t size);

// ---------------------------------------------------------------- HTTP

typedef struct answer {
    int status;
    char *body;
    size_t size;
} answer;
int connect_to(const studio_program *program);  // a socket
// `headers`: more of them, each with its \r\n; NULL: "Host" as it should be.
answer http(const studio_program *program, const char *method, const char *path,
            const char *headers, const void *body, size_t size);
// With the token; path may have a query.
answer ask(const studio_program *program, const char *method, const char *path, const void *body,
           size_t size);
json_t *ask_json(const studio_program *program, const char *path);
void answer_free(answer *a);

// ---------------------------------------------------------------- WebSocket

typedef struct page {
    int socket;
    int next_id;
    uint32_t seen;  // number of the last frame
    char *frame;    // the last one
    size_t frame_size;
    char *topology;  // the binary message
    size_t topology_size;
    json_t *last;  // {type: message}, the last of each
    bool acknowledges;
} page;
// The status of the answer: 101 where it went well.
int page_open_with(page *p, const studio_program *program, const char *path, const char *headers);
void page_open(page *p, const studio_program *program);
void page_close(page *p);
void page_send_frame(page *p, int opcode, const void *data, size_t size);
void page_send(page *p, const char *text);
// Reads one message; false: none came within so many ms, or the connection is closed.
bool page_read(page *p, int ms);
// Reads until a message of that type comes: borrowed. Fails the test after 60 s.
json_t *page_await(page *p, const char *type);
// Until the last message of that type has this text under this key.
json_t *page_await_value(page *p, const char *type, const char *key, const char *value);
// Sends it with a number and reads until the answer, which is returned: to be freed.
json_t *page_ask(page *p, const char *format, ...);
// The same, and the answer must be `done`.
void page_do(page *p, const char *format, ...);

// A block of a binary message: NULL: there is none.
typedef struct block {
    uint32_t format, components, count;
    const void *data;
} block;
block find_block(const char *message, size_t size, int what, int shape);
double frame_number(const page *p, size_t offset);  // a double of the header
uint32_t frame_word(const page *p, size_t offset);
// Reads until a frame shows this step.
void page_await_step(page *p, uint32_t step);

#endif
