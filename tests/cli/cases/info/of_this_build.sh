"$FARFIELD" info >build
for word in version isa threads compiler libraries; do grep -q "^$word " build; done

# which XGBoost: of a virtual environment, of the python3 on PATH, or where it is told
FARFIELD_XGBOOST=/nonexistent "$FARFIELD" info | grep -q '^xgboost .*could not be opened (/nonexistent'
folder=lib/python3.11/site-packages/xgboost/lib
library=$(env -u VIRTUAL_ENV PATH= "$FARFIELD" info | sed -n 's/^xgboost  *[0-9.]*, //p')
[ -n "$library" ] || skip "no XGBoost"
for prefix in venv python; do
    mkdir -p $prefix/$folder $prefix/bin
    cp "$library" $prefix/$folder/libxgboost.so
    printf '#!/bin/sh\n' >$prefix/bin/python3
    chmod +x $prefix/bin/python3
done
env -u VIRTUAL_ENV PATH="$PWD/python/bin:$PATH" "$FARFIELD" info | grep -q "^xgboost .*$PWD/python/$folder"
VIRTUAL_ENV=$PWD/venv PATH="$PWD/python/bin:$PATH" "$FARFIELD" info | grep -q "^xgboost .*$PWD/venv/$folder"
VIRTUAL_ENV=$PWD/venv FARFIELD_XGBOOST=$library "$FARFIELD" info | grep -q "^xgboost .*$library"
