/* What predictors refuse, by name: files and certificates that were changed and sealed anew,
 * members that do not belong together, points that are out of range; and every call with each of
 * its allocations failing. */
#define _GNU_SOURCE
#include "harness.h"
#include "predictors.h"
#include "tables.h"

#include <dlfcn.h>
#include <float.h>

enum { NORM = 2, LINE = 3, GROWING = 4, SETTLED = 5, FLAT = 6, TREES = 7 };

static bool no_stream; /* stands before the C library's */
FILE *open_memstream(char **data, size_t *size)
{
    FILE *(*real)(char **, size_t *) = dlsym(RTLD_NEXT, "open_memstream");
    return no_stream ? NULL : real(data, size);
}

/* ---- texts --------------------------------------------------------------------------------- */

/* With every from replaced by to, of which there must be one; free it. */
static char *replaced(const char *text, const char *from, const char *to)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, from)); at++) {
        count++;
    }
    if (count == 0) {
        fail_msg("no '%s' in '%s'", from, text);
    }
    char *out = malloc(strlen(text) + count * strlen(to) + 1), *end = out;
    for (const char *at; (at = strstr(text, from)); text = at + strlen(from)) {
        end += sprintf(end, "%.*s%s", (int)(at - text), text, to);
    }
    strcpy(end, text);
    return out;
}

/* ---- files --------------------------------------------------------------------------------- */

/* A part of a file, as text; free it. */
static char *member_of(const far_predictor *p, const char *name)
{
    far_input whole = {0}, part = {0};
    int64_t size;
    char *bytes = bytes_of(p, &size);
    must(far_input_copy(ctx, "f", bytes, size, &whole));
    must(far_zip_extract(&whole, name, INT64_MAX, &part));
    char *text = strndup((char *)part.data, (size_t)part.size);
    far_input_clear(&part);
    far_input_clear(&whole);
    free(bytes);
    return text;
}

static char *manifest_of(const far_predictor *p)
{
    return member_of(p, "manifest.json");
}

/* Reads the file that has these, under a checksum that fits. content NULL: it has none. */
static far_status read_file(const char *manifest, const char *content, int64_t size,
                            far_predictor **out)
{
    char *bytes;
    size_t length;
    far_output o;
    far_sha256 sum;
    FILE *stream = open_memstream(&bytes, &length);
    must(far_output_open_stream(ctx, stream, &o));
    far_zip zip = {.output = &o, .zip64_from = UINT32_MAX, .sealed = true};
    far_sha256_init(&sum);
    o.sum = &sum;
    far_zip_put_bytes(&zip, "manifest.json", manifest, strlen(manifest));
    if (content) {
        far_zip_put_bytes(&zip, "content", content, (size_t)size);
    }
    far_zip_finish(&zip);
    must(far_output_commit(&o));
    far_output_close(&o);
    fclose(stream);
    far_status st = far_predictor_parse(ctx, "f", bytes, (int64_t)length, true, NULL, out);
    assert_int_equal(st == FAR_OK, *out != NULL);
    free(bytes);
    return st;
}

static void manifests_are_checked(void **state)
{
    (void)state;
    static const char *const edits[][3] = {
        {"\"version\": 1,", "\"version\": 2,", "written by a newer farfield"},
        {"\"version\": 1,", "\"version\": \"1\",", "\"version\""},
        {"\"kind\": \"linear\"", "\"kind\": 7", "\"kind\" is no text"},
        {"\"kind\": \"linear\"", "\"kind\": \"spline\"", "\"kind\" is none that"},
        {"\"kind\": \"linear\"", "\"kind\": \"committee\"", "\"members\""},
        {"\"kind\": \"linear\"", "\"kind\": \"committee\", \"members\": [1]", "has no content"},
        {"\"kind\": \"linear\"", "\"kind\": \"trees\"", "has no content"},
        {"\"slopes\": [", "\"slopes\": [1,", "\"slopes\""},
        {"\"intercepts\": [", "\"intercepts\": [1,", "\"intercepts\""},
        {"\"rows\": 40", "\"rows\": -1", "\"rows\""},
        {"\"rows\": 40", "\"rows\": 40, \"link\": [1, 0]", "\"link\" is not one of classes"},
        {"\"ridge\": 0.001", "\"ridge\": \"0.001\"", "\"ridge\""},
        {"\"targets\": [", "\"targets\": [7,", "\"targets\""},
        {"farfield predictor", "farfield prediction", "is not a farfield model"},
    };
    far_frame *frame = table();
    far_predictor *p = line(frame, NAN), *again;
    char *manifest = manifest_of(p);
    must(read_file(manifest, NULL, 0, &again));
    far_predictor_destroy(again);
    for (int i = 0; i < COUNT(edits); i++) {
        char *text = replaced(manifest, edits[i][0], edits[i][1]);
        refused(read_file(text, NULL, 0, &again), FAR_ERR_FORMAT, edits[i][2]);
        free(text);
    }
    int64_t size;
    char *bytes = bytes_of(p, &size);
    refused(far_predictor_parse(ctx, "f", bytes, size, true, "dense relu dense", &again),
            FAR_ERR_ARG, "holds no finite network");
    free(bytes);
    free(manifest);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* How scores of classes become probabilities; a file without it is an older one. */
static void links_are_checked(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,b,y\n9,1,no\n1,9,yes\n8,2,no\n1,1,maybe\n2,8,yes\n2,1,maybe\n");
    far_predictor *p = line(frame, NAN), *again;
    far_predict_opts ask;
    far_prediction *told;
    char *manifest = manifest_of(p),
         *text = replaced(manifest, "\"link\": [", "\"link\": [-1, 0, 0, 0], \"was\": [");
    refused(read_file(text, NULL, 0, &again), FAR_ERR_FORMAT, "\"link\" is not one of classes");
    free(text);
    text = replaced(manifest, "\"link\": [", "\"link\": [1, ");
    refused(read_file(text, NULL, 0, &again), FAR_ERR_FORMAT, "\"link\"");
    free(text);
    text = replaced(manifest, "\"link\"", "\"bond\"");
    must(read_file(text, NULL, 0, &again));
    far_predict_opts_init(&ask);
    must(far_predictor_predict(ctx, again, frame, &ask, &told));
    for (int i = 0; i < 6; i++) { /* the nearest probabilities, as then */
        const double *q = far_mat_row(&told->probability, i);
        assert_near(q[0] + q[1] + q[2], 1, 1e-14);
    }
    free(text);
    free(manifest);
    far_prediction_destroy(told);
    far_predictor_destroy(again);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static char *members_manifest(const char *sizes)
{
    char *text;
    assert_true(asprintf(&text,
                         "{\"format\": \"farfield predictor\", \"version\": 1, \"kind\": "
                         "\"committee\", \"members\": [%s]}",
                         sizes) > 0);
    return text;
}

static void refuse_members(const char *sizes, const char *content, int64_t size, far_status st,
                           const char *message)
{
    far_predictor *again;
    char *manifest = members_manifest(sizes);
    refused(read_file(manifest, content, size, &again), st, message);
    free(manifest);
}

/* One behind the other. */
static void refuse_pair(const far_predictor *a, const far_predictor *b, far_status st,
                        const char *message)
{
    int64_t first, second;
    char sizes[64], *bytes = bytes_of(a, &first), *more = bytes_of(b, &second);
    bytes = realloc(bytes, (size_t)(first + second));
    memcpy(bytes + first, more, (size_t)second);
    snprintf(sizes, sizeof sizes, "%lld, %lld", (long long)first, (long long)second);
    refuse_members(sizes, bytes, first + second, st, message);
    free(more);
    free(bytes);
}

static void files_of_committees_are_checked(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_predictor *p = line(frame, NAN), *pair = make(frame, GROWING), *narrow;
    far_columns_opts fewer = columns();
    char sizes[5 * 1001] = "1", number[32];
    int64_t size;
    char *bytes = bytes_of(p, &size);
    refuse_members("0", bytes, size, FAR_ERR_FORMAT, "\"members\"[0] is longer than the file");
    refuse_members("\"1\"", bytes, size, FAR_ERR_FORMAT, "\"members\"[0]");
    snprintf(number, sizeof number, "%lld", (long long)size + 1);
    refuse_members(number, bytes, size, FAR_ERR_FORMAT, "\"members\"[0] is longer than the file");
    snprintf(number, sizeof number, "%lld, 1", (long long)size);
    refuse_members(number, bytes, size, FAR_ERR_FORMAT, "\"members\"[1] is longer than the file");
    snprintf(number, sizeof number, "%lld", (long long)size);
    refuse_members(number, bytes, size + 1, FAR_ERR_FORMAT, "leave bytes over"); /* a closing 0 */
    refuse_members("", bytes, size, FAR_ERR_FORMAT, "\"members\" are not 1 to 1000");
    for (int i = 0; i < 1000; i++) {
        strcat(sizes, ", 1");
    }
    refuse_members(sizes, bytes, size, FAR_ERR_FORMAT, "\"members\" are not 1 to 1000");
    refuse_members("9", "some text", 9, FAR_ERR_FORMAT, "member 1");
    fewer.features = "a,b";
    must(far_predictor_fit_linear(ctx, frame, &fewer, NAN, &narrow));
    refuse_pair(p, narrow, FAR_ERR_SHAPE, "f: member 2 has other inputs");
    refuse_pair(p, pair, FAR_ERR_FORMAT, "a committee has no committees in it");
    free(bytes);
    far_predictor_destroy(narrow);
    far_predictor_destroy(pair);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* ---- trees --------------------------------------------------------------------------------- */

static const char CLASS_TABLE[] =
    "a,c,y\n1,5,p\n2,1,q\n3,2,r\n4,6,p\n5,2,q\n6,1,r\n7,7,p\n8,1,q\n9,1,r\n"
    "1,6,p\n3,0,q\n4,2,r\n5,9,p\n6,2,q\n7,1,r\n";

/* As XGBoost writes them, but for what is of no use here. */
static const char TEXT[] =
    "{\"learner\":{\"gradient_booster\":{\"model\":{\"gbtree_model_param\":{\"num_trees\":\"2\"},"
    "\"tree_info\":[0,0],\"trees\":[{\"id\":0,\"left_children\":[1,-1,-1],\"right_children\":[2,-1,"
    "-1],\"parents\":[9,0,0],"
    "\"split_conditions\":[0.5,-1E38,2],\"split_indices\":[2,0,0],\"split_type\":[0,0,0],"
    "\"default_left\":[1,0,0],\"base_weights\":[1,1,1],\"loss_changes\":[1,0,0],"
    "\"sum_hessian\":[4,3,1],\"tree_param\":{\"num_nodes\":\"3\"}},"
    "{\"id\":1,\"left_children\":[-1],\"right_children\":[-1],\"parents\":[9],\"split_conditions\":"
    "[3],"
    "\"split_indices\":[0],\"split_type\":[0],\"default_left\":[0],\"base_weights\":[1],"
    "\"loss_changes\":[0],\"sum_hessian\":[4],\"tree_param\":{\"num_nodes\":\"1\"}}]},"
    "\"name\":\"gbtree\"},"
    "\"learner_model_param\":{\"base_score\":\"5E-1\",\"num_class\":\"0\",\"num_target\":\"1\"},"
    "\"objective\":{\"name\":\"reg:squarederror\"}}}";

/* A file may hold anything that XGBoost takes; a proof is of sums of leaves alone. */
static void trees_of_another_kind_are_refused(void **state)
{
    (void)state;
    static const char *const edits[][3] = {
        {"{\"learner\"", "[\"learner\"", "f: the text of the trees is not as XGBoost writes it: "},
        {"\"learner\"", "\"pupil\"", "it has no trees"},
        {"\"trees\":[", "\"trees\":7,\"rest\":[", "it has no trees"},
        {"\"gbtree\"", "\"dart\"", "its booster is not gbtree"},
        {"\"gbtree\"", "7", "its booster is not gbtree"},
        {"\"reg:squarederror\"", "\"count:poisson\"", "its objective is not"},
        {"\"num_class\":\"0\"", "\"num_class\":\"3\"", "more than one output"},
        {"\"num_target\":\"1\"", "\"num_target\":\"2\"", "more than one output"},
        {"\"5E-1\"", "7", "it has no base_score"},
        {"\"5E-1\"", "\"\"", "it has no base_score"},
        {"\"5E-1\"", "\"nan\"", "it has no base_score"},
        {"\"5E-1\"", "\"5E-1 or so\"", "it has no base_score"},
        {"\"5E-1\"", "\"[5E-1,1E0]\"", "it has no base_score"},
        {"\"num_trees\":\"2\"", "\"num_trees\":\"3\"", "not as many as it says"},
        {"\"num_nodes\":\"3\"", "\"num_nodes\":\"4\"", "a tree has no nodes, or less"},
        {"\"left_children\":[-1]", "\"left_children\":[]", "a tree has no nodes, or less"},
        {"\"split_conditions\":[3]", "\"split_conditions\":7", "a tree has no nodes, or less"},
        {"\"sum_hessian\":[4]", "\"sum_hessian\":[4,4]", "a tree has no nodes, or less"},
        {"\"tree_info\":[0,0]", "\"tree_info\":[0]", "a tree is out of place"},
        {"\"tree_info\":[0,0]", "\"tree_info\":[0,1]", "a tree is out of place"},
        {"\"num_trees\":\"2\"", "\"num_trees\":\"2\",\"num_parallel_tree\":\"2\"",
         "its rounds are not one tree"},
        {"\"tree_info\":[0,0]", "\"tree_info\":[0,0],\"iteration_indptr\":[0,2]",
         "its rounds are not one tree"},
        {"\"tree_info\":[0,0]", "\"tree_info\":[0,0],\"iteration_indptr\":[0,1,1]",
         "its rounds are not one tree"},
        {"\"id\":1", "\"id\":\"1\"", "a tree is out of place"},
        {"\"id\":1", "\"id\":0", "a tree is out of place"},
        {"[1,-1,-1]", "[1,-1,\"-1\"]", "leads nowhere"},
        {"[1,-1,-1]", "[0,-1,-1]", "leads nowhere"},
        {"[1,-1,-1]", "[3,-1,-1]", "leads nowhere"},
        {"[1,-1,-1]", "[-1,-1,-1]", "leads nowhere"},
        {"[1,-1,-1]", "[1,-2,-1]", "leads nowhere"},
        {"[2,-1,-1]", "[0,-1,-1]", "leads nowhere"},
        {"[2,-1,-1]", "[1,-1,-1]", "leads nowhere"},
        {"[9,0,0]", "[9,1,0]", "leads nowhere"},
        {"[9,0,0]", "[9,0,1]", "leads nowhere"},
        {"[2,-1,-1]", "[7,-1,-1]", "leads nowhere"},
        {"\"split_indices\":[2,", "\"split_indices\":[3,", "leads nowhere"},
        {"\"split_indices\":[2,", "\"split_indices\":[-1,", "leads nowhere"},
        {"\"split_type\":[0,0,0]", "\"split_type\":[1,0,0]", "leads nowhere"},
        {"[0.5,-1E38,2]", "[0.5,-1E38,\"2\"]", "leads nowhere"},
        {"[0.5,-1E38,2]", "[0.5,-4E38,2]", "too large for float32"},
        {"\"split_conditions\":[3]", "\"split_conditions\":[3E38]", "too large for float32"},
    };
    /* these have the words for it: it is XGBoost that does not take them */
    static const char *const fine[][2] = {
        {"\"5E-1\"", "\"[5E-1]\""},
        {"\"num_target\":\"1\"", "\"rest\":\"1\""},
        {"\"tree_info\"", "\"iteration_indptr\":[0,1,2],\"tree_info\""}};
    far_frame *frame = table();
    far_predictor *p = line(frame, NAN), *again;
    char *plain = manifest_of(p);
    char *manifest = replaced(plain, "\"kind\": \"linear\"", "\"kind\": \"trees\"");
    for (int i = 0; i < COUNT(edits); i++) {
        char *text = replaced(TEXT, edits[i][0], edits[i][1]);
        refused(read_file(manifest, text, (int64_t)strlen(text), &again), FAR_ERR_FORMAT,
                edits[i][2]);
        free(text);
    }
    for (int i = 0; i < COUNT(fine); i++) {
        char *text = replaced(TEXT, fine[i][0], fine[i][1]);
        refused(read_file(manifest, text, (int64_t)strlen(text), &again), FAR_ERR_BACKEND,
                "XGBoost");
        free(text);
    }
    char *rowless = replaced(manifest, "\"rows\": 40", "\"rows\": 0.5");
    refused(read_file(rowless, TEXT, sizeof TEXT - 1, &again), FAR_ERR_FORMAT, "\"rows\"");
    free(rowless);
    free(manifest);
    free(plain);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void trees_have_one_target(void **state)
{
    (void)state;
    static const char *const targets[] = {"y,c", "w"};
    static const char *const reasons[] = {"trees have one target, of numbers or classes",
                                          "its objective is not binary:logistic"};
    far_frame *frame = table_of("a,c,y,w\n1,2,3,no\n2,5,4,yes\n3,1,7,no\n4,4,1,yes\n");
    for (int i = 0; i < COUNT(targets); i++) {
        far_columns_opts o = columns();
        far_predictor *p, *again;
        o.target = targets[i];
        o.features = "a";
        must(far_predictor_fit_linear(ctx, frame, &o, NAN, &p));
        char *plain = manifest_of(p);
        char *manifest = replaced(plain, "\"kind\": \"linear\"", "\"kind\": \"trees\"");
        refused(read_file(manifest, TEXT, sizeof TEXT - 1, &again), FAR_ERR_FORMAT, reasons[i]);
        if (i == 0) {
            refused(far_predictor_fit_trees(ctx, frame, &o, 1, 0, &again), FAR_ERR_ARG,
                    "boosted trees predict one target");
            assert_null(again);
        }
        free(manifest);
        free(plain);
        far_predictor_destroy(p);
    }
    far_columns_opts o = columns();
    far_predictor *again;
    o.target = "z";
    refused(far_predictor_fit_trees(ctx, frame, &o, 1, 0, &again), FAR_ERR_ARG, "z");
    o.target = NULL;
    refused(far_predictor_fit_trees(ctx, frame, &o, 1, 0, &again), FAR_ERR_ARG, "no target");
    far_frame_destroy(frame);
}

static void edit_trees(const far_predictor *p, const char *const (*edits)[3], int count)
{
    char *manifest = manifest_of(p), *content = member_of(p, "content");
    for (int i = 0; i < count; i++) {
        far_predictor *again;
        char *text = replaced(content, edits[i][0], edits[i][1]);
        refused(read_file(manifest, text, (int64_t)strlen(text), &again), FAR_ERR_FORMAT,
                edits[i][2]);
        free(text);
    }
    free(content);
    free(manifest);
}

static void trees_of_other_classes_are_refused(void **state)
{
    (void)state;
    static const char *const several[][3] = {
        {"\"num_class\":\"3\",\"num_feature", "\"num_class\":\"4\",\"num_feature",
         "it has other classes"},
        {"\"name\":\"multi:softprob\"", "\"name\":\"binary:logistic\"",
         "its objective is not multi:softprob"},
        {"\"tree_info\":[0,1,2", "\"tree_info\":[0,2,1", "a tree is out of place"},
        {"\"tree_info\":[0,1,2", "\"tree_info\":[0,0,0", "a tree is out of place"},
        {"\"base_score\":\"5E-1\"", "\"base_score\":\"[5E-1,1E0]\"", "it has no base_score"},
        {"\"base_score\":\"5E-1\"", "\"base_score\":\"[5E-1,1E0,nan]\"", "it has no base_score"},
        {"\"base_score\":\"5E-1\"", "\"base_score\":\"[1,1,1,1]\"", "it has no base_score"}};
    static const char *const two[][3] = {
        {"\"base_score\":\"5E-1\"", "\"base_score\":\"1E0\"", "no probability"},
        {"\"base_score\":\"5E-1\"", "\"base_score\":\"-1E0\"", "no probability"},
        {"\"num_class\":\"0\"", "\"num_class\":\"3\"", "more than one output"}};
    if (!far_xgboost_find(ctx) || strcmp(far_xgboost_find(ctx)->version, "3") > 0) {
        return; /* texts of 3 have another base_score */
    }
    far_frame *frame = table_of(CLASS_TABLE);
    far_columns_opts o = columns();
    far_predictor *p;
    must(far_predictor_fit_trees(ctx, frame, &o, 4, 0, &p));
    edit_trees(p, several, COUNT(several));
    far_predictor_destroy(p);
    far_frame_destroy(frame);
    frame = table_of("a,y\n1,p\n2,p\n3,q\n4,q\n");
    must(far_predictor_fit_trees(ctx, frame, &o, 4, 0, &p));
    edit_trees(p, two, COUNT(two));
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* Scores lie within the bounds, also far out, and probabilities are their softmax; a file tells the
 * same. */
static void check_class_trees(const far_frame *frame, const far_predictor *p, int64_t classes)
{
    far_prediction *made, *again;
    far_predict_opts o;
    far_predictor *copy;
    int64_t size;
    char *bytes = bytes_of(p, &size);
    far_certificate *c;
    far_certify_opts how;
    far_certify_opts_init(&how);
    far_predict_opts_init(&o);
    must(far_predictor_parse(ctx, "f", bytes, size, true, NULL, &copy));
    must(far_predictor_certify(ctx, p, &how, &c));
    for (int far_out = 0; far_out < 2; far_out++) {
        o.at_infinity = far_out;
        must(far_predictor_predict(ctx, p, frame, &o, &made));
        must(far_predictor_predict(ctx, copy, frame, &o, &again));
        assert_int_equal(made->probability.cols, classes);
        for (int64_t i = 0; i < made->mean.rows; i++) {
            const double *s = far_mat_row(&made->mean, i), *q = far_mat_row(&made->probability, i);
            double sum = 0;
            for (int64_t k = 0; k < classes; k++) {
                const far_bound *b = far_certificate_bound(c, k);
                assert_true(s[k] >= b->lowest && s[k] <= b->highest);
                assert_true(q[k] > 0 && q[k] < 1);
                assert_true(q[k] == ((double *)far_mat_row(&again->probability, i))[k]);
                sum += exp(s[k]);
            }
            for (int64_t k = 0; k < classes; k++) {
                assert_near(q[k], exp(s[k]) / sum, 1e-12);
            }
        }
        far_prediction_destroy(made);
        far_prediction_destroy(again);
    }
    far_certificate_destroy(c);
    far_predictor_destroy(copy);
    free(bytes);
}

static void trees_of_classes_are_sums_of_leaves(void **state)
{
    (void)state;
    static const char *const texts[] = {CLASS_TABLE,
                                        "a,y\n1,p\n2,p\n3,q\n4,q\n5,q\n6,p\n7,q\n8,q\n"};
    for (int i = 0; far_xgboost_find(ctx) && i < COUNT(texts); i++) {
        far_frame *frame = table_of(texts[i]);
        far_columns_opts o = columns();
        far_predictor *p;
        must(far_predictor_fit_trees(ctx, frame, &o, 20, 0, &p));
        check_class_trees(frame, p, i == 0 ? 3 : 2);
        far_predictor_destroy(p);
        far_frame_destroy(frame);
    }
}

/* Splits may lie anywhere that float32 reaches. */
static void limits_of_trees_lie_beyond_every_split(void **state)
{
    (void)state;
    if (!far_xgboost_find(ctx)) {
        return;
    }
    far_frame *frame = table_of("a,y\n-3e38,1\n-2e38,1\n2e34,5\n1e35,5\n2e38,9\n3e38,9\n");
    far_columns_opts o = columns();
    far_predictor *p;
    must(far_predictor_fit_trees(ctx, frame, &o, 40, 0, &p));
    double u[] = {-1, 0, 1}, at[] = {-3e38, 0, 3e38}, value[3], order[3], f[3];
    far_mat directions = far_mat_view(u, 3, 1, FAR_F64), x = far_mat_view(at, 3, 1, FAR_F64);
    far_mat v = far_mat_view(value, 3, 1, FAR_F64), w = far_mat_view(order, 3, 1, FAR_F64);
    far_mat there = far_mat_view(f, 3, 1, FAR_F64);
    must(far_predictor_limit(ctx, p, &directions, &v, &w));
    must(far_predictor_eval(ctx, p, &x, &there));
    for (int i = 0; i < 3; i++) {
        assert_true(value[i] == f[i] && order[i] == 0);
    }
    assert_true(f[0] < f[2] - 7); /* it saw them */
    far_mat none = far_mat_view(at, 0, 1, FAR_F64);
    far_mat nothing = far_mat_view(f, 0, 1, FAR_F64);
    must(far_predictor_eval(ctx, p, &none, &nothing));
    cancel_next();
    far_predictor *other;
    assert_int_equal(far_predictor_fit_trees(ctx, frame, &o, 4, 0, &other), FAR_ERR_CANCELLED);
    assert_null(other);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* ---- certificates -------------------------------------------------------------------------- */

static void certificates_are_checked(void **state)
{
    (void)state;
    static const struct {
        int kind;
        const char *from, *to;
        far_status status;
        const char *message;
    } edits[] = {
        {LINE, "\"level\": 10000.0", "\"level\": -1.0", FAR_ERR_FORMAT, "a level is finite"},
        {LINE, "\"level\": 10000.0", "\"level\": 20000.0", FAR_ERR_VALUE, "beyond"},
        {LINE, "\"outputs\": [", "\"outputs\": [7,", FAR_ERR_FORMAT, "number of outputs"},
        {LINE, "\"verdict\": \"unbounded\"", "\"verdict\": \"bounded\"", FAR_ERR_VALUE, "verdict"},
        {LINE, "\"unchecked\"", "\"unread\"", FAR_ERR_FORMAT, "unchecked"},
        {FLAT, "\"tightest\":", "\"tightest\": null, \"x\":", FAR_ERR_FORMAT, "is null"},
        {FLAT, "\"lowest\":", "\"x\":", FAR_ERR_FORMAT, "lowest is missing"},
        {FLAT, "\"at_infinity\": false", "\"at_infinity\": 0", FAR_ERR_FORMAT, "neither true nor"},
        {FLAT, "\"at_infinity\": false", "\"at_infinity\": true", FAR_ERR_FORMAT, "of norm 1"},
        {FLAT, "\"at\": [", "\"at\": [0,", FAR_ERR_FORMAT, "number of inputs"},
        {FLAT, "\"sup_found\": 2", "\"sup_found\": 1", FAR_ERR_VALUE, "sup_found is stated as"},
        {FLAT, "\"highest\": 2", "\"highest\": 1", FAR_ERR_VALUE, "is stated as"},
        {FLAT, "\"lowest\": 25.523", "\"lowest\": 25.5233981", FAR_ERR_VALUE,
         "lowest is stated as"},
        {FLAT, "\"at\": [", "\"at\": 0, \"x\": [", FAR_ERR_VALUE, ""},
        {GROWING, "\"direction\": [", "\"direction\": [0,", FAR_ERR_FORMAT, "number of inputs"},
        {GROWING, "\"slope\": ", "\"slope\": 9", FAR_ERR_VALUE, "slope"},
        {SETTLED, "\"lowest\": 24.", "\"lowest\": 26.", FAR_ERR_VALUE, "lowest is stated as"},
        {SETTLED, "\"gap\": 0.01", "\"gap\": 0.002", FAR_OK, ""},
        {SETTLED, "\"gap\": 0.01", "\"gap\": 1e-9", FAR_OK, ""},
        {SETTLED, "\"at\": null", "\"at\": [0, 1, 0]", FAR_ERR_VALUE, "sup_found"},
    };
    far_frame *frame = table();
    for (int i = 0; i < COUNT(edits); i++) {
        far_predictor *p = make(frame, edits[i].kind);
        far_certificate *c;
        char *text = certificate_of(p, &c), *changed = replaced(text, edits[i].from, edits[i].to);
        must(far_certificate_check(ctx, p, text));
        far_status st = far_certificate_check(ctx, p, changed);
        if (st != edits[i].status || (st && !strstr(far_ctx_message(ctx), edits[i].message))) {
            fail_msg("%s -> %s: %s, %s", edits[i].from, edits[i].to, far_status_name(st),
                     far_ctx_message(ctx));
        }
        free(changed);
        far_text_free(ctx, text);
        far_certificate_destroy(c);
        far_predictor_destroy(p);
    }
    far_frame_destroy(frame);
}

/* What a constant is, it is along every direction too. */
static void a_bound_may_be_found_at_infinity(void **state)
{
    (void)state;
    static const char *const others[] = {"{", "[]", "{}", "{\"format\": \"farfield certificate\"}"};
    far_frame *frame = table();
    far_predictor *p = line(frame, INFINITY);
    far_certificate *c;
    char *text = certificate_of(p, &c), *there;
    c->bounds[0].at_infinity = 1;
    c->vectors[1] = 1; /* its norm */
    must(far_certificate_json(ctx, c, &there));
    must(far_certificate_check(ctx, p, there));
    for (int i = 0; i < COUNT(others); i++) {
        refused(far_certificate_check(ctx, p, others[i]), FAR_ERR_FORMAT, "certificate");
    }
    far_text_free(ctx, there);
    far_text_free(ctx, text);
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* A committee runs away along the direction of its line, and along those across it not. */
static void directions_are_measured(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_predictor *p = mean_of(line(frame, INFINITY), line(frame, NAN));
    far_certificate *c;
    char *text = certificate_of(p, &c), *across;
    double *u = c->vectors, a = u[0], b = u[1], length = hypot(a, b);
    assert_int_equal(c->bounds[0].verdict, FAR_UNBOUNDED);
    u[0] = b / length;
    u[1] = -a / length;
    u[2] = 0;
    must(far_certificate_json(ctx, c, &across));
    refused(far_certificate_check(ctx, p, across), FAR_ERR_VALUE, "");
    far_text_free(ctx, across);
    far_text_free(ctx, text);
    far_certificate_destroy(c);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* ---- members ------------------------------------------------------------------------------- */

static far_predictor *fitted(const far_frame *frame, const char *target, const char *features,
                             far_loss loss)
{
    far_predictor *p;
    far_columns_opts o = columns();
    o.target = target;
    o.features = features;
    o.loss = loss;
    must(far_predictor_fit_linear(ctx, frame, &o, NAN, &p));
    return p;
}

static void members_answer_the_same_question(void **state)
{
    (void)state;
    static const struct {
        const char *target, *features, *other_target, *other_features;
        far_loss loss;
        const char *message;
    } pairs[] = {
        {"y", "a,b", "y", "a,c", FAR_LOSS_NONE, "member 2 has other inputs than the first"},
        {"y", "a", "b", "a", FAR_LOSS_NONE, "member 2 has other outputs than the first"},
        {"y", "a", "y,b", "a", FAR_LOSS_NONE, "member 2 has other outputs"},
        {"y,b", "a", "w", "a", FAR_LOSS_NONE, "member 2 has other outputs"},
        {"w", "a", "v", "a", FAR_LOSS_NONE, "member 2 has other outputs"},
        {"w", "a", "w", "a", FAR_LOSS_CE, "member 2 has other scores of its classes"},
    };
    far_frame *frame = table_of("a,b,c,y,w,v\n1,2,3,4,no,no\n2,5,4,3,yes,no\n3,1,7,2,no,yes\n"
                                "4,4,1,7,yes,yes\n"),
              *words = table_of("a,w\n1,on\n2,off\n3,on\n4,off\n");
    far_predictor *out;
    for (int i = 0; i < COUNT(pairs); i++) {
        far_predictor *members[] = {
            fitted(frame, pairs[i].target, pairs[i].features, FAR_LOSS_NONE),
            fitted(frame, pairs[i].other_target, pairs[i].other_features, pairs[i].loss)};
        refused(far_predictor_committee(ctx, members, 2, &out), FAR_ERR_SHAPE, pairs[i].message);
        assert_null(out);
        far_predictor_destroy(members[0]);
        far_predictor_destroy(members[1]);
    }
    far_predictor *members[] = {fitted(frame, "w", "a", FAR_LOSS_NONE),
                                fitted(words, "w", "a", FAR_LOSS_NONE)};
    refused(far_predictor_committee(ctx, members, 2, &out), FAR_ERR_SHAPE, "other outputs");
    far_predictor_destroy(members[0]);
    far_predictor_destroy(members[1]);
    far_frame_destroy(words);
    far_frame_destroy(frame);
}

static double entry(const far_mat *m, int64_t k)
{
    return ((const double *)m->data)[k];
}

/* Probabilities are means of the members' own; a score that runs away takes all that calibration
 * leaves. */
static void committees_vote(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,b,w\n9,1,no\n1,9,yes\n8,2,no\n1,1,maybe\n2,8,yes\n2,1,maybe\n");
    far_columns_opts o = columns();
    far_predictor *members[2], *p;
    far_predict_opts ask;
    far_prediction *parts[2], *whole;
    far_predict_opts_init(&ask);
    o.target = "w";
    must(far_predictor_fit_linear(ctx, frame, &o, NAN, &members[0]));
    must(far_predictor_fit_linear(ctx, frame, &o, INFINITY, &members[1]));
    for (int i = 0; i < 2; i++) {
        must(far_predictor_predict(ctx, members[i], frame, &ask, &parts[i]));
    }
    must(far_predictor_committee(ctx, members, 2, &p));
    must(far_predictor_predict(ctx, p, frame, &ask, &whole));
    for (int k = 0; k < 6 * 3; k++) {
        double mean = (entry(&parts[0]->mean, k) + entry(&parts[1]->mean, k)) / 2;
        double share = (entry(&parts[0]->probability, k) + entry(&parts[1]->probability, k)) / 2;
        assert_near(entry(&whole->mean, k), mean, 1e-15 * (1 + fabs(mean)));
        assert_near(entry(&whole->probability, k), share, 1e-15);
    }
    for (int i = 0; i < 6; i++) { /* the likeliest class is that of the mean, not of a member */
        for (int k = 0; k < 3; k++) {
            assert_true(entry(&whole->probability, 3 * i + k) <=
                        entry(&whole->probability, 3 * i + whole->classes[i]));
        }
    }
    far_prediction_destroy(whole);
    ask.at_infinity = 1;
    refused(far_predictor_predict(ctx, p, frame, &ask, &whole), FAR_ERR_ARG,
            "limits of a committee's probabilities");
    assert_null(whole);
    must(far_predictor_predict(ctx, members[0], frame, &ask, &whole));
    for (int i = 0; i < 6; i++) {
        const double *mean = far_mat_row(&whole->mean, i);
        const double *share = far_mat_row(&whole->probability, i);
        int most = mean[0] > mean[1] ? mean[0] > mean[2] ? 0 : 2 : mean[1] > mean[2] ? 1 : 2;
        assert_true(entry(&whole->order, i) == 1);
        assert_near(share[most], 1 - far_class_floor(6) * 2 / 3, 1e-15);
    }
    far_prediction_destroy(whole);
    far_prediction_destroy(parts[0]);
    far_prediction_destroy(parts[1]);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* Of two targets one does not depend on the inputs: beside the other it vanishes. */
static void the_fastest_output_is_told(void **state)
{
    (void)state;
    far_frame *frame = table_of("a,b,y,z\n1,2,3,7\n2,5,4,7\n3,1,9,7\n4,4,1,7\n0,0,2,7\n");
    far_predictor *p = fitted(frame, "y,z", NULL, FAR_LOSS_NONE);
    far_prediction *made;
    far_predict_opts o;
    far_predict_opts_init(&o);
    o.at_infinity = 1;
    must(far_predictor_predict(ctx, p, frame, &o, &made));
    double u[] = {1, 2}, value[2], order[2];
    far_mat x = far_mat_view(u, 1, 2, FAR_F64), v = far_mat_view(value, 1, 2, FAR_F64);
    far_mat w = far_mat_view(order, 1, 2, FAR_F64);
    must(far_predictor_limit(ctx, p, &x, &v, &w));
    assert_true(order[0] == 1 && order[1] == 0 && value[1] == 7);
    assert_true(entry(&made->order, 0) == 1 && entry(&made->mean, 0) == value[0]);
    assert_true(entry(&made->mean, 1) == 0);
    assert_true(entry(&made->order, 4) == 0 && entry(&made->mean, 9) == 7); /* along nothing */
    far_prediction_destroy(made);
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* ---- what is out of reach ------------------------------------------------------------------ */

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_predictor *p = line(frame, NAN), *steep, *again;
    far_certificate *c;
    far_certify_opts how;
    double large[] = {0, 1.7e308, 0}, f, order;
    far_mat x = far_mat_view(large, 1, INPUTS, FAR_F64), v = far_mat_view(&f, 1, 1, FAR_F64);
    far_mat w = far_mat_view(&order, 1, 1, FAR_F64);
    far_certify_opts_init(&how);
    refused(far_predictor_eval(ctx, p, &x, &v), FAR_ERR_RANGE,
            "row 1: the prediction is too large");
    refused(far_predictor_limit(ctx, p, &x, &v, &w), FAR_ERR_RANGE, "row 1: the slope");
    static const char *const slopes[][2] = {{"1e308, -1e308, 1e308", "too large"},
                                            {"1e-320, 0, 0", "too small"}};
    for (int i = 0; i < COUNT(slopes); i++) {
        char *manifest = manifest_of(p), *edge = strstr(manifest, "\"slopes\": [");
        size_t size = strcspn(edge, "]");
        char list[64], *old = strndup(edge, size);
        snprintf(list, sizeof list, "\"slopes\": [%s", slopes[i][0]);
        char *text = replaced(manifest, old, list);
        must(read_file(text, NULL, 0, &steep));
        refused(far_predictor_certify(ctx, steep, &how, &c), FAR_ERR_VALUE, slopes[i][1]);
        assert_null(c);
        far_predictor_destroy(steep);
        free(text);
        free(old);
        free(manifest);
    }
    refused(far_predictor_eval(ctx, p, &x, &x), FAR_ERR_SHAPE, "out is 1 x 3");
    refused(far_predictor_limit(ctx, NULL, &x, &v, &w), FAR_ERR_ARG, "NULL");
    refused(far_predictor_limit(ctx, p, &v, &v, &w), FAR_ERR_SHAPE, "u is 1 x 1");
    refused(far_predictor_limit(ctx, p, &x, &x, &w), FAR_ERR_SHAPE, "value is 1 x 3");
    refused(far_predictor_limit(ctx, p, &x, &v, &x), FAR_ERR_SHAPE, "order is 1 x 3");
    refused(far_predictor_fit_linear(ctx, frame, NULL, NAN, &again), FAR_ERR_ARG, "no target");
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

static void tables_without_the_columns_are_refused(void **state)
{
    (void)state;
    far_frame *frame = table(), *other = table_of("a,b\n1,2\n3,4\n");
    for (int i = 0; i < 4; i++) {
        far_predictor *p = line(frame, NAN);
        far_prediction *made;
        far_predict_opts o;
        far_predict_opts_init(&o);
        o.time = i == 1 ? 2 : o.time;
        o.steps = i == 2;
        o.rate = i == 3 ? 0.5 : 0;
        refused(far_predictor_predict(ctx, p, other, &o, &made), FAR_ERR_ARG,
                i ? "models of infinite width" : "'c'");
        assert_null(made);
        far_predictor_destroy(p);
    }
    far_frame_destroy(other);
    far_frame_destroy(frame);
}

static void places_that_take_no_file_are_told(void **state)
{
    (void)state;
    far_frame *frame = table();
    far_predictor *p = make(frame, GROWING);
    refused(far_predictor_save(ctx, p, "/dev/full"), FAR_ERR_IO, "/dev/full");
    refused(far_predictor_save(ctx, p, "nowhere/at/all.far"), FAR_ERR_IO, "nowhere");
    no_stream = true;
    refused(far_predictor_save(ctx, p, "/dev/null"), FAR_ERR_MEMORY, "out of memory");
    no_stream = false;
    must(far_predictor_save(ctx, p, "/dev/null"));
    far_predictor_destroy(p);
    far_frame_destroy(frame);
}

/* ---- memory -------------------------------------------------------------------------------- */

static struct {
    far_frame *frame;
    far_predictor *p;
    char *certificate, *bytes;
    int64_t size;
    int kind;
} subject;

static far_status fit_it(void)
{
    far_predictor *p = NULL, *members[2] = {0};
    far_columns_opts o = columns();
    far_status st = FAR_OK;
    if (subject.kind == TREES) {
        st = far_predictor_fit_trees(ctx, subject.frame, &o, 2, 0, &p);
    } else {
        st = far_predictor_fit_linear(ctx, subject.frame, &o, NAN, &members[0]);
        st = st ? st : far_predictor_fit_linear(ctx, subject.frame, &o, INFINITY, &members[1]);
        st = st ? st : far_predictor_committee(ctx, members, 2, &p);
        if (st != FAR_OK) {
            far_predictor_destroy(members[0]);
            far_predictor_destroy(members[1]);
        }
    }
    assert_int_equal(st == FAR_OK, p != NULL);
    far_predictor_destroy(p);
    return st;
}

static far_status ask_points(void)
{
    double x[INPUTS] = {1, 0, 3}, f, power;
    far_mat at = far_mat_view(x, 1, INPUTS, FAR_F64), value = far_mat_view(&f, 1, 1, FAR_F64);
    far_mat order = far_mat_view(&power, 1, 1, FAR_F64);
    far_status st = far_predictor_eval(ctx, subject.p, &at, &value);
    return st ? st : far_predictor_limit(ctx, subject.p, &at, &value, &order);
}

static far_status ask_rows(void)
{
    far_prediction *made = NULL, *limits = NULL;
    far_predict_opts o;
    far_predict_opts_init(&o);
    far_status st = far_predictor_predict(ctx, subject.p, subject.frame, &o, &made);
    o.at_infinity = 1;
    st = st ? st : far_predictor_predict(ctx, subject.p, subject.frame, &o, &limits);
    far_prediction_destroy(made);
    far_prediction_destroy(limits);
    return st;
}

static far_status prove_it(void)
{
    far_certificate *c = NULL;
    far_certify_opts o;
    far_certify_opts_init(&o);
    far_status st = far_predictor_certify(ctx, subject.p, &o, &c);
    assert_int_equal(st == FAR_OK, c != NULL);
    far_certificate_destroy(c);
    return st;
}

static far_status check_it(void)
{
    return far_certificate_check(ctx, subject.p, subject.certificate);
}

static far_status save_it(void)
{
    return far_predictor_save(ctx, subject.p, "/dev/null");
}

static far_status read_it(void)
{
    far_predictor *p;
    far_status st = far_predictor_parse(ctx, "f", subject.bytes, subject.size, true, NULL, &p);
    assert_int_equal(st == FAR_OK, p != NULL);
    far_predictor_destroy(p);
    return st;
}

static void fail_every_call(bool certify)
{
    far_certificate *c = NULL;
    subject.bytes = bytes_of(subject.p, &subject.size);
    fail_every_allocation(ask_points);
    fail_every_allocation(ask_rows);
    fail_every_allocation(save_it);
    fail_every_allocation(read_it);
    if (certify) {
        subject.certificate = certificate_of(subject.p, &c);
        fail_every_allocation(prove_it);
        fail_every_allocation(check_it);
        far_text_free(ctx, subject.certificate);
        far_certificate_destroy(c);
    }
    free(subject.bytes);
    far_predictor_destroy(subject.p);
}

/* Searches of networks take their time: they have tests of their own. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    bool trees = far_xgboost_find(ctx) != NULL;
    far_frame *frame = subject.frame = table();
    for (subject.kind = LINE; subject.kind <= TREES; subject.kind += TREES - LINE) {
        if (subject.kind == LINE || trees) {
            fail_every_allocation(fit_it);
        }
    }
    static const int kinds[] = {0, NORM, LINE, GROWING, FLAT, TREES};
    for (int i = 0; i < COUNT(kinds); i++) {
        subject.p = make(frame, kinds[i]);
        if (subject.p) {
            fail_every_call(kinds[i] == LINE || kinds[i] >= FLAT);
        }
    }
    subject.p = mean_of(line(frame, INFINITY), line(frame, NAN)); /* runs away */
    fail_every_call(true);
    subject.p = mean_of(line(frame, INFINITY), line(frame, INFINITY));
    fail_every_call(true);
    far_frame_destroy(frame);
}

/* A model and a network that are borrowed. */
static far_status borrow_them(void)
{
    far_predictor *p = NULL;
    far_status st = subject.kind == 0 ? far_predictor_of_model(ctx, subject.p->self, &p)
                                      : far_predictor_of_net(ctx, far_predictor_net(subject.p), &p);
    far_predictor_destroy(p);
    return st;
}

static void borrowing_takes_memory(void **state)
{
    (void)state;
    far_frame *frame = table();
    for (subject.kind = 0; subject.kind <= NORM; subject.kind += NORM) {
        subject.p = make(frame, subject.kind);
        fail_every_allocation(borrow_them);
        far_predictor_destroy(subject.p);
    }
    far_frame_destroy(frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(manifests_are_checked),
        TEST(links_are_checked),
        TEST(files_of_committees_are_checked),
        TEST(trees_of_another_kind_are_refused),
        TEST(trees_have_one_target),
        TEST(trees_of_other_classes_are_refused),
        TEST(trees_of_classes_are_sums_of_leaves),
        TEST(limits_of_trees_lie_beyond_every_split),
        TEST(certificates_are_checked),
        TEST(a_bound_may_be_found_at_infinity),
        TEST(directions_are_measured),
        TEST(members_answer_the_same_question),
        TEST(committees_vote),
        TEST(the_fastest_output_is_told),
        TEST(numbers_out_of_range_are_refused),
        TEST(tables_without_the_columns_are_refused),
        TEST(places_that_take_no_file_are_told),
        TEST(every_allocation_may_fail),
        TEST(borrowing_takes_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
