// How faces that meet are told.
#include <stdlib.h>

#include "cli.h"

static char *face_text(const hk_intersection *found, int k)
{
    const int32_t *v = found->faces[k];
    const char *name = found->names[k];
    return cli_format("face (%d, %d, %d) of body %d%s%s%s", v[0], v[1], v[2], found->bodies[k],
                      name ? " (" : "", name ? name : "", name ? ")" : "");
}

char *cli_intersection_text(const hk_intersection *found)
{
    char *first = face_text(found, 0), *second = face_text(found, 1);
    char *text = cli_format("%s and %s near (%.6g, %.6g, %.6g) m", first, second, found->place[0],
                            found->place[1], found->place[2]);
    free(first);
    free(second);
    return text;
}

static json_t *name_json(const char *name)
{
    return name ? cli_json_text(name) : json_null();
}

json_t *cli_intersection_json(const hk_intersection *found)
{
    const int32_t *a = found->faces[0], *b = found->faces[1];
    return json_pack("{s:[i, i], s:[o, o], s:[[i, i, i], [i, i, i]], s:[o, o, o], s:b}", "bodies",
                     found->bodies[0], found->bodies[1], "names", name_json(found->names[0]),
                     name_json(found->names[1]), "faces", a[0], a[1], a[2], b[0], b[1], b[2],
                     "place", cli_json_real(found->place[0]), cli_json_real(found->place[1]),
                     cli_json_real(found->place[2]), "touching", found->touching);
}

char *cli_intersection_count(int64_t count, int64_t touching)
{
    char *rest = count == touching
                     ? cli_format(" (%s only)", count == 1 ? "it touches" : "they touch")
                 : touching > 0 ? cli_format(" (%lld of them only touch)", (long long)touching)
                                : cli_format("%s", "");
    char *text = cli_format("%lld pair%s of faces %s%s", (long long)count, count == 1 ? "" : "s",
                            count == 1 ? "meets" : "meet", rest);
    free(rest);
    return text;
}
