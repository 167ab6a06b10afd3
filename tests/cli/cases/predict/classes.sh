# copies of a row are no harm, and a label with a comma is quoted
printf 'length,width,species\n5.1,3.5,setosa\n5.1,3.5,setosa\n7.0,3.2,"versi, color"\n' >iris.csv
"$FARFIELD" fit iris.csv --target species -q -o iris.far
"$FARFIELD" predict iris.far iris.csv >p.csv
head -1 p.csv
cut -c1-7 p.csv | sed 1d
sed 's/"[^"]*"/versicolor/g' p.csv | sed 1d | awk -F, '
    { sum = $2 + $3; if (!(sum > 0.999999 && sum < 1.000001) || $2 < 0 || $3 < 0) exit 1 }'
"$FARFIELD" predict iris.far iris.csv --std | sed -n 1p
"$FARFIELD" predict iris.far iris.csv -o p.npy
tail -c 72 p.npy | od -An -v -t f8 -w24 | awk '{ print $1 }'
"$FARFIELD" predict iris.far iris.csv --at-infinity | sed -n 1p
"$FARFIELD" predict iris.far iris.csv --json | grep -oE "\"class\": [^]]*]"
"$FARFIELD" fit iris.csv --target species --ridge 0.01 -a 'dense ln relu dense' |
    grep '^classes\|^duplicates'
