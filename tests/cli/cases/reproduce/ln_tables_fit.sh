# On a usual window no column of a table is cut off, however long the words in it, and no number is
# broken into lines.
. "$SOURCE_DIR/tests/cli/browser.sh"
need_browser
"$FARFIELD" reproduce ln-theorems --quick -o out -q >claims
cat >fit.html <<'END'
<script>
addEventListener('load', function () {
  function all(selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); }
  function wider(e) { return e.scrollWidth > e.clientWidth + 1; }
  var tables = all('main>.scroll');
  function lines(td) {
    var range = document.createRange();
    range.selectNodeContents(td);
    return range.getClientRects().length;
  }
  var broken = all('td.n').filter(function (td) { return lines(td) > 1; });
  document.documentElement.setAttribute('data-probe', 'tables=' + tables.length +
    ' cut=' + tables.filter(wider).length + ' broken=' + broken.length +
    ' page=' + wider(document.documentElement));
});
</script>
END
probed out/report.html fit.html >probed.html
browse probed.html --dump-dom --window-size=1100,900 >dom.html
no_complaints
diff <(echo 'tables=5 cut=0 broken=0 page=false') \
    <(sed -n 's/.*data-probe="\([^"]*\)".*/\1/p' dom.html)
