/* In place of fetch_curl.c, where there is no libcurl to build with. */
#include "fetch_internal.h"

#include <string.h>

far_status far_http_get(far_ctx *ctx, const char *url, far_download *d)
{
    int folder = (int)(far_last_part(d->path) - d->path);
    return far_fail(ctx, FAR_ERR_IO,
                    "this farfield was built without libcurl and cannot download; get %s by other "
                    "means and put it, unpacked, into %.*s",
                    url, folder, d->path);
}

void far_http_host(const char *url, char *out, size_t capacity)
{
    far_show(out, capacity, url, (int64_t)strlen(url));
}
