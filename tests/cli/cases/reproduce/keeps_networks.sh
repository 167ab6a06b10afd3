# A run that is resumed takes what is kept, trains what is not, and ends the same; other epochs make
# other networks. The table is made up; whether claims hold for it does not matter.
mkdir -p data/protein
awk 'function random() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
    BEGIN {
        seed = 7
        print "RMSD,F1,F2,F3,F4,F5,F6,F7,F8,F9"
        for (i = 0; i < 3000; i++) {
            f = 5000 + (i % 12 ? 15000 : 24000) * random()
            line = 5 + sin(f / 3000) + random() "," f
            for (j = 2; j <= 9; j++) line = line "," random()
            print line
        }
    }' >data/protein/CASP.csv

table() {
    local code=0
    "$FARFIELD" reproduce ln-table1 --quick --data data --seeds 2 -e "$1" -o out -q "${@:2}" >claims ||
        code=$?
    [ "$code" -le 1 ]
}

table 3
cp -p out/ln-table1.csv first.csv
cp -pr out/networks first
[ "$(find first -name '*.safetensors' | wc -l)" = 8 ]
[ "$(find first -name '*.far' | wc -l)" = 4 ]
rm out/networks/protein-quick-second-seed1.safetensors out/networks/protein-quick-first-seed0.far

table 3 --resume
diff -r --exclude="*.far" first out/networks # models tell how long they took
for file in first/*; do # kept: not written again, but for the two
    case "$file" in
    *second-seed1.safetensors | *first-seed0.far) [ "out/networks/${file#first/}" -nt "$file" ] ;;
    *) [ ! "out/networks/${file#first/}" -nt "$file" ] ;;
    esac
done
# bounds may change with the time there is
diff <(cut -d, -f1-6 first.csv) <(cut -d, -f1-6 out/ln-table1.csv)

table 4 --resume
expect_code 1 cmp -s {first,out/networks}/protein-quick-none-seed0.safetensors
cmp {first,out/networks}/protein-quick-none-seed0.far
