"$FARFIELD" powerlaw --theory d=2,q=1,target=indicator
"$FARFIELD" powerlaw --theory d=3,target=network,kernel=nngp,on=sphere
echo q from an architecture
"$FARFIELD" powerlaw --theory d=1 --arch 'dense ln relu(2) dense' --json
# as several words, or one with blanks
"$FARFIELD" powerlaw --theory d=2,q=1,target=network --json >commas
"$FARFIELD" powerlaw --theory d=2 q=1 target=network --json | cmp - commas
"$FARFIELD" powerlaw --json --theory 'd=2, q=1 target=network' | cmp - commas
