# Attention behind a norm: bounded whatever goes in, and the certificate is checked anew.
"$FARFIELD" train -a 'sequence(6x1) dense(16) ln skip(ln attention(4, causal)) skip(ln dense(32) gelu dense(16)) last dense(1)' \
    --inputs 6 -e 0 --seed 3 -q -o s.safetensors
"$FARFIELD" certify s.safetensors --json > s.json
grep -c '"verdict": "bounded"' s.json
"$FARFIELD" certify s.safetensors --check s.json
"$FARFIELD" train -a 'sequence(6x1) dense(16) skip(ln attention(4, causal)) last dense(1)' --inputs 6 -e 0 -q -o t.safetensors
"$FARFIELD" certify t.safetensors --json | grep '"verdict"'
"$FARFIELD" train -a 'image(1x4x4) conv(2, 5) flatten dense(1)' --inputs 16 -e 0 -q -o u.safetensors
