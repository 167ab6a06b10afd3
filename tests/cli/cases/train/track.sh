# a row at the start, every K steps and at the end; rows are what measure says of the same network
waves 31 >w.csv
train() {
    "$FARFIELD" train w.csv -t y -a 'dense(7) tanh dense' --optimizer gd --lr 0.05 "$@"
}
train -e 10 -q -o net.safetensors --track every=4 metrics=lmax,eos,kta,align:2
[ "$(sed -n 1p net.track.csv)" = 'step,time,loss,lmax,eos(0.1),kta,align1,align2,check' ]
[ "$(cut -d, -f1 net.track.csv | tr '\n' ' ')" = 'step 0 4 8 10 ' ]
[ "$(cut -d, -f2 net.track.csv | sed -n '3p;5p' | tr '\n' ' ')" = '0.4 1 ' ]
# the network is the one of a run that nobody watched
train -e 10 -q -o plain.safetensors
cmp net.safetensors plain.safetensors
"$FARFIELD" measure --net net.safetensors w.csv -t y --metrics lmax,kta,align:2 --json >json
near 1e-9 "$(sed -n 5p net.track.csv | cut -d, -f4)" "$(json_field lmax <json)"
near 1e-9 "$(sed -n 5p net.track.csv | cut -d, -f6)" "$(json_field kta <json)"
# all spellings are one
train -e 10 -q --track every=4 file=a.csv metrics=lmax,kta points=13
train -e 10 -q --track 'every=4 metrics=lmax,kta file=b.csv points=13'
train -e 10 -q --track=every=4,metrics=lmax,kta,points=13,file=c.csv
train -e 10 -q --track every=4 --track metrics=lmax,kta --track points=13 --track file='d.csv'
cmp a.csv b.csv
cmp a.csv c.csv
cmp a.csv d.csv
differ a.csv net.track.csv
# without -o and without settings of its own
train -e 3 -q --track every=2
[ "$(sed -n 1p track.csv | tr ',' '\n' | wc -l)" = 26 ]
# DATA may follow
"$FARFIELD" train -t y -a 'dense(7) tanh dense' -e 3 -q --track every=2 metrics=lmax file=e.csv w.csv
[ "$(wc -l <e.csv)" = 4 ]
# of several outputs eos of the mean kernel is not at the edge, and says so
awk -F, -v OFS=, 'NR == 1 { print $0, "z" } NR > 1 { print $0, $1 * $2 }' w.csv >two.csv
two() {
    "$FARFIELD" train two.csv -t y,z -a 'dense(7) tanh dense' --optimizer gd --lr 0.05 -e 3 --json "$@" 2>said >json
    cat said
}
two --track every=3 metrics=eos file=mean.csv | has -- '--track: of several outputs eos .* outputs=full'
[ -z "$(two --track every=3 metrics=eos outputs=full file=full.csv)" ]
[ -z "$(two --track every=3 metrics=lmax file=lmax.csv)" ]
[ -z "$(two --track every=3 metrics=eos file=mean.csv -q)" ]
paste -d, mean.csv full.csv | awk -F, 'NR > 1 && !($4 < $9) { exit 1 }'
# a heading of pictures is for the page alone; of two outputs the two losses are one
two --track every=3 metrics=lmax file=lmax.csv --report page -q
. "$SOURCE_DIR/tests/cli/reporting.sh"
holds page/report.html 'While it trained'
"$FARFIELD" train two.csv -t y,z -a 'dense(7) tanh dense' -e 3 --track every=3 metrics=lmax file=lmax.csv --report page >said
expect_code 1 grep -E 'While it trained|its loss is' said
near 1e-5 "$(sed -n '$p' lmax.csv | cut -d, -f3)" "$(awk '$1 == "loss" { print $2 + 0 }' said)"
