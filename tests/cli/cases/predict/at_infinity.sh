# the values of the theory for the single point x = 1, y = 1
printf 'x\n1\n-1\n' >U.csv
limits() {
    one_point "$1"
    "$FARFIELD" predict one.far U.csv --at-infinity >limits.csv
    head -1 limits.csv
}
limits 'dense relu dense relu dense'
sed 1d limits.csv | close_to 1e-6 0.941576 1 0.099908 1
limits 'dense ln relu dense relu dense'
sed '1d;3d' limits.csv | close_to 1e-6 0.964479 0
limits 'dense relu dense ln relu dense'
sed '1d;3d' limits.csv | close_to 1e-6 0.954216 0
limits 'dense ln relu dense ln relu dense'
sed '1d;3d' limits.csv | close_to 1e-6 0.964480 0
# the limit is reached
printf 'x\n1e12\n' | "$FARFIELD" predict one.far - | sed 1d | close_to 1e-6 0.964480
