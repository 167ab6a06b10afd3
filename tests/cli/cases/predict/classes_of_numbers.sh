printf 'x,digit\n1,3\n2,8\n1.1,3\n2.1,8\n' >d.csv
"$FARFIELD" fit d.csv -t digit --task classify -a 'dense ln relu dense' --ridge 1e-3 -q -o d.far
"$FARFIELD" predict d.far d.csv | cut -d, -f1
