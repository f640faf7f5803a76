"use strict";
// The reader's part of the dashboard: tabs, the table of runs, and parts that are asked for again as the stores fill.
// What is chosen stands in the address, so that Back undoes it and a link keeps it.
(() => {
  const tags = {};
  const state = () => new URLSearchParams(location.hash.slice(1));
  const sections = [...document.querySelectorAll("section[data-store]")];
  const tabOf = () => state().get("tab") || document.body.dataset.tab;

  function choose(changes, push = true, again = true) {
    const now = state();
    for (const [name, value] of Object.entries(changes)) value ? now.set(name, value) : now.delete(name);
    const address = `#${now}`;
    if (address === location.hash) return;
    push ? history.pushState(null, "", address) : history.replaceState(null, "", address);
    if (again) show();
  }

  async function fetched(url) {
    const answer = await fetch(url, { headers: tags[url] ? { "If-None-Match": tags[url] } : {}, cache: "no-store" });
    document.getElementById("age").textContent = "";
    if (answer.status !== 200) return null;
    tags[url] = answer.headers.get("Etag");
    return answer.text();
  }

  const silent = () => (document.getElementById("age").textContent = "The server does not answer; what is shown was there before.");

  async function renew(part, seconds) {
    for (const section of sections) {
      const place = section.querySelector(`.${part}`);
      try {
        const text = await fetched(`${part}/${section.dataset.store}`);
        if (text !== null) place.innerHTML = text;
      } catch {
        silent();
      }
    }
    setTimeout(renew, 1000 * seconds, part, seconds);
  }

  let asked = 0;

  async function runs(again = false) {
    const now = state();
    const turn = ++asked;
    for (const section of sections) {
      const number = section.dataset.store;
      const query = new URLSearchParams();
      for (const name of ["q", "state", "sort", "page", "columns"]) if (now.get(name + number)) query.set(name, now.get(name + number));
      const url = `runs/${number}?${query}`;
      const place = section.querySelector(".runs");
      if (!again) delete tags[url];
      try {
        const text = await fetched(url);
        if (text === null || turn !== asked) continue;
        const input = place.querySelector("input");
        const [typing, caret, value] = [document.activeElement === input && input, input?.selectionStart, input?.value];
        const open = place.querySelector("details")?.open;
        const ticked = document.activeElement?.name === "column" && place.contains(document.activeElement) && document.activeElement.value;
        place.innerHTML = text;
        if (open) place.querySelector("details").open = true;
        if (ticked) place.querySelector(`input[name=column][value="${CSS.escape(ticked)}"]`)?.focus();
        mark(section);
        if (typing) {
          const fresh = place.querySelector("input");
          fresh.value = value;
          fresh.focus();
          fresh.setSelectionRange(caret, caret);
        }
      } catch {
        silent();
      }
    }
  }

  const picksOf = (section) => (state().get(`pick${section.dataset.store}`) || "").split(".").filter(Boolean);

  // Two runs or more that were chosen, on whatever page of the table, are one link to a page that compares them.
  function mark(section) {
    const picks = picksOf(section);
    for (const box of section.querySelectorAll("input[name=pick]")) box.checked = picks.includes(box.value);
    const line = section.querySelector(".chosen");
    if (!line) return;
    line.hidden = picks.length === 0;
    const link = line.querySelector("a");
    const enough = picks.length > 1;
    link.textContent = enough ? `Compare the ${picks.length} chosen runs` : "One run is chosen; choose others to compare it with";
    const query = picks.map((id) => `run=${id}`).join("&");
    enough ? (link.href = `compare/${section.dataset.store}?${query}`) : link.removeAttribute("href");
  }

  function show() {
    const tab = tabOf();
    for (const panel of document.querySelectorAll("[data-panel]")) panel.hidden = panel.dataset.panel !== tab;
    for (const link of document.querySelectorAll("a[data-tab]")) link.setAttribute("aria-selected", link.dataset.tab === tab);
    if (tab === "runs") runs();
  }

  let typed;
  document.addEventListener("input", (event) => {
    const section = event.target.closest(".runs")?.closest("section");
    if (!section) return;
    if (event.target.name === "pick") {
      const others = picksOf(section).filter((id) => id !== event.target.value);
      const picks = event.target.checked ? [...others, event.target.value].slice(-8) : others;
      choose({ [`pick${section.dataset.store}`]: picks.join(".") }, false, false);
      mark(section);
      return;
    }
    if (event.target.name === "column") {
      const ticked = [...section.querySelectorAll("input[name=column]:checked")].map((box) => box.value);
      const others = (state().get(`columns${section.dataset.store}`) || "").split("\n").filter((metric) => ticked.includes(metric));
      const added = [...others, ...ticked.filter((metric) => !others.includes(metric))];
      // A column that goes would give its number to another.
      choose({ [`columns${section.dataset.store}`]: added.join("\n"), [`sort${section.dataset.store}`]: "" });
      return;
    }
    const name = event.target.name + section.dataset.store;
    clearTimeout(typed);
    typed = setTimeout(() => choose({ [name]: event.target.value, [`page${section.dataset.store}`]: "" }, event.target.name !== "q"), 200);
  });
  document.addEventListener("click", (event) => {
    const tab = event.target.closest("a[data-tab]");
    const section = event.target.closest("section[data-store]");
    const head = event.target.closest(".runs th[data-sort]");
    const turn = event.target.closest(".runs [data-page]");
    const report = event.target.closest("a.report");
    if (tab) {
      event.preventDefault();
      choose({ tab: tab.dataset.tab });
    } else if (head) {
      const before = head.getAttribute("aria-sort");
      const sort = before === "none" ? head.dataset.sort : before === "ascending" ? `-${head.dataset.sort}` : "";
      choose({ [`sort${section.dataset.store}`]: sort, [`page${section.dataset.store}`]: "" });
    } else if (turn) choose({ [`page${section.dataset.store}`]: turn.dataset.page });
    else if (event.target.closest(".chosen button")) {
      choose({ [`pick${section.dataset.store}`]: "" }, false, false);
      mark(section);
    } else if (report) report.textContent = "Making the report\u2026"; // seconds for a store of thousands of runs
  });
  // A candidate of tuning is lit in the picture and in the table at once.
  document.addEventListener("mouseover", (event) => {
    const one = event.target.closest("[data-candidate]");
    for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
    const same = one?.closest(".search").querySelectorAll(`[data-candidate="${one.dataset.candidate}"]`) || [];
    for (const part of same) part.classList.add("lit");
  });
  addEventListener("pageshow", () => document.querySelectorAll("a.report").forEach((link) => (link.textContent = "Report with all figures")));
  addEventListener("popstate", show);
  show();
  renew("live", 2);
  renew("overview", 20);
  renew("results", 20);
  renew("tuning", 20);
  renew("failures", 20);
  setInterval(() => tabOf() === "runs" && runs(true), 10000);
})();
