# bash completion offers exactly the options of --help
# shellcheck source=/dev/null
. "$SOURCE_DIR/completions/farfield.bash"
for verb in fit train predict certify compare cv kernel gram measure spectrum align powerlaw local laplace data reproduce; do
    COMP_WORDS=(farfield "$verb" --) COMP_CWORD=2
    _farfield
    printf '%s\n' "${COMPREPLY[@]}" | sort >offered
    "$FARFIELD" "$verb" --help | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' | sort | diff - offered
done
for word in build check ssr vc hessian; do
    COMP_WORDS=(farfield lnnet "$word" --) COMP_CWORD=3
    _farfield
    printf '%s\n' "${COMPREPLY[@]}" | sort >offered
    "$FARFIELD" lnnet "$word" --help | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' | sort | diff - offered
done
# --track has settings, the same in the three shells
COMP_WORDS=(farfield train --track '') COMP_CWORD=3
_farfield
"$FARFIELD" train --help | sed -n '/^--track takes/,$s/^  \([a-z-]*=\).*/\1/p' >settings
[ -s settings ]
printf '%s\n' "${COMPREPLY[@]}" | diff settings -
for shell in _farfield farfield.fish; do
    grep -q "every= metrics= points= outputs= at-loss= file=" "$SOURCE_DIR/completions/$shell"
done
