# whatever a column, category, file or option is called: nothing but printable text reaches a
# terminal, on stdout or stderr; files keep the bytes
evil=$'x\e[31m\a\rLINE\nBREAK\xe2\x80\xae\xe2\x81\xa6\xc2\x9b\xff"<b>'
quoted=${evil//\"/\"\"}
{
    printf '"a%s","w%s","y%s"\n' "$quoted" "$quoted" "$quoted"
    for i in $(seq 24); do
        printf '%s,"%s%s",%s\n' "0.$i" "$quoted" $((i % 3)) "$((i * 7 % 11)).$i"
    done
} >"d$evil.csv"
data="d$evil.csv"
target="y$evil"
runs=0
# what is printed, on a pipe and on a terminal, in words and as JSON
seen() {
    runs=$((runs + 1))
    LC_ALL=C grep -naP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xff' "$1" &&
        echo "not printable: ${*:2}"
    grep -an '^BREAK' "$1" && echo "a line of its own: ${*:2}"
    return 0
}
verb() {
    code=0
    "$FARFIELD" "$@" >out 2>&1 || code=$?
    seen out "$@"
}
good() {
    verb "$@"
    [ "$code" = 0 ] || { echo "exit $code: $*" && cat out; }
}
good fit "$data" -t "$target" -o "m$evil.far"
good fit "$data" -t "$target" --json -o "m$evil.far" --report "r$evil"
good fit "$data" -t "w$evil" -o "c$evil.far"
good train -a 'dense(4) ln relu dense' "$data" -t "$target" -e 3 -o "n$evil.safetensors"
good train -a 'dense(4) ln relu dense' "$data" -t "w$evil" -e 3 --json -o "k$evil.safetensors"
for json in "" --json; do
    # shellcheck disable=SC2086
    for m in "m$evil.far" "n$evil.safetensors" "k$evil.safetensors"; do
        good certify "$m" $json
        good predict "$m" "$data" $json -o p.csv
    done
    good compare "$data" -t "$target" --models linear,mean --shift "\`a$evil\` > 0.15" $json
    good align -a 'dense relu dense' "$data" -t "$target" --features "a$evil" $json
    good spectrum -a 'dense relu dense' "$data" --features "a$evil" $json
    good gram --net "n$evil.safetensors" "$data" $json -o g.csv
done
good certify "m$evil.far" -o "p$evil.json"
good certify "m$evil.far" --check "p$evil.json"
for bad in "fit $evil" "fit $data -t $evil" "predict $evil $data" "certify m$evil.far --check $evil" \
    "kernel -a $evil x.csv" "$evil" "fit --$evil" "data get $evil" "data path $evil" \
    "fit -t y -o no$evil/m.far" "train -a dense --optimizer $evil $data"; do
    IFS=' ' read -r -d '' -a words <<<"$bad" || true
    verb "${words[@]}"
done
verb fit "$data" -t "$evil"
verb fit "$evil" -t y
verb fit "$data" -t "$target" -o "no$evil/m.far"
verb fit "$data" -t "$target" --where "\`a$evil\` >"
verb predict "m$evil.far" "p.csv"
verb kernel -a "dense $evil" "$data"
verb certify "m$evil.far" --check "$data"
verb train -a 'dense(4) relu dense' "$data" -t "$target" -e 3 --track "every=1 metrics=$evil"
verb "$evil"
verb fit "--$evil"
verb data get "$evil"
# on a pipe csv has the bytes of the names, on a terminal it has not
"$FARFIELD" predict -q "k$evil.safetensors" "$data" >bytes
LC_ALL=C grep -qaP '\xe2\x80\xae' bytes
if command -v script >/dev/null; then
    # shellcheck disable=SC2016
    export evil data
    script -qec '"$FARFIELD" predict -q "k$evil.safetensors" "$data"' /dev/null | tr -d '\r' >out
    seen out predict on a terminal
fi
[ "$runs" -gt 40 ]
# and it stays so: verbs print by talk.h
grep -nE '(^|[^a-z_])printf\(' "$SOURCE_DIR"/cli/*.c | grep -v '/talk\.c:' || true
