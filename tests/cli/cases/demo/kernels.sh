"$FARFIELD" demo --kernels --quiet >table
[ "$(grep -c '^dense' table)" = 14 ] # the columns go on below
grep -q '^dense relu dense relu dense .* unbounded, 3 x^2$' table
grep -q '^dense ln relu dense relu dense .* 3.030000 everywhere$' table
grep -q '^dense relu dense ln relu dense .* 3.010000 at infinity$' table
grep -q '^dense ln relu dense ln relu dense .* 3.000099 everywhere$' table
grep -q '^dense relu ln dense relu dense .* 3.496942 everywhere$' table
grep -q '^dense relu dense relu ln dense .* 3.943884 at infinity$' table
grep -q '^dense relu ln dense relu ln dense .* 4.607556 everywhere$' table
awk 'length > 80 { exit 1 }' table
only_files table
