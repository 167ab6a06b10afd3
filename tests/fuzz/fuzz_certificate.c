/* Bytes as a certificate, against a fixed small model and a fixed small network: refused with a
 * message of one line, or accepted, and then the fields are those of the true one and every bound
 * is not below what is reached. */
#define _GNU_SOURCE
#include "../../src/certify/certify_internal.h"
#include "../../src/certify/net_certify.h"
#include "../../src/data/frame_internal.h"

#include <farfield/farfield.h>
#include <jansson.h>

#include "fuzz.h"

#define TABLE "x,y\n-2,1\n-1,-0.5\n0,0.3\n1,1.2\n2,-0.7\n"
#define SECONDS 0.05 /* of branch and bound */

typedef struct fixture {
    far_ctx *ctx;
    far_model *model;
    far_net *net;
    json_t *model_truth, *net_truth;
} fixture;

static json_t *parsed(far_ctx *ctx, char *text)
{
    json_t *o = json_loads(text, 0, NULL);
    require(o != NULL, "a certificate is JSON");
    far_text_free(ctx, text);
    return o;
}

static fixture make_fixture(void)
{
    fixture f = {0};
    far_frame *frame;
    far_fit_opts fit;
    far_net_opts net;
    far_certify_opts how;
    far_certificate *c;
    far_certificate *n;
    char *text;
    far_fit_opts_init(&fit);
    far_net_opts_init(&net);
    far_certify_opts_init(&how);
    fit.target = "y";
    fit.arch = "dense ln relu dense";
    fit.ridge = 0.01;
    net.inputs = 1;
    net.seed = 5;
    how.starts = 4;
    how.seconds = 1;
    require(far_ctx_create(NULL, &f.ctx) == FAR_OK, "a context opens");
    require(far_frame_parse_bytes(f.ctx, "t", TABLE, (int64_t)strlen(TABLE), NULL, &frame) ==
                    FAR_OK &&
                far_model_fit(f.ctx, frame, &fit, &f.model) == FAR_OK &&
                far_model_certify(f.ctx, f.model, &how, &c) == FAR_OK &&
                far_certificate_json(f.ctx, c, &text) == FAR_OK,
            "the model has a certificate");
    f.model_truth = parsed(f.ctx, text);
    require(far_net_create(f.ctx, "dense(3) relu dense(1)", &net, &f.net) == FAR_OK &&
                far_net_certify(f.ctx, f.net, &how, &n) == FAR_OK &&
                far_certificate_json(f.ctx, n, &text) == FAR_OK,
            "the network has a certificate");
    f.net_truth = parsed(f.ctx, text);
    far_frame_destroy(frame);
    far_certificate_destroy(c);
    far_certificate_destroy(n);
    return f;
}

static void check_refusal(const fixture *f, far_status st)
{
    const char *message = far_ctx_message(f->ctx);
    require(st == FAR_ERR_FORMAT || st == FAR_ERR_VALUE, "it is refused as a certificate");
    require(message[0] && !strchr(message, '\n'), "a message has one line");
}

/* Not every field: tests/numeric/test_certificate_forgery.c judges them all. */
static void check_accepted(const char *text, const json_t *truth)
{
    static const char *const WORDS[] = {"format", "arch", "verdict",  "theorem",
                                        "output", "hash", "data_hash"};
    json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    require(json_object_size(o) == json_object_size(truth), "the fields are those of the truth");
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        const json_t *said = json_object_get(o, WORDS[i]);
        const json_t *is = json_object_get(truth, WORDS[i]);
        require(said == is || json_equal(said, is) || json_is_null(is), "the words are");
    }
    require(!json_is_number(json_object_get(o, "tightest")) ||
                json_number_value(json_object_get(o, "tightest")) >=
                    json_number_value(json_object_get(truth, "sup_found")),
            "a bound is not passed");
    json_decref(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fixture f;
    f = f.ctx ? f : make_fixture();
    char *text = strndup((const char *)data, size);
    far_status st = far_model_certificate_check(f.ctx, f.model, text, SECONDS);
    if (st == FAR_OK) {
        check_accepted(text, f.model_truth);
    } else {
        check_refusal(&f, st);
    }
    st = far_net_certificate_check(f.ctx, f.net, text, SECONDS);
    if (st == FAR_OK) {
        check_accepted(text, f.net_truth);
    } else {
        check_refusal(&f, st);
    }
    free(text);
    return 0;
}
