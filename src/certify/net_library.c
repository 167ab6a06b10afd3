/*
 * Whether the C library that is linked is one that proofs can rest on: its functions at a few
 * arguments, beside correctly rounded values. A library as good as it should be everywhere is not
 * known by this, but one that is not meant to be (or a broken build of one) is found out.
 */
#include "net_certify.h"

enum { FEW = 12 };

typedef struct sample {
    double at, value;
} sample;

typedef struct family {
    const char *name;
    double (*function)(double);
    sample samples[FEW];
} family;

static const family FAMILIES[] = {
    {"exp",
     exp,
     {{-0x1p-30, 0x1.fffffff8p-1},
      {-0x1.999999999999ap-4, 0x1.cf46d99d52b3ap-1},
      {-0x1.6666666666666p-1, 0x1.fc80db9dd5542p-2},
      {-0x1.e666666666666p+0, 0x1.325108408d817p-3},
      {-0x1.5333333333333p+2, 0x1.47210c95c89b1p-8},
      {-0x1.119999999999ap+4, 0x1.41c6c38078988p-25},
      {-0x1.24ccccccccccdp+5, 0x1.25878aca16dbep-53},
      {-0x1.e133333333333p+6, 0x1.5c34139f5ebc8p-174},
      {-0x1.5e1999999999ap+9, 0x1.c57de0be50bap-1011},
      {0x1.999999999999ap-2, 0x1.7de8392fbbfep+0},
      {0x1.a666666666666p+1, 0x1.b1cd5e7807b7bp+4},
      {0x1.2cb3333333333p+8, 0x1.c3714f17ae743p+433}}},
    {"erf",
     erf,
     {{0x1p-200, 0x1.20dd750429b6dp-200},
      {0x1.12e0be826d695p-30, 0x1.362a9ffc610ddp-30},
      {0x1.eb851eb851eb8p-5, 0x1.14fa6186c31ebp-4},
      {0x1.3333333333333p-2, 0x1.50838881dea0fp-2},
      {0x1.ae147ae147ae1p-1, 0x1.87c0c914f1a58p-1},
      {0x1.f0a3d70a3d70ap-1, 0x1.a8e4c251052f5p-1},
      {0x1.4cccccccccccdp+0, 0x1.de364a1372d3ap-1},
      {0x1.0cccccccccccdp+1, 0x1.fe7979b04d95p-1},
      {0x1.8cccccccccccdp+1, 0x1.fffe7922cb8dbp-1},
      {0x1.4cccccccccccdp+2, 0x1.ffffffffff93ap-1},
      {-0x1p-1, -0x1.0a7ef5c18edd2p-1},
      {-0x1.599999999999ap+1, -0x1.ffee648a8ce38p-1}}},
    {"erfc",
     erfc,
     {{-0x1.4666666666666p+2, 0x1.ffffffffff656p+0},
      {-0x1.3333333333333p+0, 0x1.e90a563d96834p+0},
      {-0x1.3333333333333p-2, 0x1.5420e22077a84p+0},
      {0x1.47ae147ae147bp-7, 0x1.fa390f6666a12p-1},
      {0x1.999999999999ap-2, 0x1.24a9c1da6fafdp-1},
      {0x1.b851eb851eb85p-1, 0x1.ca8bf1491168p-3},
      {0x1.3d70a3d70a3d7p+0, 0x1.459c5b1a32084p-4},
      {0x1.199999999999ap+1, 0x1.e8557fb58fefdp-10},
      {0x1.b333333333333p+1, 0x1.988e9665d8d27p-20},
      {0x1.6cccccccccccdp+2, 0x1.b429935511fd4p-51},
      {0x1.899999999999ap+3, 0x1.379c7bd593586p-223},
      {0x1.a19999999999ap+4, 0x1.9cb1a2526fc82p-989}}},
    {"tanh",
     tanh,
     {{0x1p-300, 0x1p-300},
      {0x1.5798ee2308c3ap-27, 0x1.5798ee2308c3ap-27},
      {0x1.47ae147ae147bp-6, 0x1.47a2e5a063f19p-6},
      {0x1.999999999999ap-3, 0x1.9439830b3a59p-3},
      {0x1p-1, 0x1.d9353d7568af3p-2},
      {0x1.fae147ae147aep-1, 0x1.83c4fe9b770e1p-1},
      {0x1.b333333333333p+0, 0x1.deedf00d3e7f5p-1},
      {0x1.b333333333333p+1, 0x1.fedc5af87e338p-1},
      {0x1.2333333333333p+3, 0x1.ffffff29c7a5ap-1},
      {0x1.28p+4, 0x1.ffffffffffffep-1},
      {-0x1.6666666666666p-2, -0x1.5872d4a8651d6p-2},
      {-0x1.199999999999ap+1, -0x1.f3949a819042dp-1}}},
    {"sin",
     sin,
     {{0x1p-500, 0x1p-500},
      {0x1.ad7f29abcaf48p-24, 0x1.ad7f29abcaf3bp-24},
      {0x1.3333333333333p-2, 0x1.2e9cd95baba33p-2},
      {0x1.ccccccccccccdp-1, 0x1.91103985da841p-1},
      {0x1.91eb851eb851fp+0, 0x1.fffff55c67bb1p-1},
      {0x1.921f9f01b866ep+1, 0x1.6428a6aa44cdp-19},
      {0x1.999999999999ap+1, -0x1.de33739e82d32p-5},
      {0x1.5666666666666p+3, -0x1.e9cc109a2d825p-1},
      {0x1.9066666666666p+6, -0x1.abc60c6e652bp-2},
      {0x1.eadf99999999ap+14, -0x1.b2b68fb05f39fp-6},
      {0x1.e240c9999999ap+19, 0x1.903d4ac3d425ep-2},
      {-0x1.91eb851eb851fp+2, 0x1.a180fe0f0fda7p-9}}},
    {"cos",
     cos,
     {{0x1p-30, 0x1p+0},
      {0x1.3333333333333p-2, 0x1.e921dd42f09bap-1},
      {0x1.ccccccccccccdp-1, 0x1.3e43a9692e21cp-1},
      {0x1.91eb851eb851fp+0, 0x1.a181296fadbfbp-11},
      {0x1.999999999999ap+0, -0x1.de67ac55f1633p-6},
      {0x1.8cccccccccccdp+1, -0x1.ff8ea4756a624p-1},
      {0x1.2d70a3d70a3d7p+2, -0x1.3920cdb9e96d1p-9},
      {0x1.5666666666666p+3, -0x1.2a47bccaac8dcp-2},
      {0x1.9066666666666p+6, 0x1.d12f2e24ed41ap-1},
      {0x1.eadf99999999ap+14, 0x1.ffd1daf394611p-1},
      {0x1.e240c9999999ap+19, 0x1.d7454e950711cp-1},
      {-0x1.91eb851eb851fp+2, 0x1.ffff55c68488ep-1}}},
    {"cbrt",
     cbrt,
     {{0x1p-1000, 0x1.965fea53d6e3dp-334},
      {0x1.87e92154ef7acp-665, 0x1.73bbea4b1a818p-222},
      {0x1.70ef54646d497p-57, 0x1.2129cff19c5f7p-19},
      {0x1.0624dd2f1a9fcp-10, 0x1.999999999999ap-4},
      {0x1.999999999999ap-3, 0x1.2b6b5edf6b54ap-1},
      {0x1.199999999999ap+0, 0x1.08438278323a4p+0},
      {0x1.a666666666666p+1, 0x1.7d225c580a35ep+0},
      {0x1.f99999999999ap+2, 0x1.fddb933eb78e8p+0},
      {0x1.86ap+16, 0x1.7353bd4393a75p+5},
      {0x1.d6329f1c35ca5p+132, 0x1.3982f24d75ed6p+44},
      {0x1.4e718d7d7625ap+664, 0x1.60989e948146cp+221},
      {0x1.fp+1000, 0x1.9218c2df27726p+333}}},
    {"expm1",
     expm1,
     {{-0x1p-30, -0x1.fffffffc00000p-31},
      {-0x1.999999999999ap-4, -0x1.85c933156a62cp-4},
      {-0x1.6666666666666p-1, -0x1.01bf92311555fp-1},
      {-0x1.e666666666666p+0, -0x1.b36bbdefdc9fap-1},
      {-0x1.5333333333333p+2, -0x1.fd71bde6d46edp-1},
      {-0x1.119999999999ap+4, -0x1.fffffebe393c8p-1},
      {-0x1.24ccccccccccdp+5, -0x1.fffffffffffffp-1},
      {-0x1.51eb851eb851fp-2, -0x1.1fd274f25ddaep-2},
      {0x1p-40, 0x1.0000000000800p-40},
      {0x1.999999999999ap-2, 0x1.f7a0e4beeff80p-2},
      {0x1.a666666666666p+1, 0x1.a1cd5e7807b7bp+4},
      {0x1.2cb3333333333p+8, 0x1.c3714f17ae743p+433}}},
    {"log1p",
     log1p,
     {{0x1p-300, 0x1p-300},
      {0x1.129a601c68b1ap-30, 0x1.129a601a1b940p-30},
      {0x1.47ae147ae147bp-6, 0x1.44723d272a7f1p-6},
      {0x1.3333333333333p-2, 0x1.0ca937be1b9dcp-2},
      {0x1.ae147ae147ae1p-1, 0x1.38333168ad4e2p-1},
      {0x1.f0a3d70a3d70ap-1, 0x1.5b2736676755cp-1},
      {0x1p-53, 0x1p-53},
      {0x1.70ef54646d497p-57, 0x1.70ef54646d497p-57},
      {0x1p-1, 0x1.9f323ecbf984cp-2},
      {0x1.a36e2eb1c432dp-14, 0x1.a368d06580001p-14},
      {0x1.0a3d70a3d70a4p-3, 0x1.f49a79f8b918ep-4},
      {0x1p+0, 0x1.62e42fefa39efp-1}}},
};

/* x, p, x^p */
static const double POWERS[FEW][3] = {
    {0x1.3333333333333p-2, 0x1.8p-1, 0x1.9f16b43a4badcp-2},
    {0x1.b333333333333p+0, 0x1.8p-1, 0x1.7d22123676d6fp+0},
    {0x1.87e92154ef7acp-665, 0x1.8p-1, 0x1.a2fe76a3f9475p-499},
    {0x1.4e718d7d7625ap+664, 0x1.8p-1, 0x1.38d352e5096afp+498},
    {0x1.ff7ced916872bp-1, 0x1.ff33333333333p+5, 0x1.e04a8e32027e2p-1},
    {0x1.199999999999ap+2, 0x1.ff33333333333p+5, 0x1.8067203973b54p+136},
    {0x1.199999999999ap+1, 0x1.8p+0, 0x1.a1ae280fcc6bfp+1},
    {0x1.12e0be826d695p-30, 0x1.8p+0, 0x1.1cd5288a35c9fp-45},
    {0x1.249ad2594c37dp+332, 0x1.4p+1, 0x1.658e3ab795205p+830},
    {0x1.eb851eb851eb8p-6, 0x1.8p+1, 0x1.c4fc1df3300ddp-16},
    {0x1.ecccccccccccdp+2, -0x1p-2, 0x1.335c25d050858p-1},
    {0x1.bff2ee48e053p-333, -0x1.f5c28f5c28f5cp-2, 0x1.b5e7e08ca3a8p+162},
};

far_status far_library_hold(far_ctx *ctx, const char *name, double at, double own, double value)
{
    if (fabs(own - value) <= FAR_LIBRARY_ERROR * fabs(value)) {
        return FAR_OK;
    }
    return far_fail(ctx, FAR_ERR_BACKEND,
                    "the C library's %s is not good enough to prove anything with: at %.17g it "
                    "gives %.17g, not %.17g; use another C library",
                    name, at, own, value);
}

far_status far_library_check(far_ctx *ctx)
{
    far_status st = FAR_OK;
    for (size_t k = 0; k < sizeof FAMILIES / sizeof FAMILIES[0]; k++) {
        for (int i = 0; i < FEW; i++) {
            const sample *s = &FAMILIES[k].samples[i];
            volatile double at = s->at; /* not for the compiler to compute */
            double own = FAMILIES[k].function(at);
            FAR_TRY(far_library_hold(ctx, FAMILIES[k].name, s->at, own, s->value));
        }
    }
    for (int i = 0; i < FEW; i++) {
        volatile double at = POWERS[i][0];
        FAR_TRY(far_library_hold(ctx, "pow", POWERS[i][0], pow(at, POWERS[i][1]), POWERS[i][2]));
    }
done:
    return st;
}
