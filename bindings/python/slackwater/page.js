"use strict";
for (const chart of document.querySelectorAll(".chart[data-values]")) {
  const data = JSON.parse(chart.dataset.values);
  const [left, right] = ["left", "right"].map((key) => Number(chart.dataset[key]));
  const tip = chart.querySelector(".tip");
  let shown = -1;
  const drawing = () => [...chart.querySelectorAll("svg")].find((svg) => svg.clientWidth > 0);
  const line = (parent, tag, text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    parent.append(element);
    return element;
  };
  const hide = () => {
    shown = -1;
    tip.hidden = true;
    chart.querySelectorAll(".cursor").forEach((each) => each.setAttribute("visibility", "hidden"));
  };
  const show = (slot) => {
    const svg = drawing();
    if (!svg || slot < 0 || slot >= data.edges.length) {
      hide();
      return;
    }
    shown = slot;
    const [start, end] = data.edges[slot];
    const width = svg.viewBox.baseVal.width;
    const at = left + ((start + end) / 2) * (width - left - right);
    const cursor = svg.querySelector(".cursor");
    cursor.setAttribute("transform", `translate(${at} 0)`);
    cursor.setAttribute("visibility", "visible");
    tip.replaceChildren();
    line(tip, "strong", data.times[slot]);
    for (const [name, ink, unit, values] of data.rows) {
      if (values[slot] === null) continue;
      const row = line(tip, "span", "");
      line(row, "i", name).className = "ink-" + ink;
      const digits = { maximumFractionDigits: unit.includes("/") ? 4 : 2 };
      line(row, "b", values[slot].toLocaleString("en", digits) + " " + unit);
    }
    const words = data.reasons.filter(([from, to]) => from < end && to > start);
    for (const [, , sentence] of words.slice(0, 3)) line(tip, "p", sentence);
    if (words.length > 3) line(tip, "p", `and ${words.length - 3} more reasons`);
    tip.hidden = false;
    const onLeft = at > width / 2;
    tip.style.left = onLeft ? "auto" : `${(at / width) * 100 + 1.5}%`;
    tip.style.right = onLeft ? `${100 - (at / width) * 100 + 1.5}%` : "auto";
  };
  chart.tabIndex = 0;
  chart.addEventListener("pointerleave", hide);
  chart.addEventListener("blur", hide);
  chart.addEventListener("pointermove", (event) => {
    const svg = drawing();
    if (!svg || event.target.closest(".tip")) return;
    const box = svg.getBoundingClientRect();
    const width = svg.viewBox.baseVal.width;
    const x = ((event.clientX - box.left) / box.width) * width;
    const share = (x - left) / (width - left - right);
    show(data.edges.findIndex(([start, end]) => start <= share && share < end));
  });
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(Math.min(Math.max(shown + step, 0), data.edges.length - 1));
  });
}
