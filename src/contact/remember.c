#include "contact/remember.h"

#include "contact/touches.h"

// Lists follow from where points were at the last detection, and how far it reached.
static void detect_again(hk_contacts *c, double reach, hk_stream *stream)
{
    if (reach < 0) {
        c->reach = -1;
        c->count = 0;
        return;
    }
    memcpy(c->x, c->base, 3 * sizeof(double) * (size_t)c->point_count);
    stream->status = hk_contacts_detect(c, reach);
}

// What is near follows from the centre: energies may be told from it before there is another one.
static void begin_touches(hk_contacts *c, size_t gaps, hk_stream *stream)
{
    hk_touches *t = c->touches;
    t->near_count = 0;
    t->placed = t->blocks = false;
    t->kernels = NULL;
    if (gaps != c->count || t->version != c->version)
        t->version = -1;
    else
        stream->status = hk_touches_recall(c);
}

// The next centre tells gaps from those of the last one.
static void remember_touches(hk_contacts *c, hk_stream *stream)
{
    hk_touches *t = c->touches;
    bool there = t != NULL;
    HK_STREAM(stream, there);
    if (!there || stream->status != HK_OK) return;
    if (!t) stream->status = hk_touches_create(c, &c->touches);
    if (stream->status != HK_OK) return;
    t = c->touches;
    size_t points = (size_t)c->point_count, gaps = t->version == c->version ? c->count : 0;
    HK_STREAM(stream, t->version);
    HK_STREAM(stream, t->motion);
    HK_STREAM(stream, t->limit);
    hk_stream_bytes(stream, t->centre, 3 * points * sizeof(double));
    hk_stream_list(stream, (void **)&t->gap, &gaps, &t->gap_capacity, sizeof *t->gap);
    if (stream->reading && stream->status == HK_OK) begin_touches(c, gaps, stream);
}

void hk_contacts_remember(hk_contacts *c, hk_stream *stream)
{
    size_t bytes = 3 * sizeof(double) * (size_t)c->point_count;
    double reach = c->reach;
    int64_t detections = c->detections, version = c->version;
    hk_stream_expect(stream, c->point_count);
    HK_STREAM(stream, reach);
    HK_STREAM(stream, detections);
    HK_STREAM(stream, version);
    HK_STREAM(stream, c->widest);
    HK_STREAM(stream, c->longest);
    HK_STREAM(stream, c->sweeps);
    HK_STREAM(stream, c->clamped);
    HK_STREAM(stream, c->blocking);
    HK_STREAM(stream, c->pushed);
    hk_stream_bytes(stream, c->base, bytes);
    hk_stream_list(stream, (void **)&c->pushes, &c->push_count, &c->push_capacity,
                   sizeof *c->pushes);
    if (stream->reading && stream->status == HK_OK) detect_again(c, reach, stream);
    hk_stream_bytes(stream, c->x, bytes);
    hk_stream_bytes(stream, c->kept, bytes);
    if (stream->reading) {
        c->detections = detections;
        c->version = version;
        c->gap_version = -1;  // gaps are found anew
    }
    remember_touches(c, stream);
}
