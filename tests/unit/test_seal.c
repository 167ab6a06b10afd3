/* A flipped bit in a model, network, checkpoint or track is refused, wherever it is. */
#define _GNU_SOURCE
#include "../../src/net/net_file.h"
#include "../../src/regress/model_file.h"

#include <farfield/farfield.h>

#include "harness.h"

#include "seal.h"

enum { ROWS = 5, INPUTS = 2 };

typedef struct bytes {
    char *data;
    size_t size;
} bytes;

static bytes read_bytes(const char *path)
{
    bytes b = {0};
    int64_t size;
    char *text;
    must(far_file_read(ctx, path, &text, &size));
    b.size = (size_t)size;
    b.data = malloc(b.size + 1);
    memcpy(b.data, text, b.size + 1);
    far_text_free(ctx, text);
    return b;
}

static void put_whole(const char *path, const bytes *b)
{
    unlink(path); /* else the file system waits for the disk */
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(b->data, 1, b->size, f), b->size);
    fclose(f);
}

/* ---- one of each ---- */

static double x_values[ROWS * INPUTS], y_values[ROWS];

static void fill_values(void)
{
    for (int i = 0; i < ROWS * INPUTS; i++) {
        x_values[i] = sin(1.0 + i);
    }
    for (int i = 0; i < ROWS; i++) {
        y_values[i] = cos(i);
    }
}

static far_net *make_net(void)
{
    far_net *net;
    far_net_opts opts;
    far_net_opts_init(&opts);
    opts.inputs = INPUTS;
    must(far_net_create(ctx, "dense(3) tanh dense(1)", &opts, &net));
    return net;
}

static bytes make_network(void)
{
    far_net *net = make_net();
    must(far_net_save(ctx, net, "n"));
    far_net_destroy(net);
    return read_bytes("n");
}

static far_status load_network(const bytes *b)
{
    far_net *net;
    far_status st = far_net_parse_bytes(ctx, "file", b->data, (int64_t)b->size, NULL, &net);
    far_net_destroy(net);
    return st;
}

static bytes make_model(void)
{
    static const char *const names[] = {"a", "b", "y"};
    double all[ROWS * (INPUTS + 1)];
    far_frame *frame;
    far_model *m;
    far_fit_opts opts;
    for (int i = 0; i < ROWS; i++) {
        memcpy(all + 3 * i, x_values + 2 * i, 2 * sizeof *all);
        all[3 * i + 2] = y_values[i];
    }
    far_mat values = far_mat_view(all, ROWS, INPUTS + 1, FAR_F64);
    must(far_frame_from_mat(ctx, &values, names, &frame));
    far_fit_opts_init(&opts);
    opts.target = "y";
    opts.arch = "dense relu dense";
    must(far_model_fit(ctx, frame, &opts, &m));
    must(far_model_save(ctx, m, "m"));
    far_model_destroy(m);
    far_frame_destroy(frame);
    return read_bytes("m");
}

static far_status load_model(const bytes *b)
{
    far_model *m;
    far_status st = far_model_parse_bytes(ctx, "file", b->data, (int64_t)b->size, &m);
    far_model_destroy(m);
    return st;
}

static far_status train(far_net *net, int64_t epochs, bool resume)
{
    far_train_opts o;
    far_mat x = far_mat_view(x_values, ROWS, INPUTS, FAR_F64),
            y = far_mat_view(y_values, ROWS, 1, FAR_F64);
    far_train_opts_init(&o);
    o.epochs = epochs;
    o.checkpoint = "c";
    o.keep_checkpoint = 1;
    o.resume = resume;
    return far_net_train(ctx, net, &x, &y, &o, NULL);
}

static bytes make_checkpoint(void)
{
    far_net *net = make_net();
    must(train(net, 2, false));
    far_net_destroy(net);
    return read_bytes("c");
}

static far_status load_checkpoint(const bytes *b)
{
    far_net *net = make_net();
    put_whole("c", b);
    far_status st = train(net, 2, true);
    far_net_destroy(net);
    return st;
}

static far_track *make_track(void)
{
    far_track *t;
    far_track_opts o;
    far_net *net = make_net();
    far_mat x = far_mat_view(x_values, ROWS, INPUTS, FAR_F64);
    far_track_opts_init(&o, NULL);
    o.measures = "trace";
    o.every = 1;
    o.lr = 1e-3;
    must(far_track_create(ctx, net, &x, NULL, &o, &t));
    far_net_destroy(net);
    return t;
}

static bytes make_track_file(void)
{
    far_train_opts o;
    far_mat x = far_mat_view(x_values, ROWS, INPUTS, FAR_F64),
            y = far_mat_view(y_values, ROWS, 1, FAR_F64);
    far_track *t = make_track();
    far_net *net = make_net();
    far_train_opts_init(&o);
    o.epochs = 3;
    o.callback = far_track_callback;
    o.callback_user = &t;
    o.callback_every = 1;
    must(far_net_train(ctx, net, &x, &y, &o, NULL));
    must(far_track_save(ctx, t, "t.csv"));
    far_track_destroy(t);
    far_net_destroy(net);
    return read_bytes("t.csv");
}

static far_track *track; /* to load into */

static far_status load_track(const bytes *b)
{
    put_whole("t.csv", b);
    return far_track_load(ctx, track, "t.csv");
}

/* ---- flips ---- */

/* Every bit is flipped in turn, or one of every byte; returns how many flips the loader took. */
static int64_t flips_accepted(bytes b, far_status (*load)(const bytes *b), bool every)
{
    int64_t accepted = 0;
    must(load(&b));
    for (size_t i = 0; i < b.size; i++) {
        int first = every ? 0 : (int)(i * 5 % 8);
        for (int bit = first; bit < (every ? 8 : first + 1); bit++) {
            b.data[i] ^= (char)(1 << bit);
            far_status st = load(&b);
            if (st == FAR_OK) {
                print_message("bit %d of byte %zu of %zu\n", bit, i, b.size);
                accepted++;
            }
            b.data[i] ^= (char)(1 << bit);
        }
    }
    must(load(&b));
    free(b.data);
    return accepted;
}

static void a_flipped_bit_of_a_model_is_refused(void **state)
{
    (void)state;
    assert_int_equal(flips_accepted(make_model(), load_model, false), 0);
}

static void a_flipped_bit_of_a_network_is_refused(void **state)
{
    (void)state;
    assert_int_equal(flips_accepted(make_network(), load_network, true), 0);
}

static void a_flipped_bit_of_a_checkpoint_is_refused(void **state)
{
    (void)state;
    assert_int_equal(flips_accepted(make_checkpoint(), load_checkpoint, false), 0);
}

static void a_flipped_bit_of_a_track_is_refused(void **state)
{
    (void)state;
    track = make_track();
    assert_int_equal(flips_accepted(make_track_file(), load_track, true), 0);
    far_track_destroy(track);
}

static void a_track_without_checksums_is_read(void **state)
{
    (void)state;
    bytes t = make_track_file(), old = {.data = malloc(t.size)};
    bool past = false; /* in the last column */
    for (size_t i = 0, commas = 0; i < t.size; i++) {
        commas = t.data[i] == '\n' ? 0 : commas + (t.data[i] == ',');
        past = commas == FAR_TRACK_FIRST + 1;
        if (!past) {
            old.data[old.size++] = t.data[i];
        }
    }
    track = make_track();
    must(load_track(&old));
    assert_int_equal(far_track_describe(track).rows.rows, 4);
    far_track_destroy(track);
    free(t.data);
    free(old.data);
}

/* ---- what has no checksum ---- */

static void a_damaged_array_is_named(void **state)
{
    (void)state;
    bytes b = make_model();
    char *at = memmem(b.data, b.size, "alpha.npy", 9);
    at[150] ^= 1; /* behind the name and the header of the array */
    assert_int_equal(load_model(&b), FAR_ERR_FORMAT);
    assert_string_equal(far_ctx_message(ctx),
                        "file: alpha.npy does not match its checksum: the file is damaged; take "
                        "another copy, or fit again");
    free(b.data);
}

static void a_model_that_lost_its_checksum_is_refused(void **state)
{
    (void)state;
    bytes b = make_model();
    b.size -= FAR_SEAL_BYTES;
    b.data[b.size - 2] = 0;
    assert_int_equal(load_model(&b), FAR_ERR_FORMAT);
    assert_non_null(strstr(far_ctx_message(ctx), "lost the checksum"));
    free(b.data);
}

static void files_that_were_sealed_anew_are_read(void **state)
{
    (void)state;
    bytes m = make_model(), n = make_network();
    char *version = memmem(n.data, n.size, "\"seed\":\"0\"", 10);
    assert_non_null(version);
    version[8] = '1';
    assert_int_equal(load_network(&n), FAR_ERR_FORMAT);
    seal_tensors(n.data, n.size);
    must(load_network(&n));
    m.data[m.size - 1] ^= 1;
    assert_int_equal(load_model(&m), FAR_ERR_FORMAT);
    m.data = seal_zip(m.data, &m.size);
    must(load_model(&m));
    free(m.data);
    free(n.data);
}

/* As files of other programs, and of ours before there were checksums. */
static void a_network_without_a_checksum_is_read_and_known(void **state)
{
    (void)state;
    far_net *net = NULL;
    bytes n = make_network();
    memcpy(memmem(n.data, n.size, "farfield.checksum", 17), "farfield.checkSUM", 17);
    assert_int_equal(load_network(&n), FAR_ERR_FORMAT);
    memcpy(memmem(n.data, n.size, "farfield.sha256", 15), "farfield.sha265", 15);
    must(far_net_parse_bytes(ctx, "file", n.data, (int64_t)n.size, NULL, &net));
    assert_int_equal(far_net_describe(net).sealed, 0);
    far_net_destroy(net);
    free(n.data);
    n = make_network();
    must(far_net_load(ctx, "n", NULL, &net));
    assert_int_equal(far_net_describe(net).sealed, 1);
    far_net_destroy(net);
    free(n.data);
}

static int open_all(void **state)
{
    fill_values();
    return enter_folder(state) || open_context(state);
}

static int close_all(void **state)
{
    unlink("n");
    unlink("m");
    unlink("c");
    unlink("t.csv");
    return close_context(state) || leave_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flipped_bit_of_a_model_is_refused),
        cmocka_unit_test(a_flipped_bit_of_a_network_is_refused),
        cmocka_unit_test(a_flipped_bit_of_a_checkpoint_is_refused),
        cmocka_unit_test(a_flipped_bit_of_a_track_is_refused),
        cmocka_unit_test(a_track_without_checksums_is_read),
        cmocka_unit_test(a_damaged_array_is_named),
        cmocka_unit_test(a_model_that_lost_its_checksum_is_refused),
        cmocka_unit_test(files_that_were_sealed_anew_are_read),
        cmocka_unit_test(a_network_without_a_checksum_is_read_and_known),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
