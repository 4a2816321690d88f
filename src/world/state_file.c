// The file of a state: what frames it, and whether it is whole.
#include "world/state.h"

#include <stdio.h>

static const char magic[8] = "HKSTATE\n";
enum { VERSION = 4, ORDER = 0x01020304, MOST_BODIES = 1 << 24 };

typedef struct header {
    char magic[8];
    uint32_t version, order;
    uint64_t size, checksum;  // of what follows
} header;

// FNV-1a, eight bytes at a time: finds damage, not ill will.
uint64_t hk_state_hash(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    const uint64_t prime = 1099511628211u;
    for (; size >= 8; size -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        hash = (hash ^ word) * prime;
        hash ^= hash >> 32;
    }
    for (; size > 0; size--, bytes++) hash = (hash ^ *bytes) * prime;
    return hash;
}

hk_status hk_state_file_save(const char *path, const hk_stream *body)
{
    header head = {.version = VERSION, .order = ORDER, .size = body->size};
    memcpy(head.magic, magic, sizeof magic);
    head.checksum = hk_state_hash(HK_STATE_SEED, body->data, body->size);
    hk_out *out;
    HK_TRY(hk_out_open(path, &out));
    hk_out_bytes(out, &head, sizeof head);
    hk_out_bytes(out, body->data, body->size);
    return hk_out_commit(out);
}

// ---------------------------------------------------------------- reading

static hk_status check_header(const char *path, const hk_bytes *bytes)
{
    header head;
    if (bytes->size < sizeof head || memcmp(bytes->data, magic, sizeof magic) != 0)
        return hk_fail(HK_BAD_INPUT, "%s: this is no state of Hooke (.hks)", path);
    memcpy(&head, bytes->data, sizeof head);
    if (head.order != ORDER)
        return hk_fail(HK_BAD_INPUT, "%s: the state is of a machine of another byte order", path);
    if (head.version != VERSION)
        return hk_fail(HK_BAD_INPUT, "%s: the state has version %u, and this is Hooke %s for %d",
                       path, head.version, hk_version(), VERSION);
    size_t rest = bytes->size - sizeof head;
    if (head.size != rest)
        return hk_fail(HK_BAD_INPUT, "%s: the state is cut short or has something after it", path);
    if (head.checksum != hk_state_hash(HK_STATE_SEED, bytes->data + sizeof head, rest))
        return hk_fail(HK_BAD_INPUT, "%s: the state is damaged (its checksum is wrong)", path);
    return HK_OK;
}

static hk_status read_bodies(hk_stream *s, hk_state_file *f)
{
    int start = 0;
    HK_STREAM(s, f->body_count);
    if (s->status == HK_OK && (f->body_count < 0 || f->body_count > MOST_BODIES))
        return hk_fail(HK_BAD_INPUT, "it has %d bodies", f->body_count);
    if (s->status != HK_OK) return s->status;
    f->bodies = HK_ZEROS(hk_state_body, f->body_count);
    if (!f->bodies) return HK_NO_MEMORY;
    for (int b = 0; b < f->body_count; b++) {
        hk_state_body *body = &f->bodies[b];
        size_t length = 0, room = 0;
        hk_stream_list(s, (void **)&body->name, &length, &room, 1);
        HK_STREAM(s, body->vertex_count);
        if (s->status != HK_OK) return s->status;
        bool good = length > 0 && body->name[length - 1] == '\0' && body->vertex_count >= 0 &&
                    body->vertex_count <= f->vertex_count - start;
        if (!good) return hk_fail(HK_BAD_INPUT, "body %d is not as it should be", b);
        body->vertex_start = start;
        start += body->vertex_count;
    }
    return HK_OK;
}

static hk_status read_vectors(hk_stream *s, int vertex_count, double **vectors)
{
    size_t bytes = 3 * sizeof(double) * (size_t)vertex_count;
    if (vertex_count < 0 || bytes > s->size - s->at)
        return hk_fail(HK_BAD_INPUT, "it cannot have %d vertices", vertex_count);
    *vectors = HK_ARRAY(double, 3 * (size_t)vertex_count);
    if (!*vectors) return HK_NO_MEMORY;
    hk_stream_bytes(s, *vectors, bytes);
    return s->status;
}

static hk_status point_at(hk_stream *s, const void **block, size_t *size)
{
    uint64_t count;
    HK_STREAM(s, count);
    if (s->status != HK_OK) return s->status;
    if (count > s->size - s->at) return hk_fail(HK_BAD_INPUT, "a part of it is missing");
    *block = s->data + s->at;
    *size = (size_t)count;
    s->at += (size_t)count;
    return HK_OK;
}

static hk_status read_body(hk_stream *s, hk_state_file *f)
{
    HK_STREAM(s, f->model);
    HK_STREAM(s, f->method);
    HK_STREAM(s, f->time);
    HK_STREAM(s, f->vertex_count);
    if (s->status != HK_OK) return s->status;
    HK_TRY(read_bodies(s, f));
    HK_TRY(read_vectors(s, f->vertex_count, &f->positions));
    HK_TRY(read_vectors(s, f->vertex_count, &f->velocities));
    HK_TRY(point_at(s, &f->tears, &f->tears_size));
    HK_TRY(point_at(s, &f->state, &f->state_size));
    return point_at(s, &f->extra, &f->extra_size);
}

hk_status hk_state_file_load(const char *path, hk_state_file *f)
{
    *f = (hk_state_file){0};
    HK_TRY(hk_bytes_load(path, &f->bytes));
    HK_TRY(check_header(path, &f->bytes));
    hk_stream s = hk_stream_reader(f->bytes.data + sizeof(header), f->bytes.size - sizeof(header));
    hk_status status = read_body(&s, f);
    if (status == HK_OK || status == HK_NO_MEMORY) return status;
    char why[256];
    snprintf(why, sizeof why, "%s", hk_error());
    return hk_fail(status, "%s: %s", path, why);
}

void hk_state_file_release(hk_state_file *f)
{
    for (int b = 0; f->bodies && b < f->body_count; b++) hk_free(f->bodies[b].name);
    hk_free(f->bodies);
    hk_free(f->positions);
    hk_free(f->velocities);
    hk_bytes_free(&f->bytes);
    *f = (hk_state_file){0};
}

hk_status hk_state_extra(const char *path, hk_take_bytes_fn *take, void *context)
{
    if (!path || !take) return hk_fail(HK_BAD_INPUT, "hk_state_extra: path and take are needed");
    hk_state_file f;
    hk_status status = hk_state_file_load(path, &f);
    if (status == HK_OK) take(context, f.extra, f.extra_size);
    hk_state_file_release(&f);
    return status;
}
