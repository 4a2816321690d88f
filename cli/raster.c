// Draws layers of triangles: visibility first, by samples; then each visible triangle is shaded
// once a pixel.
#include "raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "colormap.h"
#include "light.h"

// ---------------------------------------------------------------- triangles into samples

// fminf and fmaxf cost a call each, for the sake of NaN, which does not come here.
static float lesser(float a, float b)
{
    return a < b ? a : b;
}

static float greater(float a, float b)
{
    return a > b ? a : b;
}

static int clamp_row(float y, int low, int high)
{
    float row = ceilf(y - 0.5f);
    return !(row > (float)low) ? low : row >= (float)high ? high : (int)row;
}

// One row of a triangle: depth is z at x = 0 plus slope·x, held within the triangle's own range.
static void raster_span(const raster_target *target, int row, int begin, int end, float z,
                        float slope, float least, float most, int32_t id)
{
    size_t start = (size_t)(row - target->first_row) * (size_t)target->width;
    float *depth = target->depth + start;
    int32_t *ids = target->id ? target->id + start : NULL;
    for (int x = begin; x < end; ++x) {
        float here = z + slope * (float)x;
        here = here < least ? least : here > most ? most : here;
        if (here > depth[x]) {
            depth[x] = here;
            if (ids) ids[x] = id;
        }
    }
}

void raster_triangle(const raster_target *target, const float a[3], const float b[3],
                     const float c[3], int32_t id)
{
    const float *v[3] = {a, b, c}, *swap;
    // By rising y, so that an edge is walked the same way from both of its triangles.
    if (v[1][1] < v[0][1]) swap = v[0], v[0] = v[1], v[1] = swap;
    if (v[2][1] < v[1][1]) swap = v[1], v[1] = v[2], v[2] = swap;
    if (v[1][1] < v[0][1]) swap = v[0], v[0] = v[1], v[1] = swap;
    int first = clamp_row(v[0][1], target->first_row, target->end_row);
    int end = clamp_row(v[2][1], target->first_row, target->end_row);
    if (first >= end) return;
    double px = (double)v[1][0] - v[0][0], py = (double)v[1][1] - v[0][1];
    double qx = (double)v[2][0] - v[0][0], qy = (double)v[2][1] - v[0][1];
    double pz = (double)v[1][2] - v[0][2], qz = (double)v[2][2] - v[0][2];
    double area = px * qy - qx * py;
    if (area == 0) return;
    double slope = (pz * qy - qz * py) / area, rise = (qz * px - pz * qx) / area;
    float least = lesser(a[2], lesser(b[2], c[2])), most = greater(a[2], greater(b[2], c[2]));
    double long_slope = qx / qy;
    double short_slope[2] = {py > 0 ? px / py : 0, qy > py ? (qx - px) / (qy - py) : 0};
    for (int row = first; row < end; ++row) {
        double y = row + 0.5;
        int lower = y >= v[1][1];  // below the middle corner
        double along = v[0][0] + (y - v[0][1]) * long_slope;
        double across = v[lower][0] + (y - v[lower][1]) * short_slope[lower];
        float x[2] = {(float)along, (float)across};
        int left = clamp_row(lesser(x[0], x[1]), 0, target->width);
        int right = clamp_row(greater(x[0], x[1]), 0, target->width);
        if (left >= right) continue;
        double z = v[0][2] + (y - v[0][1]) * rise + (0.5 - v[0][0]) * slope;
        raster_span(target, row, left, right, (float)z, (float)slope, least, most, id);
    }
}

// ---------------------------------------------------------------- what a drawing needs to know

enum {
    SAMPLES = 3,
    PER_PIXEL = SAMPLES * SAMPLES,
    BAND = 16,
    SHADOW_MAP = 1024,
    GAMMA_STEPS = 16384
};

// A layer on its way to the picture.
typedef struct stage {
    layer from;
    float *screen;   // [vertex_count][3] x, y in px, 1 / distance
    float *normals;  // [point_count][3]
    float *open;     // [point_count] light of the sky
} stage;

typedef struct studio {
    const drawing *drawing;
    int width, height;
    stage body, ghost;
    float eye[3];
    float key[3], fill[3], rim[3];  // directions towards the lights
    sphere bounds;                  // of the body
    depth_map shadow;               // of the key light
    ground ground;
    bool has_ground;
    float scale[256][3];           // the colour scale
    float bodies[BODY_COLORS][3];  // colours of bodies without values
    float obstacle[3];
    float backdrop[2][3];          // linear light
    float gamma[GAMMA_STEPS + 1];  // square root of linear light → sRGB, 0..255
} studio;

static float dot3(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void normalise3(float v[3])
{
    float length = sqrtf(dot3(v, v));
    for (int k = 0; k < 3; ++k) v[k] = length > 0 ? v[k] / length : (float)(k == 1);
}

static float between(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

static void stage_begin(stage *s, const layer *from, const camera *c)
{
    *s = (stage){.from = *from};
    const shape *sh = from->shape;
    if (!sh) return;
    s->screen = cli_realloc(NULL, 3 * (size_t)sh->vertex_count, sizeof(float));
    s->normals = cli_realloc(NULL, 3 * (size_t)sh->point_count, sizeof(float));
    for (int i = 0; i < sh->vertex_count; ++i) {
        float *at = s->screen + 3 * i;
        camera_project(c, from->positions + 3 * i, &at[0], &at[1], &at[2]);
        at[2] = 1 / at[2];
    }
    shape_normals(sh, from->positions, s->normals);
}

static void stage_end(stage *s)
{
    free(s->screen);
    free(s->normals);
    free(s->open);
}

// Lights stand around the camera, so that every view is lit well; the key light comes from above
// unless one looks from below.
static void place_lights(studio *st, const camera *c)
{
    float lift = c->back[1] > -0.3 ? 0.75f : 0;
    for (int k = 0; k < 3; ++k) {
        float right = (float)c->right[k], up = (float)c->up[k], back = (float)c->back[k];
        st->key[k] = -0.55f * right + 0.25f * up + 0.50f * back + (k == 1 ? lift : 0);
        st->fill[k] = 0.85f * right + 0.10f * up + 0.45f * back;
        st->rim[k] = 0.45f * right + 0.45f * up - 0.75f * back;
        st->eye[k] = (float)c->eye[k];
    }
    normalise3(st->key);
    normalise3(st->fill);
    normalise3(st->rim);
}

// The light of the sky at the points of the body and on the ground, in one go.
static void light_from_sky(studio *st)
{
    const shape *s = st->body.from.shape;
    int count = s->point_count, extra = st->has_ground ? GROUND_SIZE * GROUND_SIZE : 0;
    size_t all = (size_t)(count + extra);
    float *points = cli_realloc(NULL, 7 * all, sizeof(float));
    float *normals = points + 3 * all, *open = normals + 3 * all;
    for (int i = 0; i < count; ++i) {
        float *p = points + 3 * i, *n = normals + 3 * i, to_eye[3];
        memcpy(p, st->body.from.positions + 3 * s->point_vertex[i], 3 * sizeof(float));
        memcpy(n, st->body.normals + 3 * i, 3 * sizeof(float));
        for (int k = 0; k < 3; ++k) to_eye[k] = st->eye[k] - p[k];
        // Of an open surface the side that is seen matters.
        if (s->open && dot3(n, to_eye) < 0)
            for (int k = 0; k < 3; ++k) n[k] = -n[k];
    }
    if (extra) ground_points(&st->ground, points + 3 * count, normals + 3 * count);
    sky_light(&st->body.from, &st->bounds, points, normals, count + extra, open);
    st->body.open = cli_realloc(NULL, (size_t)count, sizeof(float));
    memcpy(st->body.open, open, (size_t)count * sizeof(float));
    if (extra) ground_take_light(&st->ground, open + count);
    free(points);
}

static void studio_begin(studio *st, const drawing *d, int width, int height)
{
    *st = (studio){.drawing = d, .width = width, .height = height};
    stage_begin(&st->body, &d->body, &d->camera);
    stage_begin(&st->ghost, &d->ghost, &d->camera);
    place_lights(st, &d->camera);
    const colormap *map = d->map ? d->map : colormap_at(0);
    for (int i = 0; i < 256; ++i) colormap_color(map, (float)i / 255, st->scale[i]);
    for (int i = 0; i < BODY_COLORS; ++i) body_color(i, st->bodies[i]);
    body_color(OBSTACLE_COLOR, st->obstacle);
    for (int i = 0; i <= GAMMA_STEPS; ++i) {
        float root = (float)i / GAMMA_STEPS;
        st->gamma[i] = linear_to_srgb(root * root);
    }
    for (int k = 0; k < 3; ++k) {
        st->backdrop[0][k] = srgb_to_linear((float)d->backdrop.top[k] / 255);
        st->backdrop[1][k] = srgb_to_linear((float)d->backdrop.bottom[k] / 255);
    }
    const shape *s = d->body.shape;
    if (!s || s->triangle_count == 0) return;
    st->bounds = sphere_around(d->body.positions, s->vertex_count);
    st->shadow = depth_map_new(SHADOW_MAP);
    depth_map_draw(&st->shadow, &d->body, &st->bounds, st->key);
    st->has_ground = d->ground && st->eye[1] > d->ground_height;
    if (st->has_ground) st->ground = ground_new(&st->bounds, d->ground_height);
    light_from_sky(st);
}

static void studio_end(studio *st)
{
    stage_end(&st->body);
    stage_end(&st->ghost);
    depth_map_free(&st->shadow);
    ground_free(&st->ground);
}

// ---------------------------------------------------------------- shading

// What a sample sees of a triangle.
typedef struct hit {
    float weight[3];  // of the corners, in space
    float flat[3];    // of the corners, on the screen
    float place[3], normal[3];
    float edge[3];  // px to the edge opposite each corner
} hit;

static hit find_hit(const stage *s, int32_t t, float x, float y)
{
    const int32_t *v = s->from.shape->triangles + 3 * t, *p = s->from.shape->points + 3 * t;
    const float *a[3] = {s->screen + 3 * v[0], s->screen + 3 * v[1], s->screen + 3 * v[2]};
    hit h = {{0}, {0}, {0}, {0}, {0}};
    double area = ((double)a[1][0] - a[0][0]) * ((double)a[2][1] - a[0][1]) -
                  ((double)a[2][0] - a[0][0]) * ((double)a[1][1] - a[0][1]);
    float total = 0;
    for (int i = 0; i < 3; ++i) {
        const float *b = a[(i + 1) % 3], *c = a[(i + 2) % 3];
        double part =
            ((double)c[0] - b[0]) * ((double)y - b[1]) - ((double)c[1] - b[1]) * ((double)x - b[0]);
        h.flat[i] = area != 0 ? between((float)(part / area), 0, 1) : 1 / 3.0f;
        float length = hypotf(c[0] - b[0], c[1] - b[1]);
        h.edge[i] = length > 0 ? (float)fabs(part) / length : 0;
        h.weight[i] = h.flat[i] * a[i][2];
        total += h.weight[i];
    }
    for (int i = 0; i < 3; ++i) {
        h.weight[i] /= total;
        const float *n = s->normals + 3 * p[i], *at = s->from.positions + 3 * v[i];
        for (int k = 0; k < 3; ++k) {
            h.normal[k] += h.weight[i] * n[k];
            h.place[k] += h.weight[i] * at[k];
        }
    }
    normalise3(h.normal);
    return h;
}

// Whether the eye sees the back of the triangle; y points down on the screen.
static bool seen_from_behind(const stage *s, int32_t t)
{
    const int32_t *v = s->from.shape->triangles + 3 * t;
    const float *a = s->screen + 3 * v[0], *b = s->screen + 3 * v[1], *c = s->screen + 3 * v[2];
    return (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]) > 0;
}

static void surface_color(const studio *st, const layer *l, const int32_t *v, const float *weight,
                          float rgb[3])
{
    if (l->bodies && l->bodies[v[0]] == OBSTACLE_COLOR) {
        memcpy(rgb, st->obstacle, 3 * sizeof(float));
        return;
    }
    if (l->values) {
        float value = 0;
        for (int i = 0; i < 3; ++i) value += weight[i] * l->values[v[i]];
        memcpy(rgb, st->scale[(int)(255 * between(value, 0, 1) + 0.5f)], 3 * sizeof(float));
        return;
    }
    int largest = weight[0] >= weight[1] ? (weight[0] >= weight[2] ? 0 : 2)
                                         : (weight[1] >= weight[2] ? 1 : 2);
    int body = l->bodies ? l->bodies[v[largest]] : 0;
    const float(*own)[3] = st->drawing->body_colors;
    if (own && body < st->drawing->body_color_count && own[body][0] >= 0)
        memcpy(rgb, own[body], 3 * sizeof(float));
    else
        memcpy(rgb, st->bodies[body % BODY_COLORS], 3 * sizeof(float));
}

// How dark the lines of the triangles are here. Lines fade where triangles are too small to be
// told apart.
static float edge_cover(const hit *h, const studio *st, const stage *s, int32_t t)
{
    const int32_t *v = s->from.shape->triangles + 3 * t;
    float scale = st->drawing->scale, nearest = lesser(h->edge[0], lesser(h->edge[1], h->edge[2]));
    float longest = 0;
    for (int i = 0; i < 3; ++i) {
        const float *a = s->screen + 3 * v[i], *b = s->screen + 3 * v[(i + 1) % 3];
        longest = greater(longest, hypotf(a[0] - b[0], a[1] - b[1]));
    }
    float fade = between((longest - 3 * scale) / (9 * scale), 0.15f, 1);
    return fade * between(0.45f * scale + 0.5f - nearest, 0, 1);
}

static float power_of_32(float x)
{
    x *= x, x *= x, x *= x, x *= x;
    return x * x;
}

// Direct and surrounding light on a surface of the given colour.
static void light_surface(const studio *st, const float place[3], const float n[3], float open,
                          float rgb[3])
{
    float view[3], half[3];
    for (int k = 0; k < 3; ++k) view[k] = st->eye[k] - place[k];
    normalise3(view);
    for (int k = 0; k < 3; ++k) half[k] = view[k] + st->key[k];
    normalise3(half);
    float facing = dot3(n, st->key), key = 0, shine = 0;
    if (facing > 0) {
        float away = (1.0f + 2.0f * (1 - facing)) * 3 / st->shadow.scale;
        float moved[3];
        for (int k = 0; k < 3; ++k) moved[k] = place[k] + away * n[k];
        float lit = depth_map_light(&st->shadow, moved, 3.5f);
        key = lit * facing;
        shine = lit * 0.10f * power_of_32(greater(dot3(n, half), 0)) * lesser(4 * facing, 1);
    }
    float fill = greater(dot3(n, st->fill), 0), sky = 0.5f + 0.5f * n[1];
    float grazing = 1 - greater(dot3(n, view), 0);
    float rim = 0.35f * grazing * grazing * grazing * greater(dot3(n, st->rim) + 0.3f, 0) * open;
    float ambient = open * open * (0.28f + 0.24f * sky) + 0.04f;
    float light = 0.80f * key + 0.16f * fill * (0.3f + 0.7f * open) + ambient;
    for (int k = 0; k < 3; ++k) rgb[k] = rgb[k] * light + shine + rim;
}

static void shade_body(const studio *st, int32_t t, float x, float y, float rgb[3])
{
    const stage *s = &st->body;
    const int32_t *v = s->from.shape->triangles + 3 * t, *p = s->from.shape->points + 3 * t;
    hit h = find_hit(s, t, x, y);
    float open = 0;
    for (int i = 0; i < 3; ++i) open += h.weight[i] * s->open[p[i]];
    if (seen_from_behind(s, t))
        for (int k = 0; k < 3; ++k) h.normal[k] = -h.normal[k];
    surface_color(st, &s->from, v, h.weight, rgb);
    if (st->drawing->edges) {
        float keep = 1 - 0.72f * edge_cover(&h, st, s, t);
        for (int k = 0; k < 3; ++k) rgb[k] *= keep;
    }
    light_surface(st, h.place, h.normal, open, rgb);
}

// The ghost is glass: clear where one looks straight at it, denser where one grazes it.
static float shade_ghost(const studio *st, int32_t t, float x, float y)
{
    const stage *s = &st->ghost;
    hit h = find_hit(s, t, x, y);
    float view[3], nearest = INFINITY, scale = st->drawing->scale;
    for (int k = 0; k < 3; ++k) view[k] = st->eye[k] - h.place[k];
    normalise3(view);
    float grazing = 1 - fabsf(dot3(h.normal, view));
    for (int i = 0; i < 3; ++i)
        if (s->from.shape->sharp[t] >> i & 1) nearest = lesser(nearest, h.edge[i]);
    float line = between(0.8f * scale + 0.5f - nearest, 0, 1);
    return greater(0.10f + 0.5f * grazing * grazing * grazing, 0.6f * line);
}

// ---------------------------------------------------------------- the backdrop

// What is behind the bodies at a pixel: premultiplied light and cover.
static void shade_backdrop(const studio *st, float x, float y, float rgba[4])
{
    const drawing *d = st->drawing;
    float t = y / (float)st->height, dark = 0;
    if (st->has_ground) {
        const camera *c = &d->camera;
        double ray[3], across = (x - c->center[0]) / c->focal,
                       upward = (c->center[1] - y) / c->focal;
        for (int k = 0; k < 3; ++k) ray[k] = across * c->right[k] + upward * c->up[k] - c->back[k];
        double reach = ray[1] < -1e-6 ? (d->ground_height - c->eye[1]) / ray[1] : -1;
        if (reach > 0) {
            float at[3];
            for (int k = 0; k < 3; ++k) at[k] = (float)(c->eye[k] + reach * ray[k]);
            at[1] += 3 / st->shadow.scale;
            float sky = ground_light(&st->ground, at[0], at[2]);
            float key = depth_map_light(&st->shadow, at, 9);
            dark = 1 - (0.55f + 0.45f * sky * sky) * (0.80f + 0.20f * key);
        }
    }
    for (int k = 0; k < 3; ++k) {
        float light = (1 - t) * st->backdrop[0][k] + t * st->backdrop[1][k];
        rgba[k] = d->backdrop.transparent ? 0 : light * (1 - dark);
    }
    rgba[3] = d->backdrop.transparent ? dark : 1;
}

// ---------------------------------------------------------------- pixels

// The samples of a pixel.
typedef struct pixel {
    int x, y;
    int32_t body[PER_PIXEL], ghost[PER_PIXEL];  // triangles, -1 for none
    float before[PER_PIXEL];                    // 0..1: how far the ghost is before the body
} pixel;

// The mean place of the samples that show the same triangle as sample `first`; marks them with
// `slot`.
static void gather(const int32_t *ids, const pixel *p, int first, int8_t *slots, int8_t slot,
                   float *x, float *y)
{
    float sum[2] = {0, 0};
    int count = 0;
    for (int i = first; i < PER_PIXEL; ++i)
        if (ids[i] == ids[first]) {
            slots[i] = slot;
            sum[0] += (float)(i % SAMPLES) + 0.5f, sum[1] += (float)(i / SAMPLES) + 0.5f;
            ++count;
        }
    *x = (float)p->x + sum[0] / (float)(count * SAMPLES);
    *y = (float)p->y + sum[1] / (float)(count * SAMPLES);
}

static void shade_pixel(const studio *st, const pixel *p, float rgba[4])
{
    static const float ghost_color[3] = {0.22f, 0.27f, 0.36f};
    float behind[4] = {0, 0, 0, 0}, bodies[PER_PIXEL][3], ghosts[PER_PIXEL];
    int8_t body_slot[PER_PIXEL], ghost_slot[PER_PIXEL];
    memset(body_slot, -1, sizeof body_slot);
    memset(ghost_slot, -1, sizeof ghost_slot);
    bool bare = false;
    for (int i = 0; i < PER_PIXEL; ++i) {
        float x, y;
        bare |= p->body[i] < 0;
        if (p->body[i] >= 0 && body_slot[i] < 0) {
            gather(p->body, p, i, body_slot, (int8_t)i, &x, &y);
            shade_body(st, p->body[i], x, y, bodies[i]);
        }
        if (p->ghost[i] >= 0 && ghost_slot[i] < 0) {
            gather(p->ghost, p, i, ghost_slot, (int8_t)i, &x, &y);
            ghosts[i] = shade_ghost(st, p->ghost[i], x, y);
        }
    }
    if (bare) shade_backdrop(st, (float)p->x + 0.5f, (float)p->y + 0.5f, behind);
    for (int k = 0; k < 4; ++k) rgba[k] = 0;
    for (int i = 0; i < PER_PIXEL; ++i) {
        float sample[4] = {behind[0], behind[1], behind[2], behind[3]};
        if (body_slot[i] >= 0) {
            for (int k = 0; k < 3; ++k) sample[k] = lesser(bodies[body_slot[i]][k], 1);
            sample[3] = 1;
        }
        if (ghost_slot[i] >= 0) {
            float cover = ghosts[ghost_slot[i]] * p->before[i];
            for (int k = 0; k < 3; ++k)
                sample[k] = (1 - cover) * sample[k] + cover * ghost_color[k];
            sample[3] = (1 - cover) * sample[3] + cover;
        }
        for (int k = 0; k < 4; ++k) rgba[k] += sample[k] / PER_PIXEL;
    }
}

// Rounds by a 4×4 pattern (B. Bayer, 1973), which hides the steps of slow gradients.
static void store_pixel(const studio *st, const float rgba[4], int x, int y, uint8_t *to)
{
    static const uint8_t pattern[4][4] = {
        {0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}};
    float alpha = rgba[3], threshold = ((float)pattern[y & 3][x & 3] + 0.5f) / 16;
    for (int k = 0; k < 3; ++k) {
        float light = alpha > 0 ? between(rgba[k] / alpha, 0, 1) : 0;
        to[k] = (uint8_t)(st->gamma[(int)(sqrtf(light) * GAMMA_STEPS + 0.5f)] + threshold);
    }
    to[3] = (uint8_t)(255 * between(alpha, 0, 1) + 0.5f);
}

// ---------------------------------------------------------------- bands

typedef struct band {
    int first, end;  // rows of pixels
    raster_target body, ghost;
} band;

static void fill_target(const stage *s, raster_target *target)
{
    size_t count = (size_t)target->width * (size_t)(target->end_row - target->first_row);
    for (size_t i = 0; i < count; ++i) target->depth[i] = 0, target->id[i] = -1;
    const shape *sh = s->from.shape;
    if (!sh) return;
    float low = (float)target->first_row, high = (float)target->end_row;
    for (int t = 0; t < sh->triangle_count; ++t) {
        const int32_t *v = sh->triangles + 3 * t;
        float corner[3][3], top = INFINITY, bottom = -INFINITY;
        for (int i = 0; i < 3; ++i) {
            const float *at = s->screen + 3 * v[i];
            corner[i][0] = SAMPLES * at[0], corner[i][1] = SAMPLES * at[1], corner[i][2] = at[2];
            top = lesser(top, corner[i][1]), bottom = greater(bottom, corner[i][1]);
        }
        if (bottom > low && top < high) raster_triangle(target, corner[0], corner[1], corner[2], t);
    }
}

// Where both shapes nearly coincide, which of them is in front is a matter of their facets: the
// ghost fades out towards the body, so that no patches of it are left. Depths are 1 / distance.
static float ghost_before(float ghost, float body)
{
    if (body <= 0) return 1;
    float t = between((1 / body - 1 / ghost - 0.006f) / 0.05f, 0, 1);
    return t * t * (3 - 2 * t);
}

static void draw_band(const studio *st, band *b, picture *p)
{
    b->body.first_row = b->ghost.first_row = SAMPLES * b->first;
    b->body.end_row = b->ghost.end_row = SAMPLES * b->end;
    bool haunted = st->ghost.from.shape != NULL;
    fill_target(&st->body, &b->body);
    if (haunted) fill_target(&st->ghost, &b->ghost);
    for (int y = b->first; y < b->end; ++y)
        for (int x = 0; x < st->width; ++x) {
            pixel at = {.x = x, .y = y};
            for (int i = 0; i < PER_PIXEL; ++i) {
                size_t row = (size_t)((y - b->first) * SAMPLES + i / SAMPLES);
                size_t where = row * (size_t)b->body.width + (size_t)(x * SAMPLES + i % SAMPLES);
                at.body[i] = b->body.id[where];
                at.ghost[i] = -1;
                if (!haunted || b->ghost.id[where] < 0) continue;
                at.before[i] = ghost_before(b->ghost.depth[where], b->body.depth[where]);
                if (at.before[i] > 0) at.ghost[i] = b->ghost.id[where];
            }
            float rgba[4];
            shade_pixel(st, &at, rgba);
            store_pixel(st, rgba, x, y, p->rgba + 4 * ((size_t)y * (size_t)p->width + (size_t)x));
        }
}

picture raster_draw(const drawing *d, int width, int height)
{
    picture p = picture_new(width, height);
    studio *st = cli_realloc(NULL, 1, sizeof *st);
    studio_begin(st, d, width, height);
    size_t samples = (size_t)width * SAMPLES * BAND * SAMPLES;
    band b = {.body.width = width * SAMPLES, .ghost.width = width * SAMPLES};
    raster_target *targets[2] = {&b.body, &b.ghost};
    for (int i = 0; i < 2; ++i) {
        targets[i]->depth = cli_realloc(NULL, samples, sizeof(float));
        targets[i]->id = cli_realloc(NULL, samples, sizeof(int32_t));
    }
    for (b.first = 0; b.first < height; b.first = b.end) {
        b.end = b.first + BAND < height ? b.first + BAND : height;
        draw_band(st, &b, &p);
    }
    for (int i = 0; i < 2; ++i) {
        free(targets[i]->depth);
        free(targets[i]->id);
    }
    studio_end(st);
    free(st);
    return p;
}
