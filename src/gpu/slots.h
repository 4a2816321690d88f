// Which slots of shared memory the corners of a round write to, and in which order elements read
// their vertices: so that threads seldom have to wait for each other's.
//
// Eight neighbouring threads write (and read) 16 bytes of shared memory each at once if no two of
// them want different places of one bank; here a bank is the number of a slot, or of a vertex in
// the patch, modulo 8.
#ifndef HK_SLOTS_H
#define HK_SLOTS_H

#include "gpu/layout.h"

enum { HK_GPU_BANKS = 8 };

// How many of eight threads write to a bank, for every corner number.
typedef struct hk_gpu_bank_load {
    uint8_t of[4][HK_GPU_BANKS];
} hk_gpu_bank_load;

// What numbering the slots of one round needs.
typedef struct hk_gpu_slot_workspace {
    int32_t *first_corner;    // [most_own] of an own vertex, in the lists by vertex
    int32_t *corners_left;    // [most_own] without a slot
    uint16_t *corner_slot;    // [4 round_size] of the corners, vertex by vertex
    int32_t *corner_at;       // [4 round_size] 4 times the item, and which corner of it: the same
    hk_gpu_bank_load *loads;  // [round_size / HK_GPU_BANKS + 1]
} hk_gpu_slot_workspace;

hk_status hk_gpu_slot_workspace_make(hk_gpu_slot_workspace *workspace, int most_own,
                                     int round_size);
void hk_gpu_slot_workspace_free(hk_gpu_slot_workspace *workspace);

// The corners of an element may come in any order, and are given the one with the fewest clashes.
void hk_gpu_order_corners(hk_gpu_item *items, int count);
// Fills slots of the round's items, how many corners each own vertex has, and where the slots of
// each slice of own vertices begin.
void hk_gpu_number_slots(const hk_gpu_slot_workspace *workspace, int own, const hk_gpu_round *round,
                         hk_gpu_item *items, uint16_t *count, uint16_t *base);
// How many slots these corners of own vertices take, with those that are left out.
int hk_gpu_slots_of(int own, const uint16_t *count);

static inline int hk_gpu_slices(int vertices)
{
    return (vertices + HK_GPU_SLICE - 1) / HK_GPU_SLICE;
}

#endif
