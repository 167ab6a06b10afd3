# a matrix, an architecture and a network give the same numbers as files of theirs
waves 12 >train.csv
waves 17 | sed 2,13d >new.csv
cut -d, -f1,2 train.csv >X.csv
cut -d, -f1,2 new.csv >Z.csv
cut -d, -f3 train.csv >y.csv
arch='dense relu dense'
"$FARFIELD" predict -a "$arch" train.csv -t y --ridge 0.1 --at new.csv -q -o a.csv
"$FARFIELD" kernel -a "$arch" X.csv -o K.npz
"$FARFIELD" kernel -a "$arch" Z.csv X.csv -o KX.npz
"$FARFIELD" predict K.npz --y y.csv --ridge 0.1 --cross KX.npz -q -o b.csv
cmp a.csv b.csv
[ "$(wc -l <a.csv)" = 6 ]
# new points that are the old ones: the fitted values
"$FARFIELD" predict -a "$arch" train.csv -t y --time 50 --at X.csv -q -o same.csv
"$FARFIELD" predict -a "$arch" train.csv -t y --time 50 -q -o fitted.csv
sed 1d fitted.csv | cut -d, -f1 | tr '\n' ' ' >wanted
# shellcheck disable=SC2046 # one word a number
sed 1d same.csv | close_to 1e-10 $(cat wanted)
# a trained network starts where it is, in the units of the table
"$FARFIELD" train train.csv -t y -a 'dense(8) tanh dense(1)' -e 30 -q -o net.safetensors
"$FARFIELD" predict net.safetensors new.csv >now.csv
"$FARFIELD" predict --net net.safetensors train.csv -t y --time 0 --at new.csv -q -o start.csv
# shellcheck disable=SC2046
sed 1d start.csv | close_to 1e-12 $(sed 1d now.csv | tr '\n' ' ')
"$FARFIELD" predict --net net.safetensors train.csv -t y --ridge 1e-9 -q -o end.csv
# shellcheck disable=SC2046
sed 1d end.csv | cut -d, -f1 | close_to 1e-3 $(sed 1d y.csv | tr '\n' ' ')
"$FARFIELD" gram --net net.safetensors train.csv -o G.npz
"$FARFIELD" gram --net net.safetensors new.csv train.csv -o GX.npz
"$FARFIELD" predict --net net.safetensors train.csv -t y --f0 none --ridge 0.1 --json >computed.json
"$FARFIELD" spectrum G.npz --ridge 0.1 --json >file.json
near 1e-9 "$(json_field condition <computed.json)" "$(grep -oE '"condition": [0-9.]+' file.json | json_field condition)"
# several outputs, all pairs: a column for each
awk -F, -v OFS=, 'NR == 1 { print $0, "z" } NR > 1 { print $0, $1 * $2 }' train.csv >two.csv
"$FARFIELD" train two.csv -t y,z -a 'dense(8) tanh dense(2)' -e 20 -q -o two.safetensors
"$FARFIELD" predict --net two.safetensors two.csv -t y,z --outputs full --time 0 -q -o full.csv
"$FARFIELD" predict two.safetensors two.csv >now.csv
# shellcheck disable=SC2046
sed 1d full.csv | cut -d, -f1,2 | close_to 1e-12 $(sed 1d now.csv | tr ',\n' '  ')
"$FARFIELD" predict --net two.safetensors two.csv -t y,z --outputs 2 --time 0 --at two.csv -q -o one.csv
# shellcheck disable=SC2046
sed 1d one.csv | close_to 1e-12 $(sed 1d now.csv | cut -d, -f2 | tr '\n' ' ')
"$FARFIELD" predict --net two.safetensors two.csv -t y,z --outputs full --time 0 | has '^targets  *2 columns'
# columns are called as the targets; a word of many has one each
"$FARFIELD" predict --net two.safetensors two.csv -t y,z --outputs full --time 0 --at two.csv | sed -n 1p | grep -qx y,z
[ "$(sed 1q one.csv)" = z ]
[ "$(sed 1q full.csv)" = fitted_y,fitted_z,residual_y,residual_z ]
awk -F, -v OFS=, 'NR == 1 { print "a", "b", "kind" } NR > 1 { print $1, $2, substr("uvw", NR % 3 + 1, 1) }' train.csv >words.csv
"$FARFIELD" predict -a "$arch" words.csv -t kind --ridge 1 --at X.csv | sed -n 1p | grep -qx 'kind_[uvw],kind_[uvw],kind_[uvw]'
# the mean of the kernels is no linearised network, which is said unless it was asked for
"$FARFIELD" predict --net two.safetensors two.csv -t y,z --ridge 1 2>said >mean
has 'their mean kernel trains each by itself; --outputs full' <said
"$FARFIELD" predict --net two.safetensors two.csv -t y,z --ridge 1 --outputs trace 2>said | cmp - mean
[ ! -s said ]
# residuals that are told are of standardised targets, those of the file are not
has '|y - f| of standardised targets' <mean
"$FARFIELD" train train.csv -t y -a 'dense(8) tanh dense(1)' -e 30 --no-standardize -q -o raw.safetensors
"$FARFIELD" predict --net raw.safetensors train.csv -t y --ridge 1 >raw
if has standardised <raw; then exit 1; fi
