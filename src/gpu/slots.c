#include "gpu/slots.h"

enum { GROUP = HK_GPU_BANKS };  // of threads

hk_status hk_gpu_slot_workspace_make(hk_gpu_slot_workspace *workspace, int most_own, int round_size)
{
    size_t corners = 4 * (size_t)round_size;
    workspace->first_corner = HK_ARRAY(int32_t, most_own);
    workspace->corners_left = HK_ARRAY(int32_t, most_own);
    workspace->corner_slot = HK_ARRAY(uint16_t, corners);
    workspace->corner_at = HK_ARRAY(int32_t, corners);
    workspace->loads = HK_ARRAY(hk_gpu_bank_load, round_size / GROUP + 1);
    bool all = workspace->first_corner && workspace->corners_left && workspace->corner_slot &&
               workspace->corner_at && workspace->loads;
    return all ? HK_OK : HK_NO_MEMORY;
}

void hk_gpu_slot_workspace_free(hk_gpu_slot_workspace *workspace)
{
    hk_free(workspace->first_corner);
    hk_free(workspace->corners_left);
    hk_free(workspace->corner_slot);
    hk_free(workspace->corner_at);
    hk_free(workspace->loads);
}

// ---------------------------------------------------------------- slots

// Gives a corner the free slot of its vertex that clashes least with what its neighbours write.
static int take_slot(uint16_t *slots, int *left, uint8_t *load)
{
    int best = 0;
    for (int k = 1; k < *left; k++)
        if (load[slots[k] % GROUP] < load[slots[best] % GROUP]) best = k;
    int slot = slots[best];
    slots[best] = slots[--*left];
    load[slot % GROUP]++;
    return slot;
}

// Counts the corners of the own vertices, and where those of each begin in the lists by vertex.
static int count_corners(const hk_gpu_slot_workspace *workspace, int own, const hk_gpu_round *round,
                         const hk_gpu_item *items, uint16_t *count)
{
    int32_t corners = 0, most = 0;
    memset(count, 0, sizeof *count * (size_t)own);
    for (int k = round->first; k < round->last; k++)
        for (int c = 0; c < 4; c++)
            if (items[k].corner[c] < own) count[items[k].corner[c]]++;
    for (int v = 0; v < own; v++) {
        workspace->first_corner[v] = corners;
        corners += count[v];
        most = hk_max_int(most, count[v]);
    }
    return most;
}

// In a slice the first corners of all its vertices come first, then the second ones of those that
// have a second one, and so on.
static void list_slots(const hk_gpu_slot_workspace *workspace, int own, const uint16_t *count,
                       int most, uint16_t *base)
{
    int slot = HK_GPU_FIRST_SLOT;
    for (int s = 0; s < hk_gpu_slices(own); s++) {
        base[s] = (uint16_t)slot;
        int first = s * HK_GPU_SLICE, last = hk_min_int(own, first + HK_GPU_SLICE);
        for (int rank = 0; rank < most; rank++) {
            int before = slot;
            for (int v = first; v < last; v++)
                if (count[v] > rank)
                    workspace->corner_slot[workspace->first_corner[v] + rank] = (uint16_t)slot++;
            if (slot > before) slot += HK_GPU_SKEW;
        }
    }
}

static void assign_slots(const hk_gpu_slot_workspace *workspace, int own, const hk_gpu_round *round,
                         const uint16_t *count, hk_gpu_item *items)
{
    int32_t *left = workspace->corners_left;
    memset(workspace->loads, 0,
           sizeof *workspace->loads * (size_t)((round->last - round->first) / GROUP + 1));
    for (int v = 0; v < own; v++) left[v] = count[v];
    for (int k = round->first; k < round->last; k++)
        for (int c = 0; c < 4; c++) {
            int v = items[k].corner[c];
            if (v >= own) continue;
            int first = workspace->first_corner[v];
            workspace->corner_at[first + count[v] - left[v]] = 4 * k + c;
            items[k].slot[c] =
                (uint16_t)take_slot(workspace->corner_slot + first, &left[v],
                                    workspace->loads[(k - round->first) / GROUP].of[c]);
        }
}

static uint8_t *load_at(const hk_gpu_slot_workspace *workspace, const hk_gpu_round *round, int at)
{
    return workspace->loads[(at / 4 - round->first) / GROUP].of[at % 4];
}

// Lets a corner exchange its slot with the one of its vertex where fewer clash then, if there is
// one.
static void exchange_slot(const hk_gpu_slot_workspace *workspace, const hk_gpu_round *round, int at,
                          const int32_t *others, int count, hk_gpu_item *items)
{
    uint16_t *slot = &items[at / 4].slot[at % 4], *best = NULL;
    uint8_t *load = load_at(workspace, round, at), *best_load = NULL;
    int here = *slot % GROUP, most = 2;
    if (load[here] < 2) return;
    for (int k = 0; k < count; k++) {
        uint16_t *other = &items[others[k] / 4].slot[others[k] % 4];
        uint8_t *their = load_at(workspace, round, others[k]);
        int there = *other % GROUP;
        int gain = load[here] - load[there] + their[there] - their[here];  // by squares of loads
        if (there == here || their == load || gain <= most) continue;
        most = gain;
        best = other;
        best_load = their;
    }
    if (!best) return;
    int there = *best % GROUP;
    load[here]--, load[there]++, best_load[there]--, best_load[here]++;
    uint16_t swapped = *slot;
    *slot = *best;
    *best = swapped;
}

// Which of its corners is the first makes no difference to a vertex.
void hk_gpu_number_slots(const hk_gpu_slot_workspace *workspace, int own, const hk_gpu_round *round,
                         hk_gpu_item *items, uint16_t *count, uint16_t *base)
{
    int most = count_corners(workspace, own, round, items, count);
    list_slots(workspace, own, count, most, base);
    assign_slots(workspace, own, round, count, items);
    for (int v = 0; v < own; v++) {
        const int32_t *corners = workspace->corner_at + workspace->first_corner[v];
        for (int k = 0; k < count[v]; k++)
            exchange_slot(workspace, round, corners[k], corners, count[v], items);
    }
}

int hk_gpu_slots_of(int own, const uint16_t *count)
{
    int slots = HK_GPU_FIRST_SLOT, most = 0;
    for (int v = 0; v < own; v++) {
        if (v % HK_GPU_SLICE == 0) most = 0;
        slots += count[v] + HK_GPU_SKEW * hk_max_int(0, count[v] - most);
        most = hk_max_int(most, count[v]);
    }
    return slots;
}

// ---------------------------------------------------------------- the order of corners

enum { ORDERS = 24 };

typedef struct read_load {
    uint16_t vertex[4][GROUP][GROUP];  // of a corner number, of a bank
    uint8_t count[4][GROUP];
    uint8_t most[4];
} read_load;

static void corner_order(int number, int order[4])
{
    int left[4] = {0, 1, 2, 3};
    for (int c = 0, ways = 6; c < 4; c++) {
        int k = number / ways;
        number %= ways;
        order[c] = left[k];
        for (; k < 3; k++) left[k] = left[k + 1];
        ways /= 3 - c > 0 ? 3 - c : 1;
    }
}

static bool is_known(const read_load *load, int c, int vertex)
{
    int bank = vertex % GROUP;
    for (int k = 0; k < load->count[c][bank]; k++)
        if (load->vertex[c][bank][k] == vertex) return true;
    return false;
}

// How many more turns the reads take with the vertex as corner c, and a little for a fuller bank.
static int clash(const read_load *load, int c, int vertex)
{
    if (is_known(load, c, vertex)) return 0;
    int count = load->count[c][vertex % GROUP];
    return (count + 1 > load->most[c] ? 16 : 0) + count;
}

static void add_corner(read_load *load, int c, int vertex)
{
    int bank = vertex % GROUP;
    if (is_known(load, c, vertex)) return;
    load->vertex[c][bank][load->count[c][bank]++] = (uint16_t)vertex;
    if (load->count[c][bank] > load->most[c]) load->most[c] = load->count[c][bank];
}

void hk_gpu_order_corners(hk_gpu_item *items, int count)
{
    int orders[ORDERS][4];
    for (int n = 0; n < ORDERS; n++) corner_order(n, orders[n]);
    read_load load = {0};
    for (int k = 0; k < count; k++) {
        if (k % GROUP == 0) memset(&load, 0, sizeof load);
        uint16_t corner[4];
        memcpy(corner, items[k].corner, sizeof corner);
        int cost[4][4], best = 0, least = 1 << 20;
        for (int c = 0; c < 4; c++)
            for (int v = 0; v < 4; v++) cost[c][v] = clash(&load, c, corner[v]);
        for (int n = 0; n < ORDERS; n++) {
            int sum = 0;
            for (int c = 0; c < 4; c++) sum += cost[c][orders[n][c]];
            if (sum < least) {
                least = sum;
                best = n;
            }
        }
        for (int c = 0; c < 4; c++) {
            items[k].corner[c] = corner[orders[best][c]];
            add_corner(&load, c, items[k].corner[c]);
        }
    }
}
