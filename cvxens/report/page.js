"use strict";
// The page's own script: it reads the data of the page, and draws. Nothing of the data ever becomes markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const effects = data.effects;
  const state = { output: 0, sameScale: true, sample: 0, shapley: false };

  // --- elements, numbers, scales ---

  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }
  const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  function format(value, digits = 4) {
    if (value === null || value === undefined) return "none";
    if (typeof value !== "number") return String(value);
    const size = Math.abs(value);
    if (value !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2).replace("-", "\u2212");
    return String(Number(value.toPrecision(digits))).replace("-", "\u2212");
  }
  const signed = (value) => (value > 0 ? "+" : "") + format(value, 3);

  const scale = ([a, b], [from, to]) => (value) => from + ((value - a) / (b - a || 1)) * (to - from);

  // round numbers between two, about so many
  function ticks(low, high, about = 5) {
    const raw = (high - low) / about || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k += 1) found.push(k * step);
    return found.map((value) => Number(value.toPrecision(12)));
  }

  function extent(values) {
    let low = Infinity;
    let high = -Infinity;
    for (const value of values) {
      if (value === null) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    return low <= high ? [low, high] : [0, 1];
  }

  function widen([low, high], share = 0.08) {
    const spare = (high - low) * share || Math.abs(high) * share || 1;
    return [low - spare, high + spare];
  }

  const shorten = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}\u2026` : text);
  const body = (id) => document.querySelector(`#${id} .body`);
  // the first of some cards, and a button that shows the others
  const open = { shapes: false, pairs: false };
  const FIRST = { shapes: 12, pairs: 6 };
  function gather(id, cards) {
    const later = open[id] ? [] : cards.slice(FIRST[id]);
    later.forEach((card) => { card.hidden = true; });
    const button = el("button", { type: "button", onclick: () => reveal(id) }, `Show all ${cards.length}`);
    return [el("div", { class: "cards" }, ...cards), later.length ? el("p", { class: "more" }, button) : null];
  }
  function reveal(id) {
    open[id] = true;
    document.querySelectorAll(`#${id} .card`).forEach((card) => { card.hidden = false; });
    document.querySelector(`#${id} .more`)?.remove();
  }
  const lacking = (id, why) => body(id).replaceChildren(el("p", { class: "note" }, why));
  function hide(id) {
    document.getElementById(id).hidden = true;
    document.querySelector(`nav [href="#${id}"]`).hidden = true;
  }
  const outputName = () => (effects.outputs.length ? effects.outputs[state.output] : "");
  const color = (k) => `var(--series-${k % 10})`;

  function table(columns, rows) {
    const numeric = columns.map((_, k) => rows.every((row) => row[k] === null || typeof row[k] === "number"));
    const cells = (row) => row.map((value, k) =>
      el("td", { class: numeric[k] ? "number" : null }, typeof value === "number" ? format(value) : String(value ?? "")));
    return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": columns.join(", ") },
      el("table", {},
        el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, ...cells(row))))));
  }

  // --- overview ---

  function showOverview() {
    const facts = document.getElementById("facts");
    facts.append(el("dl", {}, ...data.overview.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, text)])));
    facts.append(el("details", {}, el("summary", {}, `Parameters (${data.parameters.length})`),
      table(["parameter", "value"], data.parameters)));
    const proofs = document.getElementById("proofs");
    proofs.append(el("h3", {}, "What is proven"));
    for (const found of data.certificates) {
      proofs.append(el("div", { class: found.proven ? "proof proven" : "proof" },
        found.name ? el("h3", {}, found.name) : null,
        el("p", {}, found.sentence),
        el("p", { class: "hint" }, "The optimum lies between the primal and the dual value; the gap between them bounds"
          + " the error, whatever found the model."),
        el("details", {}, el("summary", {}, "The certificate"), table(["quantity", "value"], found.rows))));
    }
  }

  // --- quality ---

  // points between 0 and 1, or of a range, over the diagonal that they should be above or on
  function drawPoints(title, of, [across, upwards], range, line, name) {
    const [x, y] = [scale(range, [LEFT, W - RIGHT]), scale(range, [BOTTOM, TOP])];
    const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": name });
    picture.append(...ticks(...range).map((tick) => svg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, format(tick, 3))),
      ...xAxis(x, ticks(...range), BOTTOM + 14),
      svg("rect", { class: "frame", x: LEFT, y: TOP, width: W - RIGHT - LEFT, height: BOTTOM - TOP }),
      svg("line", { class: "zero", x1: x(range[0]), y1: y(range[0]), x2: x(range[1]), y2: y(range[1]) }),
      svg("text", { x: (LEFT + W - RIGHT) / 2, y: H - 5, "text-anchor": "middle" }, across));
    if (line) {
      const path = of.x.map((value, k) => `${k ? "L" : "M"}${x(value).toFixed(1)},${y(of.y[k]).toFixed(1)}`).join("");
      picture.append(svg("path", { class: "curve", d: path, stroke: color(0) }));
    }
    const most = Math.max(...(of.counts ?? [1]));
    if (of.counts || !line) of.x.forEach((value, k) => picture.append(svg("circle", { cx: x(value), cy: y(of.y[k]),
      r: of.counts ? 2 + 5 * Math.sqrt(of.counts[k] / most) : 2, fill: color(0), "fill-opacity": of.counts ? 1 : 0.5 })));
    return el("figure", { class: "card" }, el("h3", {}, title), el("p", { class: "hint" }, `upwards: ${upwards}`), picture);
  }

  function showQuality() {
    const found = data.quality;
    if (found.lacking) return hide("quality");
    const cards = [];
    if (found.confusion) {
      cards.push(el("figure", { class: "card" }, el("h3", {}, "Which classes it takes for which"),
        table(["it is", ...found.classes.map((name) => `taken for ${shorten(name, 16)}`)],
          found.confusion.map((row, k) => [found.classes[k], ...row]))));
    }
    const [last] = (found.classes ?? [""]).slice(-1);
    if (found.roc) {
      cards.push(drawPoints(`ROC curve, area ${format(found.roc.area, 3)}`, found.roc, ["share of the others taken for it",
        `share of ${shorten(last, 30)} that is found`], [0, 1], true, `ROC curve, with an area of ${format(found.roc.area, 3)} below it`));
    }
    if (found.calibration) {
      cards.push(drawPoints("Calibration", found.calibration, [`probability of ${shorten(last, 30)}`, "how often it is one"],
        [0, 1], true, "Calibration: the share of a class by its probability"));
    }
    if (found.points) {
      const range = widen(extent([...found.points.x, ...found.points.y]), 0.04);
      cards.push(drawPoints(`Predictions: off by ${format(found.errors[0], 3)} in the mean, by more than ${format(found.errors[1], 3)} for a tenth`,
        found.points, ["prediction", "target"], range, false, "Targets beside predictions"));
    }
    return body("quality").replaceChildren(el("p", {}, found.on), el("div", { class: "cards" }, ...cards));
  }

  // --- importance ---

  function showImportance() {
    const several = effects.outputs.length > 1;
    const sizes = effects.terms.map((term) => (several ? term.importance[state.output] : term.mean));
    const most = Math.max(...sizes, 1e-300);
    const order = sizes.map((_, k) => k).filter((k) => sizes[k] > 0).sort((a, b) => sizes[b] - sizes[a]);
    const shown = order.slice(0, 30);
    const drawn = new Set([...effects.mains, ...effects.pairs].map((one) => one.term));
    const rows = shown.map((k) => {
      const term = effects.terms[k];
      const bar = el("i");
      bar.style.left = "0";
      bar.style.width = `${(100 * sizes[k]) / most}%`;
      const label = drawn.has(k)
        ? el("a", { href: `#term-${k}`, onclick: () => reveal(term.order > 1 ? "pairs" : "shapes") }, term.name) : term.name;
      return el("li", {}, el("span", { class: "label" }, label), el("span", { class: "track" }, bar),
        el("span", { class: "value", title: `${format(100 * term.share, 2)} % of the variance` }, format(sizes[k], 3)));
    });
    const list = el("ol", { class: "bars" }, ...rows);
    const more = order.length - shown.length;
    const all = el("details", {}, el("summary", {}, `All ${order.length} effects as a table`),
      table(["effect", "features", several ? `importance for ${outputName()}` : "importance", "share of variance"],
        order.map((k) => [effects.terms[k].name, effects.terms[k].order, sizes[k], effects.terms[k].share])));
    body("importance").replaceChildren(list, more ? el("p", { class: "note" }, `and ${more} less important ones`) : "", all);
  }

  // --- shapes ---

  const W = 340;
  const H = 230;
  const LEFT = 46;
  const RIGHT = 10;
  const TOP = 10;
  const FLOOR = 160; // where the function ends and the density begins
  const BOTTOM = 200;

  function yAxis(y, [low, high]) {
    return ticks(low, high).map((tick) => svg("g", {},
      svg("line", { class: "axis", x1: LEFT - 3, x2: W - RIGHT, y1: y(tick), y2: y(tick), "stroke-opacity": 0.5 }),
      svg("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, format(tick, 3))));
  }

  function xAxis(x, marks, at, labels) {
    return marks.map((tick, k) => svg("text", { x: x(tick), y: at, "text-anchor": "middle" },
      labels ? labels[k] : format(tick, 3)));
  }

  // the value of a function that is drawn as a line through points, two of which may be at one place
  function valueAt(x, points, values) {
    let k = points.findLastIndex((point) => point <= x);
    if (k < 0) k = 0;
    if (k >= points.length - 1) return values[points.length - 1];
    const width = points[k + 1] - points[k];
    return width > 0 ? values[k] + ((values[k + 1] - values[k]) * (x - points[k])) / width : values[k];
  }

  const nameLevel = (main, j) => (main.names ? main.names[j] : format(main.levels[j]));

  function tellMissing(main) {
    const parts = main.missing.values.map((value, k) => (effects.outputs.length ? `${effects.outputs[k]} ` : "") + signed(value));
    return `where it is missing: ${parts.join(", ")}; ${format(main.missing.count)} samples`;
  }

  function describeShape(main) {
    const curves = main.bars ?? main.lines;
    const words = curves.map((values, k) => {
      const [low, high] = extent(values);
      const name = effects.outputs.length ? `for ${effects.outputs[k]} ` : "";
      return `${name}from ${format(low, 3)} to ${format(high, 3)}`;
    });
    return `What ${main.name} adds to the score: ${words.join("; ")}`;
  }

  // all values that a picture has to have room for
  const listValues = (main) => [...(main.bars ?? main.lines).flat(), ...(main.band ? [...main.band.least, ...main.band.most] : [])];

  // a bar at every value for which a band is proven; of the values in between nothing is
  function drawBand(band, x, y) {
    return ["shade", "band"].flatMap((kind) => band.x.map((place, j) =>
      svg("line", { class: kind, x1: x(place), x2: x(place), y1: y(band.least[j]), y2: y(band.most[j]) })));
  }

  function drawShape(main, common) {
    const curves = main.bars ?? main.lines;
    const range = widen(state.sameScale ? common : extent([...listValues(main), 0]));
    const y = scale(range, [FLOOR - 4, TOP]);
    const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", tabindex: 0, "aria-label": describeShape(main) });
    picture.append(...yAxis(y, range));
    if (range[0] < 0 && range[1] > 0) {
      picture.append(svg("line", { class: "zero", x1: LEFT, x2: W - RIGHT, y1: y(0), y2: y(0) }));
    }
    const readout = el("output", { class: "readout" });
    const cursor = svg("line", { class: "cursor", y1: TOP, y2: BOTTOM, visibility: "hidden" });
    const tell = (name, values, rest = "") => {
      const parts = values.map((value, k) => (effects.outputs.length ? `${effects.outputs[k]} ` : "") + signed(value));
      readout.textContent = `${name}: ${parts.join(", ")}${rest}`;
    };
    let stops;
    if (main.bars) {
      const n = main.levels.length;
      const x = scale([0, n], [LEFT, W - RIGHT]);
      const most = Math.max(...main.counts);
      const width = ((W - RIGHT - LEFT) / n) * 0.7;
      const each = width / curves.length;
      main.levels.forEach((level, j) => {
        const height = (BOTTOM - FLOOR - 6) * (main.counts[j] / most);
        picture.append(svg("rect", { class: "density", x: x(j + 0.5) - width / 2, width, y: BOTTOM - height, height }));
        curves.forEach((values, k) => {
          const [top, bottom] = [y(Math.max(values[j], 0)), y(Math.min(values[j], 0))];
          picture.append(svg("rect", { x: x(j + 0.5) - width / 2 + k * each, width: each * 0.92, y: top,
            height: Math.max(bottom - top, 0.8), fill: color(k) }));
        });
      });
      if (main.band) picture.append(...drawBand(main.band, (value) => x(main.levels.indexOf(value) + 0.5), y));
      picture.append(...xAxis((j) => x(j + 0.5), main.levels.map((_, j) => j), BOTTOM + 14,
        main.levels.map((_, j) => shorten(nameLevel(main, j), Math.max(4, Math.floor(48 / n))))));
      stops = main.levels.map((_, j) => ({ at: x(j + 0.5), tell: () =>
        tell(`${main.name} = ${nameLevel(main, j)}`, curves.map((values) => values[j]), `; ${format(main.counts[j])} samples`) }));
    } else {
      const ends = [main.x[0], main.x[main.x.length - 1]];
      const x = scale(ends, [LEFT, W - RIGHT]);
      if (main.density) {
        const most = Math.max(...main.density);
        const width = (W - RIGHT - LEFT) / main.density.length;
        main.density.forEach((count, j) => {
          const height = (BOTTOM - FLOOR - 6) * (count / most);
          picture.append(svg("rect", { class: "density", x: LEFT + j * width, width: width - 0.5, y: BOTTOM - height, height }));
        });
      }
      if (main.band) picture.append(...drawBand(main.band, x, y));
      curves.forEach((values, k) => {
        const path = values.map((value, j) => `${j ? "L" : "M"}${x(main.x[j]).toFixed(1)},${y(value).toFixed(1)}`).join("");
        picture.append(svg("path", { class: "curve", d: path, stroke: color(k),
          "stroke-opacity": curves.length > 1 && k !== state.output ? 0.55 : 1 }));
      });
      picture.append(...xAxis(x, ticks(ends[0], ends[1]), BOTTOM + 14));
      stops = Array.from({ length: 61 }, (_, j) => ends[0] + ((ends[1] - ends[0]) * j) / 60).map((value) => ({
        at: x(value),
        tell: () => tell(`${main.name} = ${format(value)}`, curves.map((values) => valueAt(value, main.x, values))),
      }));
    }
    picture.append(svg("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: BOTTOM, y2: BOTTOM }));
    picture.append(svg("text", { x: (LEFT + W - RIGHT) / 2, y: H - 2, "text-anchor": "middle" }, shorten(main.name, 44)), cursor);
    follow(picture, stops.map((stop) => [stop.at, 0]), (j) => {
      cursor.setAttribute("x1", stops[j].at);
      cursor.setAttribute("x2", stops[j].at);
      cursor.setAttribute("visibility", "visible");
      stops[j].tell();
    }, 1);
    return { picture, readout };
  }

  // let the pointer and the arrow keys choose one of some places of a picture, in rows of so many
  function follow(picture, places, choose, across) {
    let now = -1;
    const at = (j) => {
      if (j < 0 || j >= places.length || j === now) return;
      now = j;
      choose(j);
    };
    picture.addEventListener("pointermove", (event) => {
      const box = picture.getBoundingClientRect();
      const view = picture.viewBox.baseVal;
      const x = ((event.clientX - box.left) / box.width) * view.width;
      const y = ((event.clientY - box.top) / box.height) * view.height;
      let best = 0;
      let least = Infinity;
      places.forEach(([px, py], j) => {
        const distance = (px - x) ** 2 + (across > 1 ? (py - y) ** 2 : 0);
        if (distance < least) [best, least] = [j, distance];
      });
      at(best);
    });
    picture.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: across > 1 ? across : 0, ArrowDown: across > 1 ? -across : 0 }[event.key];
      if (!step) return;
      event.preventDefault();
      at(now < 0 ? 0 : now + step);
    });
  }

  function shapeTable(main) {
    const names = effects.outputs.length ? effects.outputs : ["adds"];
    if (main.bars) return table([main.name, ...names, "samples"], main.levels.map((_, j) =>
      [nameLevel(main, j), ...main.bars.map((values) => values[j]), main.counts[j]]));
    const rows = [];
    for (let j = 0; j + 1 < main.x.length && rows.length < 200; j += 2) {
      rows.push([main.x[j], main.x[j + 1], ...main.lines.flatMap((values) => [values[j], values[j + 1]])]);
    }
    return table(["from", "to", ...names.flatMap((name) => [`${name} at the start`, `${name} at the end`])], rows);
  }

  function showShapes() {
    if (!effects.mains.length) return lacking("shapes", "No feature acts alone in this model.");
    const common = extent([...effects.mains.flatMap(listValues), 0]);
    const cards = effects.mains.map((main) => {
      const { picture, readout } = drawShape(main, common);
      return el("figure", { class: "card", id: `term-${main.term}` }, el("h3", {}, main.name), picture, readout,
        main.missing ? el("figcaption", {}, tellMissing(main)) : null,
        main.thinned ? el("figcaption", {}, `drawn at 300 of ${main.thinned} cuts`) : null,
        el("details", {}, el("summary", {}, "Values"), shapeTable(main)));
    });
    const legend = effects.outputs.length ? el("ul", { class: "legend" }, ...effects.outputs.map((name, k) => {
      const item = el("li", {}, el("span", {}, name));
      item.style.color = color(k);
      return item;
    })) : null;
    const box = el("input", { type: "checkbox", id: "same-scale", checked: state.sameScale, onchange: () => {
      state.sameScale = box.checked;
      showShapes();
      document.getElementById("same-scale").focus();
    } });
    const left = effects.counts[0] - effects.mains.length;
    const parts = [el("div", { class: "tools" }, el("label", {}, box, " all on one scale"),
      el("span", { class: "hint" }, `Contribution to the ${effects.score}`)),
      effects.bands ? el("p", { class: "note" }, effects.bands) : null, legend, ...gather("shapes", cards),
    left > 0 ? el("p", { class: "note" }, `${left} less important functions are left out`) : null];
    return body("shapes").replaceChildren(...parts.filter((part) => part));
  }

  // --- pairs ---

  // the values in a cell of a pair: from one edge to the next, or levels, whose codes lie between two edges
  function spanOf(pair, axis, k) {
    const [from, to] = pair.edges[axis].slice(k, k + 2);
    const levels = pair.levels[axis];
    return levels ? levels.slice(Math.ceil(from), Math.ceil(to)).join(", ") : `${format(from)} to ${format(to)}`;
  }

  function drawPair(pair) {
    const [xs, ys] = pair.edges;
    const marks = pair.edges.map((ends, axis) => pair.levels[axis]?.map((_, code) => code) ?? ticks(ends[0], ends.at(-1)));
    const mark = (axis, value) => (pair.levels[axis] ? shorten(pair.levels[axis][value], 6) : format(value, 3));
    const values = pair.tables[state.output];
    const largest = Math.max(...values.flat().map(Math.abs), 1e-300);
    const [x, y] = [scale([xs[0], xs.at(-1)], [LEFT, W - RIGHT]), scale([ys[0], ys.at(-1)], [BOTTOM, TOP])];
    const [low, high] = extent(values.flat());
    const name = `What ${pair.names[0]} and ${pair.names[1]} add together, from ${format(low, 3)} to ${format(high, 3)}`;
    const picture = svg("svg", { viewBox: `0 0 ${W} ${H + 6}`, role: "img", tabindex: 0, "aria-label": name });
    const places = [];
    const cells = [];
    for (let j = 0; j + 1 < ys.length; j += 1) {
      for (let i = 0; i + 1 < xs.length; i += 1) {
        const box = { x: x(xs[i]), y: y(ys[j + 1]), width: x(xs[i + 1]) - x(xs[i]), height: y(ys[j]) - y(ys[j + 1]) };
        picture.append(svg("rect", { ...box, class: values[i][j] > 0 ? "cell-up" : "cell-down",
          "fill-opacity": (Math.abs(values[i][j]) / largest).toFixed(3) }));
        places.push([box.x + box.width / 2, box.y + box.height / 2]);
        cells.push({ i, j, box });
      }
    }
    const chosen = svg("rect", { class: "chosen", visibility: "hidden" });
    picture.append(svg("rect", { class: "frame", x: LEFT, y: TOP, width: W - RIGHT - LEFT, height: BOTTOM - TOP }),
      ...xAxis(x, marks[0], BOTTOM + 14, marks[0].map((value) => mark(0, value))),
      ...marks[1].map((value) => svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, mark(1, value))),
      svg("text", { x: (LEFT + W - RIGHT) / 2, y: H, "text-anchor": "middle" }, shorten(pair.names[0], 44)), chosen);
    const readout = el("output", { class: "readout" });
    follow(picture, places, (k) => {
      const { i, j, box } = cells[k];
      for (const [key, value] of Object.entries(box)) chosen.setAttribute(key, value);
      chosen.setAttribute("visibility", "visible");
      readout.textContent = `${pair.names[0]} ${spanOf(pair, 0, i)}, ${pair.names[1]} ${spanOf(pair, 1, j)}: `
        + `${signed(values[i][j])}; ${format(100 * pair.masses[i][j], 2)} % of the samples`;
    }, xs.length - 1);
    return { picture, readout, largest };
  }

  function colorKey(largest) {
    const key = svg("svg", { viewBox: `0 0 ${W} 28`, "aria-hidden": "true" });
    for (let k = -10; k <= 10; k += 1) {
      key.append(svg("rect", { x: LEFT + (k + 10) * 13, width: 13, y: 0, height: 9, class: k > 0 ? "cell-up" : "cell-down",
        "fill-opacity": Math.abs(k) / 10 }));
    }
    key.append(svg("rect", { class: "frame", x: LEFT, y: 0, width: 273, height: 9 }));
    [[0, signed(-largest), "start"], [0.5, "0", "middle"], [1, signed(largest), "end"]].forEach(([at, text, anchor]) =>
      key.append(svg("text", { x: LEFT + 273 * at, y: 22, "text-anchor": anchor }, text)));
    return key;
  }

  function showPairs() {
    if (!effects.pairs.length) return hide("pairs");
    const drawn = effects.pairs.filter((pair) => pair.tables[state.output].flat().some((value) => value !== 0));
    if (!drawn.length) return lacking("pairs", `The score of ${outputName()} has no effects of two features.`);
    const cards = drawn.map((pair) => {
      const { picture, readout, largest } = drawPair(pair);
      const rows = pair.tables[state.output].flatMap((row, i) => row.map((value, j) =>
        [spanOf(pair, 0, i), spanOf(pair, 1, j), value, pair.masses[i][j]]));
      const [a, b] = pair.names;
      return el("figure", { class: "card", id: `term-${pair.term}` },
        el("h3", {}, `${a} (across) x ${b} (upwards)`), picture, colorKey(largest), readout,
        el("details", {}, el("summary", {}, "Values"),
          table([a, b, "adds", "share of samples"], rows.slice(0, 300))));
    });
    const left = effects.counts[1] - effects.pairs.length;
    const parts = [outputName() ? el("p", { class: "hint" }, `Contribution to the score of ${outputName()}`) : null,
      ...gather("pairs", cards),
      left > 0 ? el("p", { class: "note" }, `${left} less important pairs are left out`) : null];
    return body("pairs").replaceChildren(...parts.filter((part) => part));
  }

  // --- one sample ---

  function showExplained() {
    const found = data.explained;
    if (!found) return lacking("explained", "The report was made without samples: report(file, X) explains them.");
    const sample = found.samples[state.sample];
    const names = state.shapley ? found.features : found.effects;
    const own = (state.shapley ? found.values_of_features : found.values_of_effects)[state.sample];
    const values = (state.shapley ? sample.by_feature : sample.by_effect)[state.output];
    const mean = effects.intercept[state.output];
    const score = sample.scores[state.output];
    const order = names.map((_, k) => k).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
    const shown = order.slice(0, 12).filter((k) => values[k] !== 0);
    const rest = values.reduce((sum, value) => sum + value, 0) - shown.reduce((sum, k) => sum + values[k], 0);
    const steps = shown.map((k) => [names[k], own[k], values[k]]);
    if (Math.abs(rest) > 1e-9) steps.push(["all others", null, rest]);
    let reached = mean;
    const ends = [mean, score];
    for (const step of steps) ends.push(reached += step[2]);
    const at = scale(widen(extent(ends), 0.04), [0, 100]);
    const rows = [];
    const row = (label, from, to, text, kind, detail) => {
      const bar = el("i", { class: kind });
      bar.style.left = `${Math.min(at(from), at(to))}%`;
      bar.style.width = `${Math.abs(at(to) - at(from))}%`;
      rows.push(el("li", { class: kind ? null : "total" },
        el("span", { class: "label" }, label, detail ? el("small", {}, ` = ${detail}`) : null),
        el("span", { class: "track" }, bar), el("span", { class: "value" }, text)));
    };
    row("mean score", mean, mean, format(mean, 4), null);
    reached = mean;
    for (const [label, value, adds] of steps) {
      row(label, reached, reached + adds, signed(adds), adds > 0 ? "up" : "down", value === null ? "" : typeof value === "string" ? value : format(value));
      reached += adds;
    }
    row("score", score, score, format(score, 4), null);
    const choice = el("select", { id: "sample", onchange: () => {
      state.sample = Number(choice.value);
      showExplained();
      document.getElementById("sample").focus();
    } }, ...found.samples.map((one, k) => el("option", { value: k, selected: k === state.sample },
      `sample ${one.name}: score ${format(one.scores[state.output], 3)}`)));
    const box = el("input", { type: "checkbox", id: "shapley", checked: state.shapley, onchange: () => {
      state.shapley = box.checked;
      showExplained();
      document.getElementById("shapley").focus();
    } });
    const sure = sample.probability === null ? "" : `, with a probability of ${format(sample.probability, 3)}`;
    const target = sample.target === null ? "" : `; it is ${format(sample.target)}`;
    return body("explained").replaceChildren(
      el("div", { class: "tools" }, el("label", {}, "Explain ", choice), el("label", {}, box, " Shapley values, by feature")),
      el("p", { "aria-live": "polite" }, `Predicted: ${format(sample.predicted)}${sure}${target}`
        + (outputName() ? `. Score of ${outputName()}` : ` (${effects.score})`)),
      el("ol", { class: "bars", id: "waterfall" }, ...rows));
  }

  // --- rules ---

  function showRules() {
    const rules = data.rules;
    if (rules.lacking) return lacking("rules", rules.lacking);
    const sort = { column: -1, down: false };
    const filter = el("input", { type: "search", id: "filter", placeholder: "such as a feature", oninput: () => fillRows() });
    const status = el("span", { class: "hint", role: "status" });
    const lines = el("tbody");
    const numeric = rules.columns.map((_, k) => rules.rows.every((row) => row[k] === null || typeof row[k] === "number"));
    const heads = rules.columns.map((name, k) => el("th", { scope: "col", "aria-sort": "none" },
      el("button", { type: "button", onclick: () => {
        sort.down = sort.column === k ? !sort.down : numeric[k];
        sort.column = k;
        heads.forEach((head, j) => head.setAttribute("aria-sort", j !== k ? "none" : sort.down ? "descending" : "ascending"));
        fillRows();
      } }, name)));
    function fillRows() {
      const words = filter.value.toLowerCase().split(/\s+/).filter((word) => word);
      const found = rules.rows.filter((row) => {
        const text = row.join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      });
      if (sort.column >= 0) {
        const sign = sort.down ? -1 : 1;
        found.sort((a, b) => {
          const [p, q] = [a[sort.column], b[sort.column]];
          if (p === q) return 0;
          if (p === null || q === null) return p === null ? 1 : -1;
          return sign * (numeric[sort.column] ? p - q : String(p).localeCompare(String(q)));
        });
      }
      lines.replaceChildren(...found.map((row) => el("tr", {}, ...row.map((value, k) =>
        el("td", { class: numeric[k] ? "number" : null }, value === null ? "" : numeric[k] ? format(value) : String(value))))));
      const of = rules.total > rules.rows.length ? `the first ${rules.rows.length} of ${rules.total}` : `${rules.total}`;
      status.textContent = `${found.length} shown, of ${of} ${rules.kind}`;
    }
    body("rules").replaceChildren(
      el("p", {}, rules.kind === "rules" ? "The score is the intercept and the sum of the weights of the rules that hold."
        : "The score is the intercept and the sum of the weights times what the weak learners say."),
      el("div", { class: "tools" }, el("label", {}, "Only rows with ", filter), status),
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The ensemble as a list" },
        el("table", { id: "rule-table" }, el("thead", {}, el("tr", {}, ...heads)), lines)));
    return fillRows();
  }

  // --- history ---

  function drawTraces(traces, rounds, name, logarithmic) {
    const take = (value) => (value === null || (logarithmic && value <= 0) ? null : logarithmic ? Math.log10(value) : value);
    const lines = traces.map((trace) => trace.values.map(take));
    const range = widen(extent(lines.flat()));
    const [x, y] = [scale([rounds[0], rounds.at(-1)], [LEFT + 14, W - RIGHT]), scale(range, [BOTTOM, TOP])];
    const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": name });
    const marks = logarithmic ? ticks(range[0], range[1]).filter(Number.isInteger) : ticks(range[0], range[1]);
    marks.forEach((tick) => picture.append(
      svg("line", { class: "axis", x1: LEFT + 11, x2: W - RIGHT, y1: y(tick), y2: y(tick), "stroke-opacity": 0.5 }),
      svg("text", { x: LEFT + 8, y: y(tick) + 4, "text-anchor": "end" }, logarithmic ? `1e${tick}` : format(tick, 3))));
    lines.forEach((values, k) => {
      let pen = "M";
      let path = "";
      values.forEach((value, j) => {
        if (value === null) {
          pen = "M";
          return;
        }
        path += `${pen}${x(rounds[j]).toFixed(1)},${y(value).toFixed(1)}`;
        pen = "L";
      });
      picture.append(svg("path", { class: k ? "curve dashed" : "curve", d: path, stroke: color(k) }));
      if (values.length === 1 && values[0] !== null) picture.append(svg("circle", { cx: x(rounds[0]), cy: y(values[0]), r: 3, fill: color(k) }));
    });
    const whole = ticks(rounds[0], rounds.at(-1)).filter(Number.isInteger);
    picture.append(svg("line", { class: "axis", x1: LEFT + 14, x2: W - RIGHT, y1: BOTTOM, y2: BOTTOM }),
      ...xAxis(x, whole, BOTTOM + 14), svg("text", { x: (LEFT + W) / 2, y: H - 2, "text-anchor": "middle" }, "round"));
    return picture;
  }

  function showHistory() {
    if (!data.histories.length) return lacking("history", "This model was not fitted in rounds.");
    if (data.histories.every((history) => history.round.length < 3)) return hide("history");
    const cards = data.histories.flatMap((history) => {
      const title = history.name ? `${history.name}: ` : "";
      const last = history.gap.at(-1);
      return [
        el("figure", { class: "card" }, el("h3", {}, `${title}${history.quantity} (solid) and bound (dashed)`),
          drawTraces([{ values: history.objective }, { values: history.bound }], history.round,
            `${history.quantity}, from ${format(history.objective[0])} to ${format(history.objective.at(-1))}, and its bound,`
            + ` to ${format(history.bound.at(-1))}`, false)),
        el("figure", { class: "card" }, el("h3", {}, `${title}relative gap`),
          drawTraces([{ values: history.gap }], history.round, `relative gap, ${format(last)} after the last round`, true)),
      ];
    });
    return body("history").replaceChildren(el("div", { class: "cards" }, ...cards));
  }

  // --- all of it ---

  function showEffects() {
    if (effects.lacking) {
      lacking("importance", effects.lacking);
      ["shapes", "pairs", "explained"].forEach(hide);
      return;
    }
    showImportance();
    showShapes();
    showPairs();
    showExplained();
  }

  if (!effects.lacking && effects.outputs.length) {
    document.getElementById("outputs").hidden = false;
    const choice = document.getElementById("output");
    choice.append(...effects.outputs.map((name, k) => el("option", { value: k }, name)));
    choice.addEventListener("change", () => {
      state.output = Number(choice.value);
      showEffects();
    });
  }
  const theme = document.getElementById("theme");
  const themes = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
  let chosen = 0;
  theme.addEventListener("click", () => {
    chosen = (chosen + 1) % themes.length;
    document.documentElement.dataset.theme = themes[chosen][0];
    theme.textContent = `Theme: ${themes[chosen][1]}`;
  });
  showOverview();
  showQuality();
  showEffects();
  showRules();
  showHistory();
})();
