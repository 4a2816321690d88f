// Who must not get in does not, and who misbehaves does not keep others from being served.
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include "client.h"

static const char bar[] = "{\"time\": {\"step\": 0.02, \"end\": 1}, \"solver\": {\"method\": "
                          "\"split\"}, \"threads\": 1,\n"
                          " \"bodies\": [{\"name\": \"bar\", \"mesh\": {\"box\": {\"size\": [1, "
                          "0.2, 0.2], \"cells\": [30, 8, 8]}},\n"
                          "   \"material\": {\"model\": \"corotated\", \"young\": 5e5, "
                          "\"poisson\": 0.4, \"density\": 1000},\n"
                          "   \"fix\": [{\"box\": [[-0.001, -1, -1], [0.001, 1, 1]]}]}]}\n";

static int start(void **state)
{
    studio_program *program = malloc(sizeof *program);
    program_start(program, bar);
    *state = program;
    return 0;
}

static int stop(void **state)
{
    studio_program *program = *state;
    int status = program_stop(program);
    free(program);
    return status;
}

static int status_of(const studio_program *program, const char *path, const char *headers)
{
    answer a = http(program, "GET", path, headers, "", 0);
    answer_free(&a);
    return a.status;
}

static void check_memory(const studio_program *program, long before, long more_mb)
{
    long now = program_memory(program);
    if (now > before + (more_mb << 10)) fail_msg("memory grew from %ld to %ld KiB", before, now);
}

static void check_it_serves(const studio_program *program)
{
    page p;
    page_open(&p, program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"edit\"}");
    page_do(&p, "{\"type\": \"step\", \"count\": 2}");
    page_await(&p, "stats");
    page_close(&p);
    answer a = ask(program, "GET", "/api/tables", "", 0);
    assert_int_equal(a.status, 200);
    answer_free(&a);
}

// ---------------------------------------------------------------- who gets in

static void test_tokens(void **state)
{
    const studio_program *p = *state;
    char path[256], wrong[64];
    static const char *const paths[] = {"/",   "/api/tables",          "/api/gallery", "/api/scene",
                                        "/ws", "/api/export?what=stl", "/nothing"};
    for (size_t k = 0; k < sizeof paths / sizeof paths[0]; ++k) {
        assert_int_equal(status_of(p, paths[k], NULL), 403);
        snprintf(path, sizeof path, "%s%ctoken=0123456789abcdef0123456789abcdef", paths[k],
                 strchr(paths[k], '?') ? '&' : '?');
        assert_int_equal(status_of(p, path, NULL), 403);
    }
    for (int k = 0; k < 32; k += 7) {  // one digit off, cut off, with more behind
        strcpy(wrong, p->token);
        wrong[k] = wrong[k] == '0' ? '1' : '0';
        snprintf(path, sizeof path, "/api/tables?token=%s", wrong);
        assert_int_equal(status_of(p, path, NULL), 403);
        snprintf(path, sizeof path, "/api/tables?token=%.*s", k, p->token);
        assert_int_equal(status_of(p, path, NULL), 403);
    }
    snprintf(path, sizeof path, "/api/tables?token=%s0", p->token);
    assert_int_equal(status_of(p, path, NULL), 403);
    snprintf(path, sizeof path, "/api/tables?token=%s", p->token);
    assert_int_equal(status_of(p, path, NULL), 200);
    snprintf(path, sizeof path, "Host: localhost:%d\r\nX-Hooke-Token: %s\r\n", p->port, p->token);
    assert_int_equal(status_of(p, "/api/tables", path), 200);
    page q;
    snprintf(path, sizeof path, "Host: localhost:%d\r\n", p->port);
    assert_int_equal(page_open_with(&q, p, "/ws?token=0123456789abcdef0123456789abcdef", path),
                     403);
    page_close(&q);
}

static void test_hosts_and_origins(void **state)
{
    const studio_program *p = *state;
    char path[128], headers[512];
    static const char *const hosts[] = {"evil.example:%d",
                                        "127.0.0.1.evil.example:%d",
                                        "evil:%d",
                                        "127.0.0.1:80",
                                        "127.0.0.1",
                                        "localhost:%d.evil",
                                        "192.168.0.1:%d",
                                        ":%d",
                                        "@:%d"};
    static const char *const origins[] = {"http://evil.example",
                                          "https://127.0.0.1:%d",
                                          "null",
                                          "http://127.0.0.1:1",
                                          "http://127.0.0.1.evil.example:%d",
                                          "http://localhost:%d@evil.example",
                                          ""};
    snprintf(path, sizeof path, "/api/tables?token=%s", p->token);
    for (size_t k = 0; k < sizeof hosts / sizeof hosts[0]; ++k) {
        char host[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
        snprintf(host, sizeof host, hosts[k], p->port);
#pragma GCC diagnostic pop
        snprintf(headers, sizeof headers, "Host: %s\r\n", host);
        assert_int_equal(status_of(p, path, headers), 403);
    }
    for (size_t k = 0; k < sizeof origins / sizeof origins[0]; ++k) {
        char origin[128];
        page q;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
        snprintf(origin, sizeof origin, origins[k], p->port);
#pragma GCC diagnostic pop
        snprintf(headers, sizeof headers, "Host: 127.0.0.1:%d\r\nOrigin: %s\r\n", p->port, origin);
        assert_int_equal(status_of(p, path, headers), 403);
        char ws[128];
        snprintf(ws, sizeof ws, "/ws?token=%s", p->token);
        assert_int_equal(page_open_with(&q, p, ws, headers), 403);
        page_close(&q);
    }
    snprintf(headers, sizeof headers, "Host: [::1]:%d\r\nOrigin: http://[::1]:%d\r\n", p->port,
             p->port);
    assert_int_equal(status_of(p, path, headers), 200);
}

// ---------------------------------------------------------------- files

static void test_paths_do_not_lead_out(void **state)
{
    const studio_program *p = *state;
    static const char *const names[] = {"../../etc/passwd",
                                        "/etc/passwd",
                                        "here/../scene.json",
                                        "here//scene.json",
                                        "here/./scene.json",
                                        "uploads/../scene.json",
                                        "scenes/../README.md",
                                        "here/..%2f..%2fetc%2fpasswd",
                                        "here/%2e%2e/%2e%2e/etc/passwd",
                                        "nowhere/x.json",
                                        "here",
                                        "",
                                        "here/out.json",
                                        "here/gone.json",
                                        "here/in/passwd",
                                        "here/scene.json%00.png",
                                        "here\\..\\x",
                                        "here/.hidden"};
    char path[1024];
    snprintf(path, sizeof path, "%s/out.json", p->folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    snprintf(path, sizeof path, "%s/gone.json", p->folder);
    assert_int_equal(symlink("/tmp/nothing-is-there/x.json", path), 0);
    snprintf(path, sizeof path, "%s/in", p->folder);
    assert_int_equal(symlink("/etc", path), 0);
    program_write(p, ".hidden", "{}", 2);
    static const char *const requests[][2] = {
        {"GET", "/api/scene"}, {"PUT", "/api/scene"}, {"GET", "/api/thumbnail"}};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k)
        for (int r = 0; r < 3; ++r) {
            if (names[k][0] == '\0' && r == 0) continue;  // the scene that runs
            snprintf(path, sizeof path, "%s?path=%s", requests[r][1], names[k]);
            answer a = ask(p, requests[r][0], path, bar, r == 1 ? strlen(bar) : 0);
            if (a.status != 403 && a.status != 404 && a.status != 400)
                fail_msg("%s %s: %d", requests[r][0], path, a.status);
            assert_null(strstr(a.body, "root:"));
            answer_free(&a);
        }
    static const char *const pages[] = {"/assets/../../../etc/passwd",
                                        "/assets/..%2f..%2fetc/passwd",
                                        "/assets/%2e%2e/%2e%2e/etc/passwd",
                                        "/assets/",
                                        "/assets/x",
                                        "/../etc/passwd",
                                        "//etc/passwd",
                                        "/assets/....//x"};
    for (size_t k = 0; k < sizeof pages / sizeof pages[0]; ++k) {
        answer a = ask(p, "GET", pages[k], "", 0);
        assert_int_equal(a.status >= 400, 1);
        assert_null(strstr(a.body, "root:"));
        answer_free(&a);
    }
    answer saved = ask(p, "PUT", "/api/scene?path=here/new.json", bar, strlen(bar));
    assert_int_equal(saved.status, 200);
    answer_free(&saved);
    answer refused = ask(p, "PUT", "/api/scene?path=scenes/beam.json", bar, strlen(bar));
    assert_int_equal(refused.status, 403);
    answer_free(&refused);
}

static void test_scenes_read_no_files_elsewhere(void **state)
{
    const studio_program *p = *state;
    static const char *const texts[] = {
        "{\"bodies\": [{\"mesh\": {\"file\": \"/etc/passwd\"}, \"material\": {}}]}",
        "{\"bodies\": [{\"mesh\": {\"file\": \"../../../../etc/hostname\"}}]}",
        "{\"bodies\": [{\"mesh\": {\"fill\": {\"file\": \"out.obj\"}}}]}",
        "{\"bodies\": [{\"initial\": {\"state\": \"/etc/passwd\"}}]}",
        "{\"obstacles\": [{\"mesh\": {\"file\": \"/etc/passwd\"}}]}"};
    char path[512];
    snprintf(path, sizeof path, "%s/out.obj", p->folder);
    assert_int_equal(symlink("/etc/hosts", path), 0);
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; ++k) {
        answer a = ask(p, "POST", "/api/check?path=here/scene.json", texts[k], strlen(texts[k]));
        json_t *object = json_loadb(a.body, a.size, 0, NULL);
        assert_true(json_is_false(json_object_get(object, "ok")));
        assert_non_null(strstr(json_string_value(json_object_get(object, "error")), "outside"));
        json_decref(object);
        answer_free(&a);
        program_write(p, "reads.json", texts[k], strlen(texts[k]));
        answer picture = ask(p, "GET", "/api/thumbnail?path=here/reads.json", "", 0);
        assert_int_equal(picture.status, 403);
        answer_free(&picture);
    }
}

static void test_limits(void **state)
{
    const studio_program *p = *state;
    char path[256], head[512];
    // Too long a body is refused before it is read.
    int s = connect_to(p);
    snprintf(path, sizeof path, "/api/upload?name=x.obj&token=%s", p->token);
    int length =
        snprintf(head, sizeof head,
                 "POST %s HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 999999999999\r\n\r\n",
                 path, p->port);
    assert_int_equal(send(s, head, (size_t)length, MSG_NOSIGNAL), length);
    char status[32] = "";
    assert_true(recv(s, status, sizeof status - 1, MSG_WAITALL) > 12);
    close(s);
    assert_true(strncmp(status, "HTTP/1.1 413", 12) == 0 ||
                strncmp(status, "HTTP/1.1 507", 12) == 0);
    answer a = ask(p, "DELETE", "/api/scene?path=here/scene.json", "", 0);
    assert_int_equal(a.status, 405);
    answer_free(&a);
    // Eight pages and no more.
    page pages[8], more;
    for (int k = 0; k < 8; ++k) page_open(&pages[k], p);
    snprintf(path, sizeof path, "/ws?token=%s", p->token);
    snprintf(head, sizeof head, "Host: localhost:%d\r\n", p->port);
    assert_int_equal(page_open_with(&more, p, path, head), 503);
    page_close(&more);
    for (int k = 0; k < 8; ++k) page_close(&pages[k]);
    // A text that is too long, a binary one, and one that never ends close their connection alone.
    char *large = calloc(1, 300 << 10);
    memset(large, ' ', 300 << 10);
    for (int k = 0; k < 2; ++k) {
        usleep(200000);
        page_open(&more, p);
        page_send_frame(&more, k == 0 ? 1 : 2, large, k == 0 ? 300 << 10 : 10);
        while (page_read(&more, 5000)) continue;
        page_close(&more);
    }
    free(large);
    check_it_serves(p);
}

// ---------------------------------------------------------------- those who misbehave

static uint64_t random_state = 42;
static unsigned char random_byte(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned char)(random_state >> 56);
}

// Bytes as they come: headers of frames among them that promise anything.
static void throw_bytes(const studio_program *p, size_t size)
{
    static unsigned char bytes[1 << 16];
    page q;
    page_open(&q, p);
    for (size_t sent = 0; sent < size; sent += sizeof bytes) {
        for (size_t k = 0; k < sizeof bytes; ++k) bytes[k] = random_byte();
        if (send(q.socket, bytes, sizeof bytes, MSG_NOSIGNAL) < 0) break;
    }
    page_close(&q);
}

// A frame that is said to have 1 GiB is cut long before.
static void send_endless_frame(const studio_program *p)
{
    static unsigned char bytes[1 << 20];
    const unsigned char head[14] = {0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0};
    size_t sent = 0;
    page q;
    page_open(&q, p);
    send(q.socket, head, sizeof head, MSG_NOSIGNAL);
    while (sent < (size_t)1 << 30) {
        ssize_t n = send(q.socket, bytes, sizeof bytes, MSG_NOSIGNAL);
        if (n <= 0) break;
        sent += (size_t)n;
        usleep(2000);
    }
    assert_true(sent < (size_t)512 << 20);
    page_close(&q);
}

// Frames that are whole, of random contents and of messages with random values.
static void throw_frames(const studio_program *p, size_t size)
{
    static const char *const types[] = {"play",    "pause",  "step",        "grab",     "move",
                                        "release", "fix",    "load",        "material", "gravity",
                                        "damping", "fields", "convergence", "record",   "undo",
                                        "ack",     "edit",   "mode"};
    static const char *const values[] = {"-1", "1e308",     "null",     "\"\"", "[]",
                                         "{}", "[1, 2, 3]", "99999999", "true", "[[0,0,0],[1,1,1]]",
                                         "0"};
    static const char *const keys[] = {"grab",  "triangle", "weights",  "target", "count",
                                       "body",  "vertices", "material", "value",  "force",
                                       "box",   "sphere",   "sent",     "frame",  "region",
                                       "shape", "air",      "triangles"};
    page q;
    page_open(&q, p);
    for (size_t sent = 0; sent < size;) {
        char text[512];
        int length = snprintf(text, sizeof text, "{\"type\": \"%s\"",
                              types[random_byte() % (sizeof types / sizeof types[0])]);
        for (int k = random_byte() % 4; k > 0; --k)
            length += snprintf(text + length, sizeof text - (size_t)length, ", \"%s\": %s",
                               keys[random_byte() % (sizeof keys / sizeof keys[0])],
                               values[random_byte() % (sizeof values / sizeof values[0])]);
        length += snprintf(text + length, sizeof text - (size_t)length, "}");
        if (random_byte() < 30)
            for (int k = 0; k < length; ++k) text[k] = (char)random_byte();
        page_send_frame(&q, 1, text, (size_t)length);
        sent += (size_t)length;
        while (poll(&(struct pollfd){.fd = q.socket, .events = POLLIN}, 1, 0) > 0)
            if (!page_read(&q, 1000)) break;
    }
    page_close(&q);
}

static void test_random_frames(void **state)
{
    const studio_program *p = *state;
    check_it_serves(p);
    long before = program_memory(p);
    for (int k = 0; k < 20; ++k) throw_bytes(p, 512 << 10);
    usleep(300000);
    throw_frames(p, 200 << 10);
    usleep(300000);
    check_it_serves(p);
    check_memory(p, before, 128);
}

static void test_endless_frames(void **state)
{
    const studio_program *p = *state;
    long before = program_memory(p);
    for (int k = 0; k < 3; ++k) send_endless_frame(p);
    check_it_serves(p);
    check_memory(p, before, 192);
}

static void test_half_open_connections(void **state)
{
    const studio_program *p = *state;
    int sockets[100];
    static const char *const parts[] = {
        "", "G", "GET / HTTP/1.1\r\n", "GET /ws HTTP/1.1\r\nHost: x",
        "POST /api/upload?name=x.obj HTTP/1.1\r\nContent-Length: 9"};
    for (int k = 0; k < 100; ++k) {
        const char *part = parts[k % 5];
        sockets[k] = connect_to(p);
        send(sockets[k], part, strlen(part), MSG_NOSIGNAL);
    }
    check_it_serves(p);
    for (int k = 0; k < 100; ++k) close(sockets[k]);
    check_it_serves(p);
}

static void run_for(page *p, int ms)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do {
        page_read(p, 100);
        clock_gettime(CLOCK_MONOTONIC, &b);
    } while ((double)(b.tv_sec - a.tv_sec) * 1e3 + 1e-6 * (double)(b.tv_nsec - a.tv_nsec) < ms);
}

// Pages that read nothing, with and without acknowledging: others are served, memory is bounded.
static void test_silent_pages(void **state)
{
    const studio_program *p = *state;
    page active, silent[3];
    page_open(&active, p);
    page_do(&active, "{\"type\": \"edit\"}");
    for (int k = 0; k < 3; ++k) page_open(&silent[k], p);
    page_do(&active, "{\"type\": \"speed\", \"value\": 0}");  // as fast as it goes
    page_do(&active, "{\"type\": \"play\"}");
    run_for(&active, 500);
    long before = program_memory(p);
    uint32_t first = active.seen;
    double start = frame_number(&active, 16);
    for (int k = 0; k < 3; ++k)
        for (int a = 0; a < 400; ++a) {
            char text[64];
            snprintf(text, sizeof text, "{\"type\": \"ack\", \"frame\": %u}", active.seen + 100000);
            page_send(&silent[k], text);
            page_send(&silent[k], "{\"type\": \"ping\", \"sent\": 1}");
            if (a % 100 == 0) run_for(&active, 200);
        }
    run_for(&active, 2000);
    assert_true(active.seen > first + 20);
    assert_true(frame_number(&active, 16) > start);
    check_memory(p, before, 128);
    page_do(&active, "{\"type\": \"pause\"}");
    for (int k = 0; k < 3; ++k) page_close(&silent[k]);
    page_close(&active);
    check_it_serves(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_hosts_and_origins),
        cmocka_unit_test(test_paths_do_not_lead_out),
        cmocka_unit_test(test_scenes_read_no_files_elsewhere),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_random_frames),
        cmocka_unit_test(test_endless_frames),
        cmocka_unit_test(test_half_open_connections),
        cmocka_unit_test(test_silent_pages),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
