# a folder of pictures, a folder for each class: trained on, and predicted with the names of files
picture() {
    printf "$(grep "^$1 3 " "$SOURCE_DIR/tests/golden/pictures.txt" | cut -d' ' -f5 | sed 's/../\\x&/g')"
}
mkdir -p set/warm "set/cold ones" new
for i in 1 2 3; do
    picture rgb.png >"set/warm/$i.png"
    picture bits.png >"set/cold ones/$i.png"
done
picture progressive.jpeg >set/warm/4.jpeg
picture rgb.png >new/b.png
picture bits.png >new/a.png
net='image(3x7x5) conv(4, 3, pad=1) relu flatten dense'
if ! "$FARFIELD" train -a "$net" set -e 50 -o net.safetensors -q >said 2>&1; then
    grep 'was built without lib' said && exit 77
fi
"$FARFIELD" predict net.safetensors new | cut -d, -f1,2
"$FARFIELD" predict net.safetensors set --score -q | cut -d, -f1,2 | sed -n '1,2p;$p'
"$FARFIELD" predict net.safetensors new --json | grep -o '"pictures": \["a.png", "b.png"\]'
"$FARFIELD" gram --net net.safetensors set -o k.npz -q
# one channel: colours become grey
"$FARFIELD" train -a 'image(1x7x5) flatten dense' set -e 1 --json | grep -o '"inputs": 35'
"$FARFIELD" cv set -t label -m 'net:image(1x7x5) flatten dense' --folds 2 -q >table
grep -c failed table || true
# what cannot be
expect_code 1 "$FARFIELD" train -a "$net" new -e 1
expect_code 1 "$FARFIELD" train -a 'image(3x5x7) flatten dense' set -e 1
expect_code 1 "$FARFIELD" train -a "$net" set -e 1 --sep ';'
echo text >set/warm/5.png
expect_code 1 "$FARFIELD" train -a "$net" set -e 1
