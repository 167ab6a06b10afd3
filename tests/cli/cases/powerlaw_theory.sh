"$FARFIELD" powerlaw --theory d=2,q=1,target=indicator
"$FARFIELD" powerlaw --theory d=3,target=network,kernel=nngp,on=sphere
echo q from an architecture
"$FARFIELD" powerlaw --theory d=1 --arch 'dense ln relu(2) dense' --json
