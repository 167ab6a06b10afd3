waves 19 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-2 -q -o w.far
printf 'b,more,a\n0,x,1\n1,y,-2\n' >named.csv
printf '1,0\n-2,1\n' >plain.csv
along() {
    "$FARFIELD" certify w.far --seconds 1 --along "$1" | sed -n 's/.*along.*: y -> //p'
}
along named.csv >named
along plain.csv | cmp - named
{ along 1,0; along '-2, 1'; } | cmp - named
[ "$(wc -l <named)" = 2 ]
"$FARFIELD" predict w.far <(printf 'a,b\n1,0\n-2,1\n') --at-infinity | sed 1d | cut -d, -f1 >limits
mapfile -t limits <limits
close_to 1e-4 "${limits[@]}" <named
