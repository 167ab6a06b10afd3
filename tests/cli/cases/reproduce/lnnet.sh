# the figures about layer norm as a nonlinearity
"$FARFIELD" reproduce lnnet-fig1 lnnet-fig2 lnnet-fig3 lnnet-theorems --quick -o out -q | grep -c 'agrees$'
grep -q '<animate ' out/lnnet-fig1/lnnet-fig1-film.svg
grep -q '<animate ' out/lnnet-fig2/report.html
test -s out/lnnet-fig3/lnnet-fig3.csv
test -s out/lnnet-theorems/lnnet-theorems-groups.csv
