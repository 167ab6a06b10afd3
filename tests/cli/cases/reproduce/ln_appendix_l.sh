. "$SOURCE_DIR/tests/cli/reproducing.sh"
reproduces ln-appendix-l 5
for place in first second every; do
    grep -q "^BatchNorm $place: paper runs away (Appendix L) / .* / ours 6 of 6 proven unbounded" claims
done
grep -q '^LN every: paper stays bounded (Appendix L) / .* / ours 6 of 6 proven bounded' claims
drawn ln-appendix-l ln-appendix-l
