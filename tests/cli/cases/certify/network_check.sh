tiny_net free.safetensors 'arch=dense(2) relu dense(1)'
tiny_net norm.safetensors 'arch=dense(2) ln relu dense(1)'
for net in free norm; do
    "$FARFIELD" certify $net.safetensors --exceeds 100 -o $net.json >/dev/null
    "$FARFIELD" certify $net.safetensors --check $net.json
    "$FARFIELD" certify $net.safetensors --check - <$net.json
done
lie() {
    sed "$2" "$1.json" >lie.json
    differ "$1.json" lie.json
    expect_code 1 "$FARFIELD" certify "$1.safetensors" --check lie.json
}
lie norm 's/"tightest": [0-9.]*/"tightest": 4/'
lie norm 's/"highest": [0-9.]*/"highest": 4/'
lie norm 's/"sup_found": [0-9.]*/"sup_found": 5.4/'
lie norm 's/"verdict": "bounded"/"verdict": "unbounded"/'
lie free 's/"slope": [0-9.]*/"slope": 6.0/'
lie free 's/"beyond": [0-9.]*/"beyond": 9.0/'
lie free 's/"growth": [0-9.]*/"growth": 4.0/'
lie free 's/"verdict": "unbounded"/"verdict": "bounded"/'
lie free 's/"hash": "../"hash": "zz/'
expect_code 1 "$FARFIELD" certify free.safetensors --check norm.json
one_point 'dense ln relu dense'
"$FARFIELD" certify one.far -o model.json >/dev/null
expect_code 1 "$FARFIELD" certify norm.safetensors --check model.json
expect_code 1 "$FARFIELD" certify one.far --check norm.json
echo '{' >broken.json
expect_code 1 "$FARFIELD" certify norm.safetensors --check broken.json
