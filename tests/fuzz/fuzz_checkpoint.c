/* Bytes are edits of a checkpoint that is whole, four each (see edit), of its header, whose length
 * is put right again, and of its numbers; with a first byte of 255 the rest is the file as it is.
 * A run either goes on from what comes out of that, or is refused with one line that starts with
 * the file's name, and then has not touched its network. The checksum is left out of the header, or
 * little would come through. */
#define _GNU_SOURCE
#include <farfield/farfield.h>
#include <unistd.h>

#define FUZZ_BYTES ((size_t)64 << 20)
#include "fuzz.h"

#define RAW 255
enum { ROWS = 5, INPUTS = 2, EPOCHS = 2, EXTRA = 4096 };

static far_ctx *ctx;
static char path[64];
static double x_values[ROWS * INPUTS], y_values[ROWS];

typedef struct part {
    char *data;
    size_t size, room;
} part;
static part whole_header, whole_numbers;

/* ---- the run ---- */

static far_net *make_net(void)
{
    far_net_opts opts;
    far_net *net;
    far_net_opts_init(&opts);
    opts.inputs = INPUTS;
    require(far_net_create(ctx, "dense(3) batchnorm tanh dense(1)", &opts, &net) == FAR_OK,
            "a network is made");
    return net;
}

static far_status train(far_net *net, int64_t epochs, bool resume)
{
    far_mat x = far_mat_view(x_values, ROWS, INPUTS, FAR_F64);
    far_mat y = far_mat_view(y_values, ROWS, 1, FAR_F64);
    far_train_opts opts;
    far_train_opts_init(&opts);
    opts.epochs = epochs;
    opts.batch = 3;
    opts.checkpoint = path;
    opts.resume = resume;
    opts.keep_checkpoint = !resume;
    return far_net_train(ctx, net, &x, &y, &opts, NULL);
}

/* ---- the checkpoint that is whole ---- */

static part read_whole(void)
{
    static char bytes[1 << 16];
    FILE *f = fopen(path, "rb");
    require(f != NULL, "the checkpoint is there");
    part p = {bytes, fread(bytes, 1, sizeof bytes, f), sizeof bytes};
    fclose(f);
    return p;
}

static part copy_part(const char *from, size_t size)
{
    part p = {malloc(size + EXTRA), size, size + EXTRA};
    memcpy(p.data, from, size);
    return p;
}

/* The keys of the checksum get other names: what is not known is passed over. */
static void leave_out_checksum(part *header)
{
    for (size_t i = 0; i + 6 < header->size; i++) {
        if (memcmp(header->data + i, "sha256", 6) == 0) {
            memcpy(header->data + i, "shaxxx", 6);
        }
    }
}

static void prepare(void)
{
    ctx = make_context();
    snprintf(path, sizeof path, "%s/farfield-fuzz-%d",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    for (int i = 0; i < ROWS * INPUTS; i++) {
        x_values[i] = sin(i + 1.0);
        y_values[i / INPUTS] = cos(i + 1.0);
    }
    far_net *net = make_net();
    require(train(net, EPOCHS, false) == FAR_OK, "a run leaves a checkpoint");
    far_net_destroy(net);
    part file = read_whole();
    uint64_t length;
    memcpy(&length, file.data, sizeof length);
    whole_header = copy_part(file.data + 8, length);
    whole_numbers = copy_part(file.data + 8 + length, file.size - 8 - length);
    leave_out_checksum(&whole_header);
}

/* ---- edits ---- */

static const double NUMBERS[] = {NAN, INFINITY, -INFINITY, -1, 0.5, 1e300, 0x1p53, 0x1p63, 0, 1, 3};

static void replace(part *p, size_t at, size_t removed, const char *with, size_t count)
{
    removed = removed < p->size - at ? removed : p->size - at;
    if (p->size - removed + count <= p->room) {
        memmove(p->data + at + count, p->data + at + removed, p->size - at - removed);
        memcpy(p->data + at, with, count);
        p->size += count - removed;
    }
}

/* what, place (two bytes), value */
static void edit(part *header, part *numbers, const uint8_t e[4])
{
    char byte = (char)e[3];
    size_t place = e[1] + 256u * e[2], at = place % (header->size + 1);
    switch (e[0] % 5) {
    case 0:
        replace(header, at, 1, &byte, 1);
        break;
    case 1:
        replace(header, at, 0, &byte, 1);
        break;
    case 2:
        replace(header, at, e[3], "", 0);
        break;
    case 3:
        memcpy(numbers->data + place % (numbers->size / 8) * 8,
               &NUMBERS[e[3] % (sizeof NUMBERS / sizeof *NUMBERS)], sizeof *NUMBERS);
        break;
    default:
        replace(numbers, place % (numbers->size + 1), e[3], "", 0);
    }
}

static void write_edited(FILE *f, const uint8_t *data, size_t size)
{
    part header = copy_part(whole_header.data, whole_header.size);
    part numbers = copy_part(whole_numbers.data, whole_numbers.size);
    for (size_t i = 0; i + 4 <= size && numbers.size >= 8; i += 4) {
        edit(&header, &numbers, data + i);
    }
    uint64_t length = header.size;
    fwrite(&length, sizeof length, 1, f);
    fwrite(header.data, 1, header.size, f);
    fwrite(numbers.data, 1, numbers.size, f);
    free(header.data);
    free(numbers.data);
}

/* ---- what must hold ---- */

static double first_weight(far_net *net)
{
    return *(const double *)far_net_tensor(net, 0).values.data;
}

static void check_refusal(far_status st)
{
    const char *message = far_ctx_message(ctx);
    require(st == FAR_ERR_FORMAT || st == FAR_ERR_ARG || st == FAR_ERR_VALUE ||
                st == FAR_ERR_MEMORY || st == FAR_ERR_PARSE || st == FAR_ERR_ARCH,
            "it is the file's fault");
    require(st == FAR_ERR_VALUE || strncmp(message, path, strlen(path)) == 0,
            "the message starts with the name");
    check_line(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!ctx) {
        prepare();
    }
    size_t before = live_bytes;
    FILE *f = fopen(path, "wb");
    require(f != NULL, "the file opens");
    if (size > 0 && data[0] == RAW) {
        fwrite(data + 1, 1, size - 1, f);
    } else {
        write_edited(f, data, size);
    }
    require(fclose(f) == 0, "the file is written");
    far_net *net = make_net();
    double weight = first_weight(net);
    far_status st = train(net, EPOCHS, true);
    if (st != FAR_OK) {
        check_refusal(st);
        require(st == FAR_ERR_VALUE || first_weight(net) == weight, "the network is as it was");
    } else {
        require(isfinite(first_weight(net)), "what was trained is finite");
        require(size > 0 || first_weight(net) != weight, "a whole checkpoint is taken over");
    }
    far_net_destroy(net);
    unlink(path);
    require(live_bytes == before, "all memory is given back");
    return 0;
}
