command -v python3 >/dev/null || skip "no python3"
points -1 0 2 >X.csv
points 1 -1 >U.csv
check() {
    if ! "$FARFIELD" "$@" 2>/dev/null | python3 -m json.tool >/dev/null; then
        echo "not JSON: $*"
        exit 1
    fi
}
check kernel --arch "$LN_FIRST" --json X.csv
check kernel --arch "$LN_FIRST" --json --diag --dtype f32 X.csv
check kernel --arch "$LN_FIRST" --json X.csv -o K.npz
check kernel --arch "$LN_FIRST" --json --at-infinity U.csv X.csv
check kernel --arch "$LN_FIRST" --json --sup
check kernel --arch 'dense relu dense' --json --sup
check info --json
check data list --json
check reproduce --list --json
check info arch --json
check info arch --json 'dense relu dense'
check demo --kernels --json
waves 11 >w.csv
check fit w.csv -t y --json -o w.far
check fit w.csv -t y,b --json -a 'dense relu dense' --ridge 0 --no-extremes
check predict w.far w.csv --json --std
check predict w.far w.csv --json -o p.csv
check predict w.far w.csv --json --at-infinity
check certify w.far --json --seconds 1
check train w.csv -t y -a 'dense(3) ln relu dense' -e 2 --json -o n.safetensors
check train w.csv -t y,b -a 'dense(3) relu dense' -e 2 --json --seeds 2
check train -a 'dense(3) relu dense(1)' --inputs 2 -e 0 --json
check predict n.safetensors w.csv --json
check predict n.safetensors w.csv --json --at-infinity
check gram --net n.safetensors w.csv --json --by-layer
check gram --net n.safetensors w.csv w.csv --json --outputs full -o K.npy
check certify n.safetensors --json --along 1,0 --exceeds 100
check certify w.csv -t y -a 'dense relu dense' --ridge 0.1 --json --along 1,0 --exceeds 100
