// The list of contacts in blocks, for kernels that take several at once (feature_lanes.h).
#include "contact/contacts.h"
#include "contact/feature_lanes.h"

// At most one block of each kind is not full.
enum { KINDS = 3 };

hk_status hk_contacts_need_blocks(hk_contacts *c)
{
    size_t most = c->count / HK_FEATURE_LANES + KINDS;
    if (c->block_version == c->version) return HK_OK;
    HK_TRY(hk_reserve((void **)&c->block, 0, sizeof *c->block, &c->block_capacity, most));
    HK_TRY(hk_reserve((void **)&c->block_first, 0, sizeof *c->block_first, &c->block_first_capacity,
                      most));
    hk_feature_block *to = NULL;
    c->block_count = 0;
    for (size_t k = 0; k < c->count; k++) {
        const hk_contact *contact = &c->list[k];
        if (!to || to->count == HK_FEATURE_LANES || to->kind != contact->pair.kind) {
            to = &c->block[c->block_count];
            c->block_first[c->block_count++] = k;
            to->kind = contact->pair.kind;
            to->count = 0;
        }
        hk_feature_fill(to, to->count++, contact->point, &contact->pair, 0);
    }
    c->block_version = c->version;
    return HK_OK;
}

unsigned hk_contacts_near_in_block(const hk_contacts *c, size_t block, double nearer)
{
    const hk_feature_block *b = &c->block[block];
    const double *gap = c->gap + c->block_first[block];
    unsigned near = 0;
    for (int l = 0; l < b->count; l++)
        near |= (hk_gap_is_apart(gap[l], nearer, b->width[l]) ? 0u : 1u) << l;
    return near;
}
