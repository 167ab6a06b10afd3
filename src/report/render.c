/* PNG by librsvg, which is opened when it is asked for and need not be there: it brings sixty other
 * libraries along, and most runs draw nothing. The functions used are those of its 2.46 and later.
 */
#include "render.h"

#include "../data/data_internal.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHOSEN_FILE "FARFIELD_LIBRSVG"
#define PIXELS_PER_PX 2
#define DPI 96.0

#ifdef __SANITIZE_ADDRESS__
/* fontconfig holds on to the fonts it has read until the process ends, through pointers that the
 * leak checker does not find. */
#define SEEN __attribute__((visibility("default")))
SEEN const char *__lsan_default_suppressions(void);
SEEN const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig";
}

const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}
#endif

/* ---- the libraries ---- */

typedef void *object;

typedef struct rectangle {
    double x, y, width, height;
} rectangle;

typedef struct failure { /* what GLib calls a GError */
    uint32_t domain;
    int code;
    char *message;
} failure;

enum { FORMAT_RGB24 = 1 }; /* of cairo */
typedef int (*write_fn)(void *user, const unsigned char *data, unsigned int length);

/* Those of librsvg, and of cairo and GObject, which come with it. */
typedef struct library {
    void *file;
    object (*handle_new)(const unsigned char *data, size_t length, failure **error);
    void (*handle_set_dpi)(object handle, double dpi);
    int (*handle_render)(object handle, object cairo, const rectangle *area, failure **error);
    object (*surface_create)(int format, int width, int height);
    int (*surface_status)(object surface);
    int (*surface_write)(object surface, write_fn write, void *user);
    void (*surface_destroy)(object surface);
    object (*cairo_create)(object surface);
    void (*cairo_destroy)(object cairo);
    const char *(*status_text)(int status);
    void (*unref)(object o);
    void (*clear_error)(failure **error);
} library;

static const struct {
    const char *name;
    size_t place;
} symbols[] = {
    {"rsvg_handle_new_from_data", offsetof(library, handle_new)},
    {"rsvg_handle_set_dpi", offsetof(library, handle_set_dpi)},
    {"rsvg_handle_render_document", offsetof(library, handle_render)},
    {"cairo_image_surface_create", offsetof(library, surface_create)},
    {"cairo_surface_status", offsetof(library, surface_status)},
    {"cairo_surface_write_to_png_stream", offsetof(library, surface_write)},
    {"cairo_surface_destroy", offsetof(library, surface_destroy)},
    {"cairo_create", offsetof(library, cairo_create)},
    {"cairo_destroy", offsetof(library, cairo_destroy)},
    {"cairo_status_to_string", offsetof(library, status_text)},
    {"g_object_unref", offsetof(library, unref)},
    {"g_clear_error", offsetof(library, clear_error)},
};

static far_status fail_absent(far_ctx *ctx, const char *path, const char *reason)
{
    char shown[FAR_LABEL_BYTES];
    far_show_path(shown, sizeof shown, path);
    return far_fail(ctx, FAR_ERR_ARG,
                    "%s: without librsvg no .png can be written (%s); save it as .svg, or install "
                    "Debian's librsvg2-2 (" CHOSEN_FILE " chooses the file)",
                    shown, reason ? reason : "no reason given");
}

/* NODELETE: GObject's types cannot be unloaded. */
static far_status library_open(far_ctx *ctx, const char *path, library *lib)
{
    const char *chosen = getenv(CHOSEN_FILE);
    const char *name = chosen && *chosen ? chosen : "librsvg-2.so.2";
    lib->file = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib->file) {
        return fail_absent(ctx, path, dlerror());
    }
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(lib->file, symbols[i].name);
        if (!symbol) {
            return fail_absent(ctx, path, symbols[i].name);
        }
        memcpy((char *)lib + symbols[i].place, &symbol, sizeof symbol);
    }
    return FAR_OK;
}

static void library_close(library *lib)
{
    if (lib->file) {
        dlclose(lib->file);
    }
}

/* ---- drawing ---- */

static far_status fail_render(far_ctx *ctx, const char *why)
{
    return far_fail(ctx, FAR_ERR_BACKEND, "the figure could not be drawn: %s; save it as .svg",
                    why);
}

static far_status draw(far_ctx *ctx, const library *lib, const char *svg, object surface,
                       rectangle area)
{
    far_status st = FAR_OK;
    failure *error = NULL;
    object cairo = lib->cairo_create(surface);
    object handle = lib->handle_new((const unsigned char *)svg, strlen(svg), &error);
    if (handle) {
        lib->handle_set_dpi(handle, DPI);
    }
    if (!handle || !lib->handle_render(handle, cairo, &area, &error)) {
        st = fail_render(ctx, error ? error->message : "librsvg gave no reason");
    }
    if (handle) {
        lib->unref(handle);
    }
    lib->clear_error(&error);
    lib->cairo_destroy(cairo);
    return st;
}

/* What cairo writes goes on to the file, which keeps its first failure. */
static int take_bytes(void *output, const unsigned char *data, unsigned int length)
{
    far_output_put(output, data, length);
    return 0;
}

static far_status write_surface(far_ctx *ctx, const library *lib, object surface, const char *path)
{
    far_status st;
    far_output o = {.fd = -1};
    FAR_TRY(far_output_open(ctx, path, false, &o));
    int status = lib->surface_write(surface, take_bytes, &o);
    if (status != 0) {
        st = fail_render(ctx, lib->status_text(status));
        goto done;
    }
    FAR_TRY(far_output_commit(&o));
done:
    far_output_close(&o);
    return st;
}

far_status far_render_png(far_ctx *ctx, const char *svg, double width, double height,
                          const char *path)
{
    far_status st;
    library lib = {0};
    object surface = NULL;
    rectangle area = {0, 0, ceil(width * PIXELS_PER_PX), ceil(height * PIXELS_PER_PX)};
    FAR_TRY(library_open(ctx, path, &lib));
    surface = lib.surface_create(FORMAT_RGB24, (int)area.width, (int)area.height);
    if (lib.surface_status(surface) != 0) {
        st = fail_render(ctx, lib.status_text(lib.surface_status(surface)));
        goto done;
    }
    FAR_TRY(draw(ctx, &lib, svg, surface, area));
    FAR_TRY(write_surface(ctx, &lib, surface, path));
done:
    if (surface) {
        lib.surface_destroy(surface);
    }
    library_close(&lib);
    return st;
}
