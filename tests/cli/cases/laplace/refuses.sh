waves 30 >w.csv
"$FARFIELD" train -a 'dense(5) relu dense' w.csv -t y -e 3 -q -o net.safetensors
"$FARFIELD" train -a 'dense(4) relu dense(3)' --inputs 2 -e 0 -q -o bare.safetensors
usage() {
    expect_code 2 "$FARFIELD" laplace "$@"
}
refused() {
    expect_code 1 "$FARFIELD" laplace "$@"
}
usage w.csv
usage --net net.safetensors
usage --net net.safetensors - --test -
usage --net net.safetensors w.csv -o p.txt
usage --net net.safetensors w.csv --exact -K 3
usage --net net.safetensors w.csv --method kfac -K 3
usage --net net.safetensors w.csv --method kfac --exact
usage --net net.safetensors w.csv --paper --residual-prior
usage --net net.safetensors w.csv --probit --mc 9
usage --net net.safetensors w.csv --val w.csv --val-part 0.2
usage --net net.safetensors w.csv --val-part 1
usage --net net.safetensors w.csv --choose
usage --net net.safetensors w.csv --val w.csv --choose --prior 1
usage --net net.safetensors w.csv --prior 0
usage --net net.safetensors w.csv --noise 0
usage --net bare.safetensors w.csv
cut -d, -f1,2 w.csv >xs.csv
usage --net net.safetensors xs.csv --test w.csv
refused --net net.safetensors w.csv --likelihood softmax
refused --net bare.safetensors w.csv --likelihood bernoulli
refused --net net.safetensors w.csv --val-part 0.001
refused --net net.safetensors w.csv --val xs.csv
refused --net net.safetensors w.csv --exact --memory 1K
"$FARFIELD" train -a 'dense(300) relu dense' w.csv -t y -e 0 -q -o wide.safetensors
waves 1500 >many.csv
refused --net wide.safetensors many.csv --exact --memory 16M
refused --net bare.safetensors w.csv --likelihood softmax
sed 's/,3\.[0-9]*$/,2/; s/,[0-9.]*\.[0-9]*$/,7/' w.csv >class.csv
refused --net bare.safetensors class.csv -t y --likelihood softmax
sed '2s/,[^,]*$/,dog/' w.csv >words.csv
refused --net bare.safetensors words.csv -t y --likelihood softmax
cut -d, -f1,3 w.csv >less.csv
refused --net net.safetensors less.csv
refused --net no.safetensors w.csv
