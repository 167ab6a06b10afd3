/* One transfer over http, https or from a file address, with libcurl. */
#define _GNU_SOURCE
#include "fetch_internal.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_REDIRECTS 10L
#define CONNECT_SECONDS 30L
#define SILENT_SECONDS 60L
#define HOST_BYTES 128

typedef struct transfer {
    far_download *d;
    CURL *curl;
    int64_t had;         /* bytes that were here, and were not asked for */
    int64_t range_start; /* of the answer; -1: it is the whole file */
    int64_t range_total; /* of the file, where the answer says so; else -1 */
    bool accepts_ranges, begun;
    far_status status; /* of our own work in curl's callbacks */
    char error[CURL_ERROR_SIZE];
} transfer;

/* Where the host of an address starts, behind a name and a password; NULL if it has none. */
static const char *find_host(const char *url)
{
    const char *start = strstr(url, "://");
    if (!start || strncasecmp(url, "file:", 5) == 0) {
        return NULL;
    }
    start += 3;
    const char *at = memrchr(start, '@', strcspn(start, "/"));
    return at ? at + 1 : start;
}

void far_http_host(const char *url, char *out, size_t capacity)
{
    const char *host = find_host(url);
    if (host) {
        far_show(out, capacity, host, (int64_t)strcspn(host, "/"));
    } else {
        snprintf(out, capacity, "this machine");
    }
}

/* ---- what curl calls ---- */

static const char *header_value(const char *line, size_t bytes, const char *name)
{
    size_t length = strlen(name);
    return bytes > length && strncasecmp(line, name, length) == 0 ? line + length : NULL;
}

/* "bytes 100-199/200", with a star for what is not known. */
static void read_range(transfer *t, const char *value, size_t bytes)
{
    char text[96];
    long long start, total;
    snprintf(text, sizeof text, "%.*s", (int)bytes, value);
    if (sscanf(text, " bytes %lld-", &start) == 1) {
        t->range_start = start;
    }
    const char *slash = strchr(text, '/');
    if (slash && sscanf(slash, "/%lld", &total) == 1) {
        t->range_total = total;
    }
}

/* Each answer of a chain of redirects has its own headers. */
static size_t take_header(char *line, size_t size, size_t count, void *user)
{
    transfer *t = user;
    size_t bytes = size * count;
    const char *value;
    if (header_value(line, bytes, "HTTP/")) {
        t->range_start = t->range_total = -1;
        t->accepts_ranges = false;
    } else if ((value = header_value(line, bytes, "Content-Range:"))) {
        read_range(t, value, bytes - (size_t)(value - line));
    } else if ((value = header_value(line, bytes, "Accept-Ranges:"))) {
        t->accepts_ranges = memmem(value, bytes - (size_t)(value - line), "bytes", 5) != NULL;
    }
    return bytes;
}

/* A server that does not know ranges sends the whole file again. */
static far_status begin_body(transfer *t)
{
    curl_off_t length = -1;
    t->begun = true;
    t->d->ranges = t->accepts_ranges || t->range_start >= 0;
    curl_easy_getinfo(t->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (length >= 0) {
        t->d->total = length + (t->range_start > 0 ? t->had : 0);
    }
    int64_t here = t->range_start > 0 ? t->had : 0;
    if (length > t->d->most - here) {
        return far_fail(t->d->ctx, FAR_ERR_FORMAT,
                        "the server announces %lld bytes, but the file has at most %lld",
                        (long long)(length + here), (long long)t->d->most);
    }
    if (t->range_start >= 0 && t->range_start != t->had) {
        return far_fail(t->d->ctx, FAR_ERR_IO,
                        "the server sends a part of the file that was not asked for");
    }
    t->d->resumed = t->range_start > 0;
    return t->range_start < 0 && t->had > 0 ? far_download_restart(t->d) : FAR_OK;
}

static size_t take_body(char *data, size_t size, size_t count, void *user)
{
    transfer *t = user;
    if (!t->begun) {
        t->status = begin_body(t);
    }
    if (t->status == FAR_OK) {
        t->status = far_download_put(t->d, data, size * count);
    }
    return t->status == FAR_OK ? size * count : 0;
}

static int take_progress(void *user, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                         curl_off_t up)
{
    transfer *t = user;
    int64_t done = t->d->size, total = t->d->total > done ? t->d->total : done;
    (void)down_total, (void)down, (void)up_total, (void)up;
    far_status st = far_progress(t->d->ctx, "downloading", done, total);
    t->status = t->status == FAR_OK ? st : t->status;
    return st != FAR_OK;
}

/* ---- messages ---- */

static const char *http_text(long code)
{
    switch (code) {
    case 401:
    case 403:
        return " (forbidden)";
    case 404:
        return " (not found)";
    case 410:
        return " (gone)";
    case 429:
        return " (too many requests; try again later)";
    default:
        return code >= 500 ? " (the server has a problem; try again later)" : "";
    }
}

/* libcurl's own words, as far as it has any. */
static const char *reason(const transfer *t, CURLcode code)
{
    return t->error[0] ? t->error : curl_easy_strerror(code);
}

/* Behind all redirects. */
static const char *effective_address(const transfer *t)
{
    char *url = NULL;
    return curl_easy_getinfo(t->curl, CURLINFO_EFFECTIVE_URL, &url) == CURLE_OK && url ? url : "";
}

static far_status fail_http(far_ctx *ctx, const transfer *t, const char *host)
{
    long code = 0;
    char path[512];
    const char *url = effective_address(t), *start = find_host(url);
    start = start ? start + strcspn(start, "/") : url;
    far_show(path, sizeof path, start, (int64_t)strcspn(start, "?"));
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    return far_fail(ctx, FAR_ERR_IO, "%s answers %ld%s for %s", host, code, http_text(code), path);
}

static far_status fail_connect(far_ctx *ctx, const transfer *t, const char *host)
{
    char text[128];
    long error = 0;
    curl_easy_getinfo(t->curl, CURLINFO_OS_ERRNO, &error);
    return far_fail(ctx, FAR_ERR_IO, "cannot connect to %s (%s)", host,
                    error ? far_errno_text((int)error, text, sizeof text)
                          : reason(t, CURLE_COULDNT_CONNECT));
}

static far_status fail_begun(far_ctx *ctx, const transfer *t, CURLcode code, const char *host)
{
    char size[FAR_BYTES_TEXT];
    if (code == CURLE_OPERATION_TIMEDOUT) {
        return far_fail(ctx, FAR_ERR_IO, "%s has sent nothing for %ld seconds", host,
                        SILENT_SECONDS);
    }
    return far_fail(ctx, FAR_ERR_IO, "the connection to %s broke off after %s", host,
                    far_bytes_text(t->d->size, size));
}

/* What cannot be helped by trying again. */
static far_status fail_start(far_ctx *ctx, const transfer *t, CURLcode code, const char *host)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return far_fail(ctx, FAR_ERR_IO, "cannot find %s; is this machine online?", host);
    case CURLE_COULDNT_RESOLVE_PROXY:
        return far_fail(ctx, FAR_ERR_IO,
                        "cannot find the proxy that http_proxy or https_proxy names");
    case CURLE_COULDNT_CONNECT:
        return fail_connect(ctx, t, host);
    case CURLE_OPERATION_TIMEDOUT:
        return far_fail(ctx, FAR_ERR_IO, "%s does not answer", host);
    case CURLE_HTTP_RETURNED_ERROR:
        return fail_http(ctx, t, host);
    case CURLE_TOO_MANY_REDIRECTS:
        return far_fail(ctx, FAR_ERR_IO, "%s redirects more than %ld times", host, MOST_REDIRECTS);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return far_fail(ctx, FAR_ERR_IO,
                        "the certificate of %s cannot be verified (%s); is the package "
                        "ca-certificates installed?",
                        host, reason(t, code));
    case CURLE_FILE_COULDNT_READ_FILE:
        return far_fail(ctx, FAR_ERR_IO, "cannot read %s", effective_address(t));
    case CURLE_OUT_OF_MEMORY:
        return far_fail(ctx, FAR_ERR_MEMORY, "out of memory in libcurl");
    default:
        return far_fail(ctx, FAR_ERR_IO, "cannot download from %s (%s)", host, reason(t, code));
    }
}

static far_status fail_transfer(transfer *t, CURLcode code)
{
    char host[HOST_BYTES];
    far_http_host(effective_address(t), host, sizeof host);
    if (t->status != FAR_OK) {
        return t->status; /* its message is there */
    }
    t->d->broken = t->begun;
    return t->begun ? fail_begun(t->d->ctx, t, code, host) : fail_start(t->d->ctx, t, code, host);
}

/* ---- the transfer ---- */

static const char *certificates(void)
{
    const char *own = getenv("CURL_CA_BUNDLE");
    return own && *own ? own : getenv("SSL_CERT_FILE");
}

/* What came by https is not continued over http. */
static void set_options(transfer *t, const char *url)
{
    CURL *c = t->curl;
    bool safe = strncasecmp(url, "https:", 6) == 0;
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "https,http,file");
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR, safe ? "https" : "https,http");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, MOST_REDIRECTS);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, SILENT_SECONDS);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "farfield/" FAR_VERSION);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, take_progress);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    if (certificates()) {
        curl_easy_setopt(c, CURLOPT_CAINFO, certificates());
    }
}

static void ask_for_the_rest(transfer *t)
{
    char range[32];
    snprintf(range, sizeof range, "%lld-", (long long)t->had);
    curl_easy_setopt(t->curl, CURLOPT_RANGE, t->had > 0 ? range : NULL);
}

/* "There is no such part": we have the whole file already, or more of it than there is now. */
static bool has_no_rest(const transfer *t, CURLcode code)
{
    long answer = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &answer);
    return code == CURLE_HTTP_RETURNED_ERROR && answer == 416 && t->had > 0;
}

static far_status perform(transfer *t)
{
    ask_for_the_rest(t);
    CURLcode code = curl_easy_perform(t->curl);
    if (has_no_rest(t, code)) {
        if (t->range_total == t->had) {
            return FAR_OK;
        }
        far_status st = far_download_restart(t->d);
        t->had = 0;
        return st == FAR_OK ? perform(t) : st;
    }
    if (code == CURLE_OK && !t->begun) { /* an empty file */
        return begin_body(t);
    }
    return code == CURLE_OK ? FAR_OK : fail_transfer(t, code);
}

static far_status run(transfer *t, const char *url)
{
    far_status st = FAR_OK;
    if (!find_host(url) && t->d->size > 0) {
        FAR_TRY(far_download_restart(t->d)); /* parts of local files carry no mark */
    }
    t->had = t->d->size;
    set_options(t, url);
    FAR_TRY(perform(t));
done:
    return st;
}

far_status far_http_get(far_ctx *ctx, const char *url, far_download *d)
{
    far_status st = FAR_ERR_BACKEND;
    transfer t = {.d = d, .range_start = -1, .range_total = -1};
    d->broken = d->full = false;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
        t.curl = curl_easy_init();
        st = t.curl ? run(&t, url) : st;
        curl_easy_cleanup(t.curl);
        curl_global_cleanup();
    }
    return t.curl ? st : far_fail(ctx, st, "libcurl does not start");
}
