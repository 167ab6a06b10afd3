"$FARFIELD" --version | grep -Eqx 'farfield [0-9]+\.[0-9]+\.[0-9]+'
