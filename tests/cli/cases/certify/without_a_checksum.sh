# a proof is about the bytes there are; that nothing vouches for them is said
command -v python3 >/dev/null || skip "no python3"
"$FARFIELD" train -q -a 'dense(4) ln relu dense(1)' --inputs 2 -e 0 -o net.safetensors
python3 - <<'STRIP'
import json
import struct
data = open('net.safetensors', 'rb').read()
length = struct.unpack('<Q', data[:8])[0]
header = json.loads(data[8:8 + length])
for key in ('farfield.checksum', 'farfield.sha256'):
    del header['__metadata__'][key]
text = json.dumps(header).encode()
text += b' ' * (-len(text) % 8)
open('bare.safetensors', 'wb').write(struct.pack('<Q', len(text)) + text + data[8 + length:])
STRIP
for net in net bare; do
    "$FARFIELD" certify $net.safetensors -q --seconds 1 -o $net.json | grep checksum || true
    "$FARFIELD" certify $net.safetensors --check $net.json
done
