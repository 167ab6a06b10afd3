predict() {
    expect_code 2 "$FARFIELD" predict "$@"
}
predict
predict m.far
predict m.far x.csv y.csv
predict m.far x.csv -o p.txt
predict m.far x.csv --steps 3
predict m.far x.csv --rate 3
predict m.far x.csv --steps 3 --rate 1 --time 1
predict m.far x.csv --steps 0 --rate 1
predict m.far x.csv --time -1
predict m.far x.csv --time never
predict m.far x.csv --steps 3 --rate inf
predict m.far x.csv --time 1 --std
predict m.far x.csv --at-infinity --std
predict m.far x.csv --at-infinity --time 1
predict m.far x.csv --spread wide
