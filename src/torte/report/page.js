"use strict";
// Tables sort by the column whose heading is clicked; a second click turns the order around.
const order = new Intl.Collator(undefined, { numeric: true });
for (const button of document.querySelectorAll("table.sortable th button")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th");
    const table = heading.closest("table");
    const position = [...heading.parentNode.children].indexOf(heading);
    const up = heading.getAttribute("aria-sort") !== "ascending";
    for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.children[position].dataset.value;
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      const [p, q] = [Number(x), Number(y)];
      const numbers = x !== "" && y !== "" && !Number.isNaN(p) && !Number.isNaN(q);
      return (up ? 1 : -1) * (numbers ? p - q : order.compare(x, y));
    });
    body.append(...rows);
  });
}
