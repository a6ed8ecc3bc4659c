// Search: hide results without all the words that the reader types. The page works without it.
const field = document.getElementById("search");
const rows = [...document.querySelectorAll("tr[data-verdict]")].map((row) => {
  const article = document.getElementById(row.querySelector("a").hash.slice(1)).closest("article");
  return { row, article, text: (row.textContent + " " + article.textContent).toLowerCase() };
});
field.parentElement.hidden = false;
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const { row, article, text } of rows) {
    const found = words.every((word) => text.includes(word));
    row.classList.toggle("missing", !found);
    article.classList.toggle("missing", !found);
    count += found ? 1 : 0;
  }
  document.getElementById("matches").textContent = words.length ? `${count} found` : "";
});
