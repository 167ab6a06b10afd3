touch file
expect_code 2 "$FARFIELD" demo --kernels --quick
expect_code 2 "$FARFIELD" demo --no-report --report out
expect_code 2 "$FARFIELD" demo --seeds 0
expect_code 1 "$FARFIELD" demo --quick --report file
expect_code 1 "$FARFIELD" demo --quick --report no/folder
only_files file
