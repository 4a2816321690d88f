// Parts as bytes: who has something to send names it once, in one function for both ways.
#ifndef HK_CLUSTER_PART_STREAM_H
#define HK_CLUSTER_PART_STREAM_H

#include "cluster/part.h"

// An array, or NULL, of a count that is known.
void hk_put_array(hk_stream *stream, void *array, int64_t count, size_t size);
#define PUT_ARRAY(s, array, count) hk_put_array(s, &(array), count, sizeof *(array))
void hk_put_text(hk_stream *stream, char **text);
// What it is made of, and made anew from that.
void hk_put_factor(hk_stream *stream, hk_time_factor **factor);

// part_contact.c: either may be NULL.
void hk_put_contact(hk_stream *stream, hk_model_contact **contact);
void hk_put_surface(hk_stream *stream, hk_part_surface **surface);

#endif
