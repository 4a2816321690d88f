#include "io/soup.h"

#include <limits.h>

#include "mesh/quadratic.h"

static hk_status too_many(const char *what)
{
    return hk_fail(HK_UNSUPPORTED, "more than %d %s are not supported", INT_MAX, what);
}

hk_status hk_soup_vertices(hk_soup *soup, size_t count, const double *positions)
{
    if (!count) return HK_OK;
    size_t needed = soup->vertex_count + count;
    if (needed > INT_MAX) return too_many("vertices");
    HK_TRY(hk_reserve((void **)&soup->positions, soup->vertex_count, 3 * sizeof(double),
                      &soup->vertex_capacity, needed));
    memcpy(soup->positions + 3 * soup->vertex_count, positions, 3 * sizeof(double) * count);
    soup->vertex_count = needed;
    return HK_OK;
}

// The middles of one more tet; NULL: it is linear.
static hk_status add_middles(hk_soup *soup, const int32_t *middles)
{
    if (!middles && !soup->middles) return HK_OK;
    size_t tets = soup->tet_count, size = HK_MIDDLES * sizeof(int32_t);
    size_t before = soup->middles ? tets : 0;
    HK_TRY(hk_reserve((void **)&soup->middles, before, size, &soup->middle_capacity, tets + 1));
    memset(soup->middles + HK_MIDDLES * before, 0xff, (tets + 1 - before) * size);
    if (middles) memcpy(soup->middles + HK_MIDDLES * tets, middles, size);
    soup->quadratic_count += middles != NULL;
    return HK_OK;
}

static hk_status add_tet(hk_soup *soup, const int32_t corners[4], const int32_t *middles)
{
    if (soup->tet_count >= INT_MAX) return too_many("tets");
    HK_TRY(hk_reserve((void **)&soup->tets, soup->tet_count, 4 * sizeof(int32_t),
                      &soup->tet_capacity, soup->tet_count + 1));
    HK_TRY(add_middles(soup, middles));
    memcpy(soup->tets + 4 * soup->tet_count++, corners, 4 * sizeof(int32_t));
    return HK_OK;
}

hk_status hk_soup_tet(hk_soup *soup, const int32_t corners[4])
{
    return add_tet(soup, corners, NULL);
}

hk_status hk_soup_quadratic(hk_soup *soup, const int32_t nodes[10])
{
    return add_tet(soup, nodes, nodes + 4);
}

hk_status hk_soup_triangle(hk_soup *soup, int32_t a, int32_t b, int32_t c)
{
    if (soup->triangle_count >= INT_MAX) return too_many("triangles");
    HK_TRY(hk_reserve((void **)&soup->triangles, soup->triangle_count, 3 * sizeof(int32_t),
                      &soup->triangle_capacity, soup->triangle_count + 1));
    int32_t *triangle = soup->triangles + 3 * soup->triangle_count++;
    triangle[0] = a;
    triangle[1] = b;
    triangle[2] = c;
    return HK_OK;
}

hk_status hk_soup_line(hk_soup *soup, int32_t a, int32_t b)
{
    if (soup->line_count >= INT_MAX) return too_many("lines");
    HK_TRY(hk_reserve((void **)&soup->lines, soup->line_count, 2 * sizeof(int32_t),
                      &soup->line_capacity, soup->line_count + 1));
    int32_t *line = soup->lines + 2 * soup->line_count++;
    line[0] = a;
    line[1] = b;
    return HK_OK;
}

hk_status hk_soup_quadratic_face(hk_soup *soup, const int32_t nodes[6])
{
    int32_t four[4][3];
    hk_split_face(nodes, nodes[3], nodes[4], nodes[5], four);
    for (int k = 0; k < 4; k++) HK_TRY(hk_soup_triangle(soup, four[k][0], four[k][1], four[k][2]));
    return HK_OK;
}

hk_status hk_soup_polygon(hk_soup *soup, const int32_t *corners, size_t count)
{
    for (size_t i = 2; i < count; i++)
        HK_TRY(hk_soup_triangle(soup, corners[0], corners[i - 1], corners[i]));
    soup->split_polygons += count > 3;
    return HK_OK;
}

hk_status hk_soup_mesh(const hk_soup *soup, hk_mesh **mesh)
{
    hk_mesh *made = NULL;
    HK_TRY(hk_mesh_new((int)soup->vertex_count, (int)soup->tet_count, (int)soup->triangle_count,
                       &made));
    if (soup->vertex_count)
        memcpy(made->positions, soup->positions, 3 * sizeof(double) * soup->vertex_count);
    if (soup->tet_count) memcpy(made->tets, soup->tets, 4 * sizeof(int32_t) * soup->tet_count);
    if (soup->triangle_count)
        memcpy(made->triangles, soup->triangles, 3 * sizeof(int32_t) * soup->triangle_count);
    hk_status status = soup->middles ? hk_mesh_set_middles(made, soup->middles) : HK_OK;
    if (status == HK_OK && soup->line_count)
        status = hk_mesh_set_lines(made, (int)soup->line_count, soup->lines);
    if (status == HK_OK && soup->split_polygons)
        status = hk_mesh_add_note(made, "%zu polygon%s split into triangles", soup->split_polygons,
                                  soup->split_polygons == 1 ? "" : "s");
    if (status != HK_OK) {
        hk_mesh_free(made);
        return status;
    }
    *mesh = made;
    return HK_OK;
}

void hk_soup_free(hk_soup *soup)
{
    hk_free(soup->positions);
    hk_free(soup->tets);
    hk_free(soup->middles);
    hk_free(soup->triangles);
    hk_free(soup->lines);
    *soup = (hk_soup){0};
}
