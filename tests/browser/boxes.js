// What a reader could not read on the page as it is laid out now: texts that cover each other, that are cut off, or
// that make the page wider than the window. Returns sentences; none if all is well.
() => {
  const faults = [];
  const SLACK = 1.5; // pixels by which boxes of neighbouring lines may meet
  const shortened = (text) => (text.length > 40 ? text.slice(0, 39) + "…" : text);
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth)
    faults.push(`the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth}`);

  const isHidden = (element) => {
    if (!element.checkVisibility()) return true; // such as what is folded in <details>
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.display === "none" || style.visibility === "hidden" || Number(style.opacity) === 0) return true;
      // text for screen readers alone is clipped to a pixel on purpose
      if (style.position === "absolute" && each.clientWidth <= 1 && each.clientHeight <= 1) return true;
    }
    return false;
  };
  // Of a text that runs across, the box around it says nothing of where its letters are.
  const slants = (element) => {
    const matrix = element.closest("svg") ? element.getCTM?.() : null;
    return matrix && Math.min(Math.abs(matrix.a), Math.abs(matrix.b)) > 0.05;
  };
  const scrolls = (value) => value === "auto" || value === "scroll";
  const outside = (box, frame, x, y) =>
    (x && (box.left < frame.left - SLACK || box.right > frame.right + SLACK)) ||
    (y && (box.top < frame.top - SLACK || box.bottom > frame.bottom + SLACK));

  // The text is cut by an ancestor that hides what overflows; in one that scrolls it can be reached.
  const cutBy = (element, box) => {
    for (let each = element; each && each !== document.body; each = each.parentElement) {
      const style = getComputedStyle(each);
      const frame = each.getBoundingClientRect();
      if (each.tagName.toLowerCase() === "svg" && !(each.parentElement instanceof SVGElement)) {
        if (style.overflow !== "visible" && outside(box, frame, true, true)) return each;
        continue;
      }
      if (each instanceof SVGElement) continue;
      const x = style.overflowX !== "visible" && !scrolls(style.overflowX);
      const y = style.overflowY !== "visible" && !scrolls(style.overflowY);
      if ((x || y) && outside(box, frame, x, y)) return each;
      if (scrolls(style.overflowX)) return null;
    }
    return box.right > root.clientWidth + SLACK || box.left < -SLACK ? root : null;
  };

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest("script, style, title, desc, noscript, option") || isHidden(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const size = parseFloat(getComputedStyle(element).fontSize);
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      // a line's box is higher than its letters, which end some way inside it
      const inset = Math.max(0, (box.height - size) / 2) + 0.12 * size * (box.height / size > 0 ? 1 : 0);
      const ink = { left: box.left, right: box.right, top: box.top + inset, bottom: box.bottom - inset };
      const frame = cutBy(element, box);
      if (frame) faults.push(`"${shortened(node.data.trim())}" is cut off by <${frame.tagName.toLowerCase()}>`);
      if (!slants(element)) texts.push({ node, ink });
    }
    const drawn = element.closest("svg") ? element.getBoundingClientRect().height : 99;
    if (drawn < 8) faults.push(`"${shortened(node.data.trim())}" is ${drawn.toFixed(1)} px high`);
  }

  texts.sort((a, b) => a.ink.top - b.ink.top);
  for (let i = 0; i < texts.length; i++)
    for (let k = i + 1; k < texts.length && texts[k].ink.top < texts[i].ink.bottom - SLACK; k++) {
      const [a, b] = [texts[i], texts[k]];
      const across = Math.min(a.ink.right, b.ink.right) - Math.max(a.ink.left, b.ink.left);
      const down = Math.min(a.ink.bottom, b.ink.bottom) - Math.max(a.ink.top, b.ink.top);
      if (a.node !== b.node && across > SLACK && down > SLACK)
        faults.push(`"${shortened(a.node.data.trim())}" and "${shortened(b.node.data.trim())}" cover each other`);
    }
  return [...new Set(faults)];
}
