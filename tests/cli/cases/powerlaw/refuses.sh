seq 1 9 | awk '{ print $1 "," 1 / $1 }' >curve.csv
printf 'a,b,c\n1,2,3\n2,3,4\n' >three.csv
printf '1,1\n2,0\n3,1\n4,1\n5,1\n' >zero.csv
printf 'x,y\n1,1\n2,\n' >gap.csv
printf 'x,y\n1,a\n2,b\n' >words.csv
powerlaw() {
    expect_code "$1" "$FARFIELD" powerlaw "${@:2}"
}
powerlaw 2
powerlaw 2 --window 1:2
powerlaw 2 --theory d=2 --window 1:2
powerlaw 2 curve.csv --window 2
powerlaw 2 curve.csv --arch 'dense relu dense'
powerlaw 2 --theory q=1
powerlaw 2 --theory d=0
powerlaw 2 --theory d=2,q=tanh
powerlaw 2 --theory d=2,target=step
powerlaw 2 --theory d=2,kernel=gauss
powerlaw 2 --theory d=2,on=torus
powerlaw 2 --theory d=2,kernl=ntk
powerlaw 2 --theory d=2,target
powerlaw 2 --theory d=1,on=sphere
powerlaw 2 --theory d=2,q=0.5
powerlaw 2 --theory d=2,q=1 --arch 'dense relu dense'
powerlaw 2 --theory d=2 --arch 'dense rel dense'
powerlaw 2 curve.csv --y z
powerlaw 1 --theory d=2 --arch 'dense tanh dense'
powerlaw 1 --theory d=2 --arch 'dense dense'
powerlaw 1 curve.csv --window 1:3
powerlaw 1 three.csv
powerlaw 1 zero.csv
powerlaw 1 gap.csv
powerlaw 1 words.csv
powerlaw 1 none.csv
