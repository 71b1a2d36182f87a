"use strict";
// Draws graphs from the data island when they are opened, some rows at a time, and filters what is on the page. Text is
// set as text only.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const OLD = 0, NEW = 1, OLD_AT = 2, NEW_AT = 3, MARK = 4, DEPTH = 5, AFTER = 6, CHANGES = 7;
  const MARKS = ["same", "changed", "added", "removed"], SIGNS = [" ", "~", "+", "−"];
  const BADNESS = ["identical", "harmless", "updatable", "undetermined", "rejected", "stale"];
  const CHUNK = 200, CONTEXT = 3;
  const local = new Set(data.local);
  const form = document.getElementById("filter");

  function make(tag, name, ...parts) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    made.append(...parts.filter((part) => part !== "" && part !== null));
    return made;
  }
  const badge = (verdict) => make("span", `badge ${verdict}`, verdict);

  // What nodes say.
  const type = (node) => node[0];
  const isKernel = (node) => node[2] >= 0;
  const subject = (node) => (isKernel(node) ? data.functions[node[2]][0] : node[1]);
  const launch = (node) => (isKernel(node) ? `<<<${node[4]}, ${node[5]}, ${node[6]} B>>>` : "");
  function fields(node) {
    const found = new Map([["type", type(node)]]);
    if (!isKernel(node)) {
      for (const [name, value] of node[4]) found.set(name, value);
      return found;
    }
    for (const [name, value] of data.functions[node[2]][1]) found.set(name, value);
    found.set("grid_dim", node[4]).set("block_dim", node[5]).set("dynamic_shared_mem_bytes", `${node[6]} B`);
    for (const [name, value] of data.attributes[node[3]]) found.set(`attributes[${name}]`, value);
    for (const [name, value] of node[7] || []) found.set(name, value);
    return found;
  }
  const names = new Map();
  function nameOf(number) {
    if (number < 0) return "";
    if (!names.has(number)) {
      const node = data.nodes[number];
      const whole = isKernel(node) ? data.functions[node[2]][1].slice(0, 2).map((pair) => pair[1]).join(" ") : "";
      names.set(number, `${type(node)} ${subject(node)} ${whole}`.toLowerCase());
    }
    return names.get(number);
  }

  // The filter.
  function chosen() {
    if (!form) return { verdicts: null, rule: "", name: "", all: true };
    const boxes = [...form.querySelectorAll("[name=verdict]")];
    return {
      verdicts: boxes.every((box) => box.checked) ? null : new Set(boxes.filter((b) => b.checked).map((b) => b.value)),
      rule: form.elements.rule ? form.elements.rule.value : "",
      name: form.elements.name.value.trim().toLowerCase(),
      all: form.elements.all ? form.elements.all.checked : true,
    };
  }
  const isSet = (filter) => filter.verdicts !== null || filter.rule !== "" || filter.name !== "";
  function findingFits(filter, finding) {
    return (filter.verdicts === null || filter.verdicts.has(finding.verdict)) &&
      (filter.rule === "" || filter.rule === finding.rule);
  }
  function rowFits(filter, graph, row) {
    if (filter.verdicts !== null || filter.rule !== "") {
      if (!row[CHANGES].some((number) => findingFits(filter, graph.findings[number]))) return false;
    }
    return filter.name === "" || nameOf(row[OLD]).includes(filter.name) || nameOf(row[NEW]).includes(filter.name) ||
      graph.label.toLowerCase().includes(filter.name);
  }

  // What there is to draw of a graph: rows, folds of repeated rows, and gaps between changes.
  function* items(graph, filter) {
    if (isSet(filter)) {
      for (let number = 0; number < graph.rows.length; number++) {
        if (rowFits(filter, graph, graph.rows[number])) yield { row: number };
      }
      return;
    }
    const flat = [];
    for (const [start, length, count, tail] of graph.blocks) {
      if (count > 1) flat.push({ fold: [start, length, count, tail] });
      const unfolded = count > 1 && graph.open && graph.open.has(start);
      const end = unfolded ? start + length * count + tail : start + length;
      for (let number = start; number < end; number++) flat.push({ row: number });
    }
    if (filter.all || data.kind !== "diff") {
      yield* flat;
      return;
    }
    const near = new Uint8Array(flat.length);
    flat.forEach((item, at) => {
      if (item.fold || graph.rows[item.row][MARK] === 0) return;
      near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
    });
    let left = 0;
    for (let at = 0; at < flat.length; at++) {
      const fold = flat[at].fold;
      if (fold ? near.subarray(at + 1, at + 1 + fold[1]).some(Boolean) : near[at]) {
        if (left) yield { gap: left };
        left = 0;
        yield flat[at];
      } else if (!fold) left++;
      else if (!(graph.open && graph.open.has(fold[0]))) left += fold[1] * (fold[2] - 1) + fold[3];
    }
    if (left) yield { gap: left };
  }

  function side(node, at, after, name) {
    if (node < 0) return make("span", name);
    const record = data.nodes[node];
    return make("span", name, make("span", "at", at), `${subject(record)} `,
      make("span", "launch", isKernel(record) ? launch(record) : type(record), after ? ` [after ${after}]` : ""));
  }
  function drawRow(graph, number) {
    const row = graph.rows[number];
    const after = data.texts[row[AFTER]];
    const cells = [make("span", "sign", SIGNS[row[MARK]])];
    if (data.kind === "diff") {
      const verdicts = row[CHANGES].map((change) => graph.findings[change].verdict);
      const worst = verdicts.sort((a, b) => BADNESS.indexOf(b) - BADNESS.indexOf(a))[0];
      cells.push(side(row[OLD], row[OLD_AT], "", "old"), side(row[NEW], row[NEW_AT], after, "new"));
      cells.push(worst ? badge(worst) : make("span", ""));
    } else cells.push(side(row[NEW], row[NEW_AT], after, "new"));
    const button = make("button", `row ${MARKS[row[MARK]]} depth${Math.min(row[DEPTH], 3)}`, ...cells);
    button.type = "button";
    button.dataset.row = number;
    button.addEventListener("click", () => detail(graph, number));
    return make("li", "", button);
  }
  function drawFold(graph, [start, length, count, tail], redraw) {
    const last = graph.rows[start + length * count + tail - 1];
    const open = graph.open && graph.open.has(start);
    const nodes = length === 1 ? "this node" : `these ${length} nodes`;
    const cut = tail ? `, the last time the first ${tail}` : "";
    const button = make("button", "unfold", open ? "fold" : "unfold");
    button.type = "button";
    button.setAttribute("aria-expanded", String(Boolean(open)));
    button.addEventListener("click", () => {
      graph.open = graph.open || new Set();
      if (!graph.open.delete(start)) graph.open.add(start);
      redraw(start);
    });
    return make("li", "fold", `${count + (tail > 0)} × ${nodes}, up to ${last[NEW_AT] || last[OLD_AT]}${cut} `, button);
  }

  function draw(details, focus) {
    const graph = data.graphs[details.dataset.graph];
    const filter = chosen();
    const place = details.querySelector(".drawing");
    place.classList.toggle("show", data.kind !== "diff");
    if (graph.rows.length < graph.total) {
      place.replaceChildren(make("p", "note", `${graph.total} nodes are more than a page can draw; use the text form`));
      return;
    }
    const list = make("ol", "rows");
    const more = make("button", "more", "show more");
    more.type = "button";
    const source = items(graph, filter);
    const redraw = (start) => draw(details, start);
    let drawn = 0;
    function next() {
      const part = document.createDocumentFragment();
      let step = { done: false };
      for (let left = CHUNK; left > 0; left--) {
        step = source.next();
        if (step.done) break;
        const item = step.value;
        drawn++;
        if (item.fold) part.append(drawFold(graph, item.fold, redraw));
        else if (item.gap) part.append(make("li", "fold", `… ${item.gap} unchanged node${item.gap > 1 ? "s" : ""}`));
        else part.append(drawRow(graph, item.row));
      }
      list.append(part);
      more.hidden = step.done;
      if (!drawn) list.append(make("li", "fold", "no node fits the filter"));
    }
    next();
    more.addEventListener("click", next);
    if ("IntersectionObserver" in window) {
      new IntersectionObserver((seen) => { if (seen[0].isIntersecting && !more.hidden) next(); }).observe(more);
    }
    place.replaceChildren(list, more);
    if (focus !== undefined) {
      const target = list.querySelector(`[data-row="${focus}"]`);
      if (target) target.focus();
    }
  }

  // The detail of a node.
  const dialog = document.body.appendChild(make("dialog", ""));
  function detail(graph, number) {
    const row = graph.rows[number];
    const sides = [row[OLD], row[NEW]].map((node) => (node < 0 ? null : fields(data.nodes[node])));
    const both = data.kind === "diff";
    const close = make("button", "close", "close");
    close.addEventListener("click", () => dialog.close());
    const title = make("h2", "", `${graph.label}: node ${row[NEW_AT] || row[OLD_AT]}`);
    const told = row[CHANGES].map((change) => {
      const finding = graph.findings[change];
      return make("li", "", badge(finding.verdict), ` ${finding.words} `,
        make("code", "", finding.rule), ` (${finding.evidence})`);
    });
    const heads = both ? ["field", "old", "new"] : ["field", "value"];
    const head = make("tr", "", ...heads.map((text) => make("th", "", text)));
    const keys = [...new Set(sides.flatMap((side) => (side ? [...side.keys()] : [])))];
    const valuesOf = (key) => sides.map((side) => (side && side.has(key) ? side.get(key) : ""));
    // A handle or an address is a number of its process: another one in another process is no difference.
    const isLocal = (key) => !graph.exact && local.has(key.split(".").pop());
    const differs = (key) => both && sides[0] && sides[1] && !isLocal(key) && valuesOf(key)[0] !== valuesOf(key)[1];
    const ordered = [...keys.filter(differs), ...keys.filter((key) => !differs(key))];
    const lines = ordered.map((key) => {
      const [old, now] = valuesOf(key);
      const line = make("tr", differs(key) ? "differs" : isLocal(key) ? "local" : "", make("td", "", key));
      if (both) line.append(make("td", "", old));
      line.append(make("td", "", now));
      return line;
    });
    dialog.setAttribute("aria-label", title.textContent);
    dialog.replaceChildren(close, title, make("ul", "findings", ...told),
      make("table", "", make("thead", "", head), make("tbody", "", ...lines)));
    dialog.showModal();
    dialog.scrollTop = 0;
  }

  function apply() {
    const filter = chosen();
    let shown = 0, of = 0;
    for (const row of document.querySelectorAll("tr[data-text]")) {
      const rules = (row.dataset.rules || "").split(" ");
      // A row without a verdict is filtered by its text alone.
      const verdict = filter.verdicts === null || !row.dataset.verdict || filter.verdicts.has(row.dataset.verdict);
      const rule = filter.rule === "" || !row.dataset.verdict || rules.includes(filter.rule);
      row.hidden = !(verdict && rule && row.dataset.text.includes(filter.name));
      of++;
      if (!row.hidden) shown++;
    }
    for (const details of document.querySelectorAll("details.graph")) {
      const graph = data.graphs[details.dataset.graph];
      details.hidden = isSet(filter) && !graph.rows.some((row) => rowFits(filter, graph, row));
      if (details.open) draw(details);
    }
    if (form) form.querySelector("output").textContent = of ? `${shown} of ${of} rows` : "";
  }

  for (const details of document.querySelectorAll("details.graph")) {
    details.addEventListener("toggle", () => { if (details.open && !details.querySelector(".rows")) draw(details); });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("button.link[data-graph]");
    if (link) detail(data.graphs[link.dataset.graph], Number(link.dataset.row));
  });
  document.addEventListener("keydown", (event) => {
    if (!event.target.classList || !event.target.classList.contains("row")) return;
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (!step) return;
    const all = [...event.target.closest("ol").querySelectorAll("button.row")];
    const next = all[all.indexOf(event.target) + step];
    if (next) { event.preventDefault(); next.focus(); }
  });
  if (form) {
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  apply();
  const first = document.querySelector("details.graph");
  if (first) first.open = true;
})();
