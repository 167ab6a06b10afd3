"$FARFIELD" kernel --arch 'dense relu dense relu dense' --sup --json >u.json
grep -q '"verdict": "unbounded", "C": null, "C_reason": "infinite"' u.json
"$FARFIELD" kernel --arch "$LN_FIRST" --sup --json >b.json
grep -q '"verdict": "bounded", "C": 3.0[23]' b.json
grep -q '"constant": true' b.json
grep -q '"proven": 3.0[0-9]*, "proven_by": "constant"' b.json
grep -q '"proven": null, "proven_reason": "not proven", "proven_by": null, "proven_by_reason": "none"' u.json
