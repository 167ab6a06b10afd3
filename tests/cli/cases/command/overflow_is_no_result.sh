# numbers as large as a double holds: the right ones, or a reason; never inf or nan with exit 0
awk 'BEGIN { srand(1); print "a,b,y"; for (i = 0; i < 12; i++) print rand() "," rand() "," rand() "e200" }' >large.csv
sed 's/e200/e308/' large.csv >larger.csv
awk 'BEGIN { print "a,b,y"; for (i = 1; i < 9; i++) print i "," i * i "," 3 }' >same.csv
printf 'a,b\n1e308,-1e308\n1e308,1e308\n' >away.csv
runs=0
no_number() {
    code=0
    "$FARFIELD" "$@" >out 2>err || code=$?
    runs=$((runs + 1))
    grep -Eiw 'inf|nan' out && [ "$code" = 0 ] && echo "exit 0: $*"
    [ "$code" = 0 ] || [ -s err ] || echo "no reason: $*"
    return 0
}
for data in large.csv larger.csv same.csv; do
    for scaled in "" --no-standardize; do
        # shellcheck disable=SC2086
        {
            no_number fit $data -t y -a 'dense relu dense' $scaled -o m.far
            no_number fit $data -t y -a 'dense relu dense' $scaled --json -o m.far
        }
        for rows in $data away.csv; do
            no_number predict m.far $rows --std
            no_number predict m.far $rows --std --json
        done
    done
    no_number align -a 'dense relu dense' $data -t y --json
    no_number kernel -a 'dense relu(2) dense' away.csv
done
[ "$runs" -ge 36 ]
# scaled targets give scaled deviations
sed 's/e200//' large.csv >small.csv
std() {
    "$FARFIELD" fit -q "$1.csv" -t y -a 'dense relu dense' ${2:-} -o "$1.far"
    "$FARFIELD" predict "$1.far" "$1.csv" --std | sed 1d | cut -d, -f2
}
for scaled in "" --no-standardize; do
    paste -d' ' <(std large $scaled) <(std small $scaled) |
        awk '{ d = $1 / $2 / 1e200 - 1; if (d * d > 1e-16) { print; bad = 1 } } END { exit bad || NR != 12 }'
done
