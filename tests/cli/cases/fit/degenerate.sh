# data that teach nothing are refused in words, by every verb that learns
learn() {
    printf "$1" >t.csv
    expect_code 1 "$FARFIELD" fit t.csv -t y -a 'dense ln relu dense'
    expect_code 1 "$FARFIELD" fit t.csv -t y --model linear
    expect_code 1 "$FARFIELD" train t.csv -t y -a 'dense(3) relu dense'
}
learn 'x,y\n1,5\n'
learn 'x,y\n1,5\n2,6\n'
learn 'x,y\n1,5\n2,5\n3,5\n4,5\n'
learn 'x,y\n1,5\n1,6\n1,7\n1,8\n'
learn 'x,y\n1,a\n2,a\n3,a\n4,a\n'
learn 'y\n1\n2\n3\n'
printf 'x,z,y\n1,1,5\n2,1,5\n3,1,5\n4,1,5\n5,2,1\n' >t.csv
expect_code 1 "$FARFIELD" compare t.csv -t y -s 'z > 1' -m linear
