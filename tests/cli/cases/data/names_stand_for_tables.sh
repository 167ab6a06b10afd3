. "$SOURCE_DIR/tests/cli/serving.sh"
mkdir -p cache/protein cache/yacht
waves 40 | sed '1s/.*/F1,F2,RMSD/' >cache/protein/CASP.csv
"$FARFIELD" fit protein -t RMSD -a 'dense ln relu dense' -r 0.01 -q -o by_name.far >by_name
"$FARFIELD" fit cache/protein/CASP.csv -t RMSD -a 'dense ln relu dense' -r 0.01 -q -o by_path.far >by_path
"$FARFIELD" predict by_name.far protein >by_name.csv
"$FARFIELD" predict by_path.far cache/protein/CASP.csv | cmp - by_name.csv
"$FARFIELD" compare protein -t RMSD -s 'F1 >= 0.8' -m 'ln-first;mean' --seeds 1 --no-certify -q | has 'out of range where F1 >= 0.8'
"$FARFIELD" train protein -t RMSD -a 'dense(3) ln relu dense' -e 1 -q -o n.safetensors >/dev/null
"$FARFIELD" gram --net n.safetensors protein -o K.npy
"$FARFIELD" certify protein -t RMSD -a 'dense ln relu dense' -r 0.01 --seconds 1 | has -i bounded
expect_code 1 "$FARFIELD" fit mnist -t label
expect_code 1 "$FARFIELD" fit protien -t RMSD
expect_code 1 "$FARFIELD" fit ./protein -t RMSD
mkdir protein # no table: the name means the data set
"$FARFIELD" fit protein -t RMSD -a 'dense ln relu dense' -r 0.01 | has '^rows  *40$'
rmdir protein
waves 7 >protein # a file of that name comes first
"$FARFIELD" fit protein -t y -a 'dense ln relu dense' -r 0.01 | has '^rows  *7$'
# numbers between blanks get the names of their columns
seq 1 9 | awk '{ print $1, $1 % 2, $1 % 3, 4, 5, 0.1 * $1, $1 * $1 }' >cache/yacht/data.txt
"$FARFIELD" fit yacht -t resistance -f froude,buoyancy -w 'froude < 0.75' -a 'dense ln relu dense' -r 0.01 |
    grep -q '^rows  *7$'
