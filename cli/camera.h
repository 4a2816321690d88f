// The camera of the pictures: perspective, y up, placed so that everything fits.
#ifndef HOOKE_CAMERA_H
#define HOOKE_CAMERA_H

#include <stdbool.h>

typedef struct camera {
    double right[3], up[3], back[3];  // unit axes; `back` points from the scene to the eye
    double eye[3];
    double focal;      // px at distance 1
    double center[2];  // px, where the line of sight meets the picture; y down
} camera;

// Looks from the given direction: azimuth 0 is from +z, 90 from +x; elevation 90 from above.
camera camera_from(double azimuth, double elevation);
// "front", "back", "left", "right", "side", "top", "bottom", "iso" or "AZIMUTH,ELEVATION".
bool camera_parse_view(const char *text, double *azimuth, double *elevation);

// Places the eye as near as possible so that all points added are seen within a rectangle.
typedef struct camera_fit {
    double tangent[2];         // half width and half height of the rectangle at distance 1
    double least[2], most[2];  // see camera.c
    double nearest;            // largest distance towards the eye
} camera_fit;
camera_fit camera_fit_begin(double width, double height);
void camera_fit_add(camera_fit *fit, const camera *c, const double point[3]);
// The rectangle is x, y, width, height in px; `radius` is the size of the scene.
void camera_fit_end(const camera_fit *fit, camera *c, double x, double y, double width,
                    double height, double radius);
// Pixel and distance along the line of sight.
void camera_project(const camera *c, const float point[3], float *x, float *y, float *distance);

#endif
