# every option of --help is in the man page and in the three completions
for verb in fit train predict certify compare cv kernel gram laplace data reproduce info demo; do
    "$FARFIELD" "$verb" --help
done | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' | sort -u >options
[ "$(wc -l <options)" -gt 30 ]
while read -r option; do
    grep -q -e "Fl .*-${option#--}" "$SOURCE_DIR/docs/man/farfield.1" || echo "man: $option"
    grep -q -e "$option" "$SOURCE_DIR/completions/farfield.bash" || echo "bash: $option"
    grep -q -e "$option" "$SOURCE_DIR/completions/_farfield" || echo "zsh: $option"
    grep -q -e "-l ${option#--}\b" "$SOURCE_DIR/completions/farfield.fish" || echo "fish: $option"
done <options
