#include "client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <cmocka.h>

extern char **environ;

// ---------------------------------------------------------------- the program

void program_write(const studio_program *program, const char *name, const void *data, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", program->folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void spawn(studio_program *p, const char *scene, const char *uploads, int out)
{
    posix_spawn_file_actions_t files;
    char *arguments[] = {HOOKE_PROGRAM,   "studio",    (char *)scene, "--no-open",
                         "--quiet",       "--threads", "1",           "--uploads",
                         (char *)uploads, "--scenes",  STUDIO_SCENES, NULL};
    // Memory that the address sanitizer keeps back is none that the program uses.
    setenv("ASAN_OPTIONS", "quarantine_size_mb=4:detect_leaks=1", 0);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    assert_int_equal(posix_spawn(&p->process, arguments[0], &files, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&files);
}

// A test that fails leaves its program behind: it goes with the next one, and at the end.
static pid_t running;

static void end_running(void)
{
    if (running > 0) kill(running, SIGKILL);
    running = 0;
}

void program_start(studio_program *p, const char *scene)
{
    static bool registered;
    if (!registered) atexit(end_running);
    registered = true;
    end_running();
    char path[512], uploads[512], line[256] = "";
    int ends[2];
    *p = (studio_program){.process = 0};
    snprintf(p->folder, sizeof p->folder, "/tmp/studio-test-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    program_write(p, "scene.json", scene, strlen(scene));
    snprintf(path, sizeof path, "%s/scene.json", p->folder);
    snprintf(uploads, sizeof uploads, "%s/up", p->folder);
    assert_int_equal(pipe2(ends, 02000000), 0);  // O_CLOEXEC
    spawn(p, path, uploads, ends[1]);
    running = p->process;
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    assert_non_null(fgets(line, sizeof line, out));
    fclose(out);
    assert_int_equal(sscanf(line, "http://127.0.0.1:%d/?token=%32[0-9a-f]", &p->port, p->token), 2);
    assert_int_equal(strlen(p->token), 32);
    snprintf(p->url, sizeof p->url, "%s", line);
}

int program_stop(studio_program *p)
{
    int status = 0;
    char command[512];
    kill(p->process, SIGTERM);
    assert_int_equal(waitpid(p->process, &status, 0), p->process);
    running = 0;
    snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
    assert_int_equal(system(command), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

long program_memory(const studio_program *p)
{
    char path[64];
    long pages = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)p->process);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// ---------------------------------------------------------------- sockets

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

int connect_to(const studio_program *p)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)p->port)};
    int one = 1, made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(made >= 0);
    assert_int_equal(connect(made, (struct sockaddr *)&address, sizeof address), 0);
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return made;
}

static bool wait_readable(int s, double until)
{
    struct pollfd p = {.fd = s, .events = POLLIN};
    double left = until - now_ms();
    return poll(&p, 1, left > 0 ? (int)left + 1 : 0) > 0;
}

// False where the other side ended or time is up.
static bool read_bytes(int s, void *to, size_t size, double until)
{
    for (size_t got = 0; got < size;) {
        if (!wait_readable(s, until)) return false;
        ssize_t n = recv(s, (char *)to + got, size - got, 0);
        if (n <= 0) return false;
        got += (size_t)n;
    }
    return true;
}

static bool send_bytes(int s, const void *data, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t n = send(s, (const char *)data + sent, size - sent, MSG_NOSIGNAL);
        if (n <= 0) return false;
        sent += (size_t)n;
    }
    return true;
}

// ---------------------------------------------------------------- HTTP

static answer read_answer(int s)
{
    answer a = {.status = 0};
    size_t size = 0;
    char *text = malloc(1);
    for (double until = now_ms() + 60000; wait_readable(s, until);) {
        text = realloc(text, size + 65537);
        ssize_t n = recv(s, text + size, 65536, 0);
        if (n <= 0) break;
        size += (size_t)n;
    }
    text[size] = '\0';
    char *body = strstr(text, "\r\n\r\n");
    if (sscanf(text, "HTTP/1.1 %d", &a.status) != 1) a.status = 0;
    a.size = body ? size - (size_t)(body + 4 - text) : 0;
    a.body = malloc(a.size + 1);
    if (a.size > 0) memcpy(a.body, body + 4, a.size);
    a.body[a.size] = '\0';
    free(text);
    return a;
}

answer http(const studio_program *p, const char *method, const char *path, const char *headers,
            const void *body, size_t size)
{
    char head[4096], host[64];
    snprintf(host, sizeof host, "Host: 127.0.0.1:%d\r\n", p->port);
    int s = connect_to(p);
    int length = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n",
                          method, path, headers ? headers : host, size);
    send_bytes(s, head, (size_t)length);
    send_bytes(s, body, size);
    answer a = read_answer(s);
    close(s);
    return a;
}

answer ask(const studio_program *p, const char *method, const char *path, const void *body,
           size_t size)
{
    char full[2048];
    snprintf(full, sizeof full, "%s%ctoken=%s", path, strchr(path, '?') ? '&' : '?', p->token);
    return http(p, method, full, NULL, body, size);
}

json_t *ask_json(const studio_program *p, const char *path)
{
    answer a = ask(p, "GET", path, "", 0);
    assert_int_equal(a.status, 200);
    json_t *object = json_loadb(a.body, a.size, 0, NULL);
    assert_non_null(object);
    answer_free(&a);
    return object;
}

void answer_free(answer *a)
{
    free(a->body);
    a->body = NULL;
}

// ---------------------------------------------------------------- WebSocket

int page_open_with(page *p, const studio_program *program, const char *path, const char *headers)
{
    char head[4096], line[4096];
    int status = 0;
    *p = (page){.socket = connect_to(program), .acknowledges = true, .last = json_object()};
    int length = snprintf(head, sizeof head,
                          "GET %s HTTP/1.1\r\n%sUpgrade: websocket\r\nConnection: Upgrade\r\n"
                          "Sec-WebSocket-Version: 13\r\n"
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                          path, headers);
    send_bytes(p->socket, head, (size_t)length);
    double until = now_ms() + 30000;
    size_t got = 0;
    while (got + 1 < sizeof line && read_bytes(p->socket, line + got, 1, until)) {
        line[++got] = '\0';
        if (got >= 4 && strcmp(line + got - 4, "\r\n\r\n") == 0) break;
    }
    if (sscanf(line, "HTTP/1.1 %d", &status) != 1) status = 0;
    return status;
}

void page_open(page *p, const studio_program *program)
{
    char path[128], headers[256];
    snprintf(path, sizeof path, "/ws?token=%s", program->token);
    snprintf(headers, sizeof headers, "Host: localhost:%d\r\nOrigin: http://localhost:%d\r\n",
             program->port, program->port);
    assert_int_equal(page_open_with(p, program, path, headers), 101);
}

void page_close(page *p)
{
    close(p->socket);
    json_decref(p->last);
    free(p->frame);
    free(p->topology);
    *p = (page){.socket = -1};
}

void page_send_frame(page *p, int opcode, const void *data, size_t size)
{
    unsigned char head[14] = {(unsigned char)(0x80 | opcode)};
    const unsigned char mask[4] = {0x12, 0x34, 0x56, 0x78};
    size_t length = 2;
    if (size < 126) {
        head[1] = (unsigned char)(0x80 | size);
    } else if (size < 65536) {
        head[1] = 0x80 | 126;
        head[2] = (unsigned char)(size >> 8), head[3] = (unsigned char)size;
        length = 4;
    } else {
        head[1] = 0x80 | 127;
        for (int i = 0; i < 8; ++i) head[2 + i] = (unsigned char)(size >> (56 - 8 * i));
        length = 10;
    }
    memcpy(head + length, mask, 4);
    unsigned char *all = malloc(length + 4 + size);
    memcpy(all, head, length + 4);
    for (size_t i = 0; i < size; ++i)
        all[length + 4 + i] = ((const unsigned char *)data)[i] ^ mask[i % 4];
    send_bytes(p->socket, all, length + 4 + size);
    free(all);
}

void page_send(page *p, const char *text)
{
    page_send_frame(p, 1, text, strlen(text));
}

static void keep(char **to, size_t *to_size, char *data, size_t size)
{
    free(*to);
    *to = data;
    *to_size = size;
}

static void take_binary(page *p, char *data, size_t size)
{
    uint32_t kind, number;
    char text[64];
    assert_true(size >= 64 && memcmp(data, "HKS1", 4) == 0);
    memcpy(&kind, data + 4, 4);
    memcpy(&number, data + 12, 4);
    if (kind == 2) {
        keep(&p->topology, &p->topology_size, data, size);
        return;
    }
    assert_int_equal(kind, 1);
    assert_true(number > p->seen);
    p->seen = number;
    keep(&p->frame, &p->frame_size, data, size);
    snprintf(text, sizeof text, "{\"type\": \"ack\", \"frame\": %u}", number);
    if (p->acknowledges) page_send(p, text);
}

static void take_text(page *p, const char *data, size_t size)
{
    json_t *message = json_loadb(data, size, 0, NULL);
    assert_non_null(message);
    const char *type = json_string_value(json_object_get(message, "type"));
    assert_non_null(type);
    json_object_set(p->last, type, message);
    json_decref(message);
}

bool page_read(page *p, int ms)
{
    unsigned char head[2], more[8] = {0};
    double until = now_ms() + ms, rest = now_ms() + 30000;
    if (!read_bytes(p->socket, head, 2, until)) return false;
    uint64_t size = head[1] & 0x7f;
    int extra = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (extra && !read_bytes(p->socket, more, (size_t)extra, rest)) return false;
    for (int i = 0; i < extra; ++i) size = i == 0 ? more[0] : size << 8 | more[i];
    char *data = malloc(size + 1);
    bool good = read_bytes(p->socket, data, size, rest);
    int opcode = head[0] & 0x0f;
    if (good && opcode == 2) {
        take_binary(p, data, size);
        return true;
    }
    if (good && opcode == 1) take_text(p, data, size);
    if (good && opcode == 9) page_send_frame(p, 10, data, size);
    free(data);
    return good && opcode != 8;
}

json_t *page_await(page *p, const char *type)
{
    json_object_del(p->last, type);
    double until = now_ms() + 60000;
    while (!json_object_get(p->last, type)) {
        assert_true(now_ms() < until);
        assert_true(page_read(p, 60000));
    }
    return json_object_get(p->last, type);
}

json_t *page_await_value(page *p, const char *type, const char *key, const char *value)
{
    for (double until = now_ms() + 60000;;) {
        const char *is = json_string_value(json_object_get(json_object_get(p->last, type), key));
        if (is && strcmp(is, value) == 0) return json_object_get(p->last, type);
        assert_true(now_ms() < until);
        assert_true(page_read(p, 60000));
    }
}

static json_t *ask_with(page *p, const char *format, va_list arguments)
{
    char text[8192], numbered[8300];
    int id = ++p->next_id;
    vsnprintf(text, sizeof text, format, arguments);
    assert_true(text[0] == '{');
    snprintf(numbered, sizeof numbered, "{\"id\": %d, %s", id, text + 1);
    page_send(p, numbered);
    for (double until = now_ms() + 60000; now_ms() < until;) {
        static const char *const types[] = {"done", "error"};
        for (int i = 0; i < 2; ++i) {
            json_t *message = json_object_get(p->last, types[i]);
            if (json_integer_value(json_object_get(message, "id")) == id)
                return json_incref(message);
        }
        assert_true(page_read(p, 60000));
    }
    fail_msg("no answer to %s", text);
    return NULL;
}

json_t *page_ask(page *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *answered = ask_with(p, format, arguments);
    va_end(arguments);
    return answered;
}

void page_do(page *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *answered = ask_with(p, format, arguments);
    va_end(arguments);
    const char *type = json_string_value(json_object_get(answered, "type"));
    if (strcmp(type, "done") != 0)
        fail_msg("%s: %s", format, json_string_value(json_object_get(answered, "message")));
    json_decref(answered);
}

// ---------------------------------------------------------------- binary messages

block find_block(const char *message, size_t size, int what, int shape)
{
    uint32_t count, words[3];
    size_t at = 64;
    memcpy(&count, message + 44, 4);
    for (uint32_t k = 0; k < count; ++k) {
        uint16_t is[2];
        assert_true(at + 16 <= size);
        memcpy(is, message + at, 4);
        memcpy(words, message + at + 4, 12);
        size_t bytes = (size_t)words[1] * words[2] * (words[0] == 3 ? 1 : 4);
        assert_true(at + 16 + bytes <= size);
        if (is[0] == what && is[1] == shape)
            return (block){words[0], words[1], words[2], message + at + 16};
        at += 16 + ((bytes + 7) & ~(size_t)7);
    }
    return (block){.data = NULL};
}

double frame_number(const page *p, size_t offset)
{
    double number;
    memcpy(&number, p->frame + offset, 8);
    return number;
}

uint32_t frame_word(const page *p, size_t offset)
{
    uint32_t word;
    memcpy(&word, p->frame + offset, 4);
    return word;
}

void page_await_step(page *p, uint32_t step)
{
    double until = now_ms() + 60000;
    while (!p->frame || frame_word(p, 40) != step) {
        assert_true(now_ms() < until);
        assert_true(page_read(p, 60000));
    }
}
