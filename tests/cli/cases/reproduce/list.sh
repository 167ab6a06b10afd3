"$FARFIELD" reproduce --list >list
for id in ln-fig1 ln-fig2 ln-table1 ln-fig3 ln-table2 ln-fig4 ln-appendix-k ln-appendix-l ln-appendix-m lnnet-cnn lnnet-transformer ln-theorems ln-widths \
    linearization edge-of-stability linearized ella ella-images loss-asymptotics siren siren-photos; do
    grep -q "^  $id  *[a-z0-9-]*  *[0-9.]* s " list
    for shell in _farfield farfield.bash farfield.fish; do
        grep -q "\\b$id\\b" "$SOURCE_DIR/completions/$shell"
    done
    grep -rq "$id" "$SOURCE_DIR/docs/reproductions"
done
tail -1 list | grep -Eq '^ *[0-9]+ tested, [0-9]+ by construction, [0-9]+ not reproduced, [0-9]+ not available to us$'
awk 'length > 100 { print "too long: " $0; exit 1 }' list
