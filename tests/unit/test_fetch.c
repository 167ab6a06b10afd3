/* Published data sets: what is known of them, where they lie, how they come here and what is left
 * when they do not, and the formats they come in. Downloads over http are tested by the command. */
#define _GNU_SOURCE
#include "../../src/data/frame_internal.h"
#include "../../src/fetch/fetch_internal.h"

#define TEST_THREADS 0
#define TEST_OPEN open_scratch
#define TEST_CLOSE close_scratch
#include "harness.h"

#include "faults.h"

/* ---- the scratch folder ---- */

static void remove_tree(const char *path)
{
    char inner[1024];
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            snprintf(inner, sizeof inner, "%s/%s", path, e->d_name);
            remove_tree(inner);
        }
    }
    if (d) {
        closedir(d);
    }
    remove(path);
}

/* With site, a mirror, in it. */
static int open_scratch(void **state)
{
    unsetenv("FARFIELD_DATA_URL");
    return enter_folder(state) || mkdir("site", 0777) != 0 || open_context(state);
}

static int close_scratch(void **state)
{
    int code = chdir("/");
    remove_tree(folder);
    return close_context(state) || code != 0;
}

static void expect_content(const char *path, const char *text)
{
    char got[4096] = "";
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    got[size] = 0;
    assert_string_equal(got, text);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- data sets for the tests ---- */

#define ABC_HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define OTHER_HASH "ca7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static far_source plain_source, zip_source, tar_source;
static far_dataset_entry plain_set, zip_set, tar_set;

static far_dataset_entry make_set(const char *name, const char *file, const far_source *source)
{
    return (far_dataset_entry){
        .about = {name, name, "a test", "y", NULL, "http://127.0.0.1/", 2, 3, 3},
        .folder = "set",
        .form = FAR_FORM_CSV,
        .files = {file},
        .sources = {source}};
}

/* The content of each is "abc". */
static void make_sets(void)
{
    plain_source = (far_source){.folder = "set",
                                .addresses = {"http://127.0.0.1:1/way/data.txt"},
                                .sha256 = ABC_HASH,
                                .bytes = 3};
    zip_source = (far_source){.folder = "set",
                              .addresses = {"http://127.0.0.1:1/data.zip"},
                              .pack = FAR_PACK_ZIP,
                              .members = {{"in/a.txt", ABC_HASH}, {"b.txt", ABC_HASH}}};
    tar_source = (far_source){.folder = "set",
                              .addresses = {"http://127.0.0.1:1/data.tar.gz"},
                              .pack = FAR_PACK_TAR_GZ,
                              .members = {{"in/a.txt", ABC_HASH}}};
    plain_set = make_set("plain", "data.txt", &plain_source);
    zip_set = make_set("zipped", "a.txt", &zip_source);
    tar_set = make_set("tarred", "a.txt", &tar_source);
    mkdir("site/set", 0777);
    write_text("site/set/data.txt", "abc");
}

static void write_zip(const char *first, const char *content)
{
    far_output o;
    assert_int_equal(far_output_open(ctx, "site/set/data.zip", false, &o), FAR_OK);
    far_zip z = {.output = &o, .zip64_from = UINT32_MAX};
    far_zip_put_bytes(&z, first, content, strlen(content));
    far_zip_put_bytes(&z, "b.txt", "abc", 3);
    far_zip_finish(&z);
    assert_int_equal(far_output_commit(&o), FAR_OK);
    far_output_close(&o);
}

/* A header of a tar and the content, padded; returns the bytes. */
static size_t put_tar(unsigned char *out, const char *path, char type, const char *content)
{
    unsigned sum = 0;
    size_t size = strlen(content), padded = (size + 511) / 512 * 512;
    memset(out, 0, 512 + padded);
    memcpy(out, path, strlen(path));
    snprintf((char *)out + 124, 12, "%011o", (unsigned)size);
    out[156] = (unsigned char)type;
    memcpy(out + 257, "ustar", 6);
    memset(out + 148, ' ', 8);
    for (int i = 0; i < 512; i++) {
        sum += out[i];
    }
    snprintf((char *)out + 148, 8, "%06o", sum);
    memcpy(out + 512, content, size);
    return 512 + padded;
}

static void write_gzip(const char *path, const void *data, size_t size)
{
    far_output o;
    assert_int_equal(far_output_open(ctx, path, true, &o), FAR_OK);
    far_output_put(&o, data, size);
    assert_int_equal(far_output_commit(&o), FAR_OK);
    far_output_close(&o);
}

static void write_tar(const char *path, const char *content)
{
    static unsigned char tar[8192];
    size_t used = put_tar(tar, "in/", '5', "");
    used += put_tar(tar + used, "in/other.txt", '0', "of another length");
    used += put_tar(tar + used, path, '0', content);
    memset(tar + used, 0, 1024);
    write_gzip("site/set/data.tar.gz", tar, used + 1024);
}

static far_status get_with(const far_dataset_entry *set, bool unverified, far_fetch_report *r)
{
    char mirror[128];
    far_fetch_opts opts;
    opts = (far_fetch_opts){.size = sizeof opts};
    snprintf(mirror, sizeof mirror, "file://%s/site/", folder);
    opts.folder = "cache";
    opts.mirror = mirror;
    opts.unverified = unverified;
    return far_dataset_get(ctx, &set->about, &opts, r);
}

static void need_downloads(void)
{
    make_sets();
    if (get_with(&plain_set, false, NULL) != FAR_OK &&
        strstr(far_ctx_message(ctx), "without libcurl")) {
        print_message("built without libcurl\n");
        skip();
    }
    remove_tree("cache");
}

static void expect_get(const far_dataset_entry *set, far_status status, const char *message)
{
    assert_int_equal(get_with(set, false, NULL), status);
    assert_string_equal(far_ctx_message(ctx), message);
    assert_false(exists("cache"));
}

/* ---- the registry ---- */

static bool is_hash(const char *text)
{
    return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static void check_source(const far_source *s)
{
    bool packaged = strncmp(s->addresses[0], "file:///usr/share/", 18) == 0;
    assert_int_equal(strncmp(s->addresses[packaged], "http", 4), 0);
    assert_true(*far_last_part(s->addresses[0]));
    if (s->sha256) {
        assert_true(is_hash(s->sha256));
    }
    assert_int_equal(s->pack == FAR_PACK_NONE, s->members[0].path == NULL);
    for (int i = 0; i < FAR_SOURCE_FILES && s->members[i].path; i++) {
        assert_true(s->sha256 || is_hash(s->members[i].sha256));
    }
    assert_true(s->members[0].path || s->sha256);
}

static bool brings(const far_source *s, const char *file)
{
    bool found = s->pack == FAR_PACK_NONE && strcmp(far_last_part(s->addresses[0]), file) == 0;
    for (int i = 0; i < FAR_SOURCE_FILES && s->members[i].path; i++) {
        found |= strcmp(far_last_part(s->members[i].path), file) == 0;
    }
    return found;
}

static int64_t count_columns(const char *names)
{
    int64_t count = 1;
    for (; *names; names++) {
        count += *names == ',';
    }
    return count;
}

static void check_entry(const far_dataset_entry *e)
{
    int64_t bytes = 0;
    for (int i = 0; i < FAR_SET_SOURCES && e->sources[i]; i++) {
        check_source(e->sources[i]);
        assert_string_equal(e->sources[i]->folder, e->folder);
        const far_source *s = e->sources[i];
        bytes += s->pack == FAR_PACK_NONE ? s->bytes
                 : s->pack == FAR_PACK_GZ ? s->members[0].bytes
                                          : e->about.bytes;
    }
    assert_int_equal(bytes, e->about.bytes);
    for (int k = 0; k < FAR_SET_FILES && e->files[k]; k++) {
        bool found = false;
        for (int i = 0; i < FAR_SET_SOURCES && e->sources[i]; i++) {
            found |= brings(e->sources[i], e->files[k]);
        }
        assert_true(found);
    }
    if (e->columns) {
        assert_int_equal(count_columns(e->columns), e->about.cols);
        assert_non_null(strstr(e->columns, e->about.target));
    }
}

static void every_data_set_of_the_registry_is_whole(void **state)
{
    (void)state;
    assert_true(far_dataset_count() > 10);
    for (int64_t i = 0; i < far_dataset_count(); i++) {
        const far_dataset *set = far_dataset_at(i);
        assert_ptr_equal(far_dataset_find(set->name), set);
        assert_true(set->rows > 0 && set->cols > 1 && set->title && set->purpose && set->page);
        check_entry(far_dataset_entry_of(set));
    }
    assert_null(far_dataset_at(-1));
    assert_null(far_dataset_at(far_dataset_count()));
    assert_null(far_dataset_find("Protein"));
    assert_null(far_dataset_find(NULL));
}

/* ---- places ---- */

static void the_folder_is_the_first_that_is_named(void **state)
{
    (void)state;
    char out[64];
    setenv("HOME", "/home/a", 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("FARFIELD_DATA", "/data", 1);
    assert_int_equal(far_dataset_folder(ctx, "/own", out, sizeof out), FAR_OK);
    assert_string_equal(out, "/own");
    assert_int_equal(far_dataset_folder(ctx, NULL, out, sizeof out), FAR_OK);
    assert_string_equal(out, "/data");
    setenv("FARFIELD_DATA", "", 1);
    assert_int_equal(far_dataset_folder(ctx, NULL, out, sizeof out), FAR_OK);
    assert_string_equal(out, "/xdg/farfield");
    unsetenv("XDG_CACHE_HOME");
    assert_int_equal(far_dataset_folder(ctx, NULL, out, sizeof out), FAR_OK);
    assert_string_equal(out, "/home/a/.cache/farfield");
    assert_int_equal(far_dataset_folder(ctx, NULL, out, 10), FAR_ERR_ARG);
    assert_int_equal(far_dataset_folder(ctx, "", out, sizeof out), FAR_ERR_ARG);
    unsetenv("HOME");
    assert_int_equal(far_dataset_folder(ctx, NULL, out, sizeof out), FAR_ERR_ARG);
    assert_non_null(strstr(far_ctx_message(ctx), "HOME is not set"));
    assert_int_equal(far_dataset_folder(ctx, "x", NULL, 0), FAR_ERR_ARG);
}

static void expect_where(const far_dataset_entry *set, far_dataset_state wanted, const char *path)
{
    char got[256];
    far_dataset_state state;
    assert_int_equal(far_dataset_where(ctx, &set->about, "cache", &state, got, sizeof got), FAR_OK);
    assert_int_equal(state, wanted);
    assert_string_equal(got, path);
}

static void where_tells_what_is_here(void **state)
{
    (void)state;
    far_dataset_state s;
    char path[8];
    make_sets();
    expect_where(&plain_set, FAR_DATASET_ABSENT, "cache/set/data.txt");
    mkdir("cache", 0777);
    mkdir("cache/set", 0777);
    write_text("cache/set/data.txt.part", "");
    expect_where(&plain_set, FAR_DATASET_ABSENT, "cache/set/data.txt");
    write_text("cache/set/data.txt.part", "a");
    expect_where(&plain_set, FAR_DATASET_BEGUN, "cache/set/data.txt");
    write_text("cache/set/data.txt.gz", "x");
    expect_where(&plain_set, FAR_DATASET_OTHER, "cache/set/data.txt.gz");
    write_file("cache/set/data.txt.gz", "ends with\3\0\0", 13);
    expect_where(&plain_set, FAR_DATASET_HERE, "cache/set/data.txt.gz");
    write_text("cache/set/data.txt", "x");
    expect_where(&plain_set, FAR_DATASET_OTHER, "cache/set/data.txt");
    write_text("cache/set/data.txt", "xyz"); /* only the size is looked at */
    expect_where(&plain_set, FAR_DATASET_HERE, "cache/set/data.txt");
    assert_int_equal(far_dataset_where(ctx, &plain_set.about, "cache", &s, path, sizeof path),
                     FAR_ERR_ARG);
    assert_int_equal(far_dataset_where(ctx, NULL, "cache", &s, path, sizeof path), FAR_ERR_ARG);
    assert_int_equal(far_dataset_where(ctx, &plain_set.about, "cache", NULL, path, 8), FAR_ERR_ARG);
    assert_int_equal(far_dataset_where(ctx, &plain_set.about, "cache", &s, NULL, 8), FAR_ERR_ARG);
}

static void several_files_are_here_together(void **state)
{
    (void)state;
    far_dataset_entry set = make_set("two", "a.gz", &plain_source);
    set.files[1] = "b";
    make_sets();
    mkdir("cache", 0777);
    mkdir("cache/set", 0777);
    write_text("cache/set/a", "x");
    expect_where(&set, FAR_DATASET_BEGUN, "cache/set");
    write_text("cache/set/b", "x");
    expect_where(&set, FAR_DATASET_HERE, "cache/set");
}

static void expect_verify(const far_dataset_entry *set, far_status status, const char *piece)
{
    assert_int_equal(far_dataset_verify(ctx, &set->about, "cache"), status);
    assert_true(status == FAR_OK || strstr(far_ctx_message(ctx), piece));
}

static void verifying_reads_the_files(void **state)
{
    (void)state;
    static const unsigned char packed[] = {0x1f, 0x8b, 8,    0,    0,    0, 0, 0,
                                           0,    3,    0x4b, 0x4c, 0x4a, 6, 0, 0xc2,
                                           0x41, 0x24, 0x35, 3,    0,    0, 0};
    make_sets();
    mkdir("cache", 0777);
    mkdir("cache/set", 0777);
    expect_verify(&plain_set, FAR_ERR_IO,
                  "data.txt is not in cache/set; 'farfield data get plain'");
    write_text("cache/set/data.txt", "abd");
    expect_verify(&plain_set, FAR_ERR_FORMAT, "cache/set/data.txt has the SHA-256 ");
    write_text("cache/set/data.txt", "abc");
    expect_verify(&plain_set, FAR_OK, "");
    plain_source.sha256 = NULL;
    expect_verify(&plain_set, FAR_ERR_FORMAT, "no SHA-256 of it is known; it is " ABC_HASH);
    plain_source.sha256 = ABC_HASH;
    unlink("cache/set/data.txt");
    write_file("cache/set/data.txt.gz", packed, sizeof packed);
    expect_where(&plain_set, FAR_DATASET_HERE, "cache/set/data.txt.gz");
    expect_verify(&plain_set, FAR_OK, "");
    assert_int_equal(far_dataset_verify(ctx, NULL, "cache"), FAR_ERR_ARG);
}

/* The publisher's is gzipped: its SHA-256 says nothing about the content. */
static void what_was_unpacked_cannot_be_verified(void **state)
{
    (void)state;
    make_sets();
    plain_source.addresses[0] = "http://127.0.0.1:1/data.gz";
    far_dataset_entry set = make_set("packed", "data.gz", &plain_source);
    mkdir("cache", 0777);
    mkdir("cache/set", 0777);
    write_text("cache/set/data", "abcd");
    expect_where(&set, FAR_DATASET_HERE, "cache/set/data");
    expect_verify(&set, FAR_ERR_FORMAT, "cannot be verified");
}

/* ---- getting ---- */

static void a_file_comes_and_is_verified(void **state)
{
    (void)state;
    far_fetch_report r;
    need_downloads();
    assert_int_equal(get_with(&plain_set, false, &r), FAR_OK);
    expect_content("cache/set/data.txt", "abc");
    assert_false(exists("cache/set/data.txt.part"));
    assert_int_equal(r.bytes, 3);
    assert_int_equal(r.verified, 1);
    assert_string_equal(r.from, "this machine");
    write_text("site/set/data.txt", "xyz");
    assert_int_equal(get_with(&plain_set, false, &r), FAR_OK); /* it is here */
    expect_content("cache/set/data.txt", "abc");
    assert_int_equal(r.bytes, 0);
    assert_int_equal(r.verified, 1);
    assert_string_equal(r.from, "");
}

static void a_file_that_is_here_is_not_trusted(void **state)
{
    (void)state;
    far_fetch_report r;
    need_downloads();
    mkdir("cache", 0777);
    mkdir("cache/set", 0777);
    write_text("cache/set/data.txt", "abd");
    assert_int_equal(get_with(&plain_set, false, &r), FAR_ERR_FORMAT);
    assert_non_null(strstr(far_ctx_message(ctx), "plain: cache/set/data.txt has the SHA-256 "));
    assert_non_null(strstr(far_ctx_message(ctx), "once this file is removed"));
    expect_content("cache/set/data.txt", "abd");
    assert_int_equal(get_with(&plain_set, true, &r), FAR_OK);
    assert_int_equal(r.verified, 0);
    assert_string_equal(r.file, "data.txt");
    unlink("cache/set/data.txt");
    assert_int_equal(get_with(&plain_set, false, &r), FAR_OK);
    expect_content("cache/set/data.txt", "abc");
}

static void a_wrong_hash_is_refused_with_both_hashes(void **state)
{
    (void)state;
    far_fetch_report r;
    need_downloads();
    plain_source.sha256 = OTHER_HASH;
    expect_get(&plain_set, FAR_ERR_FORMAT,
               "plain: data.txt has the SHA-256 " ABC_HASH ", not " OTHER_HASH
               " (unverified would keep it); it was removed");
    assert_int_equal(get_with(&plain_set, true, &r), FAR_OK);
    assert_int_equal(r.verified, 0);
    assert_string_equal(r.file, "data.txt");
    assert_string_equal(r.sha256, ABC_HASH);
    expect_content("cache/set/data.txt", "abc");
}

static void without_a_known_hash_there_is_no_file(void **state)
{
    (void)state;
    far_fetch_report r;
    need_downloads();
    plain_source.sha256 = NULL;
    expect_get(&plain_set, FAR_ERR_FORMAT,
               "plain: data.txt cannot be verified, for no SHA-256 of it is known; it is " ABC_HASH
               " (unverified would keep it); it was removed");
    assert_int_equal(get_with(&plain_set, true, &r), FAR_OK);
    assert_int_equal(r.verified, 0);
}

static void more_bytes_than_known_are_refused(void **state)
{
    (void)state;
    need_downloads();
    write_text("site/set/data.txt", "abcd");
    expect_get(&plain_set, FAR_ERR_FORMAT,
               "plain: the server announces 4 bytes, but the file has at most 3; it was removed");
}

static void an_empty_file_is_a_wrong_file(void **state)
{
    (void)state;
    need_downloads();
    write_text("site/set/data.txt", "");
    assert_int_equal(get_with(&plain_set, false, NULL), FAR_ERR_FORMAT);
    assert_false(exists("cache"));
}

static void what_is_missing_at_the_mirror_is_named(void **state)
{
    (void)state;
    char wanted[256];
    need_downloads();
    unlink("site/set/data.txt");
    snprintf(wanted, sizeof wanted, "plain: cannot read file://%s/site/set/data.txt", folder);
    expect_get(&plain_set, FAR_ERR_IO, wanted);
}

static void members_of_a_zip_come_alone(void **state)
{
    (void)state;
    far_fetch_report r;
    need_downloads();
    write_zip("in/a.txt", "abc");
    assert_int_equal(get_with(&zip_set, false, &r), FAR_OK);
    assert_int_equal(r.verified, 1);
    expect_content("cache/set/a.txt", "abc");
    expect_content("cache/set/b.txt", "abc");
    assert_false(exists("cache/set/data.zip.part"));
    unlink("cache/set/b.txt"); /* of another data set, perhaps: this one is here */
    assert_int_equal(get_with(&zip_set, false, &r), FAR_OK);
    assert_int_equal(r.bytes, 0);
}

static void a_bad_member_leaves_none(void **state)
{
    (void)state;
    need_downloads();
    zip_source.members[1].sha256 = OTHER_HASH;
    write_zip("in/a.txt", "abc");
    expect_get(&zip_set, FAR_ERR_FORMAT,
               "zipped: b.txt has the SHA-256 " ABC_HASH ", not " OTHER_HASH
               " (unverified would keep it); it was removed");
    write_zip("in/c.txt", "abc");
    expect_get(&zip_set, FAR_ERR_FORMAT, "zipped: data.zip: holds no in/a.txt; it was removed");
    write_text("site/set/data.zip", "<html>not found</html>");
    expect_get(&zip_set, FAR_ERR_FORMAT,
               "zipped: data.zip: the zip file cannot be read (Not a zip archive); it was removed");
}

static void an_archive_may_be_verified_as_a_whole(void **state)
{
    (void)state;
    need_downloads();
    write_tar("in/a.txt", "something else");
    tar_source.sha256 = OTHER_HASH;
    tar_source.members[0].sha256 = NULL;
    assert_int_equal(get_with(&tar_set, false, NULL), FAR_ERR_FORMAT);
    assert_non_null(strstr(far_ctx_message(ctx), "tarred: data.tar.gz has the SHA-256 "));
    assert_int_equal(get_with(&tar_set, true, NULL), FAR_OK);
    expect_content("cache/set/a.txt", "something else");
}

/* What has no SHA-256 of its own gets one from the archive. */
static void files_of_a_verified_archive_are_recorded(void **state)
{
    (void)state;
    far_fetch_report r;
    char hash[65];
    need_downloads();
    write_tar("in/a.txt", "abc");
    tar_source.sha256 = OTHER_HASH;
    tar_source.members[0].sha256 = NULL;
    assert_int_equal(get_with(&tar_set, true, &r), FAR_OK);
    assert_false(exists("cache/set/SHA256SUMS"));
    expect_verify(&tar_set, FAR_ERR_FORMAT, "no SHA-256 of it is known");
    remove_tree("cache");
    memcpy(hash, r.sha256, sizeof hash);
    tar_source.sha256 = hash;
    assert_int_equal(get_with(&tar_set, false, &r), FAR_OK);
    expect_content("cache/set/SHA256SUMS", ABC_HASH "  a.txt\n");
    expect_verify(&tar_set, FAR_OK, "");
    assert_int_equal(get_with(&tar_set, false, &r), FAR_OK);
    write_text("cache/set/a.txt", "abd");
    expect_verify(&tar_set, FAR_ERR_FORMAT, "not " ABC_HASH);
    write_text("cache/set/SHA256SUMS", "nothing\n\n" ABC_HASH "  b.txt");
    expect_verify(&tar_set, FAR_ERR_FORMAT, "no SHA-256 of it is known");
}

static void files_of_a_tar_come_too(void **state)
{
    (void)state;
    need_downloads();
    write_tar("./in/a.txt", "abc");
    assert_int_equal(get_with(&tar_set, false, NULL), FAR_OK);
    expect_content("cache/set/a.txt", "abc");
    remove_tree("cache");
    write_tar("in/c.txt", "abc");
    expect_get(&tar_set, FAR_ERR_FORMAT, "tarred: data.tar.gz: holds no in/a.txt; it was removed");
    write_text("site/set/data.tar.gz", "no gzip");
    expect_get(&tar_set, FAR_ERR_FORMAT,
               "tarred: data.tar.gz: damaged gzip data (incorrect header check); it was removed");
}

/* Whoever gzipped it, and however. */
static void a_gzipped_file_is_known_by_its_content(void **state)
{
    (void)state;
    need_downloads();
    far_source source = {.folder = "set",
                         .addresses = {"http://127.0.0.1:1/a.txt.gz"},
                         .pack = FAR_PACK_GZ,
                         .members = {{"a.txt", ABC_HASH, 3}}};
    far_dataset_entry set = make_set("packed", "a.txt", &source);
    write_gzip("site/set/a.txt.gz", "abc", 3);
    assert_int_equal(get_with(&set, false, NULL), FAR_OK);
    expect_content("cache/set/a.txt", "abc");
    expect_verify(&set, FAR_OK, "");
    remove_tree("cache");
    write_gzip("site/set/a.txt.gz", "abd", 3);
    assert_int_equal(get_with(&set, false, NULL), FAR_ERR_FORMAT);
    assert_non_null(strstr(far_ctx_message(ctx), "not " ABC_HASH));
    assert_false(exists("cache"));
}

static void what_was_begun_of_a_local_file_begins_anew(void **state)
{
    (void)state;
    need_downloads();
    mkdir("cache", 0777);
    mkdir("cache/set", 0777);
    write_text("cache/set/data.txt.part", "zz");
    assert_int_equal(get_with(&plain_set, false, NULL), FAR_OK);
    expect_content("cache/set/data.txt", "abc");
}

static void a_cancelled_download_says_so(void **state)
{
    (void)state;
    need_downloads();
    cancel_next();
    assert_int_equal(get_with(&plain_set, false, NULL), FAR_ERR_CANCELLED);
    assert_int_equal(strncmp(far_ctx_message(ctx), "plain: stopped after ", 21), 0);
    assert_false(exists("cache"));
}

static void two_do_not_write_one_file(void **state)
{
    (void)state;
    need_downloads();
    mkdir("cache", 0777);
    mkdir("cache/set", 0777);
    int fd = open("cache/set/data.txt.part", O_RDWR | O_CREAT, 0666);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(get_with(&plain_set, false, NULL), FAR_ERR_IO);
    assert_string_equal(far_ctx_message(ctx),
                        "plain: another process is writing cache/set/data.txt.part");
    assert_true(exists("cache/set/data.txt.part"));
    close(fd);
    assert_int_equal(get_with(&plain_set, false, NULL), FAR_OK);
}

static void a_file_in_the_way_is_named(void **state)
{
    (void)state;
    make_sets();
    write_text("cache", "");
    assert_int_equal(get_with(&plain_set, false, NULL), FAR_ERR_IO);
    assert_string_equal(far_ctx_message(ctx),
                        "plain: cannot make the folder cache/set: a file is in the way; another "
                        "one can be named in FARFIELD_DATA");
}

static void folders_are_made_and_unmade(void **state)
{
    (void)state;
    size_t made;
    mkdir("a", 0777);
    assert_int_equal(far_folder_make(ctx, "a/b//c", &made), FAR_OK);
    assert_true(exists("a/b/c"));
    far_folder_unmake("a/b//c", made);
    assert_true(exists("a") && !exists("a/b"));
    assert_int_equal(far_folder_make(ctx, "a", &made), FAR_OK);
    far_folder_unmake("a", made);
    assert_true(exists("a"));
    assert_int_equal(far_folder_make(ctx, "a/d/e", &made), FAR_OK);
    write_text("a/d/kept", "x");
    far_folder_unmake("a/d/e", made);
    assert_true(exists("a/d/kept") && !exists("a/d/e"));
}

static void arguments_are_checked(void **state)
{
    (void)state;
    far_fetch_opts opts = {0};
    far_frame *f;
    make_sets();
    assert_int_equal(far_dataset_get(ctx, NULL, NULL, NULL), FAR_ERR_ARG);
    assert_int_equal(far_dataset_get(NULL, &plain_set.about, NULL, NULL), FAR_ERR_ARG);
    assert_int_equal(far_dataset_get(ctx, &plain_set.about, &opts, NULL), FAR_ERR_ARG);
    opts = (far_fetch_opts){.size = sizeof opts};
    opts.mirror = "ftp://127.0.0.1/";
    assert_int_equal(far_dataset_get(ctx, &plain_set.about, &opts, NULL), FAR_ERR_ARG);
    assert_string_equal(far_ctx_message(ctx), "the mirror 'ftp://127.0.0.1/' is no address: one "
                                              "starts with https://, http:// or file://");
    assert_int_equal(far_dataset_read(ctx, NULL, NULL, &f), FAR_ERR_ARG);
    assert_int_equal(far_dataset_read(ctx, &plain_set.about, NULL, NULL), FAR_ERR_ARG);
}

/* ---- a system that fails ---- */

static void expect_fault(fault f, const char *begun, far_status status, const char *message)
{
    far_fetch_report r;
    if (begun) {
        mkdir("cache", 0777);
        mkdir("cache/set", 0777);
        write_text("cache/set/data.txt.part", begun);
    }
    next_fault = f;
    assert_int_equal(get_with(&plain_set, false, &r), status);
    next_fault = (fault){0};
    if (status == FAR_OK) {
        expect_content("cache/set/data.txt", "abc");
    } else {
        assert_string_equal(far_ctx_message(ctx), message);
        assert_false(exists("cache/set/data.txt"));
    }
    remove_tree("cache");
}

static void a_failing_disk_is_told(void **state)
{
    (void)state;
    need_downloads();
    expect_fault((fault){"write", 0, ENOSPC}, NULL, FAR_ERR_IO,
                 "plain: cannot write cache/set/data.txt.part: no space left on device");
    expect_fault((fault){"open", 0, EACCES}, NULL, FAR_ERR_IO,
                 "plain: cannot write cache/set/data.txt.part: permission denied");
    expect_fault((fault){"pread", 0, EIO}, NULL, FAR_ERR_IO,
                 "plain: cannot read cache/set/data.txt.part");
    expect_fault((fault){"rename", 0, EXDEV}, NULL, FAR_ERR_IO,
                 "plain: cannot write cache/set/data.txt: invalid cross-device link");
    expect_fault((fault){"ftruncate", 0, EIO}, "zz", FAR_ERR_IO,
                 "plain: cannot write cache/set/data.txt.part: input/output error");
    expect_fault((fault){"lseek", 1, EIO}, "zz", FAR_ERR_IO,
                 "plain: cannot write cache/set/data.txt.part: input/output error");
    expect_fault((fault){"statvfs", 0, ENOSPC}, NULL, FAR_ERR_IO,
                 "plain: needs 3 bytes in cache/set, where 0 bytes are free");
    expect_fault((fault){"statvfs", 0, EIO}, NULL, FAR_OK, NULL); /* writing would tell */
    expect_fault((fault){"write", 0, EINTR}, NULL, FAR_OK, NULL);
    expect_fault((fault){"fstat", 0, EIO}, NULL, FAR_OK, NULL); /* opened once more */
    expect_fault((fault){"fstat", ALWAYS, EIO}, NULL, FAR_ERR_IO,
                 "plain: cannot write cache/set/data.txt.part: device or resource busy");
}

static void files_that_cannot_be_written_leave_none(void **state)
{
    (void)state;
    static const fault faults[] = {{"fsync", 0, EIO}, {"rename", 0, EXDEV}, {"open", 2, EACCES}};
    need_downloads();
    write_zip("in/a.txt", "abc");
    for (int i = 0; i < COUNT(faults); i++) {
        next_fault = faults[i];
        assert_int_equal(get_with(&zip_set, false, NULL), FAR_ERR_IO);
        assert_false(exists("cache/set/a.txt") || exists("cache/set/b.txt"));
    }
    assert_int_equal(get_with(&zip_set, false, NULL), FAR_OK);
    assert_true(exists("cache/set/a.txt") && exists("cache/set/b.txt"));
}

/* Whatever its length, a folder's name is taken or refused in words. */
static void long_names_are_refused(void **state)
{
    (void)state;
    char name[4200];
    int taken = 0, refused = 0;
    need_downloads();
    write_zip("in/a.txt", "abc");
    for (int length = 4060; length < 4110; length += 1) {
        const far_dataset_entry *set = length % 2 ? &zip_set : &plain_set;
        far_fetch_opts opts;
        far_frame *frame = NULL;
        char mirror[128];
        opts = (far_fetch_opts){.size = sizeof opts};
        snprintf(mirror, sizeof mirror, "file://%s/site", folder);
        opts.folder = name;
        opts.mirror = mirror;
        for (int i = 0; i < length; i++) {
            name[i] = i > 5 && i % 100 == 0 ? '/' : 'a';
        }
        name[length] = 0;
        far_status st = far_dataset_get(ctx, &set->about, &opts, NULL);
        taken += st == FAR_OK;
        refused += st == FAR_ERR_ARG;
        if (st == FAR_OK) {
            assert_int_equal(far_dataset_verify(ctx, &set->about, name), FAR_OK);
        } else {
            const char *why = far_ctx_message(ctx);
            assert_true(strstr(why, "is too long") || strstr(why, "cannot"));
            assert_true(far_dataset_verify(ctx, &set->about, name) != FAR_OK);
            assert_true(far_dataset_read(ctx, &set->about, name, &frame) != FAR_OK);
            assert_null(frame);
        }
        name[100] = 0;
        remove_tree(name);
    }
    assert_true(taken > 5 && refused > 5);
}

static void sizes_have_their_units(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {{0, "0 bytes"},
                 {1, "1 byte"},
                 {9999, "9999 bytes"},
                 {10000, "9.77 KiB"},
                 {1023999, "1e+03 KiB"},
                 {1 << 20, "1 MiB"},
                 {(int64_t)5 << 30, "5120 MiB"}};
    for (int i = 0; i < COUNT(cases); i++) {
        char text[FAR_BYTES_TEXT];
        assert_string_equal(far_bytes_text(cases[i].bytes, text), cases[i].text);
    }
}

static void a_member_is_as_long_as_known(void **state)
{
    (void)state;
    far_fetch_report r;
    need_downloads();
    write_zip("in/a.txt", "abc");
    zip_source.members[0].bytes = zip_source.members[1].bytes = 3;
    assert_int_equal(get_with(&zip_set, false, &r), FAR_OK);
    remove_tree("cache");
    zip_source.members[0].bytes = 2;
    assert_int_equal(get_with(&zip_set, false, &r), FAR_ERR_FORMAT);
    assert_false(exists("cache"));
    zip_source.members[0].sha256 = zip_source.members[1].sha256 = OTHER_HASH;
    assert_int_equal(get_with(&zip_set, true, &r), FAR_OK); /* two are not as known: */
    assert_int_equal(r.verified, 0);
    assert_string_equal(r.file, "a.txt"); /* the first is told */
}

/* ---- tables ---- */

static far_dataset_entry table_set(far_form form, const char *columns, int64_t cols)
{
    far_dataset_entry set = make_set("table", "t", &plain_source);
    set.form = form;
    set.columns = columns;
    set.about.cols = cols;
    mkdir("cache", 0777);
    mkdir("cache/set", 0777);
    return set;
}

static void expect_table(const far_dataset_entry *set, int64_t rows, int64_t cols,
                         const char *const *names, const double *values)
{
    far_frame *f;
    far_status st = far_dataset_read(ctx, &set->about, "cache", &f);
    if (st != FAR_OK) {
        fail_msg("%s", far_ctx_message(ctx));
    }
    assert_int_equal(far_frame_rows(f), rows);
    assert_int_equal(far_frame_cols(f), cols);
    for (int64_t j = 0; j < cols; j++) {
        assert_string_equal(far_frame_column(f, j).name, names[j]);
        const double *column = far_frame_column(f, j).numbers;
        assert_non_null(column);
        for (int64_t i = 0; i < rows; i++) {
            assert_true(column[i] == values[i * cols + j]);
        }
    }
    far_frame_destroy(f);
}

static void expect_no_table(const far_dataset_entry *set, far_status status, const char *message)
{
    far_frame *f = (far_frame *)&test_heap;
    assert_int_equal(far_dataset_read(ctx, &set->about, "cache", &f), status);
    assert_null(f);
    assert_string_equal(far_ctx_message(ctx), message);
}

static const char *const ABC[] = {"a", "b", "c"};
static const double SIX[] = {1, 2, 3.5, -4, 5, 6};

static void numbers_between_blanks_are_a_table(void **state)
{
    (void)state;
    far_dataset_entry set = table_set(FAR_FORM_BLANKS, "a,b,c", 3);
    static const char *const FORMS[] = {"1 2 3.5\n-4 5 6\n", "1 2 3.5\n-4 5 6",
                                        "  1\t2  3.5 \r\n-4\t 5 6\r\n\r\n",
                                        "\t1 2 3.5\n\n-4 5 6\n \n ", "x y z\n1 2 3.5\n-4 5 6\n"};
    for (int i = 0; i < COUNT(FORMS); i++) {
        write_text("cache/set/t", FORMS[i]);
        expect_table(&set, 2, 3, ABC, SIX);
    }
    write_gzip("cache/set/t.gz", FORMS[0], strlen(FORMS[0]));
    unlink("cache/set/t");
    expect_table(&set, 2, 3, ABC, SIX);
}

static void csv_without_names_gets_ours(void **state)
{
    (void)state;
    static const char *const PIXELS[] = {"p1", "p2", "label"};
    far_dataset_entry set = table_set(FAR_FORM_BARE, NULL, 3);
    write_text("cache/set/t", "1,2,3.5\n-4,5,6\n");
    expect_table(&set, 2, 3, PIXELS, SIX);
    write_text("cache/set/t", "Block 1,Block 2,?\n1,2,3.5\n-4,5,6");
    expect_table(&set, 2, 3, PIXELS, SIX);
    set.form = FAR_FORM_CSV;
    write_text("cache/set/t", "\"a\",\"b\",\"c\"\n1,2,3.5\n-4,5,6\n");
    expect_table(&set, 2, 3, ABC, SIX);
}

static void bad_tables_name_their_file(void **state)
{
    (void)state;
    far_dataset_entry set = table_set(FAR_FORM_BLANKS, "a,b,c", 3);
    expect_no_table(
        &set, FAR_ERR_IO,
        "table: this data set is not in cache/set; 'farfield data get table' downloads it");
    far_frame *f;
    static const char *const FORMS[] = {"1 2 3\n4 5\n", "", "x y z"};
    for (int i = 0; i < COUNT(FORMS); i++) {
        write_text("cache/set/t", FORMS[i]);
        assert_int_equal(far_dataset_read(ctx, &set.about, "cache", &f), FAR_ERR_FORMAT);
        assert_int_equal(strncmp(far_ctx_message(ctx), "cache/set/t: ", 13), 0);
    }
}

/* Three images of 2 x 1 and their labels. */
static const unsigned char IMAGES[] = {0, 0, 8, 3, 0, 0, 0,  3,  0,  0,  0,
                                       2, 0, 0, 0, 1, 0, 11, 22, 33, 44, 255};
static const unsigned char LABELS[] = {0, 0, 8, 1, 0, 0, 0, 3, 7, 5, 9};

static far_dataset_entry idx_set(void)
{
    far_dataset_entry set = table_set(FAR_FORM_IDX, NULL, 3);
    set.files[0] = "images.gz";
    set.files[1] = "labels.gz";
    write_gzip("cache/set/images.gz", IMAGES, sizeof IMAGES);
    write_file("cache/set/labels", LABELS, sizeof LABELS);
    return set;
}

static void idx_images_and_labels_are_a_table(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"p1", "p2", "label"};
    static const double VALUES[] = {0, 11, 7, 22, 33, 5, 44, 255, 9};
    far_dataset_entry set = idx_set();
    expect_table(&set, 3, 3, NAMES, VALUES);
}

static void bad_idx_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t size;
        const char *message;
    } CASES[] = {
        {"\0\0\x08", 3, "is not in idx format"},
        {"\0\1\x08\1\0\0\0\1x", 9, "is not in idx format"},
        {"\0\0\x08\0", 4, "is not in idx format"},
        {"\0\0\x0d\1\0\0\0\0", 8, "holds values of idx type 0x0d; only bytes (0x08) are read"},
        {"\0\0\x08\2\0\0\0\1\0\0\0", 11, "ends in its header (truncated?)"},
        {"\0\0\x08\1\0\0\0\2x", 9, "has 1 bytes of values, not as many as its header says"},
        {"\0\0\x08\1\0\0\0\1xy", 10, "has 2 bytes of values, not as many as its header says"},
        {"\0\0\x08\3\x80\0\0\0\x80\0\0\0\0\0\0\4", 16,
         "has 0 bytes of values, not as many as its header says"},
        {"\0\0\x08\2\0\0\0\0\0\0\0\5", 12, "holds no values"},
    };
    char wanted[128];
    far_dataset_entry set = idx_set();
    for (int i = 0; i < COUNT(CASES); i++) {
        write_file("cache/set/labels", CASES[i].data, CASES[i].size);
        snprintf(wanted, sizeof wanted, "cache/set/labels: %s", CASES[i].message);
        expect_no_table(&set, FAR_ERR_FORMAT, wanted);
    }
    write_file("cache/set/labels", "\0\0\x08\1\0\0\0\2xy", 10);
    expect_no_table(&set, FAR_ERR_SHAPE,
                    "cache/set/labels: holds 2 x 1 labels for the 3 images beside it");
}

static void cifar_records_are_a_table(void **state)
{
    (void)state;
    enum { RECORD = 3073 };
    static unsigned char records[3 * RECORD];
    far_frame *f;
    far_dataset_entry set = table_set(FAR_FORM_CIFAR, NULL, RECORD);
    set.files[0] = "one.bin";
    set.files[1] = "two.bin";
    for (int i = 0; i < 3 * RECORD; i++) {
        records[i] = (unsigned char)(i % 251);
    }
    write_file("cache/set/one.bin", records, 2 * RECORD);
    write_file("cache/set/two.bin", records + 2 * RECORD, RECORD);
    assert_int_equal(far_dataset_read(ctx, &set.about, "cache", &f), FAR_OK);
    assert_int_equal(far_frame_rows(f), 3);
    assert_int_equal(far_frame_cols(f), RECORD);
    assert_string_equal(far_frame_column(f, RECORD - 1).name, "label");
    assert_string_equal(far_frame_column(f, RECORD - 2).name, "p3072");
    for (int i = 0; i < 3; i++) {
        assert_true(far_frame_column(f, RECORD - 1).numbers[i] == records[i * RECORD]);
        assert_true(far_frame_column(f, 1023).numbers[i] == records[i * RECORD + 1024]);
    }
    far_frame_destroy(f);
    write_file("cache/set/two.bin", records, 1000);
    expect_no_table(&set, FAR_ERR_FORMAT,
                    "cache/set/two.bin: has 1000 bytes, which are no whole images of 3073 each");
}

/* ---- tar ---- */

static far_status find_in(const unsigned char *tar, size_t size, const char *path,
                          const unsigned char **data, int64_t *length)
{
    far_input in = {.ctx = ctx, .label = "t.tar", .data = (unsigned char *)tar};
    in.size = (int64_t)size;
    return far_tar_find(&in, path, data, length);
}

static void tar_finds_files_and_nothing_else(void **state)
{
    (void)state;
    static unsigned char tar[8192];
    const unsigned char *data;
    int64_t size;
    size_t used = put_tar(tar, "a", '5', "");
    used += put_tar(tar + used, "a", '2', "");
    used += put_tar(tar + used, "a", '0', "file");
    used += put_tar(tar + used, "last", 0, "of the old kind");
    assert_int_equal(find_in(tar, used, "a", &data, &size), FAR_OK);
    assert_int_equal(size, 4);
    assert_memory_equal(data, "file", 4);
    assert_int_equal(find_in(tar, used, "last", &data, &size), FAR_OK);
    assert_int_equal(size, 15);
    assert_int_equal(find_in(tar, used, "b", &data, &size), FAR_OK);
    assert_null(data);
    memset(tar + used, 0, 512); /* the end: what follows does not count */
    put_tar(tar + used + 512, "b", '0', "x");
    assert_int_equal(find_in(tar, used + 1536, "b", &data, &size), FAR_OK);
    assert_null(data);
}

static void tar_joins_prefix_and_name(void **state)
{
    (void)state;
    static unsigned char tar[1024];
    const unsigned char *data;
    int64_t size;
    unsigned sum = 0;
    put_tar(tar, "name", '0', "x");
    memcpy(tar + 345, "long/way", 8);
    memset(tar + 148, ' ', 8);
    for (int i = 0; i < 512; i++) {
        sum += tar[i];
    }
    snprintf((char *)tar + 148, 8, "%06o", sum);
    assert_int_equal(find_in(tar, 1024, "long/way/name", &data, &size), FAR_OK);
    assert_non_null(data);
}

/* Numbers in a header: octal digits to the end of the field, or up to a blank or zero. */
static void tar_numbers_are_read_as_others_write_them(void **state)
{
    (void)state;
    static const struct {
        const char *field; /* 12 bytes; ~ stands for a zero byte */
        bool good;
    } cases[] = {{"00000000004~", true},  {"          4~", true},  {"000000000004", true},
                 {"4           ", true},  {"4~~~~~~~~~~~", true},  {"0000000000x4", false},
                 {"0000000000 9", false}, {"-0000000004~", false}, {"900000000004", false}};
    for (int i = 0; i < COUNT(cases); i++) {
        static unsigned char tar[1024];
        const unsigned char *data = NULL;
        int64_t size = 0;
        unsigned sum = 0;
        put_tar(tar, "a", '0', "file");
        for (int k = 0; k < 12; k++) {
            tar[124 + k] = (unsigned char)(cases[i].field[k] == '~' ? 0 : cases[i].field[k]);
        }
        memset(tar + 148, ' ', 8);
        for (int k = 0; k < 512; k++) {
            sum += tar[k];
        }
        snprintf((char *)tar + 148, 8, "%06o", sum);
        far_status st = find_in(tar, 1024, "a", &data, &size);
        bool blank = strcmp(cases[i].field, "0000000000 9") == 0; /* ends at the blank: nothing */
        assert_int_equal(st, cases[i].good || blank ? FAR_OK : FAR_ERR_FORMAT);
        assert_int_equal(size, cases[i].good ? 4 : 0);
    }
}

static void damaged_tars_are_refused(void **state)
{
    (void)state;
    static unsigned char tar[2048];
    const unsigned char *data;
    int64_t size;
    size_t used = put_tar(tar, "a", '0', "file");
    assert_int_equal(find_in(tar, used - 512 + 3, "a", &data, &size), FAR_ERR_FORMAT);
    assert_string_equal(far_ctx_message(ctx), "t.tar: the tar file ends too early (truncated?)");
    tar[0] = 'b';
    assert_int_equal(find_in(tar, used, "a", &data, &size), FAR_ERR_FORMAT);
    assert_string_equal(far_ctx_message(ctx), "t.tar: is no tar file, or a damaged one");
    assert_null(data);
}

/* ---- memory ---- */

/* Every allocation fails in turn: no file is left, and none is lost that was there. */
static void get_survives_failing_allocations(void **state)
{
    (void)state;
    const far_dataset_entry *sets[] = {&plain_set, &zip_set, &tar_set};
    need_downloads();
    write_zip("in/a.txt", "abc");
    write_tar("in/a.txt", "abc");
    for (int i = 0; i < COUNT(sets); i++) {
        far_status st = FAR_ERR_MEMORY;
        for (int64_t k = 0; st != FAR_OK; k++) {
            test_heap.fail_at = test_heap.calls + k;
            st = get_with(sets[i], false, NULL);
            test_heap.fail_at = -1;
            assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
            assert_int_equal(exists("cache"), st == FAR_OK);
            assert_true(k < 100);
        }
        st = FAR_ERR_MEMORY;
        for (int64_t k = 0; st != FAR_OK; k++) {
            test_heap.fail_at = test_heap.calls + k;
            st = far_dataset_verify(ctx, &sets[i]->about, "cache");
            test_heap.fail_at = -1;
            assert_true((st == FAR_OK || st == FAR_ERR_MEMORY) && k < 100);
        }
        remove_tree("cache");
    }
}

static void read_survives_failing_allocations(void **state)
{
    (void)state;
    far_dataset_entry blanks = table_set(FAR_FORM_BLANKS, "a,b,c", 3), idx = idx_set();
    const far_dataset_entry *sets[] = {&blanks, &idx};
    write_text("cache/set/t", "1 2 3.5\n-4 5 6\n");
    for (int i = 0; i < COUNT(sets); i++) {
        far_status st = FAR_ERR_MEMORY;
        for (int64_t k = 0; st != FAR_OK; k++) {
            far_frame *f = NULL;
            int64_t before = test_heap.live_blocks;
            test_heap.fail_at = test_heap.calls + k;
            st = far_dataset_read(ctx, &sets[i]->about, "cache", &f);
            test_heap.fail_at = -1;
            assert_true(st == FAR_OK || st == FAR_ERR_MEMORY);
            assert_int_equal(f != NULL, st == FAR_OK);
            far_frame_destroy(f);
            assert_int_equal(test_heap.live_blocks, before);
            assert_true(k < 200);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_data_set_of_the_registry_is_whole),
        TEST(the_folder_is_the_first_that_is_named),
        TEST(where_tells_what_is_here),
        TEST(several_files_are_here_together),
        TEST(verifying_reads_the_files),
        TEST(what_was_unpacked_cannot_be_verified),
        TEST(a_file_comes_and_is_verified),
        TEST(a_file_that_is_here_is_not_trusted),
        TEST(a_wrong_hash_is_refused_with_both_hashes),
        TEST(without_a_known_hash_there_is_no_file),
        TEST(more_bytes_than_known_are_refused),
        TEST(an_empty_file_is_a_wrong_file),
        TEST(what_is_missing_at_the_mirror_is_named),
        TEST(members_of_a_zip_come_alone),
        TEST(a_bad_member_leaves_none),
        TEST(an_archive_may_be_verified_as_a_whole),
        TEST(files_of_a_verified_archive_are_recorded),
        TEST(files_of_a_tar_come_too),
        TEST(a_gzipped_file_is_known_by_its_content),
        TEST(what_was_begun_of_a_local_file_begins_anew),
        TEST(a_cancelled_download_says_so),
        TEST(two_do_not_write_one_file),
        TEST(a_file_in_the_way_is_named),
        TEST(folders_are_made_and_unmade),
        TEST(arguments_are_checked),
        TEST(a_failing_disk_is_told),
        TEST(files_that_cannot_be_written_leave_none),
        TEST(long_names_are_refused),
        TEST(sizes_have_their_units),
        TEST(a_member_is_as_long_as_known),
        TEST(numbers_between_blanks_are_a_table),
        TEST(csv_without_names_gets_ours),
        TEST(bad_tables_name_their_file),
        TEST(idx_images_and_labels_are_a_table),
        TEST(bad_idx_files_are_refused),
        TEST(cifar_records_are_a_table),
        TEST(tar_finds_files_and_nothing_else),
        TEST(tar_joins_prefix_and_name),
        TEST(tar_numbers_are_read_as_others_write_them),
        TEST(damaged_tars_are_refused),
        TEST(get_survives_failing_allocations),
        TEST(read_survives_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
