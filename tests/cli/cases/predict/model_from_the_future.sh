command -v python3 >/dev/null || skip "no python3"
one_point 'dense ln relu dense'
python3 - <<'END'
import json, zipfile
old, new = zipfile.ZipFile("one.far"), zipfile.ZipFile("new.far", "w")
for name in old.namelist():
    data = old.read(name)
    if name == "manifest.json":
        manifest = json.loads(data)
        manifest["version"] = 1000
        data = json.dumps(manifest)
    new.writestr(name, data)
new.close()
END
"$FARFIELD" predict new.far one.csv
