# what cannot be built is refused, with the rows and what to do
printf 'a,b,c\n1,2,x\n3,4,y\n1,2,y\n' >same.csv
printf 'a,b,c\n1,2,x\n3,,y\n1,3,y\n' >gap.csv
printf 'a,c\n1,x\n2,x\n' >one.csv
printf 'a,b,c\n1,7,x\n2,7,y\n3,7,z\n1,7,x\n' >three.csv
build() {
    expect_code "$1" "$FARFIELD" lnnet build "${@:2}" -o net.safetensors
}
build 1 same.csv -l c
build 1 same.csv -l c --where 'b != 4'
printf 'a,b,c\n1e-307,2e-307,9\n3e-307,-1e-307,10\n2e-307,4e-307,9\n' >tiny.csv
build 1 tiny.csv -l c --where 'a > 0'
printf 'a,c\n1e-320,x\n2e-320,y\n3e-320,x\n' >least.csv
build 1 least.csv -l c
expect_code 1 "$FARFIELD" lnnet ssr tiny.csv -l c
build 1 gap.csv -l c
build 1 one.csv -l c
build 2 three.csv -l c --groups 2
build 2 three.csv -l c --mode runs
build 2 three.csv -l c --mode runny
build 2 three.csv -l c --bits 100
build 2 three.csv
build 2 -l c
build 1 three.csv -l d
build 1 none.csv -l c
[ ! -e net.safetensors ]
build 0 three.csv -l c -q
build 0 three.csv -l c -q --mode paper --precision quad
"$FARFIELD" predict net.safetensors three.csv >said
build 0 gap.csv -l c -q --impute
expect_code 1 "$FARFIELD" lnnet build three.csv -l c -o nowhere/net.safetensors
expect_code 2 "$FARFIELD" lnnet
expect_code 2 "$FARFIELD" lnnet bild three.csv
expect_code 2 "$FARFIELD" lnnet check three.csv -l c
expect_code 2 "$FARFIELD" lnnet ssr three.csv
expect_code 2 "$FARFIELD" lnnet vc
expect_code 2 "$FARFIELD" lnnet vc --layers 99
expect_code 2 "$FARFIELD" lnnet hessian
expect_code 2 "$FARFIELD" lnnet hessian three.csv --raw
expect_code 2 "$FARFIELD" lnnet hessian --net net.safetensors three.csv --groups 2
