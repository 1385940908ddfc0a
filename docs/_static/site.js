// Names for the arrows of the section navigation, which the theme leaves without one.
for (const arrow of document.querySelectorAll("summary:has(.toctree-toggle)")) {
  const link = arrow.closest("li")?.querySelector("a");
  arrow.setAttribute("aria-label", `Pages below ${link ? link.textContent.trim() : "this one"}`);
}

// Tables, formulas and pictures that scroll sideways can be reached and scrolled with the keyboard.
function mark() {
  for (const box of document.querySelectorAll(".bd-article table, .bd-article .formula, .bd-article p:has(> img)")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
mark();
addEventListener("resize", mark);
