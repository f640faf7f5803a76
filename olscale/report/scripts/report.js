"use strict";
// The reader's part of a report: charts in place of pictures, legends that pick learners on the whole page, tables that sort and
// filter. What was chosen stands behind the "?" of the page's address, so that a link keeps it. Nothing is sent or fetched.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const [anchor, kept] = location.hash.slice(1).split("?");
  const chosen = new URLSearchParams(kept);
  const picked = new Set(chosen.getAll("show"));
  const drawn = []; // charts on the page: their figure, view, labels

  function keep() {
    const place = location.hash.slice(1).split("?")[0];
    const rest = chosen.toString();
    history.replaceState(null, "", place || rest ? `#${place}${rest && "?" + rest}` : location.pathname + location.search);
  }

  function remember(name, value) {
    value ? chosen.set(name, value) : chosen.delete(name);
    keep();
  }

  function make(tag, properties, ...inside) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...inside);
    return made;
  }

  // Charts

  const labelsOf = (spec) => [...new Set(spec.data.values.map((line) => line.learner))].filter((name) => name !== undefined);
  const shownOf = (labels) => labels.filter((label) => picked.has(label)); // none of a chart's own: all of them

  function pick(label) {
    picked.delete(label) || picked.add(label);
    chosen.delete("show");
    for (const one of picked) chosen.append("show", one);
    keep();
    for (const { view, labels } of drawn) if (labels.length) view.signal("picked", shownOf(labels)).runAsync();
    for (const button of document.querySelectorAll(".legend button")) press(button);
  }

  const press = (button) => button.setAttribute("aria-pressed", picked.has(button.value));

  // Returns the scales of learners in a specification, whose own legends are taken away: they do not fit a phone.
  function scalesOf(part, found = {}) {
    for (const [name, inside] of Object.entries(part)) {
      if (inside?.field === "learner" && inside.scale) {
        found[name] = inside.scale;
        inside.legend = null;
      } else if (inside && typeof inside === "object" && name !== "data") scalesOf(inside, found);
    }
    return found;
  }

  function legend({ color, strokeDash }) {
    const buttons = color.domain.map((label, i) => {
      const dash = strokeDash ? strokeDash.range[i].join(" ") : "";
      const button = make("button", { type: "button", value: label, onclick: () => pick(label) });
      const line = `<line x1="0" y1="5" x2="26" y2="5" stroke="${color.range[i]}" stroke-width="3" stroke-dasharray="${dash}"/>`;
      button.innerHTML = `<svg width="26" height="10" aria-hidden="true">${line}</svg>`;
      button.append(label);
      press(button);
      return button;
    });
    return make("div", { className: "legend", role: "group", ariaLabel: "Learners to show; all where none is pressed" }, ...buttons);
  }

  function look() {
    const [ink, faint] = dark.matches ? ["#e8e8e8", "#444"] : ["#222", "#ddd"];
    const text = { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" };
    const axis = { ...text, gridColor: faint, domainColor: ink, tickColor: ink, labelLimit: 130 };
    return { background: "transparent", font: "system-ui, sans-serif", axis, legend: text, view: { stroke: null } };
  }

  async function draw(figure) {
    const text = figure.querySelector("script").textContent;
    const specs = JSON.parse(text);
    const place = figure.querySelector(".charts");
    for (let i = drawn.length - 1; i >= 0; i--) if (drawn[i].figure === figure) drawn.splice(i, 1)[0].view.finalize();
    place.replaceChildren();
    figure.classList.add("drawn");
    try {
      const scales = specs.map((spec) => scalesOf(spec))[0];
      if (scales.color?.domain.length > 1) place.append(legend(scales));
      const boxes = specs.map(() => make("div"));
      place.append(make("div", { className: specs.length > 1 ? "beside" : "" }, ...boxes.map((box) => make("div", {}, box))));
      for (const [i, spec] of specs.entries()) {
        const labels = labelsOf(spec);
        const params = spec.params || [];
        const nameOf = (param) => `${param.name}-${figure.id}${i || ""}`;
        const initial = Object.fromEntries(params.map((param) => [param.name, param.value]));
        for (const param of params) {
          if (param.name === "picked") param.value = shownOf(labels);
          else if (chosen.has(nameOf(param))) {
            const value = chosen.get(nameOf(param));
            param.value = param.bind.input === "checkbox" ? value === "true" : value.slice(1);
          }
        }
        const actions = { export: true, source: false, compiled: false, editor: false };
        const tooltip = { theme: dark.matches ? "dark" : "light" };
        const { view } = await vegaEmbed(boxes[i], spec, { renderer: "svg", actions, tooltip, config: look() });
        for (const param of params.filter((param) => param.bind)) {
          view.addSignalListener(param.name, (_, value) => {
            const said = typeof value === "string" ? `.${value}` : String(value); // the empty choice is one, too
            remember(nameOf(param), value === initial[param.name] ? "" : said);
          });
        }
        drawn.push({ figure, view, labels });
      }
    } catch (fault) {
      figure.classList.remove("drawn"); // the picture stays
      console.error(fault);
    }
  }

  const near = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        draw(target);
      }
    },
    { rootMargin: "600px" },
  );
  for (const script of document.querySelectorAll("figure script")) near.observe(script.parentElement);
  dark.addEventListener("change", () => new Set(drawn.map((one) => one.figure)).forEach(draw));

  // Tables

  const figure = (text) => parseFloat(text.replace(/,/g, "").replace(/^[^\d.+-]+/, ""));

  function compare(a, b) {
    const [x, y] = [figure(a), figure(b)];
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1; // what is no figure comes last
    return Number.isNaN(x) ? a.localeCompare(b, "en", { numeric: true }) : x - y;
  }

  document.querySelectorAll("table").forEach((table, number) => {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 2) return;
    const heads = [...table.tHead.rows[0].cells];
    const texts = new Map(rows.map((row) => [row, [...row.cells].map((cell) => cell.textContent)]));
    let [column, down] = [-1, false];

    function sort() {
      heads.forEach((head, i) => head.setAttribute("aria-sort", i !== column ? "none" : down ? "descending" : "ascending"));
      const isText = (i) => heads[i].classList.contains("text") || i === 0;
      const of = (row) => texts.get(row)[column];
      const by = (a, b) => (isText(column) ? of(a).localeCompare(of(b), "en", { numeric: true }) : compare(of(a), of(b)));
      const known = (row) => isText(column) || !Number.isNaN(figure(of(row)));
      const order = column < 0 ? rows : [...rows].sort(by);
      const turned = down ? [...order.filter(known).reverse(), ...order.filter((row) => !known(row))] : order;
      table.tBodies[0].append(...turned);
    }

    heads.forEach((head, i) => {
      const button = make("button", { type: "button", title: "sort" }, ...head.childNodes);
      button.onclick = () => {
        [column, down] = column !== i ? [i, false] : down ? [-1, false] : [i, true];
        remember(`sort-t${number}`, column < 0 ? "" : `${down ? "-" : "+"}${column}`);
        sort();
      };
      head.append(button);
    });
    const before = chosen.get(`sort-t${number}`);
    if (before && +before.slice(1) < heads.length) {
      [column, down] = [+before.slice(1), before[0] === "-"];
      sort();
    }

    if (rows.length <= 12) return;
    const input = make("input", { type: "search", placeholder: "filter rows", ariaLabel: "filter rows of the table below" });
    const count = make("span", { className: "note", role: "status" });
    const filter = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = (row) => words.every((word) => texts.get(row).join(" ").toLowerCase().includes(word));
      for (const row of rows) row.hidden = !fits(row);
      const left = rows.filter((row) => !row.hidden).length;
      count.textContent = words.length ? ` ${left} of ${rows.length} rows` : "";
    };
    input.oninput = () => {
      filter();
      remember(`filter-t${number}`, input.value);
    };
    input.value = chosen.get(`filter-t${number}`) || "";
    filter();
    table.parentElement.before(make("div", { className: "filter" }, input, count));
  });

  addEventListener("hashchange", () => location.hash.includes("?") || keep()); // a link to a section keeps what was chosen
  if (anchor && kept !== undefined) document.getElementById(anchor)?.scrollIntoView();
})();
