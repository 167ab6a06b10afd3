. "$SOURCE_DIR/tests/cli/serving.sh"
need_downloads
command -v openssl >/dev/null || skip "no openssl"
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out own.pem -days 2 -subj /CN=127.0.0.1 \
    -addext subjectAltName=IP:127.0.0.1 2>/dev/null
cat key.pem own.pem >both.pem
serve both.pem
mkdir -p site/yacht
seq 1 100 >site/yacht/data.txt
export FARFIELD_DATA_URL="https://127.0.0.1:$port/good"
expect_code 1 "$FARFIELD" data get yacht --unverified
[ ! -e cache ]
SSL_CERT_FILE="$PWD/own.pem" "$FARFIELD" data get yacht --unverified -q >/dev/null
cmp cache/yacht/data.txt site/yacht/data.txt
