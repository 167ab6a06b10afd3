one_point 'dense ln relu dense relu dense'
"$FARFIELD" certify one.far -o cert.json >/dev/null
"$FARFIELD" certify one.far --check cert.json
"$FARFIELD" certify one.far --check - <cert.json
sed 's/"tightest": [0-9.]*/"tightest": 0.5/' cert.json >lie.json
expect_code 1 "$FARFIELD" certify one.far --check lie.json
echo 'not JSON' >text.json
expect_code 1 "$FARFIELD" certify one.far --check text.json
: >empty.json
expect_code 1 "$FARFIELD" certify one.far --check empty.json
expect_code 1 "$FARFIELD" certify one.far --check no.json
one_point 'dense relu dense'
"$FARFIELD" certify one.far -o loose.json >/dev/null
sed 's/"verdict": "unbounded"/"verdict": "bounded"/' loose.json >lie.json
expect_code 1 "$FARFIELD" certify one.far --check lie.json
one_point 'dense ln relu dense'
expect_code 1 "$FARFIELD" certify one.far --check cert.json
