"$FARFIELD" certify no/such.far
