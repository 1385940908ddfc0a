// Shows a note while a submitted form is processed, and a warning if the server is gone.
const waits = () => document.querySelectorAll("[data-wait]");
addEventListener("submit", (event) => {
  const own = event.target.querySelector("[data-wait]");
  if (own) own.textContent = own.dataset.wait;
});
addEventListener("pageshow", () => waits().forEach((one) => (one.textContent = "")));
addEventListener("htmx:afterRequest", () => waits().forEach((one) => (one.textContent = "")));
const gone = (event) => (document.querySelector("#gone").hidden = event.type !== "htmx:sendError");
for (const name of ["htmx:sendError", "htmx:beforeOnLoad"]) addEventListener(name, gone);
