// Slow, endless and crooked requests: they get their answer, and others are served meanwhile.
#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include "client.h"

static const char bar[] =
    "{\"threads\": 1, \"bodies\": [{\"name\": \"bar\", \"mesh\": {\"box\": "
    "{\"size\": [1, 0.2, 0.2], \"cells\": [5, 2, 2]}},\n"
    "   \"material\": {\"young\": 5e5, \"poisson\": 0.4, \"density\": 1000},\n"
    "   \"fix\": [{\"box\": [[-0.001, -1, -1], [0.001, 1, 1]]}]}]}\n";
static const char tetrahedron[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\n"
                                  "f 2 3 4\nf 3 1 4\n";

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

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void check_it_serves(const studio_program *program)
{
    page p;
    page_open(&p, program);
    page_await(&p, "topology");
    page_do(&p, "{\"type\": \"edit\"}");
    page_do(&p, "{\"type\": \"step\", \"count\": 1}");
    page_close(&p);
}

// ---------------------------------------------------------------- slow ones

enum { MANY = 200 };  // more than the server has threads

// Requests of this head that go on with a byte now and then, and one as it should be among them.
static void drip(const studio_program *p, const char *head, double most_ms)
{
    char request[256], got[16];
    int slow[MANY];
    for (int k = 0; k < MANY; ++k) {
        slow[k] = connect_to(p);
        send(slow[k], head, strlen(head), MSG_NOSIGNAL);
    }
    int s = connect_to(p),
        length = snprintf(request, sizeof request,
                          "GET /api/tables?token=%s HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
                          p->token, p->port);
    send(s, request, (size_t)length, MSG_NOSIGNAL);
    struct pollfd answered = {.fd = s, .events = POLLIN};
    double begin = now_ms();
    while (poll(&answered, 1, 200) == 0) {
        if (now_ms() > begin + most_ms) fail_msg("not served after %g s", 1e-3 * most_ms);
        for (int k = 0; k < MANY; ++k) send(slow[k], "x", 1, MSG_NOSIGNAL);
    }
    assert_true(recv(s, got, 12, MSG_WAITALL) == 12 && memcmp(got, "HTTP/1.1 200", 12) == 0);
    close(s);
    for (int k = 0; k < MANY; ++k) close(slow[k]);
}

static void test_slow_headers(void **state)
{
    const studio_program *p = *state;
    drip(p, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ", 30000);
    check_it_serves(p);
}

// Without the token, with a wrong host, or for what is not there: answered, and not waited for.
static void test_slow_bodies(void **state)
{
    const studio_program *p = *state;
    static const char *const paths[] = {"/api/upload?name=x.obj", "/nothing?token=", "/"};
    for (int k = 0; k < 3; ++k) {
        char head[512];
        snprintf(head, sizeof head, "POST %s%s HTTP/1.1\r\nHost: %s:%d\r\n%s\r\n\r\n", paths[k],
                 k == 1 ? p->token : "", k == 2 ? "evil.example" : "localhost", p->port,
                 k == 0 ? "Content-Length: 100000000" : "Transfer-Encoding: chunked");
        drip(p, head, 30000);
    }
    check_it_serves(p);
}

// The answer to a body that is refused comes also to those who send all of it first.
static void test_refusals_arrive(void **state)
{
    const studio_program *p = *state;
    static const size_t sizes[] = {1, 1000, 300 << 10};
    char *body = calloc(1, sizes[2]);
    for (int k = 0; k < 3; ++k) {
        answer a = http(p, "POST", "/api/upload?name=x.obj", NULL, body, sizes[k]);
        assert_int_equal(a.status, 403);
        assert_non_null(strstr(a.body, "token"));
        answer_free(&a);
    }
    // A text that is too long, of somebody who may ask.
    size_t large = 6 << 20;
    body = realloc(body, large);
    memset(body, ' ', large);
    answer a = ask(p, "POST", "/api/check?path=here/scene.json", body, large);
    assert_int_equal(a.status, 413);
    answer_free(&a);
    free(body);
}

// ---------------------------------------------------------------- crooked ones

static void test_crooked_requests(void **state)
{
    const studio_program *p = *state;
    static const char *const requests[] = {
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\r\n\r\n\r\n",
        "GET /%00%ff%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /api/check HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        "POST /api/check HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST /api/check HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        "POST /api/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffff\r\n",
        "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\n\r\n",
        "CONNECT evil.example:80 HTTP/1.1\r\n\r\n",
        "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"};
    for (size_t k = 0; k < sizeof requests / sizeof requests[0]; ++k) {
        char got[16] = "";
        int s = connect_to(p);
        send(s, requests[k], strlen(requests[k]), MSG_NOSIGNAL);
        shutdown(s, SHUT_WR);
        ssize_t n = recv(s, got, 12, MSG_WAITALL);
        if (n == 12 && !(got[9] == '4' || got[9] == '5')) fail_msg("request %zu: %s", k, got);
        close(s);
    }
    char *head = malloc(70000);
    memset(head, 'a', 70000);
    memcpy(head, "GET / HTTP/1.1\r\nX: ", 19);
    int s = connect_to(p);
    send(s, head, 70000, MSG_NOSIGNAL);
    close(s);
    free(head);
    check_it_serves(p);
}

// ---------------------------------------------------------------- WebSocket

// A message in parts is not taken; control frames are answered, however many there are, and who
// does not read the answers holds up nobody but itself.
static void test_fragments_and_pings(void **state)
{
    const studio_program *p = *state;
    page q;
    page_open(&q, p);
    page_await(&q, "topology");
    const unsigned char part[] = {0x01, 0x82, 0, 0, 0, 0, '{', '"'};  // text, and not the last
    send(q.socket, part, sizeof part, MSG_NOSIGNAL);
    while (page_read(&q, 5000)) continue;
    char rest[64];
    assert_true(recv(q.socket, rest, sizeof rest, MSG_DONTWAIT) <= 0);
    page_close(&q);

    long before = program_memory(p);
    page flood[3];
    for (int k = 0; k < 3; ++k) page_open(&flood[k], p);
    static unsigned char pings[8192];
    for (size_t at = 0; at + 131 <= sizeof pings; at += 131) {
        memcpy(pings + at, (unsigned char[]){0x89, 0xfd, 0, 0, 0, 0}, 6);
        memset(pings + at + 6, 'p', 125);
    }
    size_t whole = sizeof pings - sizeof pings % 131;
    for (int round = 0; round < 400; ++round)
        for (int k = 0; k < 3; ++k)
            send(flood[k].socket, pings, whole, MSG_NOSIGNAL | MSG_DONTWAIT);
    check_it_serves(p);
    long now = program_memory(p);
    if (now > before + (96 << 10)) fail_msg("memory grew from %ld to %ld KiB", before, now);
    for (int k = 0; k < 3; ++k) page_close(&flood[k]);
    check_it_serves(p);
}

// ---------------------------------------------------------------- names

static bool is_plain(const char *name)
{
    for (const char *c = name; *c; ++c)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' && *c != '.') return false;
    return name[0] != '.' && name[0] != '-';
}

// Nothing of other names than plain ones in the uploads, nothing new beside them.
static void check_folders(const studio_program *p, int entries)
{
    char path[300];
    snprintf(path, sizeof path, "%s/up", p->folder);
    DIR *list = opendir(path);
    for (struct dirent *entry; (entry = readdir(list));)
        if (entry->d_name[0] != '.' && !is_plain(entry->d_name)) fail_msg("%s", entry->d_name);
    closedir(list);
    int count = 0;
    list = opendir(p->folder);
    for (struct dirent *entry; (entry = readdir(list));) count += entry->d_name[0] != '.';
    closedir(list);
    assert_int_equal(count, entries);
}

static void test_names_of_uploads(void **state)
{
    const studio_program *p = *state;
    static const char *const names[] = {"../x.obj",    "..%2f..%2fx.obj",
                                        "/etc/x.obj",  "con.obj",
                                        "NUL.OBJ",     "-rf.obj",
                                        ".obj",        ".hidden.obj",
                                        "%20.obj",     "a%0d%0aSet-Cookie:x.obj",
                                        "a%00b.obj",   "%f0%9f%90%84%e6%bc%a2.obj",
                                        "%ff%fe.obj",  "x;$(touch+y).obj",
                                        "a\\..\\b.obj"};
    char path[9000];
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
        snprintf(path, sizeof path, "/api/upload?name=%s", names[k]);
        answer a = ask(p, "POST", path, tetrahedron, strlen(tetrahedron));
        json_t *object = json_loadb(a.body, a.size, 0, NULL);
        assert_non_null(object);  // whatever the answer is, it is JSON
        const char *mesh = json_string_value(json_object_get(object, "mesh"));
        if (a.status == 200) {
            assert_true(mesh && strncmp(mesh, "uploads/", 8) == 0 && is_plain(mesh + 8));
        } else if (a.status / 100 != 4) {
            fail_msg("%s: %d", names[k], a.status);
        }
        json_decref(object);
        answer_free(&a);
    }
    memset(path, 'n', sizeof path);  // the name of a file has 255 bytes at most
    memcpy(path, "/api/upload?name=", 17);
    strcpy(path + 400, ".obj");
    answer long_name = ask(p, "POST", path, tetrahedron, strlen(tetrahedron));
    assert_int_equal(long_name.status, 200);
    answer_free(&long_name);
    for (int bad = 0; bad < 3; ++bad) {
        static const char *const refused[] = {"x.sh", "x.json", "obj"};
        snprintf(path, sizeof path, "/api/upload?name=%s", refused[bad]);
        answer a = ask(p, "POST", path, tetrahedron, strlen(tetrahedron));
        assert_int_equal(a.status, 400);
        assert_non_null(strstr(a.body, ".obj, .stl"));  // what it could be
        answer_free(&a);
    }
    check_folders(p, 2);  // the scene and the uploads
}

// Links that somebody put into the uploads, or into the scene's folder, are not written through.
static void test_links(void **state)
{
    const studio_program *p = *state;
    static const char *const links[] = {"up/saved.json", "up/saved-rest.msh", "up/cow.obj",
                                        "up/cow.json", "linked.json"};
    char path[512], victim[512], text[8] = "";
    snprintf(victim, sizeof victim, "%s.victim", p->folder);
    FILE *file = fopen(victim, "w");
    fputs("mine", file);
    fclose(file);
    for (int k = 0; k < 5; ++k) {
        snprintf(path, sizeof path, "%s/%s", p->folder, links[k]);
        assert_int_equal(symlink(victim, path), 0);
    }
    page q;
    page_open(&q, p);
    page_await(&q, "topology");
    page_do(&q, "{\"type\": \"edit\"}");
    json_t *refused = page_ask(&q, "{\"type\": \"save\", \"name\": \"saved\"}");
    assert_string_equal(json_string_value(json_object_get(refused, "type")), "error");
    assert_non_null(strstr(json_string_value(json_object_get(refused, "message")), "leads out"));
    json_decref(refused);
    page_do(&q, "{\"type\": \"save\", \"name\": \"../../saved\"}");
    page_do(&q, "{\"type\": \"mode\", \"mode\": \"design\"}");
    page_await_value(&q, "design", "state", "converged");
    snprintf(path, sizeof path, "%s/up/saved.json", p->folder);
    unlink(path);
    refused = page_ask(&q, "{\"type\": \"save\", \"name\": \"saved\"}");  // beside it its mesh
    assert_string_equal(json_string_value(json_object_get(refused, "type")), "error");
    json_decref(refused);
    page_do(&q, "{\"type\": \"mode\", \"mode\": \"live\"}");
    page_close(&q);
    answer a = ask(p, "POST", "/api/upload?name=cow.obj", tetrahedron, strlen(tetrahedron));
    assert_int_equal(a.status, 200);
    assert_null(strstr(a.body, "uploads/cow.obj"));  // it has got another name
    answer_free(&a);
    a = ask(p, "PUT", "/api/scene?path=here/linked.json", bar, strlen(bar));
    assert_int_equal(a.status, 403);
    answer_free(&a);
    a = ask(p, "GET", "/api/gallery", "", 0);
    assert_null(strstr(a.body, "linked"));
    answer_free(&a);
    file = fopen(victim, "r");
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "mine");
    unlink(victim);
}

// An address that cannot be listened on is told by what is wrong with it.
static void test_addresses(void **state)
{
    const studio_program *p = *state;
    static const char *const tries[][2] = {
        {"::1", "IPv6"}, {"evil.example", "expected an address"}, {"192.0.2.1", "cannot listen"}};
    for (int k = 0; k < 3; ++k) {
        char command[1024], said[512] = "";
        snprintf(command, sizeof command,
                 "timeout 10 %s studio --no-open --listen %s --uploads %s/up 2>&1", HOOKE_PROGRAM,
                 tries[k][0], p->folder);
        FILE *out = popen(command, "r");
        assert_non_null(out);
        char *line = fgets(said, sizeof said, out);
        bool serves = line && strncmp(line, "http://[::1]", 12) == 0;  // with another civetweb
        pclose(out);
        if (!serves && !strstr(said, tries[k][1])) fail_msg("%s: %s", tries[k][0], said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_of_uploads),    cmocka_unit_test(test_links),
        cmocka_unit_test(test_crooked_requests),    cmocka_unit_test(test_refusals_arrive),
        cmocka_unit_test(test_slow_headers),        cmocka_unit_test(test_slow_bodies),
        cmocka_unit_test(test_fragments_and_pings), cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
