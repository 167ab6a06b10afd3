#include "../data/data_internal.h"
#include "render.h"

#include <librsvg/rsvg.h>
#include <math.h>
#include <string.h>

#define PIXELS_PER_PX 2
#define DPI 96.0

far_status far_render_check(far_ctx *ctx, const char *path)
{
    (void)ctx;
    (void)path;
    return FAR_OK;
}

/* What cairo writes goes on to the file; the first failure is kept. */
typedef struct sink {
    far_output *output;
    far_status status;
} sink;

static cairo_status_t take_bytes(void *user, const unsigned char *data, unsigned int length)
{
    sink *s = user;
    s->status = far_output_put(s->output, data, length);
    return s->status == FAR_OK ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static far_status fail_render(far_ctx *ctx, const char *why)
{
    return far_fail(ctx, FAR_ERR_BACKEND, "the figure could not be drawn: %s; save it as .svg",
                    why);
}

static far_status draw(far_ctx *ctx, RsvgHandle *handle, cairo_surface_t *surface, double width,
                       double height)
{
    GError *error = NULL;
    far_status st = FAR_OK;
    cairo_t *cairo = cairo_create(surface);
    RsvgRectangle area = {0, 0, width, height};
    if (!rsvg_handle_render_document(handle, cairo, &area, &error)) {
        st = fail_render(ctx, error ? error->message : "no reason was given");
    }
    g_clear_error(&error);
    cairo_destroy(cairo);
    return st;
}

static far_status write_surface(far_ctx *ctx, cairo_surface_t *surface, const char *path)
{
    far_status st;
    far_output o = {.fd = -1};
    FAR_TRY(far_output_open(ctx, path, false, &o));
    sink s = {&o, FAR_OK};
    cairo_status_t status = cairo_surface_write_to_png_stream(surface, take_bytes, &s);
    FAR_TRY(s.status);
    if (status != CAIRO_STATUS_SUCCESS) {
        st = fail_render(ctx, cairo_status_to_string(status));
        goto done;
    }
    FAR_TRY(far_output_commit(&o));
done:
    far_output_close(&o);
    return st;
}

far_status far_render_png(far_ctx *ctx, const char *svg, const char *path)
{
    far_status st = FAR_OK;
    GError *error = NULL;
    cairo_surface_t *surface = NULL;
    double width = 0, height = 0;
    RsvgHandle *handle = rsvg_handle_new_from_data((const guint8 *)svg, strlen(svg), &error);
    if (!handle) {
        st = fail_render(ctx, error ? error->message : "librsvg could not read it");
        goto done;
    }
    rsvg_handle_set_dpi(handle, DPI);
    rsvg_handle_get_intrinsic_size_in_pixels(handle, &width, &height);
    width = ceil(width * PIXELS_PER_PX);
    height = ceil(height * PIXELS_PER_PX);
    surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) {
        st = fail_render(ctx, cairo_status_to_string(cairo_surface_status(surface)));
        goto done;
    }
    FAR_TRY(draw(ctx, handle, surface, width, height));
    FAR_TRY(write_surface(ctx, surface, path));
done:
    if (surface) {
        cairo_surface_destroy(surface);
    }
    g_clear_object(&handle);
    g_clear_error(&error);
    return st;
}
