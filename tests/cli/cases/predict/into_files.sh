waves 29 >w.csv
"$FARFIELD" fit w.csv -t y -a 'dense ln relu dense' --ridge 1e-3 -q -o w.far
"$FARFIELD" predict w.far w.csv --std >p.csv
"$FARFIELD" predict w.far w.csv --std -o q.csv
"$FARFIELD" predict w.far w.csv --std -o q.csv.gz
cmp p.csv q.csv
gzip -dc q.csv.gz | cmp - p.csv
"$FARFIELD" predict w.far w.csv --std -o p.npy
"$FARFIELD" predict w.far w.csv --std -o p.npz
# an identity kernel reads them back: Theta(x, x') of dense(b=0) without bias is x.x'/d
for file in p.csv p.npy p.npz p.npz:prediction; do
    "$FARFIELD" kernel --arch 'dense(b=0)' --diag "$file" -o "$(echo "$file" | tr . _).csv"
done
cmp p_csv.csv p_npy.csv
cmp p_csv.csv p_npz.csv
cmp p_csv.csv p_npz:prediction.csv
ln -s q.csv link.csv
"$FARFIELD" predict w.far w.csv -o link.csv
[ -L link.csv ]
[ "$(head -1 q.csv)" = y ]
