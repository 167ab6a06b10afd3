# compare.csv holds the scores of predictions.csv
waves 97 >w.csv
mkdir old && echo old >old/compare.csv
for folder in new old/; do
    "$FARFIELD" compare w.csv -t y -s 'a > 0.7' --seeds 2 -m 'dense ln erf dense, linear' \
        --ridge 0.01 --no-certify --report "$folder" -q >table
done
only_files w.csv table new new/compare.json new/compare.csv new/predictions.csv new/report.html \
    old old/compare.json old/compare.csv old/predictions.csv old/report.html
cmp new/predictions.csv old/predictions.csv
head -1 new/predictions.csv | has -x 'model,seed,row,range,truth,prediction'
head -1 new/compare.csv | has -x "model,seed,status,arch,ridge,r2_in,r2_out,rmse_in,rmse_out,\
max_in,max_out,seconds_fit,seconds_predict,error"
awk -F, 'NR == FNR {
        if (FNR == 1) next
        key = $1 " " $2 " " $4
        n[key]++; sum[key] += $5; square[key] += $5 * $5; error[key] += ($6 - $5) * ($6 - $5)
        next
    }
    FNR > 1 {
        for (k = 0; k < 2; k++) {
            key = $1 " " $2 " " (k ? "out" : "in")
            r2 = 1 - error[key] / (square[key] - sum[key] * sum[key] / n[key])
            d = r2 - $(6 + k)
            if (d > 1e-6 || d < -1e-6 || !(n[key] > 1)) { print key ": " r2, $(6 + k); bad = 1 }
            seen++
        }
    }
    END { if (seen != 8) { print seen " scores"; bad = 1 } exit bad }' \
    new/predictions.csv new/compare.csv
# rows are counted from 1, and in or out as the shift says
awk -F, 'NR == FNR { a[FNR - 1] = $1; y[FNR - 1] = $3; next }
    FNR > 1 && ($5 != y[$3] || ($4 == "out") != (a[$3] > 0.7)) { print; bad = 1 }
    END { exit bad }' w.csv new/predictions.csv
