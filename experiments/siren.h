/* Sine networks on a picture: what is trained, and what is measured on the way. */
#ifndef FAR_EXPERIMENTS_SIREN_H
#define FAR_EXPERIMENTS_SIREN_H

#include "parts.h"

enum { SIREN_WIDTH = 128, SIREN_LAYERS = 5 };
#define SIREN_RATE 1e-3 /* of L = 1/2 mean r^2 */

enum { W15, W30, W60, FREQUENCIES };
extern const double SIREN_W0[FREQUENCIES];

/* How biases start. The published network has those of torch.nn.Linear, U(-1, 1) / sqrt(n). */
enum { PUBLISHED, SMALL, STARTS };
extern const char *const SIREN_START[STARTS];

/* ---- the picture ---- */

typedef struct siren_image {
    int64_t side;
    far_mat x, grey; /* side^2 x 2, and x 1; ours */
    const char *name;
    bool photograph; /* not drawn by us */
} siren_image;
/* images/camera.png of the data, or (also if drawn) one that is drawn: shapes with edges, and
 * textures. */
far_status siren_image_open(reproduction *r, int64_t side, bool drawn, siren_image *out);
/* The first pictures of CIFAR-10 in grey, 32 x 32 as they are. FAR_ERR_IO: they are not here. */
far_status siren_small_open(reproduction *r, siren_image *out, int count);
/* Up to most pictures from the photographs in the folder images of the data, side x side points
 * each: the middle square of every photograph, in the order of their names, then the quarters of
 * these. FAR_ERR_IO: there is no photograph. */
far_status siren_photographs(reproduction *r, int64_t side, int most, siren_image *out, int *count);
void siren_image_close(siren_image *image);

/* ---- waves: siren_waves.c ---- */

enum { SIREN_SHELLS = 96 }; /* of wavenumbers; the last takes all beyond */

/* The residual, the picture less what the network says of it. */
typedef struct siren_wave {
    double loss, mean;
    double length;              /* of the mean wavenumber */
    double power[SIREN_SHELLS]; /* by wavelength; their sum is the mean of its square */
} siren_wave;
void siren_wave_of(const siren_image *image, const double *values, siren_wave *out);
/* The wavelength of a shell, from 1 on. */
double siren_shell_length(const siren_image *image, int64_t shell);
/* The power of what is longer, but for the mean. */
double siren_long_power(const siren_image *image, const siren_wave *w, double length);

/* ---- one network ---- */

far_status siren_net(reproduction *r, int start, int frequency, uint64_t seed, far_net **out);

/* Columns of a table over time: those of a far_track with the measures of siren_run.c. */
enum {
    COL_STEP,
    COL_TIME,
    COL_LOSS,
    COL_LAMBDA,
    COL_XI,
    COL_C_INF,
    COL_MIN_C,
    COL_V0COS,
    COL_AUC,
    COL_GRADCORR,
    COL_MAGMA,
    COL_CKA,
    COL_SIGMA,
    COLS
};

/* A network that is followed. Set the first five; siren_run_clear frees. */
typedef struct siren_run {
    int start, frequency;
    uint64_t seed;
    bool snapshots; /* keep the parameters at every moment */
    bool bare;      /* measure the kernel at the two ends alone; what is NAN in between */
    double *table;  /* moments x COLS */
    siren_wave *waves;
    int64_t moments;
    double **parameters; /* of room moments; NULL: none */
    int64_t room;
} siren_run;

/* steps: of gradient descent; moments: how many rows, at the start, spread over the logarithm of
 * the steps, and at the end. */
far_status siren_follow(reproduction *r, const siren_image *image, int64_t steps, int64_t moments,
                        siren_run *run);
void siren_run_clear(siren_run *run);
/* The same, and what --resume finds again under this name. */
far_status siren_follow_kept(reproduction *r, const siren_image *image, int64_t steps,
                             int64_t moments, const char *name, siren_run *run);
/* The network of a run with snapshots. */
far_status siren_run_net(reproduction *r, const siren_run *run, int64_t moment, far_net **out);
double siren_at(const siren_run *run, int64_t moment, int column);
double siren_first(const siren_run *run, int column);
double siren_last(const siren_run *run, int column);
/* By how much lambda_0 and the AUC grow, and what a run begins or ends with. */
double siren_growth(const siren_run *run);
double siren_auc_gain(const siren_run *run);
double siren_last_auc(const siren_run *run);
double siren_last_gradcorr(const siren_run *run);
double siren_first_min_c(const siren_run *run);
double siren_last_min_c(const siren_run *run);

/* ---- the start alone ---- */

enum { SIREN_BINS = FAR_LOCAL_BINS };

typedef struct siren_curve {
    double eps[SIREN_BINS], c[SIREN_BINS];
    far_local local;
    double fine; /* xi by a patch of the grid with points four times as near; c_inf of the whole */
} siren_curve;
far_status siren_curve_of(reproduction *r, const far_net *net, const siren_image *image,
                          siren_curve *out);

/* ---- maps ---- */

typedef struct siren_maps {
    double *values, *length, *first, *reach; /* f, |g|, v0, xi(x): one number a point */
    double model; /* correlation of the reach with that of the Cauchy model */
} siren_maps;
far_status siren_maps_of(reproduction *r, const far_net *net, const siren_image *image,
                         siren_maps *out);
void siren_maps_clear(siren_maps *m);
/* v0 alone: one number a point. */
far_status siren_first_vector(reproduction *r, const far_net *net, const siren_image *image,
                              double *out);

/* ---- the report: siren_report.c ---- */

typedef struct siren_study {
    siren_image image;
    bool trained[FREQUENCIES];
    int64_t seeds, steps, start_side;
    siren_curve *curves; /* STARTS x FREQUENCIES x seeds */
    siren_run *runs;     /* run_count of them */
    int64_t run_count;
} siren_study;

const siren_curve *siren_curve_at(const siren_study *s, int start, int frequency, int64_t seed);
/* The k-th run from that start with that frequency; NULL: there are fewer. */
const siren_run *siren_run_at(const siren_study *s, int start, int frequency, int64_t k);
/* Where the loss falls fastest in log t: its step, and the moment nearest to it. */
void siren_peak(const siren_run *run, double *step, int64_t *moment);
far_status siren_report(reproduction *r, const siren_study *s);
/* A picture of one number a point. */
far_status siren_draw_map(reproduction *r, const siren_image *image, const double *map,
                          const char *title, const char *label, bool sequential, far_figure **out);
/* When the residual turns from long waves to short ones. */
typedef struct siren_transition {
    double before, after; /* the part in waves that are long for the kernel, at both ends */
    double step;          /* where it has fallen half way; NAN: it does not */
    int64_t moment;       /* the first behind it */
    double peak;          /* where the loss falls fastest */
} siren_transition;
void siren_find_transition(const siren_image *image, const siren_run *run, siren_transition *out);

/* Over several runs. */
typedef struct siren_waves {
    int64_t runs;
    double least_before, most_after; /* the part that is long */
    double least_gap, most_gap;      /* step over that of the peak */
} siren_waves;
extern const siren_waves SIREN_NO_WAVES;
void siren_add_waves(const siren_image *image, const siren_run *run, siren_waves *out);
far_status siren_claim_waves(reproduction *r, int64_t seeds, const siren_waves *w,
                             const char *where);
/* A row of the table of waves. */
enum { SIREN_WAVE_COLS = 11 };
extern const char *const SIREN_WAVE_HEADS[SIREN_WAVE_COLS];
void siren_add_wave_row(const siren_image *image, const siren_run *run, sheet *t);
/* The residual of a run with snapshots, as a picture. */
far_status siren_draw_residual(reproduction *r, const siren_image *image, const siren_run *run,
                               int64_t moment, const char *title, far_figure **out);

/* Of the residual: siren_waves.c. */
far_status siren_report_waves(reproduction *r, const siren_study *s);
far_status siren_study_pictures(reproduction *r, int64_t steps);

#endif
