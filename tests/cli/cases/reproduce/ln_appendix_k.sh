. "$SOURCE_DIR/tests/cli/reproducing.sh"
reproduces ln-appendix-k 19
for activation in gelu silu; do
    grep -q "^$activation, Standard NN, trained: paper runs away (Appendix K) / .* / ours 6 of 6 proven unbounded" claims
    grep -q "^$activation, LN second, trained: .* ours 6 of 6 proven bounded" claims
done
# what the theorems leave out
grep -q '^tanh, Standard NN, trained: .* ours 6 of 6 proven bounded' claims
grep -q '^tanh, LN second, Theta(x, x) at infinite width: .* ours grows like' claims
drawn ln-appendix-k ln-appendix-k
[ "$(wc -l <reproduce-ln-appendix-k/ln-appendix-k-networks.csv)" = 13 ]
