# ln-table2 --images DIR --weights FILE: what is asked for wrongly is refused by name
mkdir empty faces
echo x >faces/notes.txt
expect_code 2 "$FARFIELD" reproduce ln-table2 --images faces
expect_code 2 "$FARFIELD" reproduce ln-table2 --weights w.safetensors
expect_code 2 "$FARFIELD" reproduce ln-fig2 faces --images --weights w.safetensors
expect_code 1 "$FARFIELD" reproduce ln-table2 --images none --weights w.safetensors -q
expect_code 1 "$FARFIELD" reproduce ln-table2 --images faces --weights w.safetensors -q
