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

  const labelsOf = (spec) => [...new Set((spec.data?.values || []).map((line) => line.learner))].filter((name) => name !== undefined);
  const shownOf = (labels) => labels.filter((label) => picked.has(label)); // none of a chart's own: all of them

  function showPicked() {
    chosen.delete("show");
    for (const one of picked) chosen.append("show", one);
    keep();
    for (const { view, labels } of drawn) if (labels.length) view.signal("picked", shownOf(labels)).runAsync();
    for (const button of document.querySelectorAll(".legend button")) press(button);
  }

  function pick(label) {
    picked.delete(label) || picked.add(label);
    showPicked();
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

  const PATHS = {
    circle: "M-4,0A4,4,0,1,1,4,0A4,4,0,1,1,-4,0Z",
    square: "M-3.5,-3.5H3.5V3.5H-3.5Z",
    "triangle-up": "M0,-4.5L4.5,3.5H-4.5Z",
    "triangle-down": "M0,4.5L4.5,-3.5H-4.5Z",
    "triangle-left": "M-4.5,0L3.5,-4.5V4.5Z",
    "triangle-right": "M4.5,0L-3.5,-4.5V4.5Z",
    diamond: "M0,-5L4,0L0,5L-4,0Z",
    cross: "M-1.5,-4.5H1.5V-1.5H4.5V1.5H1.5V4.5H-1.5V1.5H-4.5V-1.5H-1.5Z",
  };

  function swatch(colour, dash, shape) {
    const mark = shape && `<path d="${PATHS[shape] || shape}" transform="translate(17 6)${PATHS[shape] ? "" : " scale(4.5)"}" fill="${colour}"/>`;
    return `<svg class="swatch" viewBox="0 0 34 12" aria-hidden="true"><path d="M0 6H34" stroke="${colour}" stroke-width="2.5" stroke-dasharray="${dash}"/>${mark || ""}</svg>`;
  }

  const lookOf = ({ color, strokeDash, shape }, i) => [color.range[i], strokeDash ? strokeDash.range[i].join(" ") : "", shape?.range[i]];

  function legend(scales) {
    const buttons = scales.color.domain.map((label, i) => {
      const button = make("button", { type: "button", value: label, onclick: () => pick(label) });
      button.innerHTML = swatch(...lookOf(scales, i));
      button.append(label);
      press(button);
      return button;
    });
    return make("div", { className: "legend", role: "group", ariaLabel: "Learners to show; all where none is pressed" }, ...buttons);
  }

  function look() {
    const [ink, faint] = dark.matches ? ["#a8adb5", "#3a3d42"] : ["#5a5f69", "#dcdfe4"];
    const text = { labelColor: ink, titleColor: ink, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" };
    const axis = { ...text, gridColor: faint, domain: false, ticks: false, labelPadding: 6, labelLimit: 130 };
    return { background: "transparent", font: "system-ui, sans-serif", axis, legend: text, view: { stroke: null }, text: { fontSize: 12 } };
  }

  // Turns axes of a specification into logarithmic ones; what is not positive has no place there.
  function logarithmic(spec, axes) {
    const visit = (part) => {
      if (!part || typeof part !== "object") return;
      for (const axis of axes) {
        const channel = part.encoding?.[axis];
        if (channel?.type === "quantitative") channel.scale = { type: "log", nice: axis === "y" };
      }
      (part.layer || []).forEach(visit);
    };
    visit(spec);
    const positive = { x: "datum.rows > 0", y: "datum.shown > 0" };
    spec.transform.push(...axes.map((axis) => ({ filter: positive[axis] })));
    if (axes.includes("y")) spec.layer = spec.layer.filter((one) => one.mark.type !== "area" && one.encoding.y?.field !== "height");
    return spec;
  }

  // Rules are lines that guide the eye: they have no words for those who hear a page.
  function silence(part) {
    if (!part || typeof part !== "object") return;
    if (part.mark === "rule") part.mark = { type: "rule" };
    if (part.mark?.type === "rule") part.mark.aria = false;
    (part.layer || []).forEach(silence);
  }

  const NARROW = 640; // pixels below which the ends of lines have no names

  const isCurve = (spec) => spec.layer?.some((one) => one.params?.some((param) => param.name === "near"));

  // One tooltip for all learners at a row, the best first, in place of one for each point.
  const tip = document.body.appendChild(make("div", { className: "tip", hidden: true }));

  function tell(spec, scales, view, event, row) {
    const shared = spec.transform[0].as === "rows" ? JSON.parse(spec.transform[0].calculate) : null;
    const at = (line) => {
      const rows = line.rows || shared;
      const i = rows.findIndex((one) => one >= row);
      return line.value[i < 0 ? rows.length - 1 : i];
    };
    const lines = spec.data.values;
    const signal = (name) => (spec.params.some((param) => param.name === name) ? view.signal(name) : undefined);
    const base = lines.find((line) => line.learner === signal("baseline"));
    const of = lines
      .filter((line) => !picked.size || !shownOf(labelsOf(spec)).length || picked.has(line.learner))
      .map((line) => ({ line, value: at(line) - (base ? at(base) : 0) }))
      .filter(({ value }) => Number.isFinite(value))
      .sort((a, b) => a.value - b.value)
      .slice(0, 14);
    const table = make("table");
    for (const { line, value } of of) {
      const cells = table.insertRow();
      const name = cells.insertCell();
      name.innerHTML = swatch(...lookOf(scales, scales.color.domain.indexOf(line.learner)));
      name.append(line.learner);
      name.style.textAlign = "left";
      cells.insertCell().textContent = (base && value > 0 ? "+" : "") + value.toPrecision(4).replace(/\.?0+$/, "");
    }
    const set = event.target?.closest?.("section")?.dataset.set;
    tip.replaceChildren(make("b", {}, `${set ? set + ", " : ""}row ${row.toLocaleString("en")}`), table);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, event.clientX + 16 + width > innerWidth ? event.clientX - width - 16 : event.clientX + 16)}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY - height / 2, innerHeight - height - 4))}px`;
  }

  const asCsv = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  function saveText(text, name) {
    const link = make("a", { download: `${name}.csv`, href: URL.createObjectURL(new Blob([text], { type: "text/csv" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // The figures of charts as CSV: a line for each point; a chart's rows stand once for all its learners.
  function csvOf(specs) {
    const lines = [];
    for (const spec of specs) {
      const shared = spec.transform?.[0]?.as === "rows" ? { rows: JSON.parse(spec.transform[0].calculate) } : {};
      for (const { band, ...one } of spec.data?.values || []) {
        const all = Object.entries({ ...one, ...shared });
        const length = Math.max(1, ...all.map(([, value]) => (Array.isArray(value) ? value.length : 1)));
        for (let i = 0; i < length; i++) {
          const line = Object.fromEntries(all.map(([key, value]) => [key, Array.isArray(value) ? value[i] : value]));
          // A band has fewer points than its line.
          const { rows, ...edges } = band || { rows: [] };
          const at = rows.indexOf(line.rows);
          if (at >= 0) for (const [key, value] of Object.entries(edges)) line[key] = value[at];
          lines.push(line);
        }
      }
    }
    const names = [...new Set(lines.flatMap(Object.keys))];
    return [names, ...lines.map((line) => names.map((name) => line[name] ?? ""))].map((cells) => cells.map((cell) => asCsv(String(cell))).join(",")).join("\n");
  }

  async function draw(figure) {
    const text = figure.querySelector("script").textContent;
    const place = figure.querySelector(".charts");
    for (let i = drawn.length - 1; i >= 0; i--) if (drawn[i].figure === figure) drawn.splice(i, 1)[0].view.finalize();
    const specs = JSON.parse(text);
    const parts = [];
    try {
      const scales = specs.map((spec) => scalesOf(spec))[0];
      if (scales.color?.domain.length > 1) parts.push(legend(scales));
      const bind = make("div", { className: "binds" }); // vega-embed empties it
      const controls = make("div", { className: "controls" }, bind);
      parts.push(controls);
      const logs = ["y", "x"].filter((axis) => chosen.get(`log-${axis}-${figure.id}`));
      if (specs.every(isCurve)) {
        for (const [axis, words] of [["y", "log scale"], ["x", "log rows"]]) {
          const box = make("input", { type: "checkbox", checked: logs.includes(axis) });
          box.onchange = () => (remember(`log-${axis}-${figure.id}`, box.checked ? "1" : ""), draw(figure));
          controls.append(make("label", {}, `${words} `, box));
        }
      }
      const data = make("button", { type: "button", title: "save the figures of this chart as CSV" }, "data");
      data.onclick = () => saveText(csvOf(JSON.parse(text)), figure.id || "figure");
      controls.append(data);
      const boxes = specs.map(() => make("div"));
      parts.push(make("div", { className: specs.length > 1 ? "beside" : "" }, ...boxes.map((box) => make("div", {}, box))));
      place.replaceChildren(...parts);
      specs.forEach(silence);
      for (const [i, spec] of specs.entries()) {
        const labels = labelsOf(spec);
        const params = spec.params || [];
        const nameOf = (param) => `${param.name}-${figure.id}${i || ""}`;
        const initial = Object.fromEntries(params.map((param) => [param.name, param.value]));
        for (const param of params) {
          if (param.name === "picked") param.value = shownOf(labels);
          else if (param.name === "ink") param.value = look().axis.labelColor;
          else if (param.name === "narrow") param.value = boxes[i].clientWidth < NARROW;
          else if (chosen.has(nameOf(param))) {
            const value = chosen.get(nameOf(param));
            param.value = param.bind.input === "checkbox" ? value === "true" : value.slice(1);
          }
        }
        const actions = { export: true, source: false, compiled: false, editor: false };
        const curve = isCurve(spec);
        let view;
        const tooltip = curve
          ? (_, event, item, value) => {
              const { rows } = item?.datum?.datum || item?.datum || {}; // a cell around the nearest point holds that
              value == null || rows === undefined || value.learner ? (tip.hidden = true) : tell(spec, scales, view, event, rows);
            }
          : { theme: dark.matches ? "dark" : "light" };
        const shown = logs.length && curve ? logarithmic(structuredClone(spec), logs) : spec;
        ({ view } = await vegaEmbed(boxes[i], shown, { renderer: "svg", actions, tooltip, config: look(), bind }));
        if (curve) boxes[i].title = "shift and wheel zoom, dragging moves, a double click shows all";
        for (const param of params.filter((param) => param.bind)) {
          view.addSignalListener(param.name, (_, value) => {
            const said = typeof value === "string" ? `.${value}` : String(value); // the empty choice is one, too
            remember(nameOf(param), value === initial[param.name] ? "" : said);
          });
        }
        drawn.push({ figure, view, labels });
      }
    } catch (fault) {
      figure.classList.add("broken"); // the picture is shown
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
      head.onclick = () => {
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

    const lines = () => [heads, ...[...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => [...row.cells])];
    const written = (between, quoted) => lines().map((cells) => cells.map((cell) => quoted(cell.textContent.trim())).join(between)).join("\n");
    const copy = make("button", { type: "button", title: "copy the table, for a spreadsheet" }, "copy");
    copy.onclick = async () => {
      await navigator.clipboard.writeText(written("\t", (text) => text));
      copy.textContent = "copied";
      setTimeout(() => (copy.textContent = "copy"), 1500);
    };
    const save = make("button", { type: "button", title: "save the table as CSV" }, "CSV");
    save.onclick = () => {
      const name = (table.caption?.textContent.trim() || "table").replace(/[^\w.-]+/g, "-").slice(0, 80);
      saveText(written(",", asCsv), name);
    };
    if (rows.length > 4) table.parentElement.after(make("div", { className: "tools after" }, copy, save));
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
    table.parentElement.before(make("div", { className: "tools" }, input, count));
  });

  // The page: what is shown of it, two learners side by side, and the contents that follow.

  const sets = [...document.querySelectorAll("section[data-set]")];
  const topics = [...new Set([...document.querySelectorAll("[data-topic]")].map((one) => one.dataset.topic))];
  const bar = make("div", { className: "bar" });

  function narrow() {
    const words = (chosen.get("set") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const topic = chosen.get("topic") || "";
    for (const set of sets) set.hidden = !words.every((word) => set.dataset.set.toLowerCase().includes(word));
    for (const one of document.querySelectorAll("[data-topic]")) one.hidden = topic !== "" && one.dataset.topic !== topic;
    for (const link of document.querySelectorAll(".contents a")) {
      const section = document.getElementById(link.hash.slice(1));
      if (section?.dataset.set && !link.nextElementSibling) link.parentElement.hidden = section.hidden;
    }
  }

  function menu(words, options, value, change) {
    const select = make("select", { ariaLabel: words }, ...options.map(([key, text]) => make("option", { value: key }, text)));
    select.value = value;
    select.onchange = () => change(select.value);
    bar.append(make("label", {}, words, select));
    return select;
  }

  if (sets.length > 1) {
    const input = make("input", { type: "search", placeholder: "all", ariaLabel: "data sets to show", value: chosen.get("set") || "" });
    input.oninput = () => (remember("set", input.value), narrow());
    bar.append(make("label", {}, "data sets", input));
  }
  if (topics.length > 1) {
    const change = (value) => (remember("topic", value), narrow());
    menu("measure", [["", "all"], ...topics.map((one) => [one, one])], chosen.get("topic") || "", change);
  }

  const data = JSON.parse(document.getElementById("comparison")?.textContent || "null");
  if (data && data.learners.length > 1) {
    const panel = make("div", { className: "pinned", role: "status" });
    const options = [["", "none"], ...data.learners.map((one) => [one, one])];
    const pin = () => {
      const [one, other] = ["pin", "with"].map((name) => data.learners.indexOf(chosen.get(name) || ""));
      panel.replaceChildren();
      if (one < 0 || other < 0 || one === other) return;
      const line = (cells, tag) => make("tr", {}, ...cells.map((text, i) => make(i ? tag : "th", i ? {} : { scope: tag === "th" ? "col" : "row", className: "text" }, text)));
      const tableOf = (head, rows) => make("div", { className: "wide" }, make("table", {}, make("thead", {}, line(head, "th")), make("tbody", {}, ...rows.map((row) => line(row, "td")))));
      const figures = data.datasets.map((set, i) => {
        const [x, y] = [one, other].map((k) => data.values[k][i]);
        const difference = parseFloat(x.replace(/,/g, "")) - parseFloat(y.replace(/,/g, ""));
        return [set, x, y, (difference > 0 ? "+" : "") + difference.toPrecision(3)];
      });
      const names = [data.learners[one], data.learners[other]];
      panel.append(tableOf([data.metric, ...names, "difference"], figures));
      // A pair stands once, in either order.
      const tests = data.mcnemar.flatMap(({ where, pairs }) => pairs.flatMap(([a, b, first, second, p]) => {
        if (a === one && b === other) return [[where, first, second, p]];
        return a === other && b === one ? [[where, second, first, p]] : [];
      }));
      if (tests.length) {
        panel.append(tableOf(["McNemar's test on rows of", ...names.map((name) => `only ${name} right`), "corrected p"], tests));
        for (const note of new Set(data.mcnemar.map((test) => test.note))) panel.append(make("p", { className: "note" }, note));
      }
      panel.append(make("p", { className: "note" }, "The charts show these two; \u201ccompare with\u201d above a chart shows the difference along the stream."));
    };
    const choose = (name) => (value) => {
      remember(name, value);
      picked.clear();
      const both = [chosen.get("pin"), chosen.get("with")].filter(Boolean);
      if (both.length === 2) both.forEach((one) => picked.add(one));
      showPicked();
      pin();
    };
    menu("pin", options, chosen.get("pin") || "", choose("pin"));
    menu("beside", options, chosen.get("with") || "", choose("with"));
    pin();
    document.querySelector("main header").after(bar, panel);
  } else if (bar.childElementCount) document.querySelector("main header").after(bar);
  narrow();

  const links = new Map([...document.querySelectorAll(".contents li a")].map((link) => [link.hash.slice(1), link]));
  const follow = () => {
    const sections = [...document.querySelectorAll("main section:not([hidden])")];
    const here = sections.findLast((one) => one.getBoundingClientRect().top < 160) || sections[0];
    for (const [id, link] of links) id === here?.id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  };
  addEventListener("scroll", () => requestAnimationFrame(follow), { passive: true });
  follow();
  const contents = document.querySelector(".contents details");
  if (contents && innerWidth < 1200) contents.open = false;

  addEventListener("hashchange", () => location.hash.includes("?") || keep()); // a link to a section keeps what was chosen
  if (anchor && kept !== undefined) document.getElementById(anchor)?.scrollIntoView();
})();
