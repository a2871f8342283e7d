"use strict";
(() => {
  // Numbers in cells, such as "0.97 ±0.01", "1,199", "<0.001" and "12%"; others are sorted last in both directions.
  const number = (text) => {
    const found = text.replace(/,/g, "").replace(/\u2212/g, "-").match(/^[<>~]?\s*(-?\d+\.?\d*(?:e[-+]?\d+)?)/i);
    return found ? parseFloat(found[1]) : NaN;
  };
  const sort = (table, column, rising) => {
    const body = table.tBodies[0], rows = [...body.rows];
    const text = (row) => row.cells[column].textContent.trim();
    const figures = table.tHead.rows[0].cells[column].classList.contains("figure");
    rows.sort((a, b) => {
      const [x, y] = figures ? [number(text(a)), number(text(b))] : [text(a), text(b)];
      if (figures && (isNaN(x) || isNaN(y))) return isNaN(x) - isNaN(y);
      const order = figures ? x - y : x.localeCompare(y);
      return rising ? order : -order;
    });
    body.append(...rows);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      const hint = button.querySelector("[data-tip]");
      if (hint) { button.dataset.tip = hint.dataset.tip; delete hint.dataset.tip; }
      head.append(button);
      button.addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        sort(table, column, rising);
      });
    });
  }

  // One tooltip for all elements: of the one that is pointed at or focused, until Escape.
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby"); };
  const show = (event) => {
    const target = event.target.closest?.("[data-tip]");
    hide();
    if (!target) return;
    tip.textContent = target.dataset.tip;
    tip.hidden = false;
    if (event.type === "focusin") target.setAttribute("aria-describedby", "tip");
    const box = target.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, document.documentElement.clientWidth - own.width - 8));
    const above = box.top - own.height - 6;
    tip.style.left = left + window.scrollX + "px";
    tip.style.top = (above > 0 ? above : box.bottom + 6) + window.scrollY + "px";
  };
  document.addEventListener("pointerover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  // A model that is hidden here is hidden in every table and picture.
  const choices = document.querySelector(".choices");
  if (choices) {
    choices.hidden = false;
    const boxes = [...choices.querySelectorAll("input")];
    const apply = () => {
      const off = new Set(boxes.filter((box) => !box.checked).map((box) => box.value));
      for (const each of document.querySelectorAll("[data-key]")) each.toggleAttribute("hidden", off.has(each.dataset.key));
      const left = boxes.length - off.size;
      choices.querySelector(".chosen").textContent = off.size ? `${left} of ${boxes.length}` : `all ${boxes.length}`;
    };
    choices.addEventListener("change", apply);
    choices.addEventListener("click", (event) => {
      const which = event.target.dataset?.choose;
      if (!which) return;
      boxes.forEach((box, i) => { box.checked = which === "all" || (which === "first" && i < 5); });
      apply();
    });
    apply();
  }
})();
