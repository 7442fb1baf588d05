"use strict";
(() => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const numbers = (line, name) => (line.dataset[name] || "").split(" ").filter(Boolean);

  // -- views
  const tabs = all("[role=tab]");
  const show = (tab) => {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).classList.toggle("shown", chosen);
    }
  };
  document.body.classList.add("scripted");
  tabs.forEach((tab, k) => {
    tab.addEventListener("click", () => show(tab));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(k + step + tabs.length) % tabs.length];
      show(next);
      next.focus();
    });
  });
  show(tabs[0]);

  // -- lines that belong together
  const panes = all("#code .lines");
  const lines = panes.map((pane) => all(".line", pane));
  const chosen = panes.map(() => 0);
  const belongs = (one, other) => {
    const steps = numbers(one, "a");
    const others = numbers(other, "a");
    if (steps.length && others.length) return steps.some((k) => others.includes(k));
    const source = numbers(one, "s");
    return numbers(other, "s").some((k) => source.includes(k));
  };
  const light = (line, follow) => {
    lines.forEach((own, k) => {
      let first = null;
      for (const other of own) {
        const lit = other === line || belongs(line, other);
        other.classList.toggle("lit", lit);
        other.classList.toggle("at", other === line);
        other.setAttribute("aria-selected", String(lit));
        if (lit && !first) first = other;
      }
      if (first && (follow || !own.includes(line))) {
        const pane = panes[k];
        const top = first.offsetTop - pane.offsetTop;
        if (top < pane.scrollTop || top > pane.scrollTop + pane.clientHeight - 40) {
          pane.scrollTop = top - pane.clientHeight / 3;
        }
      }
    });
  };
  panes.forEach((pane, k) => {
    pane.addEventListener("mouseover", (event) => {
      const line = event.target.closest(".line");
      if (!line) return;
      chosen[k] = lines[k].indexOf(line);
      light(line, false);
    });
    pane.addEventListener("focus", () => light(lines[k][chosen[k]], true));
    pane.addEventListener("keydown", (event) => {
      const down = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      const aside = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (down) {
        chosen[k] = Math.max(0, Math.min(lines[k].length - 1, chosen[k] + down));
        light(lines[k][chosen[k]], true);
      } else if (aside) {
        const other = (k + aside + panes.length) % panes.length;
        const lit = lines[other].findIndex((line) => line.classList.contains("lit"));
        if (lit >= 0) chosen[other] = lit;
        panes[other].focus();
      } else {
        return;
      }
      event.preventDefault();
    });
  });

  // -- steps
  const steps = all("#steps .step");
  const visible = (step) => !step.parentElement.closest(".step:not([open])");
  const next = () => {
    const step = steps.find((one) => !one.open && visible(one));
    if (!step) return;
    step.open = true;
    step.querySelector("summary").focus();
    step.scrollIntoView({ block: "nearest" });
  };
  const back = () => {
    const open = steps.filter((one) => one.open);
    if (open.length) open[open.length - 1].open = false;
  };
  const set = (open) => steps.forEach((step) => { step.open = open; });
  const press = { next, back, all: () => set(true), none: () => set(false) };
  for (const [id, action] of Object.entries(press)) {
    document.getElementById(id).addEventListener("click", action);
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!document.getElementById("steps").classList.contains("shown")) return;
    const key = event.key.toLowerCase();
    if (key === "n") next();
    if (key === "p") back();
    const walk = { arrowdown: 1, arrowup: -1 }[key];
    if (!walk) return;
    const heads = steps.filter(visible).map((one) => one.querySelector("summary"));
    const at = heads.indexOf(document.activeElement);
    const target = heads[Math.max(0, Math.min(heads.length - 1, at + walk))];
    if (target) target.focus();
    event.preventDefault();
  });
})();
