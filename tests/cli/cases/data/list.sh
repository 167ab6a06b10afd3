. "$SOURCE_DIR/tests/cli/serving.sh"
mkdir -p cache/protein cache/mnist
truncate -s 3528710 cache/protein/CASP.csv
mkdir cache/yacht
echo x >cache/yacht/data.txt
echo x >cache/mnist/train-images-idx3-ubyte.gz.part
"$FARFIELD" data list >list
head -n 1 list | has '^name  *rows x cols  *on disk  here   target$'
grep -q '^protein  *45730x10  *3.37 MiB  yes    RMSD$' list
grep -q "^protein  *regression, --shift 'F1 >= 20000'\$" list
grep -q '^mnist  *60000x785  *9.48 MiB  part   label$' list
grep -q '^mnist  *10 classes; 28 x 28 digits$' list
grep -q '^yacht .* other  resistance$' list
grep -q '^cifar10  *50000x3073  *147 MiB  no ' list
grep -q "lie in $PWD/cache; 'farfield data get NAME' brings one there" list
awk 'length > 100 { print "too long: " $0; exit 1 }' list
"$FARFIELD" data list --data elsewhere | has '^protein .* no '
