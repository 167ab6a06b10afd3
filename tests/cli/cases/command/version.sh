"$FARFIELD" --version | has -Ex 'farfield [0-9]+\.[0-9]+\.[0-9]+'
