"$FARFIELD" help xylophone
