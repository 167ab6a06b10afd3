# what cannot be learnt of what comes next: by name, place and next step
ARCH='tokens(8, 128) embed(4) dense(128)'
: >empty
printf 'only this' >short
printf 'plain\nand \303\251 not; %0300d' 0 >beyond
seq 200 >text
expect_code 1 "$FARFIELD" train -a "$ARCH" empty
expect_code 1 "$FARFIELD" train -a "$ARCH" short
expect_code 1 "$FARFIELD" train -a "$ARCH" beyond
expect_code 1 "$FARFIELD" train -a "$ARCH" text --val-part 0.001
expect_code 1 "$FARFIELD" train -a 'tokens(8, 128) embed(4) attention(2) dense(128)' text
expect_code 1 "$FARFIELD" train -a 'tokens(8, 128) embed(4) last dense(128)' text
expect_code 1 "$FARFIELD" train -a 'tokens(8, 128) embed(4) dense(64)' text
expect_code 1 "$FARFIELD" train -a "$ARCH" text --loss mse
expect_code 1 "$FARFIELD" train -a 'sequence(3x1) dense(1)' text
expect_code 2 "$FARFIELD" train -a "$ARCH" text --where 'x > 1'
expect_code 2 "$FARFIELD" train -a 'sequence(3x1) dense(1)' text --standardize both
expect_code 2 "$FARFIELD" train -a 'dense(4) relu dense' text
[ ! -e net.safetensors ]
