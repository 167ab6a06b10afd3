one_point 'dense ln relu dense relu dense'
for level in 0.5 1.5; do
    "$FARFIELD" certify one.far --exceeds "$level" | grep '^  |y|'
done
