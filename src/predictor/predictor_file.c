/* Files of predictors: which kind they hold, and the zip of those that have no format of their own.
 */
#include "predictor_internal.h"

#include "../net/net_file.h"
#include "../regress/model_file.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MANIFEST "manifest.json"
#define BLOB "content"
#define FORMAT "farfield predictor"
#define VERSION 1
#define MANIFEST_SLACK ((int64_t)1 << 20) /* how much longer than the file it may be, unpacked */

/* ---- parcels ------------------------------------------------------------------------------- */

static far_status write_manifest(const far_parcel *p, far_text *out)
{
    far_json_out w = {.ctx = out->ctx};
    json_t *manifest = json_object();
    far_json_put(&w, manifest, "format", json_string(FORMAT));
    far_json_put(&w, manifest, "version", json_integer(VERSION));
    far_json_put(&w, manifest, "written_by", json_string(far_version()));
    far_json_put(&w, manifest, "kind", json_string(p->kind));
    if (p->columns) {
        far_columns_put(&w, manifest, p->columns, true);
    }
    p->put(&w, manifest, p->self);
    return far_json_print(&w, manifest, JSON_INDENT(2), "the manifest", out);
}

far_status far_parcel_write(const far_parcel *p, far_output *out)
{
    far_text manifest = {.ctx = out->ctx};
    far_zip z = {.output = out, .zip64_from = UINT32_MAX, .sealed = true};
    far_sha256 sum;
    far_sha256_init(&sum);
    out->sum = &sum;
    far_status st = write_manifest(p, &manifest);
    if (st == FAR_OK) {
        far_zip_put_bytes(&z, MANIFEST, manifest.data, (size_t)manifest.length);
        if (p->blob) {
            far_zip_put_bytes(&z, BLOB, p->blob->data, (size_t)p->blob->length);
        }
        far_zip_finish(&z);
    }
    out->sum = NULL;
    far_free(out->ctx, manifest.data);
    return st;
}

void far_parcel_clear(far_parcel_in *p)
{
    json_decref(p->json);
    far_input_clear(&p->manifest);
}

static far_status check_parcel(const far_parcel_in *p, const char **kind)
{
    int64_t version;
    far_status st = far_json_count(&p->whole, "version", &version);
    if (st == FAR_OK && version > VERSION) {
        return far_input_fail(p->in, FAR_ERR_FORMAT,
                              "was written by a newer farfield; update farfield");
    }
    if (st == FAR_OK && (!far_seal_is(p->in) || !far_seal_holds(p->in))) {
        return far_input_fail(
            p->in, FAR_ERR_FORMAT,
            "does not match its checksum: the file is damaged; take another copy, "
            "or make it again");
    }
    *kind = json_string_value(json_object_get(p->json, "kind"));
    return st == FAR_OK && !*kind ? far_json_fail(&p->whole, "\"kind\" is no text") : st;
}

far_status far_parcel_open(const far_input *in, far_parcel_in *p, const char **kind)
{
    *kind = NULL;
    *p = (far_parcel_in){.in = in, .manifest = {.ctx = in->ctx}};
    far_status st = far_zip_extract(in, MANIFEST, in->size + MANIFEST_SLACK, &p->manifest);
    if (st != FAR_OK || !p->manifest.data) {
        return st == FAR_ERR_FORMAT ? FAR_OK : st; /* the reader of models has the words for it */
    }
    memcpy(p->manifest.label, in->label, sizeof p->manifest.label);
    p->whole = (far_json){.in = &p->manifest, .place = "manifest: "};
    st = far_json_load(&p->whole, &p->json);
    const char *format =
        st == FAR_OK ? json_string_value(json_object_get(p->json, "format")) : NULL;
    if (st == FAR_ERR_FORMAT || !format || strcmp(format, FORMAT) != 0) {
        return st == FAR_ERR_FORMAT ? FAR_OK : st;
    }
    return check_parcel(p, kind);
}

far_status far_parcel_blob(const far_parcel_in *p, far_input *out)
{
    *out = (far_input){.ctx = p->in->ctx};
    far_status st = far_zip_extract(p->in, BLOB, INT64_MAX, out);
    return st == FAR_OK && !out->data
               ? far_input_fail(p->in, FAR_ERR_FORMAT, "is damaged: it has no " BLOB)
               : st;
}

far_status far_parcel_columns(const far_parcel_in *p, far_columns **out)
{
    far_status st = far_columns_new(p->in->ctx, out);
    if (st == FAR_OK) {
        (*out)->info.inputs = (*out)->info.outputs = -1;
        st = far_columns_take(&p->whole, true, *out);
    }
    return st;
}

/* ---- any file ------------------------------------------------------------------------------ */

/* Not all that the kinds' readers say names the file. */
static far_status name_file(const far_input *in, far_status st)
{
    char text[512];
    snprintf(text, sizeof text, "%s", far_ctx_message(in->ctx));
    return st == FAR_OK || strncmp(text, in->label, strlen(in->label)) == 0
               ? st
               : far_input_fail(in, st, "%s", text);
}

static far_status read_parcel(const far_parcel_in *parcel, const char *kind, far_predictor **out)
{
    static const struct {
        const far_predictor_ops *ops;
        far_status (*read)(const far_parcel_in *p, void **out);
    } KINDS[] = {{&far_linear_ops, far_linear_read},
                 {&far_trees_ops, far_trees_read},
                 {&far_committee_ops, far_committee_read}};
    for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
        if (strcmp(kind, KINDS[i].ops->name) == 0) {
            void *self = NULL;
            far_status st = KINDS[i].read(parcel, &self);
            st = far_predictor_own(parcel->in->ctx, KINDS[i].ops, st, self, out);
            return name_file(parcel->in, st);
        }
    }
    return far_json_fail(&parcel->whole, "\"kind\" is none that this farfield knows");
}

static far_status read_model(const far_input *in, far_predictor **out)
{
    far_model *m = NULL;
    far_status st = far_model_parse_bytes(in->ctx, in->label, in->data, in->size, &m);
    return far_predictor_own(in->ctx, &far_infinite_ops, st, m, out);
}

static far_status read_net(const far_input *in, const char *arch, far_predictor **out)
{
    far_net *net = NULL;
    far_status st = far_net_parse_bytes(in->ctx, in->label, in->data, in->size, arch, &net);
    return far_predictor_own(in->ctx, &far_finite_ops, st, net, out);
}

/* A length of the header, then an object: what safetensors begin with. */
static bool looks_like_net(const far_input *in)
{
    return in->size > 8 && in->data[8] == '{';
}

static far_status read_any(const far_input *in, bool committees, const char *arch,
                           far_predictor **out)
{
    if (!far_npz_is(in) && looks_like_net(in)) {
        return read_net(in, arch, out);
    }
    if (arch) {
        return far_input_fail(
            in, FAR_ERR_ARG,
            "holds no finite network, and `arch` is for those whose file does not "
            "name it; to fit a table, name its `target` too");
    }
    if (!far_npz_is(in)) {
        return read_model(in, out);
    }
    far_parcel_in parcel;
    const char *kind;
    far_status st = far_parcel_open(in, &parcel, &kind);
    if (st == FAR_OK) {
        bool nested = kind && !committees && strcmp(kind, far_committee_ops.name) == 0;
        st = nested ? far_json_fail(&parcel.whole, "a committee has no committees in it")
             : kind ? read_parcel(&parcel, kind, out)
                    : read_model(in, out);
    }
    far_parcel_clear(&parcel);
    return st;
}

far_status far_predictor_parse(far_ctx *ctx, const char *label, const void *data, int64_t size,
                               bool committees, const char *arch, far_predictor **out)
{
    far_input in = {0};
    *out = NULL;
    far_status st = far_input_copy(ctx, label, data, size, &in);
    st = st == FAR_OK ? read_any(&in, committees, arch, out) : st;
    far_input_clear(&in);
    return far_label_failure(ctx, st, label);
}

/* Other files that are named as weights are read as such: their reader knows what else they may
 * be. */
static bool named_as_network(const char *path)
{
    static const char *const ENDINGS[] = {".safetensors", ".pt", ".pth"};
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending && i < sizeof ENDINGS / sizeof ENDINGS[0]; i++) {
        if (strcasecmp(ending, ENDINGS[i]) == 0) {
            return true;
        }
    }
    return false;
}

far_status far_predictor_load(far_ctx *ctx, const char *path, const char *arch, far_predictor **out)
{
    far_status st;
    far_input in = {0};
    if (!out) {
        return far_fail(ctx, FAR_ERR_ARG, "out is NULL");
    }
    *out = NULL;
    FAR_TRY(far_input_load(ctx, path, &in));
    bool net = named_as_network(path) && !far_npz_is_predictor(&in);
    FAR_TRY(net ? read_net(&in, arch, out) : read_any(&in, true, arch, out));
done:
    far_input_clear(&in);
    return far_label_failure(ctx, st, in.label);
}
