awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$SOURCE_DIR/README.md" >commands
grep -c 'build/farfield' commands >/dev/null
sed -i 's,build/farfield,"$FARFIELD",' commands
bash -eu commands >out
grep -q '3.03' out
