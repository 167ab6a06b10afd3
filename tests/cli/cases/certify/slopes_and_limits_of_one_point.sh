# the values of the theory for the single point x = 1, y = 1
along() {
    "$FARFIELD" certify one.far --along "$1" | grep '^along'
}
one_point 'dense relu dense relu dense'
along 1
along -1
for arch in 'dense ln relu dense relu dense' 'dense relu dense ln relu dense' \
    'dense ln relu dense ln relu dense'; do
    one_point "$arch"
    along 1
done
