"$FARFIELD" info arch >grammar
for word in dense relu leaky_relu gelu silu tanh sin ln rms batchnorm skip; do
    grep -q "$word" grammar
done
