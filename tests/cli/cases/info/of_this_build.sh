"$FARFIELD" info >build
for word in version isa threads compiler libraries; do grep -q "^$word " build; done
