# A page works in a real browser: nothing on its console, tables sort, values show under the pointer,
# light and dark, wide and as narrow as a telephone; and it is whole without its script.
. "$SOURCE_DIR/tests/cli/browser.sh"
need_browser
waves 61 >w.csv
"$FARFIELD" compare w.csv -t y -s 'a > 0.7' --seeds 3 -m 'dense ln erf dense;linear;mean' --ridge 0.01 \
    --report . -q >table
probed report.html "$SOURCE_DIR/tests/cli/probe.html" >probed.html
wanted='scripted=true | heads=true | sorted=true | reversed=true | restored=true | tip=true |'
wanted="$wanted spot=visible | gone=true | dark=true | light=true | copy=true | titled=true | drawn=true |"
wanted="$wanted fits=true | whole=true | links=3 | trouble="

told() { # FILE: what the probe wrote
    sed -n 's/.*data-probe="\([^"]*\)".*/\1/p' "$1"
}
browse probed.html --dump-dom --window-size=1200,900 >wide.html
no_complaints
diff <(echo "$wanted") <(told wide.html)

cat >narrow.html <<'END'
<!DOCTYPE html>
<script>addEventListener('message', function (e) {
  document.documentElement.setAttribute('data-probe', e.data); });</script>
<iframe src="probed.html" style="width:360px;height:800px;border:0"></iframe>
END
browse narrow.html --dump-dom --window-size=600,900 >narrow-dom.html
no_complaints
diff <(echo "$wanted") <(told narrow-dom.html)

# the page itself, light and dark
browse report.html --screenshot=light.png --window-size=1200,3000
no_complaints
browse report.html --screenshot=dark.png --window-size=1200,3000 --blink-settings=preferredColorScheme=0
no_complaints
[ "$(wc -c <light.png)" -gt 20000 ] && [ "$(wc -c <dark.png)" -gt 20000 ]
differ light.png dark.png

# without its script the page loses its buttons and nothing else
sed '/^<script>$/,/^<\/script>$/d' report.html >plain.html
browse plain.html --dump-dom >plain-dom.html
no_complaints
[ "$(grep -c '<svg [^>]*far-figure' plain-dom.html)" = 3 ]
grep -q '<pre class="command"' plain-dom.html
if grep -q '<button' plain-dom.html; then
    exit 1
fi
