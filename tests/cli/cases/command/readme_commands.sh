# the shell commands of the README, as they stand there
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$SOURCE_DIR/README.md" >commands
[ "$(grep -c 'build/farfield' commands)" -ge 5 ]
mkdir build && ln -s "$FARFIELD" build/farfield
bash -eu commands >out 2>talk
grep -v '^farfield compare: .* all about' talk >&2
grep -q '^bounded: |y| <= ' out
grep -q '^unbounded: along this direction y grows like' out
grep -q 'xgboost' out
grep -q '^sup Theta(x, x) = 3.01' out
