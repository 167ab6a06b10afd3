. "$SOURCE_DIR/tests/cli/reproducing.sh"
reproduces ln-fig1 18
for data in 'sin x' x 'x^2'; do
    grep -q "^$data, Standard NN: paper runs away (Figure 1) / .* / ours 2 of 2 proven unbounded" claims
    for norm in first second every; do
        grep -q "^$data, LN $norm: paper stays bounded (Figure 1) / .* / ours 2 of 2 proven bounded" claims
    done
done
grep -q '^x, infinite width: .* / ours slope 0.986431, limits 5.052325, 5.048445, 5.052325 / agrees' claims
drawn ln-fig1 ln-fig1 ln-fig1-far
[ "$(wc -l <reproduce-ln-fig1/ln-fig1-networks.csv)" = 13 ]
[ "$(find reproduce-ln-fig1/networks -name '*.safetensors' | wc -l)" = 24 ]
"$FARFIELD" certify reproduce-ln-fig1/networks/line-second-0.safetensors --seconds 1 | has '^bounded'
