// Names for the arrows of the section navigation, which the theme leaves without one.
for (const arrow of document.querySelectorAll("summary:has(.toctree-toggle)")) {
  const link = arrow.closest("li")?.querySelector("a");
  arrow.setAttribute("aria-label", `Pages below ${link ? link.textContent.trim() : "this one"}`);
}
