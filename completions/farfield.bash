# bash completion for farfield

_farfield_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_farfield_words() {
    mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

_farfield() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}"
    if [ "$COMP_CWORD" = 1 ]; then
        _farfield_words "$word" "kernel info demo help --help --version"
        return
    fi
    case "$before" in
    --get) _farfield_words "$word" "ntk nngp" && return ;;
    --param) _farfield_words "$word" "ntk standard" && return ;;
    --dtype) _farfield_words "$word" "f64 f32" && return ;;
    --arch | -a | --inputs | --threads) return ;;
    --at-infinity | --output | -o) _farfield_files "$word" && return ;;
    esac
    case "${COMP_WORDS[1]}:$word" in
    kernel:-*)
        _farfield_words "$word" "--arch --get --param --dtype --diag --lower --at-infinity --sup
            --inputs --output --json --quiet --threads --help"
        ;;
    kernel:*) _farfield_files "$word" ;;
    info:*) _farfield_words "$word" "arch --json --help" ;;
    demo:*) _farfield_words "$word" "--json --quiet --help" ;;
    help:*) _farfield_words "$word" "kernel info demo" ;;
    esac
}
complete -F _farfield farfield
