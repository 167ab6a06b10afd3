# the only output is the score of the second class
printf 'x,kind\n-2,left\n-1,left\n1,right\n2,right\n' >k.csv
"$FARFIELD" train -a 'dense(4) relu dense' k.csv -t kind --loss bce --lr 0.05 -e 200 -q -o net.safetensors
"$FARFIELD" certify net.safetensors --along 1 >words
grep -q '^unbounded: along this direction kind=right grows like ' words
grep -Eq '^along 1: right ~ [0-9]' words
[ "$("$FARFIELD" certify net.safetensors --json | json_field output)" = '"kind=right"' ]
printf 'x\n1\n-1\n' | "$FARFIELD" predict net.safetensors - --at-infinity
