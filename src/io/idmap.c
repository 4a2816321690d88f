#include "io/io.h"

#include <limits.h>

struct hk_idmap {
    int64_t first;   // of a table: the smallest id
    uint64_t span;   // of a table: its length; 0: this is a hash
    uint64_t mask;   // of a hash: its size − 1, a power of two − 1
    int64_t *ids;    // of a hash: [mask + 1]
    int32_t *index;  // [span] or [mask + 1]; -1: free
};

// Finalizer of splitmix64: every bit of the id moves every bit of the place.
static inline uint64_t scatter(int64_t id)
{
    uint64_t z = (uint64_t)id + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

// The place of the id: where it is, or the free one where it would go.
static inline uint64_t hash_place(const hk_idmap *map, int64_t id)
{
    uint64_t place = scatter(id) & map->mask;
    while (map->index[place] >= 0 && map->ids[place] != id) place = (place + 1) & map->mask;
    return place;
}

static hk_status make_room(hk_idmap *map, int count, const int64_t *ids)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int i = 0; i < count; ++i) {
        if (ids[i] < least) least = ids[i];
        if (ids[i] > most) most = ids[i];
    }
    uint64_t gap = count ? (uint64_t)most - (uint64_t)least : 0;
    uint64_t places;
    if (gap < 4 * (uint64_t)count + 64) {
        map->first = count ? least : 0;
        map->span = places = gap + 1;
    } else {
        places = 16;
        while (places < 2 * (uint64_t)count) places *= 2;
        map->mask = places - 1;
        map->ids = HK_ARRAY(int64_t, places);
        if (!map->ids) return HK_NO_MEMORY;
    }
    map->index = HK_ARRAY(int32_t, places);
    if (!map->index) return HK_NO_MEMORY;
    memset(map->index, 0xff, places * sizeof(int32_t));
    return HK_OK;
}

hk_status hk_idmap_new(int count, const int64_t *ids, hk_idmap **map, int *duplicate)
{
    if (duplicate) *duplicate = -1;
    hk_idmap *made = HK_NEW(hk_idmap);
    if (!made) return HK_NO_MEMORY;
    hk_status status = make_room(made, count, ids);
    for (int i = 0; i < count && status == HK_OK; ++i) {
        uint64_t place;
        if (made->span) {
            place = (uint64_t)ids[i] - (uint64_t)made->first;
        } else {
            place = hash_place(made, ids[i]);
            made->ids[place] = ids[i];
        }
        if (made->index[place] >= 0) {
            if (duplicate) *duplicate = i;
            status = hk_fail(HK_BAD_INPUT, "the number %lld is used twice", (long long)ids[i]);
        } else {
            made->index[place] = i;
        }
    }
    if (status != HK_OK) {
        hk_idmap_free(made);
        return status;
    }
    *map = made;
    return HK_OK;
}

int hk_idmap_find(const hk_idmap *map, int64_t id)
{
    if (map->span) {
        uint64_t place = (uint64_t)id - (uint64_t)map->first;
        return place < map->span ? map->index[place] : -1;
    }
    return map->index[hash_place(map, id)];
}

void hk_idmap_free(hk_idmap *map)
{
    if (!map) return;
    hk_free(map->ids);
    hk_free(map->index);
    hk_free(map);
}
