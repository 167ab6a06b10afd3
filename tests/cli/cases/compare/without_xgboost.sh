waves 61 >w.csv
FARFIELD_XGBOOST=/nonexistent "$FARFIELD" compare w.csv -t y -s 'a > 0.7' -m xgboost,linear -q >table
grep -q '^  xgboost  unavailable: XGBoost could not be opened (/nonexistent: ' table
grep -q '^\* linear ' table
FARFIELD_XGBOOST=/nonexistent expect_code 1 "$FARFIELD" compare w.csv -t y -s 'a > 0.7' -m xgboost -q
