. "$SOURCE_DIR/tests/cli/serving.sh"
expect_code 2 "$FARFIELD" data
expect_code 2 "$FARFIELD" data lst
expect_code 2 "$FARFIELD" data everything
expect_code 2 "$FARFIELD" data get
expect_code 2 "$FARFIELD" data get protien
expect_code 2 "$FARFIELD" data where something-else
expect_code 2 "$FARFIELD" data list protein
expect_code 2 "$FARFIELD" data get protein mnist
expect_code 2 "$FARFIELD" data get protein --unverfied
expect_code 2 "$FARFIELD" data list --unverified
expect_code 2 "$FARFIELD" data verify protein --unverified
expect_code 1 "$FARFIELD" data get protein --data ''
FARFIELD_DATA_URL=ftp://127.0.0.1 expect_code 1 "$FARFIELD" data get protein
only_files
