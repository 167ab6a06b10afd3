. "$SOURCE_DIR/tests/cli/reproducing.sh"
reproduces ln-theorems 58
grep -q '^theorem 3.1: .* tends to 0.941576, f(-t) / t to 0.099908 / agrees$' claims
[ "$(grep -c '^theorem 3.1: .* hidden layers, d = .* / agrees$' claims)" = 7 ]
grep -q '^theorem 3.3, the number of points below the line: 2 .* 0.563, with the root 0.75; B1 1.501' claims
grep -q '^theorem 3.2: sup Theta(x, x), LN second: .* ours 3.010000' claims
grep -q '^theorem 3.3: x^2, LN every: .* B1 279 ' claims
grep -q '^proposition 3.4: how far they go: .* from 3.4 to 2.46e+06' claims
[ "$(grep -c '^theorem C.1: dense ln ' claims)" = 4 ]
drawn ln-theorems ln-theorem-31 ln-theorem-32 ln-theorem-33-line ln-theorem-c1 ln-proposition-34
