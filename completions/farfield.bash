# bash completion for farfield

_farfield_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_farfield_words() {
    mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# The names of data sets, from the command itself.
_farfield_sets() {
    "${COMP_WORDS[0]}" data list 2>/dev/null | sed -n '2,/^$/s/^\([a-z0-9-]*\) .*/\1/p'
}

# The names of measures, from the command itself.
_farfield_measures() {
    "${COMP_WORDS[0]}" measure --list 2>/dev/null | sed -n 's/^\([A-Za-z0-9]\{1,\}\).*/\1/p'
}

# What may stand after option $1; 1 if it takes no value.
_farfield_value() {
    case "$1" in
    --kernel) _farfield_words "$2" "ntk nngp" ;;
    --param) _farfield_words "$2" "ntk standard" ;;
    --dtype) _farfield_words "$2" "f64 f32" ;;
    --task) _farfield_words "$2" "auto regress classify" ;;
    --metric) _farfield_words "$2" "none diagonal full auto" ;;
    --ranks) _farfield_words "$2" "none all steps auto" ;;
    --copies) _farfield_words "$2" "keep drop" ;;
    --committee) _farfield_words "$2" "auto 1 3 5" ;;
    --criterion) _farfield_words "$2" "loo likelihood" ;;
    --model) _farfield_words "$2" "network linear trees mean" ;;
    --spread) _farfield_words "$2" "calibrated posterior ensemble likelihood" ;;
    --arch | -a | --ridge | -r)
        case "${COMP_WORDS[1]}" in fit | certify | compare | cv) _farfield_words "$2" "auto" ;; esac
        ;;
    --optimizer) _farfield_words "$2" "adam sgd momentum gd adamw" ;;
    --loss) _farfield_words "$2" "auto mse bce ce" ;;
    --init) _farfield_words "$2" "kaiming kaiming_normal kaiming_uniform lecun siren ntk torch" ;;
    --standardize) _farfield_words "$2" "both inputs none" ;;
    --batch | -b) _farfield_words "$2" "full" ;;
    --track)
        compopt -o nospace 2>/dev/null
        _farfield_words "$2" "every= metrics= points= outputs= at-loss= file="
        ;;
    --augment) _farfield_words "$2" "flip crop(4) flip,crop(4)" ;;
    --schedule) _farfield_words "$2" "constant cosine linear step:20,0.5" ;;
    --outputs) _farfield_words "$2" "trace full" ;;
    --lr | --weight-decay | --patience | --momentum | --epochs | -e | --stop-loss | --l2-to-init | --layers | --freeze | --w0 | \
        --checkpoint-every) ;;
    --inputs | --threads | --target | -t | --features | -f | --where | -w | --subset | --seed | \
        --memory | --time | --steps | --rate | --exceeds | --starts | --gap | --seconds) ;;
    --sep) _farfield_words "$2" "tab blank" ;;
    --na | --categorical | --keep) ;;
    --metrics) _farfield_words "$2" "$(_farfield_measures)" ;;
    --y | -y) [ "${COMP_WORDS[1]}" = powerlaw ] || _farfield_files "$2" ;;
    --output | -o | --values | --vectors | --along | --check | --net | -n | --from | --weights | --checkpoint) _farfield_files "$2" ;;
    -m)
        case "${COMP_WORDS[1]}" in
        compare | cv) _farfield_value --models "$2" ;;
        measure) _farfield_value --metrics "$2" ;;
        esac
        ;;
    --models) _farfield_words "$2" "none ln-first ln-second ln-every auto xgboost linear mean" ;;
    --top | -k)
        case "${COMP_WORDS[1]}" in spectrum | align) _farfield_words "$2" "all" ;; esac
        ;;
    --powerlaw | -p | --weyl | --task-from-eig | -j | --width | --window | --x | -x) ;;
    --of) _farfield_words "$2" "loss spectrum tail" ;;
    --val | --test | --ood | --cross | --cross-f0 | --at | --losses) _farfield_files "$2" ;;
    --f0)
        _farfield_files "$2"
        COMPREPLY+=("none")
        ;;
    --gd | --curve) ;;
    --correlation | -c | --image) _farfield_files "$2" ;;
    --grid | -g | --bins | --step | --edges | --size) ;;
    --method) _farfield_words "$2" "auto ella exact diagonal kfac last-layer" ;;
    --likelihood) _farfield_words "$2" "auto gaussian softmax bernoulli" ;;
    --val-part | --landmarks | -M | --rank | -K | --prior | --noise | --mc) ;;
    --theory) _farfield_words "$2" "d= q= target=indicator target=network kernel=nngp on=sphere" ;;
    --shift | -s | --seeds | --test-fraction) ;;
    --report | --data) _farfield_files "$2" ;;
    --at-infinity) [ "${COMP_WORDS[1]}" = kernel ] && _farfield_files "$2" ;;
    *) return 1 ;;
    esac
}

_farfield_lnnet() {
    local points="--label --features --where --impute" common="--report --json --quiet --threads --help"
    if [ "$COMP_CWORD" = 2 ]; then
        _farfield_words "$1" "build check ssr vc hessian --help"
        return
    fi
    case "${COMP_WORDS[2]}:$1" in
    build:-*)
        _farfield_words "$1" "--mode --groups --precision --bits --tries --seed --output
            $points $common"
        ;;
    check:-*) _farfield_words "$1" "--net --precision --bits $points $common" ;;
    ssr:-*) _farfield_words "$1" "--linear --directions --steps --seed --output $points $common" ;;
    vc:-*) _farfield_words "$1" "--layers --seed $common" ;;
    hessian:-*)
        _farfield_words "$1" "--net --arch --groups --eps --raw --check --where --output $common"
        ;;
    *) _farfield_files "$1" ;;
    esac
}

_farfield() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}"
    local common="--output --json --quiet --threads --help"
    local table="--sep --na --categorical"
    local fit="--target --features --keep --where $table --arch --ridge --task --no-standardize --impute --kernel
        --param --metric --ranks --copies --committee --criterion --subset --seed --memory --packed --method --landmarks --tolerance
        --allow-unbounded --extremes --no-extremes"
    local source="--net --arch --kernel --param --layers --outputs --target --y --values --features --where
        $table"
    if [ "$COMP_CWORD" = 1 ]; then
        _farfield_words "$word" "fit train predict certify compare cv combine kernel gram measure spectrum align powerlaw local laplace lnnet data reproduce info demo
            help --help --version"
        return
    fi
    _farfield_value "$before" "$word" && return
    case "${COMP_WORDS[1]}:$word" in
    fit:-*) _farfield_words "$word" "$fit --model --report $common" ;;
    train:-*)
        _farfield_words "$word" "--arch --target --features --keep --where $table --optimizer --lr --schedule --augment
            --weight-decay --momentum --val-part --patience
            --epochs --batch --loss --stop-loss --l2-to-init --selective --layers --freeze --linearized --init --w0
            --from --merge --inputs --seed --seeds --task --standardize --no-standardize --impute --dtype
            --checkpoint --checkpoint-every --resume --restart --track --report $common"
        ;;
    predict:-*)
        _farfield_words "$word" "--where $table --score --id --flag-range --std --spread --time --steps --rate --at-infinity
            --arch --memory --ridge --gd --f0 --cross --cross-f0 --at --curve --losses
            --net --kernel --param --layers --outputs --target --y --features --report $common"
        ;;
    certify:-*)
        _farfield_words "$word" "--exceeds --along --box --starts --gap --seconds --check --report
            $fit $common"
        ;;
    compare:-*)
        _farfield_words "$word" "--target --shift --models --seeds --seed --test-fraction
            --no-certify --report --features --keep --where $table --task --ridge --no-standardize --impute --kernel
            --param --metric --ranks --copies --committee --criterion --subset --memory --packed --json --quiet --threads --help"
        ;;
    cv:-*)
        _farfield_words "$word" "--target --folds --seed --models --report --features --keep --where $table --task
            --ridge --no-standardize --impute --kernel --param --metric --ranks --copies --committee --criterion --subset --memory --packed --json --quiet
            --threads --help"
        ;;
    kernel:-*)
        _farfield_words "$word" "--arch --kernel --param --dtype --diag --lower --at-infinity --sup
            --inputs $common"
        ;;
    gram:-*)
        _farfield_words "$word" "--net --arch --by-layer --layers --outputs --where --dtype
            --memory $common"
        ;;
    measure:-*) _farfield_words "$word" "--metrics --list --report $source $common" ;;
    spectrum:-*)
        _farfield_words "$word" "--top --ridge --powerlaw --by-layer --weyl --vectors --report
            $source $common"
        ;;
    combine:-*) _farfield_words "$word" "--output --report $common" ;;
    align:-*) _farfield_words "$word" "--top --task-from-eig --width --report $source $common" ;;
    powerlaw:-*)
        _farfield_words "$word" "--window --x --y --of --theory --arch --report --json --quiet --threads
            --help"
        ;;
    local:-*)
        _farfield_words "$word" "--grid --image --bins --step --edges --width --correlation --report
            $source $common"
        ;;
    laplace:-*)
        _farfield_words "$word" "--net --arch --target --where $table --val --val-part --test --ood --method
            --exact --landmarks --rank --balanced --prior --noise --residual-prior --paper --likelihood
            --choose --probit --mc --seed --memory --report $common"
        ;;
    lnnet:*) _farfield_lnnet "$word" ;;
    data:-*) _farfield_words "$word" "--data --unverified --size --output --json --quiet --help" ;;
    data:*)
        case "$COMP_CWORD:$before" in
        2:*) _farfield_words "$word" "list get where verify image" ;;
        *:image) _farfield_files "$word" ;;
        *:get | *:where | *:verify) _farfield_words "$word" "$(_farfield_sets)" ;;
        esac
        ;;
    fit:* | train:* | predict:* | certify:* | compare:* | cv:* | combine:* | kernel:* | gram:* | measure:* | spectrum:* | align:* | powerlaw:* | local:* | laplace:*) _farfield_files "$word" ;;
    reproduce:-*)
        _farfield_words "$word" "--list --text --quick --images --cifar2 --weights --seeds --epochs --data --output --resume --json
            --quiet --threads --help"
        ;;
    reproduce:*)
        _farfield_words "$word" "all ln-fig1 ln-fig2 ln-table1 ln-fig3 ln-table2 ln-fig4 ln-appendix-k
            ln-appendix-l ln-appendix-m ln-theorems ln-widths lnnet-fig1 lnnet-fig2 lnnet-fig3 lnnet-fig4 lnnet-fig5 lnnet-cnn lnnet-transformer lnnet-theorems
            linearization linearization-text edge-of-stability linearized ella ella-images loss-asymptotics siren siren-photos"
        ;;
    info:*) _farfield_words "$word" "arch --json --help" ;;
    demo:*)
        _farfield_words "$word" "--report --no-report --seeds --quick --kernels --json --quiet
            --threads --help"
        ;;
    help:*)
        _farfield_words "$word" "fit train predict certify compare cv combine kernel gram measure spectrum align powerlaw local laplace lnnet data reproduce info demo"
        ;;
    esac
}
complete -F _farfield farfield
