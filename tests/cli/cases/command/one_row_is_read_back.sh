# lambda_min and lambda_max of one row are equal but for rounding
printf '%s\n' x,y 9.0147057253782789e-31,-8.9433968645637964e+149 >data.csv
"$FARFIELD" fit -q data.csv -t y --task regress --no-standardize --ridge 0 -o model.far \
    -a 'ln dense(b=0.1) ln relu(1.5) dense rms erf ln(affine) dense(nobias)'
"$FARFIELD" certify -q model.far --seconds 0.3 | grep -q '^bounded: '
