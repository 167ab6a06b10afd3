/* A library with the functions of librsvg, cairo and GObject that draw a figure, one of which
 * fails: that whose name is in the environment variable FAKE_LIBRSVG. What it draws is "picture".
 */
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

typedef struct failure {
    unsigned domain;
    int code;
    const char *message;
} failure;

static char thing;
static int live; /* objects that were made and not freed */
static failure broken_file = {0, 0, "the file is broken"};

static int is_broken(const char *name)
{
    const char *broken = getenv("FAKE_LIBRSVG");
    return broken && strcmp(broken, name) == 0;
}

static void *make(void)
{
    live++;
    return &thing;
}

API int fake_live(void);
int fake_live(void)
{
    return live;
}

API void *rsvg_handle_new_from_data(const unsigned char *data, size_t length, failure **error);
void *rsvg_handle_new_from_data(const unsigned char *data, size_t length, failure **error)
{
    (void)data, (void)length;
    *error = is_broken("handle") ? &broken_file : NULL;
    return *error ? NULL : make();
}

API void rsvg_handle_set_dpi(void *handle, double dpi);
void rsvg_handle_set_dpi(void *handle, double dpi)
{
    (void)handle, (void)dpi;
}

API int rsvg_handle_render_document(void *handle, void *cairo, const void *area, failure **error);
int rsvg_handle_render_document(void *handle, void *cairo, const void *area, failure **error)
{
    (void)handle, (void)cairo, (void)area, (void)error;
    return !is_broken("render");
}

API void *cairo_image_surface_create(int format, int width, int height);
void *cairo_image_surface_create(int format, int width, int height)
{
    (void)format, (void)width, (void)height;
    return make();
}

API int cairo_surface_status(void *surface);
int cairo_surface_status(void *surface)
{
    (void)surface;
    return is_broken("surface");
}

API int cairo_surface_write_to_png_stream(void *surface,
                                          int (*write)(void *, const unsigned char *, unsigned),
                                          void *user);
int cairo_surface_write_to_png_stream(void *surface,
                                      int (*write)(void *, const unsigned char *, unsigned),
                                      void *user)
{
    (void)surface;
    return is_broken("write") ? 2 : write(user, (const unsigned char *)"picture", 7);
}

API void cairo_surface_destroy(void *surface);
void cairo_surface_destroy(void *surface)
{
    live -= surface != NULL;
}

API void *cairo_create(void *surface);
void *cairo_create(void *surface)
{
    (void)surface;
    return make();
}

API void cairo_destroy(void *cairo);
void cairo_destroy(void *cairo)
{
    live -= cairo != NULL;
}

API const char *cairo_status_to_string(int status);
const char *cairo_status_to_string(int status)
{
    return status == 1 ? "no memory for the surface" : "no memory for the picture";
}

API void g_object_unref(void *object);
void g_object_unref(void *object)
{
    live -= object != NULL;
}

API void g_clear_error(failure **error);
void g_clear_error(failure **error)
{
    *error = NULL;
}
