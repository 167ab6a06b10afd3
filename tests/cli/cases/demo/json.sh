# also where a library is missing
FARFIELD_XGBOOST=/nonexistent "$FARFIELD" demo --quick --no-report --json >json
only_files json
[ "$(grep -c '"data": "coffee"' json)" = 6 ]
[ "$(grep -c 'layer norm, .*"bounded": "yes", "bound": [0-9]' json)" = 8 ]
[ "$(grep -c 'no norm, .*"bounded": "no", "bound": null' json)" = 8 ]
[ "$(grep -c '"model": "xgboost", "available": false' json)" = 4 ]
if command -v python3 >/dev/null; then
    python3 -m json.tool json >/dev/null
fi
