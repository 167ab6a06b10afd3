# networks of one epoch do not fit the data: that is said, in the report too, and the exit code is 1
expect_code 1 "$FARFIELD" reproduce ln-fig1 --quick --seeds 1 --epochs 1 -o out -q >claims
grep -q '^sin x, on the training points: .* / DOES NOT AGREE$' claims
grep -q '^ln-fig1: 15 of 18 claims agree; see out/report.html$' claims
grep -q '3 of 18 claims do not hold' out/report.html
