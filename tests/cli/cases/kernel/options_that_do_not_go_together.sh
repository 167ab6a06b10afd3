kernel() {
    expect_code 2 "$FARFIELD" kernel --arch dense "$@"
}
kernel --diag X.csv X2.csv
kernel --lower X.csv X2.csv
kernel --diag --lower X.csv
kernel - -
kernel --at-infinity - -
kernel --at-infinity U.csv X.csv X2.csv
kernel --at-infinity U.csv --diag
kernel --at-infinity U.csv --dtype f32
kernel --sup X.csv
kernel --sup --get nngp
kernel --sup -o C.csv
kernel --sup --at-infinity U.csv
kernel --inputs 3 X.csv
