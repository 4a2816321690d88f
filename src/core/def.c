#include "core/def.h"

// Where a field ends.
#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

#define CHECK(name, last)                                                             \
    _Static_assert(offsetof(hk_##name##_def, def_size) == 0, "the size comes first"); \
    _Static_assert(END_OF(hk_##name##_def, last) == sizeof(hk_##name##_def), "padding");
#define GROWS(name, first, last)                                                                 \
    const hk_def_kind hk_def_##name = {#name, END_OF(hk_##name##_def, first),                    \
                                       sizeof(hk_##name##_def), sizeof(hk_##name##_def), false}; \
    CHECK(name, last)
#define EMBEDDED(name)                                                      \
    const hk_def_kind hk_def_##name = {#name, sizeof(hk_##name##_def),      \
                                       offsetof(hk_##name##_def, reserved), \
                                       sizeof(hk_##name##_def), true};      \
    CHECK(name, reserved)
HK_DEF_KINDS(GROWS, EMBEDDED)
#undef GROWS
#undef EMBEDDED
#undef CHECK

// More than that beyond the library's own is no newer version but rubbish.
enum { MOST_GROWTH = 4096 };

static size_t size_of(const void *def)
{
    return *(const size_t *)def;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

void hk_def_fill(const hk_def_kind *kind, const void *standard, void *def, size_t size)
{
    if (!def || size < sizeof size) return;
    memset(def, 0, size);
    memcpy(def, standard, smaller(size, kind->bytes));
    memcpy(def, &size, sizeof size);
}

bool hk_is_zero(const void *block, size_t from, size_t to)
{
    const char *bytes = block;
    for (size_t k = from; k < to; k++)
        if (bytes[k] != 0) return false;
    return true;
}

hk_status hk_def_check(const hk_def_kind *kind, const void *def)
{
    size_t size = size_of(def);
    size_t most = kind->bytes + (kind->embedded ? 0 : MOST_GROWTH);
    if (size < kind->first || size > most || size % sizeof(double) != 0)
        return hk_fail(HK_BAD_INPUT,
                       "hk_%s_def: its def_size is %zu (%zu in this version): start from "
                       "hk_default_%s_def()",
                       kind->name, size, kind->bytes, kind->name);
    if (!hk_is_zero(def, kind->known, size))
        return hk_fail(HK_UNSUPPORTED,
                       "hk_%s_def: the program is newer than the library (%s) and sets a field "
                       "that the library does not know",
                       kind->name, hk_version());
    return HK_OK;
}

hk_status hk_def_take(const hk_def_kind *kind, const void *def, void *own)
{
    HK_TRY(hk_def_check(kind, def));
    memcpy(own, def, smaller(size_of(def), kind->bytes));
    memcpy(own, &kind->bytes, sizeof kind->bytes);
    return HK_OK;
}

hk_status hk_def_take_at(const hk_def_kind *kind, const void *array, int k, void *own)
{
    HK_TRY(hk_def_check(kind, array));  // its size leads to the others
    const void *def = hk_def_at(array, k);
    if (size_of(def) != size_of(array))
        return hk_fail(HK_BAD_INPUT,
                       "hk_%s_def %d of a list: its def_size is %zu, that of the first is %zu: "
                       "start from hk_default_%s_def()",
                       kind->name, k, size_of(def), size_of(array), kind->name);
    return hk_def_take(kind, def, own);
}

bool hk_def_set_beyond(const hk_def_kind *kind, const void *def, const void *standard, size_t size)
{
    const char *a = def, *b = standard;
    return size < kind->bytes && memcmp(a + size, b + size, kind->bytes - size) != 0;
}
