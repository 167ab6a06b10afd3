# f = 3 x + 0.5: with J = (x, 1), rows x = -1, 0, 1, noise 0.5 and s0^2 = 2 the variance at x is
# x^2 / (2 / 0.5 + 1 / 2) + 1 / (3 / 0.5 + 1 / 2)
need_python
tensors write net.safetensors 'arch=dense(1)' <<'LINE'
0.weight 1x1 3
0.bias 1 0.5
LINE
printf 'x,y\n-1,0\n0,1\n1,2\n' >train.csv
printf 'x,y\n2,6.5\n0,1.5\n' >test.csv
line() {
    "$FARFIELD" laplace --net net.safetensors train.csv -t y --likelihood gaussian --noise 0.5 \
        --prior 2 --test test.csv "$@"
}
for form in --exact '-K 0' '-K 0 --paper' '--method exact' '--method last-layer' '--method diagonal'; do
    # shellcheck disable=SC2086 # two words
    line $form -q -o out.csv
    [ "$(sed -n 1p out.csv)" = y1,y1_std,y1_std_y ]
    sed 1d out.csv | close_to 1e-12 \
        6.5 1.0211439872687116 1.2420688558751656 0.5 0.3922322702763681 0.8086075400626399
done
line --exact --json >numbers.json
# the rows are off by 0 and 1, MAP's variance is 0.5, here 0.5 + 1.0427350427 and 0.5 + 0.1538461538
near 1e-10 "$(json_field nll <numbers.json)" 1.0723649429247
sed 's/.*"laplace"//' numbers.json >mine.json
near 1e-10 "$(json_field nll <mine.json)" 1.3034598866336218
near 1e-12 "$(json_field rmse <mine.json)" 0.7071067811865476
[ "$(json_field coverage <mine.json)" = 1 ]
near 1e-12 "$(json_field effective <numbers.json)" 1.811965811965812
# the diagonal, by hand too: J J' has none beside it here; KFAC: 1/3 (2, 0; 0, 3) x (3 / 0.5)
line --method kfac -q -o out.csv
sed 1d out.csv | cut -d, -f2 | close_to 1e-12 1.0211439872687116 0.3922322702763681
line --method kfac | has 'Kronecker factors a layer'
line --method diagonal --json | json_field method | grep -qx '"diagonal"'
line --method last-layer | has '^posterior *exact, of the 2 weights of the last layer'
