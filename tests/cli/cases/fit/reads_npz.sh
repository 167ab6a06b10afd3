command -v python3 >/dev/null || skip "no python3"
# x is 3 x 2, y has 3 values
printf '\0\0\0\0\0\0\360\77\0\0\0\0\0\0\0\100\0\0\0\0\0\0\0\0\0\0\0\0\0\0\360\277\0\0\0\0\0\0\340\77\0\0\0\0\0\0\0\0' |
    npy_file '(3, 2)' '<f8' >x.npy
printf '\1\2\4' | npy_file '(3,)' '|i1' >y.npy
python3 -m zipfile -c d.npz x.npy y.npy
"$FARFIELD" fit d.npz -t y -f x -a 'dense ln relu dense' --ridge 1e-9 -q -o d.far
printf 'x_2,x_1\n2,1\n-1,0\n0,0.5\n' | "$FARFIELD" predict d.far - | sed 1d | close_to 1e-6 1 2 4
"$FARFIELD" predict d.far d.npz | sed 1d | close_to 1e-6 1 2 4
