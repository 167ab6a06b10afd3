/* Brings a data set here: download, check, unpack, and only then its own name. */
#define _GNU_SOURCE
#include "../data/frame_internal.h"
#include "fetch_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TRIES 3 /* of an address whose connections break */
/* Of a file whose size is not known: so many times that of the files in it which are kept, and this
 * for what else is there. The same for other editions, which --unverified takes. */
#define MOST_TIMES 8
#define MOST_BESIDES ((int64_t)1 << 20)

typedef struct fetch {
    far_ctx *ctx;
    const far_dataset_entry *set;
    const far_source *source;
    far_fetch_opts opts;
    far_fetch_report report;
    char folder[FAR_PATH_BYTES];
    far_download d;
    bool spoilt; /* what came is whole, and of no use */
} fetch;

static const char *source_name(const fetch *f)
{
    return far_last_part(f->source->addresses[0]);
}

/* ---- checking ---- */

static far_status fail_hash(const fetch *f, const char *file, const char *wanted, const char *found)
{
    if (!wanted) {
        return far_fail(
            f->ctx, FAR_ERR_FORMAT,
            "%s cannot be verified, for no SHA-256 of it is known; it is %s (unverified "
            "would keep it)",
            file, found);
    }
    return far_fail(f->ctx, FAR_ERR_FORMAT,
                    "%s has the SHA-256 %s, not %s (unverified would keep it)", file, found,
                    wanted);
}

static void note_unverified(fetch *f, const char *file, const char *found)
{
    if (f->report.verified) {
        f->report.verified = 0;
        far_show(f->report.file, sizeof f->report.file, file, (int64_t)strlen(file));
        memcpy(f->report.sha256, found, sizeof f->report.sha256);
    }
}

/* wanted may be NULL: none is known. */
static far_status check_hash(fetch *f, const char *file, const char *wanted, const char *found)
{
    if (wanted && strcmp(wanted, found) == 0) {
        return FAR_OK;
    }
    if (!f->opts.unverified) {
        return fail_hash(f, file, wanted, found);
    }
    note_unverified(f, file, found);
    return FAR_OK;
}

/* ---- how much may come ---- */

static int64_t loosely(int64_t bytes)
{
    return MOST_TIMES * bytes + MOST_BESIDES;
}

static int64_t kept_bytes(const far_source *s)
{
    int64_t sum = 0;
    for (int i = 0; i < FAR_SOURCE_FILES && s->members[i].path; i++) {
        sum += s->members[i].bytes;
    }
    return sum;
}

static int64_t most_to_download(const fetch *f)
{
    int64_t exact = f->source->bytes, kept = kept_bytes(f->source);
    return exact > 0 && !f->opts.unverified ? exact : loosely(exact > kept ? exact : kept);
}

static int64_t most_of_member(const fetch *f, const far_member *m)
{
    return m->bytes > 0 && !f->opts.unverified ? m->bytes : loosely(m->bytes);
}

/* ---- unpacking ---- */

/* The bytes of a member, which lie in out or in the archive. */
static far_status find_member(const fetch *f, const far_input *in, const far_member *m,
                              far_input *out, const unsigned char **data, int64_t *size)
{
    far_status st;
    const char *path = m->path;
    if (f->source->pack == FAR_PACK_ZIP) {
        FAR_TRY(far_zip_extract(in, path, most_of_member(f, m), out));
        *data = out->data;
        *size = out->size;
    } else if (f->source->pack == FAR_PACK_GZ) { /* of one file */
        *data = in->data;
        *size = in->size;
    } else {
        FAR_TRY(far_tar_find(in, path, data, size));
    }
    if (!*data) {
        st = far_input_fail(in, FAR_ERR_FORMAT, "holds no %s", path);
    }
done:
    return st;
}

/* Of a file whose SHA-256 is not known: what it is as it comes out of an archive that was verified.
 */
static void record_member(const fetch *f, const far_member *m, const char *hash, far_text *record)
{
    if (!m->sha256 && f->report.verified) {
        far_text_add(record, "%s  %s\n", hash, far_last_part(m->path));
    }
}

/* Written under a temporary name until the whole archive has turned out to be good. */
static far_status unpack_member(fetch *f, const far_input *in, const far_member *m, far_output *o,
                                far_text *record)
{
    far_status st;
    far_input member = {.ctx = f->ctx};
    const char *name = far_last_part(m->path);
    const unsigned char *data;
    char path[FAR_PATH_BYTES], hash[65];
    int64_t size;
    FAR_TRY(find_member(f, in, m, &member, &data, &size));
    far_hash_bytes(data, size, hash);
    if (!f->source->sha256) {
        FAR_TRY(check_hash(f, name, m->sha256, hash));
    }
    record_member(f, m, hash, record);
    FAR_TRY(far_path_join(f->ctx, f->folder, name, path));
    FAR_TRY(far_output_open(f->ctx, path, false, o));
    far_output_put(o, data, (size_t)size);
    st = o->status;
done:
    far_input_clear(&member);
    return st;
}

static far_status load_archive(fetch *f, far_input *in)
{
    far_status st;
    char hash[65];
    FAR_TRY(far_input_load(f->ctx, f->d.path, in));
    snprintf(in->label, sizeof in->label, "%s", source_name(f));
    if (f->source->sha256) {
        far_hash_bytes(in->data, in->size, hash);
        FAR_TRY(check_hash(f, source_name(f), f->source->sha256, hash));
    }
    if (f->source->pack != FAR_PACK_ZIP) {
        in->most = loosely(kept_bytes(f->source));
        FAR_TRY(far_input_gunzip(in));
    }
done:
    return st;
}

static far_status open_record(const fetch *f, const far_text *record, far_output *o)
{
    far_status st;
    char path[FAR_PATH_BYTES];
    FAR_TRY(far_path_join(f->ctx, f->folder, FAR_RECORD_NAME, path));
    FAR_TRY(far_output_open(f->ctx, path, false, o));
    far_output_put(o, record->data, (size_t)record->length);
    st = o->status;
done:
    return st;
}

static far_status unpack(fetch *f)
{
    far_status st;
    far_input in = {.ctx = f->ctx};
    far_output out[FAR_SOURCE_FILES + 1] = {{0}};
    far_text record = {.ctx = f->ctx};
    int count = 0;
    FAR_TRY(load_archive(f, &in));
    for (; count < FAR_SOURCE_FILES && f->source->members[count].path; count++) {
        FAR_TRY(unpack_member(f, &in, &f->source->members[count], &out[count], &record));
    }
    FAR_TRY(record.status);
    if (record.length > 0) {
        FAR_TRY(open_record(f, &record, &out[count++]));
    }
    for (int i = 0; i < count; i++) {
        FAR_TRY(far_output_commit(&out[i]));
    }
done:
    for (int i = 0; i <= FAR_SOURCE_FILES; i++) {
        far_output_close(&out[i]);
    }
    far_free(f->ctx, record.data);
    far_input_clear(&in);
    return st;
}

/* A file that is kept as it came. */
static far_status take_whole(fetch *f)
{
    far_status st;
    char path[FAR_PATH_BYTES], hash[65], text[128];
    FAR_TRY(far_download_hash(&f->d, hash));
    FAR_TRY(check_hash(f, source_name(f), f->source->sha256, hash));
    FAR_TRY(far_path_join(f->ctx, f->folder, source_name(f), path));
    if (rename(f->d.path, path) != 0) {
        st = far_fail(f->ctx, FAR_ERR_IO, "cannot write %s: %s", path,
                      far_errno_text(errno, text, sizeof text));
    }
done:
    return st;
}

static far_status take(fetch *f)
{
    far_status st = f->source->pack == FAR_PACK_NONE ? take_whole(f) : unpack(f);
    f->spoilt = st != FAR_OK && st != FAR_ERR_CANCELLED;
    return st;
}

/* ---- downloading ---- */

static const char *mirror(const fetch *f)
{
    const char *own = f->opts.mirror ? f->opts.mirror : getenv("FARFIELD_DATA_URL");
    return own && *own ? own : NULL;
}

/* The i-th address to try; false if there is none. */
static bool find_address(const fetch *f, int i, char out[FAR_PATH_BYTES])
{
    const char *own = mirror(f);
    if (own) {
        int length = (int)strlen(own);
        length -= length > 0 && own[length - 1] == '/';
        snprintf(out, FAR_PATH_BYTES, "%.*s/%s/%s", length, own, f->source->folder, source_name(f));
        return i == 0;
    }
    const char *known = i < FAR_SOURCE_ADDRESSES ? f->source->addresses[i] : NULL;
    snprintf(out, FAR_PATH_BYTES, "%s", known ? known : "");
    return known != NULL;
}

/* A connection that breaks is taken up again. */
static far_status try_address(fetch *f, const char *url)
{
    far_status st = FAR_OK;
    for (int i = 0; i < TRIES; i++) {
        st = far_http_get(f->ctx, url, &f->d);
        if (st == FAR_OK || !f->d.broken) {
            break;
        }
    }
    return st;
}

static far_status download(fetch *f)
{
    far_status st = FAR_ERR_IO;
    char url[FAR_PATH_BYTES];
    for (int i = 0; st == FAR_ERR_IO && !f->d.full && find_address(f, i, url); i++) {
        st = try_address(f, url);
        far_http_host(url, f->report.from, sizeof f->report.from);
    }
    return st;
}

/* What was begun on another day may be of another edition: then it is loaded again. */
static far_status bring(fetch *f)
{
    far_status st;
    FAR_TRY(download(f));
    far_fetch_report before = f->report;
    f->report.resumed |= f->d.resumed;
    st = take(f);
    if (st == FAR_ERR_FORMAT && f->d.resumed) {
        f->spoilt = false;
        f->report = before;
        FAR_TRY(far_download_restart(&f->d));
        FAR_TRY(download(f));
        FAR_TRY(take(f));
    }
done:
    return st;
}

static far_status check_room(const fetch *f)
{
    struct statvfs disk;
    char need_text[FAR_BYTES_TEXT], room_text[FAR_BYTES_TEXT];
    int64_t need = f->source->bytes - f->d.size;
    need += f->source->pack == FAR_PACK_NONE ? 0 : f->set->about.bytes;
    if (statvfs(f->folder, &disk) != 0) {
        return FAR_OK; /* writing will tell */
    }
    double room = (double)disk.f_bavail * (double)disk.f_frsize;
    if ((double)need <= room) {
        return FAR_OK;
    }
    return far_fail(f->ctx, FAR_ERR_IO, "needs %s in %s, where %s are free",
                    far_bytes_text(need, need_text), f->folder,
                    far_bytes_text((int64_t)room, room_text));
}

static far_status open_download(fetch *f)
{
    far_status st;
    char path[FAR_PATH_BYTES], name[FAR_PATH_BYTES];
    snprintf(name, sizeof name, "%s.part", source_name(f));
    FAR_TRY(far_path_join(f->ctx, f->folder, name, path));
    FAR_TRY(far_download_open(f->ctx, path, &f->d));
    f->d.most = most_to_download(f);
    f->d.total = f->source->bytes;
done:
    return st;
}

/* Adds to the message what has become of the file. */
static void tell_fate(const fetch *f, far_status status, const char *fate)
{
    char text[1024];
    snprintf(text, sizeof text, "%s", far_ctx_message(f->ctx));
    far_fail(f->ctx, status, "%s; %s", text, fate);
}

static void tell_stopped(const fetch *f)
{
    char size[FAR_BYTES_TEXT];
    far_fail(f->ctx, FAR_ERR_CANCELLED, "stopped after %s", far_bytes_text(f->d.size, size));
}

static far_status fetch_source(fetch *f)
{
    far_status st;
    f->d = (far_download){.fd = -1};
    f->spoilt = false;
    FAR_TRY(open_download(f));
    FAR_TRY(check_room(f));
    FAR_TRY(bring(f));
done:;
    bool useful = f->d.fd >= 0 && f->d.size > 0 && f->d.ranges && !f->d.full && !f->spoilt;
    bool keep = st != FAR_OK && st != FAR_ERR_FORMAT && useful;
    if (st == FAR_ERR_CANCELLED) {
        tell_stopped(f);
    }
    if (keep) {
        tell_fate(f, st, "what came is kept, and the next try goes on from there");
    } else if (st == FAR_ERR_FORMAT) {
        tell_fate(f, st, "it was removed");
    }
    f->report.bytes += f->d.came;
    far_download_close(&f->d, keep);
    return st;
}

/* ---- data sets ---- */

static bool is_here(const fetch *f)
{
    char path[FAR_PATH_BYTES];
    const far_source *s = f->source;
    bool here = s->pack != FAR_PACK_NONE || far_path_find(f->folder, source_name(f), path);
    for (int i = 0; i < FAR_SOURCE_FILES && s->members[i].path; i++) {
        here = here && far_path_find(f->folder, far_last_part(s->members[i].path), path);
    }
    return here;
}

/* Files that were here before are not trusted by their names. */
static far_status check_here(fetch *f)
{
    far_status st = FAR_OK;
    far_file_check c;
    for (int i = 0; i < FAR_SET_FILES && f->set->files[i]; i++) {
        FAR_TRY(far_file_hash(f->ctx, f->set, f->folder, f->set->files[i], &c));
        if (!c.same && !f->opts.unverified) {
            return far_file_fail(f->ctx, &c);
        }
        if (!c.same) {
            note_unverified(f, f->set->files[i], c.found);
        }
    }
done:
    return st;
}

static far_status fetch_set(fetch *f)
{
    far_status st;
    size_t made;
    bool some = false; /* are here already */
    FAR_TRY(far_folder_make(f->ctx, f->folder, &made));
    for (int i = 0; i < FAR_SET_SOURCES && f->set->sources[i]; i++) {
        f->source = f->set->sources[i];
        some |= is_here(f);
        if (!is_here(f)) {
            FAR_TRY(fetch_source(f));
        }
    }
    if (some) {
        FAR_TRY(check_here(f));
    }
done:
    if (st != FAR_OK) {
        rmdir(f->folder); /* if nothing is in it */
        far_folder_unmake(f->folder, made);
    }
    return st;
}

static far_status prefix_failure(far_ctx *ctx, const char *name, far_status status)
{
    char text[1536];
    snprintf(text, sizeof text, "%s", far_ctx_message(ctx));
    return far_fail(ctx, status, "%s: %s", name, text);
}

static far_status check_mirror(const fetch *f)
{
    static const char *const KINDS[] = {"https://", "http://", "file://"};
    char shown[128];
    const char *own = mirror(f);
    bool known = !own;
    for (int i = 0; i < 3 && !known; i++) {
        known = strncasecmp(own, KINDS[i], strlen(KINDS[i])) == 0;
    }
    if (known) {
        return FAR_OK;
    }
    far_show(shown, sizeof shown, own, (int64_t)strlen(own));
    return far_fail(f->ctx, FAR_ERR_ARG,
                    "the mirror '%s' is no address: one starts with https://, http:// or file://",
                    shown);
}

static far_status start(far_ctx *ctx, const far_dataset *set, const far_fetch_opts *opts, fetch *f)
{
    far_status st;
    char root[FAR_PATH_BYTES];
    f->ctx = ctx;
    f->set = far_dataset_entry_of(set);
    f->report.verified = 1;
    f->opts = (far_fetch_opts){.size = sizeof f->opts};
    if (opts && opts->size != sizeof *opts) {
        return far_fail(ctx, FAR_ERR_ARG, "opts->size is not sizeof(far_fetch_opts)");
    }
    f->opts = opts ? *opts : f->opts;
    FAR_TRY(check_mirror(f));
    FAR_TRY(far_dataset_folder(ctx, f->opts.folder, root, sizeof root));
    FAR_TRY(far_path_join(ctx, root, f->set->folder, f->folder));
done:
    return st;
}

far_status far_dataset_get(far_ctx *ctx, const far_dataset *set, const far_fetch_opts *opts,
                           far_fetch_report *report)
{
    if (!ctx || !set) {
        return far_fail(ctx, FAR_ERR_ARG, "set is NULL");
    }
    far_status st;
    far_dataset_state state;
    char path[FAR_PATH_BYTES];
    fetch *f = NULL;
    far_files_hold(ctx); /* what was read before may be mended */
    FAR_TRY(far_alloc(ctx, 1, &f));
    FAR_TRY(start(ctx, set, opts, f));
    FAR_TRY(far_dataset_where(ctx, set, f->opts.folder, &state, path, sizeof path));
    st = state < FAR_DATASET_HERE ? fetch_set(f) : check_here(f);
    st = st == FAR_OK ? st : prefix_failure(ctx, set->name, st);
    if (report) {
        *report = f->report;
    }
done:
    far_files_release(ctx);
    far_free(ctx, f);
    return st;
}
