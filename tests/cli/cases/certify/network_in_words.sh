tiny_net free.safetensors 'arch=dense(2) relu dense(1)'
tiny_net norm.safetensors 'arch=dense(2) ln relu dense(1)'
certify() {
    "$FARFIELD" certify "$@" | sed -E '/^in real arithmetic/s/; .*//; /^because/s/: .*//; s/[0-9]+ cells/N cells/'
}
certify norm.safetensors --exceeds 6 --along -2
certify norm.safetensors --exceeds 5 | sed -n 2p
certify free.safetensors --exceeds 100 --along 1
