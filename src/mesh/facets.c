#include "mesh/facets.h"

const int hk_tet_faces[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

static void order_two(int32_t *a, int32_t *b)
{
    if (*a <= *b) return;
    int32_t kept = *a;
    *a = *b;
    *b = kept;
}

static uint64_t pack(int32_t middle, int32_t high)
{
    return (uint64_t)(uint32_t)middle << 32 | (uint32_t)high;
}

// A facet that repeats a vertex is marked by the lowest vertex −1.
void hk_tet_face(const int32_t *tets, int64_t facet, int32_t *low, uint64_t *key)
{
    const int32_t *tet = tets + 4 * (facet / 4);
    const int *corners = hk_tet_faces[facet % 4];
    int32_t a = tet[corners[0]], b = tet[corners[1]], c = tet[corners[2]];
    order_two(&a, &b);
    order_two(&b, &c);
    order_two(&a, &b);
    *low = a == b || b == c ? -1 : a;
    *key = pack(b, c);
}

void hk_triangle_edge(const int32_t *triangles, int64_t facet, int32_t *low, uint64_t *key)
{
    const int32_t *triangle = triangles + 3 * (facet / 3);
    int corner = (int)(facet % 3);
    int32_t a = triangle[corner], b = triangle[corner == 2 ? 0 : corner + 1];
    order_two(&a, &b);
    *low = a == b ? -1 : a;
    *key = pack(0, b);
}

static void visit_bucket(int32_t low, const hk_keyed *bucket, size_t count, hk_run_fn *visit,
                         void *context)
{
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && bucket[end].key == bucket[first].key) end++;
        visit(context, low, bucket + first, end - first);
    }
}

// Facets go into one bucket for each lowest vertex (a counting sort), and each bucket is sorted by
// key. Buckets are short in any reasonable mesh, and long ones are sorted in linear time too.
hk_status hk_visit_facets(int vertex_count, int64_t facet_count, const int32_t *elements,
                          hk_facet_fn *facet, hk_run_fn *visit, void *context)
{
    size_t *starts = HK_ZEROS(size_t, (size_t)vertex_count + 1);
    hk_keyed *pairs = starts ? HK_ARRAY(hk_keyed, facet_count) : NULL;
    hk_keyed *scratch = NULL;
    hk_status status = HK_NO_MEMORY;
    if (!pairs) goto done;

    int32_t low;
    uint64_t key;
    for (int64_t f = 0; f < facet_count; f++) {
        facet(elements, f, &low, &key);
        if (low >= 0) starts[low]++;
    }
    size_t sum = 0, longest = 0;
    for (int v = 0; v <= vertex_count; v++) {
        size_t here = starts[v];
        if (here > longest) longest = here;
        starts[v] = sum;
        sum += here;
    }
    scratch = HK_ARRAY(hk_keyed, longest);
    if (!scratch) goto done;
    for (int64_t f = 0; f < facet_count; f++) {
        facet(elements, f, &low, &key);
        if (low >= 0) pairs[starts[low]++] = (hk_keyed){key, f};
    }
    // Now starts[v] is where bucket v ends.
    size_t begin = 0;
    for (int v = 0; v < vertex_count; v++) {
        size_t count = starts[v] - begin;
        hk_sort_keyed(pairs + begin, scratch, count);
        visit_bucket(v, pairs + begin, count, visit, context);
        begin = starts[v];
    }
    status = HK_OK;
done:
    hk_free(scratch);
    hk_free(pairs);
    hk_free(starts);
    return status;
}
