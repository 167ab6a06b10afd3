# labels at random on images: linear, trained and built
data="$SOURCE_DIR/../shared/data"
[ -e "$data/mnist/train-images-idx3-ubyte.gz" ] && [ -e "$data/cifar10/data_batch_1.bin.gz" ] ||
    skip "the images of MNIST and CIFAR-10 are not here"
expect_code 1 "$FARFIELD" reproduce lnnet-fig4 --quick --data . -q
expect_code 1 "$FARFIELD" reproduce lnnet-fig5 --quick --seeds 1 --data "$data" -q
"$FARFIELD" reproduce lnnet-fig4 lnnet-fig5 --quick --data "$data" -o out -q | grep -c 'agrees$'
test -s out/lnnet-fig5/lnnet-fig5-table.csv
