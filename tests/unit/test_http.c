/* What far_http_get says of servers and of libcurl: a server of one answer, and transfers that
 * fail. */
#define _GNU_SOURCE
#include "../../src/fetch/fetch_internal.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "harness.h"

/* The linker puts these in front (tests/CMakeLists.txt). */
static CURLcode ending; /* of the next transfer; CURLE_OK: as it comes */
static bool no_start, no_handle, body_first;

__typeof__(curl_easy_perform) __real_curl_easy_perform, __wrap_curl_easy_perform;
__typeof__(curl_global_init) __real_curl_global_init, __wrap_curl_global_init;
__typeof__(curl_easy_init) __real_curl_easy_init, __wrap_curl_easy_init;

CURLcode __wrap_curl_easy_perform(CURL *curl)
{
    CURLcode code = body_first || ending == CURLE_OK ? __real_curl_easy_perform(curl) : ending;
    return ending == CURLE_OK ? code : ending;
}

CURLcode __wrap_curl_global_init(long flags)
{
    return no_start ? CURLE_FAILED_INIT : __real_curl_global_init(flags);
}

CURL *__wrap_curl_easy_init(void)
{
    return no_handle ? NULL : __real_curl_easy_init();
}

/* ---- a server that gives each answer to one request ---- */

typedef struct server {
    int socket, port;
    const char *answer;
    pthread_t thread;
} server;

static void *serve(void *user)
{
    server *s = user;
    char request[4096];
    int client = accept(s->socket, NULL, NULL);
    size_t length = strlen(s->answer);
    if (client >= 0 && recv(client, request, sizeof request, 0) > 0) {
        for (ssize_t sent = 0; length > 0 && sent >= 0; s->answer += sent, length -= (size_t)sent) {
            sent = send(client, s->answer, length, MSG_NOSIGNAL);
        }
    }
    close(client);
    return NULL;
}

static server start_server(const char *answer)
{
    static server s;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    s = (server){.socket = socket(AF_INET, SOCK_STREAM, 0), .answer = answer};
    assert_int_equal(bind(s.socket, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s.socket, 1), 0);
    assert_int_equal(getsockname(s.socket, (struct sockaddr *)&at, &size), 0);
    s.port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&s.thread, NULL, serve, &s), 0);
    return s;
}

static void stop_server(server *s)
{
    pthread_join(s->thread, NULL);
    close(s->socket);
}

/* ---- downloads ---- */

static far_download here(const char *content)
{
    static char path[64];
    far_download d;
    snprintf(path, sizeof path, "%s/farfield-http-XXXXXX", P_tmpdir);
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
    close(fd);
    must(far_download_open(ctx, path, &d));
    return d;
}

/* One request, with content here already; the rest comes from the server. */
static far_status get(const char *answer, const char *content, const char *wanted)
{
    server s = start_server(answer);
    far_download d = here(content);
    char url[128], got[128] = "";
    snprintf(url, sizeof url, "http://me:secret@127.0.0.1:%d/set/a.csv?key=1", s.port);
    far_status st = far_http_get(ctx, url, &d);
    stop_server(&s);
    assert_true(pread(d.fd, got, sizeof got - 1, 0) >= 0);
    if (wanted) {
        assert_string_equal(got, wanted);
    }
    far_download_close(&d, false);
    return st;
}

#define HEAD(code) "HTTP/1.1 " code "\r\nConnection: close\r\n"

static void answers_are_told_by_their_codes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {HEAD("403 No") "\r\n", "answers 403 (forbidden) for /set/a.csv"},
        {HEAD("401 No") "\r\n", "answers 401 (forbidden) for"},
        {HEAD("404 No") "\r\n", "answers 404 (not found) for"},
        {HEAD("410 No") "\r\n", "answers 410 (gone) for"},
        {HEAD("418 No") "\r\n", "answers 418 for /set/a.csv"},
        {HEAD("429 No") "\r\n", "answers 429 (too many requests; try again later) for"},
        {HEAD("503 No") "\r\n", "answers 503 (the server has a problem; try again later) for"},
        {HEAD("416 No") "\r\n", "answers 416 for"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        assert_int_equal(get(cases[i][0], "", ""), FAR_ERR_IO);
        assert_message(cases[i][1]);
        assert_null(strstr(far_ctx_message(ctx), "secret")); /* nor what is behind the mark */
        assert_null(strstr(far_ctx_message(ctx), "key=1"));
        assert_message("127.0.0.1:");
    }
}

static void parts_are_joined_or_begun_anew(void **state)
{
    (void)state;
    must(get(HEAD("206 Part") "Content-Range: bytes 3-5/6\r\nContent-Length: 3\r\n\r\ndef", "abc",
             "abcdef"));
    must(get(HEAD("206 Part") "Content-Range: bytes 3-5\r\nContent-Length: 3\r\n\r\ndef", "abc",
             "abcdef"));
    must(get(HEAD("206 Part") "Content-Range: bytes 3-5/*\r\n\r\ndef", "abc", "abcdef"));
    must(get(HEAD("200 Good") "Accept-Ranges: bytes\r\nContent-Length: 2\r\n\r\nxy", "abc", "xy"));
    must(get(HEAD("416 None") "Content-Range: bytes */3\r\n\r\n", "abc", "abc")); /* it is whole */
    assert_int_equal(get(HEAD("206 Part") "Content-Range: bytes 1-2/6\r\n\r\nbc", "abc", "abc"),
                     FAR_ERR_IO);
    assert_message("a part of the file that was not asked for");
}

static void transfers_that_fail_are_told_by_their_reason(void **state)
{
    (void)state;
    static const struct {
        CURLcode code;
        far_status st;
        const char *says;
    } cases[] = {
        {CURLE_COULDNT_RESOLVE_HOST, FAR_ERR_IO, "cannot find data.example; is this machine on"},
        {CURLE_COULDNT_RESOLVE_PROXY, FAR_ERR_IO, "cannot find the proxy"},
        {CURLE_COULDNT_CONNECT, FAR_ERR_IO, "cannot connect to data.example (Couldn't connect"},
        {CURLE_OPERATION_TIMEDOUT, FAR_ERR_IO, "data.example does not answer"},
        {CURLE_TOO_MANY_REDIRECTS, FAR_ERR_IO, "data.example redirects more than"},
        {CURLE_SSL_CACERT_BADFILE, FAR_ERR_IO, "the certificate of data.example cannot be"},
        {CURLE_OUT_OF_MEMORY, FAR_ERR_MEMORY, "out of memory in libcurl"},
        {CURLE_UNSUPPORTED_PROTOCOL, FAR_ERR_IO, "cannot download from data.example (Unsupp"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        far_download d = here("");
        ending = cases[i].code;
        far_status st = far_http_get(ctx, "https://data.example/a.csv", &d);
        ending = CURLE_OK;
        assert_int_equal(st, cases[i].st);
        assert_message(cases[i].says);
        assert_false(d.broken);
        far_download_close(&d, false);
    }
}

static void what_has_begun_may_be_taken_up_again(void **state)
{
    (void)state;
    body_first = true;
    ending = CURLE_OPERATION_TIMEDOUT;
    assert_int_equal(get(HEAD("200 Good") "Content-Length: 9\r\n\r\nabc", "", "abc"), FAR_ERR_IO);
    assert_message("has sent nothing for ");
    ending = CURLE_RECV_ERROR;
    assert_int_equal(get(HEAD("200 Good") "Content-Length: 9\r\n\r\nabc", "", "abc"), FAR_ERR_IO);
    assert_message("broke off after 3 bytes");
    body_first = false;
    ending = CURLE_OK;
}

static void a_library_that_does_not_start_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        far_download d = here("");
        no_start = i == 0;
        no_handle = i == 1;
        far_status st = far_http_get(ctx, "https://data.example/a.csv", &d);
        no_start = no_handle = false;
        assert_int_equal(st, FAR_ERR_BACKEND);
        assert_message("libcurl does not start");
        far_download_close(&d, false);
    }
}

int main(void)
{
    static const char *const PROXIES[] = {"http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY",
                                          "ALL_PROXY"};
    for (int i = 0; i < COUNT(PROXIES); i++) {
        unsetenv(PROXIES[i]);
    }
    const struct CMUnitTest tests[] = {
        TEST(answers_are_told_by_their_codes),
        TEST(parts_are_joined_or_begun_anew),
        TEST(transfers_that_fail_are_told_by_their_reason),
        TEST(what_has_begun_may_be_taken_up_again),
        TEST(a_library_that_does_not_start_is_named),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
