certify() {
    expect_code 2 "$FARFIELD" certify "$@"
}
certify
certify a.far b.far
certify m.far --ridge 0.1
certify m.far --check c.json --json
certify m.far --check c.json --ridge 0.1
certify m.far --exceeds -1
certify m.far --exceeds inf
certify m.far --starts 0
certify m.far --gap x
certify t.csv --target y --ridge much
